"""The two sides of `powertui compare`: which runs a person named, and which stretch of each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Generic, TypeVar

from powertui.data import logdir, run_readers
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.compare.part import AskedSide, ComparedPart, HostWindow
from powertui.data.host_parts import FailedFile
from powertui.data.logdir import RunEntry
from powertui.data.logdir.copies import Recordings
from powertui.data.opened import Opened, Profile
from powertui.data.run_readers import ListedRun
from powertui.data.training.training import Trainings
from powertui.errors import UnreadableFile, UsageError
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.report import text
from powertui.report.export import WindowWords, profile_window
from powertui.value_types import dataclass

A = TypeVar("A")

_OPTIONS = ("run", "host", "epoch", "steps", "start", "end", "at")
_OF_WINDOW = ("epoch", "steps", "start", "end")


@dataclass(frozen=True)
class SideWords:
    """What a person asked of one side. Nothing given: all runs below its paths, whole."""

    run: str | None = None
    host: str | None = None
    epoch: int | None = None
    steps: str | None = None
    start: str | None = None
    end: str | None = None
    at: str | None = None  # the window as one line

    @property
    def window(self) -> WindowWords:
        if self.at is not None:
            return replace(WindowWords.from_place(self.at), host=None)
        return WindowWords(
            start=self.start,
            end=self.end,
            epoch=self.epoch,
            steps=self.steps,
        )

    @property
    def words(self) -> str:
        """The same in words, to be put behind a run's name."""
        parts = [self.host, plain(self.at, 80) if self.at is not None else None]
        if self.epoch is not None:
            parts.append(f"epoch {self.epoch}")
        if self.steps is not None:
            parts.append(f"steps {self.steps}")
        if self.start is not None or self.end is not None:
            parts.append(f"{self.start or 'the start'} to {self.end or 'the end'}")
        return _listed(parts)


@dataclass(frozen=True)
class Asked:
    """The options as they were given: once for both sides, or once for each of them."""

    run: Sequence[str] = ()
    host: Sequence[str] = ()
    epoch: Sequence[int] = ()
    steps: Sequence[str] = ()
    start: Sequence[str] = ()
    end: Sequence[str] = ()
    at: Sequence[str] = ()

    @property
    def tells_apart(self) -> bool:
        """Whether an option has one value for A and another for B."""
        return any(len(getattr(self, name)) == 2 for name in _OPTIONS)

    def side(self, number: int) -> SideWords:
        """What was asked of A (0) or of B (1). Raises `UsageError` for a third value."""
        words = {}
        for name in _OPTIONS:
            values = getattr(self, name)
            if len(values) > 2:
                option = {"start": "from", "end": "to"}.get(name, name)
                raise UsageError(
                    f"--{option} is given {len(values)} times.",
                    hint="Give it once for both sides, or twice: for A, then for B.",
                )
            words[name] = values[min(number, len(values) - 1)] if values else None
        if words["at"] is not None:
            if any(words[name] is not None for name in _OF_WINDOW):
                raise UsageError(
                    "The window is given twice.",
                    hint="Give --at alone, without other options for it.",
                )
            words["host"] = words["host"] or WindowWords.from_place(words["at"]).host
        return SideWords(**words)


@dataclass(frozen=True)
class SideReading:
    """How runs are read, and where their power is on them."""

    options: ReadOptions = field(default_factory=ReadOptions)
    aligning: Aligning = field(default_factory=Aligning)


def sides(
    groups: Sequence[Sequence[str]],
    asked: Asked,
    reading: SideReading,
) -> tuple[AskedSide, AskedSide]:
    """A and B: two paths, two groups of them, or one path with options that tell two parts of it.

    Raises `UsageError` where that is not two sides.
    """
    runs = _OpenedRuns(reading)
    words = asked.side(0), asked.side(1)
    if len(groups) > 1 and not all(groups):
        raise UsageError(
            "One side names no run.",
            hint="A pattern such as base/* may have matched nothing there.",
        )
    named = [group for group in groups if group]
    if len(named) == 1:
        (paths,) = named
        if len(paths) == 1 and not asked.tells_apart:
            return _two_runs(runs, paths[0], words[0])
        # Two paths are two sides; of one path both sides are parts.
        if len(paths) <= 2:
            named = [paths[:1], paths[-1:]]
    if len(named) != 2:
        raise UsageError(
            "Two sides are needed.",
            hint="Name two runs, or two groups of them: powertui compare OLD... -- NEW...",
        )
    first, second = (
        _side(runs, paths, side_words) for paths, side_words in zip(named, words, strict=True)
    )
    return first, second


