"""Capturing from a running program: seconds from Enter to the open timeline, what powertui costs
meanwhile, and the clocks.

Against the real servers of TensorFlow and JAX where an interpreter has them
(tests/profiled_programs.py says where it is looked for), and against the stand-in of the tests.
Power comes from the simulated BMC of tests/bmc, in a process of its own.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench_sampler import bmcs
from benchmarks.harness import ROOT, Amount, Table
from powertui.capture import address, servers
from powertui.capture.messages import ProfileRequest
from tests.e2e.terminal import Terminal, environment
from tests.profiled_programs import PROGRAMS, Program, clock_errors_s, why_not
from tests.profiler_server import ProfilerServer

PROFILE_S, AROUND_S = 2.0, 5.0
TIMES = Amount(1, 3, "times")


def main() -> None:
    columns = (
        "server",
        "power",
        "beyond what was asked",
        "of that the server",
        "without a core",
        "CPU beyond",
        "CPU while it profiles",
        "clocks apart: median, worst",
    )
    table = Table(f"A capture of 2 s, from Enter to the open timeline, {TIMES}", columns)
    for name in (*sorted(PROGRAMS), "stand-in"):
        if name != "stand-in" and (reason := why_not(name)):
            print(f"{name}: {reason}")
            continue
        for power in (True, False):
            with ExitStack() as stack:
                port = stack.enter_context(
                    Program(name) if name != "stand-in" else ProfilerServer(takes_s=PROFILE_S)
                ).port
                stack.enter_context(_first())
                bmc = stack.enter_context(bmcs(1))[0] if power else 0
                theirs = sorted(_of_server(port) for _ in range(TIMES.count))
                runs = [_once(port, bmc) for _ in range(TIMES.count)]
            apart = [abs(error) for run in runs for error in run.apart]
            told = (
                f"{statistics.median(apart) * 1000:.2f} ms, {max(apart) * 1000:.2f} ms"
                if apart
                else "–"
            )
            waited = " ".join(f"{run.waited:.2f}" for run in sorted(runs))
            table.row(
                name,
                "5 s before, 5 s after" if power else "none",
                " ".join(f"{run.beyond:.2f}" for run in sorted(runs)) + " s",
                " ".join(f"{seconds:.2f}" for seconds in theirs) + " s",
                f"{waited} s",
                f"{statistics.median(run.cpu for run in runs):.2f} s",
                f"{100 * statistics.median(run.during for run in runs):.1f} % of a core",
                told,
            )
    table.print()


def _of_server(port: int) -> float:
    """Seconds beyond the duration until a bare client of the same request has its answer: to stop,
    and to write the file.
    """
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        ((outcome,), _) = servers.take(
            servers.named_servers((address.parse(f"127.0.0.1:{port}"),)),
            ProfileRequest(PROFILE_S),
            folder,
            "bare",
        )
        assert outcome.problem is None, outcome.problem
        return time.perf_counter() - begun - PROFILE_S


@contextmanager
def _first() -> Iterator[None]:
    """Before other work, where we may: what is started from here finds a core as on an idle
    machine.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        print("Without leave for real-time priority other work counts: compare on an idle machine.")
    yield
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


class Run(NamedTuple):
    """One capture.

    Beyond: until the timeline is drawn, less the profile and the power before it.
    """

    beyond: float
    waited: float  # of that, for a core that others had: on an idle machine none
    cpu: float  # seconds of processor time until then
    during: float  # cores used while it profiles
    apart: list[float]  # power's clock and the trace's


def _once(port: int, bmc: int) -> Run:
    asked = PROFILE_S + (AROUND_S if bmc else 0)
    with tempfile.TemporaryDirectory() as folder:
        words = [
            sys.executable,
            "-m",
            "powertui",
            "capture",
            f"127.0.0.1:{port}",
            "--logdir",
            folder,
            "-t",
            f"{PROFILE_S:g}s",
        ]
        words += ["--source", f"ipmi://viewer@127.0.0.1:{bmc}"] if bmc else ["--no-power"]
        more = {"IPMI_PASSWORD": "pw-viewer", "PYTHONPATH": str(ROOT)}
        begun = time.perf_counter()
        with Terminal(
            words, size=(120, 36), env=environment(extra=more), cwd=Path(folder)
        ) as terminal:
            terminal.wait_for("profiling, [01]")
            before, since = _cpu(terminal.pid), time.perf_counter()
            terminal.wait_for("profiling, 1.[5-9]|waiting for the server")
            during = (_cpu(terminal.pid) - before) / (time.perf_counter() - since)
            terminal.wait_for(lambda text: "whole run" in text and "reading" not in text.lower())
            taken = time.perf_counter() - begun
            cpu, waited = _cpu(terminal.pid), _waited(terminal.pid)
            if bmc:
                terminal.run(AROUND_S)
            terminal.press("q")
            terminal.wait_until(lambda: terminal.eof, "its end")
        (session,) = (Path(folder) / "plugins/profile").iterdir()
        return Run(taken - asked, waited, cpu, during, clock_errors_s(session) if bmc else [])


def _waited(pid: int) -> float:
    """How long the main threads, of us and of the recorder, were ready to run and had no core."""
    return (
        sum(
            int(Path(f"/proc/{one}/schedstat").read_text().split()[1])
            for one in (pid, *_children(pid))
        )
        / 1e9
    )


def _cpu(pid: int) -> float:
    """Of the process and of the recorder that it started."""
    return sum(_of_process(one) for one in (pid, *_children(pid)))


def _of_process(pid: int) -> float:
    """To the nanosecond, over all threads: ticks of 10 ms would hide what a reading costs."""
    return (
        sum(
            int(task.read_text().split()[0])
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat")
        )
        / 1e9
    )


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


if __name__ == "__main__":
    main()
