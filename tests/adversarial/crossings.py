"""Several of these at once, and several hosts."""

from __future__ import annotations

from tests.adversarial.program import ANY, Program, Step
from tests.adversarial.rows import row

_START = 1_795_000_000_000_000_000


@row
def ahead_on_two_devices_with_a_straggler_and_a_cut_end() -> Program:
    """Dispatched ahead to three devices, one of them slow, and the profile ended before the last
    steps ran.
    """
    p = Program()
    for i in range(8):
        work = {g: [(2 + i * (5 if g == 1 else 3), 4.5 if g == 1 else 2.5)] for g in range(3)}
        p.step(i, 1 + i * 0.25, 0.2, work, lost=range(3) if i > 5 else [])
    for step in p.truth[6:]:
        step.step = ANY
    p.asynchronous = True
    return p


@row
def accumulated_ahead_on_two_devices() -> Program:
    """Two micro-batches a step, both on two devices, all dispatched ahead."""
    p = Program()
    for i in range(6):
        spans: dict[int, list[tuple[float, float]]] = {0: [], 1: []}
        for k in range(2):
            n = i * 2 + k
            work = {g: [(3 + n * 2.0, 1.8)] for g in (0, 1)}
            for g, [span] in work.items():
                spans[g].append(span)
            p.step(i, 1 + n * 0.2, 0.2, work, told=False)
        p.tell(i, None, 1 + i * 0.4, 0.4, spans)
    p.asynchronous = True
    return p


@row
def two_threads_that_feed_a_device_each() -> Program:
    """A thread a device, the same numbers on both."""
    p = Program()
    for i in range(8):
        for t in range(2):
            p.step(i, 1 + i * 0.25, 0.2, {t: [(2 + i * 3, 2.5)]}, thread=f"feeder/{t}", told=False)
        p.tell(i, None, 1 + i * 0.25, 0.2, {t: [(2 + i * 3, 2.5)] for t in range(2)})
    p.asynchronous = True
    return p


@row
def restarted_labels_and_epochs_of_the_host() -> Program:
    """The host's numbers start again with each epoch, two devices count groups on and on, each from
    its own 0.
    """
    p = Program()
    for i in range(8):
        at = i * 20.0
        p.step(
            i % 4,
            at,
            1,
            {0: [(at + 2, 12)], 1: [(at + 2, 12)]},
            epoch=i // 4,
            shows={"step_num": i % 4, "group_id": i, "_r": 1},
        )
        for g in (0, 1):
            p.draw(g, str(i), (at + 2, 12), group_id=i)
    return p


@row
def a_helper_named_train_ahead() -> Program:
    """Dispatched ahead, and a helper named train_log inside each dispatch."""
    p = Program()
    for i in range(10):
        p.step(i, 1 + i * 0.25, 0.2, {0: [(2 + i * 3, 2.5)]}, name="my_step")
        p.event("python", "train_log", 1.15 + i * 0.25, 0.02, step_num=i, _r=1)
    p.marker = "my_step"
    p.asynchronous = True
    return p


@row
def a_helper_named_train_among_micro_batches() -> Program:
    """Two micro-batches a step and a helper named train_stats on another thread."""
    p = Program()
    for i in range(5):
        for k in range(2):
            p.step(i, i * 20 + k * 10, 10, name="micro_step", told=False)
        p.event("stats", "train_stats", i * 20 + 3, 1, step_num=i, _r=1)
        p.tell(i, None, i * 20, 20, {})
    p.marker = "micro_step"
    return p


@row
def holes_and_validation() -> Program:
    """Steps 4 and 5 are lost, a validation lies between 7 and 8."""
    p = Program()
    for i in (0, 1, 2, 3, 6, 7, 8, 9):
        p.step(i, i * 10 + (40 if i > 7 else 0), 9)
    p.holes = {3, 5}  # what ran between 7 and 8 was a validation
    for k in range(3):
        p.event("python", "eval", 80 + k * 10, 9, step_num=k, _r=1)
    p.phase("validation", 80, 109)
    return p


@row
def validation_on_two_lagging_replicas() -> Program:
    """Two replicas train and validate, the second half a step behind."""
    p = Program()
    for i in range(6):
        at = i * 10 + i // 3 * 40.0
        for t in range(2):
            p.event(f"replica/{t}", "train", at + t * 5, 8, step_num=i, _r=1)
        p.truth.append(Step(i, None, at, ANY, None, ANY))
    for turn in range(2):
        for k in range(3):
            for t in range(2):
                p.event(f"replica/{t}", "val", turn * 70 + 40 + k * 8 + t * 5, 7, step_num=k, _r=1)
        p.phase("validation", turn * 70 + 40, turn * 70 + 68)
    return p


