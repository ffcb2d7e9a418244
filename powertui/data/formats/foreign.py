"""Well-known contents that no reader takes: what each is, and the way to one that opens."""

from __future__ import annotations

from powertui.patterns import late_pattern

READABLE = (
    "xplane.pb, traces of TensorFlow, JAX, PyTorch, Chrome and Perfetto, and what rocprofv3 writes"
)
_OWN = "Record with the program's own profiler: torch.profiler, jax.profiler or tf.profiler."
_NSIGHT = "is a report of NVIDIA Nsight, which only NVIDIA's tools read", _OWN
_NSYS = (
    "is a report of Nsight Systems, which only NVIDIA's tools read",
    "Export it: nsys export --type sqlite -o report.sqlite report.nsys-rep",
)
_NSYS_TABLES = (
    "is a database like those of Nsight Systems, without their tables",
    "Export the report again: nsys export --type sqlite -o report.sqlite report.nsys-rep",
)

_NEURON = (
    "is a capture of AWS Neuron in a closed format, which only Neuron's tools read",
    "Export it: neuron-explorer view -n MODEL.neff -s PROFILE.ntff --output-format json",
)
_NEURON_TABLE = (
    "is a table of ops that torch-neuronx wrote: a result, no timeline",
    "Give its folder: powertui report FOLDER --tool neuron_ops",
)

# What a file begins with.
_MAGICS = (
    (b"PK\x03\x04", "looks like a zip archive", "Unpack it and name the file inside."),
    (b"\xfd7zXZ\x00", "looks like an xz archive", "Unpack it first: xz -dk"),
    (b"BZh", "looks like a bzip2 archive", "Unpack it first: bzip2 -dk"),
    (b"\x28\xb5\x2f\xfd", "looks like a zstd archive", "Unpack it first: zstd -d"),
    (b"PAR1", "looks like a Parquet table", f"powertui reads the profile itself: {READABLE}."),
    (
        b"\x7fELF",
        "looks like a program, not a profile",
        f"Name a profile ({READABLE}) or a logdir.",
    ),
    (b"\x89PNG", "looks like a picture", f"Name a profile ({READABLE}) or a logdir."),
    (
        b"\x10\x00\x04FxT\x16\x00",
        "is a Fuchsia trace (magic-trace writes them)",
        "Open it at ui.perfetto.dev.",
    ),
    (
        b"PERFILE2",
        "is a recording of perf: samples, no timeline of a program's events",
        f"powertui reads {READABLE}.",
    ),
    (b"tr\xfdP", "is a Tracy capture", "Export it first: tracy-export writes a Chrome trace."),
    (
        b"\x80\x04\x95",
        "is a Python pickle, but not a memory snapshot of PyTorch",
        "Write a snapshot with torch.cuda.memory._dump_snapshot: it opens.",
    ),
    (
        b"# tracer:",
        "is the kernel's trace as text (ftrace)",
        "Record with Perfetto: powertui reads its .pftrace.",
    ),
)
# What a file that begins like a database or JSON holds near its beginning: all of these words.
_SQLITE = (
    (
        (b"rocpd_",),
        "is a rocpd database of rocprofv3",
        (
            "Let it write a format that powertui reads: rocprofv3 --output-format json (or csv, "
            "pftrace)."
        ),
    ),
    ((b"CUPTI_ACTIVITY",), *_NSYS_TABLES),
)
_JSON = (
    (
        (b"speedscope.app/file-format-schema",),
        "is a speedscope profile: sampled stacks, no timeline of events",
        "py-spy record --format chrometrace writes one that opens.",
    ),
    (
        (b'"callFrame"', b'"nodes"'),
        "is a CPU profile of V8 (Node.js, Chrome): sampled stacks, no timeline of events",
        "node --trace-events-enabled writes a trace that opens.",
    ),
    (
        (b'"libs"', b'"meta"', b'"interval"'),
        "is a profile of the Firefox Profiler",
        "Open it at profiler.firefox.com.",
    ),
    (
        (b'"ctrl_deps"', b'"nodes"'),
        "is an execution trace of PyTorch: a graph of operators, no timeline",
        "Use torch.profiler and export_chrome_trace: that trace opens.",
    ),
    ((b'"CudaEvent"',), *_NSIGHT),
    ((b'"TraceProcessEvent"',), *_NSIGHT),
    ((b'"timeMs"', b'"averageMs"'), "is a table of layer times of TensorRT, no timeline", _OWN),
)
_MEMORY = (
    "is a memory timeline of PyTorch: bytes by category, no timeline of events",
    "Use prof.export_chrome_trace: with profile_memory=True that trace shows memory as a strip.",
)
# export_memory_timeline writes [times, sizes], with .raw.json.gz [time, action, bytes, category]
# for each allocation.
_MEMORY_LISTS = late_pattern(
    rb"\s*\[\s*\[\s*(-?\d+\s*,\s*[0-3]\s*,\s*\d+\s*,\s*\d+\s*\]\s*,\s*\[|\d{9,}(\s*,\s*\d{9,})+\s*(\]|,|$))"
)
_RESULT = late_pattern(
    r"(overview_page|input_pipeline|tensorflow_stats|kernel_stats|op_profile|memory_viewer|memory_profile|pod_viewer)\.(pb|json(\.gz)?)$"
)
_NAMES = (
    (".nsys-rep", *_NSYS),
    (".qdrep", *_NSYS),
    (".ncu-rep", *_NSIGHT),
    (".ntff", *_NEURON),
    (".neff", *_NEURON),
    ("neuron_framework_op.json", *_NEURON_TABLE),
    ("neuron_hlo_op.json", *_NEURON_TABLE),
)
_PPROF = (b"\x32\x07samples", b"\x32\x03cpu", b"\x32\x0binuse_space", b"\x32\x0balloc_space")


def way_to_open(path: str) -> str:
    """What makes a file that opens of one whose format is closed, by its name; "" of all others."""
    return next((hint for ending, _, hint in _NAMES if path.endswith(ending)), "")


def named(head: bytes, path: str) -> tuple[str, str] | None:
    """(what it is, what to do) for what is known by name; None for all else."""
    for magic, problem, hint in _MAGICS:
        if head.startswith(magic):
            return problem, hint
    for ending, problem, hint in _NAMES:
        if path.endswith(ending):
            return problem, hint
    result = _RESULT.search(path)
    if result is not None:
        what = result[1].replace("_", " ")
        return (
            f"is TensorBoard's stored {what}: a result, no timeline",
            "Give the xplane.pb or trace.json.gz beside it.",
        )
    return _by_content(head)


def _by_content(head: bytes) -> tuple[str, str] | None:
    if head.startswith(b"SQLite format 3\x00"):
        return _holds(head, _SQLITE) or (
            "looks like a SQLite database",
            "If it is a power log, give it with --power.",
        )
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return _holds(head, _JSON) or (_MEMORY if _MEMORY_LISTS.match(head) else None)
    if head.lstrip()[:5].lower() == b"<html" and b"Memory Timeline" in head:
        return _MEMORY
    if head[:1] == b"\x0a" and b"\x32\x00" in head and any(word in head for word in _PPROF):
        return (
            "is a pprof profile: sampled stacks, no timeline of events",
            f"powertui reads {READABLE}.",
        )
    return None


def _holds(
    head: bytes,
    table: tuple[tuple[tuple[bytes, ...], str, str], ...],
) -> tuple[str, str] | None:
    """The first row of the table all of whose words are there."""
    for words, problem, hint in table:
        if all(word in head for word in words):
            return problem, hint
    return None
