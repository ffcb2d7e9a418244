"""Three short trainings, each with one op that can be made slower.

python -m scripts.repeats.programs NAME FOLDER SLOWER

SLOWER is 0, 1 (by about a tenth of a step) or 2 (by about a step).
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path
from typing import Any

STEPS = 100
_WARM_STEPS = 8
_BATCH = 32
_SUMS = (0, 1, 3)
_SORTED = (0, 48, 640)  # columns
_PRODUCTS = (0, 3, 15)
# The op that is slower, as each framework's trace calls it.
SLOWER_OPS = {"keras": "Cumsum", "jax": "sort.0", "torch": "aten::mm"}


def keras(folder: Path, *, slower: int) -> None:
    """A small convolutional network; slower: a sum along the images, forward and backward."""
    os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    import keras
    import tensorflow as tf

    layers = [keras.layers.Conv2D(24, 3, activation="relu"), keras.layers.Conv2D(24, 3)]
    sums = []
    for _ in range(_SUMS[slower]):
        sums.append(keras.layers.Lambda(lambda images: tf.math.cumsum(images / 32, axis=1)))
    # Before the pooling there are four times as many values.
    pooling = [keras.layers.MaxPooling2D()]
    layers += sums + pooling if slower == 2 else pooling + sums
    layers += [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="sgd", loss=loss, jit_compile=False)
    images = tf.random.normal((_BATCH * STEPS, 32, 32, 3))
    labels = tf.zeros((_BATCH * STEPS,), tf.int32)
    data = tf.data.Dataset.from_tensor_slices((images, labels)).batch(_BATCH)
    model.fit(data.take(_WARM_STEPS), verbose=0)
    tf.profiler.experimental.start(str(folder))
    model.fit(data, verbose=0)
    tf.profiler.experimental.stop()


def jax(folder: Path, *, slower: int) -> None:
    """A network of two layers; slower: some of its values are sorted."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    def loss(weights: Any, batch: Any) -> Any:
        hidden = jnp.tanh(batch @ weights)
        if slower:
            ordered = jnp.sort(hidden[:, : _SORTED[slower]], axis=1)
            hidden = jnp.concatenate([ordered, hidden[:, _SORTED[slower] :]], axis=1)
        return jnp.mean((hidden @ weights) ** 2)

    train = jax.jit(lambda weights, batch: weights - 0.01 * jax.grad(loss)(weights, batch))
    key = jax.random.PRNGKey(1)
    weights = 0.05 * jax.random.normal(key, (640, 640))
    batch = jax.random.normal(key, (384, 640))
    for _ in range(_WARM_STEPS):
        weights = jax.block_until_ready(train(weights, batch))
    jax.profiler.start_trace(str(folder))
    for number in range(STEPS):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            weights = jax.block_until_ready(train(weights, batch))
    jax.profiler.stop_trace()


def torch(folder: Path, *, slower: int) -> None:
    """A network of three layers; slower: more products of matrices."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.manual_seed(1)
    sizes = (512, 768, 768, 512)
    layers: list[Any] = []
    for before, after in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(before, after), torch.nn.GELU()]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch, mixing = torch.randn(128, 512), torch.randn(512, 512) / 512**0.5

    def step() -> None:
        values = batch
        for _ in range(_PRODUCTS[slower]):
            values = values @ mixing
        optimizer.zero_grad()
        model(values).square().mean().backward()
        optimizer.step()

    for _ in range(_WARM_STEPS):
        step()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(STEPS):
            step()
            profiler.step()
    profiler.export_chrome_trace(str(folder / "host_1.1700000000000.pt.trace.json"))


PROGRAMS = {"keras": keras, "jax": jax, "torch": torch}


def main() -> None:
    """Write one profile into the folder."""
    name, folder, slower = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    PROGRAMS[name](folder, slower=slower)


if __name__ == "__main__":
    main()
