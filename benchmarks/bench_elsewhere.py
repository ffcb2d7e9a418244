"""A logdir of another machine: a real sshd on the loopback, behind a line of 100 ms
(tests/e2e/ssh.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import Table
from benchmarks.make_runs import make
from tests.e2e.conftest import python_env
from tests.e2e.ssh import Line, Sshd, find_sshd
from tests.e2e.test_elsewhere import Host

RTT_S = 0.1
RUNS = (100, 1000)

LIST = """
import sys, time
from powertui.data import logdir
begin = time.perf_counter()
found = logdir.scan(sys.argv[1])
print(len(found.runs), time.perf_counter() - begin)
"""
OPEN = """
import sys, time
from powertui.data import loading, logdir
found = logdir.scan(sys.argv[1])
begin = time.perf_counter()
loading.load_run(found.runs[len(found.runs) // 2])
print(len(found.runs), time.perf_counter() - begin)
"""


def main() -> None:
    """Listing and opening, the first time and again."""
    if find_sshd() is None:
        print("no sshd here")
        return
    table = Table(
        "ssh://, round trip of 100 ms", ["runs", "what", "seconds", "questions", "KB received"]
    )
    for count in RUNS:
        root = make(count)
        with (
            tempfile.TemporaryDirectory() as folder,
            Sshd(Path(folder) / "sshd") as server,
            Line(server.port, rtt_s=RTT_S) as line,
        ):
            host = Host(Path(folder), server, line.port)
            try:
                for what, code in (
                    ("listed, no connection yet", LIST),
                    ("listed again", LIST),
                    ("one run opened", OPEN),
                    ("opened again", OPEN),
                ):
                    asked, received = len(host.calls), line.received
                    told = _told(code, f"ssh://box{root}", host)
                    kb = (line.received - received) / 1000
                    table.row(count, what, f"{told:.2f}", len(host.calls) - asked, f"{kb:,.0f}")
            finally:
                host.leave()
    table.note(
        'Target: 1,000 runs listed in at most 3 s. "Opened" lists first: its seconds are those '
        "of the run alone."
    )
    table.print()


def _told(code: str, address: str, host: Host) -> float:
    env = {**python_env(), **host.env, "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", code, address], env=env, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[1])
