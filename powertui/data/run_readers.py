"""The same question about every run of a list: here, by a process a core where there are many, or
on a cluster where one was named.

Runs are sent with what is needed of their trainings, a few lists for each worker. What differs
there (a file that is missing or another one) is read here. So are runs of many hosts, whose hosts
the cluster reads one by one, and all runs where a server has to be asked for power: nobody else
gets its password. A question that a run refuses (a window that it does not have, for example) is
asked here once more, so that the refusal is told in the one place where errors are told.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from powertui.data import processes
from powertui.data.asked import ReadOptions
from powertui.data.asking_folder import asked_from, asking_folder
from powertui.data.logdir import RunEntry
from powertui.data.training.training import Trainings
from powertui.data.training.training_parts import PlacedSession
from powertui.data.wire.stored import FileState
from powertui.errors import PowertuiError
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

A = TypeVar("A")

# What is asked about a run: the runs that are there, their trainings, and its number among them.
_RunFunction = Callable[[Sequence[RunEntry], Trainings, int], A]

# Lists for each worker: all of them end together, also where some runs are larger. Chosen.
_LISTS_EACH = 4
_STANDARD_INPUT = "-"  # as the path of a run
_ASKS_SERVER = "a server is asked for their power, and its password is not sent"


class ListedRun(NamedTuple):
    """A run of a list, and the trainings that it was found with."""

    entry: RunEntry
    trainings: Trainings


class _RunAnswer(NamedTuple):
    """What was said of a run elsewhere, or why nothing was."""

    # As bytes: a cluster may wait for ever for an answer that turns out not to be sendable.
    pickled: bytes = b""
    places: tuple[PlacedSession, ...] = ()  # where it is in its training
    unlike: str = ""
    is_refused: bool = False


@dataclass(frozen=True, eq=False)
class _RunsQuestion(Generic[A]):
    """Some runs, to be read wherever their files are seen."""

    function: _RunFunction[A]
    entries: tuple[RunEntry, ...]
    trainings: Trainings
    stamps: tuple[tuple[tuple[str, FileState], ...], ...]  # of each run: its files as they are here
    folder: str  # from which a person asks


def _answer_runs(question: _RunsQuestion[A]) -> list[_RunAnswer]:
    """What is said of each of these runs."""
    from powertui.data.tools.host_reading import unlike  # only where another process reads

    answers: list[_RunAnswer] = []
    for number, stamps in enumerate(question.stamps):
        differences = (unlike(path, stamp) for path, stamp in stamps)
        difference = next(filter(None, differences), "")
        if difference:
            answers.append(_RunAnswer(unlike=difference))
            continue
        try:
            with asked_from(question.folder):
                answer = question.function(question.entries, question.trainings, number)
        except PowertuiError:
            answers.append(_RunAnswer(is_refused=True))
            continue
        entry = question.entries[number]
        training = question.trainings.training_for(entry)
        places: tuple[PlacedSession, ...] = ()
        if training is not None:
            places = training.read_places(entry)
        answers.append(_RunAnswer(pickle.dumps(answer), places))
    return answers


def each_run(
    function: _RunFunction[A],
    entries: Sequence[RunEntry],
    trainings: Trainings,
) -> Iterator[A]:
    """What is said of each run, in order."""
    if len(entries) > 1 and is_read_elsewhere(entries, trainings.options):
        yield from each_elsewhere(function, [ListedRun(entry, trainings) for entry in entries])
        return
    largest = max((entry.size for entry in entries), default=0)
    ask = functools.partial(function, entries, trainings)
    yield from processes.each(ask, range(len(entries)), largest)


def is_read_elsewhere(entries: Sequence[RunEntry], options: ReadOptions) -> bool:
    """Whether others read these runs, or some of them. Where they were named to, and may not, why
    is said beside the answer.
    """
    reader = options.hosts
    if reader is None or not reader.cores:
        return False
    count = sum(map(_may_be_sent, entries))
    if count and options.servers:
        reader.failed(OSError(_ASKS_SERVER), "run", count)
        return False
    return count > 0


def _may_be_sent(entry: RunEntry) -> bool:
    """Whether it is read as a whole, and from files that others may see as well."""
    return not entry.has_many_hosts and entry.path != _STANDARD_INPUT


def each_elsewhere(function: _RunFunction[A], runs: Sequence[ListedRun]) -> Iterator[A]:
    """What is said of each run by those who were named to read them, in order. `function` is one of
    a module, with arguments and an answer that can be pickled.
    """
    reader = runs[0].trainings.options.hosts
    assert reader is not None
    sent = [run for run in runs if _may_be_sent(run.entry)]
    lists = _lists(sent, reader.cores)
    questions = [_question(function, runs_of_list) for runs_of_list in lists]
    counts = [len(runs_of_list) for runs_of_list in lists]
    answers = reader.answers(_answer_runs, questions, counts)
    waiting: list[_RunAnswer] = []
    for run in runs:
        if _may_be_sent(run.entry):
            if not waiting:
                waiting = next(answers)[::-1]
            answer = waiting.pop()
            if not answer.unlike and not answer.is_refused:
                training = run.trainings.training_for(run.entry)
                if training is not None and answer.places:
                    training.keep_places(run.entry, answer.places)
                yield pickle.loads(answer.pickled)  # as a cluster would do by itself
                continue
            if answer.unlike:
                reader.failed(OSError(answer.unlike), "run")
        yield function((run.entry,), run.trainings, 0)


def _lists(runs: Sequence[ListedRun], cores: int) -> list[list[ListedRun]]:
    """Neighbors of the same trainings together, in a few lists for each core."""
    longest = -(-len(runs) // (cores * _LISTS_EACH))
    lists: list[list[ListedRun]] = []
    for run in runs:
        last = lists[-1] if lists else []
        if not last or len(last) == longest or last[-1].trainings is not run.trainings:
            last = []
            lists.append(last)
        last.append(run)
    return lists


def _question(function: _RunFunction[A], runs: Sequence[ListedRun]) -> _RunsQuestion[A]:
    entries = tuple(run.entry for run in runs)
    stamps = tuple(tuple(_stamps(entry)) for entry in entries)
    needed = runs[0].trainings.needed_by(entries)
    return _RunsQuestion(function, entries, needed, stamps, asking_folder())


def _stamps(entry: RunEntry) -> Iterator[tuple[str, FileState]]:
    for files in (entry.profiles, entry.alternates, entry.tfevents, entry.power, entry.results):
        for file in files:
            stamp = FileState.at(file.path)
            if stamp is not None:
                yield file.path, stamp
