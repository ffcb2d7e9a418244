"""More of what lies between, before and beside the steps: loaders' groups, eager helpers, skewed
device clocks, many replicas.
"""

from __future__ import annotations

import random

from tests.adversarial.devices import grouped
from tests.adversarial.program import ANY, Program, Step
from tests.adversarial.rows import row


@row
def a_group_of_the_loader() -> Program:
    """TensorFlow groups what the loader ran, too, and titles its root; no device took part
    in it.
    """
    p = Program()
    grouped(p, 0, 238, 8.4, {0: [(239, 4), (250, 40)]})
    p.event("tf_data_iterator_resource/1709", "FunctionRun", 238.8, 0.1, group_id=1, step_name="1")
    p.event("tf_Compute/17", "GatherV2:GatherV2", 238.85, 0.03, group_id=1)
    return p


@row
def groups_of_the_loader_between_steps() -> Program:
    """Even groups are steps, odd ones the loader's."""
    p = Program()
    for i in range(5):
        at = i * 30.0
        grouped(p, i * 2, at, 8, {0: [(at + 1, 4), (at + 8, 15)]})
        p.event(
            "tf_data_iterator_resource/1709",
            "FunctionRun",
            at + 0.5,
            0.1,
            group_id=i * 2 + 1,
            step_name=str(i * 2 + 1),
        )
        p.truth[-1].number = ANY
    return p


@row
def helpers_between_the_marks() -> Program:
    """Eager helpers run a small kernel between two marks, on the marks' own thread: that is no
    step's work.
    """
    p = Program()
    for i in range(8):
        at = i * 20.0
        p.step(i, at, 15, {0: [(at + 2, 10)]})
        p.launch("python", at + 16, 0, "convert_element_type", (at + 16.5, 0.4))
    p.asynchronous = False
    return p


@row
def a_device_clock_that_is_behind() -> Program:
    """The device's clock is 0.3 ms behind the host's: kernels begin before they were launched."""
    p = Program()
    for i in range(10):
        at = 5 + i * 4.0
        p.step(i, at, 0.5, {0: [(at - 0.25, 1.2), (at + 1.1, 1.5)]})
    p.asynchronous = True
    return p


@row
def a_validation_before_any_step() -> Program:
    """The profile began inside a validation."""
    p = Program()
    for k in range(3):
        p.event("python", "val_step", k * 10, 9, step_num=40 + k, _r=1)
    p.phase("validation", 0, 29)
    for i in range(8):
        p.step(i, 40 + i * 10, 9, name="train_step")
    p.epochs = 0
    return p


@row
def a_validation_after_the_last_step() -> Program:
    """It ends inside one."""
    p = Program()
    for i in range(8):
        p.step(i, i * 10, 9, name="train_step")
    for k in range(3):
        p.event("python", "val_step", 90 + k * 10, 9, step_num=k, _r=1)
    p.phase("validation", 90, 119)
    return p


@row
def eight_replicas_far_apart() -> Program:
    """Eight threads, each three steps behind the one before: at the end the first is 21 steps ahead
    of the last.
    """
    p = Program()
    for i in range(30):
        for t in range(8):
            p.event(f"replica/{t}", "train", i * 10 + t * 30.5, 8, step_num=i, _r=1)
        p.truth.append(Step(i, None, i * 10, ANY, None, ANY))
    p.epochs = 0
    return p


@row
def a_replica_that_misses_marks() -> Program:
    """Three threads in step; the buffer of the second lost every third mark."""
    p = Program()
    for i in range(9):
        for t in range(3):
            if t != 1 or i % 3:
                p.event(f"replica/{t}", "train", i * 10, 8, step_num=i, _r=1)
        p.truth.append(Step(i, None, i * 10, 8, None, 8))
    return p


@row
def far_from_zero() -> Program:
    """The session began ten days before."""
    p = Program()
    zero = 864_000_000.0
    for i in range(6):
        at = zero + i * 20
        p.step(i, at, 1, {0: [(at + 2, 12)]})
    return p


@row
def nanoseconds() -> Program:
    """Steps of two microseconds."""
    p = Program()
    for i in range(20):
        p.step(i, i * 0.002, 0.0018)
    p.holes = set()
    return p


@row
def hours() -> Program:
    """Steps of an hour."""
    p = Program()
    for i in range(5):
        p.step(i, i * 3_600_000, 3_599_000, {0: [(i * 3_600_000 + 1000, 3_500_000)]})
    p.asynchronous = False
    return p


@row
def prefetch_on_a_stream_of_its_own() -> Program:
    """A loader thread copies the next batch to the device while the step computes, and says which
    step it loads for (contexts).
    """
    p = Program()
    for i in range(8):
        at = i * 20.0
        p.step(i, at, 18, {0: [(at + 2, 14)]}, name="my_step")
    p.marker = "my_step"
    p.asynchronous = False
    return p


@row
def collectives_overlap_with_compute() -> Program:
    """All-reduce runs on a second stream during the backward pass: the union counts once."""
    p = Program()
    for i in range(8):
        at = i * 20.0
        p.step(
            i,
            at,
            1,
            {g: [(at + 2, 12), (at + 6, 10)] for g in range(2)},
            kernels=["gemm", "ncclDevKernel_AllReduce"],
        )
        for g in range(2):
            gpu = p.gpu(g)
            gpu.copies.append(gpu.kernels.pop())
    p.asynchronous = True
    return p


@row
def epochs_of_different_lengths() -> Program:
    """The last batch is missing in every other epoch: 6, 5, 6, 5 steps."""
    p = Program()
    at = 0.0
    for epoch, count in enumerate((6, 5, 6, 5)):
        for i in range(count):
            p.step(i, at, 9, epoch=epoch)
            at += 10
    return p


@row
def jitter_of_three_orders() -> Program:
    """A loader that stalls: steps take from one to a thousand milliseconds."""
    p = Program()
    rng, at = random.Random(7), 0.0
    for i in range(40):
        length = 10 ** rng.uniform(0, 3)
        p.step(i, at, length)
        at += length * 1.01
    p.epochs = 0
    p.holes = set()
    return p
