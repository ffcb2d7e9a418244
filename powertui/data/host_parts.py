"""What is asked about one host of a run of many, and what comes back: plain data that can be sent
to another process or machine.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.asked import ReadOptions
    from powertui.data.logdir import RunEntry
    from powertui.data.model import Epochs, PowerSeries, Steps, Warn
    from powertui.data.wire.stored import FileState


Q = TypeVar("Q")
R = TypeVar("R")


class FailedFile(NamedTuple):
    """A profile that could not be read: what `UnreadableFile` is made of."""

    path: str
    problem: str
    hint: str


@dataclass(frozen=True)
class HostQuestion:
    """One host, to be read wherever its files are seen."""

    entry: RunEntry  # the run with the files of this host alone, and its scalars
    options: ReadOptions  # without power and its servers: whoever reads hosts gets no password
    stamps: tuple[tuple[str, FileState], ...]  # its files as they are here


@dataclass(frozen=True, eq=False)
class HostPart:
    """One host as it was read: all but its events."""

    path: str = ""  # of the file that was read; "" where none could be
    small: dict[str, Any] | None = None  # of its trace
    steps: Steps | None = None
    epochs: Epochs | None = None
    answers: tuple[tuple[Hashable, Any], ...] = ()  # worked out while its events were there
    power: tuple[PowerSeries, ...] = ()  # that its profile itself holds
    warnings: tuple[Warn, ...] = ()
    failed: tuple[FailedFile, ...] = ()
    # A file that is not there, or is not the same, where this host was read.
    unlike: str = ""


class HostReader(Protocol):
    """Who reads the hosts of a run, and the runs of a list."""

    @property
    def cores(self) -> int:
        """How many questions are answered at once elsewhere; 0: all are answered here."""
        ...

    def answers(
        self,
        function: Callable[[Q], R],
        questions: Sequence[Q],
        counts: Sequence[int],
    ) -> Iterator[R]:
        """What is said of several runs, in order; each question is about so many of them."""
        ...

    def failed(self, error: BaseException, noun: str, count: int = 1) -> None:
        """So many hosts or runs are read here, because of this."""
        ...

    def parts(
        self,
        questions: Sequence[HostQuestion],
        on_wait: Callable[[], None],
    ) -> Iterator[HostPart]:
        """The hosts in order; `on_wait` is called now and then, and may raise."""
        ...

    def warnings(self) -> tuple[Warn, ...]:
        """What went wrong since somebody asked, and was read all the same."""
        ...
