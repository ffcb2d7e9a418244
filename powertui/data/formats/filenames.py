"""How profilers, trainers and power loggers name their files.

A file of a profile is `<host>.<tool suffix>`, and hosts hold dots (`34.83.195.179_6003`), so a name
is cut at the longest suffix that a profiler is known to write. What can be read is asked of the
readers themselves (`registry.suffixes`); the tables here hold what no reader takes. Nothing is
opened here.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from pathlib import PurePath

from powertui.data.formats import registry
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

RESULTS = {
    "overview_page.pb": "overview page",
    "input_pipeline.pb": "input pipeline analysis",
    "tensorflow_stats.pb": "TensorFlow op statistics",
    "framework_op_stats.pb": "framework op statistics",
    "kernel_stats.pb": "GPU kernel statistics",
    "memory_profile.json.gz": "memory profile",
    "tf_data_bottleneck_analysis.json": "tf.data bottleneck analysis",
    "overview_page.json": "overview page (old JSON)",
    "input_pipeline.json": "input pipeline analysis (old JSON)",
    "op_profile.json": "op profile (old JSON)",
    "memory_viewer.json": "memory viewer (old JSON)",
    "pod_viewer.json": "pod viewer (old JSON)",
    "hlo_proto.pb": "HLO module",
    "neuron_framework_op.json": "AWS Neuron framework op table",
    "neuron_hlo_op.json": "AWS Neuron HLO op table",
}

# Results that nobody else names so: they are a run wherever they lie, without a host's name.
CERTAIN_RESULTS = frozenset({"neuron_framework_op.json", "neuron_hlo_op.json"})

# What other profilers write and no reader takes. A reader that names one of these suffixes takes it
# out of this table.
_UNREAD = {
    "xplane.riegeli": "XPlane in a riegeli record file",
    "ntff": "AWS Neuron capture (closed format)",
    "neff": "AWS Neuron executable (closed format)",
}

CACHES = {
    "op_stats_v2.pb": "cache of the browser tool",
    "op_stats.pb": "cache of the browser tool",
    "dcn_collective_stats.pb": "cache of the browser tool",
    "smart_suggestion.pb": "cache of the browser tool",
    "SSTABLE": "cache of the browser tool",
    "metadata.SSTABLE": "cache of the browser tool",
    "trie.SSTABLE": "cache of the browser tool",
    "cache_version.txt": "cache of the browser tool",
    "cached_tools.json": "cache of the browser tool",
}

# JAX's copy of a capture for Perfetto (`create_perfetto_trace=True`), beside the capture itself and
# without its host's name.
SECOND_COPY = "perfetto_trace.json.gz"

# What PyTorch's profiler writes into, and gives its real name when it is whole.
UNFINISHED = (".json.tmp", ".json.gz.tmp")

# Folders that hold a part of a run: their name is the group of the scalars in them.
PARTS = frozenset({"train", "training", "validation", "val", "valid", "eval", "test"})

# PowerBoard leaves its markers in a folder of this name: tfevents files whose records say when it
# began to measure. They hold no scalars.
MARKERS_FOLDER = "demo_logs"

# Folders that hold the logs of a project: power logs lie beside them.
LOG_FOLDERS = frozenset(
    {"logs", "log", "logdir", "runs", "tensorboard", "tb", "tb_logs", MARKERS_FOLDER}
)

POWER_ENDINGS = (
    ".csv",
    ".tsv",
    ".db",
    ".sqlite",
    ".sqlite3",
    ".txt",
    ".log",
    ".prom",
    ".jsonl",
    ".ndjson",
    ".lp",
    ".plist",
    ".xml",
    ".csv.gz",
    ".txt.gz",
    ".log.gz",
    ".jsonl.gz",
    "_watts",  # a metric of MLflow, without an ending
)

# Endings of much else: files of these are looked into only where their names say power.
NAMED_POWER_ENDINGS = (
    ".json",
    ".json.gz",
    ".yaml",
    ".dat",
    ".out",
    ".md",
    ".xlsx",
    ".ods",
    ".parquet",
    ".xz",
    ".bz2",
    ".zst",
    ".zip",
)


def readable(tool: str) -> bool:
    """Whether a reader says that its files are named so."""
    return tool in registry.suffixes()


def rank(tool: str) -> int:
    """The place of a readable suffix among all of them: of two files of one capture the one with
    the lower rank is read.
    """
    return registry.suffixes().index(tool)


def certain(tool: str) -> bool:
    """Whether nobody but its profiler names a file so: it counts as a profile wherever it lies,
    without a look into it.
    """
    return tool in registry.certain_suffixes()


def unread() -> Mapping[str, str]:
    """Suffixes of profilers that no reader takes, and what such a file is."""
    return _unread(registry.suffixes())


@functools.lru_cache(maxsize=4)
def _unread(readable_suffixes: tuple[str, ...]) -> Mapping[str, str]:
    return {suffix: what for suffix, what in _UNREAD.items() if suffix not in readable_suffixes}


@functools.lru_cache(maxsize=4)
def _known_suffixes(readable_suffixes: tuple[str, ...]) -> frozenset[str]:
    return frozenset({*readable_suffixes, *RESULTS, *_UNREAD, *CACHES})


def split_tool(name: str) -> tuple[str, str] | None:
    """(host, tool suffix) of a profiler's file name, cut at the longest known suffix; None for
    other names.
    """
    if name.startswith(".cached_tools"):
        bare = name[1:]
    else:
        bare = name
    suffixes = _known_suffixes(registry.suffixes())
    if bare in suffixes:
        return "", bare
    host, dot, suffix = bare.partition(".")
    while dot:
        if suffix in suffixes:
            return host, suffix
        part, dot, suffix = suffix.partition(".")
        host = f"{host}.{part}"
    return None


class TraceWriter(NamedTuple):
    """The process whose PyTorch trace a file is, as its name says."""

    host: str
    pid: int
    timed: bool  # the name ends in a time, as `tensorboard_trace_handler` writes it


# <host>_<process id>[.<ns>].pt.trace.json[.gz]. A process id has at most 7 digits (Linux:
# 4,194,304).
_WRITER = late_pattern(
    r"(?P<host>.*[^\W_].*)_(?P<pid>\d{1,7})(?P<time>\.\d{10,20})?(?:\.pt\.trace)?\.json(?:\.gz)?",
    re.IGNORECASE | re.DOTALL,
)


def trace_writer(name: str) -> TraceWriter | None:
    """(host, process id) of `nodeB_1568.1760000000000000000.pt.trace.json.gz`; None for names
    without a process id.

    A host's own name may end in digits (`node_12.json`): only the process ids inside the trace show
    which of both it is.
    """
    match = _WRITER.fullmatch(name)
    if match is not None:
        return TraceWriter(match["host"], int(match["pid"]), match["time"] is not None)
    return None


_EVENTS = late_pattern(r"^(?P<sec>\d+)\.(?P<rest>.*)$", re.DOTALL)


def split_events(name: str) -> tuple[int, str, int | None] | None:
    """(Unix second, host, pid) of `events.out.tfevents.<sec>.<host>.<pid>.<n>.v2`; None for other
    names.

    The pid is None where the name has none (`….<host>.profile-empty`, TF 1's `….<host>`).
    """
    _, marker, tail = name.partition("tfevents.")
    match = _EVENTS.match(tail) if marker else None
    if match is None:
        return None
    parts = match["rest"].split(".")
    if parts and parts[-1] == "profile-empty":
        return int(match["sec"]), ".".join(parts[:-1]), None
    if parts and parts[-1] == "v2":
        parts = parts[:-1]
        if len(parts) >= 3 and parts[-1].isdigit() and parts[-2].isdigit():
            return int(match["sec"]), ".".join(parts[:-2]), int(parts[-2])
    return int(match["sec"]), ".".join(parts), None


def is_events(name: str) -> bool:
    """TensorBoard's own rule, and ours: `tfevents` in the name."""
    return "tfevents" in name


def host_of(path: str) -> str:
    """The host that a profile's file name stands for: the name without the longest known suffix.

    Host names hold dots and files of old collectors a port (`34.83.195.179_6003.xplane.pb`): never
    cut at a dot.
    """
    if path == "-":
        return "stdin"
    name = PurePath(path).name
    split = split_tool(name)
    if split is not None and split[0]:
        return split[0]
    return name


def run_of(path: str) -> tuple[str, int | None]:
    """What the files of one process have in common: (host, pid).

    Several runs can share one folder.
    """
    split = split_events(os.path.basename(path))  # noqa: PTH119
    if split:
        return (split[1], split[2])
    return ("", None)
