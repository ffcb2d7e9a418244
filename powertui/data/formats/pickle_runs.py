"""Dicts of one shape that follow each other in a pickle: found by one expression, not opcode by
opcode. A record of a memory snapshot is such a dict: its keys are references to the texts of the
first record, and its values are numbers, references or empty lists.

Only bytes are looked at here. What they mean is the machine's (`plain_pickle`).
"""

from __future__ import annotations

import re

from powertui.named_tuples import NamedTuple

_KEY = rb"h.|j.{4}"
# By its first byte each value has one length only, so that no byte is looked at twice.
_NUMBERS = rb"K.|M..|J.{4}|\x8a(?:\x04.{4}|\x05.{5}|\x06.{6}|\x07.{7}|\x08.{8})"
EMPTY_LIST = b"]\x94"
_VALUE = rb"h.|j.{4}|N|\]\x94|" + _NUMBERS
BEGINNING = b"}\x94("  # a dict, its place in the memo, and the mark before its items
_PAIR = re.compile(rb"(%b)(%b)" % (_KEY, _VALUE), re.DOTALL)
_ANY_SHAPE = re.compile(
    rb"%b(?:(?:%b)(?:%b)){1,32}u" % (re.escape(BEGINNING), _KEY, _VALUE), re.DOTALL
)
# A snapshot has events and blocks, with one key or another in newer versions. Each shape costs
# about a millisecond once, which a file made for that could ask for at every dict.
_MAX_SHAPES = 16
_MAX_RUN_BYTES = 1 << 16  # so that what is made of a run takes little memory


class DictRun(NamedTuple):
    """Dicts that follow each other."""

    keys: tuple[bytes, ...]  # opcode and operand, the same for all of them
    rows: list[tuple[bytes, ...]]  # the values of each dict, likewise
    end: int  # of the last one in the window


class _Shape:
    """Dicts of the same keys."""

    def __init__(self, example: bytes) -> None:
        self.keys: tuple[bytes, ...] = tuple(key for key, _ in _pairs(example))
        record = re.escape(BEGINNING)
        for key in self.keys:
            record += re.escape(key) + b"(%b)" % _VALUE
        record += b"u"
        self.record = re.compile(record, re.DOTALL)
        self.run = re.compile(
            b"(?:%b)+" % record.replace(b"(%b)" % _VALUE, b"(?:%b)" % _VALUE), re.DOTALL
        )


def _pairs(example: bytes) -> list[tuple[bytes, bytes]]:
    """Keys and values of a dict that `_ANY_SHAPE` matched."""
    pairs = []
    at = len(BEGINNING)
    while at < len(example) - 1:
        pair = _PAIR.match(example, at)
        if pair is None:
            break
        pairs.append((pair[1], pair[2]))
        at = pair.end()
    return pairs


class DictRuns:
    """The shapes that a pickle has shown so far."""

    def __init__(self) -> None:
        self._shapes: list[_Shape] = []

    def run_at(self, window: bytes, at: int) -> DictRun | None:
        """The run of dicts that begins at this byte; None where none of a known shape does."""
        end = min(len(window), at + _MAX_RUN_BYTES)
        for shape in self._shapes:
            run = shape.run.match(window, at, end)
            if run is not None:
                return _dict_run(shape, window, run)
        if len(self._shapes) >= _MAX_SHAPES:
            return None
        example = _ANY_SHAPE.match(window, at, end)
        if example is None:
            return None
        shape = _Shape(example[0])
        self._shapes.append(shape)
        run = shape.run.match(window, at, end)
        if run is None:
            return None
        return _dict_run(shape, window, run)


def _dict_run(shape: _Shape, window: bytes, run: re.Match[bytes]) -> DictRun:
    rows = shape.record.findall(window, run.start(), run.end())
    if len(shape.keys) == 1:  # then a row is its only value
        rows = [(value,) for value in rows]
    return DictRun(shape.keys, rows, run.end())
