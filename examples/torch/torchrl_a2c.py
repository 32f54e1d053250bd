"""A memory of longpass as a module of torchrl: `is_init`, step and unroll mode, and a primer.

python examples/torch/torchrl_a2c.py
"""
# pyright: reportArgumentType=false, reportAssignmentType=false, reportIncompatibleMethodOverride=false

import argparse

import torch
from recall_env import Recall
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule, TensorDictModuleBase, TensorDictSequential
from torch import nn
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.data import Unbounded
from torchrl.envs import GymWrapper, SerialEnv, TensorDictPrimer, TransformedEnv
from torchrl.modules import ProbabilisticActor, get_env_transforms_from_module, set_recurrent_mode
from torchrl.modules.tensordict_module.rnn import recurrent_mode
from torchrl.objectives.value.functional import generalized_advantage_estimate

from longpass.torch import Concrete


class ConcreteModule(TensorDictModuleBase):
    in_keys = ("observation", "recurrent_state", "is_init")
    out_keys = ("embed", ("next", "recurrent_state"))

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.core = Concrete(input_size, hidden_size, normalise="layer", batch_first=True)

    def make_tensordict_primer(self) -> TensorDictPrimer:
        spec = Unbounded((self.core.num_layers, self.core.hidden_size))
        return TensorDictPrimer({"recurrent_state": spec}, expand_specs=True)

    def forward(self, data: TensorDictBase) -> TensorDictBase:  # slices begin with stored states
        length = data.batch_size[-1] if recurrent_mode() else 1
        x, stored, starts = (data[key] for key in self.in_keys)
        starts = starts.reshape(-1, length) | (torch.arange(length) == 0)
        states = stored.reshape(len(starts), length, *stored.shape[-2:])
        y, state = self.core(x.reshape(len(starts), length, -1), None, starts, states)
        after = torch.zeros_like(states)
        after[:, -1] = state.transpose(0, 1)
        data["next", "recurrent_state"] = after.reshape(stored.shape)
        return data.set("embed", y.reshape(*data.batch_size, -1))


def train(updates: int, delay: int = 60) -> float:
    """The mean reward of the last 100 answers."""
    policy = TensorDictModule(nn.Linear(64, 2), ["embed"], ["logits"])
    value = TensorDictModule(nn.Linear(64, 1), ["embed"], ["state_value"])
    network = TensorDictSequential(ConcreteModule(3, 64), policy, value)
    actor = ProbabilisticActor(network, ["logits"], distribution_class=Categorical)
    base = SerialEnv(32, lambda: GymWrapper(Recall(delay), categorical_action_encoding=True))
    env = TransformedEnv(base, get_env_transforms_from_module(actor))
    optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    answers = torch.zeros(0)
    for data in Collector(env, actor, frames_per_batch=32 * 16, total_frames=32 * 16 * updates):
        reward, done = data["next", "reward"], data["next", "done"]
        answers = torch.cat([answers, reward[done]])[-100:]
        with set_recurrent_mode(True):
            seen = network(data.select(*network.in_keys))
        values, actions = seen["state_value"], Categorical(logits=seen["logits"])
        with torch.no_grad():
            after = torch.cat([values[:, 1:], values[:, -1:]], dim=1)
            gain, target = generalized_advantage_estimate(0.99, 0.95, values, after, reward, done)
        logs = actions.log_prob(data["action"])
        loss = 0.5 * (values - target).square().mean() - (logs * gain.squeeze(-1)).mean()
        actor.zero_grad()
        loss.backward()
        optimizer.step()
    return float(answers.mean()) if len(answers) else 0.0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=800)
    print(f"{train(parser.parse_args().updates):.3f}")
