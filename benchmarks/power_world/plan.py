"""What kind of training a world holds: drawn by its seed, so that no two are alike and each can be
made again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

WATTS = (5.0, 10.0, 20.0, 50.0)
SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)

Style = Literal["keras", "jax", "gpu"]
STYLES: tuple[Style, ...] = ("keras", "jax", "gpu")


@dataclass(frozen=True)
class Burst:
    """Somebody else's work on the machine: nothing of it is in the profile.

    Seconds on the profile's clock.
    """

    start: float
    seconds: float
    watts: float

    @property
    def end(self) -> float:
        return self.start + self.seconds


@dataclass(frozen=True)
class Plan:
    """One training and its machine. Lengths in seconds, powers in watts."""

    seed: int
    style: Style
    epochs: int  # 0: the program knows none
    epoch_s: float  # of an epoch's steps; of all steps where there are no epochs
    step_s: float
    jitter: float  # of a step's length, relative
    devices: int = 1
    tracing_s: float = 2.0  # tracing and compiling in the first step
    validation_s: float = 1.0  # after each epoch
    checkpoint_s: float = 0.0  # a pause after an epoch, or once in the middle
    busy: float = 0.85  # share of a step in which the device (or the computing threads) work
    lead_s: float = 10.0  # of the machine before the profile begins …
    startup_s: float = 2.0  # … the last of them loading libraries and data
    tail_s: float = 8.0  # after it ends
    after_s: float = 0.0  # training that goes on behind the profile's end
    base_w: float = 150.0
    core_w: float = 45.0  # of one busy core
    cores: float = 1.0  # that compute when the host computes
    device_w: float = 220.0  # of each device, above idle
    warming: float = 0.02  # of the dynamic power more when all is warm
    warming_s: float = 25.0
    drift: float = 0.004  # slow wandering of the whole, relative
    noise: float = 0.006  # fast and correlated, relative to the dynamic power
    noise_s: float = 0.1  # how long noise remembers
    throttle: tuple[float, float] | None = (
        None  # (when, how long): the device is slower and draws less
    )
    bursts: tuple[Burst, ...] = ()
    wanted: tuple[tuple[float, float], ...] = field(
        default=()
    )  # (watts, seconds) of the bursts; `make` finds them a place
    unix_s: float = 1_795_000_000.0  # where the profile's zero lies


def plan(seed: int, *, quiet: bool = False, long: bool = False) -> Plan:
    """The world of a seed.

    Bursts of every size and length take turns; `long` is for sensors that need minutes.
    """
    rng = np.random.default_rng([1119, seed])
    style = STYLES[seed % 3]
    epochs = int(rng.choice([0, 1, 2, 3, 4], p=[0.2, 0.15, 0.3, 0.2, 0.15]))
    if style == "jax" and rng.random() < 0.5:
        epochs = 0
    epoch_s = float(np.exp(rng.uniform(np.log(10), np.log(60))))
    total = float(np.clip(epoch_s * max(epochs, 1), 18, 75))
    if long:
        total *= 4
    epoch_s = total / max(epochs, 1)
    step_s = float(np.exp(rng.uniform(np.log(0.005), np.log(1.0))))
    devices = int(rng.choice([1, 1, 2, 4])) if style == "gpu" else 1
    step_s = max(
        step_s, total * devices / 2500
    )  # so that a world of thousands of steps is read in a moment
    turn = seed % (len(WATTS) * len(SECONDS))
    wanted = [(WATTS[turn % len(WATTS)], SECONDS[turn // len(WATTS)])]
    if rng.random() < 0.25:
        wanted.append((float(rng.choice(WATTS)), float(rng.choice(SECONDS))))
    return Plan(
        seed=seed,
        style=style,
        epochs=epochs,
        epoch_s=epoch_s,
        step_s=step_s,
        jitter=float(rng.choice([0.01, 0.05, 0.15])),
        devices=devices,
        tracing_s=float(rng.uniform(0.5, 5.0)),
        validation_s=float(rng.choice([0.0, rng.uniform(0.5, 4.0)])),
        checkpoint_s=float(rng.choice([0.0, rng.uniform(0.3, 3.0)])),
        busy=float(rng.uniform(0.55, 0.97)),
        lead_s=float(rng.uniform(6, 16)),
        startup_s=float(rng.uniform(0.0, 4.0)),
        tail_s=float(rng.uniform(4, 14)),
        after_s=float(rng.choice([0.0, 0.0, 0.0, 0.0, 0.0, rng.uniform(3, 12)])),
        base_w=float(rng.uniform(60, 260)),
        core_w=float(rng.uniform(25, 60)),
        cores=float(rng.choice([1, 1, 2, 4])),
        device_w=float(rng.uniform(80, 320)),
        warming=float(rng.uniform(0, 0.025)),
        warming_s=float(rng.uniform(10, 40)),
        drift=float(rng.uniform(0, 0.005)),
        noise=float(rng.uniform(0.002, 0.01)),
        noise_s=float(np.exp(rng.uniform(-4, 0))),
        throttle=(float(rng.uniform(0.3, 0.7)), float(rng.uniform(3, 8)))
        if style == "gpu" and rng.random() < 0.1
        else None,
        wanted=() if quiet else tuple(wanted),
        unix_s=1_795_000_000.0 + 1000 * seed + float(rng.uniform(0, 1)),
    )
