"""The runs of a logdir: what each holds, filled in while one looks; Enter opens one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.widgets import Input, Static

from powertui import units
from powertui.data import logdir
from powertui.data.loading import load_run
from powertui.data.logdir import Logdir, RunEntry
from powertui.data.model import NS_PER_S, Run
from powertui.errors import Cancelled, PowertuiError
from powertui.plain import plain
from powertui.screens.base import BaseScreen, bindings_for
from powertui.screens.loader import size
from powertui.screens.status import StatusLine
from powertui.terminal.theme import Theme
from powertui.widgets import background
from powertui.widgets.run_list import RunList

COLUMNS = ("run", "hosts", "device", "when", "duration", "steps", "epochs", "power", "size")
NAME_LEAST = 28
# Which columns give way first where the window is narrow, and from how many columns on they are shown.
ROOM_FOR = {"size": 125, "device": 115, "hosts": 95, "power": 70, "epochs": 0}
# Runs up to this size are read to say more of them; a larger one says it when it is opened.
LOOK_INTO = 100_000_000
ALL = 500  # so many runs are all looked into; of more those in sight, as they come into it
STAGE_S = 0.25  # what was found so far is shown so often while folders are looked through


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
            moment = datetime.fromtimestamp((trace.clock.mid_ns + trace.span[0] // 1000) / NS_PER_S, timezone.utc)
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
        self._looker: threading.Thread | None = None

    def body(self) -> ComposeResult:
        look, glyphs = self.shell.look, self.shell.capabilities.glyphs
        yield Static("", id="title", markup=False)
        yield Input(placeholder="filter: any words in a row", id="filter", compact=True)
        yield RunList(lambda number: self._fact(number).cells(), theme=look, glyphs=glyphs, least=NAME_LEAST, id="runs")
        yield Static("", id="problems", markup=False)

    def on_mount(self) -> None:
        """Fill the list."""
        box = self.query_one("#filter", Input)
        box.cursor_blink = box.display = False
        self._fill()
        self.set_focus(self._list)
        if self.session.rest is not None:
            rest, self.session.rest = self.session.rest, None
            self._follow(rest)

    def on_unmount(self) -> None:
        self._stop.set()

    @property
    def _list(self) -> RunList:
        return self.query_one("#runs", RunList)

    @property
    def _runs(self) -> tuple[RunEntry, ...]:
        folder = self.session.logdir
        return folder.runs if folder is not None else ()

    def _fact(self, index: int) -> Facts:
        """What is known of a run: made when it is first asked for."""
        if index not in self._facts:
            self._facts[index] = first_facts(self._runs[index])
        return self._facts[index]

    def session_changed(self) -> None:
        """Look into the runs while this page is in front, and only then."""
        self._look_into()

    def restyle(self, look: Theme) -> None:
        self._list.restyle(look, self.shell.capabilities.glyphs)

    def on_screen_suspend(self) -> None:
        """A run is being read: it needs the machine."""
        self._stop.set()

    def _fill(self) -> None:
        folder = self.session.logdir
        runs = self._runs
        count = f"{len(runs):,} run{'s' * (len(runs) != 1)}"
        if folder is not None and not folder.complete:
            count = f"{count} so far; searching folders …"
        self.query_one("#title", Static).update(Text(f" {plain(folder.path if folder else '')}: {count}", no_wrap=True))
        self._show_rows()
        problems = [str(warn) for warn in folder.problems] if folder else []
        if folder and folder.unread:
            problems.append(f"{len(folder.unread)} more files are in formats not supported yet. `powertui doctor` lists them.")
        if not runs and (folder is None or folder.complete):
            problems.insert(0, f"No profile was found here. `powertui doctor {folder.path if folder else '.'}` lists what was.")
        self.query_one("#problems", Static).update(Text("\n".join(plain(p) for p in problems[:6])))
        self.query_one("#problems").set_class(not problems, "hidden")

    def _show_rows(self) -> None:
        words = self.query_one("#filter", Input).value.lower().split()
        every = range(len(self._runs))
        rows = [index for index in every if self._fact(index).matches(words)] if words else every
        columns = [place for place, name in enumerate(COLUMNS) if self.size.width >= ROOM_FOR.get(name, 0)]
        self._list.show(rows, COLUMNS, columns)

    def on_resize(self, event: Resize) -> None:
        """Columns give way where the window is narrow."""
        super().on_resize(event)
        self._show_rows()

    # ── looking through folders ──────────────────────────────────────────────────────────────────

    def _follow(self, stages: Iterable[Logdir], *, again: bool = False) -> None:
        """Show what is found, stage by stage, while a thread goes through the folders."""

        def work(check: background.Check) -> Logdir | PowertuiError | None:
            last: Logdir | None = None
            try:
                for found in stages:
                    check()
                    if last is not None:
                        self.shell.from_thread(self._found, last)
                    last = found
            except PowertuiError as error:
                if isinstance(error, Cancelled):
                    raise
                return error
            return last

        background.begin(self, "scan", work, lambda found: self._found_all(found, again))

    def _found(self, found: Logdir) -> None:
        """More of the same: runs that were listed keep their places."""
        if self.is_mounted and not (self.session.logdir and self.session.logdir.complete):
            self.session.logdir = found
            self._fill()

    def _found_all(self, found: Logdir | PowertuiError | None, again: bool) -> None:
        if isinstance(found, PowertuiError):
            self.say(str(found), warn=True)
        elif found is not None:
            self.session.logdir = found
            # Power logs and the like are known only now.
            self._facts = {index: facts for index, facts in self._facts.items() if facts.steps != "…" and index < len(found.runs)}
            self._fill()
            self._look_into()
            if again:
                self.say(f"{len(found.runs):,} runs.")
            elif self.shell.only_run(found) and self.session.entry is None:
                self.shell.open_run(found.runs[0])

    # ── looking into the runs ────────────────────────────────────────────────────────────────────

    def _next(self, runs: Sequence[RunEntry], listed: RunList) -> int | None:
        """Which run to look into next: those in sight come first."""
        others = range(len(runs)) if len(runs) <= ALL else range(0)
        for index in (*listed.in_sight, *others):
            known = self._facts.get(index)
            if index < len(runs) and (known is None or known.steps == "…") and runs[index].size <= LOOK_INTO:
                return int(index)
        return None

    def _look_into(self) -> None:
        folder = self.session.logdir
        if folder is None or not folder.complete or len(folder.runs) < 2 or self.shell.current() is not self:
            return
        if self._looker is not None and self._looker.is_alive() and not self._stop.is_set():
            return
        self._stop = stop = threading.Event()
        options = self.session.reading
        tried: set[int] = set()
        shell, session, listed = self.shell, self.session, self._list  # asked for here: at the end the thread may outlive the page

        def look() -> None:
            def check(_done: int, _total: int, _events: int, /) -> None:
                if stop.is_set():
                    raise Cancelled("not looked at any more")

            while not stop.is_set() and (index := self._next(folder.runs, listed)) is not None and index not in tried:
                tried.add(index)
                entry = folder.runs[index]
                problem = ""
                try:
                    facts = all_facts(entry, load_run(entry, options=options, progress=check))
                except Cancelled:
                    return
                except PowertuiError as error:
                    facts = first_facts(entry)
                    facts = Facts(facts.name, facts.hosts, "–", "–", "cannot be read", "–", "–", facts.power, facts.size)
                    problem = str(error)
                if not stop.is_set() and session.logdir is folder:
                    self._facts[index] = facts
                    if problem:
                        self._problems[index] = problem
                    shell.from_thread(self._learned)

        self._looker = threading.Thread(target=look, name="powertui-looking", daemon=True)
        self._looker.start()

    def _learned(self) -> None:
        if self.is_mounted:
            self._list.seen()

    # ── actions ──────────────────────────────────────────────────────────────────────────────────

    def on_run_list_chosen(self, event: RunList.Chosen) -> None:
        """Enter, or a second click."""
        if event.number in self._problems:
            self.say(self._problems[event.number], warn=True)
        elif event.number < len(self._runs):
            self.shell.open_run(self._runs[event.number])

    def on_run_list_moved(self, event: RunList.Moved) -> None:
        """Say why a row cannot be read; look into what came into sight."""
        number = self._list.number
        if number in self._problems:
            self.say(self._problems[number], warn=True)
        elif self.query_one("#status", StatusLine).message in self._problems.values():
            self.say("")
        self._look_into()

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
        self.set_focus(self._list)

    def action_reload(self) -> None:
        """Look through the folder again."""
        folder = self.session.logdir
        if folder is None or folder.path == "-":
            return
        self._stop.set()
        self._facts.clear()
        self._problems.clear()
        self.say("Searching the folder again …")
        self._follow(logdir.stream(folder.path), again=True)

    def back(self) -> bool:
        """Close the filter; or return to the run that is open."""
        box = self.query_one("#filter", Input)
        if box.display:
            box.value = ""
            box.display = False
            self.set_focus(self._list)
            return True
        if self.session.run is not None:
            self.shell.show("timeline")
            return True
        return False
