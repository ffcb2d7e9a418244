"""`powertui check` and `powertui baseline` through the command line, on runs that were written."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import powertui
from powertui import cli
from powertui.data.asked import Aligning
from powertui.data.compare.measured import name_of_sessions
from powertui.data.gate.gate import held_against
from powertui.data.gate.limits_asked import fixed_limit
from powertui.data.gate.run_values import GatedRun, GateValue
from powertui.errors import UsageError
from powertui.report.gate_words import runs_in_words
from powertui.report.junit import junit_xml
from tests.synthetic import step_world
from tests.synthetic.step_world import step_series, write_run

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

OPS = {"aten::mm": 0.6, "aten::add": 0.2, "aten::copy_": 0.1}
OFFSET = f"--offset={step_world.LOG_START_S:g}s"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs a side: `same` as `base`, `slow` with steps and power 8 % above."""
    root = tmp_path_factory.mktemp("gate")
    rng = np.random.default_rng(12)
    for side, count, factor in (("base", 4, 1.0), ("same", 4, 1.0), ("slow", 4, 1.08)):
        for number in range(count):
            steps = 0.05 * factor * rng.normal(1, 0.004) * step_series("white", 60, rng)
            watts = 200 * factor * rng.normal(1, 0.002)
            write_run(root / side / f"run{number}", steps, OPS, watts=watts)
    write_run(root / "dark" / "run", 0.05 * step_series("white", 60, rng), OPS)
    write_run(root / "still" / "run", np.zeros(0), OPS)
    return root


