"""A training of some minutes: scalars every ten steps, power every second, a few short profiles in
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .tfevents import write_scalars
from .xplane import Event, Line, Plane, encode

BEGIN = 1_700_000_000.0  # Unix time at which training began
EPOCHS, STEPS, STEP_S, VALIDATION_S = 4, 300, 0.1, 5.0
EPOCH_S = STEPS * STEP_S + VALIDATION_S
LEAD_S = 20.0  # of power before and after
SESSION_S = 2.0
SESSIONS = (40.0, 110.0)  # s after the beginning
MS = 1_000_000_000


def _task_environment(start_s: float) -> Plane:
    start, stop = round(start_s * 1e9), round((start_s + SESSION_S) * 1e9)
    return Plane(
        "Task Environment", [], stats={"profile_start_time": start, "profile_stop_time": stop}
    )


def profile(start_s: float) -> bytes:
    """Steps of 100 ms with an op in each, on one thread."""
    names = ("Conv2D", "MatMul", "Relu", "Wait")
    steps = round(SESSION_S / STEP_S)
    events = [
        Event("train_step", i * 100 * MS, 95 * MS, {"step_num": 1000 + i}) for i in range(steps)
    ]
    ops = [Event(names[(i // 3) % 4], i * 33 * MS, 30 * MS) for i in range(steps * 3)]
    host = Plane("/host:CPU", [Line("python", events, 1), Line("worker", ops, 2)])
    return encode([host, _task_environment(start_s)])


def long_training(
    folder: Path, sessions: Sequence[float] = SESSIONS, *, burst: tuple[float, float] = (45.0, 55.0)
) -> Path:
    """Made below `folder`: `train/`, `validation/`, `plugins/profile/` and `power.csv`.

    `burst`: +60 W from when to when.
    """
    rows = []
    epochs = []
    for epoch in range(EPOCHS):
        begin = BEGIN + epoch * EPOCH_S
        for step in range(10, STEPS + 1, 10):
            rows.append(
                (
                    begin + step * STEP_S,
                    epoch * STEPS + step,
                    "batch_loss",
                    2.0 / (1 + epoch + step / STEPS),
                )
            )
        rows.append((begin + EPOCH_S, epoch, "epoch_loss", 2.0 / (2 + epoch)))
        epochs.append((begin + EPOCH_S - 0.01, epoch, "epoch_loss", 2.1 / (2 + epoch)))
    write_scalars(folder / "train" / "events.out.tfevents.1700000000.vm.77.0.v2", rows, BEGIN)
    write_scalars(
        folder / "validation" / "events.out.tfevents.1700000030.vm.77.1.v2", epochs, BEGIN
    )
    for number, at in enumerate(sessions):
        path = folder / "train" / "plugins" / "profile" / f"session_{number}" / "vm.xplane.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(profile(BEGIN + at))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "power.csv").write_text(
        "time_unix_s,watts\n" + "".join(f"{at:.1f},{watts}\n" for at, watts in _power(burst))
    )
    return folder


def two_trainings(folder: Path) -> Path:
    """A folder with two trainings; the second has one profile session."""
    long_training(folder / "one")
    long_training(folder / "two", sessions=(40.0,))
    return folder


def _power(burst: tuple[float, float]) -> list[tuple[float, int]]:
    out = []
    at = -LEAD_S
    while at < EPOCHS * EPOCH_S + LEAD_S:
        inside = 0 <= at < EPOCHS * EPOCH_S
        watts = 150 if not inside else 210 if at % EPOCH_S < STEPS * STEP_S else 165
        noise = int(at * 7919) % 13 - 6  # a sensor whose value changes with every reading
        out.append((BEGIN + at, watts + noise + (60 if burst[0] <= at < burst[1] else 0)))
        at += 1.0
    return out
