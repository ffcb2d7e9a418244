"""Programs that were written after the second ones had been looked at: none was tuned on."""

from __future__ import annotations

import os
import queue
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from scripts.causes import jax_programs as jax_base
from scripts.causes import keras_programs as keras_base
from scripts.causes import tensorflow_programs as tf_base
from scripts.causes import torch_programs as torch_base
from scripts.causes import work
from scripts.causes.truth import CauseClock


def torch_compressed_files(clock: CauseClock, folder: Path) -> None:
    """A DataLoader without workers that reads and unpacks a file for each sample."""
    torch = torch_base.load_framework()
    from torch.utils.data import DataLoader, Dataset

    packed = zlib.compress(np.random.default_rng(1).bytes(2_000_000), 1)
    (folder / "sample.z").write_bytes(packed)

    class Files(Dataset):  # type: ignore[misc]
        """The same sample, over and over."""

        def __len__(self) -> int:
            return 400

        def __getitem__(self, row: int) -> Any:
            with clock.cause():
                values = zlib.decompress((folder / "sample.z").read_bytes())
                return torch.frombuffer(bytearray(values[:256]), dtype=torch.uint8).float()

    model, optimizer = torch_base.make_model(torch, 256)
    batches = iter(DataLoader(Files(), batch_size=16))
    torch_base.profiled(
        clock, folder, lambda _: torch_base.train(model, optimizer, next(batches)) and None
    )


def torch_queue(clock: CauseClock, folder: Path) -> None:
    """The step waits for a thread that prepares batches; frames are recorded."""
    torch = torch_base.load_framework()
    model, optimizer = torch_base.make_model(torch, 64)
    ready: queue.Queue[Any] = queue.Queue(2)

    def produce() -> None:
        while True:
            time.sleep(0.05)
            ready.put(torch.randn(32, 64))

    threading.Thread(target=produce, daemon=True).start()

    def next_batch() -> Any:
        with clock.cause():
            return ready.get()

    torch_base.profiled(
        clock,
        folder,
        lambda _: torch_base.train(model, optimizer, next_batch()) and None,
        with_stack=True,
    )


def torch_parameters_one_by_one(clock: CauseClock, folder: Path) -> None:
    """A hand-written optimizer that touches hundreds of small parameters one by one."""
    torch = torch_base.load_framework()
    parameters = [torch.randn(8, 8) for _ in range(400)]

    def step(_: int) -> None:
        with clock.cause():
            for parameter in parameters:
                parameter.mul_(0.999).add_(0.001).clamp_(-3, 3)

    torch_base.profiled(clock, folder, step)


def jax_callback_in_jit(clock: CauseClock, folder: Path) -> None:
    """The jitted step calls back into Python, which prepares values pixel by pixel."""
    jax, jnp = jax_base.load_framework()

    def prepare(values: Any) -> Any:
        with clock.cause():
            work.augment_images(16, 32)
        return np.asarray(values)

    @jax.jit
    def train(batch: Any) -> Any:
        got = jax.pure_callback(prepare, jax.ShapeDtypeStruct(batch.shape, batch.dtype), batch)
        return jnp.tanh(got @ got.T)

    batch = jnp.ones((64, 64))
    jax_base.profiled(clock, folder, lambda _: train(batch), python=1)


def jax_tree_update(clock: CauseClock, folder: Path) -> None:
    """Gradients are jitted, the update of hundreds of parameters is not."""
    _, jnp = jax_base.load_framework()
    parameters = [jnp.ones((8, 8)) for _ in range(300)]

    def step(_: int) -> Any:
        with clock.cause():
            return [parameter * 0.99 - 0.01 for parameter in parameters]

    jax_base.profiled(clock, folder, step)


def jax_metrics_file(clock: CauseClock, folder: Path) -> None:
    """Each step writes its metrics to disk; frames are recorded."""
    jax, jnp = jax_base.load_framework()
    train = jax_base.train_function(jax, jnp)
    weights, batch = jnp.ones((128, 128)), jnp.ones((64, 128))
    file = (folder / "metrics.txt").open("w", encoding="utf-8")

    def write_metrics(number: int) -> None:
        with clock.cause():
            for line in range(60):
                file.write(f"{number} {line}\n")
                file.flush()
                os.fsync(file.fileno())

    jax_base.profiled(
        clock, folder, lambda _: train(weights, batch), between=write_metrics, python=1
    )


def keras_numpy_map(clock: CauseClock, folder: Path) -> None:
    """tf.data maps each batch through a Python function."""
    tf, keras = keras_base.load_framework()

    def prepare(values: Any) -> Any:
        with clock.cause():
            work.augment_images(24, 32)
        return values

    def mapped(values: Any, labels: Any) -> Any:
        out = tf.numpy_function(prepare, [values], tf.float32)
        out.set_shape(values.shape)
        return out, labels

    data = keras_base.make_data(tf, 30, 32).map(mapped)
    keras_base.fit_model(clock, folder, keras_base.make_model(keras), data)


def tf_wide_convolutions(clock: CauseClock, folder: Path) -> None:
    """One graph of large convolutions."""
    tf = tf_base.load_framework()
    kernel = tf.Variable(tf.random.normal((5, 5, 32, 32)))

    @tf.function
    def train(images: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.conv2d(images, kernel, 1, "SAME") ** 2)
        kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
        return loss

    images = tf.random.normal((16, 48, 48, 32))
    tf_base.profiled(clock, folder, lambda _: train(images).numpy())
    clock.cause_s = clock.wall_s


def tf_variables_one_by_one(clock: CauseClock, folder: Path) -> None:
    """Hundreds of small variables are updated eagerly, one by one."""
    tf = tf_base.load_framework()
    variables = [tf.Variable(tf.ones((8, 8))) for _ in range(250)]

    def step(_: int) -> None:
        with clock.cause():
            for variable in variables:
                variable.assign(variable * 0.99 - 0.01)

    tf_base.profiled(clock, folder, step)


def tf_exchange_files(clock: CauseClock, folder: Path) -> None:
    """After every eighth step the program saves its weights with numpy; frames are not recorded."""
    tf = tf_base.load_framework()
    train = tf_base.train_function(tf)
    batch = tf.random.normal((128, 256))
    weights = np.ones((6000, 1000), np.float32)

    def between(number: int) -> None:
        if number % 8 == 7:
            with clock.cause():
                for copy in range(4):
                    np.save(folder / f"weights_{copy}.npy", weights)

    tf_base.profiled(clock, folder, lambda _: train(batch), between=between)


PROGRAMS = {
    torch_compressed_files: "input",
    torch_queue: "input",
    torch_parameters_one_by_one: "launch",
    jax_callback_in_jit: "python_frames",
    jax_tree_update: "launch",
    jax_metrics_file: "logging",
    keras_numpy_map: "input",
    tf_wide_convolutions: "compute",
    tf_variables_one_by_one: "launch",
    tf_exchange_files: "callbacks",
}
