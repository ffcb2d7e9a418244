"""Helpers, loaders and loops with names that sound like steps; and profiles without any mark."""

from __future__ import annotations

from tests.adversarial.program import ANY, Program, Step
from tests.adversarial.rows import cannot_tell, row


@row
def a_loader_that_is_called_training() -> Program:
    """`training_data_read` has a step_num and covers little; `Profiled batch` is the step."""
    p = Program()
    for i in range(8):
        p.step(i, i * 20, 18, name="Profiled batch", shows={"step_num": i})
        p.event("loader", "training_data_read", i * 20 - 3 if i else 0, 2, step_num=i + 1)
    p.marker = "Profiled batch"
    return p


@row
def a_loader_with_a_root_level() -> Program:
    """As above, and the loader's event is a root as well."""
    p = Program()
    for i in range(8):
        p.step(i, i * 20, 18, name="my_step")
        p.event("loader", "train_dataset_next", i * 20 + 1, 2, step_num=i + 1, _r=1)
    p.marker = "my_step"
    return p


@row
def a_function_with_a_root_level_only() -> Program:
    """`train_step_fn` is a root in every second step only (the others were replayed); batches have
    numbers.
    """
    p = Program()
    for i in range(10):
        p.step(i, i * 10, 9, name="Profiled batch", shows={"step_num": i})
        if i % 2:
            p.event("python", "train_step_fn", i * 10 + 1, 7, _r=1)
    p.marker = "Profiled batch"
    return p


@row
def a_function_with_a_root_level_on_another_thread() -> Program:
    """The same on a thread of its own."""
    p = Program()
    for i in range(10):
        p.step(i, i * 10, 9, name="Profiled batch", shows={"step_num": i})
        if i % 2:
            p.event("worker", "train_step_fn", i * 10 + 1, 7, _r=1)
    p.marker = "Profiled batch"
    return p


@row
def a_loop_that_holds_all_steps() -> Program:
    """`train_loop` is one mark around everything; the steps are inside it."""
    p = Program()
    p.event("python", "train_loop", 0, 200, step_num=0, _r=1)
    for i in range(10):
        p.step(i, 2 + i * 19, 18, name="step")
    return p


@row
def epochs_that_hold_their_steps() -> Program:
    """`train_epoch` is a mark around five `train_step`s."""
    p = Program()
    for epoch in range(2):
        p.event("python", "train_epoch", epoch * 100, 99, step_num=epoch, _r=1)
        for i in range(5):
            p.step(epoch * 5 + i, epoch * 100 + 2 + i * 19, 18, name="train_step")
            p.truth[-1].epoch = ANY
    return p


@row
def a_helper_inside_each_step() -> Program:
    """Inside every step three small helpers count on their own."""
    p = Program()
    for i in range(8):
        p.step(i, i * 20, 18, name="my_step")
        for k in range(3):
            p.event(
                "python", "train_metrics_update", i * 20 + 2 + k * 5, 0.5, step_num=i * 3 + k, _r=1
            )
    p.marker = "my_step"
    return p


@row
def a_helper_that_runs_more_often_beside_steps() -> Program:
    """On another thread a logger named train_logger writes 40 times during eight steps."""
    p = Program()
    for i in range(8):
        p.step(i, i * 20, 18, name="iteration")
    for k in range(40):
        p.event("logger", "train_logger", k * 4, 0.3, step_num=k, _r=1)
    p.marker = "iteration"
    return p


def jit(
    p: Program, count: int, *, helpers: int, first: float, cover: float, mark: str = "train_step"
) -> None:
    """No marks: PjitFunctions are dispatched; `helpers` small ones around each step's."""
    for i in range(count):
        at = i * 2.0 + (first if i else 0)
        for k in range(helpers):
            p.event(
                "python",
                "PjitFunction(convert_element_type)",
                at + k * 0.2,
                first / 2 if i == k == 0 and first else 0.15,
            )
        dispatched = at + helpers * 0.2 + (first / 2 if i == 0 else 0)
        p.event("python", f"PjitFunction({mark})", dispatched, 0.1)
        span = (first + 5 + i * cover * 1.05, cover)
        p.launch("python", dispatched + 0.01, 0, "gemm", span)
        p.tell(ANY, None, dispatched, 0.1, {0: [span]})  # type: ignore[arg-type]
    p.marker = f"PjitFunction({mark})"


@row
def a_conversion_before_each_step() -> Program:
    """`convert_element_type` runs three times a step and takes longer on the host; the step's
    function fills the device.
    """
    p = Program()
    jit(p, 12, helpers=3, first=0, cover=8)
    return p


@row
def a_conversion_that_compiled_first() -> Program:
    """Its first run took half a second."""
    p = Program()
    jit(p, 12, helpers=1, first=500, cover=8)
    return p


@row
def a_conversion_as_often_as_the_step() -> Program:
    """Once before each step, and longer than its dispatch: only what it launches tells them
    apart.
    """
    p = Program()
    jit(p, 12, helpers=1, first=0, cover=8, mark="forward")
    return p


@row
def modules_of_a_helper_and_a_step() -> Program:
    """No marks on the host; the device draws modules: a long one, and a helper that runs twice as
    often.
    """
    p = Program()
    for i in range(10):
        at = i * 20.0
        for k in range(2):
            p.kernel(0, "convert", at + k, 0.5)
            p.module(0, "jit_convert_element_type(3)", at + k, 0.5)
        p.kernel(0, "fusion", at + 3, 15)
        p.module(0, "jit_train_step(9)", at + 3, 15)
        p.truth.append(Step(ANY, None, at + 3, None, 15, 15))
    p.marker = "jit_train_step"
    return p


@row
def profiler_steps_on_the_host() -> Program:
    """PyTorch's own marks."""
    p = Program()
    for i in range(6):
        p.step(i + 3, i * 20, 19, name=f"ProfilerStep#{i + 3}", shows={})
    return p


@row
def a_mark_of_another_word() -> Program:
    """A name that says nothing, with a step_num: it is a step all the same."""
    p = Program()
    for i in range(6):
        p.step(i, i * 20, 19, name="tick", shows={"step_num": i})
    return p


@cannot_tell("nothing marks a step and nothing repeats")
def nothing_that_repeats() -> Program:
    """Twenty events of twenty names."""
    p = Program()
    for i in range(20):
        p.event("python", f"op_{i * i}", i * 5, 4)
    p.truth = []
    return p


@cannot_tell(
    "two kinds of marks with numbers of their own share the time half and half: a program of "
    "two tasks, or a step in two halves"
)
def two_marks_that_share_the_time() -> Program:
    """`actor` and `learner` take turns, each with its own step_num."""
    p = Program()
    for i in range(8):
        p.event("python", "actor" if i % 2 else "learner", i * 10, 9, step_num=i // 2)
    p.truth = [Step(ANY, ANY, i * 20, ANY, ANY, ANY) for i in range(4)]
    return p
