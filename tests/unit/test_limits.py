"""No file takes more memory than the machine bears; each refusal is one sentence with the switch
that lifts it.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

from powertui.data import limits
from powertui.data.asked import LogColumns
from powertui.data.formats import registry, tfevents
from powertui.data.limits import MemoryLimit
from powertui.data.power import registry as power
from powertui.errors import UnreadableFile, UsageError
from tests.memory_limits import holds

MB = 1 << 20
TIGHT = MemoryLimit(1e6)


def packed_zeros(path: Path, megabytes: int) -> Path:
    engine = zlib.compressobj(9, wbits=31)
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(engine.compress(bytes(MB)))
        file.write(engine.flush())
    return path


def files(root: Path, **content: str) -> Path:
    for name, text in content.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


# ── what is free ─────────────────────────────────────────────────────────────────────────────────


def test_the_smallest_of_what_is_known_counts(tmp_path: Path) -> None:
    files(tmp_path, proc__meminfo="MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")
    assert limits.available(tmp_path) == 8000 * 1024
    files(tmp_path, proc__self__cgroup="0::/a/b\n")
    assert limits.available(tmp_path) == 8000 * 1024
    group = files(tmp_path / "sys/fs/cgroup/a") / "b"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("1000\n")
    assert limits.available(tmp_path) == 8000 * 1024
    (group.parent / "memory.max").write_text("5000000\n")
    (group.parent / "memory.current").write_text("4000000\n")
    assert limits.available(tmp_path) == 1000000
    (group.parent / "memory.stat").write_text("anon 7\ninactive_file 500000\n")
    assert limits.available(tmp_path) == 1500000


def test_version_1_of_cgroups_is_asked_too(tmp_path: Path) -> None:
    files(
        tmp_path,
        proc__meminfo="MemAvailable: 8000 kB\n",
        proc__self__cgroup="3:cpu:/x\n4:memory:/docker/1\n0::/\n",
    )
    top = files(
        tmp_path / "sys/fs/cgroup/memory",
        **{"memory.limit_in_bytes": "3000000\n", "memory.usage_in_bytes": "2900000\n"},
    )
    files(top, **{"memory.stat": "cache 5\ntotal_inactive_file 400000\n"})
    assert limits.available(tmp_path) == 500000
    files(top, **{"memory.limit_in_bytes": f"{(1 << 63) - 4096}\n"})
    assert limits.available(tmp_path) == 8000 * 1024


def test_where_nothing_tells_something_is_assumed(tmp_path: Path) -> None:
    assert limits.available(tmp_path) == limits.UNKNOWN
    files(tmp_path, proc__self__cgroup="nonsense\n\n0\n", proc__meminfo="")
    assert limits.available(tmp_path) == limits.UNKNOWN


def test_a_limit_of_address_space_counts() -> None:
    if not holds(resource.RLIMIT_AS):
        pytest.skip("limits of memory are not held here, as in some emulators")
    script = "from powertui.data import limits; print(limits.available())"

    def less() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=less,
        capture_output=True,
        text=True,
        check=True,
        env=env,
    )
    assert 0 < float(done.stdout) < 2 << 30


@pytest.mark.parametrize("page", [4096, 16384, 65536])
def test_what_is_used_of_the_address_space_is_counted_in_this_kernels_pages(
    page: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """POWER has pages of 64 KiB, some ARM machines of 16."""
    files(tmp_path, proc__self__statm="16384 900 300 1 0 500 0\n")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (2 << 30, 2 << 30))
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": page}.__getitem__)
    assert limits.available(tmp_path) == (2 << 30) - 16384 * page


@pytest.mark.parametrize(
    ("text", "said"),
    [("24G", 24 << 30), ("1.5g", 1.5 * (1 << 30)), ("500 MB", 500 << 20), ("7", 7), (7, 7)],
)
def test_sizes_are_written_as_people_write_them(text: str | int, said: float) -> None:
    assert MemoryLimit.parse(text).said == said


def test_none_lifts_the_limit() -> None:
    assert not MemoryLimit.parse("none").exceeded(1e30)
    assert not MemoryLimit.parse("none").unpacks_too_far(1, 1 << 60)
    assert MemoryLimit.parse(None) == limits.MACHINE


@pytest.mark.parametrize("text", ["", "much", "-1G", "0", "1X", "G"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        MemoryLimit.parse(text)


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def refused(error: pytest.ExceptionInfo[UnreadableFile]) -> None:
    assert "--max-memory none" in error.value.hint
    assert "\n" not in error.value.problem


@pytest.mark.parametrize("name", ["vm.xplane.pb", "vm.trace.json.gz", "power.csv"])
def test_a_bomb_costs_a_sentence(tmp_path: Path, name: str) -> None:
    bomb = packed_zeros(tmp_path / name, 2000)
    script = (
        "import sys\n"
        "from powertui.data.formats import registry\n"
        "from powertui.data.power import registry as power\n"
        "from powertui.errors import UnreadableFile\n"
        "try:\n"
        "    power.load(sys.argv[1]) if sys.argv[1].endswith('csv') else "
        "registry.read(sys.argv[1])\n"
        "except UnreadableFile as error:\n"
        "    print(error)\n"
        # getrusage would tell of the process that this one was forked from, too
        "print(next(line.split()[1] for line in open('/proc/self/status') if "
        "line.startswith('VmHWM')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(bomb)], capture_output=True, text=True, check=True
    )
    *_, peak = done.stdout.split()
    assert int(peak) < 700 * 1024, done.stdout
    assert bomb.name in done.stdout


def test_a_profile_that_unpacks_too_far_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RATIO_FROM", MB)
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(gzip.compress(b"\x0a\xff\xff\xff\xff\x0f\x12\x09/host:CPU" + bytes(8 * MB)))
    with pytest.raises(UnreadableFile, match="unpacks to more than 250 times its size") as error:
        registry.read(path)
    refused(error)


def test_a_profile_that_packs_well_is_read(tmp_path: Path) -> None:
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": i * 10, "dur": 5, "name": "the same name"}
        for i in range(20_000)
    ]
    path = tmp_path / "a.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode(), 9))
    trace = registry.read(path)
    assert trace.event_count == 20_000
    assert not trace.warnings


def test_events_without_number_are_refused_before_they_are_read(tmp_path: Path) -> None:
    line = b"\x22\x02\x12\x00" * 100_000  # two bytes an event
    body = b"\x12\x09/host:CPU" + b"\x1a" + varint(len(line)) + line
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(b"\x0a" + varint(len(body)) + body)
    assert registry.read(path).event_count == 100_000
    with pytest.raises(
        UnreadableFile,
        match=r"100,000 events, which take about 4\.5 MB of memory, more than the 1\.0 MB of",
    ) as error:
        list(registry.load(path, limit=TIGHT))
    refused(error)


def test_metadata_without_number_is_refused_before_it_is_kept(tmp_path: Path) -> None:
    body = b"\x12\x09/host:CPU" + b"\x22\x02\x12\x00" * 100_000
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(b"\x0a" + varint(len(body)) + body)
    with pytest.raises(UnreadableFile, match="its metadata takes about") as error:
        list(registry.load(path, limit=TIGHT))
    refused(error)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def test_a_trace_keeps_what_there_is_room_for(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.json"
    path.write_text(
        json.dumps(
            {
                "traceEvents": [
                    {"ph": "X", "pid": 1, "tid": 1, "ts": i, "dur": 1, "name": "x"}
                    for i in range(150_000)
                ]
            }
        )
    )
    (*_, trace) = registry.load(path, limit=TIGHT)
    assert (
        10_000 <= trace.event_count < 50_000
    )  # looked at after each window of the text, which holds some 30,000
    assert any(
        "the rest was left" in warn.cause and "--max-memory" in warn.cause
        for warn in trace.warnings
    )


def test_a_deep_json_is_no_trap(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.json"
    deep = "[" * 200_000
    path.write_text(
        (
            '{"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "name": "x"}, '
            '{"args": '
        )
        + deep
        + "]}"
    )
    assert registry.read(path).event_count == 1


def test_scalars_without_number_are_left(data: Path) -> None:
    path = next(data.rglob("events.out.tfevents*"))
    whole = tfevents.read(str(path))
    assert tfevents.read(str(path), "", MemoryLimit(1e9)).records == whole.records
    assert whole.records


@pytest.mark.parametrize("name", ["power.csv", "power.csv.gz"])
def test_a_large_log_is_refused(tmp_path: Path, name: str) -> None:
    text = "time,watts\n" + "".join(f"{i},200\n" for i in range(50_000))
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    assert len(power.load(str(path)).series[0]) == 50_000
    with pytest.raises(
        UnreadableFile, match=r"of memory, more than the 1\.0 MB of --max-memory"
    ) as error:
        power.load(str(path), LogColumns(limit=TIGHT))
    refused(error)
    assert (
        len(power.load(str(path), LogColumns(limit=MemoryLimit.parse("none"))).series[0]) == 50_000
    )


def test_a_log_larger_than_the_machine_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "power.csv"
    with path.open("w") as file:
        file.write("time,watts\n1,2\n")
        file.truncate(4 << 40)
    with pytest.raises(UnreadableFile, match=r"more than half of the .* free here") as error:
        power.load(str(path))
    refused(error)


@pytest.mark.parametrize("kind", ["profile", "power"])
def test_a_pipe_without_end_is_left(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNCHECKED_BYTES", MB)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def pour() -> None:
        try:
            with fifo.open("wb", buffering=0) as pipe:
                while True:
                    pipe.write(b"\x0a" * MB)
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=pour)
    writer.start()
    with pytest.raises(UnreadableFile, match="the piped data takes about") as error:
        power.load(str(fifo), LogColumns(limit=TIGHT)) if kind == "power" else list(
            registry.load(fifo, limit=TIGHT)
        )
    refused(error)
    writer.join()


def test_a_device_is_no_log() -> None:
    with pytest.raises(UnreadableFile, match="is neither a file nor a pipe"):
        power.load("/dev/zero")


@pytest.mark.parametrize("verb", ["report", "doctor", "energy", "export"])
def test_the_switch_is_there_for_every_verb_that_reads(
    data: Path, tmp_path: Path, verb: str
) -> None:
    profile = shutil.copy(
        next((data / "logdirs/jax_cpu").rglob("*.xplane.pb")), tmp_path
    )  # without its second form
    command = [
        sys.executable,
        "-m",
        "powertui",
        verb,
        str(profile),
        *(["--what", "steps"] if verb == "export" else []),
    ]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *more], capture_output=True, text=True, check=False)

    assert run().returncode == run("--max-memory", "none").returncode == 0
    assert run("--max-memory", "a lot").returncode == 2
    tight = run("--max-memory", "1K")
    assert tight.returncode == 3
    assert "more than the 1.0 kB of --max-memory" in tight.stdout + tight.stderr
    assert "Traceback" not in tight.stderr
