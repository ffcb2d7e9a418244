"""A training from end to end: spans that add up to the whole, and the ten of TPUEstimator's
logger.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import powertui
from powertui import cli
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.limits import MACHINE
from powertui.data.logdir import RunEntry
from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.data.training.estimator_spans import EstimatorSpan, estimator_spans
from powertui.data.training.training import Trainings
from tests.answers import rows, told
from tests.synthetic.tfevents import frame
from tests.synthetic.xplane import blob, double

UNIX = 1_795_000_000
NAMES = [
    "beginning to init-system's start",
    "init-system",
    "init-system's end to model-fn's start",
    "model-fn",
    "setup-infeed",
    "training",
    "training's end to eval's start",
    "eval",
    "eval's end to predict's start",
    "predict",
]
# Seconds from the job's begin.
JOB = {
    "train_begin": 0.0,
    "init_system_begin": 1.5,
    "init_system_end": 4.0,
    "model_fn_begin": 4.25,
    "setup_infeed_begin": 5.0,
    "setup_infeed_end": 7.0,
    "model_fn_end": 10.0,
    "train_end": 60.0,
    "eval_begin": 62.0,
    "eval_end": 70.0,
    "predict_begin": 73.0,
    "predict_end": 75.5,
}


def entry_with_logger(folder: Path, moments: dict[str, float]) -> RunEntry:
    name = folder / f"events.out.tfevents.{UNIX}.worker.profile_logger"
    records = [
        double(1, UNIX + at) + blob(5, blob(1, blob(1, f"profile/{what}".encode())))
        for what, at in moments.items()
    ]
    name.write_bytes(b"".join(map(frame, records)))
    return RunEntry("job", str(folder), tfevents=logdir.scan(folder).tfevents)


def spans(folder: Path, moments: dict[str, float]) -> list[EstimatorSpan]:
    return estimator_spans(entry_with_logger(folder, moments), MACHINE)


def lengths(folder: Path, moments: dict[str, float]) -> list[float]:
    return [span.length_ns / 1e9 for span in spans(folder, moments)]


def test_the_ten_spans_of_a_logger_are_exact(tmp_path: Path) -> None:
    ten = spans(tmp_path, JOB)
    assert [span.name for span in ten] == NAMES
    assert [span.length_ns / 1e9 for span in ten] == [
        1.5,
        2.5,
        0.25,
        3.75,
        2.0,
        60.0,
        2.0,
        8.0,
        3.0,
        2.5,
    ]


@pytest.mark.parametrize(
    ("changed", "later"),
    [
        ({}, [2.0, 8.0, 3.0, 2.5]),
        ({"eval_begin": 50.0}, [0.0, 10.0, 3.0, 2.5]),  # only what comes after the training
        ({"eval_begin": 50.0, "eval_end": 55.0}, [0.0, 0.0, 18.0, 2.5]),  # free
        ({"predict_begin": 69.0}, [2.0, 8.0, 0.0, 5.5]),
    ],
)
def test_sessions_that_overlap_count_once(
    tmp_path: Path, changed: dict[str, float], later: list[float]
) -> None:
    assert lengths(tmp_path, {**JOB, **changed})[6:] == later


def test_what_the_logger_does_not_hold_is_0(tmp_path: Path) -> None:
    only_evaluation = {name: at for name, at in JOB.items() if name.startswith("eval")}
    assert lengths(tmp_path, only_evaluation) == [0.0] * 7 + [8.0, 0.0, 0.0]


def answers(folder: Path) -> list[Result]:
    found = logdir.scan(folder)
    trainings = Trainings(found, ReadOptions(), Aligning())
    tool = registry.get("end_to_end")
    return [tool.answer(Question(run)) for run in trainings.each(found.runs)]


def test_the_spans_of_a_long_training_add_up_to_the_whole(shared_data: Path) -> None:
    results = answers(shared_data / "own" / "long_training")
    assert len(results) == 2
    for result in results:
        facts = {fact.id: fact for fact in result.facts}
        whole_ps, whole_j = facts["whole_s"].value, facts["whole_j"].value
        table = result["spans"]
        starts, lengths_ = table["start_s"].values, table["length_s"].values
        assert int(sum(lengths_)) == whole_ps
        assert list(starts[1:]) == list((starts + lengths_)[:-1])  # without holes
        kinds = {row["kind"]: row for row in rows(result["kinds"])}
        assert list(kinds) == ["before", "start, with the first steps", "training", "gap", "after"]
        assert kinds["training"]["count"] == 6
        assert sum(row["total_s"] for row in kinds.values()) == pytest.approx(78.84, abs=0.005)
        assert sum(row["joules"] for row in kinds.values()) == pytest.approx(whole_j, rel=1e-9)


def test_the_first_step_is_a_span_of_its_own_where_the_profile_holds_it(data: Path) -> None:
    from powertui import demo

    (result,) = answers(Path(demo.folder()))
    kinds = {row["kind"]: row for row in rows(result["kinds"])}
    assert list(kinds)[:4] == ["before", "start", "first step, with tracing", "training"]
    first = kinds["first step, with tracing"]
    assert first["total_s"] == pytest.approx(1.522, abs=0.001)
    facts = {fact.id: fact.value for fact in result.facts}
    assert sum(result["spans"]["length_s"].values) == facts["whole_s"]


def test_step_0_of_a_later_epoch_is_not_the_first_step_of_the_training(shared_data: Path) -> None:
    """Its sessions profile steps 0 … of other epochs than the first."""
    for result in answers(shared_data / "own" / "long_training"):
        assert not [row for row in rows(result["kinds"]) if row["kind"].startswith("first step")]


def test_a_folder_without_a_profile_has_its_spans_too(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = shared_data / "own" / "long_training" / "logs"
    for path in logs.rglob("events.out.tfevents.*"):
        copy = tmp_path / path.relative_to(logs)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    assert cli.main(["report", str(tmp_path), "--tool", "end_to_end", "--json"]) == 0
    spans_told = told(json.loads(capsys.readouterr().out), "kinds")
    kinds = [row["kind"] for row in spans_told]
    assert kinds == ["start, with the first steps", "training", "gap", "after"]


def test_a_run_that_is_opened_alone_says_why_it_has_no_spans(data: Path) -> None:
    from powertui import demo
    from powertui.data.opened import Opened

    (run, *_) = logdir.scan(demo.folder()).runs
    result = registry.get("end_to_end").answer(Question(Opened(run)))
    assert len(result["kinds"]) == 0
    (fact,) = result.facts
    assert fact.why.startswith("this run is opened alone")


def test_a_job_that_nobody_profiled_has_its_spans_and_joules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    entry_with_logger(folder, JOB)
    readings = "".join(f"{UNIX + at / 2},{200}\n" for at in range(-20, 200))
    (folder / "power.csv").write_text(f"time_unix_s,watts\n{readings}")
    assert cli.main(["report", str(folder), "--tool", "end_to_end", "--json"]) == 0
    spans_told = told(json.loads(capsys.readouterr().out), "logger_spans")
    assert [row["time_ms"] for row in spans_told][:6] == [1500, 2500, 250, 3750, 2000, 60000]
    joules = [row["joules"] for row in spans_told]
    assert joules.pop(2) is None  # 250 ms: less than two readings
    assert joules == pytest.approx([300, 500, 750, 400, 12000, 400, 1600, 600, 500], rel=0.01)


def test_the_library_answers_for_a_job_that_nobody_profiled(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    entry_with_logger(folder, JOB)
    runs = powertui.open(folder)
    assert not runs
    with pytest.raises(IndexError, match="What was trained without a profile is in `trainings`"):
        runs[0]
    assert list(runs.trainings[0].tool("end_to_end").frame.span) == NAMES
