"""A training as it runs: events for the profile, loads for the power, one after the other on one
tape; then the true watts.

What a moment draws is told by loads (so many cores, so much of a device), never by the events: the
profile shows the same work in its own words, and what it does not show (start-up, somebody else's
work, throttling) draws power all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from benchmarks.power_world.plan import Burst, Plan

Floats = npt.NDArray[np.float64]

TICK = 0.001  # s: the truth's grid
HOST, COPY, DEVICE = (
    "host",
    "copy",
    "device",
)  # loads; DEVICE means the computing threads where the host computes


@dataclass(frozen=True)
class Shown:
    """An event of the profile, seconds since its zero."""

    line: str  # "python", "compute", "input", "stream 0", "copies 0" …
    name: str
    start: float
    end: float
    stats: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, eq=False)
class World:
    """One training: what its profile shows, and what it drew."""

    plan: Plan
    shown: tuple[Shown, ...]
    steps: tuple[tuple[int, int, float, float], ...]  # epoch (-1: none), number, start, end
    epochs: tuple[tuple[float, float], ...]
    span: tuple[float, float]  # of the profile
    trained: tuple[float, float]  # of the training
    bursts: tuple[Burst, ...]
    odd: tuple[
        tuple[float, float], ...
    ]  # stretches that draw other than usual without a burst: throttling
    begin: float  # of the truth
    watts: Floats  # mean of each tick
    foreign: Floats  # of these, what no event explains

    @property
    def end(self) -> float:
        return self.begin + len(self.watts) * TICK

    def power(self, at: Floats | float) -> Floats:
        """True watts at these moments."""
        rows = np.clip(
            ((np.asarray(at) - self.begin) / TICK).astype(np.int64), 0, len(self.watts) - 1
        )
        return np.asarray(self.watts[rows])

    def joules(self, lo: Floats | float, hi: Floats | float, *, foreign: bool = False) -> Floats:
        """True joules between moments: all, or what no event explains."""
        at = self.begin + np.arange(len(self.watts) + 1) * TICK
        total = self._foreign if foreign else self._total
        return np.asarray(np.interp(hi, at, total) - np.interp(lo, at, total))

    def __post_init__(self) -> None:
        object.__setattr__(self, "_total", np.concatenate([[0.0], np.cumsum(self.watts) * TICK]))
        object.__setattr__(
            self, "_foreign", np.concatenate([[0.0], np.cumsum(self.foreign) * TICK])
        )

    _total: Floats = field(init=False, repr=False)
    _foreign: Floats = field(init=False, repr=False)


@dataclass
class _Tape:
    """Time runs on; what happens is put down beside it."""

    plan: Plan
    rng: np.random.Generator
    now: float = 0.0
    shown: list[Shown] = field(default_factory=list)
    loads: dict[str, list[tuple[float, float, float]]] = field(default_factory=dict)
    steps: list[tuple[int, int, float, float]] = field(default_factory=list)
    epochs: list[tuple[float, float]] = field(default_factory=list)
    slow: tuple[float, float] = (np.inf, np.inf)
    launched: int = 0

    def show(self, line: str, name: str, start: float, end: float, **stats: int) -> None:
        self.shown.append(Shown(line, name, start, end, tuple(stats.items())))

    def load(self, kind: str, start: float, end: float, amount: float) -> None:
        self.loads.setdefault(kind, []).append((start, end, amount))

    def pace(self) -> float:
        return 0.72 if self.slow[0] <= self.now < self.slow[1] else 1.0


_HOST_OPS = (
    ("sequential/conv2d/Conv2D:_MklNativeFusedConv2D", 1.0),
    ("sequential/max_pooling2d/MaxPool:_MklNativeMaxPool", 0.93),
    ("sequential/dense/MatMul:_MklNativeFusedMatMul", 1.03),
    ("gradient_tape/sequential/re_lu/ReluGrad:ReluGrad", 0.95),
    (
        "gradient_tape/sequential/conv2d/Conv2DBackpropFilter:_MklNativeConv2DBackpropFilterWithBias",
        1.02,
    ),
    ("gradient_tape/sequential/conv2d/Conv2DBackpropInput:_MklNativeConv2DBackpropInput", 1.01),
    ("adam/AssignAddVariableOp:ResourceApplyAdam", 0.9),
)
_JAX_OPS = (
    ("ynn_fusion.2", 1.0),
    ("wrapped_tanh", 0.92),
    ("ynn_fusion.1", 1.01),
    ("broadcast_multiply_fusion", 0.94),
    ("dot.1", 1.03),
    ("multiply_add_fusion", 0.93),
    ("dot", 1.02),
)
_KERNELS = (
    ("ampere_sgemm_128x64_nn", 1.0),
    ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float>", 0.72),
    ("sm80_xmma_fprop_implicit_gemm_f32", 1.05),
    ("void tensorflow::functor::ElementwiseKernel<relu>", 0.68),
    ("ampere_sgemm_64x64_nt", 0.98),
    ("sm80_xmma_dgrad_implicit_gemm_f32", 1.04),
    ("loop_add_fusion", 0.66),
)


def make(plan: Plan) -> World:
    """Run the training of a plan."""
    tape = _Tape(plan, np.random.default_rng([29, plan.seed]))
    total = plan.epoch_s * max(plan.epochs, 1)
    if plan.throttle is not None:
        begin = plan.throttle[0] * total
        tape.slow = (begin, begin + plan.throttle[1])
    if plan.startup_s:
        tape.load(HOST, -plan.startup_s, 0.0, 0.9)
    tape.load(HOST, 0.0, 0.05, 0.8)
    tape.now = 0.05
    began = tape.now
    for epoch in range(max(plan.epochs, 1)):
        _epoch(tape, epoch)
    stop = tape.now
    tape.show("python", "$profiler.py:271 stop_trace", stop, stop + 0.02)
    tape.load(HOST, stop, stop + 0.02, 0.7)
    shown, steps = tuple(tape.shown), tuple(tape.steps)
    tape.now = stop + 0.02
    trained = stop
    while tape.now < stop + plan.after_s:  # nobody records it
        _step(tape, -1, 0, tracing=0.0)
        trained = tape.now
    return _drawn(tape, shown, steps, (0.0, stop + 0.02), (began, trained))


def _epoch(tape: _Tape, epoch: int) -> None:
    plan = tape.plan
    first = tape.now
    number, until = 0, tape.now + plan.epoch_s
    middle = tape.now + plan.epoch_s / 2
    paused = plan.epochs > 0 or plan.checkpoint_s == 0
    while tape.now < until or number < 4:
        tracing = (
            plan.tracing_s
            if epoch == 0 and number == 0
            else 0.15 * plan.tracing_s
            if epoch == 0 and number == 1
            else 0.0
        )
        _step(tape, epoch if plan.epochs else -1, number, tracing=tracing)
        number += 1
        if not paused and tape.now > middle:
            paused = True
            _checkpoint(tape)
    if plan.epochs and plan.validation_s:
        _validation(tape, first_time=epoch == 0)
    if plan.epochs and plan.checkpoint_s:
        _checkpoint(tape)
    if plan.epochs:
        tape.epochs.append((first, tape.now))
        pause = float(tape.rng.uniform(0.002, 0.04))
        tape.load(HOST, tape.now, tape.now + pause, 0.9)
        tape.show("python", "TFE_Py_FastPathExecute_C", tape.now, tape.now + pause)
        tape.now += pause


def _step(tape: _Tape, epoch: int, number: int, *, tracing: float) -> None:
    """One step: host work, then the device's, waiting for it; the marker around it all."""
    plan, rng = tape.plan, tape.rng
    start = tape.now
    length = (
        plan.step_s
        * float(np.exp(plan.jitter * np.clip(rng.standard_normal(), -2.5, 2.5)))
        / tape.pace()
    )
    if rng.random() < 0.01:
        length *= 1.5  # now and then something holds a step up
    if tracing:
        name = "tf.function-graph_building" if plan.style == "keras" else "backend_compile"
        tape.show("python", name, start + 0.01 * tracing, start + tracing)
        tape.load(HOST, start, start + tracing, 1.0)
        tape.now += tracing
    busy = float(np.clip(plan.busy * (1 + 0.02 * rng.standard_normal()), 0.4, 0.985))
    host = (1 - busy) * length
    begin = tape.now
    tape.load(HOST, begin, begin + 0.7 * host, 1.0)
    tape.load(HOST, begin + 0.7 * host, begin + host, 0.1)  # waiting for input
    if plan.style == "keras":
        tape.show("input", "Iterator::Root", begin + 0.7 * host, begin + host)
        tape.show("python", "EagerExecute", begin, begin + length)
        tape.show("python", "EagerKernelExecute", begin + host, begin + length)
    elif plan.style == "jax":
        tape.show("python", "PjitFunction(step)", begin, begin + 0.7 * host)
        tape.show("python", "$api.py:2479 block_until_ready", begin + 0.7 * host, begin + length)
    else:
        tape.show("python", "ExecuteReplicated", begin, begin + 0.7 * host)
        tape.show("python", "$api.py:2479 block_until_ready", begin + 0.7 * host, begin + length)
    _compute(tape, begin + host, begin + length)
    tape.now = begin + length
    stats = {"step_num": number, "_r": 1}
    name = "Profiled batch" if plan.style == "keras" else "train"
    tape.show("python", name, start, tape.now - 1e-6, **stats)
    tape.steps.append((epoch, number, start, tape.now))


