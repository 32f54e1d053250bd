"""A memory of longpass as a recurrent module of torchrl, trained by actor-critic.

`ConcreteModule` reads `is_init`, steps or unrolls as `set_recurrent_mode` says, and has a primer, which
`get_env_transforms_from_module` finds. Starts inside a batch cost no padding.

    python examples/torch/torchrl_a2c.py
"""

import argparse

import torch
from recall_env import Recall
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule, TensorDictModuleBase, TensorDictSequential
from torch import nn
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

    def __init__(self, *args, **options):
        super().__init__()
        self.core = Concrete(*args, batch_first=True, **options)

    def make_tensordict_primer(self) -> TensorDictPrimer:
        spec = Unbounded((self.core.num_layers, self.core.hidden_size))
        return TensorDictPrimer({"recurrent_state": spec}, expand_specs=True)

    def forward(self, data: TensorDictBase) -> TensorDictBase:
        length = data.batch_size[-1] if recurrent_mode() else 1
        x, stored, starts = (data[key] for key in self.in_keys)
        starts = starts.reshape(-1, length).clone()
        starts[:, 0] = True  # a slice begins with the state that was stored with it
        states = stored.reshape(len(starts), length, *stored.shape[-2:])
        inputs = x.reshape(len(starts), length, -1)
        y, state = self.core(inputs, starts=starts, start_states=states)
        after = torch.zeros_like(states)
        after[:, -1] = state.transpose(0, 1)
        data["embed"] = y.reshape(*data.batch_size, -1)
        data["next", "recurrent_state"] = after.reshape(stored.shape)
        return data


def train(updates: int, delay: int = 60, seed: int = 0) -> float:
    """The mean reward of the last batch's answers, 1 if the agent always remembers."""
    torch.manual_seed(seed)
    core = ConcreteModule(3, 64, normalise="layer")
    head = TensorDictModule(nn.Linear(64, 2), ["embed"], ["logits"])
    value = TensorDictModule(nn.Linear(64, 1), ["embed"], ["state_value"])
    actor = ProbabilisticActor(TensorDictSequential(core, head, value), ["logits"],
                               distribution_class=torch.distributions.Categorical,
                               return_log_prob=True)  # fmt: skip
    base = SerialEnv(32, lambda: GymWrapper(Recall(delay), categorical_action_encoding=True))
    env = TransformedEnv(base, get_env_transforms_from_module(actor))
    optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    score = 0.0
    for data in Collector(env, actor, frames_per_batch=32 * 16, total_frames=32 * 16 * updates):
        reward, done = data["next", "reward"], data["next", "done"]
        ends = reward[done]
        score = float(ends.mean()) if ends.numel() else score
        with set_recurrent_mode(True):
            seen = actor[0](data.select(*core.in_keys))
        values = seen["state_value"]
        with torch.no_grad():
            after = torch.cat([values[:, 1:], values[:, -1:]], dim=1)
            gain, target = generalized_advantage_estimate(0.99, 0.95, values, after, reward, done)
        policy = torch.distributions.Categorical(logits=seen["logits"])
        loss = 0.5 * (values - target).square().mean() - 0.01 * policy.entropy().mean()
        loss = loss - (policy.log_prob(data["action"]) * gain.squeeze(-1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return score


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=800)
    print(f"{train(parser.parse_args().updates):.3f}")
