"""Every reader on mutated files: it reads something or raises UnreadableFile, within ten seconds
and two gigabytes.

Files are read by processes of their own, so that a crash costs one of them and is told. Profiles
are read a second time without the compiled scanner: both have to say the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from powertui.data.energy import integrate, sensor
from powertui.data.formats import registry, tfevents
from powertui.data.model import Trace
from powertui.data.power import registry as power
from powertui.data.wire.pure import fields
from powertui.errors import UnreadableFile
from tests.fuzz import mutate, seeds
from tests.fuzz.scanner import Finding
from tests.fuzz.seeds import ROOT, Seed

MOST_SECONDS = 10  # of a usual processor: a busy machine is no finding
_USUALLY = 0.1  # seconds that one takes for 50,000 fields
SILENCE = 300  # seconds without a word after which a process is taken for hung
MOST = 2 << 30  # bytes of memory
_STATS = 20  # events of each line whose stats are read


def _allowed() -> float:
    """Seconds of this processor: an emulated one takes ten and more times as long for what a reader
    does.
    """
    view = memoryview(b"\x08\x96\x01" * 50_000)
    begin, at = time.process_time(), 0
    while at < len(view):
        field = fields.field_at(view, at, len(view))
        assert field is not None
        at = field.hi
    return max(1.0, (time.process_time() - begin) / _USUALLY) * MOST_SECONDS


class TooSlow(BaseException):
    """Not an Exception: no reader may take it for damage."""


# ── one file ─────────────────────────────────────────────────────────────────────────────────────


def read(kind: str, path: Path) -> str:
    """Read a file as the program does; a digest of what it said.

    What cannot be read has one, too.
    """
    try:
        if kind == "profile":
            return _trace(registry.read(path))
        if kind == "tfevents":
            log = tfevents.read(str(path))
            return _digest(
                [
                    log.records,
                    log.first_ns,
                    log.last_ns,
                    [(s.tag, s.steps.tolist(), s.values.tolist()) for s in log.scalars],
                ]
            )
        return _power(path)
    except UnreadableFile as error:
        return f"unreadable: {error}"


def _trace(trace: Trace) -> str:
    """What is true of every trace, and its digest."""
    assert trace.complete
    texts = [(trace.names.full(i), trace.names.display(i)) for i in range(len(trace.names))]
    order = {
        text: number for number, text in enumerate(sorted(set(texts)))
    }  # which number a name has is the reader's own matter
    rank = np.array([order[text] for text in texts] or [0], np.uint32)
    said: list[Any] = [
        trace.span,
        trace.event_count,
        trace.hostnames,
        trace.clock,
        trace.stop_ns,
        list(map(str, trace.warnings)),
    ]
    for process, track in trace.tracks():
        events = track.events
        assert track.lanes[0] == 0
        assert track.lanes[-1] == len(events)
        assert (events.duration >= 0).all()
        assert (events.name < len(trace.names)).all()
        for depth in range(track.lane_count):
            lane = track.lane(depth)
            assert (np.diff(lane.start) >= 0).all()
        # Where its stats lie is the reader's own matter, and what is read there is compared below;
        # that there are some is not.
        columns = [
            column.tobytes()
            for column in (
                events.start,
                events.duration,
                rank[events.name],
                events.position != 0,
                track.lanes,
            )
        ]
        said += [
            process.name,
            process.stats,
            track.key,
            track.name,
            track.kind,
            track.derived,
            _digest(columns),
        ]
        rows = (
            np.unique(np.linspace(0, len(events) - 1, min(len(events), _STATS)).astype(int))
            if len(events)
            else []
        )
        positions = [int(events.position[row]) for row in rows]
        found = [process.source.event_stats(position) for position in positions]
        names = sorted({stat.name for stats in found for stat in stats})[:5]
        columns_of = (
            process.source.columns(np.array(positions, np.uint64), names) if positions else {}
        )
        said += [
            found,
            [[column.text(i) for i in range(len(column))] for column in columns_of.values()],
        ]
    used = sorted(range(len(texts)), key=texts.__getitem__)[:200]
    said += [(texts[i], sorted(map(repr, trace.names.stats(i)))) for i in used]
    return _digest(said)


def _power(path: Path) -> str:
    log = power.load(str(path))
    said: list[Any] = [log.dialect, log.guess, list(map(str, log.warnings))]
    for series in log.series:
        described = sensor.describe(series)
        assert sensor.sentence(described)
        assert (np.diff(described.times) > 0).all()
        assert not np.isinf(described.watts).any()
        integrate.of_series(described)
        said += [
            described.sensor,
            described.times.tobytes(),
            described.watts.tobytes(),
            list(map(str, series.warnings)),
        ]
    return _digest(said)


def _digest(said: object) -> str:
    return hashlib.sha1(
        repr(said).encode("utf-8", "backslashreplace"), usedforsecurity=False
    ).hexdigest()


# ── many files ───────────────────────────────────────────────────────────────────────────────────


def case(number: int, seed: int, files: Sequence[Seed]) -> tuple[Seed, bytes]:
    """The file that this case changes, and what it changes it into.

    The same for the same numbers.
    """
    chance = random.Random(f"{seed}:{number}")
    origin = files[number % len(files)]
    others = [other for other in files if other.kind == origin.kind]
    return origin, mutate.mutant(origin, others, chance)


def _work(folder: Path, seed: int, numbers: Sequence[int]) -> None:
    """Read these cases; say each before it begins and what came of it, as lines of JSON."""
    warnings.simplefilter("error")  # a warning that reaches a user is a finding
    resource.setrlimit(resource.RLIMIT_DATA, (MOST + (1 << 30), resource.RLIM_INFINITY))
    signal.signal(signal.SIGPROF, _too_slow)
    allowed = _allowed()
    files = seeds.files()
    os.chdir(folder)  # messages name the file: a relative name is the same in every process
    for number in numbers:
        _say(number=number)
        origin, data = case(number, seed, files)
        path = Path(origin.name)
        path.write_bytes(data)
        _forget_peak()
        answer, problem = "", ""
        signal.setitimer(signal.ITIMER_PROF, allowed)
        begin = time.process_time()
        try:
            answer = read(origin.kind, path)
        except TooSlow as error:
            problem = (
                f"more than {allowed:.0f} s: "
                f"{''.join(traceback.format_tb(error.__traceback__)[-3:])}"
            )
        except BaseException:  # whatever it is, it is not UnreadableFile
            problem = traceback.format_exc()[-3000:]
        signal.setitimer(signal.ITIMER_PROF, 0)
        if not problem and _peak() > MOST:
            problem = f"{_peak() >> 20} MB of memory"
        _say(
            number=number,
            answer=answer,
            problem=problem,
            seconds=round(time.process_time() - begin, 3),
        )


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def _say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def _forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ── processes ────────────────────────────────────────────────────────────────────────────────────


def _answers(seed: int, numbers: Sequence[int], *, pure: bool) -> Iterator[dict[str, Any]]:
    """What a process says of each case.

    One that dies is a finding of the case that it was at; the rest is for a new one.
    """
    left = list(numbers)
    while left:
        with tempfile.TemporaryDirectory() as folder:
            setting = {"POWERTUI_PURE": "1" if pure else "", "OPENBLAS_NUM_THREADS": "1"}
            worker = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.readers", folder, str(seed)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **setting},
            )
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.write(json.dumps(left))
            worker.stdin.close()
            at = left[0]
            while True:
                watch = threading.Timer(SILENCE, worker.kill)
                watch.start()
                line = worker.stdout.readline()
                watch.cancel()
                if not line:
                    break
                said = json.loads(line)
                at = said["number"]
                if "answer" in said:
                    left.remove(at)
                    yield said
            worker.stdout.close()
            code = worker.wait()
            if left:
                left.remove(at)
                yield {"number": at, "answer": "", "problem": f"the process ended with {code}"}


def run(count: int, seed: int, processes: int = 1, first: int = 0) -> int:
    """So many cases; how many were read.

    Raises `Finding` with every case that did what must not be.
    """
    files = seeds.files()
    found: dict[tuple[int, bool], dict[str, Any]] = {}

    def some(numbers: Sequence[int], pure: bool) -> None:
        for said in _answers(seed, numbers, pure=pure):
            found[said["number"], pure] = said

    everything = range(first, first + count)
    profiles = [number for number in everything if files[number % len(files)].kind == "profile"]
    threads = [
        threading.Thread(target=some, args=(part[i::processes], pure))
        for part, pure in ((everything, False), (profiles, True))
        for i in range(processes)
    ]
    for i in range(0, len(threads), processes):
        for thread in threads[i : i + processes]:
            thread.start()
        for thread in threads[i : i + processes]:
            thread.join()
    problems = {}
    for (number, pure), said in sorted(found.items()):
        if said["problem"]:
            problems[number] = f"{'without the scanner: ' if pure else ''}{said['problem']}"
        elif (
            pure
            and not found[number, False]["problem"]
            and said["answer"] != found[number, False]["answer"]
        ):
            problems[number] = (
                f"compiled says {found[number, False]['answer']}, pure {said['answer']}"
            )
    if problems:
        told = [
            f"case {n} of seed {seed} ({files[n % len(files)].name}): {problem}"
            for n, problem in list(problems.items())[:20]
        ]
        raise Finding(f"{len(problems)} of {count} files:\n" + "\n".join(told))
    return len(everything)


if __name__ == "__main__":
    _work(Path(sys.argv[1]), int(sys.argv[2]), json.load(sys.stdin))
