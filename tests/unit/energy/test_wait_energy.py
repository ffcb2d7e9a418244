"""Joules that hosts draw while they wait in collectives."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from benchmarks.rank_world import RankWorld, Watts, happened, write_power, write_traces
from powertui.data import logdir
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy.late_ranks import Late, known_late
from powertui.data.energy.wait_energy import wait_sum
from powertui.data.opened import Opened
from powertui.data.tools.registry import Question

# Host 1 is late for 9 s, then like the other one for 9 s, and so on, eight times.
WORLD = RankWorld(
    seed=102, ranks=2, steps=480, step_s=0.25, late={1: 0.08}, slow_s=9, jitter_s=0.004
)


def found(folder: Path, world: RankWorld) -> tuple[Late, float]:
    """What is found, and the joules that were truly drawn while waiting."""
    ranks = happened(world)
    write_traces(world, ranks, folder)
    joules = write_power(world, ranks, [Watts(), Watts(busy_w=410, wait_w=150)], folder)
    (run,) = (run for run in logdir.scan(str(folder)).runs if len(run.profiles) == 2)
    late = known_late(Question(Opened(run)))
    assert late is not None
    return late, sum(joules)


def test_wasted_joules_are_told_with_an_interval_that_holds_them(tmp_path: Path) -> None:
    late, joules = found(tmp_path, WORLD)
    total = wait_sum(late.energies)
    assert total is not None
    assert abs(total.joules - joules) <= total.half
    assert total.half < 0.15 * joules
    (rank,) = late.ranks
    caused = late.caused_joules(rank)
    assert caused is not None
    assert 0.9 * joules < caused.joules < 1.1 * joules  # nearly all waits are for the late rank
    (sentence,) = (
        c.sentence for c in run_conclusions(late.question.opened) if c.kind.value == "straggler"
    )
    assert "these waited" in sentence
    assert re.search(r"drew [\d,]+ J ± \d+; ", sentence)


def test_where_every_reading_holds_as_much_waiting_the_joules_are_not_told(tmp_path: Path) -> None:
    late, _ = found(tmp_path, replace(WORLD, slow_s=0.0, jitter_s=0.0005))
    total = wait_sum(late.energies)
    assert total is None or total.half > 0.3 * total.joules


def test_without_power_no_joules_are_told(tmp_path: Path) -> None:
    write_traces(WORLD, happened(WORLD), tmp_path)
    (run,) = logdir.scan(str(tmp_path)).runs
    late = known_late(Question(Opened(run)))
    assert late is not None
    assert wait_sum(late.energies) is None
    assert {energy.reason for energy in late.energies} == {"no power of it is known"}
    assert late.caused_joules(late.ranks[0]) is None
