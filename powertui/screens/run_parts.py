"""`v`: the hosts of a run and the devices of the one that is looked at, in a list that narrows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
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
from powertui.widgets.background import begin, is_under_way
from powertui.widgets.lists import Choices

if TYPE_CHECKING:
    from powertui.data.energy.host_figures import HostFigures, HostOrder

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
            if count:
                about = f"{took}, {count} device{'s' * (count != 1)}"
            else:
                about = took
            name = plain(trace.host, _MAX_NAME_CELLS) or f"host {index}"
            is_shown = index == session.trace_index
            parts.append(
                HostOrDevice(
                    command=f"host:{index}",
                    kind="Host",
                    name=name,
                    about=about,
                    is_shown=is_shown,
                )
            )
    shown_trace = session.trace
    processes = enumerate(shown_trace.processes if shown_trace is not None else ())
    devices = [
        HostOrDevice(
            command=f"device:{index}",
            kind="Device",
            name=plain(process.name, _MAX_NAME_CELLS),
            about=f"{units.count(process.event_count)} events",
        )
        for index, process in processes
        if process.kind is ProcessKind.DEVICE
    ]
    return parts + (devices if len(devices) > 1 else [])


def _with_figures(
    part: HostOrDevice,
    number: int,
    figures: HostFigures,
) -> HostOrDevice:
    """A host with what it is sorted by."""
    behind_ps = float(figures.behind_ps[number])
    waited_ps = float(figures.waited_ps[number])
    joules = float(figures.joules[number])
    words = []
    if not math.isnan(behind_ps):
        length = units.duration(round(behind_ps), 3)
        sign = "+" if round(behind_ps) > 0 else ""
        words.append(f"{sign}{length} a step")
    if not math.isnan(waited_ps):
        length = units.duration(round(waited_ps), 3)
        words.append(f"waited {length}")
    if not math.isnan(joules):
        words.append(units.quantity(joules, "J", 3))
    return replace(part, about=", ".join(words) or part.about)


# What Tab sorts the hosts by, in this order, and the word for it.
_ORDERS: tuple[tuple[HostOrder | None, str], ...] = (
    (None, "as recorded"),
    ("behind", "slowest first"),
    ("waited", "longest waits first"),
    ("joules", "most joules first"),
)
_LETTERS = "any letters of a name"


class RunPartsDialog(ChoosingDialog):
    """Answers with a command for `Shell.run_command`, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "next_order", show=False, priority=True),
    ]

    def __init__(self, page: BaseScreen) -> None:
        super().__init__()
        self._look = page.shell.look
        self._session = page.session
        self._parts = run_parts(page.session)
        self._order = 0
        self._figures: HostFigures | None = None
        self._chooses_when_sorted = False

    def compose(self) -> ComposeResult:
        placeholder = f"a host or a device: {_LETTERS}"
        if self._host_count:
            placeholder = f"{_LETTERS}; Tab: {_ORDERS[1][1]}"
        with Vertical(id="palette"):
            yield Input(placeholder=placeholder, compact=True)
            yield Choices(markup=False, compact=True)

    @property
    def is_behind(self) -> bool:
        """Whether the order that was asked for is still to come."""
        return is_under_way(self, "figures")

    @property
    def _host_count(self) -> int:
        return sum(part.kind == "Host" for part in self._parts)

    def action_next_order(self) -> None:
        """Sort by the next figure; the first time it is worked out in a thread."""
        opened = self._session.opened
        if not self._host_count or opened is None or not self._session.complete:
            return
        self._order = (self._order + 1) % len(_ORDERS)
        _, after = _ORDERS[(self._order + 1) % len(_ORDERS)]
        box = self.query_one(Input)
        if self._figures is not None or not self._order:
            box.placeholder = f"{_ORDERS[self._order][1]}; Tab: {after}"
            self.fill(box.value)
            return
        box.placeholder = "working out how far each host is behind …"
        aligning = self._session.aligning
        from powertui.data.energy.host_figures import host_figures

        begin(
            self,
            "figures",
            lambda _: host_figures(opened, aligning),
            self._sorted,
        )

    def _sorted(self, figures: HostFigures) -> None:
        self._figures = figures
        box = self.query_one(Input)
        _, after = _ORDERS[(self._order + 1) % len(_ORDERS)]
        box.placeholder = f"{_ORDERS[self._order][1]}; Tab: {after}"
        self.fill(box.value)
        if self._chooses_when_sorted:
            listed = self.query_one(OptionList)
            if listed.highlighted is not None:
                self.choose(listed.get_option_at_index(listed.highlighted))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter. Pressed before the hosts are sorted it means the first of them then."""
        if is_under_way(self, "figures"):
            event.stop()
            self._chooses_when_sorted = True
            return
        super().on_input_submitted(event)

    def _in_order(self) -> list[HostOrDevice]:
        """The hosts in the order that was asked for, then the devices."""
        by, _ = _ORDERS[self._order]
        if by is None or self._figures is None:
            return self._parts
        hosts = self._parts[: self._host_count]
        rest = self._parts[self._host_count :]
        return [_with_figures(hosts[n], n, self._figures) for n in self._figures.order(by)] + rest

    def fill(self, text: str) -> None:
        parts = self._in_order()
        ranks = [
            (rank, number)
            for number, part in enumerate(parts)
            if (rank := fuzzy_rank(text, (part.name, f"{part.kind} {part.name}"))) is not None
        ]
        fitting = [parts[number] for _, number in sorted(ranks)]
        name_cells = max((width(part.name) for part in self._parts), default=0)
        options = [Option(self._line(part, name_cells), id=part.command) for part in fitting]
        if not options:
            sentence = "No host or device matches these letters."
            options = [Option(Text(sentence, self._look.style("warn")), disabled=True)]
        listed = self.query_one(OptionList)
        listed.clear_options()
        listed.add_options(options)
        shown = 0
        if not text and not self._order:
            shown = next((n for n, part in enumerate(fitting) if part.is_shown), 0)
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
