"""Asynchronous dispatch: the call returns, the work runs later, and the profile may end before it
does.
"""

from __future__ import annotations

from tests.adversarial.program import ANY, Program, Step
from tests.adversarial.rows import cannot_tell, row


@row
def dispatched_ahead() -> Program:
    """Ten dispatches in 2.5 ms, thirty milliseconds of work: correlation ids say whose."""
    p = Program()
    for i in range(10):
        p.step(i, 1 + i * 0.25, 0.2, {0: [(2 + i * 3, 1.8), (4.1 + i * 3, 0.75)]})
    p.asynchronous = True
    return p


@row
def dispatched_ahead_and_cut_at_the_end() -> Program:
    """The last three steps had not run when the profile ended: their device time is unknown."""
    p = Program()
    for i in range(10):
        p.step(i, 1 + i * 0.25, 0.2, {0: [(2 + i * 3, 2.5)]}, lost=[0] if i > 6 else [])
    for step in p.truth[7:]:
        step.step = ANY
    p.asynchronous = True
    return p


@row
def dispatched_ahead_and_cut_inside_a_step() -> Program:
    """Of the last step's two kernels one is in the file: what is there counts, and the count of
    names fits no multiple.
    """
    p = Program()
    for i in range(10):
        spans = [(2 + i * 3.0, 1.0), (3.2 + i * 3.0, 1.0)]
        p.step(i, 1 + i * 0.25, 0.2, {0: spans if i < 9 else spans[:1]}, kernels=["gemm", "relu"])
    p.launch("python", 3.4, 0, "relu", (30.2, 1), lost=True)
    p.truth[-1].device = p.truth[-1].step = ANY
    p.asynchronous = True
    return p


@row
def work_of_steps_before_the_profile() -> Program:
    """The device still works off what was asked for before the profile began: that is nobody's
    here.
    """
    p = Program()
    for i in range(4):
        p.kernel(0, "gemm", i * 3, 2.8, correlation_id=9000 + i)
    for i in range(8):
        p.step(i, 1 + i * 0.25, 0.2, {0: [(14 + i * 3, 2.5)]})
    p.asynchronous = True
    return p


@row
def names_that_vary_by_step() -> Program:
    """Shapes change, so every step runs kernels of other names: no name occurs as often as the
    steps.
    """
    p = Program()
    for i in range(10):
        p.step(
            i,
            1 + i * 0.25,
            0.2,
            {0: [(2 + i * 3, 1.5), (4 + i * 3, 0.8)]},
            kernels=[f"gemm_{64 + i}", f"softmax_{i * 7}"],
        )
    p.asynchronous = True
    return p


@row
def marks_that_hold_their_work() -> Program:
    """Synchronous: every mark ends after its work."""
    p = Program()
    for i in range(10):
        p.step(i, i * 5, 4.5, {0: [(i * 5 + 0.5, 3.5)]})
    p.asynchronous = False
    return p


@row
def one_step_ahead() -> Program:
    """The loop waits for the step before: work of step k runs while step k + 1 is dispatched."""
    p = Program()
    for i in range(12):
        p.step(i, i * 5, 4.6, {0: [(i * 5 + 3, 4.8)]})
    p.asynchronous = True
    return p


@row
def modules_in_order_without_correlation() -> Program:
    """No correlation ids, but the device ran one module a step, in order, and nothing else."""
    p = Program()
    for i in range(10):
        p.event("python", "train", 1 + i * 0.25, 0.2, step_num=i, _r=1)
        span = (3 + i * 3.0, 2.5)
        p.kernel(0, "fusion", *span)
        p.module(0, "jit_train_step(7)", *span)
        p.tell(i, None, 1 + i * 0.25, 0.2, {0: [span]})
    p.asynchronous = True
    return p


