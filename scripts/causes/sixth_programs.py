"""Programs in forms that the others do not have, by an author who knew nothing of the rules."""

from __future__ import annotations

import copy
import io
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import numpy as np

from scripts.causes import tensorflow_programs as tf_base
from scripts.causes import torch_programs as torch_base
from scripts.causes.jax_programs import load_framework as load_jax
from scripts.causes.keras_programs import load_framework as load_keras
from scripts.causes.truth import CauseClock


def keras_epoch_checkpoints(clock: CauseClock, folder: Path) -> None:
    """Short epochs over frozen words, after each of which ModelCheckpoint saves all weights."""
    tf, keras = load_keras()
    begins: list[float] = []

    class BeforeSaving(keras.callbacks.Callback):  # type: ignore[misc]
        """Comes before the checkpoint."""

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            """The clock starts."""
            begins.append(time.perf_counter())

    class AfterSaving(keras.callbacks.Callback):  # type: ignore[misc]
        """Comes after the checkpoint."""

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            """The clock stops."""
            clock.cause_s += time.perf_counter() - begins.pop()

    model = keras.Sequential(
        [
            keras.layers.Embedding(80_000, 320, trainable=False),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer="sgd", loss="binary_crossentropy", metrics=["accuracy"])
    reviews = np.random.default_rng(6).integers(0, 80_000, (3 * 32, 60))
    labels = np.arange(3 * 32) % 2
    model.fit(reviews, labels, verbose=0)
    with tempfile.TemporaryDirectory() as saved:
        saver = keras.callbacks.ModelCheckpoint(f"{saved}/best.weights.h5", save_weights_only=True)
        with tf.profiler.experimental.Profile(str(folder)), clock.wall():
            model.fit(
                reviews,
                labels,
                epochs=6,
                verbose=0,
                callbacks=[BeforeSaving(), saver, AfterSaving()],
            )


def keras_python_metric(clock: CauseClock, folder: Path) -> None:
    """run_eagerly, because a metric ranks each row's answers in Python; frames are asked for."""
    tf, keras = load_keras()

    class MeanAveragePrecision(keras.metrics.Metric):  # type: ignore[misc]
        """How early the right answers come."""

        def __init__(self) -> None:
            super().__init__(name="map")
            self.total, self.rows = 0.0, 0

        def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
            """Go through the answers of a batch."""
            with clock.cause():
                for wanted, scores in zip(y_true.numpy(), y_pred.numpy(), strict=True):
                    self.total += average_precision(wanted.tolist(), scores.tolist())
                    self.rows += 1

        def result(self) -> Any:
            """The mean over all rows so far."""
            return tf.constant(self.total / max(self.rows, 1))

        def reset_state(self) -> None:
            """An epoch begins."""
            self.total, self.rows = 0.0, 0

    def average_precision(wanted: list[float], scores: list[float]) -> float:
        order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        found, total = 0, 0.0
        for rank, answer in enumerate(order, 1):
            if wanted[answer] > 0:
                found += 1
                total += found / rank
        return total / max(found, 1)

    answers = 1_500
    model = keras.Sequential(
        [keras.layers.Dense(64, activation="relu"), keras.layers.Dense(answers)]
    )
    metrics = [MeanAveragePrecision()]
    model.compile(optimizer="sgd", loss="mse", metrics=metrics, run_eagerly=True)
    queries = np.random.random((14 * 128, 48)).astype(np.float32)
    wanted = (np.random.random((14 * 128, answers)) < 0.1).astype(np.float32)
    model.fit(queries[:256], wanted[:256], batch_size=128, verbose=0)
    clock.reset()
    options = tf.profiler.experimental.ProfilerOptions(python_tracer_level=1)
    with tf.profiler.experimental.Profile(str(folder), options=options), clock.wall():
        model.fit(queries, wanted, batch_size=128, verbose=0)


def tf_regex_text(clock: CauseClock, folder: Path) -> None:
    """Regular expressions clean each text in a map without parallel calls, between the marks."""
    tf = tf_base.load_framework()
    words = [
        "<b>Great</b>",
        "film,",
        "but",
        "http://a.bc/d?e=1",
        "12.50",
        "Cast!!",
        "&amp;",
        "it's",
    ]
    texts = [" ".join(words[(row * at) % 8] for at in range(1, 400)) for row in range(64)]

    def clean(text: Any) -> Any:
        text = tf.strings.lower(text)
        for pattern, new in (
            (r"<[^>]+>", " "),
            (r"https?://\S+", "url"),
            (r"&[a-z]+;", " "),
            (r"\d+([.,]\d+)*", "0"),
            (r"[^a-z0-9' ]", ""),
            (r"\s+", " "),
        ):
            text = tf.strings.regex_replace(text, pattern, new)
        tokens = tf.strings.to_hash_bucket_fast(tf.strings.split(text)[:128], 2_000)
        return tf.pad(tokens, [[0, 128 - tf.size(tokens)]])

    table = tf.Variable(tf.random.normal((2_000, 32)))
    out = tf.Variable(tf.random.normal((32, 1)))

    @tf.function
    def train_step(tokens: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = tf.reduce_mean(tf.gather(table, tokens), 1) @ out
            loss = tf.reduce_mean(tf.nn.softplus(logits))
        for weight, gradient in zip((table, out), tape.gradient(loss, (table, out)), strict=True):
            weight.assign_sub(0.1 * tf.convert_to_tensor(gradient))
        return loss

    batches = iter(tf.data.Dataset.from_tensor_slices(texts).repeat().map(clean).batch(64))
    for _ in range(2):
        train_step(next(batches))
    tf.profiler.experimental.start(str(folder))
    with clock.wall():
        for number in range(40):
            with clock.cause():
                tokens = next(batches)
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                train_step(tokens).numpy()
    tf.profiler.experimental.stop()


def tf_numpy_loss(clock: CauseClock, folder: Path) -> None:
    """The loss warps series onto each other in Python, called from the graph; no marks."""
    tf = tf_base.load_framework()
    generator = np.random.default_rng(6)
    length = 40

    def warp(predicted: Any, wanted: Any) -> Any:
        """The way of least cost through the distances of each pair, and its gradient."""
        with clock.cause():
            gradients, total = np.zeros_like(predicted), 0.0
            for row, (mine, other) in enumerate(
                zip(predicted.tolist(), wanted.tolist(), strict=True)
            ):
                costs = [[0.0] * length for _ in range(length)]
                for at in range(length):
                    for to in range(length):
                        ways = []
                        if at:
                            ways.append(costs[at - 1][to])
                        if to:
                            ways.append(costs[at][to - 1])
                        if at and to:
                            ways.append(costs[at - 1][to - 1])
                        costs[at][to] = (mine[at] - other[to]) ** 2 + min(ways, default=0.0)
                    nearest = min(range(length), key=costs[at].__getitem__)
                    gradients[row, at] = 2 * (mine[at] - other[nearest])
                total += costs[-1][-1]
            return np.float32(total / len(predicted)), gradients

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def warping_loss(predicted: Any, wanted: Any) -> Any:
        loss, gradients = tf.numpy_function(warp, (predicted, wanted), (tf.float32, tf.float32))
        gradients = tf.ensure_shape(gradients, predicted.shape)
        return loss, lambda upstream: (upstream * gradients, None)

    weights = [tf.Variable(tf.random.normal((512, 512)) * 0.04) for _ in range(4)]
    last = tf.Variable(tf.random.normal((512, length)) * 0.04)

    @tf.function
    def train_step(series: Any, wanted: Any) -> Any:
        with tf.GradientTape() as tape:
            for weight in weights:
                series = tf.nn.relu(series @ weight)
            loss = warping_loss(series @ last, wanted)
        for weight, gradient in zip(
            (*weights, last), tape.gradient(loss, (*weights, last)), strict=True
        ):
            weight.assign_sub(1e-4 * gradient)
        return loss

    series = tf.constant(generator.normal(size=(64, 512)).astype(np.float32))
    wanted = tf.constant(generator.normal(size=(64, length)).astype(np.float32))
    train_step(series, wanted)
    clock.reset()
    losses = []
    with tf.profiler.experimental.Profile(str(folder)), clock.wall():
        for _ in range(30):
            losses.append(float(train_step(series, wanted)))


def tf_evaluating_thread(clock: CauseClock, folder: Path) -> None:
    """A thread evaluates the weights and keeps the training out with a lock meanwhile."""
    tf = tf_base.load_framework()
    weights, lock, stop = tf.Variable(tf.random.normal((512, 512))), Lock(), Event()
    batch, held_out = tf.random.normal((64, 512)), tf.random.normal((24, 512, 512))

    @tf.function
    def train_step(batch: Any) -> Any:
        out = tf.nn.tanh(batch @ weights)
        weights.assign_sub(1e-4 * tf.linalg.matmul(batch, out, transpose_a=True))
        return tf.reduce_mean(out)

    @tf.function
    def evaluate(values: Any) -> Any:
        return tf.reduce_mean(tf.nn.tanh(values @ weights))

    def evaluate_forever() -> None:
        while not stop.wait(0.01):
            with lock:
                for values in held_out:
                    evaluate(values).numpy()

    train_step(batch)
    evaluate(held_out[0])
    thread = Thread(target=evaluate_forever, daemon=True)
    tf.profiler.experimental.start(str(folder))
    thread.start()
    with clock.wall():
        for number in range(24):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                before = time.perf_counter()
                with lock:
                    clock.cause_s += time.perf_counter() - before
                    float(train_step(batch))
            time.sleep(0.005)
    stop.set()
    thread.join()
    tf.profiler.experimental.stop()


def jax_fresh_lambda(clock: CauseClock, folder: Path) -> None:
    """The step calls jax.jit on a lambda that it has just made, so nothing is found again."""
    jax, jnp = load_jax()
    kernels = [jax.random.normal(jax.random.key(at), (3, 3, 16, 16)) * 0.1 for at in range(2)]
    images = jnp.ones((8, 24, 24, 16))

    def apply(kernels: Any, images: Any) -> Any:
        for kernel in kernels:
            layout = ("NHWC", "HWIO", "NHWC")
            images = jax.lax.conv_general_dilated(
                images, kernel, (1, 1), "SAME", dimension_numbers=layout
            )
            images = jax.nn.gelu(images - images.mean((1, 2), keepdims=True))
        return images

    def train_step(kernels: Any, images: Any, rate: float) -> Any:
        gradients_of = jax.jit(jax.grad(lambda k: jnp.mean(apply(k, images) ** 2)))
        with clock.cause():
            gradients = jax.block_until_ready(gradients_of(kernels))
        return [k - rate * g for k, g in zip(kernels, gradients, strict=True)]

    once = jax.jit(jax.grad(lambda k: jnp.mean(apply(k, images) ** 2)))
    jax.block_until_ready(once(kernels))
    before = time.perf_counter()
    jax.block_until_ready(once(kernels))
    alone_s = time.perf_counter() - before
    kernels = train_step(kernels, images, 0.1)
    options, steps = jax.profiler.ProfileOptions(), 10
    options.python_tracer_level = 0
    clock.reset()
    with jax.profiler.trace(str(folder), profiler_options=options), clock.wall():
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                kernels = train_step(kernels, images, 0.1 * 0.9**number)
    clock.cause_s -= alone_s * steps


def jax_callback_log(clock: CauseClock, folder: Path) -> None:
    """The compiled step hands its gradients to io_callback, which writes them down; no marks."""
    jax, jnp = load_jax()
    from jax.experimental import io_callback

    generator = np.random.default_rng(6)
    layers = {f"layer_{at}": jnp.asarray(generator.normal(size=(256, 256))) for at in range(4)}
    log = (folder / "gradients.log").open("w", encoding="utf-8")

    def log_gradients(loss: Any, gradients: Any) -> None:
        with clock.cause():
            for name, gradient in gradients.items():
                counts, edges = np.histogram(np.asarray(gradient), 30)
                rows = [float(np.linalg.norm(row)) for row in np.asarray(gradient)]
                columns = [float(np.linalg.norm(column)) for column in np.asarray(gradient).T]
                line = {"loss": float(loss), "name": name, "rows": rows, "columns": columns}
                line |= {"counts": counts.tolist(), "edges": edges.tolist()}
                log.write(json.dumps(line) + "\n")
                log.flush()

    @jax.jit
    def train_step(layers: Any, batch: Any) -> Any:
        def loss_of(layers: Any) -> Any:
            values = batch
            for weight in layers.values():
                values = jnp.tanh(values @ weight)
            return jnp.mean(values**2)

        loss, gradients = jax.value_and_grad(loss_of)(layers)
        io_callback(log_gradients, None, loss, gradients, ordered=True)
        return jax.tree.map(lambda w, g: w - 0.01 * g, layers, gradients)

    batch = jnp.asarray(generator.normal(size=(16, 256)))
    layers = jax.block_until_ready(train_step(layers, batch))
    jax.effects_barrier()
    clock.reset()
    with jax.profiler.trace(str(folder)), clock.wall():
        for _ in range(36):
            layers = train_step(layers, batch)
        jax.block_until_ready(layers)
        jax.effects_barrier()
    log.close()
    (folder / "gradients.log").unlink()


def jax_micro_batches(clock: CauseClock, folder: Path) -> None:
    """A Python loop adds up the gradients of eight micro-batches; the truth is what they take."""
    jax, jnp = load_jax()
    import optax

    generator, micro, steps = np.random.default_rng(6), 8, 6
    shapes = {"query": (256, 256), "key": (256, 256), "value": (256, 256), "wide": (256, 1024)}
    weights = {
        name: jnp.asarray(generator.normal(size=shape) * 0.03) for name, shape in shapes.items()
    }

    @jax.jit
    def gradients_of(weights: Any, texts: Any) -> Any:
        def loss_of(weights: Any) -> Any:
            query, key, value = (texts @ weights[name] for name in ("query", "key", "value"))
            scores = jax.nn.softmax(query @ key.transpose(0, 2, 1) / 16)
            return jnp.mean(jax.nn.gelu((texts + scores @ value) @ weights["wide"]) ** 2)

        return jax.value_and_grad(loss_of)(weights)

    optimizer = optax.sgd(1e-2, momentum=0.9)
    state = optimizer.init(weights)
    update = jax.jit(optimizer.update)
    texts = jnp.asarray(generator.normal(size=(micro, 4, 160, 256)).astype(np.float32))

    def train_step(weights: Any, state: Any) -> Any:
        total, losses = jax.tree.map(jnp.zeros_like, weights), []
        for part in range(micro):
            loss, gradients = gradients_of(weights, texts[part])
            total = jax.tree.map(jnp.add, total, gradients)
            losses.append(loss)
        changes, state = update(jax.tree.map(lambda g: g / micro, total), state)
        return optax.apply_updates(weights, changes), state, losses

    weights, state, _ = jax.block_until_ready(train_step(weights, state))
    before = time.perf_counter()
    for _ in range(10):
        jax.block_until_ready(gradients_of(weights, texts[0]))
    alone_s = (time.perf_counter() - before) / 10
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(str(folder), profiler_options=options), clock.wall():
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                weights, state, losses = train_step(weights, state)
                float(sum(losses))
    clock.cause_s = min(clock.wall_s, alone_s * micro * steps)


def torch_averaged_weights(clock: CauseClock, folder: Path) -> None:
    """A frozen network with a new head; three averages of all weights, tensor by tensor."""
    torch = torch_base.load_framework()
    nn = torch.nn
    blocks = [nn.Sequential(nn.LayerNorm(48), nn.Linear(48, 48), nn.GELU()) for _ in range(50)]
    backbone, head = nn.Sequential(*blocks).requires_grad_(False), nn.Linear(48, 5)
    model = nn.Sequential(backbone, head)
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
    averages = {decay: copy.deepcopy(model.state_dict()) for decay in (0.9, 0.99, 0.999)}
    values, labels = torch.randn(64, 48), torch.arange(64) % 5

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def update_averages() -> None:
        for decay, average in averages.items():
            for name, weight in model.state_dict().items():
                average[name] = decay * average[name] + (1 - decay) * weight.detach().clone()

    def step(_: int) -> None:
        loss = nn.functional.cross_entropy(model(values), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with clock.cause():
            update_averages()

    torch_base.profiled_by_schedule(clock, folder, step, active=24, use_gzip=True)


# What the scorer does: it is a program of its own, as those of machine translation are.
_SCORER = """
import collections, json, sys
total = 0
for line in sys.stdin:
    mine, other = (line.split() for line in json.loads(line))
    for size in range(1, 5):
        grams = [collections.Counter(zip(*(side[at:] for at in range(size))))
                 for side in (mine, other)]
        total += sum((grams[0] & grams[1]).values()) / max(1, sum(grams[0].values()))
print(total)
"""


def torch_external_scorer(clock: CauseClock, folder: Path) -> None:
    """The reward of each step comes from a scorer that is run as a command; frames recorded."""
    torch = torch_base.load_framework()
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "slept"]
    reference = " ".join(words * 6)
    policy = torch.nn.GRU(24, 48, batch_first=True)
    head = torch.nn.Linear(48, len(words))
    optimizer = torch.optim.Adam([*policy.parameters(), *head.parameters()], lr=1e-3)
    prompts = torch.randn(32, 48, 24)

    def score_texts(texts: list[str]) -> float:
        lines = "\n".join(json.dumps([text, reference]) for text in texts)
        command = [sys.executable, "-c", _SCORER]
        answer = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        return float(answer.stdout)

    def step(_: int) -> None:
        chances = torch.distributions.Categorical(logits=head(policy(prompts)[0]))
        tokens = chances.sample()
        texts = [" ".join(words[token] for token in row) for row in tokens.tolist()]
        with clock.cause():
            reward = score_texts(texts)
        optimizer.zero_grad()
        (-reward * chances.log_prob(tokens).mean()).backward()
        optimizer.step()

    torch_base.profiled_by_schedule(clock, folder, step, active=20, use_gzip=True, with_stack=True)


class Photos:
    """JPEG files in memory, which each worker decodes and crops."""

    def __init__(self, count: int) -> None:
        from PIL import Image

        self.count, self.files = count, []
        for seed in range(4):
            pixels = np.random.default_rng(seed).integers(0, 255, (40, 60, 3), np.uint8)
            file = io.BytesIO()
            Image.fromarray(pixels).resize((600, 400)).save(file, "JPEG")
            self.files.append(file.getvalue())

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, row: int) -> Any:
        from PIL import Image
        from torchvision.transforms import v2

        photo = Image.open(io.BytesIO(self.files[row % 4])).convert("RGB")
        photo = v2.RandomResizedCrop(96)(v2.ColorJitter(0.2, 0.2)(photo))
        return v2.functional.pil_to_tensor(photo).float() / 255, row % 10


def torch_pinned_workers(clock: CauseClock, folder: Path) -> None:
    """Two workers with pinned memory decode photos too slowly for the model; no marks."""
    torch = torch_base.load_framework()
    steps, size = 24, 24
    loader = torch.utils.data.DataLoader(
        Photos(size * (steps + 6)),
        batch_size=size,
        num_workers=2,
        pin_memory=True,
        prefetch_factor=2,
        persistent_workers=True,
    )
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 7, stride=4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(16, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batches = iter(loader)

    def train_batch() -> None:
        with clock.cause():
            photos, labels = next(batches)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(photos), labels).backward()
        optimizer.step()

    for _ in range(6):
        train_batch()
    clock.reset()
    with torch.profiler.profile(record_shapes=True) as profiler, clock.wall():
        for _ in range(steps):
            train_batch()
    profiler.export_chrome_trace(str(folder / "photos.pt.trace.json"))


def torch_kept_copies(clock: CauseClock, folder: Path) -> None:
    """A recommender with sparse gradients that keeps a deepcopy of the last good model."""
    torch = torch_base.load_framework()
    nn = torch.nn
    model = nn.ModuleDict(
        {
            "users": nn.Embedding(60_000, 96, sparse=True),
            "films": nn.Embedding(30_000, 96, sparse=True),
            "judge": nn.Sequential(nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, 1)),
        }
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    good = {"model": model}

    def step(_: int) -> None:
        users, films = torch.randint(0, 60_000, (256,)), torch.randint(0, 30_000, (256,))
        pair = torch.cat([model["users"](users), model["films"](films)], 1)
        loss = model["judge"](pair).square().mean()
        if torch.isfinite(loss):
            with clock.cause():
                good["model"] = copy.deepcopy(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    torch_base.profiled_by_schedule(clock, folder, step, active=70, profile_memory=True)


PROGRAMS = {
    keras_epoch_checkpoints: "checkpoint",
    keras_python_metric: "metric",
    tf_regex_text: "input",
    tf_numpy_loss: "host_loss",
    tf_evaluating_thread: "held_lock",
    jax_fresh_lambda: "compile",
    jax_callback_log: "callback_log",
    jax_micro_batches: "compute",
    torch_averaged_weights: "averages",
    torch_external_scorer: "subprocess",
    torch_pinned_workers: "input",
    torch_kept_copies: "deepcopy",
}
