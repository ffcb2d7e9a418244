"""What `make bench TOPICS=energy` prints for 200 seeds, for a few: what must hold in every single
recording.
"""

from __future__ import annotations

import math

import pytest

from benchmarks import bench_energy
from benchmarks.energy_answers import Row, limit, one_seed


@pytest.fixture(scope="module")
def score() -> bench_energy.Score:
    some = ("counter 0.1 s", "mean 0.5 s, 1 W", "mean 3 s, 7 W")
    return bench_energy.Score([row for seed in (3, 4) for row in one_seed(seed, sensors=some)])


def test_every_table_has_its_figures(score, capsys) -> None:
    bench_energy._findings(score, "findings", "Findings")
    bench_energy._places(score)
    for kind in bench_energy.JOULES:
        bench_energy._joules(score, kind)
    bench_energy._faults(score)
    bench_energy._worst(score)
    said = capsys.readouterr().out
    assert said.count("| mean 0.5 s, 1 W ") == 5
    assert "0 W for 3 s" in said


@pytest.mark.parametrize("name", ["counter 0.1 s", "mean 0.5 s, 1 W", "mean 3 s, 7 W"])
def test_nothing_is_invented_and_nothing_is_sure_and_wrong(score, name: str) -> None:
    assert score.mean("findings", name, "quiet false") == 0
    assert score.mean("places", name, "sure and wrong") == 0


@pytest.mark.parametrize("name", ["counter 0.1 s", "mean 0.5 s, 1 W"])
def test_what_could_have_been_found_is_told_and_found(score, name: str) -> None:
    assert score.mean("findings", name, "limit told") == 1
    if score.has("findings", name, "promised found"):
        assert score.mean("findings", name, "promised found") == 1


def test_a_restart_of_the_bmc_is_said_and_costs_only_itself(score) -> None:
    what = "0 W for 3 s"
    assert score.mean("faults", what, "said") == 1
    assert score.mean("faults", what, "false") == 0
    if score.has("faults", what, "epochs hold"):
        assert score.mean("faults", what, "epochs hold") == 1


@pytest.mark.parametrize("kind", bench_energy.JOULES)
def test_joules_of_a_bmc_hold(score, kind: str) -> None:
    assert score.mean(kind, "mean 0.5 s, 1 W", "epochs hold") >= 0.9
    assert score.mean(kind, "mean 0.5 s, 1 W", "windows hold") >= 0.8


def test_a_told_limit_is_read_between_its_watts_and_never_beyond() -> None:
    told = {
        "could_find": [
            {"watts": 10, "seconds": 4.0},
            {"watts": 40, "seconds": 1.0},
            {"watts": 5, "seconds": None},
        ]
    }
    assert limit(told, 10) == pytest.approx(4)
    assert limit(told, 20) == pytest.approx(2)
    assert limit(told, 100) == pytest.approx(1)
    assert limit(told, 5) == math.inf
    assert limit({}, 5) is None
    assert (
        limit({"could_find": [], "could_find_text": "no burst could have been found"}, 5)
        == math.inf
    )


def test_a_missed_cell_is_named_with_its_seeds() -> None:
    rows = [Row("findings", "bmc", "found", float(seed < 5), seed) for seed in range(10)]
    score = bench_energy.Score(rows)
    assert score.share("findings", "bmc", "found", 0.9) == "50.0%"
    assert "seeds 5, 6, 7, 8, 9" in score.missed[0].words
    assert bench_energy.Score(rows[:5]).share("findings", "bmc", "found", 0.9) == "100.0%"
    half = [Row("joules", "bmc", "epochs of half", seed / 100, seed) for seed in range(21)]
    assert bench_energy.Score(half).wider("joules", "bmc", "epochs") == "5.3"