@row
def work_without_anything_that_ties_it() -> Program:
    """No correlation ids, names that vary, work far behind: that dispatch is asynchronous is plain,
    whose work it is not.
    """
    p = Program()
    for i in range(10):
        p.event("python", "train", 1 + i * 0.25, 0.2, step_num=i, _r=1)
        p.truth.append(Step(i, None, 1 + i * 0.25, 0.2, None, ANY))
    for i in range(23):
        p.kernel(0, f"fusion_{i}", 4 + i * 1.3, 1.2)
    p.asynchronous = True
    return p


@row
def launches_from_another_thread() -> Program:
    """The mark hands its work to a thread that launches: contexts tie the two (_pt, _p to
    _ct, _c).
    """
    p = Program()
    for i in range(8):
        at = 1 + i * 0.5
        p.event("python", "train", at, 0.2, step_num=i, _r=1)
        p.event("python", "ThunkExecutor::Execute (hand over)", at + 0.05, 0.1, _pt=14, _p=700 + i)
        p.event("xla_worker", "ThunkExecutor::Run", at + 0.22, 0.2, _ct=14, _c=700 + i)
        p.launch("xla_worker", at + 0.25, 0, "gemm", (2 + i * 3, 2.5))
        p.tell(i, None, at, 0.2, {0: [(2 + i * 3, 2.5)]})
    p.asynchronous = True
    return p


@row
def dispatch_on_a_cpu() -> Program:
    """No device at all: a pool works off what the marks asked for.

    By TensorFlow's rule the step is the mark.
    """
    p = Program()
    for i in range(10):
        p.step(i, 1 + i * 0.05, 0.04)
        p.event(f"pool/{i % 3}", "fusion", 3 + i * 4.0, 4.0)
    p.asynchronous = True
    return p


@row
def a_long_first_step() -> Program:
    """The first step traces and compiles for a second, then dispatch runs ahead."""
    p = Program()
    p.step(0, 0, 1000, {0: [(995, 20)]})
    for i in range(1, 12):
        p.step(i, 1000 + i * 0.3, 0.2, {0: [(1016 + i * 4, 3.5)]})
    p.phase("tracing", 0, 1000)
    p.asynchronous = True
    return p


@row
def accumulated_and_dispatched_ahead() -> Program:
    """Four micro-batches a step, each a mark of the same number, each dispatched ahead."""
    p = Program()
    for i in range(4):
        spans = []
        for k in range(4):
            n = i * 4 + k
            span = (3 + n * 2.0, 1.8)
            spans.append(span)
            p.step(i, 1 + n * 0.2, 0.2, {0: [span]}, told=False)
        p.tell(i, None, 1 + i * 0.8, 0.8, {0: spans})
    p.asynchronous = True
    return p


@row
def two_devices_that_drift_apart() -> Program:
    """Device 1 is slower and falls behind by half a step each step."""
    p = Program()
    for i in range(8):
        p.step(i, 1 + i * 0.25, 0.2, {0: [(2 + i * 3, 2.8)], 1: [(2 + i * 4.5, 4.3)]})
    p.asynchronous = True
    return p


@row
def cut_on_one_of_two_devices() -> Program:
    """The slower device had not run the last steps when the profile ended: the faster one's work is
    known.
    """
    p = Program()
    for i in range(8):
        p.step(
            i,
            1 + i * 0.25,
            0.2,
            {0: [(2 + i * 3, 2.8)], 1: [(2 + i * 4.5, 4.3)]},
            lost=[1] if i > 4 else [],
        )
    for step in p.truth[5:]:
        step.step = ANY
        step.device = ANY
    p.asynchronous = True
    return p


@cannot_tell(
    "two functions that take the same time take turns: whether a step is one launch or a pair "
    "of them is not in the file"
)
def two_functions_that_take_turns() -> Program:
    """No mark. `forward` and `backward` alternate."""
    p = Program()
    for i in range(10):
        p.event("python", f"PjitFunction({'forward' if i % 2 == 0 else 'backward'})", i * 3, 2.5)
    p.truth = [Step(ANY, ANY, i * 6, ANY, ANY, ANY) for i in range(5)]
    return p
