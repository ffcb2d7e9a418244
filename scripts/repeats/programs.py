"""Three short trainings, each with one op that can be made slower.

python -m scripts.repeats.programs NAME FOLDER [slower]
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
_SORTED = 48  # of 640 columns
# The op that is slower, as each framework's trace calls it.
SLOWER_OPS = {"keras": "Cumsum", "jax": "sort.0", "torch": "aten::mm"}


def keras(folder: Path, *, slower: bool) -> None:
    """A small convolutional network; slower: a sum along the images, forward and backward."""
    os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    import keras
    import tensorflow as tf

    layers = [keras.layers.Conv2D(24, 3, activation="relu"), keras.layers.Conv2D(24, 3)]
    layers.append(keras.layers.MaxPooling2D())
    if slower:
        layers.append(keras.layers.Lambda(lambda images: tf.math.cumsum(images, axis=1)))
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


def jax(folder: Path, *, slower: bool) -> None:
    """A network of two layers; slower: some of its values are sorted."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    def loss(weights: Any, batch: Any) -> Any:
        hidden = jnp.tanh(batch @ weights)
        if slower:
            ordered = jnp.sort(hidden[:, :_SORTED], axis=1)
            hidden = jnp.concatenate([ordered, hidden[:, _SORTED:]], axis=1)
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


def torch(folder: Path, *, slower: bool) -> None:
    """A network of three layers; slower: three more products of matrices."""
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
        if slower:
            for _ in range(3):
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
    name, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    PROGRAMS[name](folder, slower="slower" in sys.argv[3:])


if __name__ == "__main__":
    main()