def _compute(tape: _Tape, lo: float, hi: float, *, forward: bool = False) -> None:
    """Ops or kernels that fill a stretch but for small holes."""
    plan, rng = tape.plan, tape.rng
    known = {"keras": _HOST_OPS, "jax": _JAX_OPS, "gpu": _KERNELS}[plan.style]
    count = int(np.clip((hi - lo) / 0.004, 2, 4 if forward else len(known)))
    ops = known[:count]
    parts = rng.dirichlet(np.full(count, 8.0)) * (hi - lo)
    slow = 0.68 / 0.72 if tape.pace() < 1 else 1.0
    if plan.style != "gpu":
        if plan.style == "jax":
            tape.show("compute", "ThunkExecutor::Execute", lo, hi)
        for (name, weight), part in zip(ops, parts, strict=True):
            tape.show("compute", name, lo, lo + 0.985 * part)
            tape.load(DEVICE, lo, lo + 0.985 * part, weight)
            lo += float(part)
        return
    copied = 0.06 * (hi - lo)
    for device in range(plan.devices):
        at = lo
        tape.launched += 1
        tape.show(f"copies {device}", "MemcpyH2D", at, at + copied, correlation_id=tape.launched)
        tape.load(COPY, at, at + copied, 0.2)
        at += copied
        for (name, weight), part in zip(ops, parts, strict=True):
            end = at + 0.90 * float(part)
            tape.launched += 1
            tape.show(f"stream {device}", name, at, end, correlation_id=tape.launched)
            tape.load(DEVICE, at, end, weight * slow * slow)
            at = end
        if plan.devices > 1:
            tape.launched += 1
            tape.show(
                f"stream {device}",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                at,
                hi,
                correlation_id=tape.launched,
            )
            tape.load(DEVICE, at, hi, 0.45)


