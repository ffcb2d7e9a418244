from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui import demo
from powertui.data import loading, logdir
from powertui.data.formats import registry
from powertui.data.formats.tfevents import EventLog
from powertui.data.model import Clock, Epoch, Epochs, ScalarSeries, Steps, Trace
from powertui.data.run import clocks, epochs, marks
from powertui.data.run.epochs import mark
from powertui.data.run.logged_epochs import from_logs
from powertui.data.run.steps import StepsAndOthers
from tests.synthetic import traces
from tests.synthetic.xplane import Event, Line, Plane, encode

S = 10**12  # ps
NS = 10**9
ZERO = 1_700_000_000 * NS


def trace_of(
    tmp_path: Path, events: list[Event], *, half_ns: int = 1_000_000, known: bool = True
) -> Trace:
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(encode([Plane("/host:CPU", [Line("python", events)])]))
    clock = Clock(ZERO - half_ns, ZERO + half_ns, "task environment") if known else Clock()
    return replace(registry.read(path), clock=clock)


def batches(
    numbers: list[int], *, name: str = "Profiled batch", first_s: float = 0.0, **stats: int
) -> list[Event]:
    """One second each, one after the other."""
    return [
        Event(name, int((first_s + i) * S), S, {"step_num": n, **stats})
        for i, n in enumerate(numbers)
    ]


def series(
    group: str, tag: str, points: list[tuple[int, float, float]], pid: int = 7
) -> ScalarSeries:
    steps, walls, values = zip(*points, strict=True)
    wall_ns = np.array([ZERO + round(w * NS) for w in walls], np.int64)
    return ScalarSeries(
        f"/x/{group}/events.out.tfevents.1.h.{pid}.0.v2",
        group,
        tag,
        np.array(steps, np.int64),
        wall_ns,
        np.array(values),
    )


def log(group: str, *scalars: ScalarSeries, keras: float | None = None) -> EventLog:
    walls = [int(w) for one in scalars for w in one.wall_ns]
    start = ZERO + round(keras * NS) if keras is not None else min(walls)
    return EventLog(
        scalars[0].path,
        group,
        scalars,
        first_ns=start,
        last_ns=max(walls),
        keras_graph_ns=start if keras is not None else None,
        pid=7,
    )


def bounds(found: Epochs) -> list[tuple[int, float | None, float | None]]:
    return [
        (e.number, None if e.start is None else e.start / S, None if e.end is None else e.end / S)
        for e in found
    ]


def counts(marked: Steps, found: Epochs) -> dict[int, int]:
    return {
        found[int(i)].number: int((marked.epoch == i).sum())
        for i in np.unique(marked.epoch)
        if i >= 0
    }


# ── from the profile alone ───────────────────────────────────────────────────────────────────────


def test_numbers_that_start_again(tmp_path: Path) -> None:
    marked, found = mark(trace_of(tmp_path, batches([0, 1, 2, 0, 1, 2, 0, 1])))
    assert counts(marked, found) == {0: 3, 1: 3, 2: 2}
    # The last epoch may go on after the profile: nothing tells its end.
    assert bounds(found) == [(0, 0.0, 3.0), (1, 3.0, 6.0), (2, 6.0, None)]
    assert "starts again" in found.source


def test_a_profile_that_begins_inside_an_epoch_does_not_know_its_start(tmp_path: Path) -> None:
    _, found = mark(trace_of(tmp_path, batches([7, 8, 9, 0, 1])))
    assert bounds(found) == [(0, None, 3.0), (1, 3.0, None)]


def test_the_programs_own_numbers(tmp_path: Path) -> None:
    events = batches([30, 31, 32], name="TraceContext", epoch_num=4) + batches(
        [0, 1], name="TraceContext", first_s=3, epoch_num=5
    )
    marked, found = mark(trace_of(tmp_path, events))
    assert counts(marked, found) == {4: 3, 5: 2}
    assert found.source == "the events' epoch_num"


def test_no_evidence_no_epochs(tmp_path: Path) -> None:
    marked, found = mark(trace_of(tmp_path, batches([0, 1, 2])))
    assert len(found) == 0
    assert set(marked.epoch.tolist()) == {-1}
    assert found.source


