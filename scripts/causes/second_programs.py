"""Programs that were written when the rules stood: none of them was tuned on."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from scripts.causes import jax_programs as jax_base
from scripts.causes import keras_programs as keras_base
from scripts.causes import tensorflow_programs as tf_base
from scripts.causes import torch_programs as torch_base
from scripts.causes import work
from scripts.causes.truth import CauseClock


def keras_slow_callback(clock: CauseClock, folder: Path) -> None:
    """A callback that works after every tenth batch."""
    tf, keras = keras_base.load_framework()

    class SyncToStorage(keras.callbacks.Callback):  # type: ignore[misc]
        """Copies something away."""

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            """After each batch."""
            if batch % 10 == 9:
                with clock.cause():
                    time.sleep(0.4)

    model, data = keras_base.make_model(keras, 256), keras_base.make_data(tf, 40, 128)
    keras_base.fit_model(clock, folder, model, data, callbacks=[SyncToStorage()])


def keras_generator(clock: CauseClock, folder: Path) -> None:
    """Batches from a Python generator."""
    tf, keras = keras_base.load_framework()

    def batches() -> Any:
        for _ in range(30):
            with clock.cause():
                values = work.augment_images(32, 32)
            yield tf.constant(values), tf.zeros((32,), tf.int32)

    spec = (tf.TensorSpec((32, 1024)), tf.TensorSpec((32,), tf.int32))
    data = tf.data.Dataset.from_generator(batches, output_signature=spec)
    keras_base.fit_model(clock, folder, keras_base.make_model(keras), data)


def tf_checkpoint(clock: CauseClock, folder: Path) -> None:
    """tf.train.Checkpoint saves after every sixth step."""
    tf = tf_base.load_framework()
    train = tf_base.train_function(tf)
    state = [tf.Variable(tf.random.normal((1500, 1500))) for _ in range(4)]
    checkpoint = tf.train.Checkpoint(state=state)
    batch = tf.random.normal((128, 256))

    def between(number: int) -> None:
        if number % 6 == 5:
            with clock.cause():
                checkpoint.save(str(folder / "saved" / "state"))

    tf_base.profiled(
        clock, folder, lambda _: float(train(batch)) and None, between=between, steps=30
    )


def tf_generator(clock: CauseClock, folder: Path) -> None:
    """A loop of one's own that waits for a slow pipeline inside the step."""
    tf = tf_base.load_framework()
    train = tf_base.train_function(tf)

    def load(_: Any) -> Any:
        time.sleep(0.04)
        return tf.random.normal((128, 256))

    slow = tf.data.Dataset.range(1000).map(
        lambda number: tf.ensure_shape(tf.py_function(load, [number], tf.float32), (128, 256))
    )
    batches = iter(slow)

    def step(_: int) -> None:
        with clock.cause():
            batch = next(batches)
        float(train(batch))

    tf_base.profiled(clock, folder, step)


def tf_sleep(clock: CauseClock, folder: Path) -> None:
    """The host sleeps in each step."""
    tf = tf_base.load_framework()
    train = tf_base.train_function(tf)
    batch = tf.random.normal((128, 256))

    def step(_: int) -> None:
        with clock.cause():
            time.sleep(0.05)
        float(train(batch))

    tf_base.profiled(clock, folder, step)


def jax_pmap(clock: CauseClock, folder: Path) -> None:
    """pmap over two devices with the same work."""
    jax, jnp = jax_base.load_framework(2)
    weights = jnp.ones((384, 384)) * 1e-3

    def replica(value: Any) -> Any:
        value = jax.lax.fori_loop(0, 60, lambda _, x: jnp.tanh(x @ weights), value)
        return jax.lax.psum(jnp.sum(value), "i")

    run = jax.pmap(replica, axis_name="i")
    start = jnp.ones((2, 384, 384))
    jax_base.profiled(clock, folder, lambda _: run(start), steps=12)
    clock.cause_s = clock.wall_s


def jax_gc(clock: CauseClock, folder: Path) -> None:
    """Garbage is collected in two steps; frames are recorded."""
    jax, jnp = jax_base.load_framework()
    train = jax_base.train_function(jax, jnp)
    weights, batch = jnp.ones((128, 128)) * 1e-3, jnp.ones((64, 128))
    garbage = work.make_garbage(4_000_000)

    def step(number: int) -> Any:
        if number in (5, 16):
            with clock.cause():
                work.collect_garbage()
        return train(weights, batch)

    jax_base.profiled(clock, folder, step, python=1)
    del garbage


