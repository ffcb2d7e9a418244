"""`e`: write the window, or a picture of the page, to a file.

A form of three fields; what is written where is the business of `data.export`.
"""

from __future__ import annotations

from pathlib import Path
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
from powertui.screens.answer_threads import writing
from powertui.screens.base import Dialog
from powertui.screens.session import Session
from powertui.value_types import dataclass
from powertui.widgets.lists import Choices

if TYPE_CHECKING:
    from powertui.screens.shell import Shell

_MEANINGS = {
    "samples": "watts of every channel, with epoch, step and op",
    "steps": "times, joules and watts of every step",
    "ops": "count, total, self and share of every op",
    "events": "every event as recorded",
    "perfetto": "events and power as JSON, for ui.perfetto.dev",
    "openmetrics": "power and steps with Unix times, for Prometheus",
    "page": "a picture of this page as SVG",
}
_ENDINGS = {"perfetto": "json", "openmetrics": "om", "page": "svg"}  # csv for all else


@dataclass(frozen=True)
class PageOnScreen:
    """What the page showed when it was asked for, as SVG."""

    title: str
    svg: str


def offered(session: Session) -> tuple[str, ...]:
    """What there is to export of the run in front."""
    events = session.run is not None and session.run.event_count > 0
    power = any(channel.status != "none" for channel in session.power)
    there = {
        "samples": power,
        "steps": events and len(session.steps) > 0,
        "ops": events,
        "events": events,
        "perfetto": events,
        "openmetrics": power,
    }
    return tuple(what for what in export.WHAT if there[what])


def _suggested_name(run: str, contents: str, what: str) -> str:
    """A file name of letters that every file system takes."""
    stem = (
        "".join(char if char.isalnum() or char in "-_" else "-" for char in run.rsplit("/", 1)[-1])[
            :60
        ].strip("-")
        or "window"
    )
    return f"{stem}-{contents}.{_ENDINGS.get(what, 'csv')}"


class ExportDialog(Dialog):
    """Answers with the sentence to show, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "choose(1)", show=False),
        Binding("up", "choose(-1)", show=False),
    ]

    def __init__(
        self,
        session: Session,
        page: PageOnScreen,
        window: tuple[int, int] | None,
    ) -> None:
        super().__init__()
        self._session = session
        self._page = page
        self._offered = (*(offered(session) if window is not None else ()), "page")
        self._window = window
        self._exists = ""  # the path that a second Enter overwrites
        self._busy = False

    def compose(self) -> ComposeResult:
        with Vertical(id="export"):
            yield Static(self._title(), id="export-title", markup=False)
            options = [
                Option(Text.assemble((f"{what:<12}", "bold"), _MEANINGS.get(what, "")), id=what)
                for what in self._offered
            ]
            yield Choices(*options, markup=False, compact=True)
            yield Static(
                self._file_words(),
                id="export-file",
                classes="label",
                markup=False,
            )
            yield Input(compact=True)
            yield Static("", id="export-message", markup=False)

    def _title(self) -> str:
        """What is exported."""
        if self._window is None:
            return f"Export. This page: {self._page.title}"
        lo, hi = self._window
        which = "The marked window" if self._session.window is not None else "The visible window"
        return f"Export. {which}: {units.instant(lo, hi - lo)} + {units.duration(hi - lo)}"

    def _file_words(self, what: str = "") -> str:
        """Which files can be written, above the box."""
        endings = {"page": ".svg", "perfetto": ".json", "openmetrics": ".om"}.get(
            what, ".csv, .json or .parquet"
        )
        return f"File ({endings}); Enter writes, Esc cancels"

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

    def _file_name(self, what: str) -> str:
        """A name for a file of it: after the run, and what it holds."""
        run = self._session.run
        contents = self._page.title.lower() if what == "page" else what
        return _suggested_name(run.name if run is not None else "powertui", contents, what)

    @property
    def what(self) -> str:
        """What is chosen in the list."""
        return self._offered[self.query_one(OptionList).highlighted or 0]

    def action_choose(self, by: int) -> None:
        """Up and down choose what is written."""
        self.query_one(Choices).move_highlight(by)

    @on(OptionList.OptionHighlighted)
    def _suggest(self) -> None:
        box = self.query_one(Input)
        names = {self._file_name(what) for what in self._offered}
        if not box.value or box.value in names:  # a name that was typed stays
            box.value = self._file_name(self.what)
            box.select_all()  # another name that is typed replaces it
        self.query_one("#export-file", Static).update(self._file_words(self.what))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Another name: another question."""
        event.stop()
        self._exists = ""
        self._say("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        if self._busy:
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
            self._ask_again(path, f"{path} already exists.")
            return
        self._busy = True
        self._say("Writing …")
        what = self.what
        force = bool(self._exists)
        shell = cast("Shell", self.app)

        def write() -> None:
            try:
                if what == "page":
                    message = self._write_page(path, force)
                else:
                    message = self._write_window(what, path, force)
            except files.AlreadyExists as error:  # the file beside it
                shell.from_thread(self._asked_again, path, error.message)
            except PowertuiError as error:
                shell.from_thread(self._failed, f"{error.message} {error.hint}".rstrip())
            except OSError as error:
                shell.from_thread(self._failed, str(error))
            else:
                shell.from_thread(self._written, message)

        self.run_worker(writing(write), thread=True, exclusive=True)

    def _write_page(self, path: Path, force: bool) -> str:
        """Write the picture (in a thread); what was written, in a sentence."""
        content = self._page.svg.encode()
        with files.opened(str(path), force=force) as stream:
            stream.write(content)
        return f"Wrote {plain(str(path))}: {units.size(len(content))}."

    def _write_window(self, what: str, path: Path, force: bool) -> str:
        """Write the window (in a thread); what was written, in a sentence."""
        session = self._session
        assert self._window is not None
        assert session.run is not None
        lo, hi = self._window
        run, total = session.run, None
        training = session.training
        if not run.traces and training is not None:  # scalars and power, or power alone
            on_axis = training.seen_from()
            run = run_of(on_axis)
            total = training_energy(on_axis).energy(lo, hi)
        return export.write(
            run,
            session.trace_index,
            lo,
            hi,
            what=what,
            path=str(path),
            force=force,
            power=session.power,
            total=total,
            notes=session.notes,
        )

    def _written(self, message: str) -> None:
        if not self.answer(message):
            cast("Shell", self.app).say(message)  # Esc came first: it is written all the same

    def _asked_again(self, path: Path, message: str) -> None:
        self._busy = False
        if self.is_current:
            self._ask_again(path, message)

    def _ask_again(self, path: Path, message: str) -> None:
        """The next Enter replaces what is there."""
        self._exists = str(path)
        self._say(f"{message} Press Enter again to replace it.")

    def _failed(self, message: str) -> None:
        self._busy = False
        if self.is_current:
            self._say(message)
        else:
            cast("Shell", self.app).say(message, warn=True)

    def _say(self, message: str) -> None:
        self.query_one("#export-message", Static).update(Text(plain(message)))
