"""PyTorch on the host's processors, with torch.profiler."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.causes import work
from scripts.causes.truth import CauseClock

STEPS = 20


def load_framework() -> Any:
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(1)
    return torch


def profiled(
    clock: CauseClock,
    folder: Path,
    step: Callable[[int], None],
    *,
    steps: int = STEPS,
    with_stack: bool = False,
) -> None:
    """One iteration is one ProfilerStep, with all that lies between two calls of step()."""
    torch = load_framework()
    from torch.profiler import ProfilerActivity, profile

    step(0)
    clock.cause_s = 0.0
    with (
        profile(activities=[ProfilerActivity.CPU], with_stack=with_stack) as profiler,
        clock.wall(),
    ):
        for number in range(steps):
            step(number)
            profiler.step()
    profiler.export_chrome_trace(str(folder / "host_1.1700000000000.pt.trace.json"))
    del torch


def profiled_by_schedule(
    clock: CauseClock,
    folder: Path,
    step: Callable[[int], None],
    *,
    active: int,
    use_gzip: bool = False,
    **options: bool,
) -> None:
    """As tutorials do it: one step to wait, one to warm up, and a handler that writes the trace."""
    torch = load_framework()
    profiler = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=active, repeat=1),
        on_trace_ready=torch.profiler.tensorboard_trace_handler(str(folder), use_gzip=use_gzip),
        **options,
    )
    with profiler:
        for number in range(2):
            step(number)
            profiler.step()
        clock.reset()
        with clock.wall():
            for number in range(2, active + 1):
                step(number)
                profiler.step()
            step(active + 1)
        profiler.step()


def make_model(torch: Any, width: int = 64) -> tuple[Any, Any]:
    model = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)
    )
    return model, torch.optim.Adam(model.parameters())


def train(model: Any, optimizer: Any, batch: Any) -> Any:
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def torch_compute(clock: CauseClock, folder: Path) -> None:
    """Large layers, eagerly."""
    torch = load_framework()
    model, optimizer = make_model(torch, 1024)
    batch = torch.randn(512, 1024)
    profiled(clock, folder, lambda _: train(model, optimizer, batch) and None)
    clock.cause_s = clock.wall_s


def torch_accumulation(clock: CauseClock, folder: Path) -> None:
    """Four micro-batches a step."""
    torch = load_framework()
    model, optimizer = make_model(torch, 768)
    batch = torch.randn(512, 768)

    def step(_: int) -> None:
        optimizer.zero_grad()
        for _ in range(4):
            model(batch).square().mean().backward()
        optimizer.step()

    profiled(clock, folder, step, steps=12)
    clock.cause_s = clock.wall_s


def _loading(clock: CauseClock, folder: Path, *, workers: int, with_stack: bool) -> None:
    torch = load_framework()

    class SlowImages(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        """Reads an image slowly."""

        def __len__(self) -> int:
            return 1_000

        def __getitem__(self, index: int) -> Any:
            time.sleep(0.006)
            return torch.randn(64)

    loader = torch.utils.data.DataLoader(SlowImages(), batch_size=8, num_workers=workers)
    batches = iter(loader)
    model, optimizer = make_model(torch)

    def step(_: int) -> None:
        with clock.cause():
            batch = next(batches)
        train(model, optimizer, batch)

    profiled(clock, folder, step, with_stack=with_stack)


def torch_loader(clock: CauseClock, folder: Path) -> None:
    """A DataLoader without workers."""
    _loading(clock, folder, workers=0, with_stack=False)


def torch_loader_workers(clock: CauseClock, folder: Path) -> None:
    """A DataLoader with one worker, which is too slow."""
    _loading(clock, folder, workers=1, with_stack=False)


def torch_loader_stack(clock: CauseClock, folder: Path) -> None:
    """A DataLoader without workers; frames are recorded."""
    _loading(clock, folder, workers=0, with_stack=True)


def _preprocessing(clock: CauseClock, folder: Path, *, with_stack: bool) -> None:
    torch = load_framework()
    model, optimizer = make_model(torch)
    batch = torch.randn(64, 64)

    def step(_: int) -> None:
        with clock.cause():
            work.augment_images(80)
        train(model, optimizer, batch)

    profiled(clock, folder, step, with_stack=with_stack, steps=12)


def torch_python_frames(clock: CauseClock, folder: Path) -> None:
    """Python prepares the batch; its frames are recorded."""
    _preprocessing(clock, folder, with_stack=True)


def torch_python_unseen(clock: CauseClock, folder: Path) -> None:
    """Python prepares the batch; nothing of it is recorded."""
    _preprocessing(clock, folder, with_stack=False)


def torch_tiny_ops(clock: CauseClock, folder: Path) -> None:
    """Thousands of tiny ops."""
    torch = load_framework()
    value = torch.ones(4, 4)

    def step(_: int) -> None:
        with clock.cause():
            total = value
            for _ in range(1500):
                total = total * 0.5 + value

    profiled(clock, folder, step, steps=10)


def torch_copies(clock: CauseClock, folder: Path) -> None:
    """Large tensors are copied and laid out anew."""
    torch = load_framework()
    model, optimizer = make_model(torch)
    batch, table = torch.randn(64, 64), torch.randn(2500, 2500)

    def step(_: int) -> None:
        with clock.cause():
            for _ in range(3):
                table.t().contiguous()
                table.clone()
                table.to(torch.float64)
        train(model, optimizer, batch)

    profiled(clock, folder, step)


def torch_slow_step(clock: CauseClock, folder: Path) -> None:
    """One step waits for two seconds."""
    torch = load_framework()
    model, optimizer = make_model(torch, 512)
    batch = torch.randn(256, 512)

    def step(number: int) -> None:
        if number == 14:
            with clock.cause():
                time.sleep(2)
        train(model, optimizer, batch)

    profiled(clock, folder, step)


def _collecting(clock: CauseClock, folder: Path, *, with_stack: bool) -> None:
    torch = load_framework()
    model, optimizer = make_model(torch, 128)
    batch = torch.randn(64, 128)
    garbage = work.make_garbage(4_000_000)

    def step(number: int) -> None:
        if number == 7:
            with clock.cause():
                work.collect_garbage()
        train(model, optimizer, batch)

    profiled(clock, folder, step, with_stack=with_stack)
    del garbage


def torch_gc_pause(clock: CauseClock, folder: Path) -> None:
    """Garbage is collected in one step; no frames."""
    _collecting(clock, folder, with_stack=False)


def torch_gc_stack(clock: CauseClock, folder: Path) -> None:
    """Garbage is collected in one step; frames are recorded."""
    _collecting(clock, folder, with_stack=True)


def torch_checkpoint(clock: CauseClock, folder: Path) -> None:
    """The model is saved after every fifth step; frames are recorded."""
    import os

    torch = load_framework()
    model, optimizer = make_model(torch, 800)
    batch = torch.randn(4, 800)

    def step(number: int) -> None:
        train(model, optimizer, batch)
        if number % 5 == 4:
            with clock.cause(), (folder / "checkpoint.pt").open("wb") as file:
                for _ in range(4):
                    torch.save([model.state_dict(), optimizer.state_dict()], file)
                    file.flush()
                    os.fsync(file.fileno())

    profiled(clock, folder, step, with_stack=True)


def torch_evaluation(clock: CauseClock, folder: Path) -> None:
    """An evaluation after every fifth step, inside the profiler's step."""
    torch = load_framework()
    model, optimizer = make_model(torch, 512)
    batch, held_out = torch.randn(32, 512), torch.randn(2048, 512)

    def step(number: int) -> None:
        train(model, optimizer, batch)
        if number % 5 == 4:
            with clock.cause(), torch.profiler.record_function("evaluate"), torch.no_grad():
                for _ in range(15):
                    model(held_out).sum()

    profiled(clock, folder, step)


