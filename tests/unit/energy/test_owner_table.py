"""Whose watts are counted, in the answer for each profiled process and in that for the training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from powertui import cli
from powertui.data import logdir
from powertui.data.training.training import Trainings
from powertui.data.training.training_energy import training_energy
from powertui.report import energy
from powertui.report.energy_figures import json_energy
from powertui.report.owners_json import json_owners_of_run, json_owners_of_training
from powertui.verbs import common
from tests.synthetic import owned
from tests.unit.energy.foreign_owner_cases import FOREIGN
from tests.unit.energy.later_owner_cases import LATER
from tests.unit.energy.named_owner_cases import NAMED
from tests.unit.energy.owner_cases import FIRST, Case
from tests.unit.energy.owners_like_parts import LIKE_PARTS
from tests.unit.energy.tool_owner_cases import TOOLS

pytestmark = pytest.mark.usefixtures("nothing_is_searched")

CASES = (*FIRST, *LATER, *LIKE_PARTS, *NAMED, *FOREIGN, *TOOLS)


def written(folder: Path, case: Case) -> list[str]:
    """The folder of a training with its logs, and what is asked of it on the command line."""
    logs = owned.write(folder, case.ranks)
    for name, text in case.logs.items():
        (logs / name).parent.mkdir(exist_ok=True)
        (logs / name).write_text(text)
    return [str(logs), *(argument.replace("LOGS", str(logs)) for argument in case.args)]


def answer(folder: Path, case: Case, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert cli.main(["energy", "--json", *written(folder, case)]) == 0
    answered: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answered


def mean_watts(energy: dict[str, Any]) -> float | None:
    return None if energy["joules"] is None else float(energy["mean_watts"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_watt_belongs_to_the_machine_it_names(case: Case, tmp_path: Path) -> None:
    """The joules of all steps and epochs, which `energy` prints as well, take most of its time."""
    args = cli.build_parser("energy").parse_args(["energy", *written(tmp_path, case)])
    reading, aligning = common.reading_of(args), common.aligning_of(args)
    trainings = Trainings(logdir.scan(args.path), reading, aligning)
    traces = energy.asked_traces(args.path, None, reading, aligning, trainings)
    (training,) = trainings.chosen(trainings.found.chosen(None), True)
    of_training = training_energy(training.seen_from())
    steps = of_training.training()
    assert steps is not None
    assert mean_watts(json_energy(steps.energy)) == _about(case.training)
    owners = json_owners_of_training(of_training.owned, of_training.counted)
    if case.ranks:
        runs = {}
        for trace in traces:
            assert trace.account is not None
            profile = trace.account.energy(*trace.account.trace.span)
            runs[trace.host] = mean_watts(json_energy(profile))
            owners += json_owners_of_run(trace.run, trace.account)
        assert runs == {host: _about(level) for host, level in case.runs.items()}
    # What is not counted has an owner elsewhere, or a reason.
    assert all(owner["why"] or owner["host"] for owner in owners)


# The command line asks the same functions: a sample of the cases holds that.
@pytest.mark.parametrize("case", CASES[::16], ids=lambda case: case.name)
def test_the_command_line_counts_the_same_watts(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answered = answer(tmp_path, case, capsys)
    (training,) = answered["trainings"]
    assert mean_watts(training["training"]) == _about(case.training)
    if case.ranks:
        runs = {run["host"]: mean_watts(run["profile"]) for run in answered["runs"]}
        assert runs == {host: _about(level) for host, level in case.runs.items()}
    for part in (training, *answered["runs"] * bool(case.ranks)):
        assert all(owner["why"] or owner["host"] for owner in part["owners"])


def _about(level: float | None) -> Any:
    """A level, give or take what a second's reading at either end may do."""
    return None if level is None else pytest.approx(level, rel=0.015)


def test_the_table_of_owners_is_the_same_for_a_run_and_its_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(case for case in CASES if case.name == "host and gpus under two names")
    answered = answer(tmp_path, case, capsys)
    keys = ("sensor", "host", "device", "assumed", "counted")
    tables = [
        [tuple(owner[key] for key in keys) for owner in part["owners"]]
        for part in (answered["runs"][0], answered["trainings"][0])
    ]
    assert tables[0] == tables[1]
    assert tables[0] == [
        ("GPU 0", "vm", "/device:GPU:0", True, True),
        ("GPU 1", "vm", "GPU 1", False, False),
        ("GPU 0", None, "GPU 0", False, False),
    ]


def test_two_processes_of_one_machine_are_given_one_log_by_two_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(case for case in CASES if case.name == "two ranks of nothing, node log")
    (note,) = answer(tmp_path, case, capsys)["trainings"][0]["notes"][:1]
    assert note == (
        "Not counted: power of node_power (it names no host, and this run has 2). To say whose it "
        "is: --power-host power.csv=HOST, one of trace_rank0, trace_rank1, or once for each of "
        "them that ran on one machine."
    )