def one_side(paths: Sequence[str], asked: Asked, reading: SideReading) -> AskedSide:
    """All runs below the paths, narrowed as it was asked. Raises `UnreadableFile` for none."""
    return _side(_OpenedRuns(reading), paths, asked.side(0))


def _two_runs(runs: _OpenedRuns, path: str, words: SideWords) -> tuple[AskedSide, AskedSide]:
    """The two runs of one folder."""
    entries = [entry for entry in runs.trainings(path).found.chosen(words.run) if entry.profiles]
    if len(entries) != 2:
        if len(entries) == 1:
            runs_there = "1 run"
        else:
            runs_there = f"{len(entries)} runs"
        raise UsageError(
            f"{plain(path)} holds {runs_there}; two are needed.",
            hint="Name two runs, or give --run, --epoch, --steps or --host twice.",
        )
    first, second = (runs.side(entry.name, [(path, entry)], words) for entry in entries)
    return first, second


def _side(runs: _OpenedRuns, paths: Sequence[str], words: SideWords) -> AskedSide:
    entries = []
    log_count = 0
    for path in paths:
        for entry in runs.trainings(path).found.chosen(words.run):
            if entry.profiles:
                entries.append((path, entry))
            log_count += len(entry.power)
    if not entries:
        raise _no_profile(paths[0], is_power=log_count > 0)
    recordings = runs.recordings.without_copies([entry for _, entry in entries])
    kept = [(path, entry) for path, entry in entries if any(entry is run for run in recordings)]
    side = runs.side(_listed([_side_name(entries), words.words]), kept, words)
    return replace(side, notes=_copies_note(len(entries), len(kept)))


def _side_name(entries: Sequence[tuple[str, RunEntry]]) -> str:
    """The first path that holds runs, and how many more do: a pattern also matches what is none."""
    first, *others = dict.fromkeys(path for path, _ in entries)
    if others:
        return f"{first} and {len(others)} more"
    return first


def _copies_note(named: int, recordings: int) -> tuple[str, ...]:
    """That some of the runs are one recording; nothing where none are."""
    copies = named - recordings
    if not copies:
        return ()
    are = "1 is a copy" if copies == 1 else f"{copies} are copies"
    return (f"Of {named} runs {are} of another one: a recording counts once.",)


def _no_profile(path: str, *, is_power: bool) -> UnreadableFile:
    if is_power:
        return UnreadableFile(
            path,
            "is a power log, and no profile is beside it",
            hint=f"Name the run that it belongs to: RUN --power {path}. Its joules alone: "
            f"powertui energy {path}",
        )
    return UnreadableFile(
        path, "holds no profile", hint=f"See what is there: powertui doctor {path}"
    )


def _listed(parts: Sequence[str | None]) -> str:
    """Those of the words that there are, with commas."""
    return ", ".join(filter(None, parts))


class _OpenedRuns:
    """The runs of all paths. One that both sides are of is read once."""

    def __init__(self, reading: SideReading) -> None:
        self._reading = reading
        self._trainings: dict[str, Trainings] = {}
        self._last: tuple[RunEntry, Opened] | None = None
        self.recordings = Recordings()

    def trainings(self, path: str) -> Trainings:
        """What lies at a path. Looked at once."""
        if path not in self._trainings:
            scan = logdir.scan(path)
            self._trainings[path] = Trainings(scan, self._reading.options, self._reading.aligning)
        return self._trainings[path]

    def side(
        self,
        name: str,
        entries: Sequence[tuple[str, RunEntry]],
        words: SideWords,
    ) -> _ListedSide:
        """These runs as a side."""
        listed = tuple(ListedRun(entry, self.trainings(path)) for path, entry in entries)
        narrowed = _Narrowed(words, self._reading.aligning)
        parts = self._parts(listed, narrowed)
        return _ListedSide(
            name=name,
            parts=parts,
            notes=(),
            listed=listed,
            narrowed=narrowed,
        )

    def _parts(self, listed: Sequence[ListedRun], narrowed: _Narrowed) -> Iterator[ComparedPart]:
        """One part for each run; what was read of one is let go before the next."""
        for run in listed:
            if self._last is None or self._last[0] is not run.entry:
                self._let_go()
                self._last = run.entry, run.trainings.opened(run.entry)
            opened = self._last[1]
            try:
                is_readable = bool(opened.profiles)
            except UnreadableFile as error:  # why is said at once: the others are compared
                text.write_error(sys.stderr, error)
                continue
            if is_readable:
                yield narrowed.part(opened, run.trainings)

    def _let_go(self) -> None:
        if self._last is None:
            return
        for trainings in self._trainings.values():
            training = trainings.training_for(self._last[0])
            if training is not None:
                training.let_go(self._last[0])
        self._last = None


