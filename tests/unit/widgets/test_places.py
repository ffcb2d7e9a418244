"""Places of ":" that are several, or are not there."""

from __future__ import annotations

import pytest

from powertui.data.model import PS_PER_S, Epoch
from powertui.errors import UsageError
from powertui.screens import palette
from powertui.view.timeline_model import TimelineModel
from tests.synthetic import traces

MS = PS_PER_S // 1000
TRACE = traces.trace({("/host:CPU", "t"): [(0, 900 * MS, "train")]})


def three_epochs() -> TimelineModel:
    """Epochs 0 to 2 of three steps each, numbered from 55 in each of them."""
    bounds = [(100 * MS * place, 100 * MS) for place in range(9)]
    epoch = [place // 3 for place in range(9)]
    marks = traces.steps(*bounds, epoch=epoch)
    marks.number[:] = [55, 56, 57] * 3
    epochs = [
        Epoch(number, 300 * MS * number, 300 * MS * (number + 1), "test") for number in range(3)
    ]
    return TimelineModel.from_run(traces.run(TRACE, marks, epochs))


def test_a_step_of_several_epochs_is_that_of_the_cursor() -> None:
    model = three_epochs()
    for cursor_ms, epoch, others in ((50, 0, "1, 2"), (450, 1, "0, 2"), (850, 2, "0, 1")):
        lo, hi, note = model.destination("step 57", cursor_ms * MS)
        assert (lo, hi) == ((200 + 300 * epoch) * MS, (300 + 300 * epoch) * MS)
        assert note == f"epoch {epoch}; also in epochs {others}"
    lo, hi, note = model.destination("steps 55-57", 450 * MS)
    assert (lo, hi, note) == (300 * MS, 600 * MS, "epoch 1; also in epochs 0, 2")
    assert model.destination("epoch 2 step 57", 50 * MS) == (800 * MS, 900 * MS, "")


def test_a_counter_that_starts_again_without_epochs() -> None:
    bounds = [(100 * MS * place, 100 * MS) for place in range(6)]
    marks = traces.steps(*bounds)
    marks.number[:] = [0, 1, 2] * 2
    model = TimelineModel.from_run(traces.run(TRACE, marks))
    assert model.destination("step 1", 450 * MS) == (
        400 * MS,
        500 * MS,
        "2 of 2 times that this step ran",
    )


def test_a_time_beyond_the_end_says_so() -> None:
    model = three_epochs()
    with pytest.raises(UsageError, match=r"27.31 s is after the end: this profile ends at 900 ms"):
        model.destination("27.31s-28.78s")
    with pytest.raises(UsageError, match="after the end"):
        model.destination("1s")
    lo, hi, note = model.destination("0.8s-28.78s")
    assert (lo, hi) == (800 * MS, model.span[1])
    assert note == "this profile ends there, before 28.78 s"


def test_a_tool_is_found_before_the_jump() -> None:
    ranked = sorted(
        (place, number)
        for number, entry in enumerate(palette.entries("timeline"))
        if (place := palette.rank(entry, ["kernel"])) is not None
    )
    commands = [palette.entries("timeline")[number].command for _, number in ranked]
    kinds = [command.partition(":")[0] for command in commands]
    assert kinds[0] == "tool"
    assert "tool:kernel_stats" in commands[: kinds.index("do")]
