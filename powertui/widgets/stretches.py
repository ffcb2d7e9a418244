"""The lanes for epochs and steps: named stretches of time side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui.plain import plain
from powertui.widgets.ruler import tick_step
from powertui.widgets.time_lane import TimeLane, fit_text, styled
from powertui.widgets.timeline_model import TimelineModel
from powertui.widgets.viewport import Viewport


@dataclass(frozen=True)
class Stretch:
    lo: int
    hi: int
    texts: tuple[str, ...]  # from the longest to the shortest: the first that fits is written
    role: str


def draw(stretches: Sequence[Stretch], view: Viewport, style: dict[str, Style], blank: Style, ellipsis: str) -> list[Segment]:
    """Each stretch over the cells that it covers; a short one keeps at least one cell."""
    chars, styles = [" "] * view.width, [blank] * view.width
    for stretch in stretches:
        first, last = view.column(stretch.lo), view.column(max(stretch.lo, stretch.hi - 1))
        if last < 0 or first >= view.width:
            continue
        first, last = max(0, first), min(view.width - 1, last)
        width = last + 1 - first
        text = next((t for t in stretch.texts if len(t) <= width), "")
        if not text and stretch.texts and width >= 3 and stretch.role != "step":
            text = fit_text(stretch.texts[-1], width, ellipsis)
        chars[first : last + 1] = list(text.center(width) if width < 40 else text.ljust(width))
        styles[first : last + 1] = [style[stretch.role]] * width
    return styled(chars, styles)


class EpochLane(TimeLane):
    """Epochs, and the named stretches between them (validation)."""

    def label(self, y: int) -> list[Segment]:
        count = len(self.model.epochs) if self.model else 0
        return self.name_label("epochs", str(count) if count else "none")

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None and self.state is not None
        theme = self.theme_colors
        roles = {role: theme.style(role) for role in ("epoch", "phase")}
        if not len(self.model.epochs) and not self.model.epochs.phases:
            why = plain(self.model.epochs.source or "no epochs were found", 200)
            return [Segment(fit_text(" " + why, self.columns, self.glyphs.ellipsis), theme.style("dim"))]
        return draw(_epochs(self.model), self.state.viewport, roles, theme.style("lane"), self.glyphs.ellipsis)


def _epochs(model: TimelineModel) -> list[Stretch]:
    out = []
    for index, epoch in enumerate(model.epochs):
        bounds = model.epoch_bounds(index)
        if bounds is not None:
            scalars = "  ".join(f"{plain(tag, 40)} {value:.4g}" for tag, value in epoch.scalars)
            name = f"epoch {epoch.number}"
            out.append(Stretch(*bounds, (f"{name}  {scalars}".rstrip(), name, str(epoch.number)), "epoch"))
    for phase in model.epochs.phases:
        out.append(Stretch(phase.start, phase.end, (plain(phase.name, 60),), "phase"))
    return out


class StepLane(TimeLane):
    """Steps with their numbers; where they are narrower than cells, how densely they lie and a number now and then."""

    def label(self, y: int) -> list[Segment]:
        assert self.model is not None
        return self.name_label("steps", str(len(self.model.steps)) if len(self.model.steps) else "none")

    def cells(self, y: int) -> list[Segment]:
        assert self.model is not None and self.state is not None
        steps, view, theme = self.model.steps, self.state.viewport, self.theme_colors
        if not len(steps):
            why = plain(steps.source or "no steps were found", 200)
            return [Segment(fit_text(" " + why, self.columns, self.glyphs.ellipsis), theme.style("dim"))]
        end = steps.start + np.maximum(steps.duration, 1)
        if steps.asynchronous and len(steps) > 1:
            # The marker ends before the work does: a step lasts until the next begins.
            end[:-1] = np.maximum(end[:-1], steps.start[1:])
        first = max(0, int(steps.start.searchsorted(view.t0, side="right")) - 1)
        last = int(steps.start.searchsorted(view.t1, side="left"))
        if first >= last:
            return [Segment(" " * self.columns)]
        pitch = int(steps.start[last - 1] - steps.start[first]) // max(1, last - first - 1) if last - first > 1 else view.cell_ps * 99
        if pitch >= 2 * view.cell_ps:
            stretches = [
                Stretch(int(steps.start[i]), int(end[i]), _numbers(int(steps.number[i])), "step" if i % 2 else "step_alt")
                for i in range(first, last)
            ]
            roles = {role: theme.style(role) for role in ("step", "step_alt")}
            return draw(stretches, view, roles, theme.style("lane"), self.glyphs.ellipsis)
        return self._dense(view, first, last, end)

    def _dense(self, view: Viewport, first: int, last: int, end: np.ndarray) -> list[Segment]:  # type: ignore[type-arg]
        assert self.model is not None
        steps, theme = self.model.steps, self.theme_colors
        edges = view.edges()
        starts, ends = steps.start[first:last], end[first:last]
        # Steps do not overlap: how much of a cell they cover is a difference of two sums.
        total = np.concatenate([[0], np.cumsum(ends - starts)])
        at = starts.searchsorted(edges)
        over = np.where(at > 0, np.maximum(0, ends[np.maximum(at - 1, 0)] - edges), 0)
        busy = np.diff(total[at] - over)
        full = len(self.glyphs.levels)
        level = np.clip((busy * 2 * full + view.cell_ps) // (2 * view.cell_ps), 0, full)
        level[(busy > 0) & (level == 0)] = 1
        chars = [(" " + self.glyphs.levels)[i] for i in level.tolist()]
        styles = [theme.style("overview")] * len(chars)
        numbers = steps.number[first:last]
        if len(numbers) > 1 and int(numbers[-1]) > int(numbers[0]):
            per_cell = max(1, (int(numbers[-1]) - int(numbers[0])) // max(1, view.column(int(starts[-1])) - view.column(int(starts[0]))))
            round_to = tick_step(per_cell, 10)
            blocked = -1
            for i in np.flatnonzero(numbers % round_to == 0).tolist():
                column, text = view.column(int(starts[i])), f"{self.glyphs.vertical}{int(numbers[i])} "
                if column > blocked and 0 <= column and column + len(text) <= len(chars):
                    chars[column : column + len(text)] = list(text)
                    styles[column : column + len(text)] = [theme.style("label")] * len(text)
                    blocked = column + len(text)
        return styled(chars, styles)


def _numbers(number: int) -> tuple[str, ...]:
    return (f"step {number}", str(number)) if number >= 0 else ("step",)
