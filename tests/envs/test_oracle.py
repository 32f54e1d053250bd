"""Random play against the slow games of `oracle.py`: boards, planes, rewards and ends."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.envs import (
    Action,
    CuedCatch,
    CuedCatchHidden,
    CuedCatchParams,
    GivenSpeckle,
    SequenceRecall,
    SequenceRecallHidden,
    SequenceRecallParams,
    TMaze,
    TMazeHidden,
    TMazeParams,
    play_episode,
)
from tests.envs import oracle

SEEDS = range(5)
PER_SEED = 40


def settings(params):
    return {f.name: getattr(params, f.name) for f in dataclasses.fields(params)}


@functools.partial(jax.jit, static_argnums=0)
def observe(env, states, params):
    return jax.vmap(env.observe, in_axes=(0, None))(states, params)


def compare(env, params, hidden, game, actions):
    """Play both; every frame must be the same. Gives the number of actions that were played."""
    boards, rewards, over = [game.board()], [0.0], [False]
    for action in actions:
        board, reward, ended = game.step(int(action))
        boards.append(board)
        rewards.append(reward)
        over.append(ended)
        if ended:
            break
    steps = len(boards) - 1
    episode = play_episode(env, params, hidden, actions[:steps])
    theirs = np.array(boards).view(np.uint32).reshape(steps + 1, env.rows, env.cols)
    different = np.argwhere(theirs != episode.boards)
    assert different.size == 0, (
        params,
        different[0],
        "\n".join(map("".join, boards[different[0][0]])),
    )
    np.testing.assert_allclose(episode.rewards, rewards, atol=1e-6)
    np.testing.assert_array_equal(episode.over, over)
    np.testing.assert_array_equal(episode.discounts, 1.0 - np.array(over))
    some = np.linspace(0, steps, 20).astype(int)
    seen = np.asarray(observe(env, jax.tree.map(lambda x: x[some], episode.states), params))
    planes = np.frombuffer(env.planes.encode(), np.uint8)
    np.testing.assert_array_equal(seen, theirs[some][..., None] == planes)
    return steps


@pytest.mark.parametrize("seed", SEEDS)
def test_cued_catch(seed):
    rng = np.random.default_rng(seed)
    trials = int(rng.integers(0, 12))  # one size a seed, so that it compiles once
    ended = 0
    for _ in range(PER_SEED):
        params = CuedCatchParams(
            initial_cue_duration=int(rng.integers(1, 5)),
            cue_duration=int(rng.integers(0, 10)),
            num_trials=trials,
            always_show_ball_symbol=bool(rng.integers(2)),
            reward_free_trials=int(rng.integers(0, 6)),
        )
        mapping, cues = rng.permutation([0, 0, 1, 1]), rng.integers(0, 4, trials + 1)
        hidden = CuedCatchHidden(jnp.asarray(mapping, jnp.int8), jnp.asarray(cues, jnp.int8))
        game = oracle.Catch(settings(params), mapping, cues)
        actions = rng.integers(0, 5, 128)
        ended += compare(CuedCatch(), params, hidden, game, actions) == game.end
    assert ended == PER_SEED


def maze_walk(rng, params, goal):
    """Towards a goal (not always the right one), with noise, and anything at all at its end."""
    lo, hi = oracle.LO[params.level], oracle.HI[params.level]
    game = oracle.Maze(settings(params), goal, np.zeros((77, 191), bool))
    enter = int(rng.integers(93, 96))
    pad = int(rng.integers(lo + 1, lo + 4) if rng.integers(2) else rng.integers(hi - 3, hi))
    noise = rng.choice([0.0, 0.05, 0.3])
    end_moves = rng.integers(0, 5, 3)
    actions, touched = [], 0
    for _ in range(420):
        r, c = (game.n[i] + game.s[i] + game.at[i] for i in (0, 1))
        if oracle.maze_kind(r, c) in "lr" or touched:
            action = int(end_moves[min(touched, 2)])
            touched += 1
        elif r < 10:
            action = 3 if c < enter else 2 if c > enter else 0
        else:
            action = 1 if c == pad else 3 if c < pad else 2
        if rng.random() < noise:
            action = int(rng.integers(5))
        actions.append(action)
        if game.step(action)[2]:
            break
    return np.array(actions)


@pytest.mark.parametrize("seed", SEEDS)
def test_t_maze(seed):
    rng = np.random.default_rng(seed)
    ended = 0
    for place in range(PER_SEED):
        params = TMazeParams(
            level=int(rng.integers(6)),
            cue_after_teleport=bool(rng.integers(2)),
            timeout_frames=int(
                rng.choice([-1, 1, 2, 40, 110, 400], p=[0.4, 0.02, 0.03, 0.15, 0.2, 0.2])
            ),
            teleport_delay=int(rng.integers(0, 8)),
            limbo_time=int(rng.choice([0, 3, 4, 5, 9])),
        )
        goal, speckle = int(rng.integers(2)), rng.random((77, 191)) < 0.6
        hidden = TMazeHidden(jnp.int8(goal), GivenSpeckle.of(speckle))
        random_play = place % 4 == 0
        actions = rng.integers(0, 5, 128) if random_play else maze_walk(rng, params, goal)
        game = oracle.Maze(settings(params), goal, speckle)
        steps = compare(TMaze(), params, hidden, game, actions)
        ended += steps < len(actions) or game.limit == game.f
    assert ended > PER_SEED / 2


@pytest.mark.parametrize("seed", SEEDS)
def test_sequence_recall(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    finished = 0
    for _ in range(PER_SEED):
        params = SequenceRecallParams(
            sequence_length=count,
            demo_light_on_frames=int(rng.integers(0, 5)),
            demo_light_off_frames=int(rng.integers(0, 5)),
            pause_frames=int(rng.integers(0, 6)),
            timeout_frames=int(rng.choice([-1, 1, 2, 9, 20, 60, 200])),
        )
        sequence = rng.integers(1, 5, count)
        hidden = SequenceRecallHidden(jnp.asarray(sequence, jnp.int8))
        # A walk that keeps its direction for a while gets around more.
        actions = np.repeat(rng.integers(0, 5, 128), rng.integers(1, 5))[:256]
        game = oracle.Recall(settings(params), sequence)
        compare(SequenceRecall(), params, hidden, game, actions)
        finished += game.mode == "finished"
    assert finished > 0


@pytest.mark.parametrize("extra", range(-2, 5))
def test_a_time_limit_around_the_last_light(extra):
    """The entry counts on the limit itself; one frame later ends at once; two are overridden."""
    params = SequenceRecallParams(1, 2, 2, 2, timeout_frames=8 + extra)
    hidden = SequenceRecallHidden(jnp.array([2], jnp.int8))
    game = oracle.Recall(settings(params), [2])
    actions = np.array([Action.STAY] * 5 + [Action.UP] * 3 + [Action.STAY] * 10)
    steps = compare(SequenceRecall(), params, hidden, game, actions)
    assert steps == {-2: 6, -1: 7, 0: 8, 1: 9}.get(extra, 11)
