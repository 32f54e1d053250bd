"""What all environments have in common, and the wrapper that starts the next episode."""

import abc
import dataclasses
import enum
import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree, UInt8

from longpass import _checks
from longpass.envs._bounds import BoolOrArray
from longpass.envs._palette import Colour
from longpass.envs._spaces import Binary, Discrete


@runtime_checkable
class Params(Protocol):
    """What the parameters of every world have; they are dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @property
    def truncate_at_timeout(self) -> BoolOrArray: ...


ParamsT = TypeVar("ParamsT", bound=Params)
StateT = TypeVar("StateT")
HiddenT = TypeVar("HiddenT")

ActionLike = Int[ArrayLike, ""]
IntLike = int | np.integer | Int[Array, "..."] | Int[np.ndarray, "..."]
"""A whole number or an array of them, which JAX may trace."""
Observation = UInt8[Array, "rows cols planes"]
Step = tuple[
    Observation, StateT, Float[Array, ""], Bool[Array, ""], Bool[Array, ""], dict[str, Array]
]
BatchStep = tuple[
    UInt8[Array, "copies rows cols planes"],
    StateT,
    Float[Array, " copies"],
    Bool[Array, " copies"],
    Bool[Array, " copies"],
    dict[str, Array],
]

NO_LIMIT = np.iinfo(np.int32).max
"""The frame on which an episode without a time limit would time out."""


class Action(enum.IntEnum):
    """The five actions of an agent, the same in every environment.

    >>> Action.UP, int(Action.STAY)
    (<Action.UP: 0>, 4)
    """

    UP = 0
    DOWN = 1
    LEFT = 2
    RIGHT = 3
    STAY = 4


@dataclasses.dataclass(frozen=True)
class Recording:
    """How episodes of the original game were recorded, for `replay_episode`."""

    actions: Mapping[int, Action]
    """Our action for each action id of the original."""
    quits: tuple[int, ...]
    """Action ids by which a person quits; an agent has no such action."""
    hidden: tuple[str, ...]
    """The arrays of a file that hold the hidden draws."""
    read_hidden: Callable[[Mapping[str, np.ndarray]], object]
    """Make the hidden draws from the arrays of a file."""
    reason_to_skip: Callable[[Mapping[str, object]], str] = lambda params: ""
    """Why episodes with these parameters cannot be compared; empty if they can."""


class Environment(abc.ABC, Generic[ParamsT, StateT, HiddenT]):
    """A gridworld: pure functions of records, for one copy; add copies with `jax.vmap`.

    `reset` and `step` have the shape that gymnax 1.0 gives them. `frame` counts what has been
    shown: frame 0 comes from `reset`, and the action of step f leads to frame f.

    - Hidden draws are made from the key at reset, all at once, and do not depend on the actions.
      `reset(key, params, hidden)` plays with draws given by hand, so that an episode can be
      played again.
    - A step of an episode that is over changes nothing and pays nothing.
    - `params` may hold arrays: `equinox.filter_vmap` then maps over them and over nothing else.

    Subclasses say how an episode begins, continues, looks and ends; they are final.
    """

    name: ClassVar[str]
    """The name in the registry, such as "t-maze"."""
    title: ClassVar[str]
    """The name in figures and on screens, such as "T-maze"."""
    rows: ClassVar[int]
    cols: ClassVar[int]
    planes: ClassVar[str]
    """The character that each feature plane stands for, in order."""
    colours: ClassVar[Mapping[str, Colour]]
    """The colour of each character in films and figures."""
    recording: ClassVar[Recording | None] = None
    """How the original game was recorded; None if there is no original."""

    # Environments hold nothing: two of a kind are the same, so that they share compiled functions.
    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @property
    @abc.abstractmethod
    def default_params(self) -> ParamsT:
        """The values of the paper."""

    @abc.abstractmethod
    def draw(self, key: PRNGKeyArray, params: ParamsT) -> HiddenT:
        """The hidden draws of one episode."""

    @abc.abstractmethod
    def check_hidden(self, hidden: HiddenT, params: ParamsT) -> None:
        """Refuse hidden draws, given by hand, that no reset could have made."""

    @abc.abstractmethod
    def begin(self, hidden: HiddenT, params: ParamsT) -> StateT:
        """The state at frame 0 of an episode with these hidden draws."""

    @abc.abstractmethod
    def advance(
        self, key: PRNGKeyArray, state: StateT, action: Int[Array, ""], params: ParamsT
    ) -> tuple[StateT, Float[Array, ""]]:
        """One frame of an episode that is not over: (next state, reward)."""

    @abc.abstractmethod
    def codes(self, state: StateT, params: ParamsT) -> UInt8[Array, "rows cols"]:
        """Which plane each cell shows."""

    @abc.abstractmethod
    def over(self, state: StateT, params: ParamsT) -> Bool[Array, ""]:
        """Whether this frame is the last."""

    @abc.abstractmethod
    def timed_out(self, state: StateT, params: ParamsT) -> Bool[Array, ""]:
        """Whether this frame is the last because time has run out."""

    @abc.abstractmethod
    def phase(self, state: StateT, params: ParamsT) -> str:
        """What is happening, in a few words. For one concrete state."""

    @abc.abstractmethod
    def max_score(self, params: ParamsT | None = None, hidden: HiddenT | None = None) -> float:
        """The highest possible return: of an episode with these draws, or the mean over draws."""

    @abc.abstractmethod
    def perfect_actions(self, params: ParamsT, hidden: HiddenT) -> Int[np.ndarray, " steps"]:
        """The actions of an episode that earns `max_score` with these draws, first to last."""

    @abc.abstractmethod
    def episode_length(self, params: ParamsT) -> int:
        """About how many steps an episode has."""

    @abc.abstractmethod
    def memory_span(self, params: ParamsT) -> int:
        """Over about how many steps the task needs memory."""

    def action_space(self, params: ParamsT | None = None) -> Discrete:
        """Up, down, left, right, stay: see `Action`."""
        return Discrete(len(Action))

    def observation_space(self, params: ParamsT | None = None) -> Binary:
        """Rows x columns x planes; exactly one plane of a cell is 1."""
        return Binary((self.rows, self.cols, len(self.planes)))

    def reset(
        self, key: PRNGKeyArray, params: ParamsT | None = None, hidden: HiddenT | None = None
    ) -> tuple[Observation, StateT]:
        """Begin an episode: (observation, state). With `hidden` given, the key is not used."""
        params = self.default_params if params is None else params
        if hidden is not None:
            self.check_hidden(hidden, params)
        return self._reset(key, params, hidden)

    def step(
        self,
        key: PRNGKeyArray,
        state: StateT,
        action: ActionLike,
        params: ParamsT | None = None,
    ) -> Step[StateT]:
        """Play one frame: (observation, state, reward, terminated, truncated, info).

        `info` has the `discount` (0 on the frame that terminates, else 1) and `timed_out`.
        An action outside the space is refused when its value is known; inside a compiled
        function, where it is not, it counts as staying.
        """
        params = self.default_params if params is None else params
        check_action(action)
        return self._step(key, state, action, params)

    def observe(self, state: StateT, params: ParamsT) -> Observation:
        """The state as binary planes."""
        codes = self.codes(state, params)
        return (codes[..., None] == np.arange(len(self.planes), dtype=np.uint8)).astype(jnp.uint8)

    def board(self, state: StateT, params: ParamsT) -> UInt8[Array, "rows cols"]:
        """The state as character codes."""
        return jnp.asarray(np.frombuffer(self.planes.encode(), np.uint8))[self.codes(state, params)]

    def text(self, state: StateT, params: ParamsT) -> str:
        """The state as lines of characters. For one concrete state."""
        return "\n".join(bytes(row).decode() for row in np.asarray(self.board(state, params)))

    @functools.partial(jax.jit, static_argnums=0)
    def _reset(
        self, key: PRNGKeyArray, params: ParamsT, hidden: HiddenT | None
    ) -> tuple[Observation, StateT]:
        hidden = self.draw(key, params) if hidden is None else hidden
        state = self.begin(hidden, params)
        return self.observe(state, params), state

    @functools.partial(jax.jit, static_argnums=0)
    def _step(
        self, key: PRNGKeyArray, state: StateT, action: ActionLike, params: ParamsT
    ) -> Step[StateT]:
        state, reward, terminated, truncated, info = self._transition(key, state, action, params)
        return self.observe(state, params), state, reward, terminated, truncated, info

    def _transition(
        self, key: PRNGKeyArray, state: StateT, action: ActionLike, params: ParamsT
    ) -> tuple[StateT, Float[Array, ""], Bool[Array, ""], Bool[Array, ""], dict[str, Array]]:
        """A step without its observation."""
        was_over = self.over(state, params)
        moved, reward = self.advance(key, state, jnp.asarray(action), params)
        state = select(was_over, state, moved)
        reward = jnp.where(was_over, 0.0, reward).astype(jnp.float32)
        over, timed_out = self.over(state, params), self.timed_out(state, params)
        truncated = timed_out & params.truncate_at_timeout
        terminated = over & ~truncated
        info = {"discount": 1.0 - terminated.astype(jnp.float32), "timed_out": timed_out}
        return state, reward, terminated, truncated, info


AnyEnvironment = Environment[Any, Any, Any]
"""Any world, where its types do not matter."""


class AutoReset(Generic[ParamsT, StateT, HiddenT]):
    """Starts the next episode on the step that ends one.

    On that step the observation and the state are those of the new episode's frame 0; reward,
    `terminated` and `truncated` belong to the old one, whose last frame is in
    `info["final_observation"]` (on other steps that is the observation itself). It costs nothing
    where it is not used.

    **Arguments:**

    - `env`: the environment.

    >>> from longpass.envs import make
    >>> env, params = make("t-maze", level=0)
    >>> key = jax.random.key(0)
    >>> observation, state = AutoReset(env).reset(key, params)
    >>> observation, state, reward, *_ = AutoReset(env).step(key, state, Action.UP, params)
    >>> observation.shape
    (7, 11, 5)
    """

    def __init__(self, env: Environment[ParamsT, StateT, HiddenT]):
        self.env = env

    def reset(
        self, key: PRNGKeyArray, params: ParamsT | None = None, hidden: HiddenT | None = None
    ) -> tuple[Observation, StateT]:
        """Begin the first episode: (observation, state)."""
        return self.env.reset(key, params, hidden)

    def step(
        self,
        key: PRNGKeyArray,
        state: StateT,
        action: ActionLike,
        params: ParamsT | None = None,
    ) -> Step[StateT]:
        """Play one frame, and begin the next episode if it was the last."""
        params = self.env.default_params if params is None else params
        check_action(action)
        return _auto_reset_step(self.env, key, state, action, params)

    def step_batch(
        self,
        keys: Key[Array, " copies"],
        states: StateT,
        actions: Int[Array, " copies"],
        params: ParamsT | None = None,
    ) -> BatchStep[StateT]:
        """`step` of many copies, copies first. Faster than `jax.vmap`, with the same results."""
        params = self.env.default_params if params is None else params
        return _auto_reset_step_batch(self.env, keys, states, actions, params)


@functools.partial(jax.jit, static_argnums=0)
def _auto_reset_step(
    env: Environment[ParamsT, StateT, HiddenT],
    key: PRNGKeyArray,
    state: StateT,
    action: ActionLike,
    params: ParamsT,
) -> Step[StateT]:
    copies = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], (key, state, action))
    batch = _auto_reset_step_batch(env, *copies, params)
    return jax.tree.map(lambda leaf: leaf[0], batch)


@functools.partial(jax.jit, static_argnums=0)
def _auto_reset_step_batch(
    env: Environment[ParamsT, StateT, HiddenT],
    keys: Key[Array, " copies"],
    states: StateT,
    actions: Int[Array, " copies"],
    params: ParamsT,
) -> BatchStep[StateT]:
    def play(key: PRNGKeyArray, state: StateT, action: Int[Array, ""]) -> Any:
        return env._transition(jax.random.split(key)[0], state, action, params)

    def begin_if(ended: Bool[Array, ""], key: PRNGKeyArray, last: StateT) -> StateT:
        fresh = env.begin(env.draw(jax.random.split(key)[1], params), params)
        if jax.tree.structure(fresh) != jax.tree.structure(last):
            raise ValueError(
                "the state holds hidden draws given by hand in a form that later episodes do not "
                "have: step it without AutoReset, or reset without `hidden`"
            )
        return select(ended, fresh, last)

    observe = jax.vmap(env.observe, in_axes=(0, None))
    last, reward, terminated, truncated, info = jax.vmap(play)(keys, states, actions)
    ended = terminated | truncated
    # Drawing episodes is the larger part of a step, and most steps end none.
    states = jax.lax.cond(
        jnp.any(ended), lambda: jax.vmap(begin_if)(ended, keys, last), lambda: last
    )
    # Observing after the choice costs one observation per step, not two.
    info = info | {"final_observation": observe(last, params)}
    return observe(states, params), states, reward, terminated, truncated, info


def select(which: Bool[Array, ""], yes: PyTree, no: PyTree) -> PyTree:
    """`yes` where `which` is true, else `no`; leaf by leaf, in the dtype of `no`."""
    return jax.tree.map(lambda a, b: jnp.where(which, a, b).astype(jnp.asarray(b).dtype), yes, no)


def check_action(action: object) -> None:
    """Refuse an action outside the space, if its value is known."""
    if isinstance(action, Tracer):
        return
    if isinstance(action, np.ndarray | jax.Array) and np.ndim(action) == 0:
        action = np.asarray(action).item()
    _checks.int_within("action", action, 0, len(Action) - 1)