def test_bounds_that_the_steps_tell_are_exact(tmp_path: Path) -> None:
    _, found = mark(trace_of(tmp_path, batches([0, 1, 2, 0, 1, 2])), [])
    assert [epoch.slack for epoch in found] == [0, 0]
    assert Epoch(0, 0, 5, "steps").slack == 0, "whoever says nothing of it means exact bounds"


# ── with tfevents ────────────────────────────────────────────────────────────────────────────────


def test_scalars_give_bounds_numbers_and_values(tmp_path: Path) -> None:
    train = log("train", series("train", "epoch_loss", [(0, 3.4, 0.5), (1, 7.0, 0.25)]), keras=-0.1)
    marked, found = mark(trace_of(tmp_path, batches([0, 1, 2, 0, 1, 2])), [train])
    assert counts(marked, found) == {0: 3, 1: 3}
    assert bounds(found) == [(0, -0.1, 3.4), (1, 3.4, 7.0)]
    assert found[1].scalars == (("epoch_loss", 0.25),)
    assert found[0].slack == 21 * 10**9  # the clock's +- 1 ms, and within 20 ms a record is written
    assert "tfevents" in found[0].source


def test_scalars_alone_place_the_steps(tmp_path: Path) -> None:
    train = log(
        "train",
        series("train", "epoch_accuracy", [(3, 2.2, 0.5), (4, 5.5, 0.6)]),
        series("train", "epoch_loss", [(2, -1.0, 1.0)]),
    )
    marked, found = mark(trace_of(tmp_path, batches([10, 11, 12, 13])), [train])
    assert counts(marked, found) == {3: 2, 4: 2}
    assert [epoch.number for epoch in found] == [2, 3, 4]


def test_a_profile_in_the_middle_of_a_long_training_gets_its_numbers(tmp_path: Path) -> None:
    train = log(
        "train", series("train", "epoch_loss", [(n, (n - 39) * 3.0 - 0.8, 0.1) for n in range(50)])
    )
    marked, found = mark(trace_of(tmp_path, batches([1, 2, 0, 1, 2, 0])), [train])
    assert counts(marked, found) == {40: 2, 41: 3, 42: 1}


def test_a_vague_clock_gives_no_false_numbers(tmp_path: Path) -> None:
    train = log("train", series("train", "epoch_loss", [(0, 3.4, 0.5), (1, 7.0, 0.25)]))
    marked, _ = mark(trace_of(tmp_path, batches([5, 6, 7]), half_ns=10 * NS), [train])
    assert set(marked.epoch.tolist()) == {-1}


def test_without_a_clock_epochs_have_values_but_no_times(tmp_path: Path) -> None:
    train = log("train", series("train", "epoch_loss", [(0, 3.4, 0.5), (1, 7.0, 0.25)]))
    marked, found = mark(trace_of(tmp_path, batches([0, 1, 0, 1]), known=False), [train])
    assert counts(marked, found) == {0: 2, 1: 2}
    assert bounds(found) == [(0, 0.0, 2.0), (1, 2.0, None)]  # from the steps
    assert found[0].scalars == (("epoch_loss", 0.5),)


def test_fit_called_again_is_another_training() -> None:
    first = [(n, 10.0 * n + 10, 0.5) for n in range(4)]
    second = [(n, 10.0 * n + 110, 0.4) for n in range(3)]
    logs = [log("train", series("train", "epoch_loss", first + second))]
    assert [e.number for e in from_logs(logs, ZERO + 25 * NS)] == [0, 1, 2, 3]
    assert [e.number for e in from_logs(logs, ZERO + 115 * NS)] == [0, 1, 2]
    assert [e.number for e in from_logs(logs)] == [0, 1, 2]


def test_other_scalars_are_no_epochs() -> None:
    assert from_logs([log("train", series("train", "batch_loss", [(0, 1.0, 0.5)]))]) == ()


# ── phases ───────────────────────────────────────────────────────────────────────────────────────


