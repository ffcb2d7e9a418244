"""The table of profile formats. The content decides which reader takes a file; its name is only a
hint.

A further format is one file beside this one, with

    NAME = "…"
    def sniff(head: bytes, path: str) -> int    # 0 = not mine … 100 = certain
    def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]    # partial traces first

and its name in `READERS`; endings of its file names stand in `SUFFIXES` there, or in `FILE_NAMES`
here, which spares the import. It may also say

    CLOCK = ClockRule(…)         # what only this format knows of its zero in Unix time

Steps, epochs and the rest of the clocks are not a reader's business. Other packages bring formats
along by the entry point `powertui.formats` (plugins.py); those state `SUFFIXES` and `CERTAIN`
themselves. Readers of ours are imported when a file's content has to be looked at.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import Any, Protocol, cast

from powertui import plugins
from powertui.data.formats.source import OpenedFile, describe, open_file, refuse_filler
from powertui.data.limits import MACHINE, MemoryLimit
from powertui.data.model import Clock, Trace
from powertui.errors import PowertuiError, UnreadableFile
from powertui.value_types import dataclass

__all__ = [
    "FILE_NAMES",
    "READERS",
    "ClockRule",
    "FileNames",
    "OpenedFile",
    "Progress",
    "Reader",
    "certain_suffixes",
    "clock_rule",
    "load",
    "open_file",
    "read",
    "silent",
    "suffixes",
]  # fmt: skip

# The better source of the same capture first.
READERS = (
    "xplane",  # <host>.xplane.pb: TensorFlow, JAX, PyTorch/XLA
    "kineto",  # <worker>.<time>.pt.trace.json.gz: PyTorch
    # .pftrace: Perfetto itself, Neuron Explorer, and what was traced with the Perfetto SDK
    "perfetto",
    "neuron",  # system_profile.json, device_profile_model_N.json: Neuron Explorer
    "nsys",  # .sqlite: what Nsight Systems exports
    "rocprof",  # <pid>_results.json, <pid>_kernel_trace.csv: rocprofv3
    "trace_json",  # <host>.trace.json.gz: TensorFlow 2.2 on, JAX; plain Chrome traces
    "torch_snapshot",  # of any name: torch.cuda.memory._dump_snapshot
    "tf_trace",  # <host>.trace, local.trace: TensorFlow up to 2.1, tf.summary.trace_export
)


@dataclass(frozen=True, eq=False)
class FileNames:
    """How the files of a format are named in a folder: `<host>.<suffix>`, the best one first."""

    suffixes: tuple[str, ...] = ()
    certain: bool = False  # nobody else names files so: each counts as a profile, unseen


FILE_NAMES = {
    "xplane": FileNames(("xplane.pb", "xplane.pb.gz"), certain=True),
    "kineto": FileNames(("pt.trace.json.gz", "pt.trace.json"), certain=True),
    "perfetto": FileNames(
        ("pftrace", "perfetto-trace", "pftrace.gz", "perfetto-trace.gz"), certain=True
    ),
    "neuron": FileNames(("system_profile.json",)),
    "nsys": FileNames(("sqlite",)),
    # Its files are named with an underscore: logdir/rocprof.py tells which belong together.
    "rocprof": FileNames(),
    # torch-neuronx writes the last three.
    "trace_json": FileNames(
        (
            "trace.json.gz",
            "trace.json",
            "neuron_trace.json",
            "neuron_op_timeline.json",
            "neuron_op_timeline_split.json",
        )
    ),
    # PyTorch's documents name them so; the content decides, and a file of any name can be opened.
    "torch_snapshot": FileNames(("pickle", "pkl")),
    "tf_trace": FileNames(("trace",)),
}
# A reader that is so sure of a file is asked alone, and no other one is imported: an XSpace whose
# first plane has a known name.
_UNDOUBTED_SCORE = 95


class Progress(Protocol):
    """Told while a file is read. It may raise `Cancelled`; then reading stops at once."""

    def __call__(self, done: int, total: int, events: int, /) -> None: ...


def _nothing(_trace: Trace) -> Clock | None:
    return None


@dataclass(frozen=True)
class ClockRule:
    """What a format adds to the ladder of data/run/clocks.py."""

    zero: Callable[[Trace], Clock | None] = (
        _nothing  # what the file itself records of its zero; nothing is surer
    )
    # When Keras' record `batch_<N>` is written, in ns after the capture's last event. Keras 3 and
    # TF >= 2.3 write it and then stop the profiler: in recordings that hold both it came 0.7 and
    # 2.2 ms before that event; serialising a large graph takes longer.
    batch_ns: tuple[int, int] = (-150_000_000, 150_000_000)


class Reader(Protocol):
    """What a module in this folder offers to be a format."""

    NAME: str

    def sniff(self, head: bytes, path: str) -> int: ...
    def load(self, source: OpenedFile, progress: Progress) -> Iterator[Trace]: ...


def silent(done: int, total: int, events: int, /) -> None:
    """The progress of someone who does not want to know."""


def readers() -> tuple[Reader, ...]:
    """All formats, imported now: `--help` and a recorder never pay for them.

    Those of other packages come last.
    """
    return (
        *map(_reader, READERS),
        *(cast(Reader, plugin.loaded) for plugin in plugins.plugin_group(plugins.FORMATS).plugins),
    )


def _reader(name: str) -> Reader:
    path = f"powertui.data.formats.{name}"
    return cast(
        Reader, sys.modules.get(path) or importlib.import_module(path)
    )  # asked for every name of a folder


def suffixes() -> tuple[str, ...]:
    """How files are named that a reader takes, the better source of the same capture first."""
    if plugins.plugin_group(plugins.FORMATS).plugins:
        return _suffixes(tuple(_file_names()))
    return _own_suffixes(READERS)


@functools.lru_cache(maxsize=1)
def _own_suffixes(_readers: tuple[str, ...]) -> tuple[str, ...]:
    """The same where there are no readers but ours: thousands of files ask."""
    return _suffixes(tuple(_file_names()))


def certain_suffixes() -> tuple[str, ...]:
    """Those that nobody but their profiler uses."""
    return _suffixes(tuple(names for names in _file_names() if names.certain))


def _file_names() -> Iterator[FileNames]:
    """How the files of each format are named, without importing those of ours."""
    for name in READERS:
        yield FILE_NAMES.get(name) or _stated_names(cast(Hashable, _reader(name)))
    for plugin in plugins.plugin_group(plugins.FORMATS).plugins:
        yield _stated_names(plugin.loaded)


@functools.lru_cache(maxsize=64)
def _stated_names(reader: Hashable) -> FileNames:
    """What a reader says itself."""
    stated: Any = reader
    return FileNames(tuple(stated.SUFFIXES), bool(getattr(stated, "CERTAIN", False)))


@functools.lru_cache(maxsize=8)
def _suffixes(some: tuple[FileNames, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(suffix for names in some for suffix in names.suffixes))


def clock_rule(name: str) -> ClockRule:
    """The clock rule of the format that a trace was read from; the plain one where it
    states none.
    """
    if name in FILE_NAMES and name in READERS:
        reader = _reader(name)
    else:
        reader = None
    if reader is None:
        reader = {each.NAME: each for each in readers()}.get(name)
    rule: ClockRule = getattr(reader, "CLOCK", ClockRule())
    return rule


def _pick(source: OpenedFile) -> Reader:
    """The reader that is surest of this content.

    Raises `UnreadableFile` with what the file looks like.
    """
    refuse_filler(source)
    if not plugins.plugin_group(plugins.FORMATS).plugins:
        first = _reader(READERS[0])
        if _sure(first, source) >= _UNDOUBTED_SCORE:
            return first
    scores = {id(reader): _sure(reader, source) for reader in readers()}
    ranked = sorted(readers(), key=lambda reader: scores[id(reader)], reverse=True)
    if scores[id(ranked[0])] <= 0:
        problem, hint = describe(source.head, source.path)
        hint += plugins.left_out(plugins.FORMATS)
        raise UnreadableFile(source.path, problem, hint=hint)
    return ranked[0]


def _sure(reader: Reader, source: OpenedFile) -> int:
    """How sure a reader is of this content; a plugin that raises is not."""
    plugin = _plugin(reader)
    if plugin is None:
        return reader.sniff(source.head, source.path)
    return min(
        100,
        int(
            plugins.guarded(plugin, "sniff", lambda: int(reader.sniff(source.head, source.path)), 0)
        ),
    )


def _plugin(reader: Reader) -> plugins.Plugin | None:
    """The plugin that a reader is; None for our own."""
    return next(
        (
            plugin
            for plugin in plugins.plugin_group(plugins.FORMATS).plugins
            if plugin.loaded is reader
        ),
        None,
    )


def load(
    path: str | os.PathLike[str],
    progress: Progress = silent,
    limit: MemoryLimit = MACHINE,
) -> Iterator[Trace]:
    """Read one file: partial traces (`complete` is False) as they grow, the whole one last."""
    source = open_file(path, limit)
    reader = _pick(source)
    try:
        for trace in reader.load(source, progress):
            yield replace(trace, stamp=source.stamp)
    except (PowertuiError, GeneratorExit):
        raise
    except Exception as error:
        plugin = _plugin(reader)
        if plugin is None:
            raise
        problem = (
            f"the plugin {plugin.name!r} of {plugin.package} failed on it "
            f"({type(error).__name__}: {error})"
        )
        raise UnreadableFile(
            source.path, problem, hint="Report it to its authors, or uninstall it."
        ) from None


def read(path: str | os.PathLike[str], progress: Progress = silent) -> Trace:
    """Read one file wholly."""
    last: Trace | None = None
    for trace in load(path, progress):
        last = trace
    if last is None:
        raise UnreadableFile(os.fspath(path), "holds nothing readable")
    return last
