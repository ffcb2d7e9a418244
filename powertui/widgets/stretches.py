"""The lanes for epochs and steps: named stretches of time side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui import units
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.model import Epoch, Int64s
from powertui.plain import plain
from powertui.value_types import dataclass
from powertui.view.surroundings import ProfiledStretch, Surroundings
from powertui.view.timeline_model import TimelineModel
from powertui.view.viewport import Viewport
from powertui.widgets.time_lane import TimeLane, fit_text, styled

_MIN_CUT_CELLS = 5  # a name that is cut to fewer cells says nothing

# Where more stretches than this share a cell on average, those that would not be seen are left out
# (chosen, not measured).
_MAX_STRETCHES_PER_CELL = 4
_MIN_INDENT_CELLS = 24  # in a stretch this wide the text is at its left, else in its middle


@dataclass(frozen=True)
class LabelledStretch:
    lo: int
    hi: int
    texts: tuple[str, ...]  # from the longest to the shortest: the first that fits is written
    role: str
    cut: bool = False  # write a part of the last text when none fits
    bar: str = ""  # drawn between it and the one before, where both look alike


def draw(
    stretches: Sequence[LabelledStretch],
    view: Viewport,
    style: dict[str, Style],
    ellipsis: str,
    *,
    apart: bool = False,
) -> list[Segment]:
    """Each stretch over the cells that it covers, at least one; a later one covers an earlier one.

    `apart`: a text leaves a blank before the next stretch, so that two never look like one.
    """
    return styled(*drawn_cells(stretches, view, style, ellipsis, apart=apart))


def drawn_cells(
    stretches: Sequence[LabelledStretch],
    view: Viewport,
    style: dict[str, Style],
    ellipsis: str,
    *,
    apart: bool,
) -> tuple[list[str], list[Style]]:
    """The character and the style of each cell."""
    owner = np.full(view.width, -1)
    for number, stretch in enumerate(stretches):
        covered = view.covered(stretch.lo, stretch.hi)
        owner[covered.start : covered.stop] = number
    chars: list[str] = []
    styles: list[Style] = []
    is_change = np.diff(owner)
    first_cells = np.flatnonzero(is_change) + 1
    bounds = [0, *first_cells.tolist(), view.width]
    for lo, hi in pairwise(bounds):
        number = int(owner[lo])
        width = hi - lo
        if number < 0:
            chars.extend(" " * width)
            styles.extend([Style.null()] * width)
            continue
        stretch = stretches[number]
        ink = style[stretch.role]
        has_neighbor = hi < view.width and owner[hi] >= 0
        room = width
        if apart and has_neighbor:
            room -= 1
        looks_like_last = bool(styles) and styles[-1] is ink
        if stretch.bar and width > 1 and looks_like_last:
            chars.append(stretch.bar)
            styles.append(ink)
            width -= 1
            room -= 1
            text = _longest_fitting(stretch.texts, room)
        else:
            text = _text_in(stretch, room, ellipsis)
        if width < _MIN_INDENT_CELLS:
            text = text.center(room)
        elif len(text) < width:
            text = " " + text
        chars.extend(text.ljust(width))
        styles.extend([ink] * width)
    return chars, styles


def _text_in(stretch: LabelledStretch, room: int, ellipsis: str) -> str:
    text = _longest_fitting(stretch.texts, room)
    may_be_cut = stretch.cut and room >= _MIN_CUT_CELLS
    if not text and may_be_cut:
        shortest = stretch.texts[-1]
        return fit_text(shortest, room, ellipsis)
    return text


def _longest_fitting(texts: Sequence[str], room: int) -> str:
    """The first text that fits; they come from the longest to the shortest. "" where none does."""
    for text in texts:
        if len(text) <= room:
            return text
    return ""


class EpochLane(TimeLane):
    """Epochs, and the named stretches between them (validation)."""

    def label(self, y: int) -> list[Segment]:
        if self.model is None or not len(self.model.epochs):
            return self.name_label("epochs", "none")
        count = len(self.model.epochs)
        return self.name_label("epochs", str(count))

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        theme = self.theme_colors
        view = self.state.viewport
        epochs = self.model.epochs
        ellipsis = self.glyphs.ellipsis
        if not len(epochs) and not epochs.phases:
            why = plain(epochs.source or "no epochs were found", 200)
            text = fit_text(f" {why}", self.columns, ellipsis)
            return [Segment(text, theme.style("dim"))]
        roles = {role: theme.style(role) for role in ("epoch", "phase", "dim")}
        stretches = _epochs(self.model, view, self.glyphs.vertical)
        return draw(
            stretches,
            view,
            roles,
            ellipsis,
            apart=True,
        )


class ProfileLane(TimeLane):
    """Which stretches were profiled; the cells between them say "not profiled"."""

    def label(self, y: int) -> list[Segment]:
        if self.model is None or self.model.surroundings is None:
            return self.name_label("profiles", "none")
        count = len(self.model.surroundings.profiles)
        return self.name_label("profiles", str(count) if count else "none")

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        view = self.state.viewport
        theme = self.theme_colors
        surroundings = self.model.surroundings
        stretches = []
        for lo, hi in _between(self.model.span, surroundings):
            between = LabelledStretch(
                lo=lo,
                hi=hi,
                texts=(" not profiled", ""),
                role="dim",
            )
            stretches.append(between)
        if surroundings is not None:
            rows = _rows_in_view(surroundings.lows, surroundings.highs, view)
            for number in rows:
                profile = surroundings.profiles[number]
                stretches.append(_profile(profile))
        roles = {role: theme.style(role) for role in ("marked", "dim", "warn")}
        return draw(
            stretches,
            view,
            roles,
            self.glyphs.ellipsis,
        )


def _profile(profile: ProfiledStretch) -> LabelledStretch:
    return LabelledStretch(
        lo=profile.lo,
        hi=max(profile.hi, profile.lo + 1),  # an empty stretch has no cell to be drawn in
        texts=_profile_texts(profile),
        role="warn" if profile.problem else "marked",
    )


def _profile_texts(profile: ProfiledStretch) -> tuple[str, ...]:
    """The texts for a profile's stretch, the longest first: the first that has room is shown."""
    name = plain(profile.name, 60)
    texts = []
    if profile.problem:
        problem = plain(profile.problem, 100)
        texts.append(f"{name}: {problem}")
    if profile.evidence:
        evidence = plain(profile.evidence, 100)
        half = units.duration(profile.half, 2)
        texts.append(f"{name} ±{half}: {evidence}")
        texts.append(f"{name} ±{half}")
    length = units.duration(profile.hi - profile.lo, 3)
    _, _, file_name = name.rpartition("/")
    texts += (
        f"{name}  {length}",
        name,
        f"{file_name}  {length}",
        file_name,
        length,
    )
    return tuple(texts)


