"""Checkpoints: any pytree of arrays, exact to the bit, without pickle."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from longpass.results._files import write_whole

_ABOUT = "about"  # the member that says what the checkpoint is of
Tree = TypeVar("Tree")


class Checkpoints:
    """The two latest checkpoints of a run, in a folder: `checkpoint.npz` and the one before.

    A checkpoint is a pytree of arrays (keys of `jax.random.key` too) and `about`, a JSON object
    that says which run it is of. It is read back only into a run of the same `about` and the same
    names, shapes and dtypes. Zip's checksums find damage; then the one before is taken.
    """

    def __init__(self, folder: Path):
        self.latest = Path(folder) / "checkpoint.npz"
        self.before = Path(folder) / "checkpoint-before.npz"

    def exist(self) -> bool:
        """Whether there is anything to resume from."""
        return self.latest.exists() or self.before.exists()

    def save(self, tree: Any, about: dict[str, Any]) -> None:
        """Write `tree` as the latest checkpoint; the one that was becomes the one before."""
        fresh = self.latest.with_name("checkpoint-new.npz")
        write_whole(fresh, lambda file: _write(file, tree, about))
        # At every moment one whole checkpoint bears a name that `load` looks for.
        if self.latest.exists():
            self.latest.replace(self.before)
        fresh.replace(self.latest)

    def load(self, like: Tree, about: dict[str, Any]) -> tuple[Tree, str | None]:
        """(The latest whole checkpoint in the form of `like`, a warning if it is not the latest).

        ValueError if it is of another run (`about` differs) or none is whole.
        """
        damage = None
        for path in (self.latest, self.before):
            try:
                # The file is opened here, because NumPy leaves it open where it finds no archive.
                with path.open("rb") as file:
                    members = _members(file)
            except FileNotFoundError:
                continue
            except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
                damage = f"{path} is damaged ({error})"
                continue
            tree = _fit(str(path), members, like, about)
            return tree, damage and f"{damage}: going on from the one before, {path.name}"
        raise ValueError(damage or f"there is no checkpoint in {self.latest.parent}")


def to_bytes(tree: Any, about: dict[str, Any]) -> bytes:
    """What a checkpoint's file would hold, for another process."""
    file = io.BytesIO()
    _write(file, tree, about)
    return file.getvalue()


def from_bytes(data: bytes, like: Tree, about: dict[str, Any] | None) -> Tree:
    """What `to_bytes` was given, in the form of `like`; `about` as for `Checkpoints.load`, or None
    where any run of this form will do."""
    return _fit("the state", _members(io.BytesIO(data)), like, about)


def _write(file: io.BufferedIOBase, tree: Any, about: dict[str, Any]) -> None:
    leaves: dict[str, Any] = {name: np.asarray(_data(leaf)) for name, leaf in _named(tree).items()}
    np.savez(file, **{_ABOUT: np.frombuffer(json.dumps(about).encode(), np.uint8), **leaves})


def _members(file: io.BufferedIOBase) -> dict[str, np.ndarray]:
    with np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _fit(
    path: str, members: dict[str, np.ndarray], like: Tree, about: dict[str, Any] | None
) -> Tree:
    """The arrays of a checkpoint in the form of `like`, if they are of the run `about`."""
    found = json.loads(members.pop(_ABOUT).tobytes())
    right = found if about is None else about
    for name in sorted({*found, *right}):
        if found.get(name) != right.get(name):
            raise ValueError(
                f"{path} is of a run with {name} {found.get(name)!r}, this one has "
                f"{right.get(name)!r}: resume with the settings that it was begun with, or "
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
        array, right = members[name], jax.eval_shape(_data, leaf)
        if (array.shape, array.dtype) != (right.shape, right.dtype):
            raise ValueError(
                f"{path} is of another network or version: {name} has shape {array.shape} and "
                f"dtype {array.dtype}, here {right.shape} and {right.dtype}"
            )
        leaves.append(_undo(array, leaf))
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _named(tree: Any) -> dict[str, Any]:
    return {
        jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _data(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _undo(array: np.ndarray, like: Any) -> jax.Array:
    leaf = jax.numpy.asarray(array)
    return jax.random.wrap_key_data(leaf, impl=jax.random.key_impl(like)) if _is_key(like) else leaf
