"""`v`: the hosts of a run and the devices of the one that is looked at, in a list that narrows."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from powertui import units
from powertui.data.model import ProcessKind
from powertui.plain import plain, width
from powertui.screens.base import BaseScreen
from powertui.screens.choosing import ChoosingDialog
from powertui.screens.session import Session
from powertui.value_types import dataclass
from powertui.view.fuzzy import fuzzy_rank
from powertui.widgets.lists import Choices

_MAX_NAME_CELLS = 40


@dataclass(frozen=True)
class HostOrDevice:
    """A host of the run, or a device of the host that is looked at."""

    command: str  # what `Shell.run_command` takes
    kind: str
    name: str
    about: str
    is_shown: bool = False  # the host that is looked at


def run_parts(session: Session) -> list[HostOrDevice]:
    """The hosts, where there are several, then the devices, where there are several."""
    run = session.run
    if run is None:
        return []
    parts = []
    if len(run.traces) > 1:
        for index, trace in enumerate(run.traces):
            count = len(trace.devices)
            took = units.duration(trace.span[1] - trace.span[0])
            about = f"{took}, {count} device{'s' * (count != 1)}" if count else took
            name = plain(trace.host, _MAX_NAME_CELLS) or f"host {index}"
            is_shown = index == session.trace_index
            parts.append(HostOrDevice(f"host:{index}", "Host", name, about, is_shown))
    shown_trace = session.trace
    processes = enumerate(shown_trace.processes if shown_trace is not None else ())
    devices = [
        HostOrDevice(
            f"device:{index}",
            "Device",
            plain(process.name, _MAX_NAME_CELLS),
            f"{units.count(process.event_count)} events",
        )
        for index, process in processes
        if process.kind is ProcessKind.DEVICE
    ]
    return parts + (devices if len(devices) > 1 else [])


class RunPartsDialog(ChoosingDialog):
    """Answers with a command for `Shell.run_command`, or None."""

    def __init__(self, page: BaseScreen) -> None:
        super().__init__()
        self._look = page.shell.look
        self._parts = run_parts(page.session)

    def compose(self) -> ComposeResult:
        with Vertical(id="palette"):
            yield Input(placeholder="a host or a device: any letters of its name", compact=True)
            yield Choices(markup=False, compact=True)

    def fill(self, text: str) -> None:
        ranks = [
            (rank, number)
            for number, part in enumerate(self._parts)
            if (rank := fuzzy_rank(text, (part.name, f"{part.kind} {part.name}"))) is not None
        ]
        fitting = [self._parts[number] for _, number in sorted(ranks)]
        name_cells = max((width(part.name) for part in self._parts), default=0)
        options = [Option(self._line(part, name_cells), id=part.command) for part in fitting]
        if not options:
            sentence = "No host and no device has these letters."
            options = [Option(Text(sentence, self._look.style("warn")), disabled=True)]
        listed = self.query_one(OptionList)
        listed.clear_options()
        listed.add_options(options)
        shown = next((n for n, part in enumerate(fitting) if part.is_shown and not text), 0)
        listed.highlighted = shown if fitting else None

    def _line(self, part: HostOrDevice, name_cells: int) -> Text:
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f" {part.kind:<7}", self._look.style("dim"))
        line.append(part.name + " " * (name_cells - width(part.name)), self._look.style("title"))
        line.append(f"  {part.about}", self._look.style("dim"))
        if part.is_shown:
            line.append("  in front", self._look.style("ok"))
        return line

    def choose(self, option: Option) -> None:
        self.answer(option.id)
