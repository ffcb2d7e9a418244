"""Findings: epochs on top of each other, and by itself what makes one unlike the others.

Enter goes there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize

from powertui.data.energy import account
from powertui.data.energy.findings import finding_texts
from powertui.data.energy.findings.finding import Finding, Findings
from powertui.data.model import PS_PER_S
from powertui.plain import plain
from powertui.screens import frame
from powertui.screens.base import BaseScreen, bindings_for
from powertui.view.overview_lines import sentence
from powertui.widgets.folded_chart import AgainstView, FoldedChart, FoldedView
from powertui.widgets.lines import LinesPane, StyledLine, wrapped

_CHART_LINES = 12  # that the curves need, however many findings there are


class SymmetryScreen(BaseScreen):
    """What stands out: power that nothing explains, epochs unlike the others, steps unlike their
    neighbours.
    """

    NAME = "symmetry"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("symmetry")
    AUTO_FOCUS = None

    def __init__(self) -> None:
        super().__init__()
        self._found: Findings | None = None
        self._of: tuple[object, ...] = ()  # what it was computed of
        self._line = 0
        self._chosen = 0
        self._times = False
        self._unfolding = False  # they are being looked up
        self._unfolded = False  # whether the smaller differences are listed, too
        self._begins: list[int] = []  # the line at which each finding begins

    def body(self) -> ComposeResult:
        look, glyphs = self.shell.look, self.shell.capabilities.glyphs
        yield FoldedChart(theme=look, glyphs=glyphs, id="folded")
        yield LinesPane(theme=look, glyphs=glyphs, id="findings")

    # ── computing ────────────────────────────────────────────────────────────────────────────────

    def session_changed(self) -> None:
        """Another run or another alignment: compare again, in a thread."""
        if not self.is_mounted:
            return
        session = self.session
        trace = session.trace
        if trace is None or not session.complete:
            self._say_only(
                "Reading …" if not session.complete else frame.why_empty(session, self.NAME)
            )
            return
        of = (trace, session.aligning)
        if self._of == of:
            self._draw()
            return
        self._of, self._found = of, None
        self._say_only("Looking for findings …")
        profile, aligning = session.profile, session.aligning
        assert profile is not None

        def work() -> None:
            self.shell.from_thread(self._computed, of, account.findings(profile, aligning))

        self.run_worker(work, thread=True, exclusive=True, group="symmetry")

    def awaits(self, action: str) -> str:
        looking = (bool(self._of) and self._found is None) or self._unfolding
        return "the findings" if looking else self.shell.runs.awaited

    def on_resize(self, event: Resize) -> None:
        """Another width: lines break elsewhere."""
        super().on_resize(event)
        if self.is_mounted:
            self._draw()

    def _computed(self, of: tuple[object, ...], found: Findings) -> None:
        if of != self._of:
            return
        self._found, self._unfolding = found, False
        self._chosen = 0
        self._unfolded = self._times = False
        self._line = len(found.folded.epochs) - 1 if found.folded is not None else 0
        self._look_at(self._listed()[:1])
        self._draw()
        self.top_line()
        self.footer()

    def _unfold(self, found: Findings) -> None:
        """List the smaller differences, too: why each of them is one is looked up in a thread."""

        def listed() -> None:
            self._unfolding = False
            if self._found is found:
                self._unfolded = True
                self._draw()

        self._unfolding = True

        def work() -> None:
            found.smaller.open()
            self.shell.from_thread(listed)

        self.run_worker(work, thread=True, exclusive=True, group="symmetry")

    def _listed(self) -> tuple[Finding, ...]:
        """The findings that have a line of their own."""
        if self._found is None:
            return ()
        return (*self._found.findings, *(self._found.smaller if self._unfolded else ()))

    def _look_at(self, chosen: Sequence[Finding]) -> None:
        """Put the epoch of a finding in front."""
        folded = self._found.folded if self._found is not None else None
        for one in chosen:
            self._times = one.kind == "time"
            if folded is not None and one.epoch in folded.epochs:
                self._line = folded.epochs.index(one.epoch)

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _say_only(self, sentence: str) -> None:
        self.query_one("#folded", FoldedChart).show(None, sentence)
        self.query_one("#findings", LinesPane).set_lines(())

    def _draw(self) -> None:
        found = self._found
        if found is None:
            return
        if found.folded is None and found.against is not None:
            self.query_one("#folded", FoldedChart).show(
                AgainstView(found.against, self._listed(), self._chosen)
            )
        elif found.folded is None:
            self.query_one("#folded", FoldedChart).show(
                None, f"Epochs were not compared: {plain(found.reason, 200)}."
            )
        else:
            view = FoldedView(found.folded, self._line, self._listed(), self._chosen, self._times)
            self.query_one("#folded", FoldedChart).show(view)
        pane = self.query_one("#findings", LinesPane)
        lines = self._lines(found)
        height = self.size.height
        chart = _CHART_LINES if found.folded is not None or found.against is not None else 4
        pane.styles.height = min(
            max(3, height // 3, height - 2 - max(chart, height // 2)), len(lines) + 1
        )
        pane.set_lines(lines)

    def _lines(self, found: Findings) -> list[StyledLine]:
        style, cells = self.shell.look.style, self.size.width
        lines: list[StyledLine] = []
        self._begins = []
        for number, one in enumerate(self._listed()):
            ink, mark = self._ink(number)
            what, _, why = one.text.partition("; ")
            self._begins.append(len(lines))
            lines += wrapped(((mark, style("title")), (plain(what, 300), ink)), cells, 5)
            reason = (plain(f"{why} · " if why else "", 200), style("text"))
            lines += wrapped(
                (("     ", style("dim")), reason, (_details(one), style("dim"))), cells, 5
            )
        if not found.findings:
            lines.append((("   ", style("dim")), ("No findings.", style("ok"))))
        if found.smaller and not self._unfolded:
            ink, mark = self._ink(len(found.findings))
            self._begins.append(len(lines))
            lines.append(
                (
                    (mark, style("title")),
                    (f"{finding_texts.folded(len(found.smaller))}: Enter", ink),
                )
            )
        apart = (
            f"Epochs were not compared: {found.reason}"
            if found.folded is None and found.reason
            else ""
        )
        for note in (found.could, *found.notes, apart):
            if note:
                lines += wrapped(
                    (("   ", style("dim")), (sentence(plain(note, 300)), style("dim"))), cells, 5
                )
        return lines

    def _ink(self, number: int) -> tuple[Style, str]:
        """How a line looks, and what stands before it."""
        chosen = number == self._chosen
        return self.shell.look.style("marked" if chosen else "text"), " > " if chosen else "   "

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """Of the chosen finding first."""
        found = self._found
        if found is not None and (found.findings or found.smaller):
            yield "finding-show", "show it in the timeline"
            yield "finding-up+finding-down", "choose"
        if found is not None and found.folded is not None:
            yield from (
                ("other-epoch-back+other-epoch", "other epoch"),
                ("power-or-time", "power or time"),
            )

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def move(self, by: int) -> None:
        """So many findings down."""
        found, listed = self._found, self._listed()
        count = len(listed) + (
            1 if found is not None and found.smaller and not self._unfolded else 0
        )
        if not count:
            self.query_one("#findings", LinesPane).scroll_lines(by)
            return
        pane = self.query_one("#findings", LinesPane)
        chosen = min(max(0, self._chosen + by), count - 1)
        if chosen == self._chosen:
            pane.scroll_lines(by)  # past the last one: to what is told below it
            return
        self._chosen = chosen
        self._look_at(listed[chosen : chosen + 1])
        self._draw()
        begin = self._begins[chosen]
        end = self._begins[chosen + 1] if chosen + 1 < len(self._begins) else begin + 1
        pane.scroll_lines(max(0, end - pane.size.height - pane.top) or min(0, begin - pane.top))

    def turn(self, by: int) -> None:
        """Another epoch against the others."""
        found = self._found
        if found is not None and found.folded is not None:
            self._line = (self._line + by) % len(found.folded.epochs)
            self._draw()

    def action_power_or_time(self) -> None:
        """Watts or lengths of steps."""
        self._times = not self._times
        self._draw()

    def action_finding_show(self) -> None:
        """Go to the stretch in the timeline."""
        found, listed = self._found, self._listed()
        if (
            found is not None
            and self._chosen == len(listed)
            and found.smaller
            and not self._unfolded
        ):
            self._unfold(found)
            return
        if not listed:
            self.say("There is no finding to show.")
            return
        one = listed[min(self._chosen, len(listed) - 1)]
        self.goto(one.start_ps, one.end_ps, mark=True)


def _details(one: Finding) -> str:
    """How sure, and where."""
    parts = [f"{one.start_ps / PS_PER_S:.2f} … {one.end_ps / PS_PER_S:.2f} s"]
    if one.lo_watts is not None and one.hi_watts is not None:
        parts.append(f"95% {one.lo_watts:+.0f} … {one.hi_watts:+.0f} W")
    if one.p:
        parts.append(f"p ≤ {one.p:.2g}")
    parts.append(f"evidence: {', '.join(one.witnesses)}")
    parts.append(one.badge.value)
    return " · ".join(parts)
