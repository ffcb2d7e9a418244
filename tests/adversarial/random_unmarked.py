"""Programs without a mark, drawn by lot: what runs once a step has to be told from helpers that run
as often or more often.
"""

from __future__ import annotations

import random

from tests.adversarial.makers import function_called
from tests.adversarial.program import ANY, Program
from tests.adversarial.random_programs import listed

_FUNCTIONS = (
    "train_step",
    "update",
    "step_fn",
    "forward",
    "loss_and_grad",
    "matmul",
    "run",
    "_train",
)
_SMALL = (
    "convert_element_type",
    "broadcast_in_dim",
    "_threefry_split",
    "add",
    "_mean",
    "multiply",
    "true_divide",
    "accuracy",
    "argmax",
)


def unmarked(seed: int) -> Program:
    """JAX's functions with their kernels, a device's modules, or TensorFlow's functions."""
    rng = random.Random(seed)
    p = rng.choice((_functions, _functions, _modules, _tensorflow))(rng)
    p.epochs = 0
    for step in p.truth:
        step.number = ANY
    return p


def _functions(rng: random.Random) -> Program:
    """One function does most of the devices' work; helpers around it are dispatched as often or
    more often, and compile first.
    """
    p, unit, name = Program(), 10 ** rng.uniform(-0.5, 1.5), rng.choice(_FUNCTIONS)
    small = rng.sample(_SMALL, rng.randint(0, 3))
    often = {one: rng.randint(1, 3) for one in small}
    now, queue = rng.uniform(0, 10), 0.0
    for i in range(rng.randint(6, 20)):
        for one in small:
            for k in range(often[one]):
                host = unit * (rng.uniform(2, 30) if i == k == 0 else rng.uniform(0.02, 0.08))
                p.event("python", f"PjitFunction({one})", now, host)
                queue = max(queue, now + host) + unit * 0.01
                p.launch("python", now + host * 0.9, 0, f"{one}_kernel", (queue, unit * 0.01))
                queue += unit * 0.01
                now += host * 1.1
        host = unit * (rng.uniform(5, 60) if i == 0 else rng.uniform(0.03, 0.1))
        p.event("python", f"PjitFunction({name})", now, host)
        queue = max(queue, now + host * 1.1) + unit * 0.01
        work = [(queue, unit * rng.uniform(0.6, 0.9))]
        p.launch("python", now + host * 0.95, 0, "fusion", work[0])
        p.tell(None, None, now, host, {0: work})
        queue = sum(work[0])
        now += host * 1.1
    p.marker = f"PjitFunction({name})"
    return p


def _modules(rng: random.Random) -> Program:
    """A device's line of modules: a long one once a step, short ones as often or more often."""
    p, unit, name = Program(), 10 ** rng.uniform(-0.5, 1.5), rng.choice(_FUNCTIONS)
    small = rng.sample(_SMALL, rng.randint(0, 3))
    now = rng.uniform(0, 10)
    for _ in range(rng.randint(6, 20)):
        for one in small:
            p.kernel(0, one, now, unit * 0.03)
            p.module(0, f"jit_{one}(7)", now, unit * 0.03)
            now += unit * 0.05
        length = unit * rng.uniform(0.7, 0.9)
        p.kernel(0, "fusion", now, length)
        p.module(0, f"jit_{name}(3)", now, length)
        p.tell(None, None, now, None, {0: [(now, length)]})
        now += length + unit * 0.02
    p.marker = f"jit_{name}"
    return p


def _tensorflow(rng: random.Random) -> Program:
    """A function that the program calls, now and then a validation's graph under the same name."""
    p, unit, now = Program(), 10 ** rng.uniform(0, 2), rng.uniform(0, 10)
    graph = f"__inference_multi_step_on_iterator_{rng.randint(100, 9999)}"
    other = f"__inference_multi_step_on_iterator_{rng.randint(10_000, 99_999)}"
    validates = rng.random() < 0.5
    for i in range(rng.randint(6, 20)):
        length = unit * rng.uniform(0.8, 0.95)
        function_called(p, now, length, graph, ahead=rng.random() < 0.3)
        start, host = (now + length * 0.04, length * 0.92) if validates else (now, length)
        p.tell(None, None, start, host, {})
        now += length * 1.1
        if validates and i % 5 == 4:
            for _ in range(2):
                function_called(p, now, length * 0.4, other, ahead=False)
                now += length * 0.5
    p.marker = graph if validates and len(p.truth) > 4 else "multi_step_on_iterator"
    return p


for _seed in range(40):
    listed(unmarked, _seed)
