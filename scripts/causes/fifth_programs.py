"""Programs as users write them, by an author who knew nothing of the rules; none was tuned on.

Alike in mixture and difficulty to the fourth ones, so that either half can judge the other.
"""

from __future__ import annotations

import gc
import gzip
import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from scripts.causes import tensorflow_programs as tf_base
from scripts.causes import torch_programs as torch_base
from scripts.causes import work
from scripts.causes.fourth_programs import fit_with_callback
from scripts.causes.jax_programs import load_framework as load_jax
from scripts.causes.keras_programs import load_framework as load_keras
from scripts.causes.truth import CauseClock


def keras_jax_augment(clock: CauseClock, folder: Path) -> None:
    """Keras on JAX: a PyDataset turns and shifts each image with scipy before fit() sees it."""
    os.environ["KERAS_BACKEND"] = "jax"
    jax, _ = load_jax()
    import keras
    from scipy import ndimage

    class Photos(keras.utils.PyDataset):  # type: ignore[misc]
        """Images, each a bit different every time."""

        def __init__(self, batches: int) -> None:
            super().__init__()
            self.batches, self.generator = batches, np.random.default_rng(5)

        def __len__(self) -> int:
            return self.batches

        def __getitem__(self, at: int) -> Any:
            with clock.cause():
                images = self.generator.random((16, 56, 56, 3), np.float32)
                turned = [
                    ndimage.shift(ndimage.rotate(image, angle, reshape=False, order=1), (2, 1, 0))
                    for image, angle in zip(images, range(0, 160, 10), strict=True)
                ]
                return np.stack(turned), np.zeros(16, np.int32)

    model = keras.Sequential(
        [
            keras.layers.Conv2D(32, 3, strides=1, activation="relu"),
            keras.layers.GlobalMaxPooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(Photos(3), verbose=0)
    data = Photos(40)
    clock.cause_s = 0.0
    with jax.profiler.trace(str(folder)), clock.wall():
        model.fit(data, verbose=0, shuffle=False)


def keras_short_epochs(clock: CauseClock, folder: Path) -> None:
    """Four short epochs, each with a long validation; the callback's window spans three."""
    _, keras = load_keras()
    layers = keras.layers
    model = keras.Sequential(
        [layers.LSTM(48, return_sequences=True), layers.LSTM(48), layers.Dense(1)]
    )
    model.compile(optimizer="rmsprop", loss="mae")
    values, targets = np.random.random((8 * 32, 30, 8)), np.zeros((8 * 32, 1))
    held_out = (np.random.random((110 * 32, 30, 8)), np.zeros((110 * 32, 1)))
    begins: list[float] = []
    ends: list[float] = []

    class ValidationClock(keras.callbacks.Callback):  # type: ignore[misc]
        """Measures the validations."""

        def on_test_begin(self, logs: Any = None) -> None:
            """The clock starts."""
            begins.append(time.perf_counter())

        def on_test_end(self, logs: Any = None) -> None:
            """The clock stops."""
            ends.append(time.perf_counter())

    model.fit(values, targets, validation_data=held_out, verbose=0, batch_size=32)
    fit_with_callback(
        clock,
        folder,
        partial(model.fit, values, targets, batch_size=32, validation_data=held_out, epochs=4),
        window=(3, 30),
        timers=(ValidationClock(),),
    )
    # The last of the four comes after the window.
    clock.cause_s = sum(ends[:3]) - sum(begins[:3])


def tf_interleaved_records(clock: CauseClock, folder: Path) -> None:
    """Packed TFRecords are read in turns and parsed; the step begins with the next batch."""
    tf = tf_base.load_framework()
    options = tf.io.TFRecordOptions(compression_type="GZIP")
    generator = np.random.default_rng(5)
    for part in range(4):
        with tf.io.TFRecordWriter(str(folder / f"part-{part}.tfrecord"), options) as writer:
            for _ in range(32):
                values = generator.normal(size=80_000).astype(np.float16).astype(np.float32)
                floats = tf.train.FloatList(value=values)
                feature = {"values": tf.train.Feature(float_list=floats)}
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())

    def parse(record: Any) -> Any:
        spec = {"values": tf.io.FixedLenFeature((80_000,), tf.float32)}
        values = tf.io.parse_single_example(record, spec)["values"]
        return tf.sort(values)[::100]

    def read(path: Any) -> Any:
        return tf.data.TFRecordDataset(path, compression_type="GZIP")

    files = tf.data.Dataset.list_files(str(folder / "part-*.tfrecord"), shuffle=False).repeat()
    batches = iter(files.interleave(read, cycle_length=4).map(parse).batch(16))
    weights = tf.Variable(tf.random.normal((800, 3072)) * 0.01)

    @tf.function
    def train_step(batch: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(tf.linalg.matmul(batch, weights)))
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    train_step(next(batches))
    tf.profiler.experimental.start(str(folder))
    with clock.wall():
        for number in range(40):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                with clock.cause():
                    batch = next(batches)
                loss = train_step(batch)
                if number % 10 == 0:
                    print("loss", float(loss))
    tf.profiler.experimental.stop()


def tf_click_features(clock: CauseClock, folder: Path) -> None:
    """Each step makes the features of its users with pandas; frames are asked for."""
    tf = tf_base.load_framework()
    import pandas

    generator = np.random.default_rng(5)
    clicks = pandas.DataFrame(
        {
            "user": generator.integers(0, 200, 300_000),
            "price": generator.random(300_000),
            "day": generator.integers(0, 30, 300_000),
        }
    )
    weights = tf.Variable(tf.zeros((4, 1)))

    @tf.function
    def train_step(features: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.linalg.matmul(features, weights) - 1) ** 2)
        weights.assign_sub(1e-4 * tape.gradient(loss, weights))
        return loss

    def build_features(users: Any) -> Any:
        rows = []
        for user in users:
            part = clicks[clicks["user"] == user].sort_values("day")
            spent = part.groupby("day")["price"].sum()
            rows.append([len(part), spent.max(), spent.std(), part["price"].median()])
        return np.asarray(rows, np.float32)

    train_step(build_features(range(8)))
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=1)
    tf.profiler.experimental.start(str(folder), options=options)
    with clock.wall():
        for number in range(25):
            with tf.profiler.experimental.Trace("train_step", step_num=number, _r=1):
                with clock.cause():
                    features = build_features(generator.integers(0, 200, 16))
                float(train_step(tf.constant(features)))
    tf.profiler.experimental.stop()


