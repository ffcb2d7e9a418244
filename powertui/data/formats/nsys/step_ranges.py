"""Which NVTX ranges are steps: those of one name that come with numbers, one after the other."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from powertui.data import wire
from powertui.data.model import Int64s

_NUMBERED = re.compile(r"^(.{0,200}?)(\d{1,15})\D{0,3}$")  # "step 12", "iteration_12", "Step#12"
_STEP_WORD = re.compile(r"(?i)step|iter|batch")
_MIN_STEPS = 3  # fewer numbered ranges may be anything: layers, ranks, parts
NOT_A_STEP = -1


def step_numbers(
    texts: Sequence[str],
    name: Int64s,
    start: Int64s,
    length: Int64s,
    thread: Int64s,
) -> Int64s:
    """The number of each range that is a step, else `NOT_A_STEP`.

    `name` is an index into `texts`. Of several numbered names the one that says step, iteration or
    batch is taken, then the one that covers most time.
    """
    numbers = np.full(len(name), NOT_A_STEP, np.int64)
    prefix_of, number_of = _split(texts)
    best: tuple[bool, int] = (False, -1)
    for prefix in dict.fromkeys(prefix for prefix in prefix_of if prefix is not None):
        is_prefix = np.array([each == prefix for each in prefix_of], np.bool_)
        rows = np.flatnonzero(is_prefix[name])
        if not _counts_up(number_of[name[rows]], start[rows], thread[rows]):
            continue
        worth = (_STEP_WORD.search(prefix) is not None, int(length[rows].sum()))
        if worth > best:
            best = worth
            numbers[:] = NOT_A_STEP
            numbers[rows] = number_of[name[rows]]
    return numbers


def _split(texts: Sequence[str]) -> tuple[list[str | None], Int64s]:
    prefixes: list[str | None] = []
    numbers = np.zeros(len(texts), np.int64)
    for place, text in enumerate(texts):
        match = _NUMBERED.match(text)
        prefixes.append(match[1] if match else None)
        numbers[place] = int(match[2]) if match else 0
    return prefixes, numbers


def _counts_up(number: Int64s, start: Int64s, thread: Int64s) -> bool:
    """Whether each thread that has such ranges goes through rising numbers, each once."""
    order = np.lexsort((start, thread))
    number = number[order]
    thread = thread[order]
    same = thread[1:] == thread[:-1]
    rises = number[1:] > number[:-1]
    return bool((rises | ~same).all()) and len(wire.distinct(number)) >= _MIN_STEPS
