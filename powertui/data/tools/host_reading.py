"""One host of a run of many, read and reduced: its steps, epochs, the breakdown of its steps and
its collectives are the answer, its events are not.

`read_host` is what is sent to other processes and to clusters.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from powertui.data import loading
from powertui.data.host_parts import FailedFile, HostPart, HostQuestion
from powertui.data.host_trace import small_fields
from powertui.data.loading import Beside
from powertui.data.model import Run, Trace
from powertui.data.opened import Opened
from powertui.data.run.rank_collectives import HOST_CALLS, host_calls
from powertui.data.tools import breakdown
from powertui.data.wire.stored import FileState
from powertui.errors import PowertuiError


def read_host(question: HostQuestion) -> HostPart:
    """One host, read wherever this runs."""
    for path, stamp in question.stamps:
        difference = unlike(path, stamp)
        if difference:
            return HostPart(unlike=difference)
    host = loading.load_host(question.entry, question.options, _beside(question))
    failed = tuple(FailedFile(error.path, error.problem, error.hint) for error in host.errors)
    trace = host.trace
    if trace is None:
        return HostPart(warnings=host.warnings, failed=failed)
    # Their names refer to the file, which is not sent.
    steps = replace(host.steps, names=tuple(host.steps.names))
    run = Run(
        name=question.entry.name,
        path=question.entry.path,
        traces=(trace,),
        steps=(steps,),
        epochs=(host.epochs,),
    )
    return HostPart(
        path=trace.path,
        small=small_fields(trace),
        steps=steps,
        epochs=host.epochs,
        answers=tuple(_answers(question, run, trace)),
        power=host.power,
        warnings=host.warnings,
        failed=failed,
    )


def _answers(question: HostQuestion, run: Run, trace: Trace) -> Iterator[tuple[Hashable, Any]]:
    """What pages of all hosts ask of each; what fails here is asked again there, and said."""
    profile = Opened(question.entry, question.options, run).profiles[0]
    with suppress(PowertuiError):
        yield ("breakdown", "corrected"), breakdown.step_breakdown(profile, "corrected")
    compat = question.options.compat
    if compat != "corrected":
        with suppress(PowertuiError):
            yield ("breakdown", compat), breakdown.step_breakdown(profile, compat)
            if compat == "xprof":
                yield breakdown.UNCUT, breakdown.uncut_breakdown(profile, compat)
    with suppress(PowertuiError):
        yield HOST_CALLS, host_calls(trace)


def unlike(path: str, stamp: FileState) -> str:
    """In what a file differs from the one that was seen by whoever asks; "" where it is the same.

    Machines number devices and files of one file system differently.
    """
    try:
        seen = FileState.from_status(Path(path).stat())
    except OSError as error:
        return f"{path} ({error.strerror or error})"
    if (seen.size, seen.mtime_ns) != (stamp.size, stamp.mtime_ns):
        return f"{path} is another file there"
    return ""


# The scalars of the run that was asked for last: all of its hosts need them.
_last_beside: tuple[Hashable, Beside] = ((), Beside())


def _beside(question: HostQuestion) -> Beside:
    global _last_beside
    states: list[Hashable] = [question.options.limit]
    for file in question.entry.tfevents:
        try:
            status = Path(file.path).stat()
            states.append((file.path, FileState.from_status(status)))
        except OSError:
            states.append((file.path, None))
    key = tuple(states)
    if _last_beside[0] != key:
        _last_beside = (key, Beside())
    return _last_beside[1]
