"""The lanes for epochs and steps: named stretches of time side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui import units
from powertui.data.energy.marks import MarkOnTrace
from powertui.data.model import Int64s, Step, Steps
from powertui.plain import plain
from powertui.view.neighbor_profiles import NeighborProfile
from powertui.view.surroundings import Surroundings
from powertui.view.timeline_model import TimelineModel
from powertui.view.viewport import Viewport
from powertui.widgets.ruler import tick_step
from powertui.widgets.time_lane import TimeLane, fit_text, styled

_MIN_CUT_CELLS = 5  # cells: less of a name tells nothing
_NUMBER_GAP_CELLS = 12  # cells between two step numbers


@dataclass(frozen=True)
class LabelledStretch:
    lo: int
    hi: int
    texts: tuple[str, ...]  # from the longest to the shortest: the first that fits is written
    role: str
    cut: bool = False  # write a part of the last text when none fits
    bar: str = ""  # stands between it and the one before, where both look alike


def draw(
    stretches: Sequence[LabelledStretch],
    view: Viewport,
    style: dict[str, Style],
    ellipsis: str,
    *,
    apart: bool = False,
) -> list[Segment]:
    """Each stretch over the cells that it covers, at least one; a later one lies on an earlier one.

    `apart`: a text leaves a blank before the next stretch, so that two never look like one.
    """
    return styled(*_laid(stretches, view, style, ellipsis, apart=apart))


def _laid(
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
        number, width = int(owner[lo]), hi - lo
        if number < 0:
            chars.extend(" " * width)
            styles.extend([Style.null()] * width)
            continue
        stretch = stretches[number]
        room = width - 1 if apart and hi < view.width and owner[hi] >= 0 else width
        text = next((t for t in stretch.texts if len(t) <= room), "")
        if not text and stretch.cut and room >= _MIN_CUT_CELLS:
            text = fit_text(stretch.texts[-1], room, ellipsis)
        if stretch.bar and width > 1 and styles and styles[-1] is style[stretch.role]:
            chars.append(stretch.bar)
            styles.append(styles[-1])
            width, room = width - 1, room - 1
            text = next((t for t in stretch.texts if len(t) <= room), "")
        chars.extend(
            text.center(room).ljust(width)
            if width < 24
            else (" " + text if len(text) < width else text).ljust(width)
        )
        styles.extend([style[stretch.role]] * width)
    return chars, styles


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
            return [
                Segment(fit_text(" " + why, self.columns, self.glyphs.ellipsis), theme.style("dim"))
            ]
        return draw(
            _epochs(self.model, self.state.viewport, self.glyphs.vertical),
            self.state.viewport,
            roles,
            self.glyphs.ellipsis,
            apart=True,
        )


class ProfileLane(TimeLane):
    """Which stretches were profiled. Between them it says so, quietly."""

    def label(self, y: int) -> list[Segment]:
        surroundings = self.model.surroundings if self.model else None
        return self.name_label(
            "profiles",
            str(len(surroundings.profiles)) if surroundings and surroundings.profiles else "none",
        )

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        view, theme, surroundings = self.state.viewport, self.theme_colors, self.model.surroundings
        roles = {role: theme.style(role) for role in ("marked", "dim", "warn")}
        out = [
            LabelledStretch(lo, hi, (" not profiled", ""), "dim")
            for lo, hi in _between(self.model.span, surroundings)
        ]
        if surroundings is not None:
            for number in _seen(surroundings.lows, surroundings.highs, view):
                one = surroundings.profiles[number]
                name = plain(one.name, 60)
                short = name.rpartition("/")[2]
                told = [f"{name}: {plain(one.problem, 100)}"] if one.problem else []
                if one.evidence:
                    told += [
                        f"{name} ±{units.duration(one.half, 2)}: {plain(one.evidence, 100)}",
                        f"{name} ±{units.duration(one.half, 2)}",
                    ]
                length = units.duration(one.hi - one.lo, 3)
                texts = (*told, f"{name}  {length}", name, f"{short}  {length}", short, length)
                out.append(
                    LabelledStretch(
                        one.lo, max(one.hi, one.lo + 1), texts, "warn" if one.problem else "marked"
                    )
                )
        return draw(out, view, roles, self.glyphs.ellipsis)


class FindingsLane(TimeLane):
    """What was found: power that nothing explains."""

    def label(self, y: int) -> list[Segment]:
        surroundings = self.model.surroundings if self.model else None
        return self.name_label("found", str(len(surroundings.findings)) if surroundings else "")

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        view, theme = self.state.viewport, self.theme_colors
        found = self.model.findings
        ends = np.array([(one.lo, one.hi) for one in found], np.int64).reshape(-1, 2)
        stretches = [
            LabelledStretch(found[i].lo, found[i].hi, found[i].texts, "phase")
            for i in _seen(ends[:, 0], ends[:, 1], view)
        ]
        return draw(stretches, view, {"phase": theme.style("phase")}, self.glyphs.ellipsis)


def _between(span: tuple[int, int], surroundings: Surroundings | None) -> list[tuple[int, int]]:
    """Where nothing was profiled."""
    out, at = [], span[0]
    for lo, hi in sorted(
        (one.lo, one.hi) for one in (surroundings.profiles if surroundings is not None else ())
    ):
        if lo > at:
            out.append((at, lo))
        at = max(at, hi)
    return [*out, (at, span[1])] if at < span[1] else out


def _seen(lo: Int64s, hi: Int64s, view: Viewport) -> list[int]:
    """Which stretches matter to this view: of very many that are narrower than a cell, the last
    that begins in each cell.
    """
    rows = np.flatnonzero((lo <= hi) & (lo < view.t1) & (hi >= view.t0))
    if len(rows) > 4 * view.width:
        cell = (lo[rows] - view.t0) // view.cell_ps
        last = np.ones(len(rows), np.bool_)
        last[:-1] = cell[1:] != cell[:-1]
        rows = rows[last | (hi[rows] - lo[rows] >= view.cell_ps)]
    return [int(row) for row in rows]


def _epochs(model: TimelineModel, view: Viewport, bar: str) -> list[LabelledStretch]:
    out = []
    starts, ends = model.epoch_spans
    for index in _seen(starts, ends, view):
        epoch = model.epochs[index]
        scalars = "  ".join(f"{plain(tag, 40)} {value:.4g}" for tag, value in epoch.scalars)
        name = f"epoch {epoch.number}"
        joules = (
            model.surroundings.joules_of.get(epoch.number, "")
            if model.surroundings is not None
            else ""
        )
        took = (
            units.duration(int(ends[index] - starts[index]), 3)
            if epoch.start is not None and epoch.end is not None
            else ""
        )
        told = [f"{name}  {took}"]
        if joules:
            number = epoch.number
            tight = (
                model.surroundings.tight_of.get(number, "")
                if model.surroundings is not None
                else ""
            )
            drew = (
                f"{name}  {joules}",
                f"{number}  {joules}",
                f"{number}  {tight}",
            )  # no figure without its interval
            told = [f"{name}  {took}  {joules}", *drew, f"{name}  {took}"]
        texts = (
            f"{told[0]}  {scalars}".rstrip(),
            *(text.rstrip() for text in told),
            name,
            str(epoch.number),
        )
        out.append(LabelledStretch(int(starts[index]), int(ends[index]), texts, "epoch", bar=bar))
    named = {(phase.start, phase.end) for phase in model.epochs.phases}
    for one in model.surroundings.untrained if model.surroundings is not None else ():
        if (
            one.hi > view.t0
            and one.lo < view.t1
            and not any(lo < one.hi and hi > one.lo for lo, hi in named)
        ):
            out.append(LabelledStretch(one.lo, one.hi, one.texts, "dim", cut=True))
    for index in _seen(model.phase_spans[:, 0], model.phase_spans[:, 1], view):
        phase = model.epochs.phases[index]
        out.append(
            LabelledStretch(phase.start, phase.end, (plain(phase.name, 60),), "phase", cut=True)
        )
    return out


class MarkLane(TimeLane):
    """Windows and marks of the recordings that lie on the trace: the inner ones on the outer ones,
    moments on top.
    """

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.marks: tuple[MarkOnTrace, ...] = ()

    def set_marks(self, found: tuple[MarkOnTrace, ...]) -> None:
        self.marks = found
        self._bounds = np.array(
            [(m.start_ps, m.end_ps if m.end_ps is not None else m.start_ps) for m in found],
            np.int64,
        ).reshape(-1, 2)
        self.refresh()

    def label(self, y: int) -> list[Segment]:
        return self.name_label("windows", str(len(self.marks)))

    def cells(self, y: int) -> list[Segment]:
        assert self.state is not None
        if not self.marks:
            return [Segment(" " * self.columns)]
        view, theme = self.state.viewport, self.theme_colors
        roles = {role: theme.style(role) for role in ("phase", "label")}
        seen = [self.marks[row] for row in _seen(self._bounds[:, 0], self._bounds[:, 1], view)]
        stretches = [
            _window(mark)
            for mark in sorted(seen, key=lambda one: one.start_ps - (one.end_ps or one.start_ps))
        ]
        stretches = [one for one in stretches if one.hi > one.lo] + [
            _moment(mark, view, self.glyphs.vertical) for mark in seen if mark.end_ps is None
        ]
        return draw(stretches, view, roles, self.glyphs.ellipsis)


def _window(mark: MarkOnTrace) -> LabelledStretch:
    end = mark.end_ps if mark.end_ps is not None else mark.start_ps
    return LabelledStretch(mark.start_ps, end, (plain(mark.name, 60),), "phase", cut=True)


def _moment(mark: MarkOnTrace, view: Viewport, bar: str) -> LabelledStretch:
    """A bar where it is, and its name behind it."""
    text = bar + plain(mark.name, 20)
    return LabelledStretch(
        mark.start_ps, mark.start_ps + (len(text) - 1) * view.cell_ps, (text, bar), "label"
    )


class StepLane(TimeLane):
    """Steps with their numbers; where they are narrower than cells, how densely they lie and a
    number now and then.
    """

    neighbors: tuple[
        NeighborProfile, ...
    ] = ()  # other profiles of the training in sight: theirs stand where they lie

    def label(self, y: int) -> list[Segment]:
        assert self.model is not None
        return self.name_label(
            "steps", str(len(self.model.steps)) if len(self.model.steps) else "none"
        )

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None
        assert self.state is not None
        model, steps, view = self.model, self.model.steps, self.state.viewport
        beyond = round_numbers(model.surroundings, view) if model.surroundings is not None else []
        neighbors = (
            [one for one in self.neighbors if len(one.model.steps)]
            if model.surroundings is not None
            else []
        )
        if not len(steps) and not beyond and not neighbors:
            why = plain(steps.source or "no steps were found", 200)
            return [
                Segment(
                    fit_text(" " + why, self.columns, self.glyphs.ellipsis),
                    self.theme_colors.style("dim"),
                )
            ]
        told = not beyond or len(view.covered(*model.profiled)) >= _NUMBER_GAP_CELLS
        chars, styles = self._numbered(steps, view, told=told)
        taken = set(view.covered(*model.profiled))
        for neighbor in neighbors:
            columns = [
                column for column in view.covered(*neighbor.stretch(model)) if column not in taken
            ]
            taken.update(columns)
            if columns:
                told = not beyond or len(columns) >= _NUMBER_GAP_CELLS
                theirs = self._numbered(neighbor.model.steps, neighbor.view(model, view), told=told)
                for column in columns:
                    chars[column], styles[column] = theirs[0][column], theirs[1][column]
        return self._beyond(chars, styles, beyond)

    def _numbered(
        self, steps: Steps, view: Viewport, *, told: bool
    ) -> tuple[list[str], list[Style]]:
        """The steps of one profile, over the cells of its own axis."""
        theme = self.theme_colors
        end = (
            np.maximum(steps.ends(), steps.start + 1)
            if steps.asynchronous
            else steps.start + np.maximum(steps.duration, 1)
        )
        first = max(0, int(steps.start.searchsorted(view.t0, side="right")) - 1)
        last = int(steps.start.searchsorted(view.t1, side="left"))
        if first >= last:
            return [" "] * view.width, [Style.null()] * view.width
        # Numbers fit when neighbours are as far apart, on average, as the longest of them with a
        # blank behind it.
        room = len(str(int(steps.number[first:last].max()))) + 1
        if int(steps.start[last - 1] - steps.start[first]) >= room * view.cell_ps * (
            last - first - 1
        ):
            stretches = [
                LabelledStretch(
                    int(steps.start[i]),
                    int(end[i]),
                    _told(steps[i]),
                    "step" if i % 2 else "step_alt",
                )
                for i in range(first, last)
            ]
            roles = {role: theme.style(role) for role in ("step", "step_alt")}
            return _laid(stretches, view, roles, self.glyphs.ellipsis, apart=True)
        return self._dense(steps, view, first, last, end, told=told)

    def _beyond(
        self, chars: list[str], styles: list[Style], ticks: Sequence[tuple[int, str]]
    ) -> list[Segment]:
        """The numbers that records tell where the profile has no steps."""
        style = self.theme_colors.style("dim")
        for column, text in ticks:
            text = self.glyphs.vertical + text
            cells = slice(column, column + len(text))
            if cells.stop <= len(chars) and all(
                char == " " for char in chars[max(0, column - 1) : cells.stop + 1]
            ):
                chars[cells], styles[cells] = list(text), [style] * len(text)
        return styled(chars, styles)

    def _dense(
        self, steps: Steps, view: Viewport, first: int, last: int, end: Int64s, *, told: bool
    ) -> tuple[list[str], list[Style]]:
        theme = self.theme_colors
        starts, ends = steps.start[first:last], end[first:last]
        # Steps do not overlap: a cell has some when its last moment's step has not ended before its
        # first.
        edges = view.edges()
        at = starts.searchsorted(edges[1:])
        some = (at > 0) & (ends[np.maximum(at - 1, 0)] > edges[:-1])
        chars = [self.glyphs.horizontal if on else " " for on in some.tolist()]
        styles = [theme.style("axis")] * len(chars)
        numbers = steps.number[first:last]
        if told and len(numbers) > 1:
            cells = max(1, view.column(int(starts[-1])) - view.column(int(starts[0])))
            # Their range, not the last less the first: numbers may begin anew within the view.
            round_to = tick_step(max(1, (int(numbers.max()) - int(numbers.min())) // cells), 10)
            blocked = -1
            for i in np.flatnonzero(numbers % round_to == 0).tolist():
                column, text = (
                    view.column(int(starts[i])),
                    f"{self.glyphs.vertical}{int(numbers[i])} ",
                )
                if column > blocked and column >= 0 and column + len(text) <= len(chars):
                    chars[column : column + len(text)] = list(text)
                    styles[column : column + len(text)] = [theme.style("label")] * len(text)
                    blocked = column + len(text)
        return chars, styles


def round_numbers(surroundings: Surroundings, view: Viewport) -> list[tuple[int, str]]:
    """(column, number) of round step numbers in sight; one that no record has says ~: it is
    interpolated.
    """
    out = []
    for part in surroundings.numbers:
        lo, hi = part.number_at(view.t0), part.number_at(view.t1)
        if hi <= lo:
            continue
        begin, end = part.moment_of(lo)[0], part.moment_of(hi)[0]
        cells = max(1, (end - begin) // view.cell_ps)
        round_to = tick_step(max(1, _NUMBER_GAP_CELLS * (hi - lo) // cells), 1)
        for number in range(-(-lo // round_to) * round_to, hi + 1, round_to):
            at, exact = part.moment_of(number)
            if view.shows(at):
                out.append((view.column(at), f"{number} " if exact else f"~{number} "))
    return out


def _told(step: Step) -> tuple[str, ...]:
    """Its number, with its times where there is room: by TensorFlow's rule, of the host, of the
    devices.
    """
    numbers = (f"step {step.number}", str(step.number)) if step.number >= 0 else ("step",)
    if step.step is None:
        return numbers
    known = [
        (name, ps) for name, ps in (("host", step.host), ("device", step.device)) if ps is not None
    ]
    short = f"{numbers[0]}: {units.duration(step.step)}"
    if step.device is None:
        return (short, *numbers)
    return (
        f"{short} ({', '.join(f'{name} {units.duration(ps)}' for name, ps in known)})",
        short,
        *numbers,
    )
