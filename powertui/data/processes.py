"""The same question to thousands of runs, or to the many hosts of one run, through one seam:
`concurrent.futures.Executor`.

What is sent is a function of a module with arguments and answers that can be pickled. Without an
executor it goes to a process a core, each a copy of this one. Answers come back in order. What an
executor cannot answer is worked out here, so that whatever went wrong goes wrong where it can be
told.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # a report of few runs makes no process, and waits for no imports about them
    from concurrent.futures import Executor, Future, ProcessPoolExecutor

T = TypeVar("T")
R = TypeVar("R")

# Runs for each process: fewer are read sooner than a process is made. Chosen, not measured.
MIN_RUNS = 32
# So many small runs are asked for at once: each question to another process costs 0.7 ms, beside
# 5 ms that a run takes. Each process is asked this often at least, so that all end together.
_MAX_TOGETHER = 16
_MIN_QUESTIONS = 32
_MAX_PROCESSES = 8
# Bytes of files that are read at the same time: what is made of them takes several times as much.
_MAX_BYTES = 1 << 28
# Chosen: a person who stops the reading waits no longer than that for it to notice.
_WAIT_S = 0.1

# What a system raises that allows no more processes, has no semaphores or cannot copy a process.
_CANNOT_FORK = (OSError, ImportError, ValueError)

# In a process of a pool: the function, which came with the copy and was not sent.
_inherited: Callable[[Any], Any] | None = None


def each(
    function: Callable[[T], R],
    items: Sequence[T],
    largest: int = 0,
    *,
    min_items: int = MIN_RUNS,
    processes: int | None = None,
) -> Iterator[R]:
    """`function` of each item, in order, by a process a core where there are many items.

    `largest` is the size of the largest in bytes: several of those at once must fit. `min_items`
    are worth a process. A process with other threads is not copied: the copy would wait for ever
    for what one of them holds.
    """
    count = processes or _process_count(len(items), largest, min_items)
    if count < 2 or threading.active_count() > 1:
        yield from map(function, items)
        return
    yield function(items[0])  # what is imported for it is there for all copies
    pool = allowed_pool(count, function)
    if pool is None:
        yield from map(function, items[1:])
        return
    together = _count_together(len(items), largest, count)
    questions = [items[lo : lo + together] for lo in range(1, len(items), together)]
    try:
        # Worked out here one by one, so that what went well is answered before what goes wrong.
        for some in answers(pool, _call_inherited, questions, here=partial(map, function)):
            yield from some
    finally:
        pool.shutdown(cancel_futures=True)


def answers(
    executor: Executor,
    function: Callable[[T], R],
    items: Sequence[T],
    *,
    here: Callable[[T], R] | None = None,
    on_wait: Callable[[], None] | None = None,
    on_failed: Callable[[BaseException], None] | None = None,
) -> Iterator[R]:
    """`function` of each item by an executor, in order.

    `here` answers for what the executor could not (without it, `function` does); `on_failed` hears
    why. `on_wait` is called now and then, and may raise.
    """
    from concurrent.futures import Future

    futures: list[Future[R]] = []
    refusal: BaseException | None = None
    try:
        for item in items:
            try:
                futures.append(executor.submit(function, item))
            except RuntimeError as error:  # its processes have ended, or it was shut down
                refusal = error
                break
        for number, item in enumerate(items):
            if number < len(futures):
                future = futures[number]
                _wait(future, on_wait)
                failure = future.exception()
                if failure is None:
                    answer = future.result()
                    futures[number] = future = Future()  # an answer that was given is not kept
                    yield answer
                    continue
            else:
                failure = refusal
            if on_failed is not None and failure is not None:
                on_failed(failure)
            yield (here or function)(item)
    finally:
        for future in futures:
            future.cancel()


def _wait(future: Future[R], on_wait: Callable[[], None] | None) -> None:
    from concurrent.futures import wait

    while not wait([future], timeout=None if on_wait is None else _WAIT_S).done:
        assert on_wait is not None
        on_wait()


def _process_count(items: int, largest: int, min_items: int) -> int:
    """How many processes the items are worth, as memory and cores allow."""
    count = min(items // min_items, _MAX_PROCESSES, _MAX_BYTES // max(largest, 1))
    if count < 2:
        return 1
    from powertui.cores import usable_cores  # only for many

    return min(count, usable_cores())


def _count_together(items: int, largest: int, processes: int) -> int:
    """How many items a process is asked about at once."""
    wanted = min(items // (processes * _MIN_QUESTIONS), _MAX_TOGETHER)
    return max(1, min(wanted, _MAX_BYTES // (processes * max(largest, 1))))


def allowed_pool(
    count: int,
    function: Callable[[Any], Any] | None = None,
    *,
    prepare: Callable[[], None] | None = None,
) -> ProcessPoolExecutor | None:
    """As `process_pool`; None, and no process, where the system allows fewer than asked for."""
    from multiprocessing import active_children

    before = active_children()
    try:
        return process_pool(count, function, prepare=prepare)
    except _CANNOT_FORK:
        for child in active_children():
            if child not in before:
                child.kill()
        return None


def process_pool(
    count: int,
    function: Callable[[Any], Any] | None = None,
    *,
    prepare: Callable[[], None] | None = None,
) -> ProcessPoolExecutor:
    """So many copies of this process at work; they end with it, whatever becomes of it.

    `function` is there in each of them without being sent; `prepare` is called in each first. All
    are made now: later there may be other threads.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(
        count,
        mp_context=get_context("fork"),
        initializer=_begin,
        initargs=(function, prepare),
    )
    with warnings.catch_warnings():
        # Newer Pythons warn of threads that a copy does not have: those of the linear algebra,
        # which nothing here calls.
        warnings.simplefilter("ignore", DeprecationWarning)
        for _ in range(count):  # Python 3.10 makes a process for each of the first questions
            pool.submit(_nothing)
    return pool


def _nothing() -> None:
    """A question without an answer."""


def _begin(function: Callable[[Any], Any] | None, prepare: Callable[[], None] | None) -> None:
    """In a new process of a pool."""
    global _inherited
    from powertui.data import free_memory

    _inherited = function
    # The first picture is made without collecting, and its copies would never collect.
    gc.freeze()
    gc.enable()
    free_memory.keep_for_next_answer()
    if prepare is not None:
        prepare()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A pool's process waits for its next question for ever, also where nobody is left to ask."""
    from multiprocessing import parent_process
    from multiprocessing.connection import wait as wait_for

    parent = parent_process()
    if parent is not None:
        with suppress(OSError):
            wait_for([parent.sentinel])
        os._exit(1)


def _call_inherited(items: Sequence[Any]) -> Iterable[Any]:
    assert _inherited is not None
    return [_inherited(item) for item in items]
