"""Collectives across ranks: who is late, by how much, why, and how far the clocks are apart. The
truth is a simulation that shares no code with the answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.rank_world import Ranks, RankWorld, happened, write_traces
from powertui import cli
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy.late_ranks import Late, known_late
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.rank_lateness import Lateness, medians_of_others, run_lateness
from powertui.data.tools.registry import Question
from tests.answers import rows

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

PS_PER_S = 10**12


def opened_world(folder: Path, world: RankWorld, **reading: Any) -> tuple[Opened, Ranks]:
    ranks = happened(world)
    write_traces(world, ranks, folder)
    (run,) = logdir.scan(str(folder)).runs
    return Opened(run, ReadOptions(**reading)), ranks


def found(folder: Path, world: RankWorld) -> Late:
    opened, _ = opened_world(folder, world)
    late = known_late(Question(opened))
    assert late is not None
    return late


def lateness_of(opened: Opened) -> Lateness:
    lateness = run_lateness(opened)
    assert lateness is not None
    return lateness


@pytest.mark.parametrize(
    "kind",
    [
        {"library": "nccl"},
        {"library": "old nccl", "cut": True},
        {"library": "rccl", "lost": 0.02, "cut": True},
        {"library": "gloo"},
        {"arguments": True, "numbered": True, "lost": 0.05},
        {"skew_s": 5.0, "cut": True},
    ],
    ids=["nccl", "old nccl, cut", "rccl, calls lost", "gloo", "numbered", "clocks 5 s off"],
)
def test_the_late_rank_is_named_with_its_lateness(kind: dict[str, Any], tmp_path: Path) -> None:
    late = found(tmp_path, RankWorld(seed=11, late={5: 0.004}, **kind))
    (rank,) = late.ranks
    assert late.name(rank.rank).startswith("node5_")
    assert rank.late_ps == pytest.approx(0.004 * PS_PER_S, rel=0.1)
    assert late.cause is not None
    assert late.cause.kind == "work on its device"


@pytest.mark.parametrize("drift", [0.0, 0.97])
@pytest.mark.parametrize("seed", range(5))
def test_no_rank_is_named_where_all_are_alike(seed: int, drift: float, tmp_path: Path) -> None:
    late = found(tmp_path, RankWorld(seed=seed, drift=drift))
    assert late.ranks == []
    assert not any(c.kind.value == "straggler" for c in run_conclusions(late.question.opened))


@pytest.mark.parametrize("seed", range(4))
def test_no_rank_is_named_where_the_pace_of_all_wanders(seed: int, tmp_path: Path) -> None:
    late = found(tmp_path, RankWorld(seed=seed, drift=0.995, jitter_s=0.006))
    assert late.ranks == []
    (why,) = [fact.why for fact in late_facts(late) if fact.id == "late_rank"]
    assert "the pace of all ranks wanders" in why


def late_facts(late: Late) -> list[Any]:
    return list(registry.get("late_ranks").answer(late.question).facts)


def test_a_rank_that_is_late_in_spells_stands_apart_from_ranks_that_are_not(tmp_path: Path) -> None:
    late = found(tmp_path, RankWorld(seed=2, steps=120, late={3: 0.006}, slow_s=3.0))
    assert [(late.name(rank.rank)[:6], rank.always) for rank in late.ranks] == [("node3_", True)]


def test_a_rank_that_is_late_now_and_then_is_named_with_the_calls_it_is_late_to(
    tmp_path: Path,
) -> None:
    late = found(tmp_path, RankWorld(seed=3, late={2: 0.020}, late_every=20))
    (rank,) = late.ranks
    assert (late.name(rank.rank)[:6], rank.calls, rank.always) == ("node2_", 5, False)
    assert rank.late_ps == pytest.approx(0.020 * PS_PER_S, rel=0.1)


def test_a_cause_is_not_named_where_no_kind_of_work_explains_80_percent(tmp_path: Path) -> None:
    late = found(tmp_path, RankWorld(seed=4, late={1: 0.006}, cause="both"))
    assert late.cause is not None
    assert late.cause.kind == ""
    assert "no one kind of work explains 80 %" in late.cause.sentence
    sentences = [c.sentence for c in run_conclusions(late.question.opened)]
    assert not any("explains" in sentence for sentence in sentences)


def test_clocks_are_told_within_their_interval_and_corrected_only_on_request(
    tmp_path: Path,
) -> None:
    world = RankWorld(seed=6, cut=True)
    opened, ranks = opened_world(tmp_path, world)
    matched = lateness_of(opened).matched
    for number, clock in enumerate(matched.clocks):
        true_ps = (ranks.skews[number] - ranks.skews[0]) * PS_PER_S
        assert abs(clock.ahead_ps - true_ps) <= clock.half_ps + 1
        assert clock.half_ps < 50e6
    result = registry.get("late_ranks").answer(Question(opened))
    assert any("Arrivals here are corrected for that" in note for note in result.notes)
    corrected = Opened(opened.entry, ReadOptions(match_clocks=True))
    for number, profile in enumerate(corrected.profiles):
        moved_ns = profile.clock.mid_ns - opened.profiles[number].clock.mid_ns
        assert moved_ns == pytest.approx(-matched.clocks[number].ahead_ps / 1000, abs=1)
        assert ("by collectives" in profile.clock.detail) == (number > 0)
    for clock in lateness_of(corrected).matched.clocks:
        assert abs(clock.ahead_ps) <= 1500


def test_a_run_without_shared_collectives_keeps_its_clocks_and_says_so(tmp_path: Path) -> None:
    world = RankWorld(seed=1, ranks=2, steps=2)
    write_traces(world, happened(world), tmp_path)
    (run,) = logdir.scan(str(tmp_path)).runs
    result = registry.get("late_ranks").answer(Question(Opened(run)))
    assert result.facts[0].value is None
    asked = Opened(run, ReadOptions(match_clocks=True))
    assert [profile.clock for profile in asked.profiles] == [
        profile.clock for profile in Opened(run).profiles
    ]
    assert any("clocks are as recorded" in warning.cause for warning in asked.warnings)


@pytest.mark.parametrize("name", ["kineto_two_ranks", "kineto_hta_ranks"])
def test_real_ranks_are_matched_by_their_ends_and_not_by_their_order(
    name: str, shared_data: Path
) -> None:
    """The two profiles lost different calls: their third ones are the same, their first are not."""
    (run,) = logdir.scan(str(shared_data / "public" / name)).runs
    opened = Opened(run)
    lateness = lateness_of(opened)
    assert lateness.matched.rows.tolist() == [[1, 0], [2, 2], [4, 4], [8, 8], [9, 9]]
    ends = lateness.matched.departures()
    assert np.abs(ends[:, 0] - ends[:, 1]).max() < 0.4e9  # ps
    result = registry.get("late_ranks").answer(Question(opened))
    assert [row["last"] for row in rows(result["ranks"])] == [0, 5]
    assert any(note.startswith("2 of 128 ranks are in this run") for note in result.notes)
    late = known_late(Question(opened))
    assert late is not None
    assert late.ranks == []
    (why,) = [fact.why for fact in result.facts if fact.id == "late_rank"]
    assert why == "cannot tell: 5 collectives are too few; 8 show whether it lasts"


def test_the_tool_answers_once_for_a_run_in_json_and_csv(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened_world(tmp_path, RankWorld(seed=2, ranks=3, steps=30, late={1: 0.010}))
    asked = ("report", str(tmp_path), "--tool", "late_ranks")
    assert cli.main([*asked, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    late_by = answer["facts"]["late_by_s"]
    assert late_by["value"] == pytest.approx(0.010, rel=0.1)
    assert late_by["lo"] < 0.010 < late_by["hi"]
    assert cli.main([*asked, "--csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_the_median_of_the_others_is_that_without_the_own_one() -> None:
    times = np.array([[3.0, 1.0, 2.0, 9.0], [5.0, np.nan, 7.0, 6.0], [1.0, 2.0, np.nan, np.nan]])
    medians = medians_of_others(times)
    for row, column in zip(*np.nonzero(~np.isnan(times)), strict=True):
        others = np.delete(times[row], column)
        assert medians[row, column] == np.nanmedian(others)


# ── clocks that are set while ranks run ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("jump_ms", [0.1, 0.4, -5.0, 40.0])
@pytest.mark.parametrize("numbered", [False, True])
def test_a_clock_that_is_set_midway_is_known_no_better_than_it_moved(
    tmp_path: Path, jump_ms: float, numbered: bool
) -> None:
    world = RankWorld(8123, late={5: 0.004}, arguments=numbered, numbered=numbered)
    ranks = happened(world)
    write_traces(world, ranks, tmp_path)
    (path,) = tmp_path.glob("node2_*")
    document = json.loads(path.read_text())
    events = [event for event in document["traceEvents"] if event["ph"] == "X"]
    moments = sorted(event["ts"] for event in events)
    for event in events:
        if event["ts"] > moments[len(moments) // 3]:
            event["ts"] = round(event["ts"] + jump_ms * 1000, 3)
    path.write_text(json.dumps(document))
    (run,) = logdir.scan(str(tmp_path)).runs
    late = known_late(Question(Opened(run, ReadOptions())))
    assert late is not None
    assert [late.name(rank.rank) for rank in late.ranks] == ["node5_105"]
    clock = late.lateness.matched.clocks[2]
    before_ps = (ranks.skews[2] - ranks.skews[0]) * PS_PER_S
    for true_ps in (before_ps, before_ps + jump_ms * 1e9):
        assert abs(clock.ahead_ps - true_ps) <= clock.whole_half_ps
    steady = [
        one.moved_ps for number, one in enumerate(late.lateness.matched.clocks) if number != 2
    ]
    assert steady == [0.0] * 7


@pytest.mark.parametrize("seed", range(9300, 9306))
def test_a_steady_clock_is_not_said_to_have_moved(tmp_path: Path, seed: int) -> None:
    late = found(tmp_path, RankWorld(seed, lost=0.03 * (seed % 3), cut=bool(seed % 2)))
    assert [clock.moved_ps for clock in late.lateness.matched.clocks] == [0.0] * 8