def torch_recompiling(clock: CauseClock, folder: Path) -> None:
    """torch.compile meets a new shape in every step."""
    torch = load_framework()
    model, _ = make_model(torch)
    compiled = torch.compile(model, dynamic=False)
    torch._dynamo.config.cache_size_limit = 64
    torch._dynamo.config.recompile_limit = 64
    seen = [0]

    def step(_: int) -> None:
        seen[0] += 1
        with clock.cause():
            compiled(torch.randn(8 + seen[0], 64))

    profiled(clock, folder, step, steps=3)


def torch_compiled(clock: CauseClock, folder: Path) -> None:
    """torch.compile, computing."""
    torch = load_framework()
    model, _ = make_model(torch, 1024)
    compiled = torch.compile(model)
    batch = torch.randn(512, 1024)

    def step(_: int) -> None:
        compiled(batch).square().mean().backward()

    profiled(clock, folder, step)
    clock.cause_s = clock.wall_s


PROGRAMS = {
    torch_compute: "compute",
    torch_accumulation: "compute",
    torch_loader: "input",
    torch_loader_workers: "input",
    torch_loader_stack: "input",
    torch_python_frames: "python_frames",
    torch_python_unseen: "python_unseen",
    torch_tiny_ops: "launch",
    torch_copies: "copies",
    torch_slow_step: "pause",
    torch_gc_pause: "pause",
    torch_gc_stack: "gc",
    torch_checkpoint: "checkpoint",
    torch_evaluation: "validation",
    torch_recompiling: "compile",
    torch_compiled: "compute",
}
