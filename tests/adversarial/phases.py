"""Validation, evaluation, prediction, checkpoints: what is not training, and what only sounds like
it.
"""

from __future__ import annotations

from tests.adversarial.program import Program, Step
from tests.adversarial.rows import row


def validated(
    p: Program,
    name: str,
    *,
    train: str = "train",
    thread: str = "python",
    phase: str = "validation",
    rounds: int = 2,
) -> None:
    """Rounds of six training steps and three of something else; both count on."""
    for i in range(6 * rounds):
        p.step(i, i * 10 + i // 6 * 40, 9, name=train)
    for turn in range(rounds):
        at = turn * 100 + 60.0
        for k in range(3):
            p.event(thread, name, at + k * 10, 9, step_num=turn * 3 + k, _r=1)
        p.phase(phase, at, at + 29)


@row
def train_and_eval() -> Program:
    """Marks named train and eval: the validation is a phase."""
    p = Program()
    validated(p, "eval")
    return p


@row
def train_and_val() -> Program:
    """Marks named val are not training."""
    p = Program()
    validated(p, "val")
    return p


@row
def steps_and_validation_steps() -> Program:
    """As frameworks name them."""
    p = Program()
    validated(p, "validation_step", train="training_step")
    return p


@row
def batches_and_val_batches() -> Program:
    """`Profiled batch` beside `val_batch`."""
    p = Program()
    validated(p, "val_batch", train="Profiled batch")
    return p


@row
def an_evaluator_on_its_own_thread() -> Program:
    """A thread evaluates while training goes on."""
    p = Program()
    for i in range(20):
        p.step(i, i * 10, 9)
    for k in range(4):
        p.event("evaluator", "eval", 55 + k * 12, 11, step_num=k, _r=1)
    p.phase("evaluation", 55, 102)
    return p


@row
def a_validation_that_counts_anew() -> Program:
    """Validation counts from 0 each time, training goes on: no epoch begins by that."""
    p = Program()
    for i in range(12):
        p.step(i, i * 10 + i // 6 * 40, 9)
    for turn in range(2):
        for k in range(3):
            p.event("python", "test", turn * 100 + 60 + k * 10, 9, step_num=k, _r=1)
        p.phase("validation", turn * 100 + 60, turn * 100 + 89)
    p.epochs = 0
    return p


@row
def graphs_of_two_types() -> Program:
    """TensorFlow 2.2: every mark is a TraceContext, its graph_type says which."""
    p = Program()
    for i in range(8):
        p.step(
            i, i * 10, 9, name="TraceContext", shows={"step_num": i, "graph_type": "train", "_r": 1}
        )
    for k in range(3):
        p.event("python", "TraceContext", 80 + k * 10, 9, step_num=k, graph_type="test", _r=1)
    p.phase("validation", 80, 109)
    return p


@row
def an_evaluation_alone() -> Program:
    """Only an evaluation was profiled: its steps are steps, and it says that it is one."""
    p = Program()
    for i in range(6):
        p.step(i, i * 10, 9, name="eval")
    p.phase("evaluation", 0, 59)
    return p


@row
def a_prediction_alone() -> Program:
    """Only a prediction was profiled."""
    p = Program()
    for i in range(6):
        p.step(i, i * 10, 9, name="predict")
    p.phase("prediction", 0, 59)
    return p


@row
def a_prediction_after_training() -> Program:
    """Training, then a prediction."""
    p = Program()
    for i in range(8):
        p.step(i, i * 10, 9)
    for k in range(4):
        p.event("python", "predict", 100 + k * 10, 9, step_num=k, _r=1)
    p.phase("prediction", 100, 139)
    return p


@row
def a_checkpoint_between_steps() -> Program:
    """A mark of its own writes the checkpoint."""
    p = Program()
    for i in range(10):
        p.step(i, i * 10 + (50 if i > 4 else 0), 9)
    p.event("python", "checkpoint", 50, 45, step_num=5, _r=1)
    p.phase("checkpoint", 50, 95)
    return p


@row
def a_name_that_only_sounds_like_validation() -> Program:
    """`value_and_grad_step` and its kin are training."""
    p = Program()
    for i in range(8):
        p.step(i, i * 10, 9, name="value_and_grad_step")
    return p


@row
def another_name_that_only_sounds_like_a_test() -> Program:
    """`testament_step`: letters alone are no word."""
    p = Program()
    for i in range(8):
        p.step(i, i * 10, 9, name="testament_step")
    return p


@row
def a_validation_in_every_epoch() -> Program:
    """Numbers start again after each validation."""
    p = Program()
    for epoch in range(3):
        for i in range(4):
            p.step(i, epoch * 100 + i * 10, 9, epoch=epoch)
        for k in range(2):
            p.event("python", "val", epoch * 100 + 50 + k * 10, 9, step_num=k, _r=1)
        p.phase("validation", epoch * 100 + 50, epoch * 100 + 69)
    return p


@row
def validation_between_accumulated_steps() -> Program:
    """Two micro-batches a step, a validation every third step."""
    p = Program()
    for i in range(6):
        at = i * 20 + i // 3 * 40.0
        for k in range(2):
            p.step(i, at + k * 10, 10, told=False)
        p.tell(i, None, at, 20, {})
    for turn in range(2):
        at = turn * 100 + 60.0
        for k in range(3):
            p.event("python", "eval", at + k * 10, 9, step_num=k, _r=1)
        p.phase("validation", at, at + 29)
    return p


@row
def validation_that_runs_ahead() -> Program:
    """Training and validation are both dispatched ahead on one device; correlation says whose work
    is whose.
    """
    p = Program()
    queue = 2.0
    for turn in range(2):
        for i in range(6):
            p.step(turn * 6 + i, 1 + turn * 10 + i * 0.25, 0.2, {0: [(queue, 2.5)]})
            queue += 3
        for k in range(3):
            at = 1 + turn * 10 + 1.5 + k * 0.25
            p.event("python", "eval", at, 0.2, step_num=k, _r=1)
            p.launch("python", at + 0.01, 0, "gemm", (queue, 1.0))
            queue += 1.2
        p.phase("validation", 1 + turn * 10 + 1.5, 1 + turn * 10 + 2.2)
    p.asynchronous = True
    return p


@row
def validation_on_other_threads() -> Program:
    """Two replicas train, two others validate meanwhile."""
    p = Program()
    for i in range(8):
        for t in range(2):
            p.event(f"train/{t}", "train", i * 10, 8, step_num=i, _r=1)
        p.truth.append(Step(i, None, i * 10, 8, None, 8))
    for k in range(4):
        for t in range(2):
            p.event(f"val/{t}", "val", 20 + k * 10, 9, step_num=k, _r=1)
    p.phase("validation", 20, 59)
    return p