@row
def a_countdown_on_two_devices_with_lines() -> Program:
    """The host counts down, the devices' lines are labelled by the same numbers."""
    p = Program()
    for i in range(8):
        at = i * 20.0
        p.step(7 - i, at, 1, {0: [(at + 2, 12)], 1: [(at + 2, 12)]}, drawn=str(7 - i))
    p.epochs = 0
    return p


@row
def micro_batches_of_two_epochs_with_validation() -> Program:
    """Everything at once on one thread: two micro-batches a step, three steps an epoch, a
    validation after each.
    """
    p = Program()
    for epoch in range(2):
        for i in range(3):
            at = epoch * 100 + i * 20.0
            for k in range(2):
                p.step(i, at + k * 10, 10, told=False)
            p.tell(i, epoch, at, 20, {})
        for k in range(3):
            p.event("python", "val", epoch * 100 + 60 + k * 10, 9, step_num=k, _r=1)
        p.phase("validation", epoch * 100 + 60, epoch * 100 + 89)
    return p


@row
def a_step_that_the_end_cut() -> Program:
    """TensorFlow 2.2: the last TraceContext was not closed, so only the graph's run that it had
    begun is in the file.
    """
    p = Program()
    for i in range(6):
        stats = {
            "step_num": 30 + i,
            "graph_type": "train",
            "group_id": i,
            "step_name": f"train {30 + i}",
        }
        p.event("python", "TraceContext", i * 10, 9, **stats)
        p.event("python", "FunctionRun", i * 10 + 1, 7, group_id=i, id=77)
        p.tell(30 + i, None, i * 10, 9, {})
    p.event("python", "FunctionRun", 61, 5.5, group_id=6, id=77, step_name="6")
    p.truth.append(Step(ANY, ANY, 61, ANY, None, 5.5))
    return p


@row
def a_step_that_the_end_cut_on_a_device() -> Program:
    """The same with a device: the cut step's kernels are there and its mark is not."""
    p = Program()
    for i in range(6):
        at = i * 20.0
        p.step(
            30 + i,
            at,
            15,
            {0: [(at + 2, 12)]},
            name="TraceContext",
            drawn=None,
            shows={
                "step_num": 30 + i,
                "graph_type": "train",
                "group_id": i,
                "step_name": f"train {30 + i}",
            },
        )
        p.draw(0, str(i), (at + 2, 12), group_id=i, step_name=f"train {30 + i}")
    p.kernel(0, "gemm", 122, 6, group_id=6, correlation_id=900)
    p.draw(0, "6", (122, 6), group_id=6, step_name="6")
    p.truth.append(Step(ANY, ANY, 122, ANY, 6, 6))
    return p


# ── several hosts ────────────────────────────────────────────────────────────────────────────────


def worker(host: str, start_ns: int, late: float = 0.0, steps: int = 8, first: int = 0) -> Program:
    """One of several: `late` ms between its own zero and its first step."""
    p = Program(host, start_ns)
    for i in range(steps):
        at = late + i * 20.0
        p.step(first + i, at, 1, {0: [(at + 2, 12)], 1: [(at + 2, 12)]}, drawn=str(first + i))
    return p


@row
def two_hosts_in_step() -> list[Program]:
    """The same steps on two hosts whose profiles began at once."""
    return [worker("host-a", _START), worker("host-b", _START, late=0.25)]


@row
def two_hosts_that_began_apart() -> list[Program]:
    """The profile of the second host began 2.5 s later, and holds other numbers."""
    return [worker("host-a", _START, steps=30), worker("host-b", _START + 2_500_000_000, first=125)]


@row
def a_host_whose_clock_is_ahead() -> list[Program]:
    """The second host's clock is 40 ms ahead; each host's steps are its own."""
    return [worker("host-a", _START), worker("host-b", _START + 40_000_000, late=3)]


@row
def two_hosts_that_validate() -> list[Program]:
    """Skewed by 7 ms, both with a validation in the middle."""
    made = []
    for host, late in (("host-a", 0.0), ("host-b", 7.0)):
        p = Program(host, _START)
        for i in range(8):
            p.step(i, late + i * 10 + (40 if i > 3 else 0), 9)
        for k in range(3):
            p.event("python", "eval", late + 41 + k * 10, 9, step_num=k, _r=1)
        p.phase("validation", late + 41, late + 70)
        made.append(p)
    return made


@row
def two_hosts_that_run_ahead_and_are_cut() -> list[Program]:
    """Both dispatch ahead to two devices; the second profile ended two steps earlier."""
    made = []
    for host, kept in (("host-a", 8), ("host-b", 6)):
        p = Program(host, _START)
        for i in range(8):
            p.step(
                i,
                1 + i * 0.25,
                0.2,
                {g: [(2 + i * 3, 2.5)] for g in (0, 1)},
                lost=(0, 1) if i >= kept else (),
            )
        for step in p.truth[kept:]:
            step.step = ANY
        p.asynchronous = True
        made.append(p)
    return made