def test_validation_is_named_from_its_results(tmp_path: Path) -> None:
    logs = [
        log("train", series("train", "epoch_loss", [(0, 4.9, 0.5), (1, 9.9, 0.25)])),
        log(
            "validation",
            series("validation", "evaluation_loss_vs_iterations", [(3, 4.5, 0.6), (6, 9.5, 0.5)]),
            series("validation", "epoch_loss", [(0, 4.91, 0.6), (1, 9.91, 0.5)]),
        ),
    ]
    events = batches([0, 1, 2]) + batches([0, 1, 2], first_s=5)
    _, found = mark(trace_of(tmp_path, events), logs)
    assert [(p.name, p.epoch, p.start / S, p.end / S) for p in found.phases] == [
        ("validation", 0, 3.0, 4.5),
        ("validation", 1, 8.0, 9.5),
    ]
    assert ("val_epoch_loss", 0.6) in found[0].scalars


def test_a_profile_that_stops_inside_an_epoch_has_no_validation_there(tmp_path: Path) -> None:
    logs = [
        log("train", series("train", "epoch_loss", [(0, 4.9, 0.5), (1, 9.9, 0.25)])),
        log("validation", series("validation", "epoch_loss", [(0, 4.91, 0.6), (1, 9.91, 0.5)])),
    ]
    _, found = mark(trace_of(tmp_path, batches([0, 1, 2]) + batches([0, 1], first_s=5)), logs)
    assert [phase.epoch for phase in found.phases] == [0]


def test_validation_is_named_from_its_steps(tmp_path: Path) -> None:
    events = (
        batches([0, 1], name="train")
        + batches([0, 1, 2], name="test", first_s=2)
        + batches([0, 1], name="train", first_s=5)
    )
    marked, found = mark(trace_of(tmp_path, events))
    assert len(marked) == 4
    assert [(p.name, p.start / S, p.end / S, p.source) for p in found.phases] == [
        ("validation", 2.0, 5.0, "3 events named test")
    ]


def test_a_long_gap_between_epochs_without_results_stays_nameless(tmp_path: Path) -> None:
    _, found = mark(trace_of(tmp_path, batches([0, 1, 2]) + batches([0, 1, 2], first_s=40)))
    assert [phase.name for phase in found.phases] == ["between epochs"]


def test_the_first_step_is_tracing_when_it_is_much_longer(tmp_path: Path) -> None:
    slow = [
        Event("train", 0, 20 * S, {"step_num": 0}),
        *batches([1, 2, 3, 4, 5], name="train", first_s=20),
    ]
    _, found = mark(trace_of(tmp_path, slow))
    assert [(p.name, p.start, p.end) for p in found.phases] == [("tracing", 0, 20 * S)]
    assert "20 times" in found.phases[0].source
    _, even = mark(trace_of(tmp_path, batches([0, 1, 2, 3, 4, 5])))
    assert even.phases == ()


# ── recordings ───────────────────────────────────────────────────────────────────────────────────


def only(root: Path) -> tuple[Trace, Steps, Epochs]:
    entry = next(run for run in logdir.scan(root).runs if run.profiles)
    run = loading.load_run(entry)
    return run.traces[0], run.steps[0], run.epochs[0]


def test_the_demos_epochs_and_phases() -> None:
    _, marked, found = only(demo.folder())
    assert counts(marked, found) == {0: 100, 1: 100}
    assert [phase.name for phase in found.phases] == ["tracing", "validation", "validation"]
    assert all(epoch.start is not None and epoch.end is not None for epoch in found)


# truth_events.json of the demo's recording: what the training program itself logged.
TRUTH = {
    ("end", 0): 1795224834.503092,
    ("begin", 1): 1795224834.5063982,
    ("end", 1): 1795224845.4068544,
    ("begin", 0): 1795224823.608893,
}


@pytest.mark.parametrize(("what", "number"), list(TRUTH))
def test_the_demos_epochs_are_where_its_program_saw_them(what: str, number: int) -> None:
    trace, _, found = only(demo.folder())
    epoch = found[number]
    moment = epoch.end if what == "end" else epoch.start
    assert moment is not None
    assert abs(trace.clock.mid_ns / NS + moment / S - TRUTH[what, number]) < 0.05


def test_the_recordings_truth(shared_data: Path) -> None:
    folder = shared_data / "own/two_epochs_with_burst"
    truth = {
        (name.split("_")[1], n): wall
        for name, n, wall in json.loads((folder / "truth_events.json").read_text())
        if "epoch" in name
    }
    assert truth == TRUTH