def _validation(tape: _Tape, *, first_time: bool) -> None:
    plan = tape.plan
    if first_time:
        seconds = 0.3 * plan.tracing_s
        tape.show(
            "python",
            "tf.function-graph_building" if plan.style == "keras" else "backend_compile",
            tape.now,
            tape.now + seconds,
        )
        tape.load(HOST, tape.now, tape.now + seconds, 1.0)
        tape.now += seconds
    until = tape.now + plan.validation_s
    each = max(0.45 * plan.step_s, 0.004)
    while tape.now < until:
        host = (1 - plan.busy) * each
        tape.show(
            "python",
            "EagerExecute" if plan.style == "keras" else "PjitFunction(evaluate)",
            tape.now,
            tape.now + each,
        )
        tape.load(HOST, tape.now, tape.now + host, 1.0)
        _compute(tape, tape.now + host, tape.now + each, forward=True)
        tape.now += each


def _checkpoint(tape: _Tape) -> None:
    """The disk is waited for."""
    seconds = tape.plan.checkpoint_s
    tape.show(
        "python",
        "SaveV2:SaveV2" if tape.plan.style == "keras" else "$checkpoint.py:120 save",
        tape.now,
        tape.now + seconds,
    )
    tape.load(HOST, tape.now, tape.now + seconds, 0.25)
    tape.now += seconds


# ── the true watts ───────────────────────────────────────────────────────────────────────────────


