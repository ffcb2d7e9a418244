"""Programs with the real profiler servers of TensorFlow and JAX, and one of PyTorch, for tests and
benchmarks on machines that have the packages.

The packages are too large to install for every run of the tests (0.6, 1.5 and 5 GB, minutes). An
interpreter that has them is looked for in $POWERTUI_JAX_PYTHON, $POWERTUI_TF_PYTHON and
$POWERTUI_TORCH_PYTHON, in ~/.cache/powertui-jax, ~/.cache/powertui-tf and ~/.cache/powertui-torch,
and in the one that runs the tests:

    python3 -m venv ~/.cache/powertui-jax && ~/.cache/powertui-jax/bin/pip install 'jax[cpu]'
    python3 -m venv ~/.cache/powertui-tf && ~/.cache/powertui-tf/bin/pip install tensorflow-cpu
    tensorboard python3 -m venv ~/.cache/powertui-torch && ~/.cache/powertui-torch/bin/pip install
    torch numpy

Each program marks moments that it reads from the machine's clock, "unix NANOSECONDS", so that it
can be said how far the profile's clock is from that.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import TracebackType

JAX = """
import sys, time
import jax, jax.numpy as jnp
jax.profiler.start_server(int(sys.argv[1]))
step = jax.jit(lambda a: jnp.tanh(a @ a) / 400)
x = step(jnp.ones((400, 400))).block_until_ready()
print("up", flush=True)
for number in range(10**9):
    with jax.profiler.StepTraceAnnotation("train", step_num=number):
        x = step(x).block_until_ready()
    with jax.profiler.TraceAnnotation(f"unix {time.time_ns()}"):
        time.sleep(0.005)
"""
TENSORFLOW = """
import os, sys, time
os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="2")
import numpy as np, tensorflow as tf
tf.profiler.experimental.server.start(int(sys.argv[1]))
model = tf.keras.Sequential([tf.keras.layers.Input((64,)), tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(10)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = np.random.rand(512, 64).astype("f"), np.random.randint(0, 10, 512)
model.fit(x, y, batch_size=64, verbose=0)
print("up", flush=True)
while True:
    model.fit(x, y, batch_size=64, verbose=0)
    with tf.profiler.experimental.Trace(f"unix {time.time_ns()}"):
        time.sleep(0.005)
"""
TORCH = """
import time
import torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for number in range(10**9):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(torch.randn(64, 64)), torch.randint(0, 10, (64,)))
    loss.backward()
    optimizer.step()
    with torch.profiler.record_function(f"unix {time.time_ns()}"):
        time.sleep(0.005)
    if number == 3:
        print("up", flush=True)
"""
PYTORCH = ("torch", "POWERTUI_TORCH_PYTHON", "powertui-torch")
PROGRAMS = {
    "jax": ("jax", "POWERTUI_JAX_PYTHON", "powertui-jax", JAX),
    "tensorflow": ("tensorflow", "POWERTUI_TF_PYTHON", "powertui-tf", TENSORFLOW),
}


def _known(name: str) -> tuple[str, str, str]:
    """The package, the variable and the folder that may name an interpreter with it."""
    return PYTORCH if name == "torch" else PROGRAMS[name][:3]


@cache
def interpreter(name: str) -> str:
    """The Python that has this package; "" when none is known."""
    package, variable, folder = _known(name)
    places = [
        os.environ.get(variable, ""),
        str(Path.home() / ".cache" / folder / "bin/python"),
        sys.executable,
    ]
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    found = (place for place in places if place and Path(place).exists())
    return next(
        (
            place
            for place in found
            if not subprocess.run([place, "-I", "-c", look], check=False).returncode
        ),
        "",
    )


def why_not(name: str) -> str:
    """Why it cannot be run here; "" when it can."""
    package, variable, folder = _known(name)
    return (
        ""
        if interpreter(name)
        else f"no interpreter with {package}: name one in ${variable}, or make ~/.cache/{folder}"
    )


class Program:
    """One of them, running; its server listens on `port`."""

    def __init__(self, name: str, *, uid: int | None = None) -> None:
        self.name, self.uid = name, uid

    def __enter__(self) -> Program:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        become = (
            f"import os; os.setgid({self.uid}); os.setuid({self.uid})\n"
            if self.uid is not None
            else ""
        )
        program = PROGRAMS[self.name][3].replace(
            'print("up"', become + 'print("up"'
        )  # its packages may be for others alone
        words = [interpreter(self.name), "-I", "-c", program, str(self.port)]
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "up\n":
            self.process.wait()
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}")
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def clock_errors_s(folder: Path) -> list[float]:
    """For every marked moment of a session: where power that was recorded then is placed, less
    where the mark lies in the trace.
    """
    from powertui.data import logdir
    from powertui.data.energy import account
    from powertui.data.opened import Opened

    (profile,) = Opened(logdir.scan(str(folder)).runs[0]).profiles
    found = account.energy_account(profile)
    power = found.channels[0]
    zero_ns = power.series.clock.mid_ns
    errors = []
    for _, track in profile.trace.tracks():
        for start, name in zip(
            track.events.start.tolist(), track.events.name.tolist(), strict=True
        ):
            text = profile.trace.names.full(name)
            if text.startswith("unix ") and text[5:].isdigit():
                errors.append((power.offset_ps + (int(text[5:]) - zero_ns) * 1000 - start) / 1e12)
    return errors