def jax_evaluation(clock: CauseClock, folder: Path) -> None:
    """An evaluation after every sixth step, outside the marks."""
    jax, jnp = jax_base.load_framework()
    train = jax_base.train_function(jax, jnp)
    weights, batch = jnp.ones((128, 128)) * 1e-3, jnp.ones((64, 128))
    large, held_out = jnp.ones((768, 768)) * 1e-3, jnp.ones((768, 768))

    @jax.jit
    def evaluate(values: Any) -> Any:
        return jnp.mean(values @ large)

    evaluate(held_out).block_until_ready()

    def between(number: int) -> None:
        if number % 6 == 5:
            with clock.cause():
                for _ in range(12):
                    evaluate(held_out).block_until_ready()

    jax_base.profiled(clock, folder, lambda _: train(weights, batch), between=between)


def jax_loading(clock: CauseClock, folder: Path) -> None:
    """The next batch is read between the marks; frames are recorded."""
    import numpy

    jax, jnp = jax_base.load_framework()
    train = jax_base.train_function(jax, jnp)
    weights, batch = jnp.ones((128, 128)) * 1e-3, jnp.ones((64, 128))
    path = folder / "batch.npz"
    numpy.savez_compressed(path, values=numpy.random.default_rng(1).random((600, 600)))

    def load_batch(_: int) -> None:
        with clock.cause():
            for _ in range(3):
                numpy.load(path)["values"].sum()

    jax_base.profiled(clock, folder, lambda _: train(weights, batch), between=load_batch, python=1)


def jax_requests(clock: CauseClock, folder: Path) -> None:
    """A server: each mark is a request, and there are few."""
    jax, jnp = jax_base.load_framework()
    train = jax_base.train_function(jax, jnp)
    weights, batch = jnp.ones((256, 256)) * 1e-3, jnp.ones((256, 256))

    def wait(number: int) -> None:
        with clock.cause():
            time.sleep(0.03 + 0.05 * (number % 4))

    jax_base.profiled(clock, folder, lambda _: train(weights, batch), between=wait)


def torch_lock(clock: CauseClock, folder: Path) -> None:
    """The step needs a lock that another thread holds; frames are recorded."""
    torch = torch_base.load_framework()
    model, optimizer = torch_base.make_model(torch)
    batch = torch.randn(64, 64)
    lock = threading.Lock()

    def step(_: int) -> None:
        before = time.perf_counter()
        with lock:
            clock.cause_s += time.perf_counter() - before
        torch_base.train(model, optimizer, batch)

    with work.lock_hog(lock, 0.06, 0.002):
        torch_base.profiled(clock, folder, step, with_stack=True)


def torch_requests(clock: CauseClock, folder: Path) -> None:
    """A server without an optimizer: record_function around each request, idle between them."""
    torch = torch_base.load_framework()
    model, _ = torch_base.make_model(torch, 256)
    batch = torch.randn(64, 256)

    def step(_: int) -> None:
        with torch.profiler.record_function("request"), torch.no_grad():
            model(batch).sum().item()
        with clock.cause():
            time.sleep(0.05)

    torch_base.profiled(clock, folder, step)


def torch_logging(clock: CauseClock, folder: Path) -> None:
    """Each step writes its metrics to disk; frames are recorded."""
    import os

    torch = torch_base.load_framework()
    model, optimizer = torch_base.make_model(torch)
    batch = torch.randn(64, 64)
    file = (folder / "metrics.jsonl").open("w", encoding="utf-8")

    def log_metrics(loss: Any) -> None:
        for name, value in model.named_parameters():
            for number in value.flatten()[:400].tolist():
                file.write(f'{{"{name}": {number}, "loss": {float(loss)}}}\n')
            file.flush()
            os.fsync(file.fileno())

    def step(_: int) -> None:
        loss = torch_base.train(model, optimizer, batch)
        with clock.cause():
            log_metrics(loss)

    torch_base.profiled(clock, folder, step, with_stack=True)


PROGRAMS = {
    keras_slow_callback: "callbacks",
    keras_generator: "input",
    tf_checkpoint: "checkpoint",
    tf_generator: "input",
    tf_sleep: "host_wait",
    jax_pmap: "compute",
    jax_gc: "gc",
    jax_evaluation: "validation",
    jax_loading: "input",
    jax_requests: "idle",
    torch_lock: "host_wait",
    torch_requests: "idle",
    torch_logging: "logging",
}
