"""The same question to thousands of runs, or to the many hosts of one run, asked by as many
processes as there are cores.

Each process is a copy of this one and takes every n-th run; answers come back through a pipe of its
own, in order. One that ends early is no error: what it leaves is worked out here, so that whatever
went wrong goes wrong where it can be told.
"""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Runs for each process: fewer are read sooner than a process is made. Chosen, not measured.
MIN_RUNS = 32
_MAX_PROCESSES = 8
# Bytes of files that are read at the same time: what is made of them takes several times as much.
_MAX_BYTES = 1 << 28


def each(
    work: Callable[[T], R], items: Sequence[T], largest: int = 0, *, processes: int | None = None
) -> Iterator[R]:
    """`work` of each item, in order.

    `largest` is the size of the largest in bytes: several of those at once must fit.
    """
    count = processes or _process_count(len(items), largest)
    if count < 2:
        yield from map(work, items)
        return
    yield work(items[0])  # what is imported for it is there for all copies
    children: list[tuple[int, BinaryIO]] = []
    try:
        rest = items[1:]
        for number in range(count):
            children.append(_child(work, rest[number::count], children))
        alive = [True] * count
        for index, item in enumerate(rest):
            number = index % count
            if alive[number]:
                try:
                    answer: R = pickle.load(children[number][1])
                except (EOFError, pickle.UnpicklingError):
                    alive[number] = False
                else:
                    yield answer
                    continue
            yield work(item)
    finally:
        for _, stream in children:
            stream.close()  # a child that still writes gets an error, and ends
        for pid, _ in children:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _process_count(items: int, largest: int) -> int:
    """How many processes the items are worth, as memory and cores allow."""
    count = min(items // MIN_RUNS, _MAX_PROCESSES, _MAX_BYTES // max(largest, 1))
    if count < 2:
        return 1
    from powertui.cores import usable_cores  # only for many

    return min(count, usable_cores())


def _child(
    work: Callable[[T], R], items: Sequence[T], others: Sequence[tuple[int, BinaryIO]]
) -> tuple[int, BinaryIO]:
    """A copy of this process at work, and where its answers come out.

    It ends with its pipe, whatever becomes of us.
    """
    out, into = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of threads that a copy does not have: those of the linear algebra,
        # which nothing here calls.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(into)
        return pid, open(out, "rb")  # noqa: PTH123
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
        os.close(out)
        for _, stream in others:
            stream.close()
        with open(into, "wb", buffering=1 << 16) as answers:  # noqa: PTH123
            for item in items:
                pickle.dump(work(item), answers, pickle.HIGHEST_PROTOCOL)
                answers.flush()
    finally:
        os._exit(0)
