"""`e`: write the window to a file.

A form of three fields; what is written where is the business of `data.export`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from powertui import units
from powertui.data import export
from powertui.data.export import files
from powertui.data.training.training_energy import run_of, training_energy
from powertui.errors import PowertuiError
from powertui.plain import plain
from powertui.screens.base import Dialog
from powertui.screens.session import Session
from powertui.widgets.lists import Choices

if TYPE_CHECKING:
    from powertui.screens.shell import Shell

_MEANINGS = {
    "samples": "watts of every channel, with epoch, step and op",
    "steps": "times, joules and watts of every step",
    "ops": "count, total, self and share of every op",
    "events": "every event as recorded",
    "perfetto": "events and power as JSON, for ui.perfetto.dev",
}


NOTHING_TO_EXPORT = "There is nothing to export: no power, no steps and no events."


def offered(session: Session) -> tuple[str, ...]:
    """What there is to export of the run in front."""
    events = session.run is not None and session.run.event_count > 0
    there = {
        "samples": any(channel.status != "none" for channel in session.power),
        "steps": events and len(session.steps) > 0,
        "ops": events,
        "events": events,
        "perfetto": events,
    }
    return tuple(what for what in export.WHAT if there[what])


def _suggested_name(run: str, what: str) -> str:
    """A file name of letters that every file system takes."""
    stem = (
        "".join(char if char.isalnum() or char in "-_" else "-" for char in run.rsplit("/", 1)[-1])[
            :60
        ].strip("-")
        or "window"
    )
    return f"{stem}-{what}.{'json' if what == 'perfetto' else 'csv'}"


class ExportDialog(Dialog):
    """Answers with the sentence to show, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "choose(1)", show=False),
        Binding("up", "choose(-1)", show=False),
    ]

    def __init__(self, session: Session, lo: int, hi: int) -> None:
        super().__init__()
        self._session = session
        self._offered = offered(session)
        self._lo = lo
        self._hi = hi
        self._exists = ""  # the path that a second Enter overwrites
        self._busy = False

    def compose(self) -> ComposeResult:
        marked = "The marked window" if self._session.window is not None else "The visible window"
        length = units.duration(self._hi - self._lo)
        with Vertical(id="export"):
            yield Static(
                f"Export. {marked}: {units.instant(self._lo, self._hi - self._lo)} + {length}",
                id="export-title",
                markup=False,
            )
            options = [
                Option(Text.assemble((f"{what:<10}", "bold"), _MEANINGS.get(what, "")), id=what)
                for what in self._offered
            ]
            yield Choices(*options, markup=False, compact=True)
            yield Static(
                "File (.csv, .json or .parquet); Enter writes, Esc cancels",
                classes="label",
                markup=False,
            )
            yield Input(compact=True)
            yield Static("", id="export-message", markup=False)

    def on_mount(self) -> None:
        listed = self.query_one(OptionList)
        listed.can_focus = False
        listed.highlighted = 0
        box = self.query_one(Input)
        box.cursor_blink = False
        self.set_focus(box)
        self._suggest()

    def awaits(self, action: str) -> str:
        return "the file" if self._busy else ""

    @property
    def what(self) -> str:
        """What is chosen in the list."""
        return self._offered[self.query_one(OptionList).highlighted or 0]

    def action_choose(self, by: int) -> None:
        """Up and down choose what is written."""
        self.query_one(Choices).move_highlight(by)

    @on(OptionList.OptionHighlighted)
    def _suggest(self) -> None:
        assert self._session.run is not None
        box = self.query_one(Input)
        names = {_suggested_name(self._session.run.name, what) for what in self._offered}
        if not box.value or box.value in names:  # a name that was typed stays
            box.value = _suggested_name(self._session.run.name, self.what)
            box.cursor_position = len(box.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Another name: another question."""
        event.stop()
        self._exists = ""
        self._say("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        if self._busy or self._session.run is None:
            return
        try:
            path, there = files.look(event.value.strip())
        except PowertuiError as error:
            self._say(str(error))
            return
        if not event.value.strip() or there == "folder":
            self._say("Name a file.")
            return
        if there == "file" and self._exists != str(path):
            self._exists = str(path)
            self._say(f"{path} already exists. Press Enter again to replace it.")
            return
        self._busy = True
        self._say("Writing …")
        run = self._session.run
        index = self._session.trace_index
        power = self._session.power
        what = self.what
        force = bool(self._exists)
        shell = cast("Shell", self.app)
        training = self._session.training

        def write() -> None:
            try:
                of = run
                total = None
                if not run.traces and training is not None:  # scalars and power, or power alone
                    on_axis = training.seen_from()
                    of = run_of(on_axis)
                    total = training_energy(on_axis).energy(self._lo, self._hi)
                message = export.write(
                    of,
                    index,
                    self._lo,
                    self._hi,
                    what=what,
                    path=str(path),
                    force=force,
                    power=power,
                    total=total,
                )
            except (PowertuiError, OSError) as error:
                shell.from_thread(self._failed, str(error))
            else:
                shell.from_thread(self._written, message)

        self.run_worker(write, thread=True, exclusive=True)

    def _written(self, message: str) -> None:
        if not self.answer(message):
            cast("Shell", self.app).say(message)  # Esc came first: it is written all the same

    def _failed(self, message: str) -> None:
        self._busy = False
        if self.is_current:
            self._say(message)
        else:
            cast("Shell", self.app).say(message, warn=True)

    def _say(self, message: str) -> None:
        self.query_one("#export-message", Static).update(Text(plain(message)))
