"""A fleet behind a real Prometheus: the live screen of 1,000 hosts × 3 series, and the joules of
runs against watts that are known.
"""

from __future__ import annotations

import http.server
import math
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness import Amount, Table, in_processes

HOSTS, SERIES = 1000, 3
SIZE = (80, 24)
SECONDS = Amount(8, 20, "s")
SCRAPE_S = 5
MACHINES = Amount(6, 12, "machines")  # each with a load of its own
METRIC = "DCGM_FI_DEV_POWER_USAGE"
ROOT = Path(__file__).resolve().parent.parent


def _exposition() -> bytes:
    """What an exporter in front of all hosts answers: each GPU wanders around its own watts."""
    now = time.time()
    lines = [f"# TYPE {METRIC} gauge"]
    for host in range(HOSTS):
        for gpu in range(SERIES):
            watts = 300 + 50 * math.sin(now / 60 + host) + (400 if host == 617 else 0)
            lines.append(
                f'{METRIC}{{Hostname="node{host:04}",rack="r{host // 40:02}",gpu="{gpu}"}} '
                f"{watts:.1f}"
            )
    return ("\n".join(lines) + "\n").encode()


class _Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = _exposition()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _cpu_s(pid: int) -> float:
    """User and system seconds of a process and of its children that run."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0.0
    pids = [pid]
    while pids:
        one = pids.pop()
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / ticks
        for task in Path(f"/proc/{one}/task").iterdir():
            pids += map(int, (task / "children").read_text().split())
    return total


def live() -> tuple[float, float, float, float]:
    """(s to the first picture with watts, CPU s of it, share of a core, bytes a tick)."""
    from tests.bmc.prometheus import Prometheus
    from tests.e2e.terminal import Terminal, environment

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Exporter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        prometheus = Prometheus(Path(folder))
        port = server.server_address[1]
        (Path(folder) / "prometheus.yml").write_text(
            f"scrape_configs: [{{job_name: f, scrape_interval: {SCRAPE_S}s, "
            f"scrape_timeout: {SCRAPE_S}s, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n"
        )
        prometheus.start()
        try:
            time.sleep(4 * SCRAPE_S)
            command = [sys.executable, "-m", "powertui", "live", "--source", prometheus.url]
            env = environment(extra={"PYTHONPATH": str(ROOT)})
            with Terminal([*command, "--no-record"], size=SIZE, env=env) as terminal:
                terminal.wait_for(r"hosts: least", limit=60)
                first_s, first_cpu_s = time.monotonic() - terminal.started, _cpu_s(terminal.pid)
                terminal.run(6.0)
                cpu_s, sent, begin = _cpu_s(terminal.pid), terminal.total, time.monotonic()
                terminal.run(SECONDS.count)
                took_s = time.monotonic() - begin
                share = (_cpu_s(terminal.pid) - cpu_s) / took_s
                per_tick = (terminal.total - sent) / took_s
                terminal.press("q", "q")  # the second one confirms: nothing is recorded
                terminal.wait_exit()
        finally:
            prometheus.stop()
            server.shutdown()
    return first_s, first_cpu_s, share, per_tick


class _Load(NamedTuple):
    """Watts that are known at each moment: level(t) + swing · sin(t), the level only in a run."""

    start_s: float  # of the run
    end_s: float
    idle_w: float
    level_w: float  # while it runs
    swing_w: float
    turn_s: float
    phase: float

    def watts(self, moment: float) -> float:
        """At a moment."""
        level = self.level_w if self.start_s <= moment <= self.end_s else self.idle_w
        return level + self.swing_w * math.sin(2 * math.pi * moment / self.turn_s + self.phase)

    @property
    def joules(self) -> float:
        """Of the run."""
        turn = 2 * math.pi / self.turn_s
        wave = math.cos(turn * self.start_s + self.phase) - math.cos(turn * self.end_s + self.phase)
        return self.level_w * (self.end_s - self.start_s) + self.swing_w / turn * wave


def _following(start_s: float, end_s: float, rng: random.Random) -> _Load:
    """A machine that works while the run does."""
    level_w = rng.uniform(220, 420)
    return _Load(start_s, end_s, 180.0, level_w, 8.0, 7.0, rng.uniform(0, 2 * math.pi))


def _foreign(start_s: float, end_s: float, rng: random.Random) -> _Load:
    """A machine whose power has nothing to do with the run: its edges are not the run's."""
    return _Load(start_s, end_s, 300.0, 300.0, 80.0, 40.0, rng.uniform(0, 2 * math.pi))


class RunErrors(NamedTuple):
    """How far joules of a run were from the truth, over several loads."""

    worst: float  # as a share
    median: float
    held: int  # runs whose interval held the truth
    unresolved: int
    runs: int


def _clocks(
    chance: random.Random, machine: str, first_s: float, count: int
) -> list[tuple[str, float, float]]:
    """What the node exporter of a machine answers each 15 s: its own time, which is right, a moment
    after the server asked.
    """
    samples = []
    for scrape in range(count):
        moment = round(first_s + 15.0 * scrape, 3)
        asked_s = moment + chance.uniform(0, 0.001)
        samples.append((f'instance="{machine}:9100",job="node"', moment, asked_s))
    return samples