@pytest.mark.parametrize(
    ("run", "steps"),
    [
        ("own/keras_cifar", {0: 350, 1: 350}),
        ("own/two_epochs_with_burst", {0: 100, 1: 100}),
        ("public/powerboard_tf22_run195247", {1: 20}),
        ("public/powerboard_tf22_run183023_5epochs", {1: 20}),
        ("public/e4040_hd2551", {0: 1}),
        ("own/custom_loop", {}),
    ],
)
def test_every_recording(shared_data: Path, run: str, steps: dict[int, int]) -> None:
    _, marked, found = only(shared_data / run)
    assert counts(marked, found) == steps


def test_powerboards_steps_are_30_to_49_of_epoch_1(shared_data: Path) -> None:
    _, marked, found = only(shared_data / "public/powerboard_tf22_run195247")
    assert marked.number.tolist() == [
        *range(30, 50),
        -1,
    ]  # TensorFlow tells of the last one, too: the profile cut it
    assert marked.epoch[-1] == -1
    assert {found[int(i)].number for i in marked.epoch[:-1]} == {1}
    epoch = found[1]
    assert epoch.start is not None
    assert epoch.end is not None
    assert epoch.start < int(marked.start[0]) < int(marked.start[-2]) < epoch.end
    assert dict(epoch.scalars)["epoch_loss"] == pytest.approx(0.16408968)


class Counted(np.ndarray[Any, Any]):
    """A column that counts how many of its values were made Python's."""

    looked_at = 0

    def tolist(self) -> Any:
        Counted.looked_at += self.size
        return super().tolist()


@pytest.mark.parametrize("known", [True, False])
def test_many_epochs_cost_one_look_at_the_steps_and_the_logs(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty thousand epochs took 25 s when each of them went through everything."""
    count, per = 400, 3
    start = np.arange(count * per, dtype=np.int64) * 10**10
    number, epoch = (
        np.tile(np.arange(per), count).astype(np.int64),
        np.repeat(np.arange(count), per).astype(np.int32),
    )
    train = Steps(
        number,
        start,
        np.full(count * per, 9 * 10**9, np.int64),
        epoch,
        ["train"] * count * per,
        "made",
    )
    zero = 1_700_000_000 * 10**9
    walls = zero + np.arange(1, count + 1, dtype=np.int64) * per * 10**7
    logs = []
    for group, later in (("train", 0), ("validation", 3000)):
        wall = (walls + later).view(Counted)
        series = ScalarSeries(
            "",
            group,
            "epoch_loss",
            np.arange(count, dtype=np.int64),
            wall,
            np.linspace(1, 0, count),
        )
        logs.append(
            EventLog(
                f"{group}/events.out.tfevents.1700000000.vm.1.2.v2",
                group,
                (series,),
                int(walls[0]),
                int(walls[-1]),
                zero,
            )
        )
    trace = traces.trace({("/host:CPU", "t"): [(0, int(start[-1]) + 10**10, "x")]})
    if known:
        trace = replace(trace, clock=Clock(zero, zero + 10, "task environment"))
    compared: list[int] = []
    nonzero = np.flatnonzero

    def counted(values: Any) -> Any:
        compared.append(len(values))
        return nonzero(values)

    monkeypatch.setattr(np, "flatnonzero", counted)
    Counted.looked_at = 0
    found = StepsAndOthers(train, marks.join_marks([]), epoch_num=True)
    clock = clocks.best_clock(trace, None, logs, steps=train, epoch_num=True)
    marked, made = epochs.place(replace(trace, clock=clock), found, logs)
    assert (len(made), len(made.phases)) == (count, count)
    assert marked.epoch.tolist() == epoch.tolist()
    assert [e.scalars[0][1] for e in made] == np.linspace(1, 0, count).tolist()
    assert all(dict(e.scalars).keys() == {"epoch_loss", "val_epoch_loss"} for e in made)
    assert Counted.looked_at <= 10 * count
    assert sum(compared) <= 10 * count * per


def test_no_validation_lies_between_the_last_whole_step_and_the_one_that_was_cut(
    shared_data: Path,
) -> None:
    """PowerBoard's profiles end in the middle of epoch 1."""
    for name in ("powerboard_tf22_run195247", "powerboard_tf22_run183023_5epochs"):
        _, _, found = only(shared_data / "public" / name)
        assert not [phase for phase in found.phases if phase.name == "validation"]
