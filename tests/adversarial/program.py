"""A program that trains, written down event by event, with what really happened beside it.

Times are milliseconds of the program's own clock. What a profile of it holds is written by `write`
as XSpace bytes, host by host. The truth is kept while the program "runs": it is what the program
did, never what a reader of the profile made of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tests.synthetic.xplane import Event, Line, Plane, Value, encode

STEPS_ID = -559038737  # 0xdeadbeef as files hold it: lines that the collector drew
MODULES_ID = STEPS_ID + 4
Span: TypeAlias = tuple[float, float]  # start and length, ms
Known: TypeAlias = "float | None"


class Anything:
    """Stands in the truth for what is not judged."""

    def __repr__(self) -> str:
        return "anything"


ANY = Anything()


def ps(ms: float) -> int:
    return round(ms * 1e9)


def union(spans: Iterable[Span]) -> float:
    """How long at least one of them ran."""
    total, until = 0, -(1 << 62)
    for lo, hi in sorted((ps(start), ps(start + length)) for start, length in spans):
        total += max(0, hi - max(lo, until))
        until = max(until, hi)
    return total / 1e9


@dataclass
class Step:
    """One training step as it ran. None: the file cannot tell it; ANY: not judged."""

    number: int | Anything | None
    epoch: int | Anything | None
    start: float
    host: Known | Anything
    device: Known | Anything
    step: Known | Anything
    each: dict[int, tuple[float, float]] = field(
        default_factory=dict
    )  # of each device: its step's length, and its work


@dataclass
class Gpu:
    """One device: its stream, and the step line and module line that some collectors draw."""

    name: str
    kernels: list[Event] = field(default_factory=list)
    copies: list[Event] = field(default_factory=list)
    drawn: list[Event] = field(default_factory=list)
    modules: list[Event] = field(default_factory=list)

    def plane(self) -> Plane:
        lines = [Line("Stream #13(Compute)", self.kernels, key=13)] if self.kernels else []
        lines += [Line("Stream #14(MemcpyH2D)", self.copies, key=14)] if self.copies else []
        lines += [Line("XLA Modules", self.modules, key=MODULES_ID)] if self.modules else []
        lines += [Line("Steps", self.drawn, key=STEPS_ID)] if self.drawn else []
        return Plane(self.name, lines)


class Program:
    """One process on one host."""

    def __init__(self, host: str = "vm", start_ns: int | None = None) -> None:
        self.host = host
        self.start_ns = start_ns
        self.threads: dict[str, list[Event]] = {}
        self.gpus: dict[str, Gpu] = {}
        self.truth: list[Step] = []
        self.phases: list[tuple[str, float, float]] = []  # name, start, end
        self.epochs: int | None = None  # how many; None: as many as the steps name
        self.asynchronous: bool | None = None  # None: not judged
        self.holes: set[int] | None = (
            None  # steps that the next one does not follow at once; None: not judged
        )
        self.marker = ""  # what the told source has to name
        self._launches = 0

    # ── what runs ──

    def event(self, thread: str, name: str, start: float, length: float, **stats: Value) -> Event:
        made = Event(name, ps(start), ps(length), dict(stats))
        self.threads.setdefault(thread, []).append(made)
        return made

    def gpu(self, ordinal: int = 0) -> Gpu:
        name = f"/device:GPU:{ordinal}"
        return self.gpus.setdefault(name, Gpu(name))

    def kernel(self, gpu: int, name: str, start: float, length: float, **stats: Value) -> None:
        self.gpu(gpu).kernels.append(Event(name, ps(start), ps(length), dict(stats)))

    def module(self, gpu: int, name: str, start: float, length: float, **stats: Value) -> None:
        """What a collector draws for one compiled module on the device's line of modules."""
        self.gpu(gpu).modules.append(Event(name, ps(start), ps(length), dict(stats)))

    def launch(
        self,
        thread: str,
        at: float,
        gpu: int,
        name: str,
        span: Span,
        *,
        lost: bool = False,
        **stats: Value,
    ) -> None:
        """A launch on the host, and the kernel that it led to on the device: not in the file when
        the profile ended before.
        """
        self._launches += 1
        self.event(thread, "cuLaunchKernel", at, 0.001, correlation_id=self._launches, **stats)
        if not lost:
            self.kernel(
                gpu,
                name,
                *span,
                correlation_id=self._launches,
                kernel_details="regs:32 grid:8,1,1 block:256,1,1",
                **stats,
            )

    def draw(self, gpu: int, label: str, span: Span, **stats: Value) -> None:
        """What a collector draws for one step on the device's line of steps."""
        self.gpu(gpu).drawn.append(Event(label, ps(span[0]), ps(span[1]), dict(stats)))

    def step(
        self,
        number: int,
        at: float,
        host: float,
        work: Mapping[int, Sequence[Span]] | None = None,
        *,
        name: str = "train",
        thread: str = "python",
        epoch: int | None = None,
        shows: Mapping[str, Value] | None = None,
        kernels: str | Sequence[str] = "gemm",
        drawn: str | None = None,
        told: bool = True,
        lost: Iterable[int] = (),
        launcher: str | None = None,
    ) -> None:
        """One step: its mark on a thread, the work that it launched per device, and the truth of
        it.

        `shows` are the stats of the mark (step_num and a root level where None); `drawn` labels it
        on the devices' step lines; `told` False adds no truth: the mark is part of a step that is
        told elsewhere. `lost` devices' work is not in the file.
        """
        stats = dict(shows) if shows is not None else {"step_num": number, "_r": 1}
        if name:
            self.event(thread, name, at, host, **stats)
        names = [kernels] if isinstance(kernels, str) else list(kernels)
        lost = set(lost)
        for gpu, spans in (work or {}).items():
            for index, span in enumerate(spans):
                launched = at + 0.002 + 0.002 * index
                kind = names[index % len(names)]
                self.launch(launcher or thread, launched, gpu, kind, span, lost=gpu in lost)
            if drawn is not None and gpu not in lost:
                lo, hi = spans[0][0], max(start + length for start, length in spans)
                self.draw(gpu, drawn, (lo, hi - lo), step_name=f"train {drawn}")
        if told:
            seen = {gpu: spans for gpu, spans in (work or {}).items() if gpu not in lost}
            self.tell(number, epoch, at, host if name else None, seen)

    def tell(
        self,
        number: int | Anything | None,
        epoch: int | Anything | None,
        at: float,
        host: float | None,
        work: Mapping[int, Sequence[Span]],
    ) -> None:
        """The truth of one step, its time by TensorFlow's rule: the longest device step, or the
        host's mark around it.
        """
        spans = [
            (lo, max(s + n for s, n in device) - lo)
            for device in work.values()
            if device
            for lo in [min(s for s, _ in device)]
        ]
        longest = max(spans, key=lambda span: span[1], default=None)
        holds = (
            host is not None
            and longest is not None
            and at <= longest[0]
            and sum(longest) <= at + host
        )
        length = host if longest is None or holds else longest[1]
        device = union(span for device in work.values() for span in device) if spans else None
        each = {
            gpu: (max(s + n for s, n in found) - min(s for s, _ in found), union(found))
            for gpu, found in work.items()
            if found
        }
        self.truth.append(Step(number, epoch, at, host, device, length, each))

    def phase(self, name: str, start: float, end: float) -> None:
        self.phases.append((name, start, end))

    # ── what a profile of it holds ──

    def planes(self) -> list[Plane]:
        lines = [
            Line(name, events, key=index + 1)
            for index, (name, events) in enumerate(self.threads.items())
        ]
        planes = [gpu.plane() for gpu in self.gpus.values()]
        if lines:
            planes.append(Plane("/host:CPU", lines))
        if self.start_ns is not None:
            planes.append(Plane("Task Environment", (), {"profile_start_time": self.start_ns}))
        return planes

    def write(self, folder: Path) -> Path:
        """The profile, where TensorBoard expects it."""
        place = folder / "plugins" / "profile" / "run"
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{self.host}.xplane.pb"
        path.write_bytes(encode(self.planes(), [self.host]))
        return path

    def write_json(self, folder: Path) -> Path:
        """The same as the trace that TensorFlow and JAX write beside it: stats are texts there, and
        times are µs.
        """
        events: list[dict[str, object]] = []
        for pid, plane in enumerate(self.planes()):
            events.append(
                {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": plane.name}}
            )
            for tid, line in enumerate(plane.lines):
                events.append(
                    {
                        "ph": "M",
                        "pid": pid,
                        "tid": tid,
                        "name": "thread_name",
                        "args": {"name": line.name},
                    }
                )
                for one in line.events:
                    made = {
                        "ph": "X",
                        "pid": pid,
                        "tid": tid,
                        "ts": one.start / 1e6,
                        "dur": one.duration / 1e6,
                        "name": one.name,
                    }
                    events.append(
                        {
                            **made,
                            **(
                                {"args": {key: str(value) for key, value in one.stats.items()}}
                                if one.stats
                                else {}
                            ),
                        }
                    )
        place = folder / "plugins" / "profile" / "run"
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{self.host}.trace.json"
        path.write_text(
            json.dumps(
                {
                    "displayTimeUnit": "ns",
                    "metadata": {"highres-ticks": True},
                    "traceEvents": [*events, {}],
                }
            )
        )
        return path
