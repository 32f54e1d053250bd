"""Checkpoints: any pytree of arrays, exact to the bit, without pickle."""

import io
import json
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from jax.typing import ArrayLike

from longpass._archives import DamagedFile, read_archive
from longpass._json import JsonObject, parse_json
from longpass.records._files import write_atomically

_SETTINGS = "settings"  # the member that says which run the checkpoint is of
Tree = TypeVar("Tree")


class Checkpoints:
    """The two latest checkpoints of a run, in a folder: by default `checkpoint.npz` and the one
    before, `checkpoint-before.npz`.

    A checkpoint is a pytree of arrays (keys of `jax.random.key` too) and the settings of its run.
    It is read back only into a run of the same settings and the same names, shapes and dtypes.
    Zip's checksums find damage; then the checkpoint before is taken.

    **Arguments:**

    - `folder`: of the run.
    - `latest`: the file of the latest checkpoint.
    - `before`: the file of the one before; None: there is none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = Checkpoints(Path(folder))
    ...     checkpoints.save({"weight": np.ones(2)}, {"seed": 0})
    ...     tree, warning = checkpoints.load({"weight": np.zeros(2)}, {"seed": 0})
    >>> tree["weight"].tolist(), warning
    ([1.0, 1.0], None)
    """

    def __init__(
        self,
        folder: Path,
        latest: str = "checkpoint.npz",
        before: str | None = "checkpoint-before.npz",
    ):
        self.latest = Path(folder) / latest
        self.before = Path(folder) / (before or latest)

    def exist(self) -> bool:
        """Whether there is anything to resume from."""
        return self.latest.exists() or self.before.exists()

    def save(self, tree: object, settings: JsonObject) -> None:
        """Write `tree` as the latest checkpoint; the latest so far becomes the one before."""
        new = self.latest.with_name("checkpoint-new.npz")
        data = to_bytes(tree, settings)
        write_atomically(new, lambda file: file.write(data))
        # At every moment one complete checkpoint has a name that `load` looks for.
        if self.latest.exists():
            self.latest.replace(self.before)
        new.replace(self.latest)

    def load(self, like: Tree, settings: JsonObject) -> tuple[Tree, str | None]:
        """Read the latest checkpoint that is not damaged.

        **Arguments:**

        - `like`: a pytree of arrays or `jax.ShapeDtypeStruct`s of the same structure.
        - `settings`: those of the run.

        **Returns:** (the checkpoint, a warning if it is not the latest one). ValueError if it is of
        another run, or if there is none that is not damaged.
        """
        damage = None
        for path in (self.latest, self.before):
            try:
                members, found = _read(path)
            except FileNotFoundError:
                continue
            except DamagedFile as error:
                damage = f"{path} is damaged ({error})"
                continue
            tree = _fit(str(path), members, found, like, settings)
            return tree, damage and f"{damage}: resuming from the one before, {path.name}"
        raise ValueError(damage or f"there is no checkpoint in {self.latest.parent}")


def to_bytes(tree: object, settings: JsonObject) -> bytes:
    """What the file of a checkpoint would hold, for another process.

    **Arguments:**

    - `tree`: a pytree of arrays.
    - `settings`: those of the run.

    **Returns:**

    The bytes, which `from_bytes` reads.
    """
    text = np.frombuffer(json.dumps(settings).encode(), np.uint8)
    leaves = {name: np.asarray(_key_data(leaf)) for name, leaf in _named(tree).items()}
    file = io.BytesIO()
    np.savez(file, **{_SETTINGS: text, **leaves})
    return file.getvalue()


def from_bytes(data: bytes, like: Tree, settings: JsonObject | None) -> Tree:
    """What `to_bytes` was given.

    **Arguments:**

    - `data`: the bytes.
    - `like`: as for `Checkpoints.load`.
    - `settings`: those of the run; None if any run of this structure will do.

    **Returns:**

    The pytree, exact to the bit.
    """
    members, found = _read(data)
    return _fit("the state", members, found, like, found if settings is None else settings)


def _read(source: Path | bytes) -> tuple[dict[str, np.ndarray], JsonObject]:
    """(Arrays by name, settings). `DamagedFile` if it is not a checkpoint."""
    members = read_archive(source)
    if _SETTINGS not in members:
        raise DamagedFile(f"it has no {_SETTINGS!r}: not a checkpoint")
    try:
        return members, parse_json(members.pop(_SETTINGS).tobytes())
    except ValueError as error:
        raise DamagedFile(f"its {_SETTINGS!r} are no settings: {error}") from None


def _fit(
    path: str,
    members: dict[str, np.ndarray],
    found: JsonObject,
    like: Tree,
    settings: JsonObject,
) -> Tree:
    """The arrays in the structure of `like`, if they are of a run with these settings."""
    for name in sorted({*found, *settings}):
        if found.get(name) != settings.get(name):
            raise ValueError(
                f"{path} is of a run with {name} {found.get(name)!r}, this one has "
                f"{settings.get(name)!r}: resume with the settings that it was begun with, or "
                f"choose another folder"
            )
    names = _named(like)
    if set(names) != set(members):
        odd = sorted(set(names) ^ set(members))
        raise ValueError(
            f"{path} is of another network or version: {odd[0]} is in only one of them"
        )
    leaves = []
    for name, leaf in names.items():
        array, right = members[name], jax.eval_shape(_key_data, leaf)
        if (array.shape, array.dtype) != (right.shape, right.dtype):
            raise ValueError(
                f"{path} is of another network or version: {name} has shape {array.shape} and "
                f"dtype {array.dtype}, here {right.shape} and {right.dtype}"
            )
        leaves.append(_restore(array, leaf))
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _named(tree: object) -> dict[str, Any]:
    return {
        jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _is_key(leaf: object) -> bool:
    dtype = getattr(leaf, "dtype", None)
    return dtype is not None and jax.numpy.issubdtype(dtype, jax.dtypes.prng_key)


def _key_data(leaf: ArrayLike) -> ArrayLike:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _restore(array: np.ndarray, like: object) -> jax.Array:
    # A copy of its own, which may be donated; jnp.asarray would compile a program per shape.
    leaf = jax.device_put(array, may_alias=False)
    return jax.random.wrap_key_data(leaf) if _is_key(like) else leaf
