"""What the run in front can be compared with, and the two sides that a choice makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from powertui.data.asked import Aligning
from powertui.data.compare.part import AskedSide, ComparedPart, HostWindow
from powertui.data.logdir import RunEntry
from powertui.data.model import Epochs, Steps
from powertui.data.opened import Opened
from powertui.report.export import WindowWords, profile_window
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.screens.shell import Shell

NOTHING_TO_COMPARE = (
    "There is nothing to compare this run with. 8 lists the runs: Space marks two, Enter opens "
    "them together."
)


@dataclass(frozen=True)
class CompareChoice:
    """Another run, or two epochs or hosts of the run in front."""

    name: str
    about: str
    other: RunEntry | None = None
    epochs: tuple[int, int] | None = None
    hosts: tuple[int, int] | None = None
    is_open: bool = False

    @property
    def id(self) -> str:
        """What tells it from the other choices."""
        if self.other is not None:
            return f"run:{self.other.path}:{self.other.name}"
        if self.hosts is not None:
            return f"hosts:{self.hosts}"
        return f"epochs:{self.epochs}"


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """One side: a run, or an epoch or a host of it. Reading is left to the thread that compares."""

    opened: Callable[[], Opened]
    aligning: Aligning
    epoch: int | None = None
    host: int | None = None

    def part(self) -> ComparedPart:
        """The run with the stretch that is meant. Raises `PowertuiError` where it is gone."""
        opened = self.opened()
        name = opened.name
        if self.epoch is not None:
            name = f"{name}, epoch {self.epoch}"
        indexes = range(len(opened.profiles))
        if self.host is not None:
            indexes = range(self.host, self.host + 1)
            name = f"{name} on {opened.profiles[self.host].host}"
        windows = tuple(self._window(opened, index) for index in indexes)
        return ComparedPart(
            name=name,
            opened=opened,
            windows=windows,
            aligning=self.aligning,
        )

    def _window(self, opened: Opened, index: int) -> HostWindow:
        profile = opened.profiles[index]
        if self.epoch is None:
            return HostWindow(profile)
        words = WindowWords(epoch=self.epoch)
        return HostWindow(profile, *profile_window(words, opened.run, index))


def side_of(part: ComparedPart) -> AskedSide:
    """A side of one run."""
    return AskedSide(part.name, (part,), ())


def compare_choices(shell: Shell) -> list[CompareChoice]:
    """The other open runs, then parts of this run and the other runs of the folder: of these two
    lists the shorter one first, so that both are in sight.
    """
    session = shell.session
    front = session.entry
    if front is None:
        return []
    shown = {front.path}
    choices = []
    for run in session.together:
        if run.path not in shown and run.profiles:
            shown.add(run.path)
            choices.append(CompareChoice(run.name, "open", other=run, is_open=True))
    hosts = [trace.host for trace in session.run.traces] if session.run is not None else []
    parts = _host_choices(hosts, session.trace_index)
    parts += _epoch_choices(_epochs_with_steps(session.epochs, session.steps))
    runs = []
    folder_runs = session.logdir.runs if session.logdir is not None else ()
    for run in folder_runs:
        if run.path not in shown and run.profiles and run.path not in session.refused:
            runs.append(CompareChoice(run.name, "not open yet", other=run))
    shorter, longer = sorted((parts, runs), key=len)
    return [*choices, *shorter, *longer]


def _epochs_with_steps(epochs: Epochs, steps: Steps) -> list[int]:
    """The numbers of epochs that the profile shows: others have nothing to compare."""
    seen = set(steps.epoch.tolist())
    return [epoch.number for at, epoch in enumerate(epochs.epochs) if at in seen]


def _epoch_choices(epochs: list[int]) -> list[CompareChoice]:
    """Each later epoch against the first one."""
    choices = []
    for later in epochs[1:]:
        name = f"epoch {epochs[0]} against epoch {later}"
        choices.append(CompareChoice(name, "of this run", epochs=(epochs[0], later)))
    return choices


def _host_choices(hosts: list[str], in_view: int) -> list[CompareChoice]:
    """The host in view against each other one."""
    choices = []
    for index, host in enumerate(hosts):
        if index == in_view:
            continue
        name = f"host {hosts[in_view]} against {host}"
        choices.append(CompareChoice(name, "of this run", hosts=(in_view, index)))
    return choices


def compared_runs(shell: Shell, choice: CompareChoice) -> tuple[ComparedRun, ComparedRun] | None:
    """A and B: the run in front and the other one; None where no run is in front."""
    session = shell.session
    front = session.opened
    if front is None:
        return None
    if choice.hosts is not None:
        one, other = choice.hosts
        return (
            ComparedRun(lambda: front, session.aligning, host=one),
            ComparedRun(lambda: front, session.aligning, host=other),
        )
    if choice.epochs is not None:
        first, second = choice.epochs
        return (
            ComparedRun(lambda: front, session.aligning, first),
            ComparedRun(lambda: front, session.aligning, second),
        )
    assert choice.other is not None
    aligning = session.aligning_of(choice.other.path)
    return (
        ComparedRun(lambda: front, session.aligning),
        ComparedRun(_reader(shell, choice.other), aligning),
    )


def _reader(shell: Shell, entry: RunEntry) -> Callable[[], Opened]:
    """The run that is open or is being opened, else one that is read for this comparison."""
    session = shell.session
    opened = session.runs.get(entry.path)
    if opened is None:
        opened = shell.runs.being_read(entry.path)
    if opened is not None:
        found = opened
        return lambda: found
    reading = session.reading_of(entry.path)
    placing = session.placing
    trainings = session.trainings_of()

    def read() -> Opened:
        around = None
        if trainings is not None:
            around = trainings.training_for(entry, reading, placing)
        return Opened(entry, reading, around=around)

    return read
