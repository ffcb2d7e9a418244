"""`=`: choose what the run in front is compared with, and show the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from powertui.screens.compare_choices import (
    NOTHING_TO_COMPARE,
    CompareChoice,
    compare_choices,
)

if TYPE_CHECKING:
    from powertui.screens.compare import CompareScreen
    from powertui.screens.open import OpenScreen
    from powertui.screens.shell import Shell


def compare(shell: Shell) -> None:
    """Compare at once where one thing can be meant, else ask."""
    page = shell.current()
    if page is not None and page.page_name == "open":
        cast("OpenScreen", page).marks.open_to_compare()
    if page is None or shell.session.entry is None:
        shell.say("Mark two runs with Space first, or open one with Enter.", warn=True)
        return
    if not shell.session.entry.profiles:
        shell.say("This run has no profile, so there are no steps to compare.", warn=True)
        return
    choices = compare_choices(shell)
    if not choices:
        shell.say(NOTHING_TO_COMPARE, warn=True)
        return
    is_asked_again = page.page_name == "compare"
    obvious = None if is_asked_again else _obvious(choices)
    if obvious is not None:
        _show(shell, obvious)
        return
    from powertui.screens.compare_dialog import CompareDialog

    def chosen(choice: CompareChoice | None) -> None:
        if choice is not None:
            _show(shell, choice)

    shell.ask(CompareDialog(choices, shell.look), chosen)


def _obvious(choices: list[CompareChoice]) -> CompareChoice | None:
    """The only choice, or the only other run that is open."""
    open_runs = [choice for choice in choices if choice.is_open]
    if len(open_runs) == 1:
        return open_runs[0]
    return choices[0] if len(choices) == 1 else None


def _show(shell: Shell, choice: CompareChoice) -> None:
    page = cast("CompareScreen", shell.page("compare"))
    page.choose(choice)
    shell.show("compare", how="into")
    shell.tell()
