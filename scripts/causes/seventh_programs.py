"""Keras and TensorFlow as their users write them, by an author who knew nothing of the rules."""

from __future__ import annotations

import gc
import math
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from scripts.causes import tensorflow_programs as tf_base
from scripts.causes.keras_programs import load_framework as load_keras
from scripts.causes.truth import CauseClock


def keras_sixteen_at_once(clock: CauseClock, folder: Path) -> None:
    """steps_per_execution, over a pipeline whose py_function finds the peaks of each signal."""
    tf, keras = load_keras()
    size, batches = 32, 320

    def find_peaks(signals: Any) -> Any:
        """The highest and the number of peaks in each window."""
        with clock.cause():
            found = np.zeros((len(signals), 40), np.float32)
            for row, signal in enumerate(signals.numpy().tolist()):
                for at in range(1, len(signal) - 1):
                    if signal[at - 1] < signal[at] > signal[at + 1]:
                        window = at * 20 // len(signal)
                        found[row, window] += 1
                        found[row, 20 + window] = max(found[row, 20 + window], signal[at])
            return found

    def features(signals: Any, label: Any) -> Any:
        found = tf.py_function(find_peaks, [signals], tf.float32)
        return tf.ensure_shape(found, (size, 40)), label

    signals = np.random.default_rng(7).normal(size=(size * 8, 800)).astype(np.float32)
    labels = (np.arange(len(signals)) % 2).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((signals, labels)).repeat()
    data = data.batch(size, drop_remainder=True).map(features)
    model = keras.Sequential(
        [keras.layers.Dense(512, activation="relu") for _ in range(4)]
        + [keras.layers.Dense(1, activation="sigmoid")]
    )
    model.compile("adam", "binary_crossentropy", steps_per_execution=16)
    model.fit(data, steps_per_epoch=16, verbose=0)
    clock.reset()
    with tf.profiler.experimental.Profile(str(folder)), clock.wall():
        model.fit(data, steps_per_epoch=batches, verbose=0)
    clock.cause_s = min(clock.cause_s, clock.wall_s)


