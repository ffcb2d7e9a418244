"""Recordings that are killed, stopped or frozen at random moments: is the file whole, and does it
report what is missing?

    python -m tests.e2e.interrupted_recordings --rounds 30 --seed 1

records a BMC and a log that counts, both of which go on whatever happens to the recording. The
log's numbers show what was lost: a recording that goes on may lose none, and one that is killed
only those behind its last row. What a BMC was not asked is lost: each such hole must be a gap in
the file, and be reported. Every round prints its seed.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import csv
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bmc.rmcpplus import Bmc
from tests.waiting import text_of, until

from . import freezer
from .processes import state

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("kill", "stop", "freeze")
INTERVAL_S = 0.1
HOLE_S = 1.0  # between two readings of the BMC: so long a hole is never without its word
LEAST_S, LONGEST_S = 0.9, 2.5  # of a suspension


class CountingLog:
    """A log that somebody else writes, each row with its time and one number more."""

    def __init__(self, path: Path) -> None:
        self.path, self.written = path, 0
        path.write_text("time_epoch,watts\n")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> CountingLog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.03):
            with self.path.open("a") as file:
                file.write(f"{time.time():.6f},{self.written}\n")
            self.written += 1


@dataclass
class Interruption:
    """What is done to one recording."""

    way: str
    whom: str  # "program", "recorder" or "both"
    after_rows: int
    more_s: float  # after those rows: anywhere between two of them
    seconds: float  # that it is suspended

    @classmethod
    def random(cls, way: str, dice: random.Random) -> Interruption:
        whom = "both" if way == "freeze" else dice.choice(("program", "recorder", "both"))
        return cls(
            way, whom, dice.randint(0, 60), dice.uniform(0, 0.3), dice.uniform(LEAST_S, LONGEST_S)
        )


@dataclass
class Outcome:
    """What is wrong with a recording; nothing, if all is well."""

    faults: list[str] = field(default_factory=list)
    gaps: int = 0
    rows: int = 0

    def must(self, holds: object, fault: str) -> None:
        if not holds:
            self.faults.append(fault)


def interrupted(folder: Path, bmc: Bmc, interruption: Interruption) -> Outcome:
    """One recording."""
    path = folder / "p.csv"
    with CountingLog(folder / "log.csv") as log:
        words = [
            "record",
            "--host",
            f"127.0.0.1:{bmc.port}",
            "--user",
            "viewer",
            "--source",
            f"csv:{log.path}",
        ]
        words += ["-o", str(path), "--interval", str(INTERVAL_S), "--timeout", "60"]
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("IPMI", "POWERTUI"))
        }
        with (folder / "err").open("w") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "powertui", *words],
                env={
                    **kept,
                    "PYTHONPATH": str(ROOT),
                    "HOME": str(folder),
                    "IPMI_PASSWORD": "pw-viewer",
                },
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stderr=err,
                start_new_session=True,
            )
        try:
            until(
                lambda: "recording to" in text_of(folder / "err"), lambda: text_of(folder / "err")
            )
            child = _child(process.pid)
            until(
                lambda: text_of(path).count(",ok,") >= interruption.after_rows,
                lambda: text_of(path),
            )
            time.sleep(interruption.more_s)
            outcome = Outcome()
            if interruption.way == "kill":
                _kill(process, child, interruption.whom)
            else:
                _suspend(process.pid, child, interruption)
                since = time.time()
                until(
                    lambda: _latest(path) > since + 0.5 or process.poll() is not None,
                    lambda: text_of(path)[-400:],
                )
                outcome.must(
                    process.poll() is None, f"it ended by itself with code {process.poll()}"
                )
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
                outcome.must(process.wait(180) == 0, f"exit code {process.returncode}")
            _check(path, text_of(folder / "err"), interruption, outcome)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
    return outcome


def _child(pid: int) -> int:
    found: list[int] = []

    def look() -> bool:
        found.extend(
            int(child) for child in text_of(Path(f"/proc/{pid}/task/{pid}/children")).split()
        )
        return bool(found)

    until(look)
    return found[0]


def _kill(process: subprocess.Popen[bytes], child: int, whom: str) -> None:
    for pid in {"program": [process.pid], "recorder": [child], "both": [child, process.pid]}[whom]:
        os.kill(pid, signal.SIGKILL)
    process.wait(180)
    until(
        lambda: state(child) in ("", "Z")
    )  # a recorder whose program is gone puts its file in order


def _suspend(program: int, child: int, interruption: Interruption) -> None:
    pids = {"program": [program], "recorder": [child], "both": [program, child]}[interruption.whom]
    mounts = freezer.groups()
    if interruption.way == "freeze" and mounts:
        with freezer.frozen_group(next(iter(mounts.values())), pids) as group:
            group.freeze()
            time.sleep(interruption.seconds)
            group.thaw()
        return
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(interruption.seconds)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def rows_of(path: Path) -> list[list[str]]:
    return [line.split(",") for line in text_of(path).splitlines() if line[:1].isdigit()]


def _latest(path: Path) -> float:
    return max(
        (float(row[0]) for row in rows_of(path)[-40:] if len(row) == 10 and row[7] == "ok"),
        default=0.0,
    )


def _check(path: Path, said: str, interruption: Interruption, outcome: Outcome) -> None:
    from powertui.data.power import registry

    text = text_of(path)
    lines = text.split("\n")
    rows = list(csv.reader(line for line in lines[:-1] if line[:1].isdigit()))
    outcome.rows = len(rows)
    killed = interruption.way == "kill" and interruption.whom != "program"
    outcome.must(killed or lines[-1] == "", "the last line is torn")
    outcome.must(all(len(row) == 10 for row in rows), "a row is torn")
    last = lines[-2] if len(lines) > 1 else ""
    if not killed:
        outcome.must(last.startswith("# ended: "), "it was not put in order")
        if last.startswith("# ended: "):
            outcome.must(
                json.loads(last.removeprefix("# ended: "))["rows"] == len(rows),
                "it counts other rows than it holds",
            )
    log = registry.load(str(path))
    dropped = [
        warning.cause
        for warning in log.warnings
        if "torn" in warning.cause or "fields where" in warning.cause
    ]
    outcome.must(not dropped, f"our reader drops rows: {dropped}")
    readings = sum(len(series) for series in log.series)
    outcome.must(
        readings == sum(bool(row[3]) for row in rows), "our reader holds another number of readings"
    )
    numbers = [int(float(row[4])) for row in rows if row[2] == "log.csv" and row[7] == "ok"]
    first = numbers[0] if numbers else 0
    outcome.must(
        numbers == list(range(first, first + len(numbers))), "numbers of the log are missing"
    )
    _check_holes(rows, said, outcome)


def _check_holes(rows: list[list[str]], said: str, outcome: Outcome) -> None:
    ours = [row for row in rows if row[2].startswith("127.") and row[3]]
    outcome.gaps = sum(row[7] == "none" for row in ours)
    for before, after in itertools.pairwise(ours):
        apart = float(after[1]) - float(before[1])
        outcome.must(apart > 0, "readings are out of order")
        if before[7] == after[7] == "ok":
            outcome.must(apart < HOLE_S, f"{apart:.2f} s without a reading and without a gap")
        if after[7] == "none":
            outcome.must(after[8] in said, f"not reported: {after[8]}")


@contextlib.contextmanager
def _bmc() -> Iterator[Bmc]:
    with Bmc() as bmc:
        yield bmc


def rounds(way: str, count: int, seed: int, *, report: bool = False) -> collections.Counter[str]:
    """So many recordings; by what was wrong with them, how many.

    The key of those with which nothing was is "".
    """
    found: collections.Counter[str] = collections.Counter()
    with _bmc() as bmc:
        for number in range(count):
            interruption = Interruption.random(way, random.Random(f"{seed} {way} {number}"))
            with tempfile.TemporaryDirectory() as folder:
                outcome = interrupted(Path(folder), bmc, interruption)
            found["; ".join(outcome.faults)] += 1
            if report:
                result = "; ".join(outcome.faults) or "whole"
                print(
                    (
                        f"seed {seed} {number}: {interruption}: {outcome.rows} rows, "
                        f"{outcome.gaps} gaps: {result}"
                    ),
                    flush=True,
                )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Counts by way and fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    print(
        "freezer: "
        f"{', '.join(freezer.groups()) or 'none that we may use; every process is stopped instead'}"
    )
    wrong = 0
    for way in WAYS:
        found = rounds(way, args.rounds, args.seed, report=True)
        wrong += args.rounds - found[""]
        print(
            f"{way}: {found['']} of {args.rounds} whole"
            + "".join(f"; {n} × {fault}" for fault, n in found.items() if fault)
        )
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