def _drawn(
    tape: _Tape,
    shown: tuple[Shown, ...],
    steps: tuple[tuple[int, int, float, float], ...],
    span: tuple[float, float],
    trained: tuple[float, float],
) -> World:
    plan, rng = (
        tape.plan,
        np.random.default_rng([31, tape.plan.seed]),
    )  # a quiet world is the same world without its bursts
    begin, end = -plan.lead_s, max(span[1], trained[1]) + plan.tail_s
    count = round((end - begin) / TICK)
    each = {
        HOST: plan.core_w,
        COPY: plan.device_w,
        DEVICE: plan.device_w if plan.style == "gpu" else plan.core_w * plan.cores,
    }
    dynamic = np.zeros(count)
    for kind, stretches in tape.loads.items():
        dynamic += each[kind] * _share(np.array(stretches), begin, count)
    seconds = np.arange(count) * TICK
    heat = _followed(dynamic / max(float(dynamic.max()), 1e-9), TICK / plan.warming_s)
    noise = _noise(rng, count, plan.noise_s)
    wander = np.interp(
        seconds,
        np.arange(0, seconds[-1] + 30, 15.0),
        np.cumsum(rng.standard_normal(len(np.arange(0, seconds[-1] + 30, 15.0)))) / 3,
    )
    own = plan.base_w + dynamic * (1 + plan.warming * heat + plan.noise * noise)
    own = own * (1 + plan.drift * np.clip(wander, -2, 2)) + 0.4 * _noise(rng, count, 0.01)
    bursts = plan.bursts or _places(plan, rng, trained)
    foreign = np.zeros(count)
    for one in bursts:
        foreign += (
            one.watts
            * _share(np.array([(one.start, one.end, 1.0)]), begin, count)
            * (1 + 0.02 * _noise(rng, count, 0.2))
        )
    odd = (tape.slow,) if np.isfinite(tape.slow[0]) else ()
    own_plan = replace(plan, bursts=bursts)
    return World(
        own_plan,
        shown,
        steps,
        tuple(tape.epochs),
        span,
        trained,
        bursts,
        odd,
        begin,
        own + foreign,
        foreign,
    )


def _share(stretches: Floats, begin: float, count: int) -> Floats:
    """How much of each tick weighted stretches fill; those that overlap add up."""
    edges = np.concatenate([stretches[:, 0], stretches[:, 1]])
    steps = np.concatenate([stretches[:, 2], -stretches[:, 2]])
    order = np.argsort(edges, kind="stable")
    edges, level = edges[order], np.cumsum(steps[order])
    area = np.concatenate([[0.0], np.cumsum(np.diff(edges) * level[:-1])])
    at = begin + np.arange(count + 1) * TICK
    return np.asarray(np.diff(np.interp(at, edges, area)) / TICK)


def _followed(values: Floats, part: float) -> Floats:
    """Each value a small part of the way to what it follows; by blocks, for the slow ones it is
    made for.
    """
    block = 50
    means = np.add.reduceat(values, np.arange(0, len(values), block)) / block
    level, out = 0.0, np.empty(len(means))
    for i, mean in enumerate(means.tolist()):
        level += (mean - level) * min(1.0, part * block)
        out[i] = level
    return np.asarray(np.interp(np.arange(len(values)), np.arange(len(means)) * block, out))


def _noise(rng: np.random.Generator, count: int, memory_s: float) -> Floats:
    """Unit noise that forgets within about `memory_s`."""
    width = max(1, round(memory_s / TICK))
    total = np.concatenate([[0.0], np.cumsum(rng.standard_normal(count + width))])
    return np.asarray((total[width:-1] - total[: -width - 1]) / np.sqrt(width))


def _places(
    plan: Plan, rng: np.random.Generator, trained: tuple[float, float]
) -> tuple[Burst, ...]:
    """Anywhere in the training; one in eight reaches or lies outside of it. Two keep apart."""
    found: list[Burst] = []
    for watts, seconds in plan.wanted:
        for _ in range(40):
            lo, hi = trained[0] + 0.5, trained[1] - seconds - 0.5
            if rng.random() < 0.125:
                lo, hi = -plan.lead_s + 3, trained[1] + plan.tail_s - seconds - 2
            if hi <= lo:
                continue
            start = float(rng.uniform(lo, hi))
            if all(start > one.end + 6 or start + seconds < one.start - 6 for one in found):
                found.append(Burst(start, seconds, watts))
                break
    return tuple(sorted(found, key=lambda one: one.start))
