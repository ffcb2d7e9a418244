"""`powertui compare`: what it prints, what it refuses, and that its parts add up."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import powertui
from powertui import cli, demo
from powertui.comparison_view import ComparisonView
from powertui.data.asked import Aligning
from powertui.report import compare_json, compare_page
from tests.synthetic import step_world
from tests.synthetic.step_world import step_series, write_run

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

VERDICTS = ("differs", "within noise", "cannot tell")
OPS = {"aten::mm": 0.6, "aten::add": 0.2, "aten::copy_": 0.1}
DATA = Path(__file__).parents[2] / "data"


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["compare", *words]) == 0
    return capsys.readouterr().out


RUNS = 3


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs a side: in `new` aten::mm takes 5 % of a step longer, and all draws 5 % more."""
    root = tmp_path_factory.mktemp("groups")
    rng = np.random.default_rng(33)
    for number in range(RUNS):
        for side, slower in (("base", 0.0), ("new", 0.05)):
            steps = 0.05 * rng.normal(1, 0.005) * step_series("white", 60, rng)
            shares = {name: share / (1 + slower) for name, share in OPS.items()}
            shares["aten::mm"] = (OPS["aten::mm"] + slower) / (1 + slower)
            watts = 200 * (1 + slower) * rng.normal(1, 0.003)
            write_run(root / side / f"run{number}", steps * (1 + slower), shares, watts=watts)
    return root


def paths(groups: Path, side: str) -> list[str]:
    return sorted(str(path) for path in (groups / side).iterdir())


@pytest.fixture(scope="module")
def compared(groups: Path) -> ComparisonView:
    aligning = Aligning(offset_s=step_world.LOG_START_S)
    return powertui.compare(paths(groups, "base"), paths(groups, "new"), aligning=aligning)


def test_the_answer_has_its_size_its_interval_and_its_source(compared: ComparisonView) -> None:
    assert re.fullmatch(
        r"A step takes 2\.\d+ ms longer in B \(\S+ ms in A, \S+ ms in B; \+5\.\d+ %, "
        r"95 % \+\S+ to \+\S+ %; 3 and 3 runs\), mostly Host compute \(\+\S+ ms\) and "
        r"aten::mm \(\+2\.\d+ ms\)\. "
        r"A step draws 1\.\d+ J more \(\S+ J in A, \S+ J in B; \+10\.\d %, "
        r"95 % \+\S+ to \+\S+ %\)\.",
        compared.sentence,
    ), compared.sentence


def test_json_has_what_the_interface_promises(compared: ComparisonView) -> None:
    document = compared.json
    assert {"sentence", "configuration", "figures", "causes", "unmatched"} <= set(document)
    figures = {row["name"]: row for row in document["figures"]}
    for row in document["figures"]:
        assert row["verdict"] in VERDICTS
        assert row["difference"] == pytest.approx(row["b"] - row["a"], abs=1e-15)
        assert row["lo"] <= row["difference"] <= row["hi"]
        assert row["basis"] == "run to run"
        assert bool(row["needs"]) == (row["verdict"] == "cannot tell")
    for name, ratio in (("time per step", 1.05), ("power during steps", 1.05), ("aten::mm", 1.083)):
        assert figures[name]["verdict"] == "differs"
        assert figures[name]["ratio"] == pytest.approx(ratio, abs=0.015)
    assert figures["aten::add"]["verdict"] != "differs"


def test_both_accounts_add_up_in_seconds_and_in_joules(compared: ComparisonView) -> None:
    figures = {row["name"]: row for row in compared.json["figures"]}
    for account in ("category", "op"):
        rows = [row for row in compared.json["causes"] if row["by"] == account]
        seconds, joules = (sum(row[unit] for row in rows) for unit in ("seconds", "joules"))
        assert seconds == pytest.approx(figures["time per step"]["difference"], abs=1e-12)
        assert joules == pytest.approx(figures["energy per step"]["difference"], abs=1e-9)


def test_the_frames_are_the_same(compared: ComparisonView) -> None:
    assert len(compared.figures) == len(compared.json["figures"])
    assert list(compared.causes["seconds"]) == [row["seconds"] for row in compared.json["causes"]]
    assert list(compared.configuration.columns) == ["name", "a", "b"]


def test_brief_is_json_of_four_kilobytes(compared: ComparisonView) -> None:
    line = compare_json.brief_json(compared.comparison)
    assert len(line.encode()) < 4096
    assert json.loads(line)["sentence"] == compared.sentence


