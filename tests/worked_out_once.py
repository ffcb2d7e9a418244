"""Hundreds of tests open the same few runs. What their files hold, where their power lies and what
stands out in them is worked out once for each process that runs tests: by the program itself, and
given again where every input is the same.

Inputs are compared by content. What cannot be compared is worked out anew. A module whose tests
change how something is read or found asks for none of this.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np
import pytest

from powertui.data import loading
from powertui.data.energy import edge_matching, signal_alignment
from powertui.data.energy.findings import trace_findings
from powertui.data.formats import registry
from powertui.data.limits import MACHINE, MemoryLimit
from powertui.data.model import Trace
from powertui.data.tools.longer_ops import LongerOps
from powertui.data.wire.stored import FileState

_MAX_ANSWERS = 100  # that are kept: a few for each run that is opened often; chosen

_MAX_TRACES = 30
_MAX_EVENTS = 100_000  # of a trace that is kept: some 10 MB

# Where power lies by its levels and by its edges, and what stands out in it.
_TAKING_LONG = (
    (signal_alignment, "search"),
    (edge_matching, "offset_weights"),
    (trace_findings, "findings_in_trace"),
)

_answers: dict[bytes, Any] = {}
_traces: dict[tuple[str, FileState, MemoryLimit], Trace] = {}


class _NotComparedError(Exception):
    """A value whose content cannot be told."""


def _content(value: object) -> Iterator[bytes]:
    """What a value holds, whatever object holds it."""
    yield type(value).__name__.encode()
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif value is None or isinstance(value, (str, bytes, int, float, Enum)):
        yield repr(value).encode() + b";"
    elif isinstance(value, LongerOps):  # it tells of its trace, which is another input
        return
    elif isinstance(value, Trace):
        if value.stamp is None:
            raise _NotComparedError("A trace of no file")
        yield from _content((value.path, value.stamp, value.event_count, value.clock, value.host))
    elif isinstance(value, Sequence):
        yield b"%d;" % len(value)
        for item in value:
            yield from _content(item)
    elif isinstance(value, dict):
        yield from _content(list(value.items()))
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.name != "forgotten":  # what WindowShares keeps of answers
                yield from _content(getattr(value, field.name))
    else:
        raise _NotComparedError(type(value))


def digest_of(value: object) -> bytes | None:
    """The same for values that hold the same; None where that cannot be told."""
    digest = hashlib.sha256()
    try:
        for part in _content(value):
            digest.update(part)
    except _NotComparedError:
        return None
    return digest.digest()


def _once(work_out: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which remembers."""

    @functools.wraps(work_out)
    def answer(*inputs: object, **options: object) -> Any:
        key = digest_of((work_out.__name__, inputs, options))
        if key is None:
            return work_out(*inputs, **options)
        if key not in _answers:
            if len(_answers) >= _MAX_ANSWERS:
                _answers.clear()
            _answers[key] = work_out(*inputs, **options)
        return _answers[key]

    return answer


@pytest.fixture(scope="module")
def worked_out_once() -> Iterator[None]:
    """The tests of a module get what others have worked out of the same run."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in _TAKING_LONG:
            patch.setattr(module, name, _once(getattr(module, name)))
        yield


def _load_once(load: Callable[..., Iterator[Trace]]) -> Callable[..., Iterator[Trace]]:
    """The same reader of a file, which remembers the whole trace while the file stays as it is."""

    @functools.wraps(load)
    def load_or_remember(
        path: str | os.PathLike[str],
        progress: registry.Progress = registry.silent,
        limit: MemoryLimit = MACHINE,
    ) -> Iterator[Trace]:
        name = os.path.realpath(path)
        if not os.path.isfile(name):
            yield from load(path, progress, limit)
            return
        key = (os.fspath(path), FileState.from_status(os.stat(name)), limit)
        if key in _traces:
            yield _traces[key]
            return
        for trace in load(path, progress, limit):
            if trace.complete and trace.event_count <= _MAX_EVENTS:
                if len(_traces) >= _MAX_TRACES:
                    _traces.clear()
                _traces[key] = trace
            yield trace

    return load_or_remember


@pytest.fixture(scope="module")
def read_once() -> Iterator[None]:
    """The tests of a module get the traces and the steps that others have read of the same files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "load", _load_once(registry.load))
        patch.setattr(loading, "find_steps", _once(loading.find_steps))
        yield