def tf_few_requests(clock: CauseClock, folder: Path) -> None:
    """Three threads answer requests that come rarely; the truth is when none was in work."""
    tf = tf_base.load_framework()
    weights = tf.random.normal((512, 512)) * 0.02
    generator = np.random.default_rng(5)
    spans: list[tuple[float, float]] = []

    @tf.function
    def predict(values: Any) -> Any:
        for _ in range(6):
            values = tf.nn.relu(tf.linalg.matmul(values, weights))
        return tf.reduce_sum(values, 1)

    def handle_request(values: Any) -> Any:
        begin = time.perf_counter()
        with tf.profiler.experimental.Trace("handle_request"):
            answer = predict(tf.constant(values)).numpy()
        spans.append((begin, time.perf_counter()))
        return answer

    values = generator.random((256, 512), np.float32)
    handle_request(values)
    spans.clear()
    tf.profiler.experimental.start(str(folder))
    with clock.wall(), ThreadPoolExecutor(3) as pool:
        for gap_s in generator.exponential(0.09, 40):
            time.sleep(gap_s)
            pool.submit(handle_request, values)
    tf.profiler.experimental.stop()
    busy_s, reached = 0.0, 0.0
    for begin, end in sorted(spans):
        busy_s += max(end - max(begin, reached), 0.0)
        reached = max(reached, end)
    clock.cause_s = clock.wall_s - busy_s


