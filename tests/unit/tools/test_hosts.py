"""Several hosts: which step of one is which of another, the run's step, and who holds the others
up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.tools import hosts, registry
from powertui.data.tools.hosts import stragglers
from powertui.data.tools.registry import Question
from tests.synthetic.xplane import Event, Line, Plane, encode

_MS = 1_000_000_000


def _run(
    folder: Path,
    lengths: dict[str, list[int]],
    *,
    first: dict[str, int] | None = None,
    waits: bool = True,
) -> Opened:
    """Steps of 100 ms on each host, of which so many ms are work and the rest a collective in which
    it waits.
    """
    place = folder / "plugins" / "profile" / "2026_11_22_00_00_00"
    place.mkdir(parents=True)
    for host, work in lengths.items():
        start = (first or {}).get(host, 0)
        marks, kernels, drawn = [], [], []
        for index, ms in enumerate(work):
            at, number = index * 100 * _MS + 5 * _MS * len(host), start + index
            long = 100 if waits else ms
            group = {"group_id": index}
            marks.append(
                Event(
                    "train", at, _MS, {"step_num": number, "step_name": f"train {number}", **group}
                )
            )
            kernels.append(Event("sgemm", at, ms * _MS, {"correlation_id": 2 * index, **group}))
            if waits:
                kernels.append(
                    Event(
                        "ncclAllReduce",
                        at + ms * _MS,
                        (100 - ms) * _MS,
                        {"correlation_id": 2 * index + 1, **group},
                    )
                )
            drawn.append(Event(str(index), at, long * _MS, group))
        device = Plane(
            "/device:GPU:0", [Line("Stream #13", kernels, 13), Line("Steps", drawn, 0xDEADBEEF)]
        )
        (place / f"{host}.xplane.pb").write_bytes(
            encode([Plane("/host:CPU", [Line("python", marks, 1)]), device])
        )
    return Opened(next(entry for entry in logdir.scan(str(folder)).runs if entry.profiles))


def _facts(opened: Opened) -> dict[str, str]:
    return {
        fact.id: fact.text()
        for fact in registry.get("overview_page").answer(Question(opened)).facts
    }


def test_the_host_for_which_the_others_wait_is_named(tmp_path: Path) -> None:
    """All steps last 100 ms on all hosts; one computes in all of it, the others wait in the
    collective.
    """
    opened = _run(
        tmp_path,
        {
            "a": [50, 52, 51, 50] * 3,
            "b": [51, 50, 50, 52] * 3,
            "c": [52, 51, 52, 51] * 3,
            "late": [80, 81, 99, 80] * 3,
        },
    )
    facts = _facts(opened)
    assert (
        "late reaches collectives 34.3 ms after the other ranks on average, last in 12 of 12"
        in facts["straggler_1"]
    )
    assert "work on its device explains 100 % of it" in facts["straggler_1"]
    assert len([id for id in facts if id.startswith("straggler")]) == 1
    table = registry.get("overview_page").answer(Question(opened))["hosts"]
    assert [table["straggler"].value(row) for row in range(4)] == [False, False, False, True]


def test_hosts_that_take_turns_hold_nobody_up(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    opened = _run(
        tmp_path, {name: rng.integers(50, 60, 24).tolist() for name in ("a", "b", "c", "d")}
    )
    assert not [id for id in _facts(opened) if id.startswith("straggler")]
    table = registry.get("overview_page").answer(Question(opened))["hosts"]
    assert not any(table["straggler"].value(row) for row in range(4))


def test_a_step_of_the_run_is_that_of_the_host_that_took_longest(tmp_path: Path) -> None:
    opened = _run(tmp_path, {"a": [50, 60, 70], "b": [55, 58, 90]}, waits=False)
    found = hosts.together(opened, "tf2")
    assert found is not None
    assert found.by == "overlap"
    assert (found.combined().length / _MS).tolist() == [55, 60, 90]
    assert found.combined().category("device_compute").tolist() == found.combined().length.tolist()


def test_hosts_that_were_profiled_a_step_apart_are_laid_on_each_other_by_number(
    tmp_path: Path,
) -> None:
    opened = _run(
        tmp_path,
        {"a": [50, 51, 52, 53], "b": [41, 42, 43, 44]},
        first={"a": 10, "b": 11},
        waits=False,
    )
    found = hosts.together(opened, "corrected")
    assert found is not None
    assert found.by == "number"
    assert [column.tolist() for column in found.rows] == [[1, 2, 3], [0, 1, 2]]


def test_the_shift_with_most_overlap_wins(tmp_path: Path) -> None:
    """As TensorBoard lays hosts on each other: the second host's steps begin 5 ms later each, so
    shift 0 overlaps most.
    """
    opened = _run(tmp_path, {"a": [90, 90, 90], "bb": [90, 90, 90, 90]}, waits=False)
    found = hosts.together(opened, "tf2")
    assert found is not None
    assert found.count == 3
    assert [column.tolist() for column in found.rows] == [[0, 1, 2], [0, 1, 2]]


def test_one_host_alone_is_not_compared(tmp_path: Path) -> None:
    assert hosts.together(_run(tmp_path, {"a": [50, 51]}), "corrected") is None


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ([[10, 10], [10, 10]], []),
        ([[10, 12]] * 20, [1]),
        ([[10, 12]] * 10 + [[12, 10]] * 10, []),
        ([[100, 101]] * 20, []),
        ([[10, 10, 10, 15]] * 9, [3]),
        ([[10, 11, 12, 13]] * 9, []),
        ([[10, 10, 10, 5]] * 9, []),
    ],
)
def test_who_counts_as_a_straggler(own: list[list[int]], named: list[int]) -> None:
    assert [one.member for one in stragglers(np.array(own, np.int64) * _MS)] == named


def _without_device(opened: Opened, host: str) -> Opened:
    """The same run, where the profile of one host holds its steps and nothing of its device."""
    (place,) = {Path(file.path).parent for file in opened.entry.profiles}
    marks = [
        Event("train", index * 100 * _MS, 99 * _MS, {"step_num": index, "_r": 1})
        for index in range(_STEPS)
    ]
    planes = [Plane("/host:CPU", [Line("python", marks)])]
    (place / f"{host}.xplane.pb").write_bytes(encode(planes, hosts=(host,)))
    (entry,) = logdir.scan(str(place.parents[2])).runs
    return Opened(entry)


_STEPS = 20


def test_a_host_whose_profile_shows_no_collectives_is_not_blamed_for_them(tmp_path: Path) -> None:
    # Of different lengths: files of the same bytes count as one host.
    lengths = {host: [50 + number] * _STEPS for number, host in enumerate("abcd")}
    run = _without_device(_run(tmp_path, lengths), "c")
    common = hosts.together(run, "corrected")
    assert common is not None
    assert common.comparison().members.tolist() == [0, 1, 3]
    page = registry.get("hosts").answer(Question(run))
    facts = {fact.id: fact.value for fact in page.facts}
    assert facts["hosts"] == 4
    assert facts["straggler"] is None
    assert any(note.startswith("Not compared: c. Most steps there show no") for note in page.notes)
    (own,) = [column for column in page.tables[0].columns if column.id == "own_s"]
    assert own.present is not None
    assert own.present.tolist() == [True, True, False, True]
    overview = registry.get("overview_page").answer(Question(run, together=True))
    (side_by_side,) = [table for table in overview.tables if table.id == "hosts"]
    (straggler,) = [column for column in side_by_side.columns if column.id == "straggler"]
    assert not any(straggler.values)


def test_a_slow_host_is_named_beside_one_that_cannot_be_compared(tmp_path: Path) -> None:
    work = {"a": [50] * _STEPS, "b": [80] * _STEPS, "c": [51] * _STEPS, "d": [52] * _STEPS}
    run = _without_device(_run(tmp_path, work), "c")
    common = hosts.together(run, "corrected")
    assert common is not None
    comparison = common.comparison()
    assert [common.hosts[host.member] for host in comparison.stragglers()] == ["b"]


def test_a_host_that_hides_its_collectives_behind_work_is_compared(tmp_path: Path) -> None:
    work = {"a": [50] * _STEPS, "b": [100] * _STEPS, "c": [51] * _STEPS}
    common = hosts.together(_run(tmp_path, work), "corrected")
    assert common is not None
    assert not common.waits()[:, 1].any()
    assert [host.member for host in common.comparison().stragglers()] == [1]


def _of_one_program_each(folder: Path, starts_s: dict[str, int]) -> Opened:
    """Profiles whose steps are launches that repeat, with the moment at which each began."""
    place = folder / "plugins" / "profile" / "run"
    place.mkdir(parents=True)
    for host, start_s in starts_s.items():
        start_ns = start_s * 1_000_000_000
        dated = {"profile_start_time": start_ns, "profile_stop_time": start_ns + 10**10}
        launches = [
            Event(f"PjitFunction({host})", index * 100 * _MS, (40 + 9 * len(host)) * _MS)
            for index in range(_STEPS)
        ]
        planes = [Plane("/host:CPU", [Line("python", launches, 1)])]
        planes.append(Plane("Task Environment", (), dated))
        (place / f"{host}.xplane.pb").write_bytes(encode(planes))
    return Opened(next(iter(logdir.scan(str(folder)).runs)))


@pytest.mark.parametrize(("apart_s", "compared"), [(3_600, True), (3 * 86_400, False)])
def test_profiles_of_other_days_are_no_hosts_of_one_run(
    apart_s: int, compared: bool, tmp_path: Path
) -> None:
    run = _of_one_program_each(tmp_path, {"a": 1_795_000_000, "bb": 1_795_000_000 + apart_s})
    assert all(len(profile.steps) == _STEPS for profile in run.profiles)
    assert (hosts.together(run, "corrected") is not None) is compared


def test_the_page_says_which_profiles_are_of_another_day(tmp_path: Path) -> None:
    run = _of_one_program_each(tmp_path, {"a": 1_795_000_000, "bb": 1_795_300_000})
    notes = registry.get("hosts").answer(Question(run)).notes
    (note,) = notes
    assert note == (
        "Not compared: bb. By their clocks these profiles were recorded more than a day apart, "
        "and no program numbered their steps."
    )
