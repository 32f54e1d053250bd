"""Every kind of file with every kind of damage, once: `make chaos` does more of it."""

import dataclasses
import io
import struct
import zipfile

import numpy as np
import pytest

from chaos import damage
from chaos._damaged_files import TARGETS, make_population, population_plan
from longpass import agents
from longpass._archives import DamagedFile, read_archive

pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_damaged_file_costs_itself_only(target):
    """It is refused by a message that names it, or what is older is read; nothing is executed."""
    for seed, fault in enumerate(damage.FAULTS):
        assert damage.try_case(target, fault, seed).problem == "", fault


def make_archive(**options) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        for name in "ab":
            array = io.BytesIO()
            np.lib.format.write_array(array, np.arange(6.0).reshape(2, 3))
            archive.writestr(f"{name}.npy", array.getvalue())
    return file.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_whole_archives_are_read(compression):
    arrays = read_archive(make_archive(compression=compression))
    assert list(arrays) == ["a", "b"]
    for array in arrays.values():
        np.testing.assert_array_equal(array, np.arange(6.0).reshape(2, 3))
        array += 1  # it may be written to


def test_every_flipped_bit_is_found_or_harmless():
    """Some bits, such as those of dates, mean nothing. No other flip may change what is read."""
    good = make_archive()
    for place in range(len(good)):
        for bit in (0, 3, 7):
            data = bytearray(good)
            data[place] ^= 1 << bit
            try:
                arrays = read_archive(bytes(data))
            except DamagedFile:
                continue
            assert list(arrays) == ["a", "b"], place
            for array in arrays.values():
                np.testing.assert_array_equal(array, np.arange(6.0).reshape(2, 3))


def test_declared_sizes_are_checked_before_anything_is_read():
    good = make_archive(compression=zipfile.ZIP_DEFLATED)
    place = good.index(b"PK\x01\x02")
    claims = good[: place + 24] + struct.pack("<I", 2**32 - 2) + good[place + 28 :]
    with pytest.raises(DamagedFile, match="claims 4294967294 bytes, which it cannot hold"):
        read_archive(claims)
    array = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**40,)}
    np.lib.format.write_array_header_1_0(array, header)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", array.getvalue() + bytes(8))
    with pytest.raises(DamagedFile, match=r"claims shape \(1099511627776,\), which it does not"):
        read_archive(file.getvalue())


def test_python_objects_are_never_loaded(tmp_path):
    with (tmp_path / "file").open("wb") as file:
        np.savez(file, a=np.array([damage.Bomb(tmp_path / "executed")], object))
    with pytest.raises(DamagedFile, match="holds Python objects, which are never loaded"):
        read_archive(tmp_path / "file")
    assert not (tmp_path / "executed").exists()


def test_a_population_that_cannot_be_continued_is_left_as_it_is(tmp_path):
    """Two rounds of one member are damaged, one after the other: the plan is not written anew."""
    population = make_population(tmp_path)
    for number in range(2):
        path = population.folder(1) / f"round-{number}.npz"
        path.write_bytes(path.read_bytes()[:-9])
    before = (tmp_path / "population.json").read_bytes()
    more = dataclasses.replace(population_plan(), rounds=9)
    again = agents.Population(more, tmp_path, resume=True)
    # All rounds of this member are gone, but another has done some: it may begin again.
    again.delete_damaged_rounds()
    assert again.rounds_done() == [2, 0]
    (population.folder(0) / "round-0.npz").unlink()
    (population.folder(1) / "round-0.npz").write_bytes(
        (population.folder(0) / "round-1.npz").read_bytes()
    )
    with pytest.raises(ValueError, match=r"round-0.npz is missing or was damaged"):
        agents.Population(more, tmp_path, resume=True).prepare()
    assert (tmp_path / "population.json").read_bytes() == before
