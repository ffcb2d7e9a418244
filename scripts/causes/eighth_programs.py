"""JAX and PyTorch as their users write them, by an author who knew nothing of the rules."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import numpy as np

from scripts.causes import torch_programs as torch_base
from scripts.causes.jax_programs import load_framework as load_jax
from scripts.causes.truth import CauseClock


def jax_vmap_ensemble(clock: CauseClock, folder: Path) -> None:
    """Six networks train at once under vmap; buffers are donated, and nothing is waited for."""
    jax, jnp = load_jax()
    generator, steps = np.random.default_rng(8), 90
    weights = {
        f"layer_{at}": jnp.asarray(generator.normal(size=(6, 512, 512)) * 0.04, jnp.float32)
        for at in range(4)
    }

    def update(weights: Any, batch: Any) -> Any:
        def loss_of(weights: Any) -> Any:
            values = batch
            for weight in weights.values():
                values = jax.nn.relu(values @ weight)
            return jnp.mean((values - batch) ** 2)

        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, jax.grad(loss_of)(weights))

    train = jax.jit(jax.vmap(update, in_axes=(0, None)), donate_argnums=0)
    batch = generator.normal(size=(192, 512)).astype(np.float32)
    weights = jax.block_until_ready(train(weights, batch))
    before = time.perf_counter()
    for _ in range(5):
        weights = jax.block_until_ready(train(weights, batch))
    alone_s = (time.perf_counter() - before) / 5
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(str(folder), profiler_options=options), clock.wall():
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                batch = generator.normal(size=(192, 512)).astype(np.float32)
                weights = train(weights, batch)
        jax.block_until_ready(weights)
    clock.cause_s = min(clock.wall_s, alone_s * steps)


def jax_pmap_long_shard(clock: CauseClock, folder: Path) -> None:
    """pmap over four devices, one of which always has the long texts; the others wait."""
    jax, jnp = load_jax(devices=4)

    def read_text(weight: Any, text: Any, length: Any) -> Any:
        state = jax.lax.fori_loop(
            0, length, lambda _, state: jnp.tanh(state @ weight + text), jnp.zeros_like(text)
        )
        gradient = jax.lax.pmean(state.T @ text, "devices")
        return weight - 1e-4 * gradient

    train = jax.pmap(read_text, axis_name="devices")
    weight = jnp.stack([jax.random.normal(jax.random.key(8), (192, 192)) * 0.05] * 4)
    texts = jnp.ones((4, 64, 192))
    usual, uneven = jnp.array([60] * 4), jnp.array([60, 60, 1_600, 60])
    weight = jax.block_until_ready(train(weight, texts, usual))
    before = time.perf_counter()
    for _ in range(8):
        weight = jax.block_until_ready(train(weight, texts, usual))
    alone_s, steps = (time.perf_counter() - before) / 8, 36
    with jax.profiler.trace(str(folder)), clock.wall():
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                weight = jax.block_until_ready(train(weight, texts, uneven))
    clock.cause_s = clock.wall_s - alone_s * steps


def jax_growing_prompt(clock: CauseClock, folder: Path) -> None:
    """A prompt grows by a token each turn, and each length is compiled anew; no marks."""
    jax, jnp = load_jax()
    keys = iter(jax.random.split(jax.random.key(8), 12))
    table = jax.random.normal(next(keys), (512, 128)) * 0.1
    layers = [jax.random.normal(next(keys), (4, 128, 128)) * 0.1 for _ in range(6)]

    @jax.jit
    def next_token(layers: Any, tokens: Any) -> Any:
        values = table[tokens]
        for query, key, value, out in layers:
            scores = jax.nn.softmax((values @ query) @ (values @ key).T / 11)
            values = values + jax.nn.gelu(scores @ (values @ value) @ out)
        return jnp.argmax(values[-1] @ table.T)

    tokens = jnp.arange(240)
    next_token(layers, tokens).block_until_ready()
    before = time.perf_counter()
    for _ in range(5):
        next_token(layers, tokens).block_until_ready()
    alone_s, turns = (time.perf_counter() - before) / 5, 14
    with jax.profiler.trace(str(folder)), clock.wall():
        for _ in range(turns):
            with clock.cause():
                token = next_token(layers, tokens)
                tokens = jnp.append(tokens, token).block_until_ready()
            next_token(layers, tokens[-240:]).block_until_ready()
    clock.cause_s -= alone_s * turns


def jax_unrolled_network(clock: CauseClock, folder: Path) -> None:
    """The first of the marked steps compiles a hundred layers that Python unrolled."""
    jax, jnp = load_jax()
    weights = [
        jax.random.normal(key, (192, 192)) * 0.07 for key in jax.random.split(jax.random.key(8), 90)
    ]
    batch = jnp.ones((256, 192))

    @jax.jit
    def train_step(weights: Any, batch: Any) -> Any:
        def loss_of(weights: Any) -> Any:
            values = batch
            for weight in weights:
                spread = values - values.mean(1, keepdims=True)
                spread = spread / jnp.sqrt((spread**2).mean(1, keepdims=True) + 1e-5)
                values = values + jax.nn.gelu(spread @ weight)
            return jnp.mean(values**2)

        return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, jax.grad(loss_of)(weights))

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    took: list[float] = []
    with jax.profiler.trace(str(folder), profiler_options=options), clock.wall():
        for number in range(18):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                before = time.perf_counter()
                weights = jax.block_until_ready(train_step(weights, batch))
                took.append(time.perf_counter() - before)
    clock.cause_s = took[0] - sum(took[1:]) / len(took[1:])


def jax_replay_lock(clock: CauseClock, folder: Path) -> None:
    """A player fills the memory of games and holds its lock long; the learner waits for it."""
    jax, jnp = load_jax()
    memory, lock, stop = np.zeros((4_096, 64), np.float32), Lock(), Event()

    def play_games() -> None:
        state, at = np.ones(64, np.float32), 0
        while not stop.wait(0.015):
            with lock:
                until = time.perf_counter() + 0.15
                while time.perf_counter() < until:
                    state = np.tanh(np.roll(state, 1) + 0.1 * state)
                    memory[at % 4_096] = state
                    at += 1
                    time.sleep(0.0005)

    @jax.jit
    def learn(weights: Any, games: Any) -> Any:
        def loss_of(weights: Any) -> Any:
            return jnp.mean((jnp.tanh(games @ weights) @ weights.T - games) ** 2)

        return weights - 0.01 * jax.grad(loss_of)(weights)

    weights = jnp.ones((64, 512)) * 0.01
    weights = learn(weights, memory[:1024]).block_until_ready()
    player = Thread(target=play_games, daemon=True, name="player")
    player.start()
    with jax.profiler.trace(str(folder)), clock.wall():
        for number in range(40):
            with jax.profiler.StepTraceAnnotation("learn", step_num=number):
                with clock.cause():
                    lock.acquire()
                games = memory[np.random.randint(0, 4_096, 1024)]
                lock.release()
                for _ in range(5):
                    weights = learn(weights, games).block_until_ready()
            time.sleep(0.005)
    stop.set()
    player.join()


def torch_accumulated_encoder(clock: CauseClock, folder: Path) -> None:
    """A transformer that adds up the gradients of four micro-batches; computing is the cause."""
    torch = torch_base.load_framework()
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(320, 8, 1280, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    texts = torch.randn(4, 4, 128, 320)

    def step(_: int) -> None:
        for micro in texts:
            with clock.cause():
                loss = model(micro).square().mean() / len(texts)
                loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    torch_base.profiled_by_schedule(clock, folder, step, active=10, record_shapes=True)


def torch_resnet_requests(clock: CauseClock, folder: Path) -> None:
    """A server that classifies photos, each request a label of its own; it hardly ever waits."""
    torch = torch_base.load_framework()
    from torchvision.models import resnet34

    model = resnet34(weights=None).eval()

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def classify(photos: Any) -> Any:
        return model(photos).softmax(1).topk(5)

    classify(torch.rand(2, 3, 224, 224))
    with torch.profiler.profile() as profiler, clock.wall():
        for request in range(20):
            photos = torch.randint(0, 255, (1 + request % 3, 3, 224, 224), dtype=torch.uint8)
            with torch.profiler.record_function("classify"), clock.cause():
                chances, classes = classify(photos.float() / 255)
            [(float(c), int(k)) for c, k in zip(chances[0], classes[0], strict=True)]
            time.sleep(0.01)
    profiler.export_chrome_trace(str(folder / "server.pt.trace.json"))


def torch_growing_buffer(clock: CauseClock, folder: Path) -> None:
    """Each step appends to the memory of games with torch.cat, which copies all of it."""
    torch = torch_base.load_framework()
    memory = {"games": torch.rand(60_000, 256), "next": torch.rand(60_000, 256)}
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(_: int) -> None:
        for name in memory:
            fresh = torch.rand(64, 256)
            with clock.cause():
                memory[name] = torch.cat([memory[name], fresh])
        rows = torch.randint(0, len(memory["games"]), (512,))
        loss = (model(memory["games"][rows]) - memory["next"][rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    torch_base.profiled_by_schedule(clock, folder, step, active=60, profile_memory=True)


def torch_statistics_hooks(clock: CauseClock, folder: Path) -> None:
    """Forward hooks note the statistics of each layer with item(); frames are recorded."""
    torch = torch_base.load_framework()
    nn = torch.nn
    blocks = [nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(16)]
    model = nn.Sequential(*blocks, nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    notes: list[dict[str, float]] = []

    def note_statistics(_: Any, __: Any, out: Any) -> None:
        with clock.cause():
            out = out.detach()
            notes.append(
                {
                    "mean": out.mean().item(),
                    "spread": out.std().item(),
                    "least": out.min().item(),
                    "most": out.max().item(),
                    "dead": (out == 0).float().mean().item(),
                    "median": out.quantile(0.5).item(),
                }
                | {f"unit_{unit}": out[:, unit].mean().item() for unit in range(32)}
            )

    for block in blocks:
        block.register_forward_hook(note_statistics)
    values, labels = torch.randn(128, 256), torch.arange(128) % 10

    def step(_: int) -> None:
        loss = nn.functional.cross_entropy(model(values), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    torch_base.profiled_by_schedule(clock, folder, step, active=60, use_gzip=True, with_stack=True)


def torch_unrolled_cell(clock: CauseClock, folder: Path) -> None:
    """A GRUCell goes through 200 moments in Python; the truth is what nn.GRU takes less."""
    torch = torch_base.load_framework()
    nn = torch.nn
    cell, head = nn.GRUCell(16, 32), nn.Linear(32, 1)
    whole = nn.GRU(16, 32)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-3)
    series, steps = torch.randn(200, 8, 16), 20

    def step(number: int) -> None:
        del number
        state, outs = torch.zeros(8, 32), []
        for moment in series:
            state = cell(moment, state)
            outs.append(head(state) * 0.99 + 0.01 * head(state).tanh())
        loss = torch.stack(outs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def step_of_whole() -> None:
        out = head(whole(series)[0])
        (out * 0.99 + 0.01 * out.tanh()).square().mean().backward()
        optimizer.step()

    step_of_whole()
    before = time.perf_counter()
    for _ in range(5):
        step_of_whole()
    alone_s = (time.perf_counter() - before) / 5
    torch_base.profiled_by_schedule(clock, folder, step, active=steps, use_gzip=True)
    clock.cause_s = clock.wall_s - alone_s * steps


def torch_first_compile(clock: CauseClock, folder: Path) -> None:
    """torch.compile compiles in the first of the profiled steps, with no cache."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= {
            "TORCHINDUCTOR_CACHE_DIR": cache,
            "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
        torch = torch_base.load_framework()
        nn = torch.nn
        model = nn.Sequential(nn.Linear(384, 768), nn.GELU(), nn.Linear(768, 384))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        compiled, values = torch.compile(model), torch.randn(512, 384)
        took: list[float] = []
        with torch.profiler.profile() as profiler, clock.wall():
            for _ in range(60):
                before = time.perf_counter()
                optimizer.zero_grad()
                compiled(values).square().mean().backward()
                optimizer.step()
                profiler.step()
                took.append(time.perf_counter() - before)
        profiler.export_chrome_trace(str(folder / "compiled.pt.trace.json"))
    clock.cause_s = took[0] - sorted(took)[len(took) // 2]


def torch_shared_core(clock: CauseClock, folder: Path) -> None:
    """From the fifteenth step on five other programs run on the processor of this one."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch = torch_base.load_framework()
    model = torch.nn.Sequential(
        torch.nn.Linear(768, 1536), torch.nn.GELU(), torch.nn.Linear(1536, 768)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    values = torch.randn(256, 768)
    others: list[subprocess.Popen[bytes]] = []
    took: list[float] = []

    def step(number: int) -> None:
        before = time.perf_counter()
        if number == 15:
            command = [sys.executable, "-S", "-c", "while True: pass"]
            others.extend(subprocess.Popen(command) for _ in range(5))
        optimizer.zero_grad()
        model(values).square().mean().backward()
        optimizer.step()
        took.append(time.perf_counter() - before)

    try:
        torch_base.profiled_by_schedule(clock, folder, step, active=48)
    finally:
        for other in others:
            other.kill()
            other.wait()
    usual_s = sorted(took[2:15])[6]
    clock.cause_s = sum(spent_s - usual_s for spent_s in took[16:])


# A client that thinks before it asks again.
_CLIENT = """
import os, random, socket, sys, time
dice = random.Random(8)
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
    for _ in range(31):
        time.sleep(dice.uniform(0.05, 0.22))
        server.sendall(os.urandom(4 * 3 * 96 * 96))
        server.recv(8)
"""


def torch_socket_requests(clock: CauseClock, folder: Path) -> None:
    """A server waits for the requests of a client on a socket; frames are recorded."""
    torch = torch_base.load_framework()
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 5, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 64, 3),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 2),
    ).eval()
    length = 4 * 3 * 96 * 96

    def receive_photos(client: socket.socket) -> Any:
        body = bytearray()
        with clock.cause():
            while len(body) < length:
                body += client.recv(65_536)
        return torch.frombuffer(body, dtype=torch.uint8).view(4, 3, 96, 96)

    def answer_one(client: socket.socket) -> None:
        photos = receive_photos(client)
        with torch.profiler.record_function("answer"), torch.inference_mode():
            marks = model(photos.float() / 255).argmax(1)
        client.sendall(bytes(marks.tolist()) * 2)

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        with subprocess.Popen([sys.executable, "-c", _CLIENT, port]), server.accept()[0] as client:
            answer_one(client)
            clock.reset()
            with torch.profiler.profile(with_stack=True) as profiler, clock.wall():
                for _ in range(30):
                    answer_one(client)
            profiler.export_chrome_trace(str(folder / "socket.pt.trace.json"))


def torch_recall_evaluation(clock: CauseClock, folder: Path) -> None:
    """After every sixth step all users are scored against all films, under a label."""
    torch = torch_base.load_framework()
    users, films = torch.nn.Embedding(6_000, 96), torch.nn.Embedding(4_000, 96)
    optimizer = torch.optim.Adagrad([*users.parameters(), *films.parameters()], lr=0.05)
    liked = torch.randint(0, 4_000, (6_000,))
    found: list[float] = []

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def evaluate_recall() -> None:
        hits = 0
        for at in range(0, 6_000, 500):
            best = (users.weight[at : at + 500] @ films.weight.T).topk(10).indices
            hits += int((best == liked[at : at + 500, None]).sum())
        found.append(hits / 6_000)

    def step(number: int) -> None:
        who = torch.randint(0, 6_000, (1024,))
        seen, other = films(liked[who]), films(torch.randint(0, 4_000, (1024,)))
        gap = (users(who) * (seen - other)).sum(1)
        optimizer.zero_grad()
        torch.nn.functional.softplus(-gap).mean().backward()
        optimizer.step()
        if number % 6 == 5:
            with clock.cause(), torch.profiler.record_function("recall@10"):
                evaluate_recall()

    torch_base.profiled_by_schedule(clock, folder, step, active=150)


class Rows:
    """Rows that cost nothing."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, row: int) -> Any:
        dice = random.Random(row)
        return np.array([dice.random() for _ in range(128)], np.float32), row % 10


def torch_respawned_workers(clock: CauseClock, folder: Path) -> None:
    """The worker of the DataLoader is spawned anew for each of the short epochs."""
    torch = torch_base.load_framework()
    loader = torch.utils.data.DataLoader(
        Rows(64 * 20), batch_size=64, num_workers=1, multiprocessing_context="spawn"
    )
    model = torch.nn.Sequential(
        torch.nn.Linear(128, 1024),
        torch.nn.ReLU(),
        torch.nn.Linear(1024, 1024),
        torch.nn.ReLU(),
        torch.nn.Linear(1024, 10),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train(values: Any, labels: Any) -> None:
        for _ in range(2):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(values), labels).backward()
            optimizer.step()

    train(torch.randn(64, 128), torch.arange(64) % 10)
    with torch.profiler.profile() as profiler, clock.wall():
        for _ in range(3):
            with clock.cause():
                batches = iter(loader)
                batch = next(batches)
            while batch is not None:
                train(*batch)
                with clock.cause():
                    batch = next(batches, None)
                profiler.step()
    profiler.export_chrome_trace(str(folder / "epochs.pt.trace.json"))


PROGRAMS = {
    jax_vmap_ensemble: "compute",
    jax_pmap_long_shard: "straggler",
    jax_growing_prompt: "compile",
    jax_unrolled_network: "compile",
    jax_replay_lock: "host_wait",
    torch_accumulated_encoder: "compute",
    torch_resnet_requests: "compute",
    torch_growing_buffer: "concatenation",
    torch_statistics_hooks: "hooks",
    torch_unrolled_cell: "launch",
    torch_first_compile: "compile",
    torch_shared_core: "contention",
    torch_socket_requests: "idle or network",
    torch_recall_evaluation: "recall",
    torch_respawned_workers: "workers",
}