def jax_lstm_scan(clock: CauseClock, folder: Path) -> None:
    """An LSTM as a scan over time, with its gradient; no marks."""
    jax, jnp = load_jax()
    import optax

    def cell(parameters: Any, state: Any, value: Any) -> Any:
        hidden, memory = state
        gates = jnp.concatenate([value, hidden], 1) @ parameters["gates"] + parameters["bias"]
        into, forget, change, out = jnp.split(gates, 4, axis=1)
        memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(into) * jnp.tanh(change)
        hidden = jax.nn.sigmoid(out) * jnp.tanh(memory)
        return (hidden, memory), hidden

    def loss_of(parameters: Any, series: Any) -> Any:
        start = (jnp.zeros((32, 160)), jnp.zeros((32, 160)))
        _, hidden = jax.lax.scan(partial(cell, parameters), start, series)
        return jnp.mean((hidden[:-1, :, :40] - series[1:]) ** 2)

    optimizer = optax.adam(1e-3)

    @jax.jit
    def update(parameters: Any, state: Any, series: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(parameters, series)
        changes, state = optimizer.update(gradients, state)
        return optax.apply_updates(parameters, changes), state, loss

    generator = np.random.default_rng(5)
    series = generator.normal(size=(20, 120, 32, 40)).astype(np.float32)
    parameters = {"gates": jnp.asarray(generator.normal(size=(200, 640)) * 0.05)}
    parameters["bias"] = jnp.zeros(640)
    state = optimizer.init(parameters)
    jax.block_until_ready(update(parameters, state, series[0]))
    jax.profiler.start_trace(str(folder))
    with clock.wall():
        for batch in series:
            with clock.cause():
                parameters, state, loss = update(parameters, state, batch)
                print(f"loss {loss:.4f}")
    jax.profiler.stop_trace()


def jax_files_of_another(clock: CauseClock, folder: Path) -> None:
    """Another process writes the data; the loop polls until the next file is there."""
    jax, jnp = load_jax()
    shards = 14

    @jax.jit
    def train_step(weights: Any, batch: Any) -> Any:
        return weights - 1e-3 * jax.grad(lambda w: jnp.mean(jnp.tanh(batch @ w) ** 2))(weights)

    def wait_for(path: Path) -> Any:
        while not path.exists():
            time.sleep(0.02)
        return np.load(path)

    weights = train_step(jnp.ones((128, 2048)) * 0.01, jnp.ones((256, 128)))
    arguments = (str(folder), shards + 1, 0.25)
    writer = get_context("spawn").Process(target=work.write_shards, args=arguments, daemon=True)
    writer.start()
    wait_for(folder / "shard_0.npy")
    with jax.profiler.trace(str(folder)), clock.wall():
        number = 0
        for shard in range(1, shards + 1):
            with clock.cause():
                rows = wait_for(folder / f"shard_{shard}.npy")
            for _ in range(4):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    weights = jax.block_until_ready(train_step(weights, rows))
                number += 1
    writer.join()


def jax_every_fifth_step(clock: CauseClock, folder: Path) -> None:
    """Every fifth step an evaluation, and a checkpoint as long as it: either is right."""
    jax, jnp = load_jax()
    normal = np.random.default_rng(5).normal
    parameters = {f"layer_{at}": jnp.asarray(normal(size=(512, 512)) * 0.02) for at in range(4)}
    held_out, batch = jnp.ones((9, 1024, 512)), jnp.ones((64, 512))

    def apply(parameters: Any, values: Any) -> Any:
        for weight in parameters.values():
            values = jnp.tanh(values @ weight)
        return values

    @jax.jit
    def train_step(parameters: Any, batch: Any) -> Any:
        gradients = jax.grad(lambda p: jnp.mean(apply(p, batch) ** 2))(parameters)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients)

    evaluate_batch = jax.jit(lambda parameters, values: jnp.mean(apply(parameters, values)))

    def evaluate(parameters: Any) -> float:
        return float(np.mean([evaluate_batch(parameters, values) for values in held_out]))

    def save_checkpoint(parameters: Any, number: int) -> None:
        with gzip.open(folder / f"checkpoint_{number}.pkl.gz", "wb", compresslevel=1) as file:
            pickle.dump(jax.device_get(parameters), file)

    evaluate(parameters)
    parameters = train_step(parameters, batch)
    with jax.profiler.trace(str(folder)), clock.wall():
        for number in range(60):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                parameters = jax.block_until_ready(train_step(parameters, batch))
            if number % 5 == 4:
                with clock.cause("validation"):
                    evaluate(parameters)
                with clock.cause("saving"):
                    save_checkpoint(parameters, number)


