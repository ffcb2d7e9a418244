"""Findings: epochs over each other, and what makes one differ from the others. Enter goes there."""

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

_CHART_LINES = 12  # that the curves get, however many findings there are
_MIN_CHART_LINES = 4  # where a sentence is in their place


class SymmetryScreen(BaseScreen):
    """Power that nothing explains, epochs unlike the others, and steps unlike their neighbors."""

    NAME = "symmetry"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("symmetry")
    AUTO_FOCUS = None

    def __init__(self) -> None:
        super().__init__()
        self._found: Findings | None = None
        self._request: tuple[object, ...] = ()  # what the findings are computed from
        self._line = 0
        self._chosen = 0
        self._times = False
        self._is_unfolding = False  # the smaller differences are being looked up
        self._is_unfolded = False  # whether they are listed, too
        self._begins: list[int] = []  # the line at which each finding begins

    def body(self) -> ComposeResult:
        look = self.shell.look
        glyphs = self.shell.capabilities.glyphs
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
            why = frame.why_empty(session, self.NAME)
            self._say_only(why if session.complete else "Reading …")
            return
        request = (trace, session.aligning)
        if self._request == request:
            self._draw()
            return
        self._request = request
        self._found = None
        self._say_only("Looking for findings …")
        profile = session.profile
        aligning = session.aligning
        assert profile is not None

        def work() -> None:
            self.shell.from_thread(self._computed, request, account.findings(profile, aligning))

        self.run_worker(work, thread=True, exclusive=True, group="symmetry")

    def awaits(self, action: str) -> str:
        is_looking = bool(self._request) and self._found is None
        if is_looking or self._is_unfolding:
            return "the findings"
        return self.shell.runs.awaited

    def on_resize(self, event: Resize) -> None:
        """Another width: lines break elsewhere."""
        super().on_resize(event)
        if self.is_mounted:
            self._draw()

    def _computed(self, request: tuple[object, ...], findings: Findings) -> None:
        if request != self._request:
            return
        self._found = findings
        self._is_unfolding = False
        self._chosen = 0
        self._is_unfolded = self._times = False
        self._line = len(findings.folded.epochs) - 1 if findings.folded is not None else 0
        self._look_at(self._listed()[:1])
        self._draw()
        self.top_line()
        self.footer()

    def _unfold(self, findings: Findings) -> None:
        """List the smaller differences, too. A thread looks up why each of them is one."""

        def listed() -> None:
            self._is_unfolding = False
            if self._found is findings:
                self._is_unfolded = True
                self._draw()

        self._is_unfolding = True

        def work() -> None:
            findings.smaller.open()
            self.shell.from_thread(listed)

        self.run_worker(work, thread=True, exclusive=True, group="symmetry")

    def _listed(self) -> tuple[Finding, ...]:
        """The findings that have a line of their own."""
        if self._found is None:
            return ()
        return (*self._found.findings, *(self._found.smaller if self._is_unfolded else ()))

    def _look_at(self, chosen: Sequence[Finding]) -> None:
        """Put the epoch of a finding in front."""
        folded = self._found.folded if self._found is not None else None
        for finding in chosen:
            self._times = finding.kind == "time"
            if folded is not None and finding.epoch in folded.epochs:
                self._line = folded.epochs.index(finding.epoch)

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _say_only(self, sentence: str) -> None:
        self.query_one("#folded", FoldedChart).show(None, sentence)
        self.query_one("#findings", LinesPane).set_lines(())

    def _draw(self) -> None:
        findings = self._found
        if findings is None:
            return
        chart = self.query_one("#folded", FoldedChart)
        chart_lines = _CHART_LINES
        if findings.folded is not None:
            listed = self._listed()
            chart.show(FoldedView(findings.folded, self._line, listed, self._chosen, self._times))
        elif findings.against is not None:
            chart.show(AgainstView(findings.against, self._listed(), self._chosen))
        else:
            chart.show(None, f"Epochs were not compared: {plain(findings.reason, 200)}.")
            chart_lines = _MIN_CHART_LINES
        pane = self.query_one("#findings", LinesPane)
        lines = self._lines(findings)
        height = self.size.height
        room = height - 2 - max(chart_lines, height // 2)
        pane.styles.height = min(max(3, height // 3, room), len(lines) + 1)
        pane.set_lines(lines)

    def _lines(self, findings: Findings) -> list[StyledLine]:
        style = self.shell.look.style
        cells = self.size.width
        lines: list[StyledLine] = []
        self._begins = []
        for number, finding in enumerate(self._listed()):
            ink, mark = self._ink(number)
            what, _, why = finding.text.partition("; ")
            self._begins.append(len(lines))
            lines += wrapped(((mark, style("title")), (plain(what, 300), ink)), cells, 5)
            reason = (plain(f"{why} · " if why else "", 200), style("text"))
            details = (_details(finding), style("dim"))
            lines += wrapped((("     ", style("dim")), reason, details), cells, 5)
        if not findings.findings:
            lines.append((("   ", style("dim")), ("No findings.", style("ok"))))
        if self._can_unfold:
            ink, mark = self._ink(len(findings.findings))
            self._begins.append(len(lines))
            text = f"{finding_texts.folded(len(findings.smaller))}: Enter"
            lines.append(((mark, style("title")), (text, ink)))
        notes = [findings.could, *findings.notes]
        if findings.folded is None and findings.reason:
            notes.append(f"Epochs were not compared: {findings.reason}")
        for note in notes:
            if note:
                text = "   " + sentence(plain(note, 300))
                lines += wrapped(((text, style("dim")),), cells, 5)
        return lines

    @property
    def _can_unfold(self) -> bool:
        """Whether there are smaller differences that are not listed yet."""
        return self._found is not None and bool(self._found.smaller) and not self._is_unfolded

    def _ink(self, number: int) -> tuple[Style, str]:
        """The style of a finding's line, and the mark before it."""
        if number == self._chosen:
            return self.shell.look.style("marked"), " > "
        return self.shell.look.style("text"), "   "

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """Of the chosen finding first."""
        findings = self._found
        if findings is not None and (findings.findings or findings.smaller):
            yield "finding-show", "show it in the timeline"
            yield "finding-up+finding-down", "choose"
        if findings is not None and findings.folded is not None:
            yield "other-epoch-back+other-epoch", "other epoch"
            yield "power-or-time", "power or time"

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def move(self, by: int) -> None:
        """So many findings down."""
        listed = self._listed()
        pane = self.query_one("#findings", LinesPane)
        count = len(listed) + self._can_unfold
        chosen = min(max(0, self._chosen + by), count - 1)
        if not count or chosen == self._chosen:
            pane.scroll_lines(by)  # past the last one: to the notes below it
            return
        self._chosen = chosen
        self._look_at(listed[chosen : chosen + 1])
        self._draw()
        begin = self._begins[chosen]
        end = self._begins[chosen + 1] if chosen + 1 < len(self._begins) else begin + 1
        below = max(0, end - pane.size.height - pane.top)
        above = min(0, begin - pane.top)
        pane.scroll_lines(below or above)

    def turn(self, by: int) -> None:
        """Another epoch against the others."""
        findings = self._found
        if findings is not None and findings.folded is not None:
            self._line = (self._line + by) % len(findings.folded.epochs)
            self._draw()

    def action_power_or_time(self) -> None:
        """Watts or lengths of steps."""
        self._times = not self._times
        self._draw()

    def action_finding_show(self) -> None:
        """Go to the stretch in the timeline."""
        listed = self._listed()
        if self._found is not None and self._can_unfold and self._chosen == len(listed):
            self._unfold(self._found)
            return
        if not listed:
            self.say("There is no finding to show.")
            return
        finding = listed[min(self._chosen, len(listed) - 1)]
        self.goto(finding.start_ps, finding.end_ps, mark=True)


def _details(finding: Finding) -> str:
    """How sure, and where."""
    parts = [f"{finding.start_ps / PS_PER_S:.2f} … {finding.end_ps / PS_PER_S:.2f} s"]
    if finding.lo_watts is not None and finding.hi_watts is not None:
        parts.append(f"95% {finding.lo_watts:+.0f} … {finding.hi_watts:+.0f} W")
    if finding.p:
        parts.append(f"p ≤ {finding.p:.2g}")
    parts.append(f"evidence: {', '.join(finding.witnesses)}")
    parts.append(finding.badge.value)
    return " · ".join(parts)
