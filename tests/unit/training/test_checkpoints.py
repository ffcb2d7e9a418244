"""Pauses in which something was saved are told as checkpoints: by a mark, by a file; other pauses
are pauses.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
from tests.synthetic.tfevents import write_scalars

UNIX = 1_795_000_000


def paused(folder: Path, mark: str = "") -> Training:
    """Two hundred steps of 0.1 s, with three seconds of nothing after the hundredth."""
    rows = [(UNIX + 1 + 0.1 * n + (3.0 if n > 100 else 0.0), n, "loss", 1.0) for n in range(1, 201)]
    write_scalars(folder / "logs" / f"events.out.tfevents.{UNIX}.vm.7.0", rows, float(UNIX))
    head = (
        "# powertui recording 1\n# interval_s: "
        "0.5\ntime_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark\n"
    )
    lines = []
    for n in range(60):
        lines.append(
            f"{UNIX + n / 2},{n / 2},bmc1,power,{250 if not 22 < n < 29 else 150},,0.001,ok,,"
        )
        if mark and n == 24:
            lines.append(f"{UNIX + n / 2 + 0.1},{n / 2 + 0.1},,,,,,mark,,{mark}")
    (folder / "logs" / "power.csv").write_text(head + "\n".join(lines) + "\n")
    (entry,) = logdir.scan(folder).trainings
    return Training(entry, ReadOptions())


def pauses(training: Training) -> list[tuple[str, str]]:
    return [
        (one.kind, one.name)
        for one in training_energy(training.seen_from()).phases()
        if one.kind in ("pause", "checkpoint")
    ]


def test_a_pause_of_which_nothing_tells(tmp_path: Path) -> None:
    assert pauses(paused(tmp_path)) == [("pause", "pause")]


@pytest.mark.parametrize("mark", ["checkpoint", "Saving model", "ckpt-100"])
def test_a_mark_tells(tmp_path: Path, mark: str) -> None:
    assert pauses(paused(tmp_path, mark)) == [("checkpoint", f"checkpoint (marked {mark})")]


@pytest.mark.parametrize(
    "name", ["model_3.keras", "ckpt-100.index", "checkpoint", "pytorch_model.pt"]
)
def test_a_file_that_was_written_meanwhile_tells(tmp_path: Path, name: str) -> None:
    training = paused(tmp_path)
    file = tmp_path / "logs" / name
    file.write_bytes(b"x")
    os.utime(file, (UNIX + 13, UNIX + 13))
    assert pauses(training) == [("checkpoint", f"checkpoint ({name} was written)")]


def test_a_file_of_another_time_tells_nothing(tmp_path: Path) -> None:
    training = paused(tmp_path)
    (tmp_path / "logs" / "model.keras").write_bytes(b"x")
    assert pauses(training) == [("pause", "pause")]
