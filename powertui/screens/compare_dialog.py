"""`=` where several things can be compared: a list of them that narrows."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from powertui.plain import plain, width
from powertui.screens.choosing import ChoosingDialog
from powertui.screens.compare_choices import CompareChoice
from powertui.terminal.theme import Theme
from powertui.view.fuzzy import fuzzy_rank
from powertui.widgets.lists import Choices

_MAX_NAME_CELLS = 60


class CompareDialog(ChoosingDialog):
    """Answers with a choice, or None."""

    def __init__(self, choices: Sequence[CompareChoice], look: Theme) -> None:
        super().__init__()
        self._look = look
        self._choices = choices
        self._names = [plain(choice.name, _MAX_NAME_CELLS) for choice in choices]

    def compose(self) -> ComposeResult:
        with Vertical(id="palette"):
            yield Input(placeholder="compare with: any letters of a name", compact=True)
            yield Choices(markup=False, compact=True)

    def fill(self, text: str) -> None:
        ranks = []
        for number, choice in enumerate(self._choices):
            rank = fuzzy_rank(text, (self._names[number],), choice.about)
            if rank is not None:
                ranks.append((rank, number))
        name_cells = max(map(width, self._names), default=0)
        options = []
        for _, number in sorted(ranks):
            options.append(Option(self._line(number, name_cells), id=str(number)))
        listed = self.query_one(OptionList)
        listed.clear_options()
        if not options:
            sentence = Text(
                "Nothing to compare with matches these letters.", self._look.style("warn")
            )
            options = [Option(sentence, disabled=True)]
        listed.add_options(options)
        listed.highlighted = 0 if ranks else None

    def _line(self, number: int, name_cells: int) -> Text:
        name = self._names[number]
        line = Text(no_wrap=True, overflow="ellipsis")
        padding = " " * (name_cells - width(name))
        line.append(f" {name}{padding}", self._look.style("title"))
        line.append(f"  {self._choices[number].about}", self._look.style("dim"))
        return line

    def choose(self, option: Option) -> None:
        if option.id is not None:
            self.answer(self._choices[int(option.id)])