class FindingsLane(TimeLane):
    """The findings: power that nothing explains."""

    def label(self, y: int) -> list[Segment]:
        # Without their count: the page of findings counts other conclusions, too.
        return self.name_label("findings")

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        view = self.state.viewport
        findings = self.model.findings
        starts = np.array([span.lo for span in findings], np.int64)
        ends = np.array([span.hi for span in findings], np.int64)
        stretches = []
        for row in _rows_in_view(starts, ends, view):
            span = findings[row]
            stretch = LabelledStretch(
                lo=span.lo,
                hi=span.hi,
                texts=span.texts,
                role="phase",
            )
            stretches.append(stretch)
        roles = {"phase": self.theme_colors.style("phase")}
        return draw(
            stretches,
            view,
            roles,
            self.glyphs.ellipsis,
        )


def _between(span: tuple[int, int], surroundings: Surroundings | None) -> list[tuple[int, int]]:
    """Where nothing was profiled."""
    profiled = []
    if surroundings is not None:
        profiled = [(profile.lo, profile.hi) for profile in surroundings.profiles]
    start, end = span
    stretches = []
    for lo, hi in sorted(profiled):
        if lo > start:
            stretches.append((start, lo))
        start = max(start, hi)
    if start < end:
        stretches.append((start, end))
    return stretches


def _rows_in_view(lo: Int64s, hi: Int64s, view: Viewport) -> list[int]:
    """The rows of the stretches to draw.

    Of very many that are narrower than a cell only the last that starts in each cell is drawn:
    nothing of the others would be seen.
    """
    is_in_view = (lo < view.t1) & (hi >= view.t0)
    rows = np.flatnonzero(is_in_view & (lo <= hi))
    if len(rows) > _MAX_STRETCHES_PER_CELL * view.width:
        starts = lo[rows]
        cell = (starts - view.t0) // view.cell_ps
        is_last = np.ones(len(rows), np.bool_)
        is_last[:-1] = cell[1:] != cell[:-1]
        is_wide = hi[rows] - starts >= view.cell_ps
        rows = rows[is_last | is_wide]
    in_view: list[int] = rows.tolist()
    return in_view


