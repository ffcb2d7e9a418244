"""Wrong clocks of power logs: noticed, corrected, doubted, or believed although they are wrong.

Trainings that the rules were not tuned on, each with a log whose clock is right, off by up to an
hour, drifting, or without wall time (`python -m benchmarks.clock_answers --help` for others): each
sensor once beside either form of records. POWERTUI_BENCH_ALL=1 takes each three times; or
POWERTUI_SEEDS=40 so many seeds.
"""

from __future__ import annotations

import os

from benchmarks import clock_answers
from benchmarks.harness import Amount

_FIRST_SEED = 600  # seeds below 600 were looked at while the rules were made
_SEEDS = Amount(8, 24, "seeds")


def main() -> None:
    """Print the tables."""
    asked = os.environ.get("POWERTUI_SEEDS")
    print(f"{asked} seeds" if asked else _SEEDS)
    clock_answers.print_tables(_FIRST_SEED, int(asked or _SEEDS.count))


if __name__ == "__main__":
    main()
