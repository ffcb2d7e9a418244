"""A training run whose watts are known at every moment, and the profile that a collector would have
written of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .xplane import Event, Line, Plane, encode

Floats = npt.NDArray[np.float64]

IDLE, COPIES, COLLECTIVES, COMPUTE = range(4)
NAMES = ("idle", "copies", "collectives", "compute")
PS = 1_000_000_000_000


@dataclass(frozen=True)
class Burst:
    """Watts that no event explains: somebody else's work, from one step of an epoch to another
    (both included).
    """

    epoch: int
    first: int
    last: int
    watts: float


@dataclass(frozen=True)
class Plan:
    """What to make.

    The shares are of the working part of a step: copies, compute, collectives, idle.
    """

    seconds: float = 60.0  # of training, about
    step_s: float = 0.2
    jitter: float = 0.06  # relative, of each step's length
    epochs: int = 2
    shares: tuple[float, float, float, float] = (0.11, 0.50, 0.16, 0.23)
    watts: tuple[float, float, float, float] = (90.0, 140.0, 190.0, 290.0)  # by category number
    warmup: bool = True  # a long first step in which the host works alone
    validation_s: float = 1.2  # after each epoch; 0 for none
    lead_s: float = 8.0  # the machine before the profile begins …
    tail_s: float = 8.0  # … and after it ends
    around: str = (
        "idle"  # what it does then: "idle", or "steps" when training goes on around the profile
    )
    bursts: tuple[Burst, ...] = ()
    unix_s: float = 1_700_000_000.0  # where the profile's zero lies


@dataclass
class Workload:
    """Truth and trace.

    Times in seconds on the profile's clock; `edges[i] … edges[i+1]` draws `watts[i]`.
    """

    plan: Plan
    edges: Floats
    watts: Floats
    category: npt.NDArray[np.int64]
    steps: list[tuple[int, int, float, float]] = field(
        default_factory=list
    )  # epoch, number, start, end
    epochs: list[tuple[float, float]] = field(default_factory=list)
    validations: list[tuple[float, float]] = field(default_factory=list)
    span: tuple[float, float] = (0.0, 0.0)  # of the profile

    def __post_init__(self) -> None:
        self._joules = np.concatenate([[0.0], np.cumsum(np.diff(self.edges) * self.watts)])

    def energy(self, lo: float | Floats, hi: float | Floats) -> Floats:
        """Exact joules between two times."""
        return np.asarray(
            np.interp(hi, self.edges, self._joules) - np.interp(lo, self.edges, self._joules)
        )

    def power(self, at: Floats) -> Floats:
        """Watts at these moments."""
        index = np.clip(np.searchsorted(self.edges, at, side="right") - 1, 0, len(self.watts) - 1)
        return np.asarray(self.watts[index])

    def xplane(self) -> bytes:
        """The profile: a host thread with step markers, a device with a compute, a copy and a
        collective stream.
        """
        host, streams = [], {COPIES: [], COLLECTIVES: [], COMPUTE: []}  # type: ignore[var-annotated]
        for index, (epoch, number, start, end) in enumerate(self.steps):
            stats = {"step_num": number, "group_id": index, "epoch_num": epoch, "_r": 1}
            host.append(Event("train", round(start * PS), round((end - start) * PS), stats))
        names = {
            COPIES: "MemcpyH2D",
            COLLECTIVES: "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            COMPUTE: "ampere_sgemm_128x64_nn",
        }
        low, high = self.span
        for start, end, kind in zip(self.edges[:-1], self.edges[1:], self.category, strict=True):
            if kind == IDLE or start < low or end > high:
                continue
            event = Event(
                names[int(kind)],
                round(start * PS),
                round((end - start) * PS),
                {"correlation_id": len(streams[kind]) + 1},
            )
            streams[int(kind)].append(event)
        device = [
            Line("Stream #13(Compute)", streams[COMPUTE], 13),
            Line("Stream #14(MemcpyH2D)", streams[COPIES], 14),
            Line("Stream #15(Compute)", streams[COLLECTIVES], 15),
        ]
        clock = {
            "profile_start_time": int(self.plan.unix_s * 1e9),
            "profile_stop_time": int((self.plan.unix_s + high) * 1e9),
        }
        return encode(
            [
                Plane("/host:CPU", [Line("python", host, 1)]),
                Plane("/device:GPU:0", device),
                Plane("Task Environment", (), clock),
            ]
        )


class _Tape:
    """Segments, one after another."""

    def __init__(self, start: float) -> None:
        self.now = start
        self.edges = [start]
        self.kinds: list[int] = []

    def add(self, kind: int, seconds: float) -> None:
        if seconds > 0:
            self.now += seconds
            self.edges.append(self.now)
            self.kinds.append(kind)

    def step(self, plan: Plan, length: float) -> None:
        copies, compute, collectives, idle = plan.shares
        self.add(COPIES, copies * length)
        for part in (
            0.35,
            0.4,
            0.25,
        ):  # three kernels with gaps: what the sensors see is never one block
            self.add(COMPUTE, compute * length * part)
            self.add(IDLE, idle * length / 5)
        self.add(COLLECTIVES, collectives * length)
        self.add(IDLE, idle * length * 2 / 5)


def build(seed: int, plan: Plan) -> Workload:
    """One run. The same seed gives the same run."""
    rng = np.random.default_rng([7, seed])
    tape = _Tape(-plan.lead_s)
    _around(tape, plan, plan.lead_s)
    tape.now = 0.0
    tape.edges[-1] = 0.0
    steps: list[tuple[int, int, float, float]] = []
    epochs, validations = [], []
    per_epoch = max(1, round(plan.seconds / plan.epochs / plan.step_s))
    for epoch in range(plan.epochs):
        first = tape.now
        for number in range(per_epoch):
            start = tape.now
            if plan.warmup and number == 0:
                tape.add(IDLE, (8.0 if epoch == 0 else 2.0) * plan.step_s)
            tape.step(
                plan, plan.step_s * (1 + plan.jitter * float(np.clip(rng.standard_normal(), -3, 3)))
            )
            steps.append((epoch, number, start, tape.now))
        if plan.validation_s:
            start = tape.now
            tape.add(IDLE, plan.validation_s * 0.4)
            for _ in range(6):
                tape.add(COMPUTE, plan.validation_s * 0.04)
                tape.add(IDLE, plan.validation_s * 0.06)
            validations.append((start, tape.now))
        epochs.append((first, tape.now))
    end = tape.now
    _around(tape, plan, plan.tail_s)
    edges = np.array(tape.edges)
    kinds = np.array(tape.kinds, np.int64)
    edges, kinds, watts = _with_bursts(edges, kinds, np.array(plan.watts)[kinds], plan, steps)
    return Workload(plan, edges, watts, kinds, steps, epochs, validations, (0.0, end))


def _around(tape: _Tape, plan: Plan, seconds: float) -> None:
    if plan.around == "idle":
        tape.add(IDLE, seconds)
        return
    for _ in range(round(seconds / plan.step_s)):
        tape.step(plan, plan.step_s)


def _with_bursts(
    edges: Floats,
    kinds: npt.NDArray[np.int64],
    watts: Floats,
    plan: Plan,
    steps: list[tuple[int, int, float, float]],
) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
    for burst in plan.bursts:
        inside = [
            (s, e)
            for epoch, number, s, e in steps
            if epoch == burst.epoch and burst.first <= number <= burst.last
        ]
        low, high = inside[0][0], inside[-1][1]
        covered = (edges[:-1] >= low - 1e-12) & (edges[1:] <= high + 1e-12)
        watts = watts + np.where(covered, burst.watts, 0.0)
    return edges, kinds, watts
