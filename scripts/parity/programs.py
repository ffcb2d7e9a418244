"""Small programs whose profiles are recorded for the comparison: one for each way to mark steps.

python -m scripts.parity.programs NAME LOGDIR
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.parity.profiles import SUFFIX, Profile

_STEPS = 12


def record(logdir: Path) -> Iterator[Profile]:
    """Run each program in a process of its own and give the profile that it wrote."""
    for name in PROGRAMS:
        folder = logdir / name
        command = [sys.executable, "-m", "scripts.parity.programs", name, str(folder)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        paths = sorted(folder.rglob(f"*{SUFFIX}"))
        if ended.returncode or not paths:
            lines = ended.stderr.strip().splitlines() or ["it wrote no profile"]
            print(f"recorded/{name}: {lines[-1]}", file=sys.stderr, flush=True)
            continue
        yield Profile(f"recorded/{name}", paths[-1])


# ── TensorFlow ───────────────────────────────────────────────────────────────────────────────────


def _tensorflow() -> Any:
    os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    import tensorflow

    return tensorflow


def _loop(logdir: str, marks: Callable[[Any, int], list[Any]]) -> None:
    """A training loop over a tf.data pipeline; each mark is around one call."""
    tf = _tensorflow()
    weights = tf.Variable(tf.random.normal((64, 64)))

    @tf.function
    def train(batch: Any) -> None:
        weights.assign(weights - 0.01 * tf.linalg.matmul(batch, batch, transpose_a=True))

    data = tf.data.Dataset.range(1000).map(lambda _: tf.random.normal((32, 64))).prefetch(2)
    batches = iter(data)
    train(next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(_STEPS):
        for mark in marks(tf, number):
            with mark:
                train(next(batches))
    tf.profiler.experimental.stop()


def _mark(tf: Any, name: str, number: int, **stats: int) -> Any:
    return tf.profiler.experimental.Trace(name, step_num=number, **stats)


def tf_train(logdir: str) -> None:
    """The usual mark."""
    _loop(logdir, lambda tf, number: [_mark(tf, "train", number, _r=1)])


def tf_own_names(logdir: str) -> None:
    """Two counters with names of the program's own, as of a GAN."""
    _loop(
        logdir,
        lambda tf, number: [
            _mark(tf, "discriminator", number, _r=1),
            _mark(tf, "generator", number, _r=1),
        ],
    )


def tf_without_root(logdir: str) -> None:
    """Marks that carry a number and are no root."""
    _loop(logdir, lambda tf, number: [_mark(tf, "batch", number)])


def tf_keras(logdir: str) -> None:
    """`fit` with the callback of TensorBoard."""
    tf = _tensorflow()
    model = tf.keras.Sequential([tf.keras.layers.Dense(32, "relu"), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    features, targets = tf.random.normal((320, 16)), tf.random.normal((320, 1))
    callback = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(2, _STEPS))
    model.fit(features, targets, batch_size=16, epochs=1, verbose=0, callbacks=[callback])


# ── JAX ──────────────────────────────────────────────────────────────────────────────────────────


def _jax(logdir: str, mark: str) -> None:
    import jax
    import jax.numpy as jnp

    step = jax.jit(lambda matrix: jnp.tanh(matrix @ matrix) / 200)
    matrix = step(jnp.ones((200, 200))).block_until_ready()
    with jax.profiler.trace(logdir):
        for number in range(_STEPS):
            if not mark:
                matrix = step(matrix).block_until_ready()
                continue
            with jax.profiler.StepTraceAnnotation(mark, step_num=number):
                matrix = step(matrix).block_until_ready()


def jax_train(logdir: str) -> None:
    """The usual mark."""
    _jax(logdir, "train")


def jax_own_name(logdir: str) -> None:
    """A mark with a name of the program's own."""
    _jax(logdir, "update")


def jax_unmarked(logdir: str) -> None:
    """No mark."""
    _jax(logdir, "")


PROGRAMS: dict[str, Callable[[str], None]] = {
    program.__name__: program
    for program in (
        tf_train,
        tf_own_names,
        tf_without_root,
        tf_keras,
        jax_train,
        jax_own_name,
        jax_unmarked,
    )
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](sys.argv[2])
