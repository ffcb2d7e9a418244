"""The lanes for epochs and steps: named stretches of time side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui import units
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.model import Epoch, Int64s, Step, Steps
from powertui.plain import plain
from powertui.value_types import dataclass
from powertui.view.neighbor_profiles import NeighborProfile
from powertui.view.surroundings import ProfiledStretch, Surroundings
from powertui.view.timeline_model import TimelineModel
from powertui.view.viewport import Viewport
from powertui.widgets.ruler import tick_step
from powertui.widgets.time_lane import TimeLane, fit_text, styled

_MIN_CUT_CELLS = 5  # a name that is cut to fewer cells says nothing
_NUMBER_GAP_CELLS = 12  # between two step numbers, so that they are read as a scale
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
    return styled(*_drawn(stretches, view, style, ellipsis, apart=apart))


def _drawn(
    stretches: Sequence[LabelledStretch],
    view: Viewport,
    style: dict[str, Style],
    ellipsis: str,
    *,
    apart: bool,
) -> tuple[list[str], list[Style]]:
    owner = np.full(view.width, -1)
    for number, stretch in enumerate(stretches):
        covered = view.covered(stretch.lo, stretch.hi)
        owner[covered.start : covered.stop] = number
    chars: list[str] = []
    styles: list[Style] = []
    bounds = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), view.width]
    for lo, hi in pairwise(bounds):
        number = int(owner[lo])
        width = hi - lo
        if number < 0:
            chars.extend(" " * width)
            styles.extend([Style.null()] * width)
            continue
        stretch = stretches[number]
        room = width - 1 if apart and hi < view.width and owner[hi] >= 0 else width
        text = _longest_fitting(stretch.texts, room)
        if not text and stretch.cut and room >= _MIN_CUT_CELLS:
            text = fit_text(stretch.texts[-1], room, ellipsis)
        if stretch.bar and width > 1 and styles and styles[-1] is style[stretch.role]:
            chars.append(stretch.bar)
            styles.append(styles[-1])
            width = width - 1
            room = room - 1
            text = _longest_fitting(stretch.texts, room)
        if width < _MIN_INDENT_CELLS:
            text = text.center(room)
        elif len(text) < width:
            text = " " + text
        chars.extend(text.ljust(width))
        styles.extend([style[stretch.role]] * width)
    return chars, styles


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
        roles = {role: theme.style(role) for role in ("epoch", "phase", "dim")}
        if not len(self.model.epochs) and not self.model.epochs.phases:
            why = plain(self.model.epochs.source or "no epochs were found", 200)
            text = fit_text(" " + why, self.columns, self.glyphs.ellipsis)
            return [Segment(text, theme.style("dim"))]
        return draw(
            _epochs(self.model, self.state.viewport, self.glyphs.vertical),
            self.state.viewport,
            roles,
            self.glyphs.ellipsis,
            apart=True,
        )


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
        roles = {role: theme.style(role) for role in ("marked", "dim", "warn")}
        stretches = [
            LabelledStretch(lo, hi, (" not profiled", ""), "dim")
            for lo, hi in _between(self.model.span, surroundings)
        ]
        if surroundings is not None:
            for number in _in_view(surroundings.lows, surroundings.highs, view):
                stretches.append(_profile(surroundings.profiles[number]))
        return draw(stretches, view, roles, self.glyphs.ellipsis)


def _profile(profile: ProfiledStretch) -> LabelledStretch:
    name = plain(profile.name, 60)
    short = name.rpartition("/")[2]
    texts = []
    if profile.problem:
        texts.append(f"{name}: {plain(profile.problem, 100)}")
    if profile.evidence:
        uncertain = f"{name} ±{units.duration(profile.half, 2)}"
        texts += [f"{uncertain}: {plain(profile.evidence, 100)}", uncertain]
    length = units.duration(profile.hi - profile.lo, 3)
    texts += [f"{name}  {length}", name, f"{short}  {length}", short, length]
    hi = max(profile.hi, profile.lo + 1)
    return LabelledStretch(profile.lo, hi, tuple(texts), "warn" if profile.problem else "marked")


class FindingsLane(TimeLane):
    """The findings: power that nothing explains."""

    def label(self, y: int) -> list[Segment]:
        surroundings = self.model.surroundings if self.model else None
        return self.name_label("found", str(len(surroundings.findings)) if surroundings else "")

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        view = self.state.viewport
        findings = self.model.findings
        bounds = np.array([(span.lo, span.hi) for span in findings], np.int64).reshape(-1, 2)
        stretches = []
        for row in _in_view(bounds[:, 0], bounds[:, 1], view):
            span = findings[row]
            stretches.append(LabelledStretch(span.lo, span.hi, span.texts, "phase"))
        style = {"phase": self.theme_colors.style("phase")}
        return draw(stretches, view, style, self.glyphs.ellipsis)


def _between(span: tuple[int, int], surroundings: Surroundings | None) -> list[tuple[int, int]]:
    """Where nothing was profiled."""
    profiles = surroundings.profiles if surroundings is not None else ()
    stretches = []
    end = span[0]
    for lo, hi in sorted((profile.lo, profile.hi) for profile in profiles):
        if lo > end:
            stretches.append((end, lo))
        end = max(end, hi)
    if end < span[1]:
        stretches.append((end, span[1]))
    return stretches


def _in_view(lo: Int64s, hi: Int64s, view: Viewport) -> list[int]:
    """The rows of the stretches to draw.

    Of very many that are narrower than a cell only the last that starts in each cell is drawn:
    nothing of the others would be seen.
    """
    rows = np.flatnonzero((lo <= hi) & (lo < view.t1) & (hi >= view.t0))
    if len(rows) > 4 * view.width:
        cell = (lo[rows] - view.t0) // view.cell_ps
        last = np.ones(len(rows), np.bool_)
        last[:-1] = cell[1:] != cell[:-1]
        rows = rows[last | (hi[rows] - lo[rows] >= view.cell_ps)]
    return [int(row) for row in rows]


def _epochs(model: TimelineModel, view: Viewport, bar: str) -> list[LabelledStretch]:
    """Epochs, with what no epoch trained on them, and the profile's own phases on top."""
    stretches = []
    starts, ends = model.epoch_spans
    for index in _in_view(starts, ends, view):
        lo = int(starts[index])
        hi = int(ends[index])
        texts = _epoch_texts(model, model.epochs[index], hi - lo)
        stretches.append(LabelledStretch(lo, hi, texts, "epoch", bar=bar))
    named = {(phase.start, phase.end) for phase in model.epochs.phases}
    for span in model.surroundings.untrained if model.surroundings is not None else ():
        is_named = any(lo < span.hi and hi > span.lo for lo, hi in named)
        if span.hi > view.t0 and span.lo < view.t1 and not is_named:
            stretches.append(LabelledStretch(span.lo, span.hi, span.texts, "dim", cut=True))
    for index in _in_view(model.phase_spans[:, 0], model.phase_spans[:, 1], view):
        phase = model.epochs.phases[index]
        name = plain(phase.name, 60)
        stretches.append(LabelledStretch(phase.start, phase.end, (name,), "phase", cut=True))
    return stretches


