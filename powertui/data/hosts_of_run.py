"""Reading a run of many hosts: the first one here, the others by whoever reads them; their events
are let go of, and read again when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data import free_memory
from powertui.data.asked import ReadOptions
from powertui.data.host_parts import HostPart, HostQuestion, HostReader
from powertui.data.host_trace import FileOfEvents, HeldEvents, host_trace, small_fields
from powertui.data.logdir import ProfileFile
from powertui.data.model import Run, Trace
from powertui.data.wire.stored import FileState
from powertui.errors import UnreadableFile

if TYPE_CHECKING:
    from powertui.data.loading import RunLoader


class HostsOfRun:
    """The hosts of one run, which its loader takes one after another."""

    def __init__(self, loader: RunLoader) -> None:
        self._loader = loader

    def read(self, reader: HostReader, *, partial: bool) -> Iterator[Run]:
        """The first host here, so that it is seen at once, and the others by whoever reads them."""
        free_memory.keep_for_next_answer()
        loader = self._loader
        loader.has_host_parts = True
        held = HeldEvents()
        first, *others = loader.entry.profiles
        yield from loader.read_profile(first, partial=partial)
        if loader.done:
            trace = loader.done.pop()
            loader.keep_power_of_host(trace)
            if trace.stamp is not None:
                held.put(0, trace)
                part = HostPart(path=trace.path, small=small_fields(trace))
                trace = self._host_trace(part, trace.stamp, held)
            loader.done.append(trace)
            yield loader.so_far()
        questions = [self._host_question(file) for file in others]
        for file, question, part in zip(
            others, questions, reader.parts(questions, self._report_hosts), strict=True
        ):
            self._take(part, question, held)
            loader.bytes_before += file.size
            self._report_hosts()
            yield loader.so_far()
        loader.warnings += reader.warnings()

    def _report_hosts(self) -> None:
        loader = self._loader
        loader.progress(loader.bytes_before, loader.entry.size, loader.events_before)

    def _host_question(self, file: ProfileFile) -> HostQuestion:
        loader = self._loader
        seconds = tuple(other for other in loader.entry.alternates if other.host == file.host)
        entry = replace(
            loader.entry,
            profiles=(file,),
            alternates=seconds,
            power=(),
            above=(),
            problems=(),
        )
        options = ReadOptions(
            step_marker=loader.options.step_marker,
            tz=loader.options.tz,
            limit=loader.options.limit,
            compat=loader.options.compat,
        )
        stamps = []
        for candidate in (file, *seconds):
            stamp = FileState.at(candidate.path)
            if stamp is not None:
                stamps.append((candidate.path, stamp))
        return HostQuestion(
            entry=entry,
            options=options,
            stamps=tuple(stamps),
        )

    def _take(self, part: HostPart, question: HostQuestion, held: HeldEvents) -> None:
        """A host as it was read elsewhere."""
        loader = self._loader
        for failed in part.failed:
            loader.errors.append(UnreadableFile(failed.path, failed.problem, hint=failed.hint))
        loader.warnings += part.warnings
        if part.small is None:
            return
        assert part.steps is not None
        assert part.epochs is not None
        loader.done.append(self._host_trace(part, dict(question.stamps)[part.path], held))
        loader.steps.append(part.steps)
        loader.epochs.append(part.epochs)
        loader.power_of_hosts += part.power
        loader.events_before += part.small["event_count"]

    def _host_trace(self, part: HostPart, stamp: FileState, held: HeldEvents) -> Trace:
        loader = self._loader
        assert part.small is not None
        file = FileOfEvents(
            path=part.path,
            stamp=stamp,
            limit=loader.options.limit,
            host=len(loader.done),
            held=held,
        )
        return host_trace(part.small, file, dict(part.answers))
