"""A list of runs as a table: newest first, what reading adds, and what is said of a run that cannot
be read.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

import powertui
from powertui import demo
from powertui.data import logdir
from powertui.data.asked import Aligning
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Cost, Evidence, Kind
from powertui.data.logdir import RunEntry
from powertui.data.logdir.changes import Changes
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.report import brief, run_table, runs


def entries(folder: Path) -> tuple[RunEntry, ...]:
    return logdir.scan(folder).runs


def make(folder: Path, *names: str) -> Path:
    for name in names:
        run = folder / name
        run.mkdir(parents=True)
        (run / "host.xplane.pb").write_bytes(b"")
    return folder


def test_the_newest_is_first_and_a_date_that_cannot_be_is_no_date(tmp_path: Path) -> None:
    days = (
        "2026_03_01_10_00_00",
        "2026_11_21_00_51_44",
        "2025_12_31_23_59_59",
        "2026_02_31_10_00_00",
    )
    make(tmp_path / "plugins" / "profile", *days)
    odd = tmp_path / "plugins" / "profile" / days[3] / "host.xplane.pb"
    os.utime(odd, (1_000_000_000, 1_000_000_000))  # nothing but its file dates it: 2001
    found = entries(tmp_path)
    table = run_table.table(found, [runs.first(entry) for entry in found])
    assert [table["run"].value(row) for row in range(4)] == [days[1], days[0], days[2], days[3]]
    assert [table["when"].value(row) for row in range(4)] == [
        "2026-11-21 00:51",
        "2026-03-01 10:00",
        "2025-12-31 23:59",
        None,
    ]
    assert {table["readable"].value(row) for row in range(4)} == {None}


def test_reading_adds_steps_and_joules() -> None:
    (entry,) = entries(demo.folder())
    opened = Opened(entry)
    read = runs.read(opened)
    assert (read.steps, read.epochs, read.device, read.readable) == (200, 2, "CPU", True)
    assert read.step_ps is not None
    assert 50e9 < read.step_ps < 150e9
    assert read.joules is None
    known = runs.weighed(opened, read)
    assert known.joules is not None
    assert known.joules_lo is not None
    assert known.joules_hi is not None
    assert known.joules_lo < known.joules < known.joules_hi
    assert known.power.startswith("±")
    known = runs.concluded(opened, known)
    assert known.conclusion == "! +59 W"
    assert known.found is not None
    assert known.found >= 1
    table = run_table.table([entry], [known])
    assert table["joules"].value(0) == known.joules
    place = table.place(0)
    assert place is not None
    assert place.run == entry.path


def test_what_takes_most_of_the_time_is_what_a_run_is_bound_by() -> None:
    def conclusion(kind: Kind, share: float | None) -> Conclusion:
        return Conclusion(
            kind=kind,
            sentence="",
            short=f"{kind.value} {share}",
            confidence=Confidence.SURE,
            evidence=Evidence("timeline"),
            cost=Cost(share=share),
        )

    pauses, computing = conclusion(Kind.PAUSE, 0.57), conclusion(Kind.COMPUTE, 0.35)
    assert runs._bound([pauses, computing]) is pauses
    assert runs._bound([conclusion(Kind.PAUSE, 0.1), computing]) is computing
    assert runs._bound([conclusion(Kind.POWER, None), computing]) is computing
    assert runs._bound([pauses]) is None


def test_a_run_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    make(tmp_path / "plugins" / "profile", "one")
    (entry,) = entries(tmp_path)
    known = runs.unreadable(entry, "it is empty")
    assert (known.readable, known.steps, known.joules) == (False, None, None)
    assert known.when.startswith("by 20"), "its file was written by then"
    assert run_table.table([entry], [known])["steps"].text(0) == ""


def test_folders_tell_of_what_came_and_went(tmp_path: Path) -> None:
    make(tmp_path / "plugins" / "profile", "one")
    found = logdir.scan(tmp_path)
    changes = Changes(found.folders, found.began_ns + 10**9)
    assert not changes.look()
    assert Changes(found.folders, 1).look(), (
        "what came while the folders were looked through is not missed"
    )
    make(tmp_path / "plugins" / "profile", "two")
    assert changes.look()
    assert not changes.look()
    shutil.rmtree(tmp_path / "plugins" / "profile" / "one")
    assert changes.look()
    shutil.rmtree(tmp_path / "plugins")
    assert changes.look()
    assert not changes.look()


def test_where_runs_come_is_asked_at_every_look(tmp_path: Path) -> None:
    """A further session of any of many runs, a first one where only scalars lay, a run beside the
    others.
    """
    homes = [tmp_path / f"{number:02}" for number in range(30)]
    for home in homes:
        make(home / "plugins" / "profile", "one")
        (home / "train").mkdir()
    (tmp_path / "scalars" / "train").mkdir(parents=True)
    found = logdir.scan(tmp_path)
    for number, new in enumerate(
        (
            homes[29] / "plugins" / "profile" / "two",
            tmp_path / "scalars" / "train" / "plugins",
            tmp_path / "30",
        )
    ):
        changes = Changes(found.folders, time.time_ns() + 10**9, by_turns=1)
        assert not changes.look()
        new.mkdir()
        assert changes.look(), number
        assert not changes.look()


def test_of_very_many_folders_each_look_asks_some(tmp_path: Path) -> None:
    folders = [tmp_path / f"{number:02}" / "deep" for number in range(30)]
    for folder in folders:
        folder.mkdir(parents=True)
    changes = Changes(
        [str(tmp_path), *(str(folder) for folder in folders)], time.time_ns() + 10**9, 10, 10
    )
    assert not any(changes.look() for _ in range(4))
    (folders[29] / "new").mkdir()
    assert sum(changes.look() for _ in range(4)) == 1, "within as many looks as it takes to ask all"


def test_a_list_without_runs_says_whether_folders_are_still_searched() -> None:
    assert run_table.table((), ()).empty == "No run was found."
    assert run_table.table((), (), is_complete=False).empty == "Looking for runs …"


def test_a_finding_that_the_bars_of_a_run_cannot_show_says_where_it_is(shared_data: Path) -> None:
    """The profile is a third of a second of a training of a minute."""
    opened = powertui.open(shared_data / "own" / "long_training_2")[0].opened
    known = runs.concluded(opened, runs.weighed(opened, runs.read(opened)))
    assert known.unusual == "+60 W outside"
    assert known.conclusion == "! +60 W"


def test_a_run_has_one_median_step_wherever_it_is_shown() -> None:
    """Steps that trace are left out of all of them: 90.51 and 90.53 ms were two figures of one."""
    (entry,) = entries(demo.folder())
    opened = Opened(entry)
    question = Question(opened)
    overview = {
        fact.id: fact.value for fact in registry.get("overview_page").answer(question).facts
    }
    steps = {fact.id: fact.value for fact in registry.get("steps").answer(question).facts}
    briefly = brief._run(opened, Aligning())["step_s"]["median"]
    assert runs.read(opened).step_ps == overview["step_time_usual_s"] == steps["usual"]
    assert briefly == pytest.approx(overview["step_time_usual_s"] / 1e12, rel=1e-5)
    lengths = opened.profiles[0].steps.lengths()
    assert overview["step_time_usual_s"] == np.median(lengths[1:]) != np.median(lengths)
