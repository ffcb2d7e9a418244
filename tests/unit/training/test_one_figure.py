"""An epoch's joules are one figure with one interval, whoever tells them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import powertui
from powertui import demo
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account
from powertui.data.opened import Profile
from powertui.data.overview import overview_page
from powertui.data.tools.registry import Question
from powertui.data.training.named_windows import WindowRequest
from powertui.data.training.training import Trainings
from powertui.data.training.training_energy import training_energy
from powertui.report import brief, export, tool
from powertui.report import energy as energy_report
from powertui.view.training_surroundings import training_surroundings
from tests.synthetic.long_training import EPOCHS, long_training

Figure = tuple[float, float, float]


def _same(found: dict[str, Figure], names: str) -> None:
    first = next(iter(found.values()))
    for who, figure in found.items():
        assert figure == pytest.approx(first, rel=1e-6), f"{who} of {names}: {figure}, not {first}"


def _printed(run: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    run()
    return capsys.readouterr().out


def _of(told: dict[Any, Any]) -> Figure:
    return told["joules"], told["lo"], told["hi"]


@pytest.mark.parametrize("elapsed", [False, True], ids=["wall time", "elapsed time"])
def test_every_surface_tells_the_same_of_an_epoch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], elapsed: bool
) -> None:
    folder = long_training(tmp_path)
    log = folder / "power.csv"
    if elapsed:
        rows = [line.split(",") for line in log.read_text().splitlines()[1:]]
        log.write_text(
            "elapsed_s,watts\n"
            + "".join(f"{float(at) - float(rows[0][0]):.1f},{watts}\n" for at, watts in rows)
        )
    reading = ReadOptions(power=(str(log),), find_power=False)
    found: dict[int, dict[str, Figure]] = {number: {} for number in range(EPOCHS)}

    said = json.loads(
        _printed(lambda: energy_report.tell(str(folder), None, reading, Aligning(), "json"), capsys)
    )
    for which, run in enumerate([*said["runs"], *said["totals"], *said["trainings"]]):
        for one in run["epochs"]:
            found[one["number"]][f"energy --json {which}"] = _of(one)
            for channel in one.get("channels", ()):
                found[one["number"]][f"energy --json {which}, its one channel"] = _of(channel)

    told = json.loads(
        _printed(
            lambda: tool.tell(str(folder), None, reading, tool.ToolRequest("energy"), "json"),
            capsys,
        )
    )
    for which, run in enumerate(told["runs"]):
        (table,) = [one for one in run["tables"] if one["name"] == "epochs"]
        names = [column["id"] for column in table["columns"]]
        for row in table["rows"]:
            one = dict(zip(names, row, strict=True))
            found[one["number"]][f"report --tool energy {which}"] = _of(one)

    trainings = Trainings(logdir.scan(folder), reading)
    (training,) = trainings.all
    for entry in training.entry.sessions:
        opened = training.opened(entry)
        profile = Profile(opened, 0)
        for one in account.energy_account(profile).epoch_energies:
            drew = one.energy
            assert drew is not None
            found[one.number][f"the account of {entry.name}"] = drew.joules, drew.lo, drew.hi  # type: ignore[assignment]
        for fact in overview_page.answer(Question(opened, 0)).facts:
            if fact.id.removeprefix("epoch_").removesuffix("_joules").isdigit():
                found[int(fact.id.split("_")[1])][f"the overview of {entry.name}"] = (
                    fact.value,
                    fact.lo,
                    fact.hi,
                )  # type: ignore[assignment]
        for seen in (training.seen_from(profile), training.seen_from()):
            for number, energy in training_surroundings(
                seen, training_energy(seen).epochs()
            ).energies:
                found[number][f"the lane seen from {seen.profile and entry.name}"] = (
                    energy.joules,
                    energy.lo,
                    energy.hi,
                )  # type: ignore[assignment]

    runs = powertui.open(folder, power=log)
    for view in runs:
        for row in view.energy().to_dict("records"):
            if not pd.isna(row["epoch"]) and row["window"] != "whole":
                found[int(row["epoch"])][f"run.energy() of {view.name}"] = _of(row)
        assert view.training is not None
        for row in view.training.epochs.to_dict("records"):
            found[int(row["epoch"])][f"training.epochs of {view.name}"] = _of(row)
            for number in range(EPOCHS):
                (one,) = view.training.energy(epoch=number).to_dict("records")
                found[number][f"training.energy(epoch) of {view.name}"] = _of(one)

    for number in range(EPOCHS):
        _same(found[number], f"epoch {number}")
        assert len(found[number]) >= 15

    # What is rounded: the brief report, the text, and the file that an export writes beside its
    # own.
    short = json.loads(_printed(lambda: brief.tell(str(folder), None, reading, Aligning()), capsys))
    for run in short["runs"]:
        for one in run["epochs"]:
            assert _of(one) == pytest.approx(next(iter(found[one["epoch"]].values())), rel=1e-3)
    with redirect_stderr(io.StringIO()) as beside:
        out = str(tmp_path / "samples.csv")
        words, first = export.WindowWords(epoch=1), trainings.found.runs[0].name
        output = export.Output(out, "samples", force=True)
        export.write(str(folder), first, reading, Aligning(), words, output)
    joules, lo, hi = next(iter(found[1].values()))
    assert (
        f"{joules:.6g} J (95 % {lo:.6g} to {hi:.6g} J)"
        in beside.getvalue() + Path(out + ".about.json").read_text()
    )


@pytest.mark.parametrize("name", ["bursts/keras_4ep_1s_sensor", "long_training"])
def test_of_several_logs_the_same_counts_for_the_profile_and_for_its_training(
    shared_data: Path, name: str
) -> None:
    """Beside the log with wall time lies the same without it, and another."""
    trainings = Trainings(logdir.scan(shared_data / "own" / name), ReadOptions())
    for training in trainings.all:
        for entry in training.entry.sessions:
            profile = Profile(training.opened(entry), 0)
            own = {one.number: one.energy for one in account.energy_account(profile).epoch_energies}
            for seen in (training.seen_from(profile), training.seen_from()):
                for window in training_energy(seen).epochs():
                    assert window.energy is not None
                    drew = own[window.epoch or 0]
                    assert drew is not None
                    assert (window.energy.joules, window.energy.lo) == pytest.approx(
                        (drew.joules, drew.lo), rel=1e-6
                    )


def test_one_epoch_alone_is_told_as_among_all_where_a_profile_places_the_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def epochs(asked: WindowRequest | None) -> Any:
        return json.loads(
            _printed(
                lambda: energy_report.tell(
                    str(demo.folder()), None, ReadOptions(), Aligning(), "json", asked
                ),
                capsys,
            )
        )

    among = {epoch["number"]: _of(epoch) for epoch in epochs(None)["trainings"][0]["epochs"]}
    for number, figure in among.items():
        (alone,) = epochs(WindowRequest(epoch=number))["windows"]
        _same({"all": figure, "--epoch": _of(alone)}, f"epoch {number}")