def _epochs(model: TimelineModel, view: Viewport, bar: str) -> list[LabelledStretch]:
    """Epochs, with what no epoch trained on them, and the profile's own phases on top."""
    stretches = []
    starts, ends = model.epoch_spans
    for index in _rows_in_view(starts, ends, view):
        lo = int(starts[index])
        hi = int(ends[index])
        texts = _epoch_texts(model, model.epochs[index], hi - lo)
        stretches.append(
            LabelledStretch(
                lo=lo,
                hi=hi,
                texts=texts,
                role="epoch",
                bar=bar,
            )
        )
    stretches += _untrained(model, view)
    phase_starts, phase_ends = model.phase_spans.T
    for index in _rows_in_view(phase_starts, phase_ends, view):
        phase = model.epochs.phases[index]
        name = plain(phase.name, 60)
        stretches.append(
            LabelledStretch(
                lo=phase.start,
                hi=phase.end,
                texts=(name,),
                role="phase",
                cut=True,
            )
        )
    return stretches


def _untrained(model: TimelineModel, view: Viewport) -> list[LabelledStretch]:
    """What no epoch trained, where the profile has no name of its own for it."""
    if model.surroundings is None:
        return []
    phases = {(phase.start, phase.end) for phase in model.epochs.phases}
    stretches = []
    for span in model.surroundings.untrained:
        if span.hi <= view.t0 or span.lo >= view.t1:
            continue
        if not any(lo < span.hi and hi > span.lo for lo, hi in phases):
            stretches.append(
                LabelledStretch(
                    lo=span.lo,
                    hi=span.hi,
                    texts=span.texts,
                    role="dim",
                    cut=True,
                )
            )
    return stretches


def _epoch_texts(model: TimelineModel, epoch: Epoch, length: int) -> tuple[str, ...]:
    """Number, duration, energy and scalars of an epoch, the longest text first."""
    number = str(epoch.number)
    name = f"epoch {number}"
    took = ""
    if epoch.start is not None and epoch.end is not None:
        took = units.duration(length, 3)
    texts = [f"{name}  {took}"]
    joules = ""
    short_joules = ""
    if model.surroundings is not None:
        joules = model.surroundings.joules_of.get(epoch.number, "")
        short_joules = model.surroundings.tight_of.get(epoch.number, "")
    if joules:
        texts = [  # no figure without its interval: the short forms have it too
            f"{name}  {took}  {joules}",
            f"{name}  {joules}",
            f"{number}  {joules}",
            f"{number}  {short_joules}",
            f"{name}  {took}",
        ]
    scalars = []
    for tag, value in epoch.scalars:
        label = plain(tag, 40)
        scalars.append(f"{label} {value:.4g}")
    with_scalars = "  ".join([texts[0], *scalars])
    shown = [text.rstrip() for text in (with_scalars, *texts)]
    return (*shown, name, number)


class MarkLane(TimeLane):
    """Windows and moments that recordings marked, or notes: short windows cover long ones, moments
    all.
    """

    def __init__(self, name: str = "windows", role: str = "phase", **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._title = name
        self._role = role
        self.marks: tuple[MarkOnTrace, ...] = ()

    def set_marks(self, marks: tuple[MarkOnTrace, ...]) -> None:
        self.marks = marks
        self._starts = np.array([mark.start_ps for mark in marks], np.int64)
        self._ends = np.array([_end_of(mark) for mark in marks], np.int64)
        self.refresh()

    def label(self, y: int) -> list[Segment]:
        count = len(self.marks)
        return self.name_label(self._title, str(count))

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        if not self.marks:
            return [Segment(" " * self.columns)]
        view = self.state.viewport
        windows = []
        moments = []
        for row in _rows_in_view(self._starts, self._ends, view):
            mark = self.marks[row]
            if mark.end_ps is None:
                moment = _moment(mark, view, self.glyphs.vertical)
                moments.append(moment)
            elif mark.end_ps > mark.start_ps:
                windows.append(_window(mark, self._role))
        # The longest first, so that shorter ones are drawn over it.
        windows.sort(key=lambda window: window.lo - window.hi)
        roles = {role: self.theme_colors.style(role) for role in (self._role, "label")}
        return draw(
            [*windows, *moments],
            view,
            roles,
            self.glyphs.ellipsis,
        )


def _end_of(mark: MarkOnTrace) -> int:
    if mark.end_ps is not None:
        return mark.end_ps
    return mark.start_ps


def _window(mark: MarkOnTrace, role: str) -> LabelledStretch:
    return LabelledStretch(
        lo=mark.start_ps,
        hi=_end_of(mark),
        texts=(plain(mark.name, 60),),
        role=role,
        cut=True,
    )


def _moment(mark: MarkOnTrace, view: Viewport, bar: str) -> LabelledStretch:
    """A bar where it is, and its name behind it."""
    text = bar + plain(mark.name, 20)
    cells_behind = len(text) - 1
    return LabelledStretch(
        lo=mark.start_ps,
        hi=mark.start_ps + cells_behind * view.cell_ps,
        texts=(text, bar),
        role="label",
    )
