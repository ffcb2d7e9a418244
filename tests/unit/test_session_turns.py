"""Which of several trainings of one folder a session hangs under, and the order of runs that only
their files' times date.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from powertui.data.logdir.entries import ProfileFile, RunEntry
from powertui.data.logdir.session_turns import turns_of_sessions
from powertui.report import run_table
from powertui.report.runs import KnownRun

S = 1_000_000_000
START = 1_714_557_600  # 2024-05-01 10:00:00 UTC


def session(folder: Path, local_s: float, written_s: float) -> RunEntry:
    """A session named by its local time, whose file was written at another."""
    name = time.strftime("%Y_%m_%d_%H_%M_%S", time.gmtime(local_s))
    path = folder / name
    path.mkdir(parents=True)
    file = path / "vm.trace.json.gz"
    file.write_bytes(b"x")
    os.utime(file, (written_s, written_s))
    return RunEntry(name, str(path), (ProfileFile(str(file), "vm", "trace.json.gz", 1),))


# starts (s) and lengths of trainings that used one folder in turn
PACES = {
    "short ones": ([40 * n for n in range(8)], 25),
    "long ones": ([700 * n for n in range(8)], 600),
    "uneven ones": ([0, 60, 200, 1500, 1560, 4000, 9000, 9100], 45),
}


@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize("zone_h", [-3, 0, 5.5, 9])
@pytest.mark.parametrize("copied", [True, False], ids=["copied", "in place"])
def test_each_training_has_the_session_of_its_start(
    tmp_path: Path, pace: str, zone_h: float, copied: bool
) -> None:
    starts, length = PACES[pace]
    spans = [((START + at) * S, (START + at + length) * S) for at in starts]
    sessions = [
        session(
            tmp_path,
            START + at + 2.5 + 3600 * zone_h,
            START + 9e6 if copied else START + at + 3.5,
        )
        for at in starts
    ]
    assert turns_of_sessions(sessions, spans) == list(range(len(starts)))


def test_a_session_that_nothing_dates_is_of_the_last(tmp_path: Path) -> None:
    nameless = RunEntry("odd", str(tmp_path / "odd"))
    assert turns_of_sessions([nameless], [(0, S), (9 * S, 10 * S)]) == [1]


def test_runs_that_only_their_files_date_come_after_the_others(tmp_path: Path) -> None:
    entries = [RunEntry(name, str(tmp_path / name)) for name in ("a", "b", "c", "d", "e")]
    facts = [
        KnownRun(placed=3e9, by_file=True),
        KnownRun(placed=1e9),
        KnownRun(),
        KnownRun(placed=2e9),
        KnownRun(placed=4e9, by_file=True, began=1.5e9),  # read: its own clock counts
    ]
    table = run_table.table(entries, facts)
    assert list(table["run"].values) == ["d", "e", "b", "a", "c"]
