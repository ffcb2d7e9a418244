"""`python -m benchmarks.power_world FOLDER`: one world with all its sensors and its truth, for a
person to look at.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.power_world import SENSORS, make, plan, record, write, write_log
from benchmarks.power_world.training import TICK


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.power_world", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="without bursts")
    args = parser.parse_args()
    world = make(plan(args.seed, quiet=args.quiet))
    write(world, args.folder)
    for name, model in SENSORS.items():
        taken = record(world, model, args.seed)
        for form in ("wall", "relative", "labelled"):
            write_log(
                taken,
                args.folder / "sensors" / f"{name.replace(' ', '_').replace(',', '')}.{form}.csv",
                form,
            )
    unix = world.plan.unix_s
    events = [["burst_start", unix + one.start, one.watts, one.seconds] for one in world.bursts]
    (args.folder / "truth_events.json").write_text(json.dumps(events))
    rows = np.column_stack(
        [unix + world.begin + np.arange(1, len(world.watts) + 1) * TICK, world.watts]
    )[::10]
    np.savetxt(
        args.folder / "truth_watts.csv",
        rows,
        fmt=("%.4f", "%.2f"),
        delimiter=",",
        header="true_unix_s,true_w",
        comments="",
    )
    print(f"{args.folder}: {world.plan}")


if __name__ == "__main__":
    main()
