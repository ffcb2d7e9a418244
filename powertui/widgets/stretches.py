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
    first_cells = np.flatnonzero(np.diff(owner)) + 1
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
        room = width - 1 if apart and has_neighbor else width
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
    if not text and stretch.cut and room >= _MIN_CUT_CELLS:
        return fit_text(stretch.texts[-1], room, ellipsis)
    return text


def _longest_fitting(texts: Sequence[str], room: int) -> str:
    """The first text that fits; they come from the longest to the shortest. "" where none does."""
    return next((text for text in texts if len(text) <= room), "")


class EpochLane(TimeLane):
    """Epochs, and the named stretches between them (validation)."""

    def label(self, y: int) -> list[Segment]:
        count = len(self.model.epochs) if self.model else 0
        return self.name_label("epochs", str(count) if count else "none")

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        theme = self.theme_colors
        view = self.state.viewport
        epochs = self.model.epochs
        ellipsis = self.glyphs.ellipsis
        if not len(epochs) and not epochs.phases:
            why = plain(epochs.source or "no epochs were found", 200)
            return [Segment(fit_text(" " + why, self.columns, ellipsis), theme.style("dim"))]
        roles = {role: theme.style(role) for role in ("epoch", "phase", "dim")}
        stretches = _epochs(self.model, view, self.glyphs.vertical)
        return draw(stretches, view, roles, ellipsis, apart=True)


class ProfileLane(TimeLane):
    """Which stretches were profiled; the cells between them say "not profiled"."""

    def label(self, y: int) -> list[Segment]:
        surroundings = self.model.surroundings if self.model else None
        count = len(surroundings.profiles) if surroundings else 0
        return self.name_label("profiles", str(count) if count else "none")

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        view = self.state.viewport
        theme = self.theme_colors
        surroundings = self.model.surroundings
        stretches = []
        for lo, hi in _between(self.model.span, surroundings):
            stretches.append(LabelledStretch(lo=lo, hi=hi, texts=(" not profiled", ""), role="dim"))
        if surroundings is not None:
            for number in _rows_in_view(surroundings.lows, surroundings.highs, view):
                stretches.append(_profile(surroundings.profiles[number]))
        roles = {role: theme.style(role) for role in ("marked", "dim", "warn")}
        return draw(stretches, view, roles, self.glyphs.ellipsis)


def _profile(profile: ProfiledStretch) -> LabelledStretch:
    role = "warn" if profile.problem else "marked"
    # An empty stretch has no cell to be drawn in.
    hi = max(profile.hi, profile.lo + 1)
    return LabelledStretch(
        lo=profile.lo,
        hi=hi,
        texts=_profile_texts(profile),
        role=role,
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
    file_name = name.rpartition("/")[2]
    texts.append(f"{name}  {length}")
    texts.append(name)
    texts.append(f"{file_name}  {length}")
    texts.append(file_name)
    texts.append(length)
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
        bounds = np.array([(span.lo, span.hi) for span in findings], np.int64).reshape(-1, 2)
        stretches = []
        for row in _rows_in_view(bounds[:, 0], bounds[:, 1], view):
            span = findings[row]
            stretches.append(
                LabelledStretch(lo=span.lo, hi=span.hi, texts=span.texts, role="phase")
            )
        style = {"phase": self.theme_colors.style("phase")}
        return draw(stretches, view, style, self.glyphs.ellipsis)


def _between(span: tuple[int, int], surroundings: Surroundings | None) -> list[tuple[int, int]]:
    """Where nothing was profiled."""
    profiles = surroundings.profiles if surroundings is not None else ()
    start, end = span
    stretches = []
    for lo, hi in sorted((profile.lo, profile.hi) for profile in profiles):
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
    rows = np.flatnonzero((lo <= hi) & (lo < view.t1) & (hi >= view.t0))
    if len(rows) > _MAX_STRETCHES_PER_CELL * view.width:
        cell = (lo[rows] - view.t0) // view.cell_ps
        is_last = np.ones(len(rows), np.bool_)
        is_last[:-1] = cell[1:] != cell[:-1]
        is_wide = hi[rows] - lo[rows] >= view.cell_ps
        rows = rows[is_last | is_wide]
    return [int(row) for row in rows]


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
    if model.surroundings is not None:
        joules = model.surroundings.joules_of.get(epoch.number, "")
    if model.surroundings is not None and joules:
        short_joules = model.surroundings.tight_of.get(epoch.number, "")
        texts = [  # no figure without its interval: the short forms have it too
            f"{name}  {took}  {joules}",
            f"{name}  {joules}",
            f"{number}  {joules}",
            f"{number}  {short_joules}",
            f"{name}  {took}",
        ]
    scalars = "  ".join(f"{plain(tag, 40)} {value:.4g}" for tag, value in epoch.scalars)
    texts.insert(0, f"{texts[0]}  {scalars}")
    return (*(text.rstrip() for text in texts), name, number)


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
        bounds = [(mark.start_ps, _end_of(mark)) for mark in marks]
        self._bounds = np.array(bounds, np.int64).reshape(-1, 2)
        self.refresh()

    def label(self, y: int) -> list[Segment]:
        return self.name_label(self._title, str(len(self.marks)))

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        if not self.marks:
            return [Segment(" " * self.columns)]
        view = self.state.viewport
        windows = []
        moments = []
        starts, ends = self._bounds.T
        for row in _rows_in_view(starts, ends, view):
            mark = self.marks[row]
            if mark.end_ps is None:
                moments.append(_moment(mark, view, self.glyphs.vertical))
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
    end_ps = mark.start_ps + (len(text) - 1) * view.cell_ps
    return LabelledStretch(
        lo=mark.start_ps,
        hi=end_ps,
        texts=(text, bar),
        role="label",
    )
