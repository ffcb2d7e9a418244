"""The chart of step times in `powertui report`."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from powertui import demo
from powertui.plain import width
from powertui.report import chart


def curve(lines: list[str]) -> str:
    return "".join(char for line in lines for char in line if "\u2800" < char <= "\u28ff")


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("count", [10, 11, 200, 4_999])
def test_it_fits(columns: int, count: int) -> None:
    lines = chart.of_steps([0.1 + i % 7 / 100 for i in range(count)], columns, indent="   ")
    assert (len(lines) > 0) == (columns > 42)
    assert all(width(line) <= columns and line.startswith("   ") for line in lines)
    assert "\x1b" not in "".join(lines)
    if lines:
        assert "160 ms" in lines[1]
        assert lines[-1].split()[-1] == f"{count:,}"
        assert curve(lines)


def test_one_stall_among_thousands_is_seen() -> None:
    """Of the steps that share a dot the longest counts."""
    calm = [0.1] * 3000
    stalled = [*calm]
    stalled[1234] = 0.19
    assert curve(chart.of_steps(calm, 80)) != curve(chart.of_steps(stalled, 80))


def test_a_slow_first_step_does_not_flatten_the_rest() -> None:
    lines = chart.of_steps([90.0, *([0.1, 0.15] * 50)], 80)
    assert "300 ms" in lines[1]
    assert lines[-1] == "one step goes beyond the top: 90 s"
    lines = chart.of_steps([90.0, 80.0, *([0.1, 0.15] * 50)], 80)
    assert lines[-1].startswith("2 steps go beyond the top")


def test_little_is_drawn_of_little() -> None:
    assert chart.of_steps([0.1] * (chart.MIN_STEPS - 1), 80) == []
    assert chart.of_steps([0.0] * 20, 80)  # no length at all is drawn, not divided by


@pytest.mark.parametrize(
    ("environ", "drawn"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "linux"}, False),
        ({"TERM": "xterm-256color", "PYTHONIOENCODING": "latin-1"}, False),
    ],
)
def test_only_terminals_that_can_show_it_get_it(environ: dict[str, str], drawn: bool) -> None:
    known = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "LANG", "POWERTUI", "COLUMNS"))
    }
    main, side = pty.openpty()
    os.set_blocking(main, False)
    code = "from powertui.report import chart; import sys; print(chart.room(), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=side,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        env={**known, "LANG": "C.UTF-8", "COLUMNS": "100", **environ},
    )
    os.close(main)
    os.close(side)
    assert int(done.stderr) == (100 if drawn else 0)


def test_a_pipe_gets_none() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "powertui", "report", str(demo.folder())],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert not curve(done.stdout.splitlines())
