"""Threads, numbers that fall, and numbers that are not there."""

from __future__ import annotations

from tests.adversarial.program import ANY, Program, Step
from tests.adversarial.rows import cannot_tell, row


@row
def four_threads_in_step() -> Program:
    """Four replicas mark the same eight steps at the same times: eight steps, not 32."""
    p = Program()
    for i in range(8):
        for t in range(4):
            p.event(f"replica/{t}", "train", i * 10, 8, step_num=i, _r=1)
        p.truth.append(Step(i, None, i * 10, 8, None, 8))
    return p


@row
def threads_that_lag() -> Program:
    """Each of four threads is a step and a half behind the one before: a lower number on a lagging
    thread is no epoch.
    """
    p = Program()
    for i in range(8):
        for t in range(4):
            p.event(f"replica/{t}", "train", i * 10 + t * 15, 8, step_num=i, _r=1)
        p.truth.append(Step(i, None, i * 10, ANY, None, ANY))
    return p


@row
def a_pool_that_shares_the_steps() -> Program:
    """Each step runs on whichever thread is free: one mark a number."""
    p = Program()
    for i in range(9):
        p.event(f"pool/{(i * 5) % 3}", "train", i * 10, 9, step_num=i, _r=1)
        p.truth.append(Step(i, None, i * 10, 9, None, 9))
    return p


@row
def a_pool_that_finishes_out_of_order() -> Program:
    """Two threads take turns and overlap: step 1 begins before step 0 ends, and a thread's next
    mark is two numbers on.
    """
    p = Program()
    for i in range(10):
        p.event(f"pool/{i % 2}", "train", i * 10, 18, step_num=i, _r=1)
        p.truth.append(Step(i, None, i * 10, 18, None, 18))
    return p


@row
def a_countdown() -> Program:
    """The program counts the steps that are left."""
    p = Program()
    for i in range(10):
        p.step(9 - i, i * 10, 9)
    p.epochs = 0
    return p


