"""Records are only added to; a torn last line costs that line and nothing else."""

import datetime
import json
import os
import threading
import time

import jax
import pytest

from longpass.records import Records, make_folder, provenance, write_atomically


def test_records_come_back_in_order(tmp_path):
    records = Records(tmp_path / "records.jsonl")
    assert records.read() == []
    records.append([{"run": 0}, {"run": 1, "curve": [0.5, 0.25]}])
    records.append([{"run": 2}])
    assert records.read() == [{"run": 0}, {"run": 1, "curve": [0.5, 0.25]}, {"run": 2}]


def test_what_another_process_wrote_in_between_is_seen(tmp_path):
    """Even though a file is not read again for every record."""
    records, other = (Records(tmp_path / "records.jsonl") for _ in range(2))
    records.append([{"run": 0}])
    other.append([{"run": 1}])
    records.append([{"run": 2}])
    with records.path.open("ab") as file:
        file.write(b'{"run"')
    records.append([{"run": 3}])
    expected = [{"run": 0}, {"run": 1}, {"run": 2}, {"run": 3}]
    assert records.read() == other.read() == expected


def test_a_line_cut_anywhere_costs_only_itself(tmp_path):
    line = json.dumps({"run": 2, "name": "é"}, ensure_ascii=False).encode() + b"\n"
    for cut in range(len(line)):
        records = Records(tmp_path / f"{cut}.jsonl")
        records.append([{"run": 0}, {"run": 1}])
        with records.path.open("ab") as file:
            file.write(line[:cut])
        assert records.torn() == (cut > 0)
        assert records.read() == [{"run": 0}, {"run": 1}]
        records.append([{"run": 3}])
        assert records.read() == [{"run": 0}, {"run": 1}, {"run": 3}]
        assert not records.torn()
        if cut:
            torn = records.path.with_name(records.path.name + ".torn")
            assert torn.read_bytes() == line[:cut] + b"\n"


def test_a_line_for_which_there_is_no_room_leaves_nothing(tmp_path, monkeypatch):
    """A full disk takes the first bytes, and then no more."""
    records = Records(tmp_path / "records.jsonl")
    records.append([{"run": 0}])
    before = records.path.read_bytes()
    write, calls = os.write, []

    def fill_up(handle, data):
        calls.append(data)
        if len(calls) > 1:
            raise OSError("no space left")
        return write(handle, bytes(data)[:5])

    monkeypatch.setattr(os, "write", fill_up)
    with pytest.raises(OSError, match="no space left"):
        records.append([{"run": 1}])
    monkeypatch.undo()
    assert records.path.read_bytes() == before
    records.append([{"run": 1}])
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]


def test_a_broken_line_inside_is_not_ours(tmp_path):
    records = Records(tmp_path / "records.jsonl")
    records.path.write_text('{"run": 0}\nhello\n{"run": 1}\n')
    with pytest.raises(ValueError, match=r"line 2 of .* is not a record"):
        records.read()
    with pytest.raises(ValueError, match="line 2"):
        records.append([{"run": 3}])
    assert records.path.read_text().endswith('{"run": 1}\n')


def test_records_refuse_what_json_cannot_hold(tmp_path):
    records = Records(tmp_path / "records.jsonl")
    with pytest.raises(ValueError, match="JSON"):
        records.append([{"run": 0}, {"score": float("nan")}])
    assert not records.path.exists()


def test_a_file_is_whole_or_as_before(tmp_path):
    path = tmp_path / "a"
    write_atomically(path, lambda file: file.write(b"first"))

    def fail(file):
        file.write(b"sec")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, fail)
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_writers_of_one_file_wait_for_each_other(tmp_path):
    """What a kill left is used. A second writer begins once the first is done, and both files were
    whole: neither writes into the other's."""
    path = tmp_path / "a"
    (tmp_path / "a.part").write_bytes(b"left by a kill, and longer than what is written next")
    begun, order = threading.Event(), []

    def write(name):
        def fill(file):
            order.append(name)
            begun.set()
            file.write(name[:1])
            time.sleep(0.2)
            file.write(name[1:])
            order.append(name)

        write_atomically(path, fill)

    first = threading.Thread(target=write, args=(b"first",))
    first.start()
    begun.wait()
    write(b"second")
    first.join()
    assert order == [b"first", b"first", b"second", b"second"]
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_must_be_one(tmp_path):
    assert make_folder("out", tmp_path / "a" / "b").is_dir()
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ValueError, match=r"out is .*which is a file: it must be a folder"):
        make_folder("out", file)
    with pytest.raises(ValueError, match="which is a file"):
        make_folder("out", file / "below")


def test_a_folder_must_be_writable(tmp_path, monkeypatch):
    # Asked of the system, not tried: root, as whom many containers run, may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ValueError, match="that you may write to"):
        make_folder("out", tmp_path)


def test_provenance_names_what_ran():
    found = provenance()
    assert set(found) == {"version", "commit", "jax", "machine", "date"}
    assert str(os.cpu_count()) in found["machine"]
    assert found["jax"] == jax.__version__
    age = datetime.date.today() - datetime.date.fromisoformat(found["date"])
    assert abs(age.days) <= 1
