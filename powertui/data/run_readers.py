"""The same question about every run of a list: here, by a process a core where there are many, or
on a cluster where one was named.

Runs are sent with what is needed of their trainings, a few lists for each worker. What differs
there (a file that is missing or another one) is read here. So are runs of many hosts, whose hosts
the cluster reads one by one, and all runs where a server has to be asked for power: nobody else
gets its password.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from powertui.data import processes
from powertui.data.asking_folder import asked_from, asking_folder
from powertui.data.host_parts import HostReader
from powertui.data.logdir import RunEntry
from powertui.data.training.training import Trainings
from powertui.data.training.training_parts import PlacedSession
from powertui.data.wire.stored import FileState
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

A = TypeVar("A")

# What is asked about a run: the runs that are there, their trainings, and its number among them.
_RunFunction = Callable[[Sequence[RunEntry], Trainings, int], A]

# Lists for each worker: all of them end together, also where some runs are larger. Chosen.
_LISTS_EACH = 4
_ASKS_SERVER = "a server is asked for their power, and its password is not sent"


class _RunAnswer(NamedTuple, Generic[A]):
    """What was said of a run elsewhere, or why nothing was."""

    answer: A | None
    places: tuple[PlacedSession, ...]  # where it is in its training
    unlike: str


@dataclass(frozen=True, eq=False)
class _RunsQuestion(Generic[A]):
    """Some runs, to be read wherever their files are seen."""

    function: _RunFunction[A]
    entries: tuple[RunEntry, ...]
    trainings: Trainings
    stamps: tuple[tuple[tuple[str, FileState], ...], ...]  # of each run: its files as they are here
    folder: str  # from which a person asks


def _answer_runs(question: _RunsQuestion[A]) -> list[_RunAnswer[A]]:
    """What is said of each of these runs."""
    from powertui.data.tools.host_reading import unlike  # only where another process reads

    answers: list[_RunAnswer[A]] = []
    for number, stamps in enumerate(question.stamps):
        difference = next(filter(None, (unlike(path, stamp) for path, stamp in stamps)), "")
        if difference:
            answers.append(_RunAnswer(None, (), difference))
            continue
        with asked_from(question.folder):
            answer = question.function(question.entries, question.trainings, number)
        training = question.trainings.training_for(question.entries[number])
        places = () if training is None else training.read_places(question.entries[number])
        answers.append(_RunAnswer(answer, places, ""))
    return answers


def each_run(
    function: _RunFunction[A], entries: Sequence[RunEntry], trainings: Trainings
) -> Iterator[A]:
    """What is said of each run, in order."""
    reader = trainings.options.hosts
    if reader is not None and reader.cores and len(entries) > 1:
        numbers = [n for n, entry in enumerate(entries) if not entry.has_many_hosts]
        if trainings.options.servers:
            keep_here(entries, reader, _ASKS_SERVER)
        elif numbers:
            yield from _elsewhere(reader, numbers, function, entries, trainings)
            return
    largest = max((entry.size for entry in entries), default=0)
    ask = functools.partial(function, entries, trainings)
    yield from processes.each(ask, range(len(entries)), largest)


def keep_here(entries: Sequence[RunEntry], reader: HostReader | None, why: str) -> None:
    """Say why the runs of a list are read here, where others were named to read them."""
    count = sum(not entry.has_many_hosts for entry in entries)
    if reader is not None and reader.cores and len(entries) > 1 and count:
        reader.failed(OSError(why), "run", count)


def _elsewhere(
    reader: HostReader,
    numbers: Sequence[int],
    function: _RunFunction[A],
    entries: Sequence[RunEntry],
    trainings: Trainings,
) -> Iterator[A]:
    lists = _lists(numbers, reader.cores * _LISTS_EACH)
    questions = [_question(function, [entries[n] for n in some], trainings) for some in lists]
    answers = reader.answers(_answer_runs, questions, [len(some) for some in lists])
    sent = set(numbers)
    waiting: list[_RunAnswer[A]] = []
    for number in range(len(entries)):
        if number in sent:
            if not waiting:
                waiting = next(answers)[::-1]
            answer = waiting.pop()
            if not answer.unlike:
                training = trainings.training_for(entries[number])
                if training is not None and answer.places:
                    training.keep_places(entries[number], answer.places)
                yield answer.answer  # type: ignore[misc]
                continue
            reader.failed(OSError(answer.unlike), "run")
        yield function(entries, trainings, number)


def _lists(numbers: Sequence[int], count: int) -> list[Sequence[int]]:
    """Neighbors together, in about so many lists."""
    length = -(-len(numbers) // min(count, len(numbers)))
    return [numbers[lo : lo + length] for lo in range(0, len(numbers), length)]


def _question(
    function: _RunFunction[A], entries: Sequence[RunEntry], trainings: Trainings
) -> _RunsQuestion[A]:
    stamps = tuple(tuple(_stamps(entry)) for entry in entries)
    return _RunsQuestion(
        function, tuple(entries), trainings.needed_by(entries), stamps, asking_folder()
    )


def _stamps(entry: RunEntry) -> Iterator[tuple[str, FileState]]:
    for files in (entry.profiles, entry.alternates, entry.tfevents, entry.power, entry.results):
        for file in files:
            stamp = FileState.at(file.path)
            if stamp is not None:
                yield file.path, stamp
