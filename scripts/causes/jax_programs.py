"""JAX on the host's processors, marked with StepTraceAnnotation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.causes import work
from scripts.causes.truth import CauseClock

STEPS = 24


def load_framework(devices: int = 1) -> tuple[Any, Any]:
    os.environ["JAX_PLATFORMS"] = "cpu"
    if devices > 1:
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    import jax
    import jax.numpy

    return jax, jax.numpy


def train_function(jax: Any, jnp: Any) -> Any:
    @jax.jit
    def train(weights: Any, batch: Any) -> Any:
        def loss(parameters: Any) -> Any:
            return jnp.mean(jnp.tanh(batch @ parameters) @ parameters)

        return weights - 0.01 * jax.grad(loss)(weights)

    return train


def profiled(
    clock: CauseClock,
    folder: Path,
    step: Callable[[int], Any],
    *,
    between: Callable[[int], None] | None = None,
    steps: int = STEPS,
    python: int = 0,
    wait: Any = None,
) -> None:
    """Unless `wait` is false each step waits for its result."""
    jax, _ = load_framework()
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = python
    jax.block_until_ready(step(0))
    clock.cause_s = 0.0
    jax.profiler.start_trace(str(folder), profiler_options=options)
    result = None
    with clock.wall():
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                result = step(number)
                if wait is not False:
                    jax.block_until_ready(result)
            if between is not None:
                between(number)
        jax.block_until_ready(result)
    jax.profiler.stop_trace()


def _computing(clock: CauseClock, folder: Path, *, wait: bool, python: int) -> None:
    jax, jnp = load_framework()
    train = train_function(jax, jnp)
    state = [jnp.ones((1024, 1024)) * 1e-3]
    batch = jnp.ones((512, 1024))

    def step(_: int) -> Any:
        state[0] = train(state[0], batch)
        return state[0]

    profiled(clock, folder, step, wait=wait, python=python)
    clock.cause_s = clock.wall_s


def jax_sync(clock: CauseClock, folder: Path) -> None:
    """Each step waits for its result; Python's frames are recorded, as by default."""
    _computing(clock, folder, wait=True, python=1)


def jax_async(clock: CauseClock, folder: Path) -> None:
    """Steps are dispatched ahead."""
    _computing(clock, folder, wait=False, python=0)


def jax_scan(clock: CauseClock, folder: Path) -> None:
    """A hundred turns inside the program."""
    jax, jnp = load_framework()
    weights = jnp.ones((384, 384)) * 1e-3

    @jax.jit
    def run(value: Any) -> Any:
        def turn(carry: Any, _: Any) -> Any:
            return jnp.tanh(carry @ weights), None

        return jax.lax.scan(turn, value, None, length=100)[0]

    start = jnp.ones((384, 384))
    profiled(clock, folder, lambda _: run(start), steps=6)
    clock.cause_s = clock.wall_s


def jax_straggler(clock: CauseClock, folder: Path) -> None:
    """pmap over two devices, one of which does eight times the work."""
    jax, jnp = load_framework(2)
    weights = jnp.ones((256, 256)) * 1e-3

    def replica(value: Any) -> Any:
        turns = jnp.where(jax.lax.axis_index("i") == 1, 160, 20)
        value = jax.lax.fori_loop(0, turns, lambda _, x: jnp.tanh(x @ weights), value)
        return jax.lax.psum(jnp.sum(value), "i")

    run = jax.pmap(replica, axis_name="i")
    start = jnp.ones((2, 256, 256))
    profiled(clock, folder, lambda _: run(start))
    clock.cause_s = clock.wall_s * 7 / 8


def jax_recompiling(clock: CauseClock, folder: Path) -> None:
    """Every batch has a new length."""
    jax, jnp = load_framework()
    train = train_function(jax, jnp)
    weights = jnp.ones((128, 128)) * 1e-3
    seen = [0]

    def step(_: int) -> Any:
        seen[0] += 1
        with clock.cause():
            return jax.block_until_ready(train(weights, jnp.ones((16 + seen[0], 128))))

    profiled(clock, folder, step)


def _preprocessing(clock: CauseClock, folder: Path, python: int) -> None:
    jax, jnp = load_framework()
    train = train_function(jax, jnp)
    weights = jnp.ones((128, 128)) * 1e-3
    batch = jnp.ones((64, 128))

    def step(_: int) -> Any:
        with clock.cause():
            work.augment_images(80)
        return train(weights, batch)

    profiled(clock, folder, step, python=python, steps=14)


def jax_python_frames(clock: CauseClock, folder: Path) -> None:
    """Python prepares the batch in the step; its frames are recorded."""
    _preprocessing(clock, folder, 1)


def jax_python_unseen(clock: CauseClock, folder: Path) -> None:
    """Python prepares the batch in the step; nothing of it is recorded."""
    _preprocessing(clock, folder, 0)


def jax_tiny_ops(clock: CauseClock, folder: Path) -> None:
    """Thousands of tiny programs."""
    _, jnp = load_framework()
    value = jnp.ones((4, 4))

    def step(_: int) -> Any:
        with clock.cause():
            total = value
            for _ in range(1000):
                total = total + value
            return total.block_until_ready()

    profiled(clock, folder, step)


def jax_sleep(clock: CauseClock, folder: Path) -> None:
    """The host sleeps in each step; frames are recorded."""
    jax, jnp = load_framework()
    train = train_function(jax, jnp)
    weights = jnp.ones((128, 128)) * 1e-3
    batch = jnp.ones((64, 128))

    def step(_: int) -> Any:
        with clock.cause():
            time.sleep(0.06)
        return train(weights, batch)

    profiled(clock, folder, step, python=1)


def jax_checkpoint(clock: CauseClock, folder: Path) -> None:
    """Weights are saved after every eighth step; frames are recorded."""
    import numpy

    jax, jnp = load_framework()
    train = train_function(jax, jnp)
    state = [jnp.ones((2048, 2048)) * 1e-3]
    batch = jnp.ones((16, 2048))

    def step(_: int) -> Any:
        state[0] = train(state[0], batch)
        return state[0]

    def save_checkpoint(number: int) -> None:
        if number % 8 == 7:
            with clock.cause():
                for part in range(12):
                    with (folder / f"checkpoint-{part}.npz").open("wb") as file:
                        numpy.savez_compressed(file, numpy.asarray(state[0])[:512])
                        file.flush()
                        os.fsync(file.fileno())

    profiled(clock, folder, step, between=save_checkpoint, python=1)


def jax_slow_step(clock: CauseClock, folder: Path) -> None:
    """One of the steps is delayed; no frames."""
    jax, jnp = load_framework()
    train = train_function(jax, jnp)
    weights = jnp.ones((256, 256)) * 1e-3
    batch = jnp.ones((256, 256))

    def step(number: int) -> Any:
        if number == 17:
            with clock.cause():
                time.sleep(1.5)
        return train(weights, batch)

    profiled(clock, folder, step)


PROGRAMS = {
    jax_sync: "compute",
    jax_async: "compute",
    jax_scan: "compute",
    jax_straggler: "straggler",
    jax_recompiling: "compile",
    jax_python_frames: "python_frames",
    jax_python_unseen: "python_unseen",
    jax_tiny_ops: "launch",
    jax_sleep: "host_wait",
    jax_checkpoint: "checkpoint",
    jax_slow_step: "pause",
}
