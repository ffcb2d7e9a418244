"""Findings: everything to conclude from the run, the most important first, with the power of the
chosen one. Enter goes to its place in the timeline, or to the table that shows it.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Click, Resize

from powertui.data.asked import Aligning
from powertui.data.conclusions.conclusion import Conclusion, Conclusions
from powertui.data.conclusions.run_conclusions import run_conclusions, smaller_conclusions
from powertui.data.energy import account
from powertui.data.energy.findings import finding_texts
from powertui.data.energy.findings.finding import Against, Finding, Findings, Unopened
from powertui.data.opened import Opened
from powertui.data.overview.run_steps import RunWork
from powertui.plain import plain
from powertui.screens import frame
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.conclusion_lines import NO_MARK, ConclusionLines
from powertui.terminal import glyphs as glyph_sets
from powertui.value_types import dataclass
from powertui.view import finding_lines
from powertui.widgets.folded_chart import AgainstView, FoldedChart, FoldedView
from powertui.widgets.lines import LinesPane, StyledLine

_MIN_CHART_LINES = 12  # that the curves get, however many conclusions there are


@dataclass(frozen=True, eq=False)
class _Answer:
    """What the page shows of a run."""

    conclusions: Conclusions
    findings: tuple[Findings, ...]  # of each host
    work: RunWork

    @property
    def smaller_count(self) -> int:
        """Smaller differences, which have no line of their own until somebody asks."""
        return sum(len(findings.smaller) for findings in self.findings)


def _answer(opened: Opened, aligning: Aligning) -> _Answer:
    from powertui.data.overview.run_steps import run_work

    conclusions = run_conclusions(opened, aligning)
    findings = tuple(account.findings(profile, aligning) for profile in opened.profiles)
    return _Answer(
        conclusions,
        findings or _of_training(opened, aligning),
        run_work(opened, aligning),
    )


def _of_training(opened: Opened, aligning: Aligning) -> tuple[Findings, ...]:
    """What the power of a training shows that was never profiled, without smaller differences:
    nobody can say why they are.
    """
    from powertui.data.training.training import Training
    from powertui.data.training.training_energy import training_energy

    training = opened.around
    if not isinstance(training, Training) or not training.logs.power:
        return ()
    findings = training_energy(training.seen_from(None, aligning)).findings
    return (replace(findings, smaller=Unopened()),)


class SymmetryScreen(BaseScreen):
    """What to conclude from the run."""

    NAME = "symmetry"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("symmetry")
    AUTO_FOCUS = None

    def __init__(self) -> None:
        super().__init__()
        self._found: _Answer | None = None
        self._smaller: tuple[Conclusion, ...] = ()  # the smaller differences, once looked up
        self._request: tuple[object, ...] = ()  # what the conclusions are made from
        self._line = 0
        self._chosen = 0
        self._times = False
        self._is_unfolding = False  # the smaller differences are being looked up
        self._is_unfolded = False  # whether they are listed, too
        self._begins: list[int] = []  # the line at which each conclusion begins

    def body(self) -> ComposeResult:
        look = self.shell.look
        glyphs = self.shell.capabilities.glyphs
        yield LinesPane(theme=look, glyphs=glyphs, id="findings")
        yield FoldedChart(theme=look, glyphs=glyphs, id="folded")

    # ── computing ────────────────────────────────────────────────────────────────────────────────

    def session_changed(self) -> None:
        """Another run or another alignment: conclude again, in a thread."""
        if not self.is_mounted:
            return
        session = self.session
        opened = session.opened
        why = frame.why_empty(session, self.NAME)
        if opened is None or not session.complete or why:
            self._say_only(why if session.complete else "Reading …")
            return
        aligning = session.aligning
        request = (opened, session.run, session.trace_index, aligning)
        if self._request == request:
            self._draw()
            return
        self._request = request
        self._found = None
        self._say_only("Looking for findings …")

        def work() -> None:
            self.shell.from_thread(self._computed, request, _answer(opened, aligning))

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

    def _computed(self, request: tuple[object, ...], answer: _Answer) -> None:
        if request != self._request:
            return
        self._found = answer
        self._smaller = ()
        self._is_unfolding = False
        self._is_unfolded = False
        self._chosen = 0
        self._times = False
        self._line = 0
        findings = self._findings
        if findings is not None and findings.folded is not None:
            self._line = len(findings.folded.epochs) - 1
        self._look_at_chosen()
        self._draw()
        self.top_line()
        self.footer()

    @property
    def _findings(self) -> Findings | None:
        """Those of the host that is looked at."""
        if self._found is None or not self._found.findings:
            return None
        of_hosts = self._found.findings
        # A training that was never profiled has findings, and no host.
        return of_hosts[min(self.session.trace_index, len(of_hosts) - 1)]

    def _unfold(self, answer: _Answer) -> None:
        """List the smaller differences, too. A thread looks up why each of them is one."""
        opened = self.session.opened
        aligning = self.session.aligning
        if opened is None:
            return

        def listed(smaller: tuple[Conclusion, ...]) -> None:
            self._is_unfolding = False
            if self._found is answer:
                self._smaller = smaller
                self._is_unfolded = True
                self._draw()

        self._is_unfolding = True

        def work() -> None:
            self.shell.from_thread(listed, smaller_conclusions(opened, aligning))

        self.run_worker(work, thread=True, exclusive=True, group="symmetry")

    def _listed(self) -> tuple[Conclusion, ...]:
        """The conclusions that have a line of their own."""
        if self._found is None:
            return ()
        return (*self._found.conclusions.items, *self._smaller)

    @property
    def _chosen_conclusion(self) -> Conclusion | None:
        """The one under the cursor; None where the smaller differences are, or nothing is."""
        listed = self._listed()
        if self._chosen < len(listed):
            return listed[self._chosen]
        return None

    @property
    def _chosen_finding(self) -> Finding | None:
        conclusion = self._chosen_conclusion
        if conclusion is None:
            return None
        return conclusion.finding

    def _look_at_chosen(self) -> None:
        """Put the epoch of the chosen finding in front."""
        findings = self._findings
        finding = self._chosen_finding
        if finding is None or findings is None:
            return
        self._times = finding.kind == "time"
        if findings.folded is not None and finding.epoch in findings.folded.epochs:
            self._line = findings.folded.epochs.index(finding.epoch)

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def _say_only(self, text: str) -> None:
        dim = self.shell.look.style("dim")
        line = ((NO_MARK, dim), (text, Style.null()))
        pane = self.query_one("#findings", LinesPane)
        pane.styles.height = "1fr"
        pane.set_lines((line,))
        self.query_one("#folded", FoldedChart).display = False

    def _draw(self) -> None:
        answer = self._found
        findings = self._findings
        if answer is None:
            return
        pane = self.query_one("#findings", LinesPane)
        chart = self.query_one("#folded", FoldedChart)
        chart.display = self._show_chart(chart, findings)
        height = self.size.height - 2
        lines = self._lines(answer, findings, all_next=not chart.display)
        if not chart.display and len(lines) > height:
            lines = self._lines(answer, findings, all_next=False)
        if chart.display:
            room = max(3, height - max(_MIN_CHART_LINES, height // 2))
            pane.styles.height = min(len(lines) + 1, room)
        else:
            pane.styles.height = "1fr"
            lines += self._work_below(answer.work, height - len(lines))
        pane.set_lines(lines)

    def _work_below(self, work: RunWork, rows: int) -> list[StyledLine]:
        """The steps' times, then the ops, in rows that nothing else needs: most conclusions are
        about them.
        """
        below = finding_lines.work_below(
            work.steps,
            work.ops,
            self.size.width,
            rows,
            self.shell.capabilities.stack_glyphs,
        )
        lines: list[StyledLine] = []
        for pieces in below:
            line = [(text, self.shell.look.ink(role)) for text, role in pieces]
            lines.append(tuple(line))
        return lines

    def _show_chart(self, chart: FoldedChart, findings: Findings | None) -> bool:
        """Draw the power, or the lengths of steps, around the chosen one; False without any."""
        shown = self._of_this_host()
        finding = self._chosen_finding
        number = -1
        if finding in shown:
            number = shown.index(finding)
        around = self._around(findings, finding)
        if around is not None:
            chart.show(AgainstView(around, shown, number, profiled=False))
        elif findings is not None and findings.folded is not None:
            folded = FoldedView(
                findings.folded,
                self._line,
                shown,
                number,
                self._times,
            )
            chart.show(folded)
        elif findings is not None and findings.against is not None:
            chart.show(AgainstView(findings.against, shown, number))
        else:
            chart.show(None, "")
            return False
        return True

    def _around(self, findings: Findings | None, finding: Finding | None) -> Against | None:
        """The readings of the training, where the chosen finding was not profiled."""
        opened = self.session.opened
        if findings is None or opened is None:
            return None
        if not opened.profiles:
            return findings.against
        if finding is None or finding.kind != "power":
            return None
        profile = opened.profiles[self.session.trace_index]
        lo, hi = profile.trace.span
        is_outside = finding.end_ps <= lo or finding.start_ps >= hi
        if is_outside:
            return findings.around
        return None

    def _of_this_host(self) -> tuple[Finding, ...]:
        """The findings of the host that is looked at, which its chart can show."""
        findings = []
        for conclusion in self._listed():
            stretch = conclusion.stretch
            if conclusion.finding is None or stretch is None:
                continue
            if stretch.host == self.session.trace_index:
                findings.append(conclusion.finding)
        return tuple(findings)

    def _lines(
        self,
        answer: _Answer,
        findings: Findings | None,
        *,
        all_next: bool,
    ) -> list[StyledLine]:
        """The page as lines. What to do next stands below the chosen conclusion, or below all."""
        drawing = ConclusionLines(
            theme=self.shell.look,
            glyphs=glyph_sets.get(self.shell.capabilities.glyphs),
            cells=self.size.width,
        )
        lines: list[StyledLine] = []
        self._begins = []
        for number, conclusion in enumerate(self._listed()):
            self._begins.append(len(lines))
            is_chosen = number == self._chosen
            lines += drawing.conclusion(
                conclusion,
                is_chosen=is_chosen,
                shows_next=all_next or is_chosen,
            )
        if not answer.conclusions.items:
            lines += drawing.looked_at(answer.conclusions.looked_at)
        if self._can_unfold:
            self._begins.append(len(lines))
            words = finding_texts.folded(answer.smaller_count)
            is_chosen = self._chosen == len(answer.conclusions)
            lines.append(drawing.folded(words, is_chosen=is_chosen))
        for note in finding_lines.notes(findings):
            lines += drawing.note(note)
        return lines

    @property
    def _can_unfold(self) -> bool:
        """Whether there are smaller differences that are not listed yet."""
        if self._found is None or self._is_unfolded:
            return False
        return bool(self._found.smaller_count)

    def useful(self) -> Iterable[str | tuple[str, str]]:
        """Of the chosen conclusion first."""
        chosen = self._chosen_conclusion
        if chosen is not None:
            is_in_timeline = chosen.stretch is not None or chosen.evidence.tool == "timeline"
            if is_in_timeline:
                yield "finding-show", "show it in the timeline"
            else:
                yield "finding-show", "show the table"
        elif self._can_unfold:
            yield "finding-show", "list the smaller ones"
        if len(self._listed()) + self._can_unfold > 1:
            yield "finding-up+finding-down", "choose"
        findings = self._findings
        if findings is not None and findings.folded is not None:
            yield "other-epoch-back+other-epoch", "other epoch"
            yield "power-or-time", "power or time"

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def move(self, by: int) -> None:
        """So many conclusions down."""
        pane = self.query_one("#findings", LinesPane)
        last = len(self._listed()) + self._can_unfold - 1
        chosen = min(max(0, self._chosen + by), last)
        if last < 0 or chosen == self._chosen:
            pane.scroll_lines(by)  # past the last one: to the notes below it
            return
        self._chosen = chosen
        self._look_at_chosen()
        self._draw()
        self.footer()
        begin = self._begins[chosen]
        end = begin + 1  # the last one is a single line
        if chosen + 1 < len(self._begins):
            end = self._begins[chosen + 1]
        lines_below = max(0, end - pane.size.height - pane.top)
        lines_above = min(0, begin - pane.top)
        pane.scroll_lines(lines_below or lines_above)

    def on_click(self, event: Click) -> None:
        """A click chooses a conclusion, a second one shows it."""
        pane = self.query_one("#findings", LinesPane)
        offset = event.get_content_offset(pane)
        if event.widget is not pane or offset is None or not self._listed():
            return
        line = pane.top + offset.y
        number = bisect.bisect_right(self._begins, line) - 1
        if number == self._chosen:
            self.action_finding_show()
        elif number >= 0:
            self.move(number - self._chosen)

    def turn(self, by: int) -> None:
        """Another epoch against the others."""
        findings = self._findings
        if findings is not None and findings.folded is not None:
            self._line = (self._line + by) % len(findings.folded.epochs)
            self._draw()

    def action_power_or_time(self) -> None:
        """Watts or lengths of steps."""
        self._times = not self._times
        self._draw()

    def action_finding_show(self) -> None:
        """Go to the stretch in the timeline, or to the table that shows it."""
        listed = self._listed()
        if self._found is not None and self._can_unfold and self._chosen == len(listed):
            self._unfold(self._found)
            return
        if not listed:
            self.say("There is nothing to show.")
            return
        conclusion = listed[min(self._chosen, len(listed) - 1)]
        stretch = conclusion.stretch
        if stretch is None:
            self._show_evidence(conclusion)
        elif stretch.host != self.session.trace_index:
            opened = self.session.opened
            host = plain(opened.profiles[stretch.host].host) if opened else ""
            self.say(f"That is on host {host}: choose it in the timeline with H.")
        else:
            self.goto(stretch.start_ps, stretch.end_ps, mark=True)

    def _show_evidence(self, conclusion: Conclusion) -> None:
        if conclusion.evidence.tool == "timeline":
            self.shell.show("timeline", how="into")
        else:
            self.shell.show_tool(conclusion.evidence.tool, how="into")
