"""Findings: epochs on top of each other, and by itself what makes one unlike the others. Enter goes there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import BindingType

from powertui.data.energy import account
from powertui.data.energy.findings import told
from powertui.data.energy.findings.finding import Finding, Findings
from powertui.data.model import PS_PER_S
from powertui.plain import plain
from powertui.screens.base import BaseScreen, bindings_for
from powertui.widgets.folded_chart import AgainstView, FoldedChart, FoldedView
from powertui.widgets.lines import LinesPane, StyledLine


class SymmetryScreen(BaseScreen):
    """What stands out: power that nothing explains, epochs unlike the others, steps unlike their neighbours."""

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
        self._unfolded = False  # whether the smaller differences are listed, too

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
        self._say_only("Looking for what stands out …")
        profile, aligning = session.profile, session.aligning
        assert profile is not None

        def work() -> None:
            self.shell.from_thread(self._computed, of, account.findings(profile, aligning))

        self.run_worker(work, thread=True, exclusive=True, group="symmetry")

    def _computed(self, of: tuple[object, ...], found: Findings) -> None:
        if of != self._of:
            return
        self._found = found
        self._chosen = 0
        self._unfolded = self._times = False
        self._line = len(found.folded.epochs) - 1 if found.folded is not None else 0
        self._look_at(self._listed()[:1])
        self._draw()
        self.top_line()
        self.footer()

    def _listed(self) -> tuple[Finding, ...]:
        """The findings that have a line of their own."""
        if self._found is None:
            return ()
        return self._found.findings + (self._found.smaller if self._unfolded else ())

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
            self.query_one("#folded", FoldedChart).show(AgainstView(found.against, self._listed(), self._chosen))
        elif found.folded is None:
            self.query_one("#folded", FoldedChart).show(None, f"Epochs were not compared: {plain(found.reason, 200)}.")
        else:
            view = FoldedView(found.folded, self._line, self._listed(), self._chosen, self._times)
            self.query_one("#folded", FoldedChart).show(view)
        pane = self.query_one("#findings", LinesPane)
        lines = self._lines(found)
        pane.styles.height = min(
            max(3, self.size.height // (2 if found.folded is None and found.against is None else 3)), len(lines) + 1
        )
        pane.set_lines(lines)

    def _lines(self, found: Findings) -> list[StyledLine]:
        style = self.shell.look.style
        lines: list[StyledLine] = []
        for number, one in enumerate(self._listed()):
            ink, mark = self._ink(number)
            what, _, why = one.text.partition("; ")
            lines.append(((mark, style("title")), (plain(what, 300), ink)))
            reason = (plain(f"{why} · " if why else "", 200), style("text"))
            lines.append((("     ", style("dim")), reason, (_details(one), style("dim"))))
        if not found.findings:
            lines.append((("   ", style("dim")), ("Nothing stands out that matters.", style("ok"))))
        if found.smaller and not self._unfolded:
            ink, mark = self._ink(len(found.findings))
            lines.append(((mark, style("title")), (f"{told.folded(len(found.smaller))}: Enter", ink)))
        apart = f"Epochs were not compared: {found.reason}" if found.folded is None and found.reason else ""
        rest = [found.could, *found.notes, apart]
        return lines + [(("   ", style("dim")), (plain(note, 300), style("dim"))) for note in rest if note]

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
            yield from (("other-epoch-back+other-epoch", "other epoch"), ("power-or-time", "power or time"))

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def move(self, by: int) -> None:
        """So many findings down."""
        found, listed = self._found, self._listed()
        count = len(listed) + (1 if found is not None and found.smaller and not self._unfolded else 0)
        if not count:
            self.query_one("#findings", LinesPane).scroll_lines(by)
            return
        self._chosen = min(max(0, self._chosen + by), count - 1)
        self._look_at(listed[self._chosen : self._chosen + 1])
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
        found, listed = self._found, self._listed()
        if found is not None and self._chosen == len(listed) and found.smaller and not self._unfolded:
            self._unfolded = True
            self._draw()
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
    parts.append(f"p ≤ {one.p:.2g}")
    parts.append(f"told by {', '.join(one.witnesses)}")
    parts.append(one.badge.value)
    return " · ".join(parts)
