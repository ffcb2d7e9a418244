"""`powertui.compare()`: what differs between two sides, as DataFrames or as a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from powertui.data.asked import Aligning
from powertui.data.compare.comparison import Comparison
from powertui.data.compare.comparison import compare as compare_sides
from powertui.errors import UsageError
from powertui.plain import plain
from powertui.report import compare_json
from powertui.report.compare_sides import Asked, SideReading, sides
from powertui.report.python_arguments import GivenPath, named_paths, one_or_two, read_options

_OPTIONS = ("run", "host", "epoch", "steps", "start", "end")


def compare(
    a: GivenPath | Sequence[GivenPath],
    b: GivenPath | Sequence[GivenPath] | None = None,
    *,
    power: GivenPath | Sequence[GivenPath] = (),
    tz: str | None = None,
    step_marker: str | None = None,
    max_memory: str | int | None = None,
    aligning: Aligning | None = None,
    **parts: Any,
) -> ComparisonView:
    """What differs from A to B, each a run, a folder of runs, or several of them.

    `run=`, `host=`, `epoch=`, `steps=` ("45-71"), `start=` and `end=` ("1.2s") narrow both sides;
    a pair of values narrows A to the first and B to the second, which may be parts of one run:
    `powertui.compare(path, epoch=(0, 1))`. `aligning` is where the power is on the profiles, as in
    `run.energy()`; the other arguments are those of `powertui.open()`.
    Raises `UsageError` where that is not two sides, `UnreadableFile` where one holds no profile.
    """
    unknown = set(parts) - set(_OPTIONS)
    if unknown:
        raise UsageError(
            f"compare() does not know {', '.join(sorted(unknown))}.",
            hint=f"A side is narrowed by {', '.join(_OPTIONS)}.",
        )
    options = read_options(power, tz, step_marker, max_memory)
    if b is None:
        groups = [named_paths(a)]
    else:
        groups = [named_paths(a), named_paths(b)]
    asked = Asked(**{name: one_or_two(value) for name, value in parts.items()})
    return ComparisonView(
        compare_sides(*sides(groups, asked, SideReading(options, aligning or Aligning())))
    )


class ComparisonView:
    """A comparison. `sentence` is the answer; the frames are what it rests on."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @property
    def sentence(self) -> str:
        """The answer: its size, its interval and where it comes from."""
        return self.comparison.sentence

    @cached_property
    def json(self) -> dict[str, Any]:
        """Everything, as `powertui compare --json` has it."""
        return compare_json.as_json(self.comparison)

    @property
    def figures(self) -> pd.DataFrame:
        """One row per figure: a, b, difference, ratio, lo and hi (95 %), verdict, needs."""
        return _frame(self.json["figures"])

    @property
    def causes(self) -> pd.DataFrame:
        """Parts of the difference of a step, by category and by op: seconds, share, joules."""
        return _frame(self.json["causes"])

    @property
    def configuration(self) -> pd.DataFrame:
        """What differs in how the sides were run: name, a, b."""
        return _frame(self.json["configuration"], ["name", "a", "b"])

    @property
    def conclusions(self) -> pd.DataFrame:
        """Conclusions that came or went: change, kind, sentence, runs, of."""
        return _frame(self.json["conclusions"])

    @property
    def unmatched(self) -> pd.DataFrame:
        """What one side alone has: side, family, name, within, unit, value."""
        return _frame(self.json["unmatched"])

    def html(self, path: GivenPath, *, force: bool = False) -> None:
        """Write all of it as one page to send, as `powertui compare --html` does.

        Raises `UsageError` where the file is there, unless `force` replaces it.
        """
        from powertui.html import comparison_file
        from powertui.html.html_file import HtmlFile

        output = HtmlFile(os.fspath(path), force)
        output.check()
        output.save(comparison_file.page_with_notes(self.comparison))

    def __repr__(self) -> str:
        return f"<Comparison: {plain(self.sentence)}>"


def _frame(rows: list[dict[str, Any]], columns: list[str] | None = None) -> pd.DataFrame:
    frame: pd.DataFrame = pd.DataFrame(rows, columns=columns)
    return frame
