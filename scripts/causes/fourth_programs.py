"""Programs as users write them, by an author who knew nothing of the rules; none was tuned on."""

from __future__ import annotations

import gzip
import json
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPConnection
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from scripts.causes import keras_programs as keras_base
from scripts.causes import tensorflow_programs as tf_base
from scripts.causes import torch_programs as torch_base
from scripts.causes import work
from scripts.causes.jax_programs import load_framework as load_jax
from scripts.causes.truth import CauseClock


def fit_with_callback(
    clock: CauseClock,
    folder: Path,
    fit: Callable[..., Any],
    window: tuple[int, int],
    timers: tuple[Any, ...] = (),
) -> None:
    """fit() with Keras' TensorBoard callback, which profiles the batches of the window."""
    _, keras = keras_base.load_framework()
    first, last = window
    begins: list[float] = []
    ends: list[float] = []

    def begin(*_: Any, **__: Any) -> None:
        begins.append(time.perf_counter())

    def end(*_: Any, **__: Any) -> None:
        ends.append(time.perf_counter())

    callbacks = [
        keras.callbacks.LambdaCallback(on_train_batch_end=end),
        keras.callbacks.TensorBoard(log_dir=str(folder), profile_batch=window),
        keras.callbacks.LambdaCallback(on_train_batch_begin=begin),
        *timers,
    ]
    fit(verbose=0, callbacks=callbacks)
    clock.wall_s = ends[last - 1] - begins[first - 1]