@dataclass(frozen=True)
class _Narrowed:
    """Which part of each run is meant, and where its power is."""

    words: SideWords
    aligning: Aligning

    def part(self, opened: Opened, trainings: Trainings) -> ComparedPart:
        """A run that can be read. Raises `UsageError` where it has no such part."""
        training = trainings.training_for(opened.entry)
        if training is None:
            program = opened.entry.path
        else:
            program = f"{trainings.found.path}\n{training.name}"
        return ComparedPart(
            name=_listed([opened.name, self.words.words]),
            opened=opened,
            windows=_windows(opened, self.words),
            aligning=self.aligning,
            program=program,
        )


@dataclass(frozen=True, eq=False)
class _ListedSide(AskedSide):
    """A side whose runs may be read by others."""

    listed: tuple[ListedRun, ...]
    narrowed: _Narrowed

    def each(self, function: Callable[[ComparedPart], A]) -> Iterator[A]:
        """What is said of each run that can be read."""
        entries = [run.entry for run in self.listed]
        if not run_readers.is_read_elsewhere(entries, self.listed[0].trainings.options):
            yield from super().each(function)
            return
        ask = partial(_ask_part, function, self.narrowed)
        for answer in run_readers.each_elsewhere(ask, self.listed):
            if answer.problem is not None:
                path, problem, hint = answer.problem
                text.write_error(sys.stderr, UnreadableFile(path, problem, hint=hint))
            yield from answer.said


class _PartAnswer(NamedTuple, Generic[A]):
    """What was said of a run, or why nothing was."""

    said: tuple[A, ...] = ()  # one answer; none of a run that cannot be read
    problem: FailedFile | None = None


def _ask_part(
    function: Callable[[ComparedPart], A],
    narrowed: _Narrowed,
    entries: Sequence[RunEntry],
    trainings: Trainings,
    number: int,
) -> _PartAnswer[A]:
    """What is said of one of the runs, wherever it is read."""
    answer = _PartAnswer[A]()
    for opened in trainings.each([entries[number]]):
        try:
            is_readable = bool(opened.profiles)
        except UnreadableFile as error:
            answer = _PartAnswer(
                problem=FailedFile(path=error.path, problem=error.problem, hint=error.hint)
            )
        else:
            if is_readable:
                answer = _PartAnswer((function(narrowed.part(opened, trainings)),))
    return answer


def _windows(opened: Opened, words: SideWords) -> tuple[HostWindow, ...]:
    """The stretch of each host that is meant. Raises `UsageError` where no host has it."""
    profiles = _hosts(opened, words.host)
    windows = []
    problem: UsageError | None = None
    for profile in profiles:
        try:
            windows.append(_window(profile, words.window))
        except UsageError as error:
            problem = problem or error
    if not windows and problem is not None:
        raise problem
    return tuple(windows)


def _window(profile: Profile, words: WindowWords) -> HostWindow:
    if words == WindowWords():
        return HostWindow(profile)
    lo, hi = profile_window(words, profile.opened.run, profile.index)
    return HostWindow(profile=profile, lo=lo, hi=hi)


def _hosts(opened: Opened, name: str | None) -> Sequence[Profile]:
    """All hosts, or the one of this name, else the only one whose name contains it."""
    profiles = opened.profiles
    if name is None:
        return profiles
    chosen = [profile for profile in profiles if profile.host == name]
    if not chosen:
        chosen = [profile for profile in profiles if name in profile.host]
    if len(chosen) != 1:
        names = ", ".join(plain(profile.host, 60) for profile in profiles)
        raise UsageError(
            f"No host, or more than one, is named {plain(name, 80)!r}.",
            hint=f"The hosts are: {names}",
        )
    return chosen
