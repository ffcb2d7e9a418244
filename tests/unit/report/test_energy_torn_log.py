"""A packed power log that ends in the middle: the answer says that a part of it is missing."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from powertui import cli
from powertui.data.power import registry
from tests.synthetic import Burst, Plan, build


def _packed_log(rows: int) -> bytes:
    """Readings of one second each; alike in shape and not in value, so that little is packed."""
    lines = ["time,watts"]
    for second in range(rows):
        minute, rest = divmod(second, 60)
        lines.append(f"2026-03-01T10:{minute:02d}:{rest:02d}Z,{200 + (second * 7919) % 613 / 10}")
    return gzip.compress("\n".join(lines).encode())


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("cut", "the gzip stream ends in the middle"),
        ("damaged", "the gzip stream is damaged near byte"),
    ],
)
def test_the_answer_of_a_torn_log_says_so(
    fault: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = bytearray(_packed_log(3000))
    if fault == "cut":
        del packed[len(packed) // 2 :]
    else:
        packed[len(packed) // 2] ^= 0xFF
    path = tmp_path / "log.csv.gz"
    path.write_bytes(packed)
    (loss,) = [warning for warning in registry.load(str(path)).warnings if warning.is_loss]
    assert words in loss.cause
    assert cli.main(["energy", str(path)]) == 0
    answer, _, _ = capsys.readouterr().out.partition("\n\n")
    assert words in answer
    assert "the whole log" not in answer
    if fault == "cut":  # what was damaged in the middle has no joules at all
        assert ", all that could be read of the log" in answer


def test_a_whole_log_has_lost_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(_packed_log(3000))
    assert not any(warning.is_loss for warning in registry.load(str(path)).warnings)
    assert cli.main(["energy", str(path)]) == 0
    page = capsys.readouterr().out
    assert "gzip" not in page
    assert ", the whole log" in page


def test_beside_a_profile_it_is_said_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = build(3, Plan(seconds=24, step_s=0.2, bursts=(Burst(1, 20, 40, 80.0),)))
    profile = tmp_path / "plugins" / "profile" / "2024_01_01_00_00_00" / "host.xplane.pb"
    profile.parent.mkdir(parents=True)
    profile.write_bytes(work.xplane())
    times = np.arange(-7.0, work.edges[-1], 0.25)
    watts = [float(work.energy(at - 0.25, at)) / 0.25 for at in times]
    lines = [f"{1_700_000_000 + at:.3f},{w:.2f}\n" for at, w in zip(times, watts, strict=True)]
    packed = gzip.compress(("time_unix_s,watts\n" + "".join(lines)).encode())
    (tmp_path / "power.csv.gz").write_bytes(packed[:-40])
    assert cli.main(["energy", str(tmp_path)]) == 0
    answer, _, _ = capsys.readouterr().out.partition("\n\n")
    assert "the gzip stream ends in the middle" in answer
