"""`b` in the list of runs: what a run belongs to. What was grouped by folder, host and time can be
put together otherwise.

First what the training was put together from, and why; Space marks parts, Enter asks where they
belong: to none, or to another training. It is kept in powertui's own state folder for the next
start, and `u` takes the last change back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from powertui.data.logdir import Logdir, RunEntry, TrainingEntry, by_hand, moves
from powertui.data.logdir.by_hand import Part
from powertui.data.logdir.moves import Move
from powertui.plain import plain
from powertui.screens.base import Dialog
from powertui.screens.choosing import ChoosingDialog
from powertui.view import training_groups
from powertui.widgets import background
from powertui.widgets.lists import Choices

if TYPE_CHECKING:
    from powertui.screens.open import OpenScreen

_ALONE = "none of these: a training of its own"
_NOTHING_ELSE = "There is no other training here to move it to, and it is part of none."
_NOTHING_LEFT = "There is nothing left to undo: everything is grouped as it was found."
_NOT_KEPT = "This lasts only until the folder is scanned again: {} cannot be written."


class PartsDialog(Dialog):
    """What one training was put together from; answers with the parts that are to go elsewhere, or
    None.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "take", show=False)]

    def __init__(self, entry: TrainingEntry, at: Collection[str]) -> None:
        super().__init__()
        self._entry = entry
        self._parts = by_hand.parts(entry)
        self._marked: set[int] = set()
        self._first = next(
            (number for number, part in enumerate(self._parts) if set(part.paths) & set(at)), 0
        )

    def compose(self) -> ComposeResult:
        with Vertical(id="markers"):
            yield Static(
                Text(
                    f"{plain(self._entry.name, 200)} is put together from",
                    no_wrap=True,
                    overflow="ellipsis",
                ),
                id="markers-title",
            )
            yield Choices(
                *(Option(self._line(number)) for number in range(len(self._parts))),
                markup=False,
                compact=True,
            )
            yield Static(
                Text(
                    f"{training_groups.why(self._entry)}\nSpace marks, Enter chooses where it "
                    "belongs, "
                    "Esc leaves everything as it is."
                ),
                id="markers-note",
            )

    def on_mount(self) -> None:
        listed = self.query_one(OptionList)
        listed.highlighted = self._first
        self.set_focus(listed)

    def _line(self, number: int) -> Text:
        part = self._parts[number]
        return Text(
            f"{'x' if number in self._marked else '-'} {part.kind:<9}  {plain(part.name, 200)}",
            no_wrap=True,
            overflow="ellipsis",
        )

    def action_take(self) -> None:
        """Mark the one under the cursor, or take its mark back; on to the next."""
        listed = self.query_one(OptionList)
        if listed.highlighted is None:
            return
        self._marked ^= {listed.highlighted}
        listed.replace_option_prompt_at_index(listed.highlighted, self._line(listed.highlighted))
        listed.highlighted = min(listed.highlighted + 1, len(self._parts) - 1)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click: those that are marked, else the one under the cursor."""
        event.stop()
        self.answer(
            [self._parts[number] for number in sorted(self._marked or {event.option_index})]
        )


class BelongsDialog(ChoosingDialog):
    """Where parts belong; answers with a training, with "" for none of them, or with None."""

    def __init__(self, what: str, others: Sequence[TrainingEntry], alone: bool) -> None:
        super().__init__()
        self._what = what
        self._others = others
        self._alone = alone
        self._shown: list[tuple[Option, TrainingEntry | str]] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="markers"):
            yield Static(
                Text(f"Where does {self._what} belong?", no_wrap=True, overflow="ellipsis"),
                id="markers-title",
            )
            yield Input(placeholder="any words of a training's name", compact=True)
            yield Choices(markup=False, compact=True)
            yield Static(
                "Enter moves it there, Esc leaves everything as it is.",
                id="markers-note",
                markup=False,
            )

    def fill(self, text: str) -> None:
        words = text.lower().split()
        fits = [
            training
            for training in self._others
            if all(word in training.name.lower() for word in words)
        ]
        alone = [_ALONE] if self._alone and not words else []
        options = [
            Option(Text(line, no_wrap=True, overflow="ellipsis"))
            for line in alone + training_groups.lines(fits)
        ]
        self._shown = list(zip(options, [*([""] if alone else []), *fits], strict=True))
        listed = self.query_one(Choices)
        listed.clear_options()
        listed.add_options(options)
        listed.highlighted = 0 if options else None

    def choose(self, option: Option) -> None:
        shown = next((choice for listed, choice in self._shown if listed is option), None)
        if shown is not None:
            self.answer(shown)


class Regrouping:
    """The key's work, in threads, one change after the other.

    Folders may be looked through anew meanwhile.
    """

    def __init__(self, page: OpenScreen) -> None:
        self._page = page
        self._changes: deque[Callable[[], None]] = (
            deque()
        )  # the first is being made, the others wait for what it leaves

    def begin(self, run: RunEntry, marked: Sequence[RunEntry]) -> None:
        """Ask where the marked runs belong, else what of the training around this run does not
        belong there.
        """
        folder = self._page.session.logdir
        if folder is None or not folder.complete:
            self._page.say("The folders are still being searched.")
            return

        def asked(all_: tuple[TrainingEntry, ...]) -> None:
            if self._page.is_current:
                self._ask(all_, marked or (run,), bool(marked))

        background.begin(self._page, "regroup", lambda _check: folder.trainings, asked)

    def _ask(self, all_: Sequence[TrainingEntry], chosen: Sequence[RunEntry], marked: bool) -> None:
        training_entries = [
            entry for entry in all_ if any(grouped_with(entry, mine) for mine in chosen)
        ]
        if not training_entries:
            self._page.say(
                "It belongs to no training: it holds no profile, no scalars and no power."
            )
            return
        keys = {by_hand.key_of(mine) for mine in chosen}
        parts = [part for entry in training_entries for part in by_hand.parts(entry)]
        if marked:
            self._where(
                all_,
                training_entries,
                [part for part in parts if part.kind == "session" and keys & set(part.paths)]
                or parts,
            )
        elif len(parts) == 1:
            self._where(all_, training_entries, parts)
        else:

            def answered(some: list[Part] | None) -> None:
                if some:
                    self._where(all_, training_entries[:1], some)

            self._page.shell.ask(PartsDialog(training_entries[0], keys), answered)

    def _where(
        self,
        all_: Sequence[TrainingEntry],
        training_entries: Sequence[TrainingEntry],
        parts: Sequence[Part],
    ) -> None:
        """Ask where some parts belong."""
        everything = len(training_entries) == 1 and len(parts) == len(
            by_hand.parts(training_entries[0])
        )
        others = training_groups.others(
            training_entries if len(training_entries) == 1 else (), all_
        )
        if not others and everything:
            self._page.say(_NOTHING_ELSE)
            return

        def answered(target: TrainingEntry | str | None) -> None:
            if target is None:
                return
            to = target if isinstance(target, TrainingEntry) else None
            move = by_hand.move(parts, training_entries, to)
            whose = "to no other training"
            if to is not None:
                whose = f"to {plain(to.name, 80)}"
            said = (
                f"{training_groups.named(parts)} now {'belongs' if len(parts) == 1 else 'belong'} "
                f"{whose}. u undoes it."
            )
            self._then(
                lambda: self._lay(
                    lambda moves: moves if moves[-1:] == (move,) else (*moves, move),
                    lambda: moves.add(move),
                    said[:1].upper() + said[1:],
                )
            )

        self._page.shell.ask(
            BelongsDialog(training_groups.named(parts), others, alone=not everything), answered
        )

    def undo(self) -> bool:
        """Take the last change back, also one that is still being made.

        False where nothing was changed by hand.
        """
        folder = self._page.session.logdir
        if folder is None or not (folder.moves or self._changes):
            return False
        self._then(self._take_back)
        return True

    def _take_back(self) -> None:
        folder = self._page.session.logdir
        if folder is None or not folder.moves:
            self._page.say(_NOTHING_LEFT)
            self._made()
            return
        last = folder.moves[-1]
        self._lay(
            lambda moves: moves[:-1] if moves[-1:] == (last,) else moves,
            lambda: moves.take_back(last),
            "The last change of the grouping is undone.",
        )

    def _then(self, change: Callable[[], None]) -> None:
        """Make a change after those that are asked for already: each begins with what the one
        before left.
        """
        self._changes.append(change)
        if len(self._changes) == 1:
            change()

    def _made(self) -> None:
        self._changes.popleft()
        if self._changes:
            self._changes[0]()

    def _lay(
        self,
        change: Callable[[tuple[Move, ...]], tuple[Move, ...]],
        keep: Callable[[], bool],
        said: str,
    ) -> None:
        page = self._page
        folder = page.session.logdir
        if folder is None:
            self._made()
            return

        def work(_check: background.CancelCheck) -> tuple[Logdir, bool]:
            kept = keep()
            now = by_hand.corrected(folder, change(folder.moves))
            now.trainings  # noqa: B018  # asking for it works it out
            return now, kept

        def done(answer: tuple[Logdir, bool]) -> None:
            now, kept = answer
            if page.session.logdir is not folder:  # looked through anew meanwhile
                self._lay(change, lambda: kept, said)
                return
            page.regrouped(now)
            page.say(
                said if kept else f"{said} {_NOT_KEPT.format(moves.place().parent)}", warn=not kept
            )
            self._made()

        background.begin(page, "lay", work, done)


def grouped_with(entry: TrainingEntry, run: RunEntry) -> bool:
    """Whether a row of the list is of this training: one of its sessions, or all of it."""
    return any(
        (session.path, session.name) == (run.path, run.name) for session in entry.sessions
    ) or (
        (entry.path, entry.name) == (run.path.partition("#")[0], run.name)
        or (
            not run.profiles
            and not entry.sessions
            and bool(run.power)
            and {log.path for log in run.power} == {log.path for log in entry.power}
        )
    )
