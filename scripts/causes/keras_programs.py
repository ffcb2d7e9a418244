"""Keras: model.fit, with the profiler around it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from scripts.causes.truth import CauseClock

BATCH = 32


def load_framework() -> tuple[Any, Any]:
    os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    import keras
    import tensorflow

    return tensorflow, keras


def make_model(keras: Any, width: int = 64, **compiled: Any) -> Any:
    layers = [
        keras.layers.Dense(width, activation="relu"),
        keras.layers.Dense(width, activation="relu"),
        keras.layers.Dense(10),
    ]
    model = keras.Sequential(layers)
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        **compiled,
    )
    return model


def make_data(tf: Any, batches: int, features: int = 32) -> Any:
    values = tf.random.normal((BATCH * batches, features))
    labels = tf.zeros((BATCH * batches,), tf.int32)
    return tf.data.Dataset.from_tensor_slices((values, labels)).batch(BATCH)


def fit_model(clock: CauseClock, folder: Path, model: Any, data: Any, **options: Any) -> None:
    """Fit once unseen, then once with the profiler."""
    tf, _ = load_framework()
    warm = {name: value for name, value in options.items() if name == "validation_data"}
    model.fit(data.take(8), verbose=0, epochs=1, **warm)
    clock.cause_s = 0.0
    tf.profiler.experimental.start(str(folder))
    with clock.wall():
        model.fit(data, verbose=0, **options)
    tf.profiler.experimental.stop()


def keras_input(clock: CauseClock, folder: Path) -> None:
    """A map of the pipeline that sleeps."""
    tf, keras = load_framework()

    def load_values(value: Any) -> Any:
        with clock.cause():
            time.sleep(0.05)
        return value

    def slow(values: Any, labels: Any) -> Any:
        loaded = tf.py_function(load_values, [values], tf.float32)
        loaded.set_shape(values.shape)
        return loaded, labels

    data = make_data(tf, 30)
    model = make_model(keras)
    model.fit(data, verbose=0)
    fit_model(clock, folder, model, data.map(slow))


def keras_callbacks(clock: CauseClock, folder: Path) -> None:
    """A callback that works after each batch."""
    tf, keras = load_framework()

    class ReportToServer(keras.callbacks.Callback):  # type: ignore[misc]
        """Sends what it saw."""

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            """After each batch."""
            with clock.cause():
                time.sleep(0.03)

    fit_model(clock, folder, make_model(keras), make_data(tf, 40), callbacks=[ReportToServer()])


def keras_checkpoint(clock: CauseClock, folder: Path) -> None:
    """A checkpoint after every fifth batch."""
    tf, keras = load_framework()

    class TimedCheckpoint(keras.callbacks.ModelCheckpoint):  # type: ignore[misc]
        """Measures itself."""

        def _save_model(self, *arguments: Any, **options: Any) -> None:
            with clock.cause():
                super()._save_model(*arguments, **options)

    path = str(folder / "model-{epoch}.keras")
    saver = TimedCheckpoint(path, save_freq=5)
    fit_model(clock, folder, make_model(keras, 1200), make_data(tf, 25), callbacks=[saver])


def keras_validation(clock: CauseClock, folder: Path) -> None:
    """Validation that takes longer than training."""
    tf, keras = load_framework()

    class Timed(keras.callbacks.Callback):  # type: ignore[misc]
        """Measures the validation."""

        def on_test_begin(self, logs: Any = None) -> None:
            """Start the clock."""
            self.begin = time.perf_counter()

        def on_test_end(self, logs: Any = None) -> None:
            """Stop it."""
            clock.cause_s += time.perf_counter() - self.begin

    held_out = make_data(tf, 500, 512)
    fit_model(
        clock,
        folder,
        make_model(keras, 512),
        make_data(tf, 20, 512),
        validation_data=held_out,
        epochs=2,
        callbacks=[Timed()],
    )


def keras_compute(clock: CauseClock, folder: Path) -> None:
    """Large layers."""
    tf, keras = load_framework()
    fit_model(clock, folder, make_model(keras, 2048), make_data(tf, 20, 1024))
    clock.cause_s = clock.wall_s


def keras_eager(clock: CauseClock, folder: Path) -> None:
    """Every op by itself."""
    tf, keras = load_framework()
    fit_model(clock, folder, make_model(keras, run_eagerly=True), make_data(tf, 25))
    clock.cause_s = clock.wall_s


def keras_steps_per_execution(clock: CauseClock, folder: Path) -> None:
    """Eight batches in one call, computing."""
    tf, keras = load_framework()
    fit_model(
        clock, folder, make_model(keras, 1024, steps_per_execution=8), make_data(tf, 64, 1024)
    )
    clock.cause_s = clock.wall_s


def keras_logging(clock: CauseClock, folder: Path) -> None:
    """A callback that writes histograms of the weights after each batch."""
    tf, keras = load_framework()
    writer = tf.summary.create_file_writer(str(folder / "summaries"))

    class HistogramLogger(keras.callbacks.Callback):  # type: ignore[misc]
        """Writes summaries."""

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            """After each batch."""
            with clock.cause(), writer.as_default(step=batch):
                for weight in self.model.weights:
                    tf.summary.histogram(weight.path, weight)
                writer.flush()

    fit_model(
        clock, folder, make_model(keras, 512), make_data(tf, 25), callbacks=[HistogramLogger()]
    )


PROGRAMS = {
    keras_input: "input",
    keras_callbacks: "callbacks",
    keras_checkpoint: "checkpoint",
    keras_validation: "validation",
    keras_compute: "compute",
    keras_eager: "launch",
    keras_steps_per_execution: "compute",
    keras_logging: "logging",
}
