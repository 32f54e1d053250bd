"""Files of arrays (.npz), read with suspicion: nothing is unpickled, no declared size is trusted.

A file may be cut, flipped in any bit, written by somebody else or made to do harm. What it declares
is checked before anything is allocated, and whatever is wrong with it is one kind of error.
"""

import io
import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np

MOST_BYTES = 2**34
"""The largest sum of arrays that is read: 16 GiB."""
_MOST_MEMBERS = 10_000
_LOCAL_HEADER = 30  # bytes before the name of a member; the last four are two lengths
_MOST_RATIO = 1100  # of deflate, at best


class DamagedFile(ValueError):
    """A file that is not a complete archive of plain arrays."""


def read_archive(source: Path | bytes) -> dict[str, np.ndarray]:
    """The arrays in an archive, by name.

    **Arguments:**

    - `source`: the file, or its content.

    **Returns:** the arrays. `DamagedFile` if it is anything else than a complete archive of plain
    arrays; FileNotFoundError if there is no file.
    """
    try:
        if isinstance(source, bytes):
            return _read(io.BytesIO(source))
        with source.open("rb") as file:
            return _read(file)
    except FileNotFoundError:
        raise
    except DamagedFile:
        raise
    except Exception as error:
        # What zipfile and NumPy raise depends on where it is damaged.
        raise DamagedFile(f"it is not a complete archive of arrays: {error}") from None


def _read(file: IO[bytes]) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        _check_directory(file, members, archive.start_dir)
        arrays: dict[str, np.ndarray] = {}
        for member in members:
            with archive.open(member) as content:
                arrays[member.filename.removesuffix(".npy")] = _read_array(content, member)
    return arrays


def _check_directory(file: IO[bytes], members: list[zipfile.ZipInfo], end: int) -> None:
    """Check that members follow each other without a gap, so that none is missing, and fit."""
    if not 0 < len(members) <= _MOST_MEMBERS:
        raise DamagedFile(f"it has {len(members)} members")
    place = 0
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset != place:
            raise DamagedFile(f"something is missing before {member.filename!r}")
        file.seek(place + _LOCAL_HEADER - 4)
        lengths = file.read(4)
        name, extra = int.from_bytes(lengths[:2], "little"), int.from_bytes(lengths[2:], "little")
        place += _LOCAL_HEADER + name + extra + member.compress_size
        stored = member.compress_type == zipfile.ZIP_STORED
        most = member.compress_size * (1 if stored else _MOST_RATIO)
        if member.file_size > most:
            raise DamagedFile(
                f"{member.filename!r} claims {member.file_size} bytes, which it cannot hold"
            )
    if place != end:
        raise DamagedFile("something is missing at its end")
    total = sum(member.file_size for member in members)
    if total > MOST_BYTES:
        raise DamagedFile(f"it claims {total} bytes: it must be at most {MOST_BYTES}")


def _read_array(content: IO[bytes], member: zipfile.ZipInfo) -> np.ndarray:
    version = np.lib.format.read_magic(content)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        raise DamagedFile(f"{member.filename!r} is of version {version}")
    shape, fortran_order, dtype = read_header(content)
    if dtype.hasobject:
        raise DamagedFile(f"{member.filename!r} holds Python objects, which are never loaded")
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size != member.file_size - content.tell():
        raise DamagedFile(f"{member.filename!r} claims shape {shape}, which it does not have")
    data = bytearray(content.read())  # also checks the checksum
    array = np.frombuffer(data, dtype, math.prod(shape)) if size else np.empty(shape, dtype)
    return array.reshape(shape, order="F" if fortran_order else "C")
