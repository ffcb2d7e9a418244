"""Symmetry: epochs on top of each other, and by itself what makes one unlike the others. Enter goes there."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from powertui.data.energy import account
from powertui.data.energy.symmetry import Finding, Symmetry
from powertui.data.model import PS_PER_S
from powertui.plain import plain
from powertui.screens.base import BaseScreen, bindings_for
from powertui.widgets.folded_chart import FoldedChart, FoldedView
from powertui.widgets.lines import Line, LinesPane

AROUND = 0.5  # a finding is shown in the timeline with half its length on either side


class SymmetryScreen(BaseScreen):
    """One epoch against the others."""

    NAME = "symmetry"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("symmetry")
    AUTO_FOCUS = None

    def __init__(self) -> None:
        super().__init__()
        self._found: Symmetry | None = None
        self._of: tuple[object, ...] = ()  # what it was computed of
        self._line = 0
        self._chosen = 0
        self._times = False

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
            self._say_only("Reading …" if not session.complete else "This run has no profile.")
            return
        of = (trace, session.aligning)
        if self._of == of:
            self._draw()
            return
        self._of, self._found = of, None
        self._say_only("Comparing the epochs …")
        profile, aligning = session.profile, session.aligning
        assert profile is not None

        def work() -> None:
            self.shell.from_thread(self._computed, of, account.findings(profile, aligning))

        self.run_worker(work, thread=True, exclusive=True, group="symmetry")

    def _computed(self, of: tuple[object, ...], found: Symmetry) -> None:
        if of != self._of:
            return
        self._found = found
        self._chosen = 0
        if found.folded is not None:
            first = found.findings[0].epoch if found.findings else found.folded.epochs[-1]
            self._line = found.folded.epochs.index(first)
            self._times = False
        self._draw()

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _say_only(self, sentence: str) -> None:
        self.query_one("#folded", FoldedChart).show(None, sentence)
        self.query_one("#findings", LinesPane).set_lines(())

    def _draw(self) -> None:
        found = self._found
        if found is None:
            return
        if found.folded is None:
            self._say_only(f"Nothing to compare: {plain(found.reason, 200)}.")
            return
        view = FoldedView(found.folded, self._line, found.findings, self._chosen, self._times)
        self.query_one("#folded", FoldedChart).show(view)
        pane = self.query_one("#findings", LinesPane)
        pane.styles.height = min(max(3, self.size.height // 3), len(found.findings) * 2 + len(found.notes) + 2)
        pane.set_lines(self._lines(found))

    def _lines(self, found: Symmetry) -> list[Line]:
        style = self.shell.look.style
        lines: list[Line] = []
        for number, one in enumerate(found.findings):
            chosen = number == self._chosen
            ink = style("marked" if chosen else "text")
            what, _, why = one.text.partition("; ")
            lines.append(((" > " if chosen else "   ", style("title")), (plain(what, 300), ink)))
            reason = (plain(f"{why} · " if why else "", 200), style("text"))
            lines.append((("     ", style("dim")), reason, (_details(one), style("dim"))))
        if not found.findings:
            words = "Nothing stands out: no stretch differs from the same steps of the other epochs by more than chance."
            lines.append((("   ", style("dim")), (words, style("ok"))))
        lines += [(("   ", style("dim")), (plain(note, 300), style("dim"))) for note in found.notes]
        return lines

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def move(self, by: int) -> None:
        """So many findings down."""
        found = self._found
        if found is None or found.folded is None or not found.findings:
            self.query_one("#findings", LinesPane).scroll_lines(by)
            return
        self._chosen = min(max(0, self._chosen + by), len(found.findings) - 1)
        self._line = found.folded.epochs.index(found.findings[self._chosen].epoch)
        self._times = found.findings[self._chosen].kind == "time"
        self._draw()
        pane = self.query_one("#findings", LinesPane)
        pane.scroll_lines(
            2 * self._chosen - pane.top - max(0, pane.size.height - 2) if by > 0 else min(0, 2 * self._chosen - pane.top)
        )

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
        found = self._found
        if found is None or not found.findings:
            self.say("There is no finding to show.")
            return
        one = found.findings[self._chosen]
        margin = round((one.end_ps - one.start_ps) * AROUND)
        self.goto(one.start_ps - margin, one.end_ps + margin)


def _details(one: Finding) -> str:
    """How sure, and where."""
    parts = [f"{one.start_ps / PS_PER_S:.2f} … {one.end_ps / PS_PER_S:.2f} s"]
    if one.lo_watts is not None and one.hi_watts is not None:
        parts.append(f"95% {one.lo_watts:+.0f} … {one.hi_watts:+.0f} W")
    parts.append(f"p ≤ {one.p:.2g}")
    parts.append(one.badge.value)
    return " · ".join(parts)
