"""The lines of the page of findings: conclusions with what they cost, and what is below them."""

from __future__ import annotations

from rich.style import Style

from powertui.data.conclusions.conclusion import Conclusion
from powertui.plain import plain
from powertui.terminal.glyphs import Glyphs
from powertui.terminal.theme import Theme
from powertui.value_types import dataclass
from powertui.view import cost_column, finding_lines
from powertui.view.overview_lines import sentence
from powertui.view.step_bars import LinePieces
from powertui.widgets.lines import StyledLine, wrapped

_NOTE_INDENT = 3  # cells before a note, and before the rest of it
_INDENT = 2  # cells before the rest of a line below a conclusion
_CHOSEN_MARK = " > "
NO_MARK = " " * len(_CHOSEN_MARK)


@dataclass(frozen=True)
class ConclusionLines:
    """Draws them in a page of so many cells."""

    theme: Theme
    glyphs: Glyphs
    cells: int

    @property
    def _cost_cells(self) -> int:
        return cost_column.column_cells(self.cells)

    def conclusion(
        self,
        conclusion: Conclusion,
        *,
        is_chosen: bool,
        shows_next: bool,
    ) -> list[StyledLine]:
        """What it costs; beside that the sentence, how sure it is, and what to do next."""
        costs = cost_column.cost_column(conclusion.cost, self.cells, self.glyphs)
        no_cost: LinePieces = ((" " * self._cost_cells, "dim"),)
        mark = _CHOSEN_MARK if is_chosen else NO_MARK
        lines: list[StyledLine] = []
        for row, text in enumerate(self._text(conclusion, is_chosen, shows_next)):
            cost = no_cost
            if row < len(costs):
                cost = costs[row]
            lead = mark if row == 0 else NO_MARK
            line = [(lead, self._style("title"))]
            for words, role in cost:
                line.append((words, self._style(role)))
            lines.append((*line, *text))
        return lines

    def _text(
        self,
        conclusion: Conclusion,
        is_chosen: bool,
        shows_next: bool,
    ) -> list[StyledLine]:
        cells = self.cells - len(NO_MARK) - self._cost_cells
        words = plain(conclusion.sentence, 600)
        details = finding_lines.details(conclusion)
        lines = wrapped(((words, self.ink(is_chosen)),), cells, 0)
        lines += wrapped(((details, self._style("dim")),), cells, _INDENT)
        if shows_next and conclusion.next:
            to_do = f"To do: {plain(conclusion.next, 300)}"
            lines += wrapped(((to_do, self._style("text")),), cells, _INDENT)
        return lines

    def looked_at(self, words: str) -> list[StyledLine]:
        """What was looked at, where nothing is to be concluded."""
        line = (
            (NO_MARK, self._style("dim")),
            (plain(words, 400), self._style("ok")),
        )
        return wrapped(line, self.cells, _INDENT)

    def folded(self, words: str, *, is_chosen: bool) -> StyledLine:
        """The line that stands for smaller differences."""
        mark = _CHOSEN_MARK if is_chosen else NO_MARK
        lead = mark + " " * self._cost_cells
        text = f"{self.glyphs.closed} {words}"
        return (
            (lead, self._style("title")),
            (text, self.ink(is_chosen)),
        )

    def note(self, words: str) -> list[StyledLine]:
        text = sentence(plain(words, 300))
        line = ((" " * _NOTE_INDENT + text, self._style("dim")),)
        return wrapped(line, self.cells, _NOTE_INDENT)

    def ink(self, is_chosen: bool) -> Style:
        """The style of a conclusion's sentence."""
        return self._style("marked" if is_chosen else "text")

    def _style(self, role: str) -> Style:
        return self.theme.style(role)
