"""The memory inside RecurrentPPO of sb3-contrib (extra `rl`)."""

from typing import Any

from longpass._extras import explain_missing

try:
    from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
except ModuleNotFoundError as error:
    raise explain_missing(error, __name__) from error
import torch
from gymnasium import spaces
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from longpass.torch._concrete import Concrete


class ConcretePolicy(RecurrentActorCriticPolicy):
    """The recurrent policy of sb3-contrib with `Concrete` in the place of its LSTMs.

        RecurrentPPO(ConcretePolicy, env, policy_kwargs={"lstm_hidden_size": 64})

    Starts of episodes are handled inside one call, without a loop over time.
    """

    def __init__(
        self,
        observation_space: spaces.Space,
        action_space: spaces.Space,
        lr_schedule: Schedule,
        *args: Any,
        lstm_hidden_size: int = 64,
        n_lstm_layers: int = 8,
        lstm_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ):
        """**Arguments:** those of the LSTM's policy, of which three mean something else.

        - `lstm_hidden_size`: units of each pool, and of the output.
        - `n_lstm_layers`: number of pools; it must be even.
        - `lstm_kwargs`: other arguments of `Concrete`, such as `viewport_size`.
        """
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            *args,
            lstm_hidden_size=lstm_hidden_size,
            **kwargs,
        )

        def make() -> Any:
            options = lstm_kwargs or {}
            width = self.features_dim
            return Concrete(width, lstm_hidden_size, n_lstm_layers, state="lstm", **options)

        self.lstm_actor = make()
        if self.lstm_critic is not None:
            self.lstm_critic = make()
        self.lstm_hidden_state_shape = (self.lstm_actor.num_layers, 1, lstm_hidden_size)
        self.optimizer = self.optimizer_class(
            self.parameters(),
            lr=lr_schedule(1),  # pyright: ignore[reportCallIssue]
            **self.optimizer_kwargs,
        )

    @staticmethod
    def _process_sequence(
        features: Tensor,
        lstm_states: tuple[Tensor, Tensor],
        episode_starts: Tensor,
        lstm: Any,
    ) -> tuple[Tensor, Any]:
        """Read sequences (sequence after sequence, each of equal length) in one call."""
        count = lstm_states[0].shape[1]
        x = features.reshape(count, -1, lstm.input_size).swapaxes(0, 1)
        starts = episode_starts.reshape(count, -1).swapaxes(0, 1) > 0.5
        output, lstm_states = lstm(x, tuple(lstm_states), starts)
        return torch.flatten(output.transpose(0, 1), end_dim=1), lstm_states
