"""Values far out of range are refused at once, by a message that names the setting."""

import pytest

from tests.helpers import run

pytestmark = pytest.mark.usefixtures("unchecked_types")

SEEDED = (
    ("classify",),
    ("sweep",),
    ("train", "t-maze"),
    ("pbt", "t-maze"),
    ("film", "t-maze"),
    ("evaluate", "nowhere"),
)


@pytest.mark.parametrize("command", SEEDED, ids=lambda command: command[0])
@pytest.mark.parametrize("seed", [-1, 2**32, 2**63, 2**64])
def test_seeds_never_wrap(capsys, tmp_path, monkeypatch, command, seed):
    """In single precision, a seed of 2^32 gives what 0 gives, and 2^64 is no number of JAX's."""
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *command, "--seed", seed)
    assert code == 1
    assert f"seed is {seed}: it must be 0 to 4294967295" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("pools", "--pools", 2**31 - 1), "pools is 2147483647: it must be 1 to 1000"),
        (("pools", "--pools", 61), "peaks are known for at most 60 of these pools"),
        (("pools", "--horizon", 1e300, "--base", 1.0000001), "horizon is 1e+300"),
        (("pools", "--base", 1e300, "--pools", 3), "pools is 3: it must be at most 1 with base"),
        (("classify", "--symbols", 1e300), "symbols is 1000000000000000052504760255204420248704"),
        (("classify", "--symbols", 1e11, "--batch-size", 1), "2^31 - 1 minibatches"),
        (("classify", "--pool-size", 10**12), "pool_size is 1000000000000: it must be 1 to 1"),
        (("check", "no.such:memory", "--length", 1), "length is 1: it must be at least 2"),
        (("sweep", "--runs", 10**9), "runs is 1000000000: it must be 1 to 10000"),
        (("sweep", "--workers", 10**9), "workers is 1000000000: it must be 1 to 1000"),
        (("study", "onset", "--runs", 10**9), "runs is 1000000000: it must be 1 to 10000"),
        (("pbt", "t-maze", "--members", 10**6), "size is 1000000: it must be 1 to 10000"),
        (("train", "t-maze", "--envs", 10**12), "envs is 1000000000000: it must be 1 to 100000"),
        (("train", "t-maze", "--updates-per-call", 0), "updates_per_call is 0: it must be 1 to"),
        (("evaluate", "x", "--episodes", 10**9), "episodes is 1000000000: it must be 1 to 1000000"),
        (("film", "t-maze", "--fps", 1e-300), "fps is 1e-300: it must be finite and at least 0.01"),
        (("play", "t-maze", "--fps", 1e-300), "fps is 1e-300: it must be finite and at least 0.01"),
    ],
    ids=lambda part: " ".join(map(str, part)) if isinstance(part, tuple) else "",
)
def test_numbers_out_of_range(capsys, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *args)
    assert code in (1, 2)
    assert message in " ".join(err.split())
    assert not list(tmp_path.iterdir())