def run_errors(
    spacing_s: float,
    make: Callable[[float, float, random.Random], _Load],
    *,
    has_clocks: bool = False,
) -> RunErrors:
    """The demo's run, whose power a real Prometheus scraped so often; `has_clocks`: it scraped the
    clocks of the machines, too.
    """
    from powertui.data import logdir
    from powertui.data.asked import Aligning, ReadOptions
    from powertui.data.energy.account import energy_account
    from powertui.data.model import NS_PER_S, PS_PER_S
    from powertui.data.opened import Opened
    from powertui.demo import folder
    from powertui.sampler.prometheus_fetch import PrometheusPower
    from powertui.sampler.source import Options
    from tests.bmc.prometheus import Prometheus

    (entry,) = logdir.scan(str(folder())).runs
    trace = Opened(entry).profiles[0].trace
    zero_s = trace.clock.mid_ns / NS_PER_S
    start_s, end_s = (zero_s + ps / PS_PER_S for ps in trace.span)
    rng = random.Random(36)
    loads = [make(start_s, end_s, rng) for _ in range(MACHINES.count)]
    errors, held, unresolved = [], 0, 0
    with tempfile.TemporaryDirectory() as place:
        prometheus = Prometheus(Path(place))
        samples = []
        for number, load in enumerate(loads):
            first_s = round(start_s - 300 + rng.uniform(0, spacing_s), 3)
            for scrape in range(int(620 / spacing_s)):
                moment = round(first_s + scrape * spacing_s, 3)
                labels = f'instance="n{number:02}",job="power"'
                samples.append((labels, moment, load.watts(moment)))
        prometheus.fill("ipmi_dcmi_power_consumption_watts", samples)
        if has_clocks:
            machines = [f"n{number:02}" for number in range(MACHINES.count)]
            clocks = [_clocks(rng, machine, start_s - 300, 42) for machine in machines]
            prometheus.fill("node_time_seconds", [sample for one in clocks for sample in one])
            took = [(labels, moment, 0.008) for one in clocks for labels, moment, _ in one]
            for machine in machines:
                for scrape in range(42):
                    moment = round(start_s - 300 + 15.0 * scrape, 3)
                    took.append((f'instance="{machine}",job="power"', moment, 0.008))
            prometheus.fill("scrape_duration_seconds", took)
        prometheus.start()
        try:
            server = PrometheusPower(prometheus.url, Options(timeout=60.0))
            for number, load in enumerate(loads):
                options = ReadOptions(
                    power=(prometheus.url,),
                    servers=((prometheus.url, server),),
                    find_power=False,
                    power_hosts=((f"n{number:02}", "vm"),),
                )
                account = energy_account(Opened(entry, options).profiles[0], Aligning())
                energy = account.energy(*trace.span)
                if energy is None or energy.joules is None:
                    unresolved += 1
                    continue
                truth = load.joules
                errors.append(abs(energy.joules / truth - 1))
                held += bool(energy.lo <= truth <= energy.hi)
        finally:
            prometheus.stop()
    middle = float(np.median(errors)) if errors else math.nan
    return RunErrors(max(errors, default=math.nan), middle, held, unresolved, MACHINES.count)


_LOADS = {"follows the run": _following, "has nothing to do with it": _foreign}


def _errors_of(question: tuple[str, bool, float]) -> RunErrors:
    name, has_clocks, spacing_s = question
    return run_errors(spacing_s, _LOADS[name], has_clocks=has_clocks)


def main() -> None:
    """Measure and print."""
    if not shutil.which("prometheus"):
        print("prometheus is not installed: apt install prometheus")
        return
    table = Table(
        f"Joules of a run of 21 s through a real Prometheus, against known watts of {MACHINES}",
        ["load", "clocks", "scraped every", "worst", "median", "interval holds", "not resolved"],
    )
    questions = list(product(_LOADS, (False, True), (1.0, 2.0, 5.0)))
    answers = in_processes(_errors_of, questions)
    for (name, has_clocks, spacing_s), found in zip(questions, answers, strict=True):
        resolved = found.runs - found.unresolved
        table.row(
            name,
            "scraped" if has_clocks else "not known",
            f"{spacing_s:g} s",
            f"{found.worst:.2%}",
            f"{found.median:.2%}",
            f"{found.held} of {resolved}",
            f"{found.unresolved} of {found.runs}",
        )
    table.note("Target: 1 %, and inside the interval.")
    table.print()
    first_s, first_cpu_s, share, per_tick = live()
    table = Table(
        f"Live screen of {HOSTS:,} hosts × {SERIES} series at 80×24, scraped every {SCRAPE_S} s, watched for {SECONDS}",
        ["first picture", "CPU of it", "CPU of screen and recorder", "bytes a second"],
    )
    table.row(
        f"{first_s:.1f} s", f"{first_cpu_s:.1f} s", f"{share:.1%} of a core", f"{per_tick:,.0f}"
    )
    table.note("Target: 2 s, 10 % of a core, 4,096 bytes a tick.")
    table.print()


if __name__ == "__main__":
    main()