@pytest.fixture
def place(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(world)
    monkeypatch.setenv("POWERTUI_BASELINES", str(tmp_path / "baselines"))
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert cli.main(list(words)) == code
    return capsys.readouterr().out


def saved(capsys: pytest.CaptureFixture[str], side: str = "base") -> None:
    assert said(capsys, "baseline", "save", "main", side, OFFSET).startswith("Saved main: 4 runs, ")


def test_the_same_runs_are_within(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(capsys)
    printed = said(capsys, "check", "same", "--against", "main", "--tolerance", "4%", OFFSET)
    lines = printed.splitlines()
    assert re.fullmatch(
        r"Within: step_median_s is \S+ ms, the baseline's \S+ ms \(\S+ %, 95 % \S+ to \S+ %; "
        r"4 and 4 runs\), and may be 4 % above it\. The other holds\.",
        lines[0],
    ), lines[0]
    assert lines[1] == "4 runs, against the baseline main (4 runs)."
    assert [line.split()[1] for line in lines[3:8]] == [
        "quantity",
        "step_median_s",
        "W",
        "step_s",
        "J/step",
    ]


def test_slower_runs_are_above(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(capsys)
    words = ("check", "slow", "--against", "main", "--tolerance", "3%", OFFSET)
    assert said(capsys, *words, code=1).startswith("Above: step_median_s is 5")
    # What is above is above, whatever else is let pass.
    assert said(capsys, *words, "--allow-unresolved", code=1)


def test_json_has_what_the_interface_promises(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(capsys)
    words = ["check", "slow", "--against", "main", "--max", "J/step=100", "--json", OFFSET]
    document = json.loads(said(capsys, *words, code=1))
    assert list(document) == [
        "powertui",
        "sentence",
        "verdict",
        "exit_code",
        "allow_unresolved",
        "runs",
        "baseline",
        "baseline_runs",
        "limits",
        "configuration",
        "notes",
    ]
    assert (document["verdict"], document["exit_code"]) == ("above", 1)
    kinds = [(row["quantity"], row["kind"], row["verdict"]) for row in document["limits"]]
    assert kinds == [
        ("J/step", "max", "within"),
        ("step_median_s", "against", "above"),
        ("W", "against", "above"),
        ("step_s", "against", "above"),
        ("J/step", "against", "above"),
    ]
    for row in document["limits"][1:]:
        assert row["lo"] < row["difference"] < row["hi"]
        assert row["difference"] == pytest.approx(row["value"] - row["baseline"])
    rows = list(csv.DictReader(io.StringIO(said(capsys, *words[:-2], "--csv", OFFSET, code=1))))
    assert [(row["quantity"], row["kind"], row["verdict"]) for row in rows] == kinds


def test_a_run_without_power_cannot_be_said(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("check", "dark", "--max", "J/step=24")
    sentence = "J/step may be at most 24 J; there is no power log."
    assert said(capsys, *words, code=3).splitlines()[0] == f"Cannot say: {sentence}"
    let_pass = said(capsys, *words, "--allow-unresolved")
    assert let_pass.splitlines()[0] == (
        f"Cannot say: {sentence} Not resolved, and let pass by --allow-unresolved: J/step."
    )


def test_joules_of_the_whole_without_steps_say_what_the_log_lacks(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = place / "unmarked"
    trace = write_run(run, 0.05 * np.ones(200), OPS, watts=200.0)
    trace.write_text(trace.read_text().replace("ProfilerStep#", "part "))
    log = run / "power.csv"
    head, *rows = log.read_text().splitlines()
    words = ("check", str(run), "--max", "J=2500", OFFSET)
    assert said(capsys, *words).startswith("Within: J is 2,000 J")
    log.write_text("\n".join([head, *rows[:130]]) + "\n")  # it ends 3 s after the trace began
    assert re.fullmatch(
        r"Cannot say: J may be at most 2,500 J; only \d+ % of this window was sampled\.",
        said(capsys, *words, code=3).splitlines()[0],
    )


def test_a_run_without_steps_cannot_be_said(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for limit in ("step_s=1", "op:aten::mm=1", "input_share=1"):
        assert cli.main(["check", "still", "--max", limit]) == 3
    capsys.readouterr()


def test_one_run_says_what_it_rests_on(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = said(capsys, "check", "base/run0", "--max", "step_s=100ms", "--no-power")
    assert "1 run, within-run only" in printed.splitlines()[0]
    few = said(capsys, "check", "base/run0", "--max", "op:aten::mm=1", "--no-power", code=3)
    assert few.splitlines()[0].endswith(
        "; nothing shows how much it varies within a run. To tell: at least 3 runs."
    )


def test_a_part_of_the_runs_is_checked(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("check", "base", "--run", "run1", "--steps", "0-29", "--max", "steps/s=99", "--json")
    document = json.loads(said(capsys, *words, "--no-power"))
    assert document["runs"] == ["run1, steps 0-29"]
    words = ("check", "base/run1", "--at", "step 0-29", "--max", "steps/s=99", "--json")
    assert json.loads(said(capsys, *words, "--no-power"))["runs"] == ["run1, step 0-29"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["base"], "No limit and no baseline is named: there is nothing to check."),
        (["base", "--tolerance", "3%"], "--tolerance needs a baseline."),
        (["base", "--max", "speed=3"], "There is no quantity 'speed'."),
        (["base", "--min", "step_s"], "--min step_s: is not a quantity and a number."),
        (["base", "--against", "none"], None),
        (["base", "--against", "../x"], None),
        (["nothing", "--max", "W=1"], "nothing: no such file or directory"),
        (["base", "--against", "main", "--tolerance", "3"], "--tolerance 3 is not a percentage."),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(
    place: Path, words: list[str], sentence: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", *words]) in (2, 3)
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) <= 2
    assert sentence is None or lines[0] == f"powertui: {sentence}"


def test_a_power_log_instead_of_a_run_is_told_where_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "meter.csv"
    log.write_text("unix_s,watts\n1700000000,100\n1700000001,101\n")
    assert cli.main(["check", str(log), "--max", "W=1"]) == 3
    error = capsys.readouterr().err
    assert "meter.csv: is a power log, and no profile is beside it\n" in error
    assert "Name the run that it belongs to: RUN --power " in " ".join(error.split())


def test_markdown_begins_with_the_answer(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(capsys)
    words = ("check", "slow", "--against", "main", "--md", OFFSET)
    lines = said(capsys, *words, code=1).splitlines()
    assert lines[:2] == ["## Check", ""]
    assert lines[2].startswith("**Above: step\\_median\\_s is ")
    assert (
        "| verdict | quantity | limit | value | baseline | difference | 95 % interval | from |"
        in lines
    )


def test_junit_has_a_case_for_each_limit(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(capsys)
    path = place / "check.xml"
    words = ["check", "slow", "--against", "main", "--max", "memory_B=1GB", "--junit", str(path)]
    assert cli.main([*words, OFFSET]) == 1
    suite = ElementTree.parse(path).getroot()[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "4",
        "errors": "1",
        "skipped": "0",
    }
    outcomes = [(case.get("name"), [child.tag for child in case]) for case in suite]
    assert outcomes[:2] == [
        ("memory_B ≤ 1 GB", ["error"]),
        ("step_median_s baseline + 5 %", ["failure"]),
    ]
    assert cli.main([*words, OFFSET, "--allow-unresolved"]) == 1
    assert ElementTree.parse(path).getroot()[0].get("skipped") == "1"
    assert cli.main([*words[:-1], str(place), OFFSET]) == 2  # a folder
    capsys.readouterr()


HOSTILE = "op:]]></failure><script>\x1b[2J\x00&\ufffe\ud800|`*"


def test_no_name_escapes_in_any_form(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [GatedRun(f"run{n}\x1b]0;x\x07", 9, {HOSTILE: GateValue(1.0)}) for n in range(3)]
    gate = held_against(runs, [fixed_limit(f"{HOSTILE}=0.5", is_least=False)])
    document = junit_xml(gate)
    case = ElementTree.fromstring(document)[0][0]
    assert [child.tag for child in case] == ["failure"]
    assert (case.get("name") or "").startswith(
        "op:]]></failure><script>\\x1b[2J\\x00&\\ufffe\\ud800|`*"
    )
    document.encode("utf-8")
    write_run(place / "run", 0.05 * np.ones(30), {"=x|<b>\x1b[2J": 0.5, "y" * 9000: 0.2})
    for form in ((), ("--md",), ("--csv",), ("--json",)):
        words = ("check", str(place / "run"), "--max", "op:=x|<b>\x1b[2J=1", *form)
        printed = said(capsys, *words, code=3)
        assert "\x1b" not in printed
        assert form != ("--md",) or "<b>" not in printed


def test_baselines_are_listed_and_shown(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "baseline", "list").startswith("No baseline is saved in ")
    saved(capsys)
    (place / "baselines" / "bad.json").write_text("{}")
    lines = said(capsys, "baseline", "list").splitlines()
    assert lines[1].split()[-1] == "one"  # "…: its format is another one"
    assert lines[2].split()[:2] == ["main", "4"]
    shown = said(capsys, "baseline", "show", "main")
    assert re.search(r"J/step +\S+ J +\S+ J to \S+ J +± \S+ % +4", shown)
    document = json.loads(said(capsys, "baseline", "show", "main", "--json"))
    assert {row["name"]: row["runs"] for row in document["quantities"]}["op:aten::mm"] == 4
    listed = json.loads(said(capsys, "baseline", "list", "--json"))["baselines"]
    assert [row["name"] for row in listed] == ["bad", "main"]
    for form in ("--csv", "--md"):
        assert said(capsys, "baseline", "list", form)
        assert said(capsys, "baseline", "show", "main", form)


@pytest.mark.parametrize(
    "words",
    [
        ["save", "main"],
        ["save"],
        ["save", "../main", "base"],
        ["save", "a.json", "base"],
        ["show"],
        ["show", "main", "base"],
        ["show", "nothing"],
        ["list", "main"],
        ["drop", "main"],
    ],
)
def test_baseline_refuses_in_a_sentence(
    place: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["baseline", *words]) in (2, 3)
    assert len(capsys.readouterr().err.splitlines()) <= 2
    assert not (place / "baselines").exists()


def test_a_baseline_is_not_written_over_unasked(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(capsys)
    assert cli.main(["baseline", "save", "main", "same", OFFSET]) == 2
    assert said(capsys, "baseline", "save", "main", "dark", "--replace").splitlines()[1] == (
        "Fewer than 3 runs do not show how much runs vary, so a check against them can seldom "
        "decide. Save three, or better five."
    )


def test_energy_that_the_baseline_has_is_asked_for(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(capsys)
    assert cli.main(["check", "dark", "--against", "main", "--tolerance", "900%"]) == 3
    assert "W may be 900 % above it; there is no power log" in capsys.readouterr().out
    # Whoever says that power is not looked for is not asked for it.
    words = ("check", "base", "--against", "main", "--tolerance", "900%", "--no-power")
    assert "W  " not in said(capsys, *words)


def test_the_same_in_a_notebook(place: Path, world: Path) -> None:
    aligning = Aligning(offset_s=step_world.LOG_START_S)
    runs = [world / "base" / f"run{number}" for number in range(4)]
    saved = powertui.baseline("main", runs, aligning=aligning)
    assert repr(saved) == "<Baseline main: 4 runs>"
    assert powertui.baseline("main").json == saved.json
    assert list(saved.figures["name"])[:3] == ["step_s", "step_median_s", "step_p25_s"]
    good = powertui.check("same", against="main", tolerance="4%", aligning=aligning)
    assert good
    assert good.verdict == "within"
    slow = powertui.check("slow", max={"J/step": 24, "W": "1kW"}, against="main", aligning=aligning)
    assert not slow
    assert list(slow.limits["verdict"]) == ["within", "within"] + ["above"] * 4
    assert repr(slow) == f"<Check: {slow.sentence}>"
    with pytest.raises(UsageError, match="check\\(\\) does not know speed"):
        powertui.check("slow", speed=3)


def test_a_run_of_several_sessions_says_so_as_lists_have_a_row_for_each() -> None:
    assert runs_in_words(3, 3) == "3 runs"
    assert runs_in_words(1, 2) == "1 run of 2 sessions"
    assert name_of_sessions("training", 2) == "training and 1 more session"
    assert name_of_sessions("training", 3) == "training and 2 more sessions"
