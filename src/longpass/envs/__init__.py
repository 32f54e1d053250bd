"""The three gridworlds of the paper, in pure JAX and exact to the frame.

    env = TMaze()
    params = TMazeParams(limbo_time=50)
    observation, state = env.reset(key, params)
    observation, state, reward, terminated, truncated, info = env.step(key, state, action, params)

`AutoReset(env)` starts the next episode by itself. Many copies are `jax.vmap`; many difficulties
are `equinox.filter_vmap` over a record of parameters that holds arrays. `longpass.envs.gym` has
the same worlds for Gymnasium.
"""

from longpass.envs._cued_catch import CuedCatch as CuedCatch
from longpass.envs._cued_catch import CuedCatchHidden as CuedCatchHidden
from longpass.envs._cued_catch import CuedCatchParams as CuedCatchParams
from longpass.envs._cued_catch import CuedCatchState as CuedCatchState
from longpass.envs._environment import Action as Action
from longpass.envs._environment import AutoReset as AutoReset
from longpass.envs._environment import Environment as Environment
from longpass.envs._episode import Episode as Episode
from longpass.envs._episode import play as play
from longpass.envs._palette import COLOURS as COLOURS
from longpass.envs._palette import paint as paint
from longpass.envs._replay import Outcome as Outcome
from longpass.envs._replay import find as find
from longpass.envs._replay import replay as replay
from longpass.envs._scripted import perfect_actions as perfect_actions
from longpass.envs._scripted import random_actions as random_actions
from longpass.envs._sequence_recall import SequenceRecall as SequenceRecall
from longpass.envs._sequence_recall import SequenceRecallHidden as SequenceRecallHidden
from longpass.envs._sequence_recall import SequenceRecallParams as SequenceRecallParams
from longpass.envs._sequence_recall import SequenceRecallState as SequenceRecallState
from longpass.envs._spaces import Binary as Binary
from longpass.envs._spaces import Discrete as Discrete
from longpass.envs._speckle import GivenSpeckle as GivenSpeckle
from longpass.envs._speckle import HashedSpeckle as HashedSpeckle
from longpass.envs._t_maze import TMaze as TMaze
from longpass.envs._t_maze import TMazeHidden as TMazeHidden
from longpass.envs._t_maze import TMazeParams as TMazeParams
from longpass.envs._t_maze import TMazeState as TMazeState
