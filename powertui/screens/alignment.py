"""Alignment: every way to lay the power on the trace, with its evidence; a person chooses, shifts,
or pins by hand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize

from powertui import units
from powertui.data.asked import Aligning
from powertui.data.energy import align, expected_work, main_log, power_owners
from powertui.data.energy import sensor as sensors
from powertui.data.energy.align import Placed
from powertui.data.model import PS_PER_S, Floats, Int64s, Run
from powertui.plain import plain
from powertui.screens import frame, nudging, owning
from powertui.screens.base import BaseScreen, bindings_for
from powertui.widgets.alignment_chart import AlignmentChart, AlignmentView
from powertui.widgets.lines import LinesPane, StyledLine, wrapped

_WAYS = (
    ("auto", "The best evidence"),
    ("clock", "Wall clocks"),
    ("signal", "By signal"),
    ("hand", "By hand"),
    ("none", "Not at all"),
)
_POINTS = 4000  # of the curve of what ran


class _Way(NamedTuple):
    """One way of aligning, and what it gives for every channel, those of the log that leads
    first.
    """

    mode: str
    title: str
    options: Aligning
    placed: tuple[Placed, ...]


class AlignmentScreen(BaseScreen):
    """Where the power lies, and why."""

    NAME = "alignment"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("alignment")
    AUTO_FOCUS = None

    def __init__(self) -> None:
        super().__init__()
        self._ways: tuple[_Way, ...] = ()
        self._ran: tuple[Int64s, Floats] | None = None
        self._of: tuple[object, ...] = ()
        self._chosen = 0
        self._shift = 0.0  # s, of the way under the cursor
        self._whose: tuple[str, ...] = ()  # what is to be said of whose power it is

    def body(self) -> ComposeResult:
        look, glyphs = self.shell.look, self.shell.capabilities.glyphs
        yield AlignmentChart(theme=look, glyphs=glyphs, id="placed")
        yield LinesPane(theme=look, glyphs=glyphs, id="ways")

    # ── computing ────────────────────────────────────────────────────────────────────────────────

    def session_changed(self) -> None:
        """Another run, or a pin: try every way again, in a thread."""
        if not self.is_mounted:
            return
        session = self.session
        run, index = session.run, session.trace_index
        why = frame.why_empty(session, self.NAME)
        if run is None or not session.complete or why:
            self._say_only(why or "Reading …")
            return
        chosen = session.aligning
        of = (run, index, chosen.pins.pins, chosen.offset_s)
        if self._of and self._of[0] is run and self._of[1:] == of[1:]:
            self._draw()
            return
        self._of, self._ways = of, ()
        self._whose = power_owners.share(run, index).notes
        self._say_only("Comparing the evidence …")
        entry, window_s = session.entry, nudging.refresh_s(session)
        training, profile = session.training, session.profile
        around_ns = (
            training.around_ns(profile) if training is not None and profile is not None else None
        )

        def work() -> None:
            ways = []
            for mode, title in _WAYS:
                how = _options(mode, chosen)
                if how is not None:
                    placed = align.place_all(run, index, entry, how, around_ns)
                    order = main_log.order([p.power for p in placed], run.traces[index].span)
                    ways.append(_Way(mode, title, how, tuple(placed[row] for row in order)))
            self.shell.from_thread(self._computed, of, tuple(ways), _what_ran(run, index, window_s))

        self.run_worker(work, thread=True, exclusive=True, group="alignment")

    def awaits(self, action: str) -> str:
        if self._of and not self._ways:
            return "the comparison"
        return self.shell.runs.awaited or ("the power" if self.shell.is_placing else "")

    def on_resize(self, event: Resize) -> None:
        """Another width: lines break elsewhere."""
        super().on_resize(event)
        if self.is_mounted:
            self._draw()

    def _computed(
        self, of: tuple[object, ...], ways: tuple[_Way, ...], ran: tuple[Int64s, Floats]
    ) -> None:
        if of != self._of:
            return
        self._ways, self._ran = ways, ran
        now = self.session.aligning
        mode = "hand" if now.pins.pins or now.offset_s is not None else now.mode
        self._chosen = next((i for i, way in enumerate(ways) if way.mode == mode), 0)
        self._shift = now.pins.nudge_s
        self._draw()
        self.footer()

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _say_only(self, sentence: str) -> None:
        self.query_one("#placed", AlignmentChart).show(None, sentence)
        self.query_one("#ways", LinesPane).set_lines(())

    @property
    def _shown(self) -> Placed | None:
        """The first channel of the way under the cursor that has a place, shifted as far as it is
        now.
        """
        if not self._ways:
            return None
        way = self._ways[self._chosen]
        found = next((p for p in way.placed if p.power.status != "none"), None)
        return align.moved(found, self._shift) if found is not None else None

    def _draw(self) -> None:
        if not self._ways or self._ran is None:
            return
        lines = self._lines()
        pane = self.query_one("#ways", LinesPane)
        pane.styles.height = min(len(lines), max(4, self.size.height // 2))
        pane.set_lines(lines)
        chart = self.query_one("#placed", AlignmentChart)
        shown, trace = self._shown, self.session.trace
        if not self._ways[self._chosen].placed:
            chart.show(None, "No power log names this host. Press o to use one that names no host.")
            return
        if shown is None or trace is None:
            elsewhere = next(
                (
                    one.alignment.elsewhere
                    for one in self._ways[self._chosen].placed
                    if one.alignment.elsewhere
                ),
                "",
            )
            said = elsewhere or "The power log cannot be aligned with this trace."
            chart.show(None, f"{plain(said, 400)} Shift or pin it by hand, or start with --offset.")
            return
        power = shown.power
        sensor = power.series.sensor
        margin = (trace.span[1] - trace.span[0]) // 8
        refresh = sensor.refresh_s or sensor.poll_s
        caption = f"{plain(sensor.label, 60)} on the trace; below it, what ran"
        chart.show(
            AlignmentView(
                trace.span[0] - margin,
                trace.span[1] + margin,
                power.times - round(sensors.centre_s(sensor) * PS_PER_S),
                power.watts,
                round(3e12 * (refresh.value if refresh else 1.0)),
                *self._ran,
                "%",
                caption,
                (power.offset_hi_ps - power.offset_lo_ps) // 2,
            )
        )

    def _lines(self) -> list[StyledLine]:
        style, cells = self.shell.look.style, self.size.width
        lines: list[StyledLine] = []
        now = self.session.aligning
        used = "hand" if now.pins.pins or now.offset_s is not None else now.mode
        for number, way in enumerate(self._ways):
            chosen = number == self._chosen
            mark = "*" if way.mode == used else " "
            text = _summary(way.placed)
            lines += wrapped(
                (
                    (" > " if chosen else "   ", style("title")),
                    (f"{mark} {way.title:<18}", style("marked" if chosen else "text")),
                    (text, style("text" if chosen else "dim")),
                ),
                cells,
                23,
            )
        shown = self._shown
        way = self._ways[self._chosen]
        first = shown or next(iter(way.placed), None)
        told: list[StyledLine] = []
        if first is not None:
            told += [
                ((f"     {plain(words, 400)}", style("dim")),) for words in first.alignment.evidence
            ]
        if len(now.pins.pins):
            pins = ", ".join(f"{p.log_s:.3f} s = {p.trace_s:.3f} s" for p in now.pins.pins[-4:])
            told.append(((f"     pins (log = trace): {pins}", style("measured")),))
        told += [((f"     {plain(words, 400)}", style("estimated")),) for words in self._whose]
        told.append(
            (
                (
                    "     * is in use. Enter uses the one at the cursor; < and > shift it.",
                    style("dim"),
                ),
            )
        )
        return [*lines, *(row for line in told for row in wrapped(line, cells, 7))]

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """Of the way under the cursor first."""
        if self._ways:
            yield from (
                ("choice-take", "use this one"),
                ("choice-up+choice-down", "choose"),
                ("nudge-left+nudge-right", "shift"),
            )
            yield from (
                ("pin", "pin an edge to the cursor"),
                ("undo", "undo"),
                ("unshift", "undo all shifts"),
            )

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def choose(self, by: int) -> None:
        """So many ways down."""
        if self._ways:
            chosen = min(max(0, self._chosen + by), len(self._ways) - 1)
            if chosen == self._chosen:
                self.query_one("#ways", LinesPane).scroll_lines(
                    by
                )  # past the last one: to what is told below it
                return
            self._chosen, self._shift = chosen, 0.0
            self._draw()
            self.query_one("#ways", LinesPane).scroll_lines(-len(self._lines()))

    def action_choice_take(self) -> None:
        """Use it everywhere."""
        if not self._ways:
            return
        way = self._ways[self._chosen]
        how = replace(way.options, pins=replace(way.options.pins, nudge_s=self._shift))
        nudging.use(self.shell, how)
        said = nudging.pin_count(how.pins) if self._shift else ""
        self.say(f"{way.title}: {_summary(way.placed)}. {said}".strip())
        self._draw()

    def nudge(self, refreshes: float) -> None:
        """To later times."""
        if self._shown is None:
            self.say("There is nothing to shift: this method finds no place for the log.")
            return
        self._shift += refreshes * nudging.refresh_of(self._shown.power)
        self._draw()
        self.say(f"Shifted by {self._shift:+.3f} s. Press Enter to use it.")

    def action_unshift(self) -> None:
        """As the evidence says."""
        self._shift = 0.0
        self._draw()

    def action_pin(self) -> None:
        """Tie an edge to the timeline's cursor."""
        nudging.pin(self.shell, self.session.cursor_ps)

    def action_owner(self) -> None:
        """Whose power it is, where names do not tell."""
        self.say(owning.give_next(self.shell))
        self.session_changed()


