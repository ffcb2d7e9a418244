"""The runs of a logdir: what each holds, filled in while one looks; Enter opens one."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.widgets import DataTable, Input, Static
from textual.widgets.data_table import RowKey

from powertui import units
from powertui.data import logdir
from powertui.data.loading import LoadOptions, load_run
from powertui.data.logdir import RunEntry
from powertui.data.model import Run
from powertui.errors import Cancelled, PowertuiError
from powertui.plain import plain, width
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.loader import size
from powertui.screens.status import StatusLine
from powertui.widgets.lists import Listing

COLUMNS = ("run", "hosts", "device", "when", "duration", "steps", "epochs", "power", "size")
NAME_LEAST = 28
# Which columns give way first where the window is narrow, and from how many columns on they are shown.
ROOM_FOR = {"size": 125, "device": 115, "hosts": 95, "power": 70, "epochs": 0}
# Runs up to this size are read to say more of them; a larger one says it when it is opened.
LOOK_INTO = 100_000_000


@dataclass(frozen=True)
class Facts:
    """One row of the list, as texts."""

    name: str
    hosts: str
    device: str = "…"
    when: str = "…"
    duration: str = "…"
    steps: str = "…"
    epochs: str = "…"
    power: str = ""
    size: str = ""

    def cells(self) -> tuple[str, ...]:
        """In the order of COLUMNS."""
        return (self.name, self.hosts, self.device, self.when, self.duration, self.steps, self.epochs, self.power, self.size)

    def cell(self, column: str) -> str:
        """One of COLUMNS."""
        return self.cells()[COLUMNS.index(column)]

    def matches(self, words: list[str]) -> bool:
        """Whether every word stands somewhere in the row."""
        text = " ".join(self.cells()).lower()
        return all(word in text for word in words)


def shorten(name: str, room: int) -> str:
    """A run's name in so many cells: its end (the date) tells runs apart, so the middle gives way."""
    if width(name) <= room:
        return name
    head = max(4, (room - 1) // 3)
    return name[:head] + "…" + name[len(name) - max(1, room - 1 - head) :]


def first_facts(entry: RunEntry) -> Facts:
    """What the folder alone tells."""
    hosts = ", ".join(entry.hosts) or "–"
    power = f"{len(entry.power)} log{'s' * (len(entry.power) > 1)}" if entry.power else "none"
    return Facts(plain(entry.name), plain(hosts, 40), power=power, size=size(entry.size))


def all_facts(entry: RunEntry, run: Run) -> Facts:
    """What the run says when it was read."""
    first = first_facts(entry)
    devices = [device for trace in run.traces for device in trace.devices]
    spans = [trace.span[1] - trace.span[0] for trace in run.traces]
    steps = [len(steps) for steps in run.steps]
    epochs = [len(epochs) for epochs in run.epochs]
    channels = len(run.power)
    return Facts(
        first.name,
        first.hosts,
        plain(devices[0], 24) + (f" +{len(devices) - 1}" if len(devices) > 1 else "") if devices else "CPU",
        when(run),
        units.duration(max(spans)) if spans else "–",
        str(max(steps, default=0) or "–"),
        str(max(epochs, default=0) or "–"),
        f"{channels} channel{'s' * (channels != 1)}" if channels else "none",
        first.size,
    )


def when(run: Run) -> str:
    """The wall time of the profile's start, as the profiled machine's clock showed it where that is known."""
    for trace in run.traces:
        if trace.clock.known:
            moment = datetime.fromtimestamp((trace.clock.mid_ns + trace.span[0] // 1000) / 1e9, timezone.utc)
            offset = trace.clock.utc_offset_s
            if offset is None:
                return f"{moment:%Y-%m-%d %H:%M} UTC"
            return f"{moment.astimezone(timezone(timedelta(seconds=offset))):%Y-%m-%d %H:%M %z}"
    return "–"


class OpenScreen(BaseScreen):
    """The list of runs."""

    NAME = "open"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("open")

    def __init__(self) -> None:
        super().__init__()
        self._facts: dict[int, Facts] = {}
        self._problems: dict[int, str] = {}
        self._stop = threading.Event()
        self._fitted = False
        self._shown: list[str] = []

    def body(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield Input(placeholder="filter: any words of a row", id="filter", compact=True)
        yield Listing(id="runs", cursor_type="row", zebra_stripes=False)
        yield Static("", id="problems", markup=False)

    def on_mount(self) -> None:
        """Fill the list."""
        table = self.query_one("#runs", DataTable)
        box = self.query_one("#filter", Input)
        box.cursor_blink = box.display = False
        self._fill()
        self.set_focus(table)

    def on_unmount(self) -> None:
        self._stop.set()

    @property
    def _runs(self) -> tuple[RunEntry, ...]:
        folder = self.session.logdir
        return folder.runs if folder is not None else ()

    def session_changed(self, what: str) -> None:
        """Look into the runs while this page is in front, and only then."""
        if what == "shown" and len(self._runs) > 1:
            self._look_into()

    def on_screen_suspend(self) -> None:
        """A run is being read: it needs the machine."""
        self._stop.set()

    def _fill(self) -> None:
        folder = self.session.logdir
        runs = self._runs
        count = f"{len(runs)} run{'s' * (len(runs) != 1)}"
        self.query_one("#title", Static).update(Text(f" {plain(folder.path if folder else '')}: {count}", no_wrap=True))
        for index, entry in enumerate(runs):
            self._facts.setdefault(index, first_facts(entry))
        self._show_rows()
        problems = [str(warn) for warn in folder.problems] if folder else []
        if folder and folder.unread:
            problems.append(
                f"{len(folder.unread)} more files are known by name, but have no reader yet: `powertui doctor` lists them."
            )
        if not runs:
            problems.insert(0, f"No profile was found here. `powertui doctor {folder.path if folder else '.'}` says what was.")
        self.query_one("#problems", Static).update(Text("\n".join(plain(p) for p in problems[:6])))
        self.query_one("#problems").set_class(not problems, "hidden")

    def _show_rows(self) -> None:
        table = self.query_one("#runs", DataTable)
        chosen = self._chosen()
        words = self.query_one("#filter", Input).value.lower().split()
        shown = [name for name in COLUMNS if self.size.width >= ROOM_FOR.get(name, 0)]
        if shown != self._shown:
            self._shown = shown
            table.clear(columns=True)
            for column in shown:
                table.add_column(column, key=column, width=NAME_LEAST if column == "run" else None)
        table.clear()
        for index in range(len(self._runs)):
            facts = self._facts[index]
            if facts.matches(words):
                table.add_row(*(Text(facts.cell(name)) for name in shown), key=str(index))
                if index == chosen:
                    table.move_cursor(row=table.row_count - 1)
        self._fitted = False
        self.call_after_refresh(self._fit_names)

    def on_resize(self, event: Resize) -> None:
        """The names get the room that the other columns leave."""
        super().on_resize(event)
        self._show_rows()

    def _fit_names(self) -> None:
        table = self.query_one("#runs", DataTable)
        if not table.columns or not self.size.width:
            return
        name, *others = table.ordered_columns
        taken = sum(column.get_render_width(table) for column in others)
        room = max(NAME_LEAST, self.size.width - taken - 2 * table.cell_padding - 2)
        longest = max((width(facts.name) for facts in self._facts.values()), default=NAME_LEAST)
        wanted = max(NAME_LEAST, min(room, longest))
        if name.width != wanted or not self._fitted:
            name.width = wanted
            self._fitted = True
            for row in list(table.rows):
                table.update_cell(row, "run", Text(shorten(self._facts[int(row.value or 0)].name, wanted)))
            table.refresh(layout=True)

    def _chosen(self) -> int | None:
        table = self.query_one("#runs", DataTable)
        if not table.row_count:
            return None
        key = table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value
        return int(key) if key is not None else None

    # ── looking into the runs ────────────────────────────────────────────────────────────────────

    def _look_into(self) -> None:
        self._stop.set()
        self._stop = stop = threading.Event()
        todo = [(i, e) for i, e in enumerate(self._runs) if self._facts[i].steps == "…" and e.size <= LOOK_INTO]
        options = LoadOptions.from_args(self.session.args)

        def look() -> None:
            def check(_done: int, _total: int, _events: int, /) -> None:
                if stop.is_set():
                    raise Cancelled("not looked at any more")

            for index, entry in todo:
                if stop.is_set():
                    return
                try:
                    facts = all_facts(entry, load_run(entry, options=options, progress=check))
                except Cancelled:
                    return
                except PowertuiError as error:
                    facts = first_facts(entry)
                    facts = Facts(facts.name, facts.hosts, "–", "–", "cannot be read", "–", "–", facts.power, facts.size)
                    self._problems[index] = str(error)
                if not stop.is_set():
                    self.shell.from_thread(self._learned, index, facts)

        threading.Thread(target=look, name="powertui-looking", daemon=True).start()

    def _learned(self, index: int, facts: Facts) -> None:
        if not self.is_mounted or index >= len(self._runs):
            return
        self._facts[index] = facts
        table = self.query_one("#runs", DataTable)
        if str(index) in {row.value for row in table.rows}:
            for name in self._shown[1:]:
                table.update_cell(str(index), name, Text(facts.cell(name)), update_width=True)
            self.call_after_refresh(self._fit_names)

    def _listed(self, key: RowKey | None) -> int | None:
        """Which run a row stands for. None where the row is gone: the table tells of rows that it had before it was filled anew."""
        index = int(key.value) if key is not None and key.value is not None else None
        return index if index is not None and index < len(self._runs) else None

    # ── actions ──────────────────────────────────────────────────────────────────────────────────

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Enter, or a click."""
        index = self._listed(event.row_key)
        if index in self._problems:
            self.say(self._problems[index], warn=True)
        elif index is not None:
            self.shell.open_run(self._runs[index])

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Say why a row cannot be read."""
        index = self._listed(event.row_key)
        if index in self._problems:
            self.say(self._problems[index], warn=True)
        elif self.query_one("#status", StatusLine).message in self._problems.values():
            self.say("")

    def action_filter_runs(self) -> None:
        """Type words: rows that have them all stay."""
        box = self.query_one("#filter", Input)
        box.display = True
        self.set_focus(box)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        self._show_rows()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: to the list."""
        self.set_focus(self.query_one("#runs"))

    def action_reload(self) -> None:
        """Look through the folder again."""
        folder = self.session.logdir
        if folder is None or folder.path == "-":
            return
        try:
            self.session.logdir = logdir.scan(folder.path)
        except PowertuiError as error:
            self.say(str(error), warn=True)
            return
        self._facts.clear()
        self._problems.clear()
        self._fill()
        self._look_into()
        self.say(f"{len(self._runs)} runs.")

    def back(self) -> bool:
        """Close the filter; or return to the run that is open."""
        box = self.query_one("#filter", Input)
        if box.display:
            box.value = ""
            box.display = False
            self.set_focus(self.query_one("#runs"))
            return True
        if self.session.run is not None:
            self.shell.show("timeline")
            return True
        return False
