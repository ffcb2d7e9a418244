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
from powertui.report.writers import as_frame

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
        return as_frame.typed(self.json["figures"], _FIGURES)

    @property
    def causes(self) -> pd.DataFrame:
        """Parts of the difference of a step, by category and by op: seconds, share, joules."""
        return as_frame.typed(self.json["causes"], _CAUSES)

    @property
    def configuration(self) -> pd.DataFrame:
        """What differs in how the sides were run: name, a, b."""
        return as_frame.typed(self.json["configuration"], _CONFIGURATION)

    @property
    def conclusions(self) -> pd.DataFrame:
        """Conclusions that came or went: change, kind, sentence, runs, of."""
        return as_frame.typed(self.json["conclusions"], _CONCLUSIONS)

    @property
    def unmatched(self) -> pd.DataFrame:
        """What one side alone has: side, family, name, within, unit, value."""
        return as_frame.typed(self.json["unmatched"], _UNMATCHED)

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


# The kind of each column, for `as_frame.typed`.
_FIGURES = {
    "family": "text",
    "name": "text",
    "name_b": "text",
    "within": "text",
    "unit": "text",
    "a": "number",
    "b": "number",
    "difference": "number",
    "ratio": "number",
    "lo": "number",
    "hi": "number",
    "verdict": "text",
    "basis": "text",
    "p": "number",
    "why": "text",
    "needs": "text",
}
_CAUSES = {
    "by": "text",
    "name": "text",
    "name_b": "text",
    "seconds": "number",
    "share": "number",
    "joules": "number",
}
_CONFIGURATION = {"name": "text", "a": "text", "b": "text"}
_CONCLUSIONS = {
    "change": "text",
    "kind": "text",
    "sentence": "text",
    "runs": "whole",
    "of": "whole",
}
_UNMATCHED = {
    "side": "text",
    "family": "text",
    "name": "text",
    "within": "text",
    "unit": "text",
    "value": "number",
}
