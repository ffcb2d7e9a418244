"""`run.plot()`: the picture holds what the frames hold, and nothing in a name is a formula."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import powertui
from powertui import demo
from powertui.errors import UsageError
from powertui.report import run_plot

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def run():
    return powertui.open(demo.folder())[0]


@pytest.fixture(scope="module")
def figure(run):
    pytest.importorskip("matplotlib")
    return run.plot()


def test_power_steps_findings_and_epochs_are_those_of_the_frames(run, figure) -> None:
    above, below = figure.axes
    (line,) = [line for line in above.lines if line.get_label() == "watts (simulated)"]
    watts = run.power.watts.to_numpy()
    drawn = line.get_ydata()
    assert 20 < len(drawn) <= len(watts)
    assert set(drawn) <= set(watts)
    (steps,) = below.collections
    ends = np.array([[start[0], end[0], end[1]] for start, end in steps.get_segments()])
    assert ends[:, 0] == pytest.approx(run.steps.start_s.to_numpy())
    assert ends[:, 1] - ends[:, 0] == pytest.approx(run.steps.duration_s.to_numpy())
    assert ends[:, 2] == pytest.approx(run.steps.duration_s.to_numpy() * 1000)
    (box,) = above.patches
    (finding,) = run.findings.itertuples()
    x = box.get_path().vertices[:, 0] if not hasattr(box, "get_x") else None
    left, right = (box.get_x(), box.get_x() + box.get_width()) if x is None else (min(x), max(x))
    assert (left, right) == (pytest.approx(finding.start_s), pytest.approx(finding.end_s))
    assert [text.get_text() for text in above.texts] == [
        f" epoch {number}" for number in run.epochs.number
    ]


def test_the_longest_step_does_not_press_the_others_onto_the_axis(run, figure) -> None:
    durations = run.steps.duration_s
    assert durations.max() > 8 * durations.median()
    assert figure.axes[1].get_yscale() == "log"
    assert "log scale" in figure.axes[1].get_ylabel()
    rest = run.plot(start=3, end=9)
    assert rest.axes[1].get_yscale() == "linear"
    assert rest.axes[1].get_xlim() == (3, 9)
    assert rest.axes[1].get_ylim()[0] == 0


def test_a_notebook_shows_it_and_no_window_opens(figure) -> None:
    assert figure._repr_png_().startswith(PNG)
    script = (
        f"import powertui, sys; powertui.open({str(demo.folder())!r})[0].plot();"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_no_name_is_a_formula_or_hidden(run, monkeypatch) -> None:
    pytest.importorskip("matplotlib")
    import matplotlib

    monkeypatch.setattr(run_plot, "channel_names", lambda power: [r"_$\frac{$ \x1b" for _ in power])
    with matplotlib.rc_context({"text.usetex": True}):
        figure = run.plot()
    assert figure._repr_png_().startswith(PNG)  # a broken formula would raise here
    (text, _) = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert text == " _\\$\\frac{\\$ \\x1b (simulated)"


def test_many_readings_are_drawn_by_their_extremes(run, figure, monkeypatch) -> None:
    (all_readings,) = [
        line for line in figure.axes[0].lines if line.get_label() == "watts (simulated)"
    ]
    monkeypatch.setattr(run_plot, "_POINTS_A_LINE", 20)
    (line,) = [line for line in run.plot().axes[0].lines if line.get_label() == "watts (simulated)"]
    assert len(line.get_ydata()) <= 20
    assert max(line.get_ydata()) == max(all_readings.get_ydata())
    assert min(line.get_ydata()) == min(all_readings.get_ydata())


def test_without_power_and_without_steps_the_picture_says_so(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "trace.json").write_text(
        '{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 1000}]}'
    )
    above, below = powertui.open(tmp_path)[0].plot().axes
    assert [text.get_text() for text in above.texts] == [
        "No power log is aligned with this profile."
    ]
    assert [text.get_text() for text in below.texts] == ["No step is known in this window."]


def test_without_matplotlib_a_sentence_says_what_to_install(run, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match="needs matplotlib, which is not installed") as raised:
        run.plot()
    assert "pip install matplotlib" in raised.value.hint


def test_a_host_that_is_not_there_is_refused(run) -> None:
    with pytest.raises(UsageError, match="There is no host 'nobody'"):
        run.plot(host="nobody")
