"""Makes a logdir of many runs, as a year of trainings leaves it: each with a small profile,
scalars, and for some a power log.

    python -m benchmarks.make_runs [RUNS]      (default 2,000) → benchmarks/generated/runs_RUNS/…

One profile of six steps is written for all of them; hosts, times and scalars differ.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from benchmarks.harness import GENERATED

POWER = 20  # every so many runs have a power log beside them


def make(runs: int = 2000) -> Path:
    """The logdir with so many runs; made only once."""
    from tests.synthetic import xplane
    from tests.synthetic.tfevents import write_scalars

    root = GENERATED / f"runs_{runs}"
    if root.is_dir():
        return root
    unfinished = GENERATED / f"runs_{runs}.part"
    shutil.rmtree(unfinished, ignore_errors=True)
    ms = 10**9
    events = [
        xplane.Event("train", i * 20 * ms, 18 * ms, {"step_num": i, "_r": 1}) for i in range(6)
    ]
    events += [xplane.Event(f"op_{i % 40}/MatMul:MatMul", i * ms // 2, ms // 4) for i in range(240)]
    profile = xplane.encode([xplane.Plane("/host:CPU", [xplane.Line("python", events)])])
    for number in range(runs):
        second = 1_700_000_000 + 600 * number
        day = time.strftime("%Y_%m_%d_%H_%M_%S", time.gmtime(second))
        home = unfinished / "trainings" / f"run_{number:05}"
        folder = home / "plugins" / "profile" / day
        folder.mkdir(parents=True)
        (folder / f"node{number % 8}.xplane.pb").write_bytes(profile)
        points = [
            (second - 30.0 + 10 * epoch, epoch, "epoch_loss", 1 / (1 + epoch)) for epoch in range(3)
        ]
        write_scalars(
            home / "train" / f"events.out.tfevents.{second}.node.1.0.v2", points, second - 60.0
        )
        if number % POWER == 0:
            rows = "".join(f"{second - 40 + i},{200 + i % 7}\n" for i in range(60))
            (home / "power.csv").write_text("timestamp,power_w\n" + rows)
    unfinished.rename(root)
    return root


def main() -> None:
    """Make one and say where it lies."""
    runs = int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else 2000
    print(make(runs))


if __name__ == "__main__":
    main()