def _options(mode: str, now: Aligning) -> Aligning | None:
    """The options that try one way alone; None where there is nothing to try."""
    bare = replace(now.pins, pins=(), nudge_s=0.0)
    if mode == "hand":
        if not now.pins.pins and now.offset_s is None:
            return None
        return replace(now, pins=replace(now.pins, nudge_s=0.0))
    return Aligning(mode, None, bare)  # type: ignore[arg-type]


def _summary(placed: tuple[Placed, ...]) -> str:
    """Where a way puts the first channel that it can place."""
    found = next((p for p in placed if p.power.status != "none"), None)
    if found is None:
        return next(
            (plain(one.alignment.elsewhere, 400) for one in placed if one.alignment.elsewhere),
            "no place found",
        )
    alignment = found.alignment
    assert alignment.offset_s is not None
    half = (found.power.offset_hi_ps - found.power.offset_lo_ps) // 2
    more = (
        f", {sum(p.power.status != 'none' for p in placed)} of {len(placed)} channels"
        if len(placed) > 1
        else ""
    )
    return (
        f"{alignment.status}, {alignment.source}: {alignment.offset_s:.3f} s ± "
        f"{units.duration(half, 3)}{more}"
    )


def _what_ran(run: Run, index: int, window_s: float) -> tuple[Int64s, Floats]:
    """The share of time in which something ran (%), averaged as the sensor would."""
    trace = run.traces[index]
    lo, hi = trace.span
    if hi <= lo:
        return np.empty(0, np.int64), np.empty(0)
    width = min(max(window_s * PS_PER_S, (hi - lo) / _POINTS), (hi - lo) / 4)
    at = np.linspace(lo, hi, _POINTS)
    begin, end = np.maximum(at - width / 2, lo), np.minimum(at + width / 2, hi)
    busy = np.zeros(_POINTS)
    parts = expected_work.activities(trace)
    for one in parts:
        # Computing is what draws power; only where nothing computes the host's own work is shown.
        least = (
            expected_work.COPIES
            if (one.kind == expected_work.COMPUTE).any()
            else expected_work.HOST
        )
        working = np.where(one.kind >= least, np.diff(one.edges), 0).astype(np.float64)
        running = np.concatenate([[0.0], np.cumsum(working)])
        busy += (
            (np.interp(end, one.edges, running) - np.interp(begin, one.edges, running))
            / (end - begin)
            / len(parts)
        )
    return np.append(at, hi + 1).astype(np.int64), np.append(busy * 100, np.nan)
