"""A checkpoint gives back what was saved, to the bit, or says why not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.records import Checkpoints
from tests.helpers import given

SETTINGS = {"task": "two-markers", "seed": 3}


def tree(scale=1.0):
    return {
        "weights": (
            jnp.arange(6, dtype=jnp.float32).reshape(2, 3) * scale,
            jnp.ones((), jnp.int32),
        ),
        "key": jax.random.key(7),
        "keys": jax.random.split(jax.random.key(8), 3),
        "flag": jnp.array([True, False]),
    }


def same(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert x.dtype == y.dtype
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        np.testing.assert_array_equal(x, y)


def test_what_is_saved_comes_back(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    assert not checkpoints.exist()
    checkpoints.save(tree(0.1), SETTINGS)
    assert checkpoints.exist()
    loaded, warning = checkpoints.load(tree(), SETTINGS)
    assert warning is None
    same(loaded, tree(0.1))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, damage):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(tree(1.0), SETTINGS)
    checkpoints.save(tree(2.0), SETTINGS)
    content = bytearray(checkpoints.latest.read_bytes())
    middle = content.index(np.float32(10.0).tobytes())  # 5 * 2, in the weights
    match damage:
        case "cut":
            content = content[: len(content) // 2]
        case "flip":
            content[middle] ^= 0xFF
        case "empty":
            content = b""
    checkpoints.latest.write_bytes(content)
    loaded, warning = checkpoints.load(tree(), SETTINGS)
    assert "is damaged" in given(warning)
    assert "checkpoint-before.npz" in given(warning)
    same(loaded, tree(1.0))


def test_a_save_that_fails_keeps_the_last_good_one(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(tree(1.0), SETTINGS)

    def full(file, **arrays):
        file.write(b"PK")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        checkpoints.save(tree(2.0), SETTINGS)
    loaded, warning = checkpoints.load(tree(), SETTINGS)
    assert warning is None
    same(loaded, tree(1.0))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    with pytest.raises(ValueError, match="there is no checkpoint in"):
        checkpoints.load(tree(), SETTINGS)
    checkpoints.save(tree(), SETTINGS)
    with pytest.raises(ValueError, match="is of a run with seed 3, this one has 4"):
        checkpoints.load(tree(), SETTINGS | {"seed": 4})
    other = tree() | {"weights": (jnp.ones((2, 4), jnp.float32), jnp.ones((), jnp.int32))}
    with pytest.raises(ValueError, match=r"weights.* has shape \(2, 3\)"):
        checkpoints.load(other, SETTINGS)
    with pytest.raises(ValueError, match="another network or version"):
        checkpoints.load(tree() | {"more": jnp.ones(1)}, SETTINGS)