def keras_csv_lines(clock: CauseClock, folder: Path) -> None:
    """fit() reads a table line by line; the truth is what a cached table takes less."""
    tf, keras = keras_base.load_framework()
    columns, window = 200, (6, 45)
    table = folder / "train.csv"
    rows = np.random.default_rng(4).random((6400, columns))
    np.savetxt(table, rows, fmt="%.5f", delimiter=",")

    def parse(line: Any) -> Any:
        fields = tf.io.decode_csv(line, [0.0] * columns)
        return tf.stack([tf.math.log1p(field) for field in fields[1:]]), fields[0]

    lines = tf.data.TextLineDataset(str(table)).repeat(2).map(parse).shuffle(200).batch(256)
    model = keras.Sequential([keras.layers.Dense(1024, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    cached = lines.cache()
    model.fit(cached, verbose=0)
    before = time.perf_counter()
    model.fit(cached, verbose=0)
    batch_s = (time.perf_counter() - before) / 50
    fit_with_callback(clock, folder, partial(model.fit, lines), window)
    clock.cause_s = clock.wall_s - batch_s * (window[1] - window[0] + 1)


def keras_small_images(clock: CauseClock, folder: Path) -> None:
    """fit() of a small network of convolutions; the truth is what its batches take alone."""
    tf, keras = keras_base.load_framework()
    layers, window = keras.layers, (4, 19)
    model = keras.Sequential(
        [
            layers.Conv2D(64, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.Conv2D(96, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(128, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="sgd", loss=loss, metrics=["accuracy"])
    images, labels = tf.random.normal((640, 40, 40, 3)), tf.zeros((640,), tf.int32)
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(640).batch(32)
    model.fit(data.take(3), verbose=0)
    before = time.perf_counter()
    for _ in range(4):
        model.train_on_batch(images[:32], labels[:32])
    batch_s = (time.perf_counter() - before) / 4
    fit_with_callback(clock, folder, partial(model.fit, data.prefetch(2)), window)
    clock.cause_s = min(clock.wall_s, batch_s * (window[1] - window[0] + 1))


def tf_class_counts(clock: CauseClock, folder: Path) -> None:
    """Each batch is counted into a confusion matrix in Python; frames are asked for, no marks."""
    tf = tf_base.load_framework()
    classes = 200
    weights = tf.Variable(tf.random.normal((1024, classes)))
    matrix = [[0] * classes for _ in range(classes)]
    batch = tf.random.normal((3000, 1024))
    labels = np.arange(3000) % classes

    @tf.function
    def train_step(inputs: Any) -> Any:
        logits = tf.linalg.matmul(inputs, weights)
        weights.assign_sub(1e-6 * tf.linalg.matmul(inputs, logits, transpose_a=True))
        return logits

    def update_confusion_matrix(logits: Any) -> None:
        for label, scores in zip(labels.tolist(), logits.tolist(), strict=True):
            matrix[label][scores.index(max(scores))] += 1

    train_step(batch)
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=1)
    with tf.profiler.experimental.Profile(str(folder), options=options), clock.wall():
        for _ in range(50):
            logits = train_step(batch).numpy()
            with clock.cause():
                update_confusion_matrix(logits)


def tf_ragged_lengths(clock: CauseClock, folder: Path) -> None:
    """Each batch is padded to the next multiple of 16, and each new length is traced anew."""
    tf = tf_base.load_framework()
    _, keras = keras_base.load_framework()
    generator = np.random.default_rng(4)
    model = keras.Sequential(
        [
            keras.layers.Embedding(500, 48),
            keras.layers.Conv1D(64, 5, activation="gelu"),
            keras.layers.LayerNormalization(),
            keras.layers.Conv1D(64, 5, dilation_rate=2, activation="gelu"),
            keras.layers.GlobalMaxPooling1D(),
            keras.layers.Dense(2),
        ]
    )
    optimizer = keras.optimizers.Adam()

    @tf.function
    def train_step(tokens: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(tokens, training=True) ** 2)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    train_step(tf.ones((128, 199), tf.int32))
    tf.profiler.experimental.start(str(folder))
    with clock.wall():
        for number in range(16):
            length = 16 * int(generator.integers(4, 10))
            tokens = tf.constant(generator.integers(0, 500, (128, length), np.int32))
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                traces, before = train_step.experimental_get_tracing_count(), time.perf_counter()
                float(train_step(tokens))
                if train_step.experimental_get_tracing_count() > traces:
                    clock.cause_s += time.perf_counter() - before
    tf.profiler.experimental.stop()


def tf_decode_tokens(clock: CauseClock, folder: Path) -> None:
    """A translator decodes token by token, op by op; no marks."""
    tf = tf_base.load_framework()
    table, out = tf.random.normal((300, 32)), tf.random.normal((32, 300))
    gates = [tf.random.normal((64, 32)) for _ in range(3)]

    def decode(state: Any) -> list[int]:
        token, tokens = tf.constant([1]), []
        for _ in range(40):
            joined = tf.concat([tf.gather(table, token), state], 1)
            update, reset = (tf.sigmoid(joined @ gate) for gate in gates[:2])
            new = tf.tanh(tf.concat([joined[:, :32], reset * state], 1) @ gates[2])
            state = update * state + (1 - update) * new
            token = tf.argmax(state @ out, axis=1, output_type=tf.int32)
            tokens.append(int(token[0]))
        return tokens

    decode(tf.zeros((1, 32)))
    tf.profiler.experimental.start(str(folder))
    with clock.wall():
        for number in range(60):
            state = tf.random.stateless_normal((1, 32), (number, 4))
            with clock.cause():
                decode(state)
    tf.profiler.experimental.stop()


def jax_flax_transformer(clock: CauseClock, folder: Path) -> None:
    """A small language model in Flax; jax.profiler.trace as it is, no marks."""
    jax, jnp = load_jax()
    import optax
    from flax import nnx

    class Block(nnx.Module):  # type: ignore[misc]
        """Attention, then two layers."""

        def __init__(self, width: int, rngs: Any) -> None:
            self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)
            self.wide = nnx.Linear(width, 4 * width, rngs=rngs)
            self.narrow = nnx.Linear(4 * width, width, rngs=rngs)

        def __call__(self, value: Any) -> Any:
            value = value + self.attention(value)
            return value + self.narrow(nnx.gelu(self.wide(value)))

    class LanguageModel(nnx.Module):  # type: ignore[misc]
        """Two blocks."""

        def __init__(self, rngs: Any) -> None:
            self.embed = nnx.Embed(1000, 192, rngs=rngs)
            self.first, self.second = Block(192, rngs), Block(192, rngs)

        def __call__(self, tokens: Any) -> Any:
            return self.embed.attend(self.second(self.first(self.embed(tokens))))

    model = LanguageModel(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)

    @nnx.jit
    def train_step(model: Any, optimizer: Any, tokens: Any) -> Any:
        def loss_of(model: Any) -> Any:
            losses = optax.softmax_cross_entropy_with_integer_labels(
                model(tokens[:, :-1]), tokens[:, 1:]
            )
            return losses.mean()

        loss, gradients = nnx.value_and_grad(loss_of)(model)
        optimizer.update(model, gradients)
        return loss

    tokens = np.random.default_rng(4).integers(0, 1000, (30, 8, 97))
    train_step(model, optimizer, tokens[0])
    losses = []
    with jax.profiler.trace(str(folder)), clock.wall():
        for batch in tokens:
            with clock.cause():
                losses.append(float(train_step(model, optimizer, jnp.asarray(batch))))


def jax_second_epoch(clock: CauseClock, folder: Path) -> None:
    """At the start of the second epoch the rows are put into a new order, for seconds."""
    jax, jnp = load_jax()
    generator = np.random.default_rng(4)
    rows = generator.random((500_000, 96), np.float32)
    batch_rows = 8_000

    @jax.jit
    def train_step(weights: Any, batch: Any) -> Any:
        return weights - 1e-4 * jax.grad(lambda w: jnp.mean(jnp.tanh(batch @ w) ** 2))(weights)

    def reshuffle(rows: Any) -> Any:
        for _ in range(4):
            rows = rows[generator.permutation(len(rows))]
            rows = (rows - rows.mean(0)) / rows.std(0)
        return rows

    weights = train_step(jnp.ones((96, 192)), rows[:batch_rows])
    jax.profiler.start_trace(str(folder))
    with clock.wall():
        for number in range(50):
            if number == 25:
                with clock.cause():
                    rows = reshuffle(rows)
            at = number % 25 * batch_rows
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                weights = train_step(weights, rows[at : at + batch_rows])
                weights.block_until_ready()
    jax.profiler.stop_trace()


def jax_remote_metrics(clock: CauseClock, folder: Path) -> None:
    """The loss of each step goes to a server, whose answer is waited for."""
    jax, jnp = load_jax()
    spawn = get_context("spawn")
    here, there = spawn.Pipe()
    server = spawn.Process(target=work.answer_slowly, args=(there, 0.06), daemon=True)
    server.start()
    port = here.recv()

    @jax.jit
    def train_step(weights: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(w @ w)))(weights)
        return weights - 0.01 * gradient, loss

    def post_metrics(number: int, loss: float) -> None:
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/metrics", json.dumps({"step": number, "loss": loss}))
        connection.getresponse().read()
        connection.close()

    weights, _ = train_step(jnp.ones((384, 384)) * 1e-3)
    try:
        jax.profiler.start_trace(str(folder))
        with clock.wall():
            for number in range(40):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    weights, loss = train_step(weights)
                    loss = float(loss)
                    with clock.cause():
                        post_metrics(number, loss)
        jax.profiler.stop_trace()
    finally:
        server.terminate()
        server.join()


def jax_prefetch_thread(clock: CauseClock, folder: Path) -> None:
    """A thread unpacks lines of JSON for the next batch; the loop waits for it between marks."""
    jax, jnp = load_jax()
    lines = [json.dumps({"values": row.tolist()}) for row in np.random.random((400, 128))]
    path = folder / "examples.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))

    def read_examples(ready: queue.Queue[Any]) -> None:
        while True:
            with gzip.open(path, "rt") as file:
                rows = [json.loads(line)["values"] for line in file]
            ready.put(np.asarray(rows, np.float32))

    def prefetched() -> Iterator[Any]:
        ready: queue.Queue[Any] = queue.Queue(2)
        threading.Thread(target=read_examples, args=(ready,), daemon=True).start()
        while True:
            with clock.cause():
                batch = ready.get()
            yield batch

    @jax.jit
    def train_step(weights: Any, batch: Any) -> Any:
        return weights - 1e-3 * jax.grad(lambda w: jnp.mean(jnp.tanh(batch @ w)))(weights)

    batches = prefetched()
    weights = train_step(jnp.ones((128, 64)), next(batches))
    for _ in range(2):
        next(batches)
    clock.cause_s = 0.0
    with jax.profiler.trace(str(folder)), clock.wall():
        for number in range(50):
            batch = next(batches)
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                weights = jax.block_until_ready(train_step(weights, batch))


def jax_weights_on_disk(clock: CauseClock, folder: Path) -> None:
    """Orbax saves the weights after every fourth step, and the loop waits for it; no marks."""
    jax, jnp = load_jax()
    import orbax.checkpoint

    weights = [jnp.ones((1024, 1024)) * (1e-3 + at) for at in range(5)]

    @jax.jit
    def train_step(weights: Any, batch: Any) -> Any:
        def loss_of(weights: Any) -> Any:
            value = batch
            for weight in weights:
                value = jnp.tanh(value @ weight)
            return value.mean()

        gradients = jax.grad(loss_of)(weights)
        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients)

    batch = jnp.ones((8, 1024))
    weights = jax.block_until_ready(train_step(weights, batch))
    first = average = weights
    saver = orbax.checkpoint.StandardCheckpointer()
    saver.save((folder / "weights" / "first").absolute(), {"weights": weights})
    saver.wait_until_finished()
    with jax.profiler.trace(str(folder)), clock.wall():
        for number in range(36):
            weights = jax.block_until_ready(train_step(weights, batch))
            if number % 4 == 3:
                with clock.cause():
                    path = (folder / "weights" / str(number)).absolute()
                    average = [(old + new) / 2 for old, new in zip(average, weights, strict=True)]
                    saver.save(path, {"weights": weights, "average": average, "first": first})
                    saver.wait_until_finished()


def torch_tokenize_collate(clock: CauseClock, folder: Path) -> None:
    """The DataLoader's collate_fn splits texts into pieces of words, in Python."""
    torch = torch_base.load_framework()
    from transformers import BertConfig, BertForSequenceClassification

    words = [f"{stem}{end}" for stem in ("run", "learn", "fast") for end in ("", "ing", "er")]
    vocabulary = {piece: at + 3 for at, piece in enumerate(["run", "learn", "fast", "ing", "er"])}
    texts = [" ".join(words[(at * k) % 9] for k in range(8000)) for at in range(640)]

    def tokenize(text: str) -> list[int]:
        tokens = []
        for word in re.findall(r"\w+", text.lower()):
            begin = 0
            while begin < len(word):
                end = len(word)
                while word[begin:end] not in vocabulary:
                    end -= 1
                tokens.append(vocabulary[word[begin:end]])
                begin = end
        return tokens[:16]

    def collate(rows: list[str]) -> Any:
        with clock.cause():
            return torch.tensor([tokenize(text) for text in rows])

    config = BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batches = iter(torch.utils.data.DataLoader(texts, batch_size=32, collate_fn=collate))

    def step(_: int) -> None:
        tokens = next(batches)
        loss = model(tokens, labels=torch.zeros(len(tokens), dtype=torch.long)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    torch_base.profiled_by_schedule(clock, folder, step, active=17)


def torch_triplets(clock: CauseClock, folder: Path) -> None:
    """The loss goes through all triplets in Python, a few scalar ops each; frames are recorded."""
    torch = torch_base.load_framework()
    model = torch.nn.Sequential(torch.nn.Linear(128, 64), torch.nn.ReLU(), torch.nn.Linear(64, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    images, labels = torch.randn(16, 128), [at % 4 for at in range(16)]

    def triplet_loss(points: Any) -> Any:
        distances = torch.cdist(points, points)
        total, rows = 0.0, range(len(labels))
        for anchor in rows:
            for near in rows:
                for far in rows:
                    if anchor != near and labels[anchor] == labels[near] != labels[far]:
                        gap = distances[anchor, near] - distances[anchor, far] + 0.2
                        total = total + torch.relu(gap)
        return total

    def step(_: int) -> None:
        points = model(images)
        with clock.cause():
            loss = triplet_loss(points)
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()

    torch_base.profiled_by_schedule(clock, folder, step, active=14, use_gzip=True, with_stack=True)


def torch_camera_frames(clock: CauseClock, folder: Path) -> None:
    """Camera frames are laid out and converted anew before a small network sees them."""
    torch = torch_base.load_framework()
    frames = torch.randint(0, 255, (8, 480, 640, 3), dtype=torch.uint8)
    model = torch.nn.Sequential(torch.nn.AvgPool2d(4), torch.nn.Conv2d(3, 16, 3))

    def to_model_layout(frames: Any) -> Any:
        planes = frames.permute(0, 3, 1, 2).contiguous().to(torch.float32)
        return planes.to(memory_format=torch.channels_last).double().float().contiguous()

    def step(_: int) -> None:
        with clock.cause():
            images = to_model_layout(frames)
        with torch.no_grad():
            model(images).mean().item()

    torch_base.profiled_by_schedule(
        clock, folder, step, active=45, record_shapes=True, profile_memory=True
    )


def torch_lightning_fit(clock: CauseClock, folder: Path) -> None:
    """Lightning, whose callback draws the weights after every eighth batch."""
    torch = torch_base.load_framework()
    import lightning
    import matplotlib

    matplotlib.use("Agg")
    from lightning.pytorch.profilers import PyTorchProfiler
    from matplotlib import pyplot

    begins: list[float] = []

    class Classifier(lightning.LightningModule):  # type: ignore[misc]
        """Two layers."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = torch_base.make_model(torch, 512)[0]

        def training_step(self, batch: Any, _: int) -> Any:
            """The loss of one batch."""
            return self.layers(batch[0]).square().mean()

        def configure_optimizers(self) -> Any:
            """Adam."""
            return torch.optim.Adam(self.parameters())

    class PlotWeights(lightning.Callback):  # type: ignore[misc]
        """Draws what the layers hold."""

        def on_train_start(self, trainer: Any, module: Any) -> None:
            """The first batch comes."""
            begins.append(time.perf_counter())

        def on_train_end(self, trainer: Any, module: Any) -> None:
            """The last batch was."""
            clock.wall_s = time.perf_counter() - begins.pop()

        def on_train_batch_end(self, trainer: Any, module: Any, *rest: Any) -> None:
            """After each batch."""
            batch = rest[-1]
            if batch % 8 == 7:
                with clock.cause():
                    figure, axes = pyplot.subplots()
                    for weight in module.parameters():
                        axes.hist(weight.detach().numpy().ravel(), 20)
                    figure.savefig(folder / f"weights_{batch}.png")
                    pyplot.close(figure)

    data = torch.utils.data.TensorDataset(torch.randn(48 * 128, 512))
    profiler = PyTorchProfiler(
        dirpath=str(folder), filename="fit", schedule=None, record_module_names=False
    )
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        profiler=profiler,
        callbacks=[PlotWeights()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Classifier(), torch.utils.data.DataLoader(data, batch_size=128))


def torch_loader_and_model(clock: CauseClock, folder: Path) -> None:
    """Reading images and computing take about the same time: either is right."""
    torch = torch_base.load_framework()
    for at in range(4):
        np.savez_compressed(folder / f"image_{at}.npz", image=np.random.random((3, 96, 96)))

    class ImageFolder(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        """Reads and crops images."""

        def __len__(self) -> int:
            return 16 * 40

        def __getitem__(self, row: int) -> Any:
            with clock.cause("input"):
                image = np.load(folder / f"image_{row % 4}.npz")["image"]
                image = np.clip(image[:, :, ::-1] * 1.1, 0, 1)[:, 16:80, 16:80]
                return torch.from_numpy(np.ascontiguousarray(image, np.float32))

    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3)
    )
    optimizer = torch.optim.AdamW(model.parameters())
    batches = iter(torch.utils.data.DataLoader(ImageFolder(), batch_size=16))

    def step(_: int) -> None:
        batch = next(batches)
        with clock.cause("compute"):
            torch_base.train(model, optimizer, batch)

    torch_base.profiled_by_schedule(clock, folder, step, active=32, record_shapes=True)


PROGRAMS = {
    keras_csv_lines: "input",
    keras_small_images: "compute",
    tf_class_counts: "python_metrics",
    tf_ragged_lengths: "retracing",
    tf_decode_tokens: "eager",
    jax_flax_transformer: "compute",
    jax_second_epoch: "reshuffle",
    jax_remote_metrics: "network",
    jax_prefetch_thread: "prefetch",
    jax_weights_on_disk: "saving",
    torch_tokenize_collate: "input",
    torch_triplets: "python_loss",
    torch_camera_frames: "layout",
    torch_lightning_fit: "plots",
    torch_loader_and_model: "input or compute",
}
