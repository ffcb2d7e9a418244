"""Sampling a BMC: what a reading costs, how steady the ticks are, a hundred hosts at once, and the
CPU that it takes.

All against the test BMC of tests/bmc on loopback, in a process of its own, so that what is compared
is the clients. The steady runs take 15 s, with POWERTUI_BENCH_ALL=1 a minute, or `POWERTUI_BENCH_SECONDS`.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import ROOT, Amount, Table, python
from powertui.sampler.credentials import Secret
from powertui.sampler.process import RecorderProcess
from powertui.sampler.source import Options, open_source

_USUAL = Amount(15, 60, "s")
SECONDS = float(os.environ.get("POWERTUI_BENCH_SECONDS", _USUAL.count))
HOSTS = 100
OPTIONS = Options(user="viewer", password=Secret("pw-viewer"))
_SERVER = """
import sys; sys.path.insert(0, {root!r})
from tests.bmc.rmcpplus import Bmc
bmcs = [Bmc().start() for _ in range({count})]
print(*[b.port for b in bmcs], flush=True)
sys.stdin.read()
"""
# python-ipmi as its documentation shows it. Suite 3: it derives the keys of suite 17 so that no BMC
# answers.
_PLAIN = """
import time, pyipmi, pyipmi.interfaces
interface = pyipmi.interfaces.create_interface("rmcpplus", cipher_suite=3)
ipmi = pyipmi.create_connection(interface)
ipmi.session.set_session_type_rmcp("127.0.0.1", {port})
ipmi.session.set_auth_type_user("viewer", "pw-viewer")
ipmi.session.set_priv_level("user")
ipmi.target = pyipmi.Target(ipmb_address=0x20)
interface.ping = lambda: None
ipmi.open()
"""


@contextmanager
def bmcs(count: int) -> Iterator[list[int]]:
    """Ports of so many BMCs."""
    code = _SERVER.format(root=str(ROOT), count=count)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield [int(port) for port in process.stdout.readline().split()]
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def per_read(port: int) -> None:
    table = Table("One power reading", ["client", "median", "p99", "against ipmitool"])
    ours: dict[str, list[float]] = {}
    for name, sensors in (("powertui, DCMI", ()), ("powertui, SDR sensor", ("Total Power",))):
        source = open_source(
            f"ipmi://viewer@127.0.0.1:{port}",
            Options("viewer", Secret("pw-viewer"), sensors=sensors),
        )
        source.open()
        ours[name] = [_timed(source.read) for _ in range(1000)]
        source.close()
    code = _PLAIN.format(port=port) + (
        "import json\nout = []\nfor _ in range(1000):\n    begin = time.perf_counter()\n    "
        "ipmi.get_power_reading(1)\n"
        "    out.append(time.perf_counter() - begin)\nprint(json.dumps(out))"
    )
    ours["python-ipmi's plain loop, DCMI"] = json.loads(python(code).stdout)
    if shutil.which("ipmitool"):
        words = [
            "ipmitool",
            "-I",
            "lanplus",
            "-H",
            "127.0.0.1",
            "-p",
            str(port),
            "-U",
            "viewer",
            "-E",
            "-L",
            "USER",
            "-C",
            "17",
        ]
        env = {**os.environ, "IPMI_PASSWORD": "pw-viewer"}

        def tool() -> None:
            subprocess.run(
                [*words, "dcmi", "power", "reading"], env=env, capture_output=True, check=True
            )

        ours["ipmitool, a process per reading"] = [_timed(tool) for _ in range(60)]
    reference = statistics.median(next(reversed(ours.values())))
    for name, times in ours.items():
        times.sort()
        ratio = reference / statistics.median(times)
        table.row(
            name,
            f"{statistics.median(times) * 1e3:.3f} ms",
            f"{times[int(len(times) * 0.99)] * 1e3:.3f} ms",
            f"{ratio:.0f}x faster",
        )
    if not shutil.which("ipmitool"):
        table.note("ipmitool is not installed: the last column is against python-ipmi.")
    table.print()


def _timed(action: object) -> float:
    begin = time.perf_counter()
    action()  # type: ignore[operator]
    return time.perf_counter() - begin


def starts(path: Path) -> list[float]:
    """When each request was sent, by the recording itself.

    Without the last one, which is out of rhythm.
    """
    with path.open() as file:
        rows = [
            r
            for r in csv.DictReader(line for line in file if not line.startswith("#"))
            if r["quality"] == "ok"
        ]
    return [float(r["mono_s"]) - float(r["rtt_s"]) / 2 for r in rows][:-1]


def off_grid(times: list[float], interval: float) -> list[float]:
    """How far each moment lies from the steady grid that fits them best, ascending."""
    phases = [t - times[0] - round((t - times[0]) / interval) * interval for t in times]
    middle = statistics.median(phases)
    return sorted(abs(p - middle) for p in phases)


def _told_seconds() -> str:
    return f"{SECONDS:g} s" if _USUAL.count != SECONDS else str(_USUAL)


def steady(port: int) -> None:
    """1 Hz, 10 Hz, the library's thread, and a loop that sleeps, all at the same time."""
    jitter = Table(
        f"Steadiness over {_told_seconds()}",
        ["recorder", "readings", "p50 off its grid", "p99 off its grid", "gaps and missed ticks"],
    )
    cost = Table("CPU while recording one BMC", ["what", "share of one core"])
    code = _PLAIN.format(port=port) + (
        f"import json\nout, end = [], time.monotonic() + {SECONDS}\n"
        "while time.monotonic() < end:\n    out.append(time.monotonic())\n    "
        "ipmi.get_power_reading(1)\n    time.sleep(0.1)\n"
        "print(json.dumps(out))"
    )
    library = (
        "import os, time, powertui\nos.environ['IPMI_PASSWORD'] = 'pw-viewer'\n"
        f"with powertui.record({{path!r}}, source='ipmi://viewer@127.0.0.1:{port}') as power:\n"
        f"    time.sleep(1); begin = time.process_time(); time.sleep({SECONDS}); "
        "print(time.process_time() - begin)"
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = {interval: Path(folder) / f"{interval}.csv" for interval in (1.0, 0.1)}
        recorders = {
            interval: RecorderProcess(
                [(f"ipmi://viewer@127.0.0.1:{port}", OPTIONS)],
                path=str(path),
                interval=interval,
                stream=False,
            )
            for interval, path in paths.items()
        }
        for recorder in recorders.values():
            recorder.start()
        loop = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        thread = subprocess.Popen(
            [sys.executable, "-c", library.format(path=str(Path(folder) / "library.csv"))],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        before = {
            interval: cpu_seconds(recorder.pid or 0) for interval, recorder in recorders.items()
        }
        begin = time.monotonic()
        time.sleep(SECONDS)
        passed = time.monotonic() - begin
        after = {
            interval: cpu_seconds(recorder.pid or 0) for interval, recorder in recorders.items()
        }
        for interval, recorder in recorders.items():
            (channel,) = (recorder.stop() or {})["channels"]
            times = starts(paths[interval])
            off = off_grid(times, interval)
            name = f"powertui record, {1 / interval:g} Hz"
            troubles = f"{channel['gaps']} and {channel['missed']}"
            jitter.row(
                name,
                len(times),
                f"{statistics.median(off) * 1e3:.2f} ms",
                f"{off[int(len(off) * 0.99)] * 1e3:.2f} ms",
                troubles,
            )
            cost.row(name, f"{(after[interval] - before[interval]) / passed:.2%}")
        plain = json.loads(loop.communicate()[0])
        off = off_grid(plain, 0.1)
        lost = int(SECONDS / 0.1) - len(plain)
        jitter.row(
            "a loop with sleep(0.1)",
            len(plain),
            f"{statistics.median(off) * 1e3:.2f} ms",
            f"{off[int(len(off) * 0.99)] * 1e3:.2f} ms",
            f"drifts: {lost} readings fewer",
        )
        cost.row(
            "powertui.record() in a script, 1 Hz", f"{float(thread.communicate()[0]) / SECONDS:.2%}"
        )
    jitter.print()
    cost.note("A training script may lose 0.5 % of one core to it.")
    cost.print()


def fleet() -> None:
    seconds = min(SECONDS, 30.0)
    table = Table(f"{HOSTS} hosts at 1 Hz for {seconds:g} s, one recorder", ["what", "value"])
    with bmcs(HOSTS) as ports, tempfile.TemporaryDirectory() as folder:
        sources = [(f"ipmi://viewer@127.0.0.1:{port}", OPTIONS) for port in ports]
        path = Path(folder) / "fleet.csv"
        recorder = RecorderProcess(sources, path=str(path), interval=1.0, stream=False)
        begin = time.monotonic()
        recorder.start()
        opened = time.monotonic() - begin
        before, begin = cpu_seconds(recorder.pid or 0), time.monotonic()
        time.sleep(seconds)
        passed, after = time.monotonic() - begin, cpu_seconds(recorder.pid or 0)
        summary = recorder.stop() or {}
        channels = summary["channels"]
        table.row("hosts opened in", f"{opened:.2f} s")
        table.row("readings", sum(c["readings"] for c in channels))
        table.row("readings without a value", sum(c["gaps"] for c in channels))
        table.row("missed ticks", sum(c["missed"] for c in channels))
        table.row("CPU", f"{(after - before) / passed:.1%} of one core")
        table.row("file", f"{path.stat().st_size / passed / HOSTS:.0f} bytes per host and second")
    table.print()


def main() -> None:
    with bmcs(1) as (port,):
        per_read(port)
        steady(port)
    fleet()


if __name__ == "__main__":
    main()
