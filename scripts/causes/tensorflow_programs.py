"""TensorFlow: training loops of one's own, marked with tf.profiler.experimental.Trace."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.causes import work
from scripts.causes.truth import CauseClock

STEPS = 24


def load_framework() -> Any:
    os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    import tensorflow

    return tensorflow


def train_function(tf: Any, width: int = 256) -> Any:
    weights = tf.Variable(tf.random.normal((width, width)))

    @tf.function(reduce_retracing=True)
    def train(batch: Any) -> Any:
        for _ in range(4):
            batch = tf.nn.relu(tf.linalg.matmul(batch, weights))
        gradient = tf.linalg.matmul(batch, batch, transpose_a=True)
        weights.assign(weights - 1e-9 * gradient)
        return tf.reduce_sum(weights)

    return train


def profiled(
    clock: CauseClock,
    folder: Path,
    step: Callable[[int], None],
    *,
    between: Callable[[int], None] | None = None,
    steps: int = STEPS,
    python: int = 0,
) -> None:
    tf = load_framework()
    options = tf.profiler.experimental.ProfilerOptions(python_tracer_level=python)
    step(0)
    clock.cause_s = 0.0
    tf.profiler.experimental.start(str(folder), options)
    with clock.wall():
        for number in range(steps):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                step(number)
            if between is not None:
                between(number)
    tf.profiler.experimental.stop()


def tf_compute(clock: CauseClock, folder: Path) -> None:
    """One function that multiplies large matrices."""
    tf = load_framework()
    train = train_function(tf, 1024)
    batch = tf.random.normal((512, 1024))
    profiled(clock, folder, lambda _: float(train(batch)) and None)
    clock.cause_s = clock.wall_s


def tf_retracing(clock: CauseClock, folder: Path) -> None:
    """A Python number as argument: each step is traced anew."""
    tf = load_framework()
    weights = tf.Variable(tf.random.normal((64, 64)))

    @tf.function
    def train(rate: float, batch: Any) -> Any:
        for _ in range(60):
            batch = tf.nn.relu(tf.linalg.matmul(batch, weights)) * rate
        return tf.reduce_sum(batch)

    batch = tf.random.normal((32, 64))

    def step(number: int) -> None:
        before = time.perf_counter()
        train(0.01 / (number + 1 + 100 * bool(clock.wall_s)), batch)
        clock.cause_s += time.perf_counter() - before

    profiled(clock, folder, step)


def tf_tiny_ops(clock: CauseClock, folder: Path) -> None:
    """Thousands of tiny ops, eagerly."""
    tf = load_framework()
    value = tf.ones((4, 4))

    def step(_: int) -> None:
        with clock.cause():
            total = value
            for _ in range(1500):
                total = total * 0.5 + value

    profiled(clock, folder, step)


def tf_slow_step(clock: CauseClock, folder: Path) -> None:
    """One of the steps waits for two seconds."""
    tf = load_framework()
    train = train_function(tf)
    batch = tf.random.normal((256, 256))

    def step(number: int) -> None:
        if number == 14:
            with clock.cause():
                time.sleep(2)
        float(train(batch))

    profiled(clock, folder, step)


def tf_gc_pause(clock: CauseClock, folder: Path) -> None:
    """Garbage is collected in one step."""
    tf = load_framework()
    train = train_function(tf)
    batch = tf.random.normal((256, 256))
    garbage = work.make_garbage(4_000_000)

    def step(number: int) -> None:
        if number == 9:
            with clock.cause():
                work.collect_garbage()
        float(train(batch))

    profiled(clock, folder, step)
    del garbage


def tf_requests(clock: CauseClock, folder: Path) -> None:
    """A server that waits for its requests."""
    tf = load_framework()
    train = train_function(tf)
    batch = tf.random.normal((128, 256))

    def wait(_: int) -> None:
        with clock.cause():
            time.sleep(0.08)

    profiled(clock, folder, lambda _: float(train(batch)) and None, between=wait)


def tf_evaluation(clock: CauseClock, folder: Path) -> None:
    """An evaluation after every eighth step, outside the marks."""
    tf = load_framework()
    train = train_function(tf)
    weights = tf.random.normal((768, 768))

    @tf.function
    def evaluate(values: Any) -> Any:
        return tf.reduce_mean(tf.linalg.matmul(values, weights))

    held_out = tf.random.normal((768, 768))
    batch = tf.random.normal((128, 256))
    evaluate(held_out)

    def between(number: int) -> None:
        if number % 8 == 7:
            with clock.cause():
                for _ in range(60):
                    float(evaluate(held_out))

    profiled(clock, folder, lambda _: float(train(batch)) and None, between=between)


def _preprocessing(clock: CauseClock, folder: Path, python: int) -> None:
    tf = load_framework()
    train = train_function(tf)
    batch = tf.random.normal((128, 256))

    def step(_: int) -> None:
        with clock.cause():
            work.augment_images(80)
        float(train(batch))

    profiled(clock, folder, step, python=python, steps=14)


def tf_python_frames(clock: CauseClock, folder: Path) -> None:
    """Python prepares the batch in the step; its frames are recorded."""
    _preprocessing(clock, folder, 1)


def tf_python_unseen(clock: CauseClock, folder: Path) -> None:
    """Python prepares the batch in the step; nothing of it is recorded."""
    _preprocessing(clock, folder, 0)


def tf_gan(clock: CauseClock, folder: Path) -> None:
    """Two marks with counters of their own; both compute."""
    tf = load_framework()
    discriminator, generator = train_function(tf, 512), train_function(tf, 640)
    images, noise = tf.random.normal((256, 512)), tf.random.normal((256, 640))
    for warm, batch in ((discriminator, images), (generator, noise)):
        warm(batch)
    tf.profiler.experimental.start(str(folder))
    with clock.wall():
        for number in range(24):
            with tf.profiler.experimental.Trace("discriminator", step_num=number, _r=1):
                float(discriminator(images))
            if number % 2:
                with tf.profiler.experimental.Trace("generator", step_num=number // 2, _r=1):
                    float(generator(noise))
    tf.profiler.experimental.stop()
    clock.cause_s = clock.wall_s


def tf_straggler(clock: CauseClock, folder: Path) -> None:
    """Two replicas, one of which does eight times the work."""
    tf = load_framework()
    cpus = tf.config.list_physical_devices("CPU")
    halves = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpus[0], halves)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    weights = tf.random.normal((256, 256))

    @tf.function
    def train(batch: Any) -> Any:
        def replica() -> Any:
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            turns = tf.where(tf.equal(number, 1), 80, 10)
            value = batch
            for _ in tf.range(turns):
                value = tf.tanh(tf.linalg.matmul(value, weights))
            context = tf.distribute.get_replica_context()
            return context.all_reduce("sum", tf.reduce_sum(value))

        return strategy.run(replica)

    batch = tf.random.normal((256, 256))
    profiled(clock, folder, lambda _: train(batch) and None)
    clock.cause_s = clock.wall_s * 7 / 8


def tf_lock(clock: CauseClock, folder: Path) -> None:
    """The step needs a lock that another thread holds."""
    tf = load_framework()
    train = train_function(tf)
    batch = tf.random.normal((128, 256))
    lock = threading.Lock()

    def step(_: int) -> None:
        before = time.perf_counter()
        with lock:
            clock.cause_s += time.perf_counter() - before
        float(train(batch))

    with work.lock_hog(lock, 0.08, 0.002):
        profiled(clock, folder, step)


def tf_copies(clock: CauseClock, folder: Path) -> None:
    """Large tensors are joined, and made of arrays."""
    tf = load_framework()
    train = train_function(tf)
    batch = tf.random.normal((128, 256))
    table = tf.random.normal((2500, 2500))
    numbers = table.numpy()

    def step(_: int) -> None:
        float(train(batch))
        with clock.cause():
            for _ in range(3):
                tf.identity(tf.concat([table, table], 0))
                tf.constant(numbers)

    profiled(clock, folder, step)


def tf_accumulation(clock: CauseClock, folder: Path) -> None:
    """Four micro-batches a step, in one mark."""
    tf = load_framework()
    train = train_function(tf, 512)
    batch = tf.random.normal((256, 512))

    def step(_: int) -> None:
        for _ in range(4):
            float(train(batch))

    profiled(clock, folder, step)
    clock.cause_s = clock.wall_s


PROGRAMS = {
    tf_compute: "compute",
    tf_retracing: "compile",
    tf_tiny_ops: "launch",
    tf_slow_step: "pause",
    tf_gc_pause: "pause",
    tf_requests: "idle",
    tf_evaluation: "validation",
    tf_python_frames: "python_frames",
    tf_python_unseen: "python_unseen",
    tf_gan: "compute",
    tf_straggler: "straggler",
    tf_lock: "host_wait",
    tf_copies: "copies",
    tf_accumulation: "compute",
}