def _epoch_texts(model: TimelineModel, epoch: Epoch, length: int) -> tuple[str, ...]:
    """Number, duration, energy and scalars of an epoch, the longest text first."""
    number = epoch.number
    name = f"epoch {number}"
    took = joules = tight = ""
    if epoch.start is not None and epoch.end is not None:
        took = units.duration(length, 3)
    if model.surroundings is not None:
        joules = model.surroundings.joules_of.get(number, "")
        tight = model.surroundings.tight_of.get(number, "")
    texts = [f"{name}  {took}"]
    if joules:  # no figure without its interval: the short forms have it too
        texts = [
            f"{name}  {took}  {joules}",
            f"{name}  {joules}",
            f"{number}  {joules}",
            f"{number}  {tight}",
            f"{name}  {took}",
        ]
    scalars = "  ".join(f"{plain(tag, 40)} {value:.4g}" for tag, value in epoch.scalars)
    return (
        f"{texts[0]}  {scalars}".rstrip(),
        *(text.rstrip() for text in texts),
        name,
        str(number),
    )


class MarkLane(TimeLane):
    """Windows and moments that recordings marked: short windows cover long ones, moments all."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.marks: tuple[MarkOnTrace, ...] = ()

    def set_marks(self, marks: tuple[MarkOnTrace, ...]) -> None:
        self.marks = marks
        bounds = [(mark.start_ps, _end_of(mark)) for mark in marks]
        self._bounds = np.array(bounds, np.int64).reshape(-1, 2)
        self.refresh()

    def label(self, y: int) -> list[Segment]:
        return self.name_label("windows", str(len(self.marks)))

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        if not self.marks:
            return [Segment(" " * self.columns)]
        view = self.state.viewport
        theme = self.theme_colors
        roles = {role: theme.style(role) for role in ("phase", "label")}
        rows = _in_view(self._bounds[:, 0], self._bounds[:, 1], view)
        marks = [self.marks[row] for row in rows]
        longest_first = sorted(marks, key=lambda mark: mark.start_ps - _end_of(mark))
        stretches = [_window(mark) for mark in longest_first if _end_of(mark) > mark.start_ps]
        stretches += [
            _moment(mark, view, self.glyphs.vertical) for mark in marks if mark.end_ps is None
        ]
        return draw(stretches, view, roles, self.glyphs.ellipsis)


def _end_of(mark: MarkOnTrace) -> int:
    return mark.end_ps if mark.end_ps is not None else mark.start_ps


def _window(mark: MarkOnTrace) -> LabelledStretch:
    return LabelledStretch(mark.start_ps, _end_of(mark), (plain(mark.name, 60),), "phase", cut=True)


def _moment(mark: MarkOnTrace, view: Viewport, bar: str) -> LabelledStretch:
    """A bar where it is, and its name behind it."""
    text = bar + plain(mark.name, 20)
    return LabelledStretch(
        mark.start_ps, mark.start_ps + (len(text) - 1) * view.cell_ps, (text, bar), "label"
    )


class StepLane(TimeLane):
    """Steps with their numbers; where they are narrower than cells, a line with a number now and
    then.
    """

    # other profiles of the training in sight: their steps are drawn where they ran
    neighbors: tuple[NeighborProfile, ...] = ()

    def label(self, y: int) -> list[Segment]:
        assert self.model is not None
        count = len(self.model.steps)
        return self.name_label("steps", str(count) if count else "none")

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        model = self.model
        steps = self.model.steps
        view = self.state.viewport
        logged: list[tuple[int, str]] = []
        neighbors: list[NeighborProfile] = []
        if model.surroundings is not None:
            logged = round_numbers(model.surroundings, view)
            neighbors = [profile for profile in self.neighbors if len(profile.model.steps)]
        if not len(steps) and not logged and not neighbors:
            why = plain(steps.source or "no steps were found", 200)
            text = fit_text(" " + why, self.columns, self.glyphs.ellipsis)
            return [Segment(text, self.theme_colors.style("dim"))]
        drawn = set(view.covered(*model.profiled))
        # In a few cells numbers of the profile would only displace those of the training.
        has_numbers = not logged or len(drawn) >= _NUMBER_GAP_CELLS
        chars, styles = self._profile_steps(steps, view, has_numbers=has_numbers)
        for profile in neighbors:
            columns = [x for x in view.covered(*profile.stretch(model)) if x not in drawn]
            drawn.update(columns)
            if columns:
                has_numbers = not logged or len(columns) >= _NUMBER_GAP_CELLS
                neighbor_chars, neighbor_styles = self._profile_steps(
                    profile.model.steps, profile.view(model, view), has_numbers=has_numbers
                )
                for x in columns:
                    chars[x], styles[x] = neighbor_chars[x], neighbor_styles[x]
        self._draw_logged(chars, styles, logged)
        return styled(chars, styles)

    def _profile_steps(
        self, steps: Steps, view: Viewport, *, has_numbers: bool
    ) -> tuple[list[str], list[Style]]:
        """The steps of one profile, over the cells of its own axis."""
        first = max(0, int(steps.start.searchsorted(view.t0, side="right")) - 1)
        last = int(steps.start.searchsorted(view.t1, side="left"))
        if first >= last:
            return [" "] * view.width, [Style.null()] * view.width
        starts = steps.start[first:last]
        ends = np.maximum(steps.ends()[first:last], starts + 1)
        numbers = steps.number[first:last]
        # Numbers fit when neighbors are as far apart, on average, as the longest of them with a
        # blank behind it.
        number_ps = (len(str(int(numbers.max()))) + 1) * view.cell_ps
        if int(starts[-1] - starts[0]) < number_ps * (len(starts) - 1):
            return self._dense(starts, ends, numbers if has_numbers else None, view)
        stretches = []
        for row in range(first, last):
            lo = int(starts[row - first])
            hi = int(ends[row - first])
            role = "step" if row % 2 else "step_alt"
            stretches.append(LabelledStretch(lo, hi, _step_texts(steps[row]), role))
        roles = {role: self.theme_colors.style(role) for role in ("step", "step_alt")}
        return _drawn(stretches, view, roles, self.glyphs.ellipsis, apart=True)

    def _draw_logged(
        self, chars: list[str], styles: list[Style], ticks: Sequence[tuple[int, str]]
    ) -> None:
        """Logged step numbers, where the profiles have no steps."""
        style = self.theme_colors.style("dim")
        for column, number in ticks:
            text = self.glyphs.vertical + number
            cells = slice(column, column + len(text))
            around = chars[max(0, column - 1) : cells.stop + 1]
            if cells.stop <= len(chars) and all(char == " " for char in around):
                chars[cells], styles[cells] = list(text), [style] * len(text)

    def _dense(
        self, starts: Int64s, ends: Int64s, numbers: Int64s | None, view: Viewport
    ) -> tuple[list[str], list[Style]]:
        """A line where there are steps, with round numbers on it."""
        theme = self.theme_colors
        # Steps do not overlap: a cell has some when its last moment's step has not ended before its
        # first.
        edges = view.edges()
        at = starts.searchsorted(edges[1:])
        has_steps = (at > 0) & (ends[np.maximum(at - 1, 0)] > edges[:-1])
        chars = [self.glyphs.horizontal if on else " " for on in has_steps.tolist()]
        styles = [theme.style("axis")] * len(chars)
        if numbers is None or len(numbers) < 2:
            return chars, styles
        cells = max(1, view.column(int(starts[-1])) - view.column(int(starts[0])))
        # Their range, not the last less the first: numbers may begin anew within the view.
        round_to = tick_step(max(1, (int(numbers.max()) - int(numbers.min())) // cells), 10)
        free_from = 0
        for row in np.flatnonzero(numbers % round_to == 0).tolist():
            column = view.column(int(starts[row]))
            text = f"{self.glyphs.vertical}{int(numbers[row])} "
            stop = column + len(text)
            if free_from <= column and stop <= len(chars):
                chars[column:stop] = list(text)
                styles[column:stop] = [theme.style("label")] * len(text)
                free_from = stop + 1
        return chars, styles


def round_numbers(surroundings: Surroundings, view: Viewport) -> list[tuple[int, str]]:
    """(column, number) of the round step numbers in sight.

    A number that no record has exactly begins with ~: its moment is interpolated.
    """
    ticks = []
    for part in surroundings.numbers:
        first = part.number_at(view.t0)
        last = part.number_at(view.t1)
        if last <= first:
            continue
        begin = part.moment_of(first)[0]
        end = part.moment_of(last)[0]
        cells = max(1, (end - begin) // view.cell_ps)
        round_to = tick_step(max(1, _NUMBER_GAP_CELLS * (last - first) // cells), 1)
        for number in range(-(-first // round_to) * round_to, last + 1, round_to):
            ps, exact = part.moment_of(number)
            if view.shows(ps):
                ticks.append((view.column(ps), f"{number} " if exact else f"~{number} "))
    return ticks


def _step_texts(step: Step) -> tuple[str, ...]:
    """A step's number, with its times where there is room: by TensorFlow's rule, host, devices."""
    numbers = (f"step {step.number}", str(step.number)) if step.number >= 0 else ("step",)
    if step.step is None:
        return numbers
    short = f"{numbers[0]}: {units.duration(step.step)}"
    if step.device is None:
        return (short, *numbers)
    times = f"device {units.duration(step.device)}"
    if step.host is not None:
        times = f"host {units.duration(step.host)}, {times}"
    return (f"{short} ({times})", short, *numbers)