def jax_eager_optax(clock: CauseClock, folder: Path) -> None:
    """The gradients are compiled, optax's update of all parameters is not."""
    jax, jnp = load_jax()
    import optax

    parameters = {f"layer_{at}": {"w": jnp.ones((16, 16)), "b": jnp.ones(16)} for at in range(18)}
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    state = optimizer.init(parameters)

    @jax.jit
    def gradients_of(parameters: Any, batch: Any) -> Any:
        def loss_of(parameters: Any) -> Any:
            values = batch
            for layer in parameters.values():
                values = jnp.tanh(values @ layer["w"] + layer["b"])
            return jnp.mean(values)

        return jax.grad(loss_of)(parameters)

    def apply_optimizer(parameters: Any, state: Any, batch: Any) -> Any:
        gradients = jax.block_until_ready(gradients_of(parameters, batch))
        with clock.cause():
            changes, state = optimizer.update(gradients, state, parameters)
            return jax.block_until_ready(optax.apply_updates(parameters, changes)), state

    batch = jnp.ones((4096, 16))
    parameters, state = apply_optimizer(parameters, state, batch)
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    clock.cause_s = 0.0
    with jax.profiler.trace(str(folder), profiler_options=options), clock.wall():
        for number in range(60):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                parameters, state = apply_optimizer(parameters, state, batch)


