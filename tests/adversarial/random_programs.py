"""Programs put together at random from what real ones do: nobody has tuned for a seed.

The truth is what each one did.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.adversarial.program import ANY, Program, Span
from tests.adversarial.rows import row

_MARKS = (
    "train",
    "train_step",
    "Profiled batch",
    "my_step",
    "iteration",
    "TraceContext",
    "training_step",
    "update",
    "learn",
)
_VALIDATION = (
    "eval",
    "val",
    "test",
    "validation_step",
    "eval_step",
    "val_batch",
    "evaluate",
    "Validation batch",
)
_HELPERS = (
    "train_log",
    "training_data_read",
    "train_metrics",
    "fetch_batch",
    "metrics_update",
    "train_dataset_next",
)


@dataclass
class _Plan:
    """What a program is like, drawn by lot."""

    rng: random.Random
    unit: float  # how long a step takes, ms
    epochs: int
    steps: int  # of an epoch
    restarts: bool
    first: int
    micro: int  # micro-batches of a step
    devices: int
    ahead: bool
    drawn: bool  # a collector drew lines of steps, and every event knows its group
    replicas: int
    lag: float  # of each replica behind the one before
    validation: str
    mark: str
    helpers: int
    lost: float  # the share of steps that the buffer lost
    cut: int  # how many steps' device work the end of the profile cut


def _plan(seed: int) -> _Plan:
    rng = random.Random(seed)
    devices = rng.choice((0, 0, 1, 2, 4))
    epochs = rng.choice((1, 1, 2, 3))
    restarts = epochs > 1 and rng.random() < 0.6
    ahead = devices > 0 and rng.random() < 0.6
    drawn = devices > 0 and rng.random() < 0.4
    micro = rng.choice((1, 1, 1, 2, 4)) if not drawn else 1
    replicas = rng.choice((1, 1, 2, 3)) if not devices and micro == 1 else 1
    unit = 10 ** rng.uniform(-0.5, 2)
    mark = rng.choice(_MARKS)
    return _Plan(
        rng,
        unit,
        epochs,
        rng.randint(5, 12),
        restarts,
        rng.choice((0, 1)) if restarts else rng.choice((0, 1, rng.randint(2, 99_999))),
        micro,
        devices,
        ahead,
        drawn,
        replicas,
        unit * rng.choice((0, 0.001, 0.5, 1.6)),
        rng.choice(("", *_VALIDATION)) if replicas == 1 else "",
        mark,
        rng.choice((0, 0, 1, 2)),
        rng.choice((0, 0, 0.1)) if micro == 1 else 0.0,
        rng.choice((0, 2)) if ahead and not drawn else 0,
    )


def program(seed: int) -> Program:
    """What ran, with its truth."""
    plan = _plan(seed)
    rng, p = plan.rng, Program()
    p.asynchronous = plan.ahead if plan.devices else None
    p.marker = plan.mark
    now = rng.uniform(0, 5) * plan.unit
    queue = dict.fromkeys(range(plan.devices), now)
    total, run, holes = plan.epochs * plan.steps, 0, set[int]()
    lost = {
        i for i in range(1, total - 1) if rng.random() < plan.lost and i % plan.steps
    }  # the first tells where an epoch begins
    for epoch in range(plan.epochs):
        for i in range(plan.steps):
            number = plan.first + (i if plan.restarts else run)
            if run in lost:
                if i and p.truth:
                    holes.add(len(p.truth) - 1)
                now += plan.unit
            else:
                gone = range(plan.devices) if total - run <= plan.cut else ()
                now = _step(
                    plan, p, number, epoch if plan.restarts else None, run, now, queue, set(gone)
                )
            run += 1
        if plan.validation:
            holes.add(len(p.truth) - 1)
            now = _validate(plan, p, now, queue)
        if plan.ahead and rng.random() < 0.5:  # it waits for the device now and then
            now = max(now, *queue.values())
    p.epochs = plan.epochs if plan.restarts else 0
    if not plan.devices and plan.replicas == 1:
        p.holes = {hole for hole in holes if hole < len(p.truth) - 1}
    _help(plan, p)
    return p


def _step(
    plan: _Plan,
    p: Program,
    number: int,
    epoch: int | None,
    group: int,
    now: float,
    queue: dict[int, float],
    gone: set[int],
) -> float:
    """One step; gives when the program goes on.

    An accumulated step is a row of marks of one number without gaps.
    """
    rng = plan.rng
    begin, work = now, {gpu: list[Span]() for gpu in queue}
    shows: dict[str, int | str] = {"step_num": number, "_r": 1}
    if plan.drawn:
        shows["group_id"] = group
    part = plan.unit / plan.micro
    for _ in range(plan.micro):
        length = part * (rng.uniform(0.02, 0.05) if plan.ahead else rng.uniform(0.8, 0.95))
        spans = {gpu: _kernels(plan, gpu, now, length, part, queue) for gpu in queue}
        for gpu, found in spans.items():
            work[gpu] += found
        for replica in range(plan.replicas):
            thread = f"python/{replica}" if replica else "python"
            p.event(thread, plan.mark, now + replica * plan.lag, length, **shows)
        at = now + length * 0.1
        for gpu, found in spans.items():
            for span in found:
                at += length * 0.01
                group_of = {"group_id": group} if plan.drawn else {}
                p.launch(
                    "python",
                    at,
                    gpu,
                    rng.choice(("gemm", "relu", f"conv_{rng.randint(1, 99)}")),
                    span,
                    lost=gpu in gone,
                    **group_of,
                )
        now += length
    if plan.drawn:
        for gpu, found in work.items():
            lo, hi = found[0][0], max(start + length for start, length in found)
            p.draw(gpu, str(group), (lo, hi - lo), group_id=group)
    p.tell(
        number,
        epoch,
        begin,
        now - begin,
        {gpu: found for gpu, found in work.items() if gpu not in gone},
    )
    if gone:
        p.truth[-1].step = ANY
    if plan.replicas > 1:
        p.truth[-1].host = p.truth[-1].step = ANY
    gap = plan.unit * rng.uniform(0.01, 0.1)
    return now + (gap if not plan.ahead else gap * 0.1)


def _kernels(
    plan: _Plan, gpu: int, now: float, length: float, part: float, queue: dict[int, float]
) -> list[Span]:
    """The work of one micro-batch on one device: inside the mark, or behind what is queued
    there.
    """
    rng = plan.rng
    count = rng.randint(1, 3)
    room = part * rng.uniform(0.7, 0.95) if plan.ahead else length * 0.7
    at = max(queue[gpu] + part * 0.02, now + length * 1.1) if plan.ahead else now + length * 0.25
    out = []
    for _ in range(count):
        busy = room / count * rng.uniform(0.6, 0.9)
        out.append((at, busy))
        at += room / count
    queue[gpu] = max(queue[gpu], out[-1][0] + out[-1][1])
    return out


def _validate(plan: _Plan, p: Program, now: float, queue: dict[int, float]) -> float:
    """A few steps of another name, numbered from 0; their work on devices is launched, too."""
    rng, begin, end = plan.rng, now, now
    for k in range(rng.randint(2, 4)):
        length = plan.unit * (0.04 if plan.ahead else 0.5)
        p.event("python", plan.validation, now, length, step_num=k, _r=1)
        for gpu in queue:
            (span, *_) = _kernels(plan, gpu, now, length, plan.unit * 0.5, queue)
            p.launch("python", now + length * 0.1, gpu, "gemm", span)
        end = now + length
        now = end + plan.unit * 0.02
    p.phase("validation", begin, end)
    return now + plan.unit * 0.05


def _help(plan: _Plan, p: Program) -> None:
    """Helpers with numbers of their own that cover little: inside each step, and on a thread of
    their own.
    """
    rng = plan.rng
    for name in rng.sample(_HELPERS, plan.helpers):
        inside = rng.random() < 0.5
        each = 1 if inside else rng.choice((1, 3))
        for index, step in enumerate(list(p.truth)):
            host = step.host if isinstance(step.host, float) else plan.unit * 0.5
            for k in range(each):
                at = step.start + host * (0.5 if inside else 0.1 + 0.2 * k)
                p.event(
                    "python" if inside else "helper",
                    name,
                    at,
                    host * 0.02,
                    step_num=index * each + k,
                    _r=1,
                )


def eager(seed: int) -> Program:
    """TensorFlow's eager mode on devices, as its collectors up to 2.10 wrote it: every event knows
    its group, roots carry a title.

    Some groups ran on the host alone (a loader's), on some the device was longer than the root, on
    others the root held the device.
    """
    rng, p = random.Random(seed), Program()
    unit, devices, now = 10 ** rng.uniform(-0.5, 2), rng.choice((1, 1, 2)), rng.uniform(0, 300)
    root = rng.choice(("EagerKernelExecute", "FunctionRun", "EagerLocalExecute: MatMul"))
    for group in range(rng.randint(1, 6)):
        if group and rng.random() < 0.3:
            p.event(
                "tf_data_iterator_resource/1",
                "FunctionRun",
                now,
                unit * 0.02,
                group_id=group,
                step_name=str(group),
            )
            p.event(
                "tf_data_iterator_resource/1",
                "GatherV2:GatherV2",
                now + unit * 0.005,
                unit * 0.01,
                group_id=group,
            )
            now += unit * 0.05
            continue
        host = unit * rng.uniform(0.05, 1.5)
        title = f"{root} {group}" if root != "FunctionRun" else str(group)
        p.event("python3", root, now, host, group_id=group, step_name=title)
        work: dict[int, list[Span]] = {}
        for gpu in range(devices):
            at = now + unit * rng.uniform(0.01, 0.05)
            for _ in range(rng.randint(1, 5)):
                busy = unit * rng.uniform(0.02, 0.4)
                work.setdefault(gpu, []).append((at, busy))
                p.launch("python3", now + host * 0.1, gpu, "sgemm", (at, busy), group_id=group)
                at += busy + unit * rng.uniform(0, 0.3)
            lo = work[gpu][0][0]
            hi = max(start + length for start, length in work[gpu])
            p.draw(gpu, str(group), (lo, hi - lo), group_id=group, step_name=title)
        p.tell(ANY, ANY, now, host, work)
        now = (
            max(
                now + host,
                max(start + length for found in work.values() for start, length in found),
            )
            + unit * 0.2
        )
    return p


def listed(make: Callable[[int], Program], seed: int) -> None:
    def build() -> Program:
        return make(seed)

    build.__name__ = f"random_{make.__name__}_{seed:03}"
    build.__doc__ = f"The program of lot {seed}."
    if make is program:
        plan = vars(_plan(seed)).items()
        build.__doc__ = ", ".join(
            f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in plan
            if key != "rng"
        )
    row(build)


for _seed in range(60):
    listed(program, _seed)
for _seed in range(40):
    listed(eager, _seed)
