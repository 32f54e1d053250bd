"""A task that only memory solves: a cue at the first step, and the question much later."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Recall(gymnasium.Env):
    """One of two cues is shown, then nothing for `delay` steps; the last action must name it."""

    def __init__(self, delay: int = 60):
        self.delay = delay
        self.observation_space = spaces.Box(0.0, 1.0, (3,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.cue, self.time = int(self.np_random.integers(2)), 0
        return self._look(), {}

    def step(self, action: int):
        end = self.time == self.delay
        reward = (1.0 if int(action) == self.cue else -1.0) if end else 0.0
        self.time += 1
        return self._look(), reward, end, False, {}

    def _look(self) -> np.ndarray:
        frame = np.zeros(3, np.float32)
        frame[self.cue if self.time == 0 else 2] = self.time in (0, self.delay)
        return frame