@row
def a_countdown_that_starts_again() -> Program:
    """Five steps left, four, … none; then five again: two epochs."""
    p = Program()
    for i in range(10):
        p.step(4 - i % 5, i * 10, 9, epoch=i // 5)
    return p


@row
def a_countdown_on_lagging_threads() -> Program:
    """Two replicas count down, one behind the other."""
    p = Program()
    for i in range(8):
        for t in range(2):
            p.event(f"replica/{t}", "train", i * 10 + t * 15, 8, step_num=7 - i, _r=1)
        p.truth.append(Step(7 - i, None, i * 10, ANY, None, ANY))
    p.epochs = 0
    return p


@row
def numbers_in_no_order() -> Program:
    """Steps are numbered by what they drew from a shuffled list: every number once, no epoch."""
    p = Program()
    for i, number in enumerate((3, 0, 7, 1, 5, 2, 6, 4)):
        p.step(number, i * 10, 9)
    p.epochs = 0
    return p


@row
def numbers_that_start_again() -> Program:
    """Three epochs of four steps."""
    p = Program()
    for i in range(12):
        p.step(i % 4, i * 10, 9, epoch=i // 4)
    p.holes = set()
    return p


@row
def epochs_that_begin_at_one() -> Program:
    """Numbers from 1 to 4, three times."""
    p = Program()
    for i in range(12):
        p.step(1 + i % 4, i * 10, 9, epoch=i // 4)
    return p


@row
def an_epoch_that_the_profile_entered_late() -> Program:
    """The profile began at step 6 of 10: numbers start again later, at 0."""
    p = Program()
    for i, number in enumerate([*range(6, 10), *range(10), *range(10)]):
        p.step(number, i * 10, 9, epoch=0 if i < 4 else 1 if i < 14 else 2)
    return p


@row
def restored_from_a_checkpoint() -> Program:
    """After step 105 the program went back to 103: steps ran twice, but no epoch began."""
    p = Program()
    for i, number in enumerate((100, 101, 102, 103, 104, 105, 103, 104, 105, 106)):
        p.step(number, i * 10, 9)
    p.epochs = 0
    return p


@row
def missing_numbers() -> Program:
    """The buffer lost steps 3 and 4: step 2 did not last until step 5 began."""
    p = Program()
    for i in (0, 1, 2, 5, 6, 7):
        p.step(i, i * 10, 9)
    p.holes = {2}
    return p


@row
def numbers_that_start_again_with_holes() -> Program:
    """Two epochs of five, of which each lost a step of its own."""
    p = Program()
    for i in range(10):
        if i not in (2, 8):
            p.step(i % 5, i * 10, 9, epoch=i // 5)
    p.holes = {1, 6}
    return p


@row
def every_tenth_step() -> Program:
    """The program marks only every tenth step."""
    p = Program()
    for i in range(9):
        p.step(i * 10, i * 100, 9)
    return p


@row
def large_numbers() -> Program:
    """A training that has run for months."""
    p = Program()
    for i in range(6):
        p.step(5_000_000_000 + i, i * 10, 9)
    return p


@row
def epoch_numbers_beside_step_numbers() -> Program:
    """The marks say their epoch; the step number goes on."""
    p = Program()
    for i in range(12):
        p.step(
            40 + i,
            i * 10,
            9,
            epoch=7 + i // 4,
            shows={"step_num": 40 + i, "epoch_num": 7 + i // 4, "_r": 1},
        )
    return p


@row
def epoch_numbers_on_lagging_threads() -> Program:
    """Two replicas, one behind the other, both say their epoch."""
    p = Program()
    for i in range(12):
        for t in range(2):
            p.event(
                f"replica/{t}", "train", i * 10 + t * 15, 8, step_num=i % 4, epoch_num=i // 4, _r=1
            )
        p.truth.append(Step(i % 4, i // 4, i * 10, ANY, None, ANY))
    return p


@row
def numbers_that_start_again_on_lagging_threads() -> Program:
    """Two replicas of three epochs of four steps, the second a step and a half behind: three
    epochs, not six.
    """
    p = Program()
    for i in range(12):
        for t in range(2):
            p.event(f"replica/{t}", "train", i * 10 + t * 15, 8, step_num=i % 4, _r=1)
        p.truth.append(Step(i % 4, i // 4, i * 10, ANY, None, ANY))
    return p


# ── accumulation, and epochs of one batch ────────────────────────────────────────────────────────


@row
def accumulated_with_one_number() -> Program:
    """Four micro-batches a step carry the step's number: four steps, not 16."""
    p = Program()
    for i in range(16):
        p.step(i // 4, i * 10, 10, told=False)
    for i in range(4):
        p.tell(i, None, i * 40, 40, {})
    return p


@row
def accumulated_with_holes() -> Program:
    """As above, and steps 2 and 3 of six are lost."""
    p = Program()
    for step in (0, 1, 4, 5):
        for k in range(3):
            p.step(step, step * 30 + k * 10, 10, told=False)
        p.tell(step, None, step * 30, 30, {})
    p.holes = {1}
    return p


@row
def accumulated_in_two_epochs() -> Program:
    """Three steps of two micro-batches, twice over."""
    p = Program()
    for i in range(12):
        p.step(i // 2 % 3, i * 10, 10, told=False)
    for i in range(6):
        p.tell(i % 3, i // 3, i * 20, 20, {})
    return p


@row
def accumulated_in_a_countdown() -> Program:
    """Micro-batches of steps that are counted down."""
    p = Program()
    for i in range(12):
        p.step(3 - i // 3, i * 10, 10, told=False)
    for i in range(4):
        p.tell(3 - i, None, i * 30, 30, {})
    p.epochs = 0
    return p


@row
def accumulated_with_a_step_cut_at_the_start() -> Program:
    """The profile began after the first micro-batch of step 7."""
    p = Program()
    for i in range(1, 16):
        p.step(7 + i // 4, i * 10, 10, told=False)
    for i in range(4):
        p.tell(7 + i, None, 40 * i if i else 10, 40 if i else 30, {})
    return p


@row
def one_batch_an_epoch_with_validation() -> Program:
    """Each epoch is one batch, numbered 0, and a validation of two."""
    p = Program()
    for i in range(5):
        p.step(0, i * 50, 20, epoch=i)
        for k in range(2):
            p.event("python", "test", i * 50 + 21 + k * 10, 9, step_num=k, _r=1)
        p.phase("validation", i * 50 + 21, i * 50 + 40)
    return p


@row
def one_batch_an_epoch_that_says_its_epoch() -> Program:
    """Each epoch is one batch, numbered 0, and says its epoch."""
    p = Program()
    for i in range(5):
        p.step(0, i * 50, 20, epoch=i, shows={"step_num": 0, "epoch_num": i, "_r": 1})
    return p


@cannot_tell(
    "every mark carries the number 0: one step of five micro-batches and five epochs of one "
    "batch look the same"
)
def one_number_over_and_over() -> Program:
    """Five marks, all of step 0."""
    p = Program()
    for i in range(5):
        p.event("python", "train", i * 50, 20, step_num=0, _r=1)
    p.truth = [Step(0, ANY, i * 50, ANY, ANY, ANY) for i in range(5)]
    return p