def jax_static_temperature(clock: CauseClock, folder: Path) -> None:
    """A static argument that a schedule changes from step to step."""
    jax, jnp = load_jax()

    @partial(jax.jit, static_argnames=("temperature",))
    def train_step(layers: Any, batch: Any, temperature: float) -> Any:
        def loss_of(layers: Any) -> Any:
            values = batch
            for weight in layers:
                values = jax.nn.softmax(values @ weight / temperature)
            return jnp.mean(values**2)

        return jax.tree.map(lambda w, g: w - 0.1 * g, layers, jax.grad(loss_of)(layers))

    layers, batch = [jnp.ones((96, 96)) for _ in range(8)], jnp.ones((6000, 96))
    layers = train_step(layers, batch, 2.0)
    with jax.profiler.trace(str(folder)), clock.wall():
        for number in range(16):
            temperature = max(0.5, 2.0 * 0.95 ** (number // 2 + 1))
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                size = train_step._cache_size()
                before = time.perf_counter()
                layers = jax.block_until_ready(train_step(layers, batch, temperature))
                if train_step._cache_size() > size:
                    clock.cause_s += time.perf_counter() - before


def _distributed(rank: int, port: int) -> Any:
    """A model whose gradients two processes share."""
    torch = torch_base.load_framework()
    address = f"tcp://127.0.0.1:{port}"
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    model, optimizer = torch_base.make_model(torch, 640)
    return torch, torch.nn.parallel.DistributedDataParallel(model), optimizer


def slow_rank(port: int, steps: int) -> None:
    """The other process, which reads its batches slowly."""
    torch, model, optimizer = _distributed(1, port)
    for _ in range(steps):
        time.sleep(0.09)
        torch_base.train(model, optimizer, torch.randn(128, 640))


def torch_two_processes(clock: CauseClock, folder: Path) -> None:
    """DistributedDataParallel: this process waits for the gradients of the other one."""
    steps, port = 28, 20_000 + os.getpid() % 20_000
    other = get_context("spawn").Process(target=slow_rank, args=(port, steps + 2), daemon=True)
    other.start()
    torch, model, optimizer = _distributed(0, port)
    batch = torch.randn(128, 640)
    with model.no_sync():
        before = time.perf_counter()
        for _ in range(10):
            model(batch).square().mean().backward()
        alone_s = (time.perf_counter() - before) / 10

    def step(_: int) -> None:
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        with clock.cause():
            loss.backward()
        optimizer.step()

    torch_base.profiled_by_schedule(clock, folder, step, active=steps, record_shapes=True)
    clock.cause_s -= alone_s * steps
    other.join()
    torch.distributed.destroy_process_group()


def torch_watched_weights(clock: CauseClock, folder: Path) -> None:
    """Each step writes histograms of all weights and gradients; frames are recorded."""
    torch = torch_base.load_framework()
    # Without this the writer imports TensorFlow, whose LLVM and torch's own do not go together.
    sys.modules["tensorboard.compat.notf"] = ModuleType("notf")
    from torch.utils.tensorboard import SummaryWriter

    layers = [torch.nn.Linear(384, 384) for _ in range(4)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch, writer = torch.randn(64, 384), SummaryWriter(str(folder / "runs"))

    def step(number: int) -> None:
        loss = torch_base.train(model, optimizer, batch)
        with clock.cause():
            writer.add_scalar("loss", loss.item(), number)
            for name, weight in model.named_parameters():
                writer.add_histogram(name, weight, number)
                writer.add_histogram(f"{name}.grad", weight.grad, number)

    torch_base.profiled_by_schedule(clock, folder, step, active=24, use_gzip=True, with_stack=True)


def torch_detections(clock: CauseClock, folder: Path) -> None:
    """A detector, whose boxes Python sorts out; record_function around the network, no frames."""
    torch = torch_base.load_framework()
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 48, 5, stride=4), torch.nn.ReLU(), torch.nn.Conv2d(48, 5, 5, stride=4)
    )
    image = torch.randn(1, 3, 304, 304)

    def overlap(one: list[float], two: list[float]) -> float:
        width = min(one[0] + one[2], two[0] + two[2]) - max(one[0], two[0])
        height = min(one[1] + one[3], two[1] + two[3]) - max(one[1], two[1])
        shared = max(width, 0.0) * max(height, 0.0)
        return shared / (one[2] * one[3] + two[2] * two[3] - shared)

    def suppress_overlaps(boxes: list[list[float]]) -> list[list[float]]:
        chosen: list[list[float]] = []
        for box in sorted(boxes, key=lambda box: -box[4]):
            if all(overlap(box, other) < 0.4 for other in chosen):
                chosen.append(box)
        return chosen

    def step(_: int) -> None:
        with torch.profiler.record_function("detect"), torch.no_grad():
            scores = network(image)[0, 4]
        with clock.cause():
            rows = enumerate(scores.tolist())
            boxes = [[x, y, 1.5, 1.5, score] for y, row in rows for x, score in enumerate(row)]
            suppress_overlaps(boxes)

    torch_base.profiled_by_schedule(clock, folder, step, active=55)


def torch_manual_gc(clock: CauseClock, folder: Path) -> None:
    """Garbage is collected by hand after every sixth step; frames are recorded."""
    torch = torch_base.load_framework()
    model, optimizer = torch_base.make_model(torch, 512)
    batch = torch.randn(256, 512)
    replay = [{"state": [at], "next": [at + 1]} for at in range(500_000)]
    gc.disable()

    def step(number: int) -> None:
        torch_base.train(model, optimizer, batch)
        if number % 6 == 5:
            with clock.cause():
                gc.collect()

    torch_base.profiled_by_schedule(clock, folder, step, active=42, with_stack=True)
    gc.enable()
    del replay


def torch_gan_convolutions(clock: CauseClock, folder: Path) -> None:
    """Two networks of convolutions train in turns, each with a mark of its own."""
    torch = torch_base.load_framework()
    nn = torch.nn
    generator = nn.Sequential(
        nn.ConvTranspose2d(32, 32, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 3, 4, 2, 1),
        nn.Tanh(),
    )
    judge = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 1, 4, 2, 1))
    optimizers = [
        torch.optim.Adam(net.parameters(), 2e-4, (0.5, 0.9)) for net in (judge, generator)
    ]
    loss, photos = nn.BCEWithLogitsLoss(), torch.rand(24, 3, 48, 48)

    def train_discriminator() -> None:
        optimizers[0].zero_grad()
        invented = judge(generator(torch.randn(24, 32, 12, 12)).detach())
        real = judge(photos)
        total = loss(real, torch.ones_like(real)) + loss(invented, torch.zeros_like(invented))
        total.backward()
        optimizers[0].step()

    def train_generator() -> None:
        optimizers[1].zero_grad()
        verdict = judge(generator(torch.randn(24, 32, 12, 12)))
        loss(verdict, torch.ones_like(verdict)).backward()
        optimizers[1].step()

    def step(_: int) -> None:
        with clock.cause():
            with torch.profiler.record_function("train_discriminator"):
                train_discriminator()
            with torch.profiler.record_function("train_generator"):
                train_generator()

    torch_base.profiled_by_schedule(
        clock, folder, step, active=40, record_shapes=True, profile_memory=True
    )


PROGRAMS = {
    keras_jax_augment: "input",
    keras_short_epochs: "validation",
    tf_interleaved_records: "input",
    tf_click_features: "features",
    tf_few_requests: "idle",
    jax_lstm_scan: "compute",
    jax_files_of_another: "shards",
    jax_every_fifth_step: "validation or saving",
    jax_eager_optax: "optimizer",
    jax_static_temperature: "compile",
    torch_two_processes: "collective",
    torch_watched_weights: "summaries",
    torch_detections: "postprocessing",
    torch_manual_gc: "gc",
    torch_gan_convolutions: "compute",
}
