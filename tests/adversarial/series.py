"""Loops whose marks count otherwise: two networks in turns, requests, several batches a mark, a
counter that stands still, evaluations between, a device that is behind.
"""

from __future__ import annotations

import random

from tests.adversarial.program import ANY, Program
from tests.adversarial.rows import cannot_tell, row


@row
def two_networks_in_turns() -> Program:
    """A GAN: three critics for each generator, each kind with a counter of its own."""
    p = Program()
    for turn in range(8):
        for k in range(3):
            p.step(turn * 3 + k, turn * 40 + k * 10, 9, name="train_critic")
        p.step(turn, turn * 40 + 30, 9, name="train_generator")
    p.epochs = 0
    p.holes = set()
    return p


@row
def two_networks_in_turns_on_a_device() -> Program:
    """The same with one device, which runs one batch behind the host."""
    p = Program()
    for turn in range(8):
        for k in range(2):
            at = turn * 30 + k * 10
            p.step(turn * 2 + k, at, 1, {0: [(at + 2, 7)]}, name="train_critic")
        at = turn * 30 + 20
        p.step(turn, at, 1, {0: [(at + 2, 7)]}, name="train_generator", kernels="conv")
    p.epochs = 0
    p.holes = set()
    return p


@row
def eight_batches_a_mark() -> Program:
    """steps_per_execution: the numbers go up by eight, and nothing is missing between them."""
    p = Program()
    for i in range(7):
        at = i * 100.0
        spans = [(at + 3 + k * 11, 9.0) for k in range(8)]
        p.step(i * 8, at, 95, {0: spans}, name="Profiled batch")
    p.holes = set()
    p.epochs = 0
    return p


@row
def a_counter_that_stands_still() -> Program:
    """Forty marks, all with step_num=0, as the program never counts it up."""
    p = Program()
    for i in range(40):
        at = i * 20.0
        p.step(0, at, 18, {0: [(at + 2, 14)]})
        p.truth[-1].number = ANY
        p.truth[-1].epoch = ANY
    return p


@row
def requests_that_three_threads_answer() -> Program:
    """A server: an annotation without a number around each request, which comes when it comes and
    goes to the thread that has been free for longest.
    """
    p = Program()
    rng, at = random.Random(3), 0.0
    free = [0.0, 0.0, 0.0]
    for _ in range(30):
        at += rng.expovariate(1 / 12)
        thread = free.index(min(free))
        length = rng.uniform(15, 30)
        at = max(at, free[thread])
        free[thread] = at + length
        p.event(f"python/{thread}", "handle_request", at, length)
        p.tell(None, None, at, length, {})
        p.truth[-1].number = ANY
    p.epochs = 0
    p.holes = set()
    return p


@row
def numbered_requests_that_two_threads_answer() -> Program:
    """The same with numbers, which the threads share, and pauses that differ."""
    p = Program()
    at = 0.0
    for request in range(24):
        p.step(request, at, 30, name="serve", thread=f"pool-{request % 2}")
        at += 18 + 25 * (request % 3)
    p.epochs = 0
    p.holes = set()
    return p


@cannot_tell("forty short annotations in a program that nothing else marks: what is a step of it?")
def a_name_that_comes_forty_times() -> Program:
    """`log` comes forty times and takes a fiftieth of the time; the work is of all kinds."""
    p = Program()
    for i in range(40):
        p.event("python", "log", i * 50, 1)
        p.event("python", f"work_{i * 7 % 40}", i * 50 + 2, 20 + i * 3 % 25)
    return p


@row
def a_mark_on_every_fourth_step() -> Program:
    """The program marks one step in four; the device's line has them all."""
    p = Program()
    for i in range(20):
        at = i * 12.0
        spans = {0: [(at + 3, 8.0)]}
        p.step(i, at, 1, spans, name="train" if i % 4 == 0 else "", drawn=str(i))
    p.holes = set()
    p.epochs = 0
    return p


def evaluated(evaluation_ms: float) -> Program:
    """No marks: thirty calls of a function, and one of another that blocks after every fifth."""
    p = Program()
    at = 0.0
    for i in range(30):
        p.event("python", "PjitFunction(update)", at, 0.1)
        p.launch("python", at + 0.05, 0, "gemm", (at + 0.2, 9))
        p.tell(None, None, at, 0.1, {0: [(at + 0.2, 9)]})
        p.truth[-1].number = ANY
        at += 10
        if i % 5 == 4:
            p.event("python", "PjitFunction(score)", at, evaluation_ms)
            p.launch("python", at + 0.05, 0, "reduce", (at + 0.2, evaluation_ms - 1))
            at += evaluation_ms + 1
    p.marker = "PjitFunction(update)"
    p.epochs = 0
    return p


@row
def an_evaluation_after_every_fifth_call() -> Program:
    """It takes three times as long as a step."""
    return evaluated(30)


@cannot_tell("the devices work longer for one function, the host calls the other more often")
def an_evaluation_that_takes_most_of_the_time() -> Program:
    """It takes eight times as long as a step, and no program of XLA says which one trains."""
    return evaluated(80)


@row
def requests_beside_a_health_check() -> Program:
    """A server whose health check, with the same mark of its own name, comes five times as often
    and takes next to nothing.
    """
    p = Program()
    for request in range(12):
        at = request * 50.0
        p.step(request, at, 40, name="answer")
        for check in range(5):
            p.event("health", "check", at + check * 10, 0.05)
    p.marker = "answer"
    p.epochs = 0
    return p