def test_the_page_begins_with_the_answer(compared: ComparisonView) -> None:
    page = compare_page.page(compared.comparison, "text")
    assert page[0] == compared.sentence
    headings = [line for line in page if line and not line.startswith(" ")][1:]
    assert headings[:5] == ["Configuration", "Time", "Energy", "Steps by category", "Ops"]
    document = compare_page.page(compared.comparison, "markdown")
    assert "## Comparison" in document


def test_groups_are_told_apart_by_two_dashes(
    groups: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*paths(groups, "base")[:2], "--", *paths(groups, "new")[:2], "--csv", "--no-power"]
    rows = list(csv.DictReader(io.StringIO(output(capsys, *words))))
    assert {row["verdict"] for row in rows} == {"cannot tell"}  # two runs a side
    assert {row["needs"] for row in rows} == {"3 runs a side"}


def test_parts_of_one_run_go_through_the_same_call(
    groups: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (paths(groups, "base")[0], "--steps", "0-24", "--steps", "30-54", "--json")
    document = json.loads(output(capsys, *words))
    assert "two stretches of one run" in document["sentence"]
    assert document["configuration"] == []
    assert {row["basis"] for row in document["figures"]} <= {"within-run only", "none"}
    assert document["conclusions"] == []


def test_a_run_beside_itself_is_called_that(
    groups: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = paths(groups, "base")[0]
    document = json.loads(output(capsys, run, run, "--json"))
    assert document["sentence"] == (
        "A and B are the same steps of the same run, so nothing can differ."
    )
    assert {row["difference"] for row in document["figures"]} == {0.0}
    # The table agrees with the sentence, and asks for no further recording.
    assert {row["verdict"] for row in document["figures"]} == {"within noise"}
    assert {row["why"] for row in document["figures"]} == {"both are the same steps"}
    assert {row["needs"] for row in document["figures"]} == {""}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["base"], "base holds 3 runs; two are needed."),
        (["base", "new", "base"], "Two sides are needed."),
        (["base", "--"], "One side names no run."),
        (["--", "new"], "One side names no run."),
        (
            ["base", "--steps", "1-2", "--steps", "3-4", "--steps", "5-6"],
            "--steps is given 3 times.",
        ),
        (["base/run0", "base/run1", "--epoch", "3"], "There is no epoch 3."),
        (["base/run0", "nothing"], "nothing: no such file or directory"),
    ],
)
def test_what_is_not_two_sides_is_refused_in_a_sentence(
    groups: Path,
    words: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(groups)
    assert cli.main(["compare", *words]) in (2, 3)
    assert capsys.readouterr().err.splitlines()[0] == f"powertui: {sentence}"


def test_hostile_names_stay_in_their_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = {"=cmd|' /C calc'!A0": 0.4, "\x1b[31m| <script>\n`x` |": 0.3, "x" * 5000: 0.2}
    rng = np.random.default_rng(1)
    for name in ("a", "b"):
        write_run(tmp_path / name, 0.01 * step_series("white", 30, rng), hostile, host="n\x1b[2J")
    sides = (str(tmp_path / "a"), str(tmp_path / "b"))
    for form in ((), ("--md",), ("--csv",), ("--brief",), ("--json",)):
        printed = output(capsys, *sides, *form)
        assert "\x1b" not in printed
        if form == ("--md",):
            assert "<script>" not in printed
        if form == ("--csv",):
            assert all(not row[1].startswith("=") for row in csv.reader(io.StringIO(printed)))
        if form in (("--json",), ("--brief",)):
            json.loads(printed)


def test_a_file_that_cannot_be_read_does_not_hide_the_others(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.pt.trace.json"
    broken.write_text('{"traceEvents": [')
    base, new = paths(groups, "base"), paths(groups, "new")
    words = ["compare", base[0], str(broken), "--", new[0], "--no-power", "--brief"]
    assert cli.main(words) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"] == [1, 1]
    assert printed.err.startswith(f"powertui: {broken}: ")
    assert cli.main(["compare", str(broken), new[0], "--no-power"]) == 3


def test_steps_that_are_only_asked_for_are_not_taken_for_short_ones(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(output(capsys, str(shared_data / "own" / "jax_cpu"), "--json"))
    (step,) = (row for row in document["figures"] if row["name"] == "time per step")
    assert step["b"] > 0.001  # asking for it takes 14 µs
    assert step["verdict"] == "cannot tell"


@pytest.mark.parametrize(("minutes", "is_said"), [((0, 3), True), ((0, 1), False)])
def test_runs_that_were_not_recorded_in_turns_are_said(
    tmp_path: Path, minutes: tuple[int, int], is_said: bool
) -> None:
    rng = np.random.default_rng(1)
    for side, first in zip("ab", minutes, strict=True):
        for number in range(3):
            minute = first + number if is_said else first + 2 * number
            unix_s = step_world.UNIX_S + 60 * minute
            steps = 0.01 * step_series("white", 12, rng)
            write_run(tmp_path / side / str(number), steps, OPS, unix_s=unix_s)
    compared = powertui.compare(tmp_path / "a", tmp_path / "b")
    assert [len(compared.json[side]["runs"]) for side in "ab"] == [3, 3]
    assert any("Record them in turns." in note for note in compared.json["notes"]) == is_said


def test_a_figure_that_only_differs_beside_another_has_a_number_of_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was "more runs a side": at a level of its own, which is 0, no number of runs is enough."""
    rng = np.random.default_rng(39)
    for number in range(5):
        for side, slower in (("a", 1.0), ("b", 1.02)):
            run_s = 0.05 * slower * rng.normal(1, 0.01)
            steps = run_s * step_series("periodic", 40, rng)
            write_run(tmp_path / side / f"run{number}", steps, OPS)
    document = json.loads(output(capsys, str(tmp_path / "a"), str(tmp_path / "b"), "--json"))
    rows = {row["name"]: row for row in document["figures"] if row["family"] == "time"}
    fast = rows["lower quartile step"]
    assert fast["p"] < 0.05
    assert rows["undisturbed step"]["verdict"] == fast["verdict"] == "cannot tell"
    number_of_runs = re.fullmatch(r"about (\d+) runs a side", fast["needs"])
    assert number_of_runs is not None
    assert int(number_of_runs[1]) > 5


def test_what_is_nothing_on_both_sides_does_not_differ(tmp_path: Path) -> None:
    """Steps that follow each other without a gap: their rounding was called a difference."""
    rng = np.random.default_rng(5)
    for number in range(10):
        steps = 0.05 * step_series("white", 60, rng)
        write_run(tmp_path / "ab"[number // 5] / f"run{number}", steps, OPS)
    compared = powertui.compare(tmp_path / "a", tmp_path / "b").json
    (between,) = (row for row in compared["figures"] if row["name"] == "Between steps")
    assert (between["a"], between["b"], between["verdict"]) == (0.0, 0.0, "within noise")


def test_steps_that_are_dispatched_ahead_are_compared_by_their_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Their marks, 1 ms of 72, held a twentieth of what their ops did, and no part of a run."""
    run = str(DATA / "logdirs" / "jax_cpu")
    document = json.loads(output(capsys, run, "--steps", "0-9", "--steps", "10-19", "--json"))
    figures = {row["name"]: row for row in document["figures"]}
    step = figures["time per step"]
    assert (step["a"] + step["b"]) / 2 == pytest.approx(3.619e-3, rel=1e-3)
    for side in "ab":
        categories = [row[side] for row in figures.values() if row["family"] == "steps by category"]
        assert sum(categories) == pytest.approx(step[side], rel=1e-6)
        ops_s = sum(row[side] for row in figures.values() if row["family"] == "ops")
        assert ops_s > 0.7 * step[side]


def test_runs_that_two_patterns_match_are_said(
    groups: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, new = paths(groups, "base"), paths(groups, "new")
    document = json.loads(output(capsys, *base, "--", *base, "--json", "--no-power"))
    assert document["sentence"] == "A and B are the same runs, so nothing can differ."
    assert {row["verdict"] for row in document["figures"]} == {"within noise"}
    words = (*base, "--", base[0], *new, "--json", "--no-power")
    (note,) = (note for note in json.loads(output(capsys, *words))["notes"] if "both" in note)
    assert note.startswith("1 run is on both sides, which hides a difference: ")


def test_copies_of_one_recording_are_called_that(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path(paths(groups, "base")[0])
    shutil.copytree(run, tmp_path / "copy")
    document = json.loads(output(capsys, str(run), str(tmp_path / "copy"), "--json"))
    assert document["sentence"].startswith("A and B have the same figures to the last digit")


@pytest.fixture(scope="module")
def copied(groups: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three copies of one run of either side, under names of their own."""
    folder = tmp_path_factory.mktemp("copied")
    for side in ("base", "new"):
        for number in range(3):
            shutil.copytree(paths(groups, side)[0], folder / side / f"copy{number}")
    return folder


def test_copies_of_one_recording_are_one_run(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were "3 and 3 runs" without any scatter: sure to the last digit of what was seen once."""
    words = (*paths(copied, "base"), "--", *paths(copied, "new"), "--json", "--no-power")
    document = json.loads(output(capsys, *words))
    assert "within-run only" in document["sentence"]
    assert "Of 3 runs 2 are copies of another one: a recording counts once." in document["notes"]


def test_both_sides_may_be_copies_of_the_same_recordings(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = paths(groups, "base")
    for number, run in enumerate(base):
        shutil.copytree(run, tmp_path / "new" / f"copy{number}")
    words = (*base, "--", *paths(tmp_path, "new"), "--json", "--no-power")
    document = json.loads(output(capsys, *words))
    assert document["sentence"] == (
        "The runs of A and B are copies of the same recordings, so nothing can differ."
    )
    words = (*base, "--", paths(tmp_path, "new")[0], *paths(groups, "new"), "--json", "--no-power")
    (note,) = (note for note in json.loads(output(capsys, *words))["notes"] if "both" in note)
    assert note.startswith("1 run is on both sides, which hides a difference: ")


def test_a_gate_counts_copies_once(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three copies decided as three runs do, and made a job red for what may be chance."""
    runs = paths(copied, "new")
    assert cli.main(["check", *runs, "--max", "step_s=1", "--json", "--no-power"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "Of 3 runs 2 are copies of another one: a recording counts once." in answer["notes"]
    assert len(answer["runs"]) == 1


@pytest.mark.parametrize(
    ("ops", "warning"),
    [
        (OPS, ""),
        # The same program, in which a sort takes most of the time.
        ({**{name: share / 8 for name, share in OPS.items()}, "aten::sort": 0.8}, ""),
        (
            {"aten::mm": 0.2, "aten::sort": 0.7},
            r"A and B have few ops in common \(.+ % of B\): they",
        ),
        ({"MatMul": 0.6, "Sort": 0.3}, "A and B have no op in common: they"),
    ],
)
def test_programs_that_share_few_ops_are_said(
    tmp_path: Path, ops: dict[str, float], warning: str
) -> None:
    rng = np.random.default_rng(8)
    write_run(tmp_path / "a", 0.05 * step_series("white", 30, rng), OPS)
    write_run(tmp_path / "b", 0.05 * step_series("white", 30, rng), ops)
    sentence = powertui.compare(tmp_path / "a", tmp_path / "b").sentence
    expected = f" {warning} may be different programs.$" if warning else "(?<!programs.)$"
    assert re.search(expected, sentence), sentence


def test_a_file_without_an_event_has_no_length(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was compared as one of 0 s."""
    empty, full = (str(tmp_path / f"{name}.pt.trace.json") for name in ("empty", "full"))
    Path(empty).write_text('{"schemaVersion": 1, "traceEvents": []}')
    event = {"ph": "X", "name": "f", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
    Path(full).write_text(json.dumps({"schemaVersion": 1, "traceEvents": [event]}))
    assert output(capsys, empty, full).startswith("Nothing could be compared: A holds no event.\n")


def test_what_to_do_about_a_broken_file_is_on_a_line_of_its_own(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mangled = tmp_path / "host.xplane.pb"
    mangled.write_bytes(b"\x0a\xef\xbf\xbd" * 200)
    cli.main(["compare", str(mangled), paths(groups, "new")[0], "--no-power"])
    assert "\\n" not in capsys.readouterr().err


def test_only_paths_with_a_run_name_a_side(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, new = paths(groups, "base"), paths(groups, "new")
    document = json.loads(output(capsys, str(tmp_path), *base, "--", *new, "--json", "--no-power"))
    assert document["a"]["name"] == f"{base[0]} and 2 more"


def test_two_epochs_name_where_a_load_in_one_of_them_is_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = output(capsys, str(demo.folder()), "--epoch", "0", "--epoch", "1")
    assert "Cannot tell whether it draws more energy" in said
    assert "A load in a part of one side is listed by powertui energy." in " ".join(said.split())
