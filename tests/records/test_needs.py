"""Records that lack what is needed of them are refused by their line; begun runs are completed."""

import os

import pytest

from longpass.records import Records, RunFolder
from tests.records.test_run import Counting


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"event": "result", "settings": {}}, "has no settings.task"),
        ({"event": "result", "settings": []}, "has no settings.task"),
        ({"event": "result"}, "has no settings.task"),
        ({"event": "result", "settings": {"task": 3}, "score": 1}, "has the settings.task 3"),
        ({"event": "result", "settings": {"task": "a"}, "score": "x"}, "has the score 'x'"),
    ],
)
def test_a_record_without_what_is_needed_is_named_by_its_line(tmp_path, record, message):
    records = Records(tmp_path / "records.jsonl")
    good = {"event": "result", "settings": {"task": "a"}, "score": 0.5}
    needs = {"settings.task": str, "score": (int, float)}
    records.append([{"event": "other"}, good])
    assert records.read_events("result", needs) == [good]
    records.append([record])
    with pytest.raises(ValueError, match=rf"line 3 of .*records.jsonl {message}"):
        records.read_events("result", needs)


def test_a_run_that_was_cut_between_checkpoint_and_first_record_is_completed(tmp_path):
    """Whatever is missing of the first checkpoint and the first line, --resume writes it."""
    for name in ("settings only", "checkpoint only", "record only"):
        out = tmp_path / name
        with RunFolder(out, "stream", {"a": 1}) as folder:
            folder.begin(Counting())
        if name != "checkpoint only":
            (out / "checkpoint.npz").unlink()
        if name != "record only":
            (out / "records.jsonl").unlink()
        with RunFolder(out, "stream", {"a": 1}, resume=True) as folder:
            folder.begin(Counting())
            events = [line["event"] for line in folder.records.read()]
            assert events[0] == "begin"
            assert events.count("begin") == 1
            assert folder.begun


def test_a_full_disk_is_named_with_the_file(tmp_path, monkeypatch):
    records = Records(tmp_path / "records.jsonl")
    records.append([{"n": 0}])

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", fail)
    with pytest.raises(OSError, match=r"records.jsonl could not be written .*No space left"):
        records.append([{"n": 1}])
    monkeypatch.undo()
    assert records.read() == [{"n": 0}]


def test_sizes_of_text_are_checked_before_it_is_read(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"")
    os.truncate(path, 2**41)
    with pytest.raises(ValueError, match=f"it has {2**41} bytes: it must have at most"):
        Records(path).read()


def test_a_strangers_settings_are_left_alone(tmp_path):
    mine = '{"editor": "vi"}'
    (tmp_path / "settings.json").write_text(mine)
    for resume in (False, True):
        with (
            pytest.raises(ValueError, match=r"settings.json has no kind"),
            RunFolder(tmp_path, "stream", {"a": 1}, resume=resume),
        ):
            pass
    assert (tmp_path / "settings.json").read_text() == mine