def keras_played_games(clock: CauseClock, folder: Path) -> None:
    """train_on_batch learns from poles that Python balances meanwhile; no marks, no frames."""
    tf, keras = load_keras()
    dice = random.Random(7)

    def play_turns(poles: int, turns: int) -> Any:
        """Cart, speed, angle and turn of each pole, and how long it stood."""
        states, returns = [], []
        for _ in range(poles):
            cart, speed, angle, turn = (dice.uniform(-0.05, 0.05) for _ in range(4))
            for _ in range(turns):
                force = 10.0 if angle + 0.2 * turn > dice.gauss(0.0, 0.02) else -10.0
                sine, cosine = math.sin(angle), math.cos(angle)
                pushed = (force + 0.05 * turn * turn * sine) / 1.1
                fall = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
                cart, speed = cart + 0.02 * speed, speed + 0.02 * (pushed - 0.05 * fall * cosine)
                angle, turn = angle + 0.02 * turn, turn + 0.02 * fall
                angle = max(-0.5, min(0.5, angle))
            states.append((cart, speed, angle, turn))
            returns.append(1.0 - abs(angle))
        return np.array(states, np.float32), np.array(returns, np.float32)

    model = keras.Sequential(
        [keras.layers.Dense(384, activation="tanh") for _ in range(3)] + [keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    model.train_on_batch(*play_turns(256, 2))
    with tf.profiler.experimental.Profile(str(folder)), clock.wall():
        for _ in range(30):
            with clock.cause():
                states, returns = play_turns(256, 300)
            for _ in range(4):
                model.train_on_batch(states, returns)


def keras_two_optimizers(clock: CauseClock, folder: Path) -> None:
    """fit() of a model with a train_step and two optimizers of its own, for pictures."""
    tf, keras = load_keras()
    layers = keras.layers
    drawer = keras.Sequential(
        [
            keras.Input((64,)),
            layers.Dense(8 * 8 * 64, activation="relu"),
            layers.Reshape((8, 8, 64)),
            layers.Conv2DTranspose(64, 5, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(48, 5, strides=2, padding="same", activation="relu"),
            layers.Conv2D(3, 5, padding="same", activation="tanh"),
        ]
    )
    critic = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(64, 5, padding="same", activation="relu"),
            layers.Conv2D(96, 5, strides=2, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )

    class Painter(keras.Model):  # type: ignore[misc]
        """Draws, and judges what it drew."""

        def __init__(self) -> None:
            super().__init__()
            self.drawer, self.critic = drawer, critic
            self.draw_optimizer = keras.optimizers.Adam(1e-4)
            self.judge_optimizer = keras.optimizers.RMSprop(5e-5)
            self.built = True

        def train_step(self, pictures: Any) -> Any:
            """Each of the two once."""
            noise = tf.random.normal((32, 64))
            with tf.GradientTape() as tape:
                drawn = self.critic(self.drawer(noise))
                loss = tf.reduce_mean(
                    tf.nn.softplus(drawn) + tf.nn.softplus(-self.critic(pictures))
                )
            weights = self.critic.trainable_weights
            self.judge_optimizer.apply(tape.gradient(loss, weights), weights)
            with tf.GradientTape() as tape:
                missed = tf.reduce_mean(tf.nn.softplus(-self.critic(self.drawer(noise))))
            weights = self.drawer.trainable_weights
            self.draw_optimizer.apply(tape.gradient(missed, weights), weights)
            return {"judge": loss, "draw": missed}

    model, steps = Painter(), 14
    model.compile()
    pictures = tf.random.uniform((32 * steps, 32, 32, 3), -1, 1)
    model.fit(pictures[:64], batch_size=32, verbose=0)
    step = tf.function(model.train_step)
    step(pictures[:32])
    before = time.perf_counter()
    for _ in range(4):
        step(pictures[:32])["draw"].numpy()
    alone_s = (time.perf_counter() - before) / 4
    with tf.profiler.experimental.Profile(str(folder)), clock.wall():
        model.fit(pictures, batch_size=32, verbose=0)
    clock.cause_s = min(clock.wall_s, alone_s * steps)


def keras_predict_rows(clock: CauseClock, folder: Path) -> None:
    """predict() is called for each row; the truth is what its batch takes less."""
    tf, keras = load_keras()
    model = keras.Sequential(
        [keras.Input((256,))]
        + [keras.layers.Dense(2048, activation="relu") for _ in range(4)]
        + [keras.layers.Dense(5, activation="softmax")]
    )
    rows = np.random.default_rng(7).normal(size=(70, 256)).astype(np.float32)
    model.predict(rows[:1], verbose=0)
    model.predict_on_batch(rows[:1])
    before = time.perf_counter()
    for _ in range(20):
        model.predict_on_batch(rows[:1])
    alone_s = (time.perf_counter() - before) / 20
    answers = []
    with tf.profiler.experimental.Profile(str(folder)), clock.wall():
        for row in rows:
            answers.append(int(model.predict(row[None], verbose=0).argmax()))
    clock.cause_s = clock.wall_s - alone_s * len(rows)


# A server of pictures that is far away.
_PICTURES = """
import http.server, os, time
class Far(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.13)
        body = os.urandom(16 * 48 * 48 * 3)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *parts):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Far)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


def keras_remote_pictures(clock: CauseClock, folder: Path) -> None:
    """A PyDataset asks a server that is far away for the pictures of each batch."""
    tf, keras = load_keras()
    batches = 30

    class Remote(keras.utils.PyDataset):  # type: ignore[misc]
        """Sixteen pictures an answer."""

        def __init__(self, port: int, count: int) -> None:
            super().__init__(workers=1)
            self.url, self.count = f"http://127.0.0.1:{port}/pictures", count

        def __len__(self) -> int:
            return self.count

        def __getitem__(self, at: int) -> Any:
            with (
                clock.cause(),
                urllib.request.urlopen(f"{self.url}/{at}", timeout=30) as answer,
            ):
                body = answer.read()
            pictures = np.frombuffer(body, np.uint8).reshape(16, 48, 48, 3)
            return pictures.astype(np.float32) / 255, np.arange(16) % 4

    model = keras.Sequential(
        [
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    command = [sys.executable, "-c", _PICTURES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        model.fit(Remote(port, 3), verbose=0)
        clock.reset()
        with tf.profiler.experimental.Profile(str(folder)), clock.wall():
            model.fit(Remote(port, batches), verbose=0)
        server.terminate()
    clock.cause_s = min(clock.cause_s, clock.wall_s)


def keras_backup_batches(clock: CauseClock, folder: Path) -> None:
    """BackupAndRestore writes a model with large tables after every fourth batch."""
    tf, keras = load_keras()

    class Backup(keras.callbacks.BackupAndRestore):  # type: ignore[misc]
        """The clock around the saving."""

        def _save_model(self, *parts: Any, **names: Any) -> None:
            with clock.cause():
                super()._save_model(*parts, **names)

    model = keras.Sequential(
        [
            keras.layers.Embedding(60_000, 256, trainable=False),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1024, activation="relu"),
            keras.layers.Dense(1024, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    reviews = np.random.default_rng(7).integers(0, 60_000, (80 * 16, 60))
    labels = np.arange(80 * 16) % 2
    model.fit(reviews[:64], labels[:64], batch_size=16, verbose=0)
    with (
        tempfile.TemporaryDirectory() as saved,
        tf.profiler.experimental.Profile(str(folder)),
        clock.wall(),
    ):
        callbacks = [Backup(saved, save_freq=4)]
        model.fit(reviews, labels, batch_size=16, verbose=0, callbacks=callbacks)


def keras_collecting_garbage(clock: CauseClock, folder: Path) -> None:
    """A callback collects garbage after each batch, while a large vocabulary is in memory."""
    tf, keras = load_keras()
    vocabulary = {f"word{at}": [at, (at, str(at)), {"seen": at}] for at in range(60_000)}

    class FreeMemory(keras.callbacks.Callback):  # type: ignore[misc]
        """As answers on the net advise against memory that grows."""

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            """Collect all."""
            with clock.cause():
                gc.collect()

    model = keras.Sequential(
        [
            keras.layers.Conv1D(48, 5, activation="relu"),
            keras.layers.Conv1D(48, 5, activation="relu"),
            keras.layers.GlobalMaxPooling1D(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    series = np.random.default_rng(7).normal(size=(30 * 32, 300, 8)).astype(np.float32)
    wanted = np.zeros(len(series), np.float32)
    model.fit(series[:64], wanted[:64], verbose=0)
    with tf.profiler.experimental.Profile(str(folder)), clock.wall():
        model.fit(series, wanted, batch_size=32, verbose=0, callbacks=[FreeMemory()])
    del vocabulary


def tf_cache_filling(clock: CauseClock, folder: Path) -> None:
    """The first of five epochs makes spectra and caches them; next() is within the marks."""
    tf = tf_base.load_framework()
    size, batches = 32, 30

    def spectrum(sound: Any) -> Any:
        bins = tf.abs(tf.signal.stft(sound, 1024, 128, fft_length=1024))
        mel = tf.signal.linear_to_mel_weight_matrix(40, 513, 16_000)
        return tf.math.log(tf.matmul(bins, mel) + 1e-6)[:480:4]

    sounds = np.random.default_rng(7).normal(size=(size * batches, 64_000)).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices(sounds).map(spectrum).batch(size).cache()
    kernel = tf.Variable(tf.random.normal((9, 40, 32)) * 0.05)

    @tf.function
    def train_step(spectra: Any) -> Any:
        with tf.GradientTape() as tape:
            out = tf.nn.relu(tf.nn.conv1d(spectra, kernel, 1, "SAME"))
            loss = tf.reduce_mean(out**2)
        kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
        return loss

    train_step(next(iter(tf.data.Dataset.from_tensor_slices(sounds).map(spectrum).batch(size))))
    tf.profiler.experimental.start(str(folder))
    number = 0
    with clock.wall():
        for _ in range(5):
            spectra = iter(data)
            for _ in range(batches):
                with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                    with clock.cause():
                        batch = next(spectra)
                    train_step(batch).numpy()
                number += 1
            next(spectra, None)
    tf.profiler.experimental.stop()


def tf_shuffle_filling(clock: CauseClock, folder: Path) -> None:
    """Before the first of the marked steps a shuffle buffer fills with parsed lines."""
    tf = tf_base.load_framework()
    lines = [",".join(f"{(row * at) % 97 / 97:.4f}" for at in range(64)) for row in range(2_000)]

    def parse(line: Any) -> Any:
        return tf.stack(tf.io.decode_csv(line, [0.0] * 64))

    data = tf.data.Dataset.from_tensor_slices(lines).repeat()
    data = data.map(parse).shuffle(40_000).batch(64)
    weights = [tf.Variable(tf.random.normal((width, 512)) * 0.04) for width in (64, 512, 512, 512)]

    @tf.function
    def train_step(values: Any) -> Any:
        with tf.GradientTape() as tape:
            for weight in weights:
                values = tf.nn.relu(values @ weight)
            loss = tf.reduce_mean(values**2)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.01 * gradient)
        return loss

    train_step(tf.zeros((64, 64)))
    tf.profiler.experimental.start(str(folder))
    with clock.wall():
        rows = iter(data)
        for number in range(120):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                with clock.cause():
                    values = next(rows)
                train_step(values).numpy()
    tf.profiler.experimental.stop()


def tf_graph_loop(clock: CauseClock, folder: Path) -> None:
    """All steps of a network of convolutions are one call of a graph with a loop; no marks."""
    tf = tf_base.load_framework()
    shapes = ((5, 5, 3, 48), (5, 5, 48, 64), (3, 3, 64, 64))
    kernels = [tf.Variable(tf.random.normal(shape) * 0.03) for shape in shapes]
    photos = tf.random.normal((96, 40, 40, 3))

    @tf.function
    def train(steps: Any) -> Any:
        loss = 0.0
        for number in tf.range(steps):
            values = tf.gather(photos, tf.range(16) + 16 * (number % 6))
            with tf.GradientTape() as tape:
                for kernel in kernels:
                    values = tf.nn.relu(tf.nn.conv2d(values, kernel, 1, "SAME"))
                loss = tf.reduce_mean(values**2)
            for kernel, gradient in zip(kernels, tape.gradient(loss, kernels), strict=True):
                kernel.assign_sub(0.01 * gradient)
        return loss

    train(tf.constant(1)).numpy()
    with tf.profiler.experimental.Profile(str(folder)), clock.wall(), clock.cause():
        train(tf.constant(24)).numpy()


def tf_eager_tape(clock: CauseClock, folder: Path) -> None:
    """A GradientTape without tf.function over many narrow layers; no marks."""
    tf, keras = load_keras()
    values = keras.Input((24,))
    out = values
    for _ in range(30):
        wide = keras.layers.Dense(24, activation="swish")(keras.layers.LayerNormalization()(out))
        out = keras.layers.Add()([out, wide])
    model = keras.Model(values, keras.layers.Dense(1)(out))
    optimizer = keras.optimizers.AdamW(1e-3)
    batch, steps = tf.random.normal((32, 24)), 10

    def train_step(batch: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(batch, training=True) ** 2)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    train_step(batch)
    compiled = tf.function(train_step)
    compiled(batch)
    before = time.perf_counter()
    for _ in range(5):
        compiled(batch).numpy()
    alone_s = (time.perf_counter() - before) / 5
    with tf.profiler.experimental.Profile(str(folder)), clock.wall():
        for _ in range(steps):
            train_step(batch).numpy()
    clock.cause_s = clock.wall_s - alone_s * steps


def tf_summary_images(clock: CauseClock, folder: Path) -> None:
    """Each marked step writes its pictures and all weights for TensorBoard, and flushes."""
    tf = tf_base.load_framework()
    kernels = [tf.Variable(tf.random.normal((3, 3, 3, 16)) * 0.1)]
    kernels += [tf.Variable(tf.random.normal((3, 3, 16, 16)) * 0.1) for _ in range(3)]
    photos = tf.random.uniform((24, 128, 128, 3))

    @tf.function
    def train_step(photos: Any) -> Any:
        with tf.GradientTape() as tape:
            values = photos
            for kernel in kernels:
                values = tf.nn.relu(tf.nn.conv2d(values, kernel, 2, "SAME"))
            loss = tf.reduce_mean(values**2)
        for kernel, gradient in zip(kernels, tape.gradient(loss, kernels), strict=True):
            kernel.assign_sub(0.01 * gradient)
        return loss

    train_step(photos)
    with tempfile.TemporaryDirectory() as logs:
        writer = tf.summary.create_file_writer(logs)
        tf.profiler.experimental.start(str(folder))
        with clock.wall():
            for number in range(80):
                with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                    loss = train_step(photos).numpy()
                    with clock.cause(), writer.as_default(step=number):
                        tf.summary.scalar("loss", loss)
                        tf.summary.image("photos", photos, max_outputs=8)
                        for at, kernel in enumerate(kernels):
                            tf.summary.histogram(f"kernel_{at}", kernel)
                        writer.flush()
        tf.profiler.experimental.stop()
        writer.close()


PROGRAMS = {
    keras_sixteen_at_once: "input",
    keras_played_games: "simulation",
    keras_two_optimizers: "compute",
    keras_predict_rows: "predict_calls",
    keras_remote_pictures: "input or network",
    keras_backup_batches: "checkpoint",
    keras_collecting_garbage: "gc or callbacks",
    tf_cache_filling: "input",
    tf_shuffle_filling: "reshuffle or input",
    tf_graph_loop: "compute",
    tf_eager_tape: "eager",
    tf_summary_images: "summaries",
}
