"""A BMC behind a hostile line: which share of the readings survives damaged packets and packets of
somebody else.

The line of tests/bmc/line.py, ten seeds of 37 readings each, timeout 1 s. No reading may be wrong
and no login told as refused.
"""

from __future__ import annotations

import contextlib
import time

from benchmarks.harness import Table
from powertui.errors import AuthenticationFailed
from powertui.sampler.credentials import Secret
from powertui.sampler.source import Options, open_source
from tests.bmc.line import Line
from tests.bmc.rmcpplus import Bmc

SEEDS, READINGS = 10, 37
LINES = (
    ("quiet", 0.0, 0.0),
    ("a stray packet before each answer", 0.0, 1.0),
    ("a bit flipped in 5 % of the packets, both ways", 0.05, 0.0),
    ("a bit flipped in 20 %", 0.2, 0.0),
    ("both: 20 %, and a stray packet each", 0.2, 1.0),
)


def one(seed: int, flip: float, stray: float) -> tuple[int, int, int, int]:
    """(right, wrong, logins told as refused, tries to open)"""
    right = wrong = refused = tries = 0
    with Bmc(line=Line(seed=seed, flip=flip, stray=stray)) as bmc:
        source = open_source(
            f"ipmi://viewer@127.0.0.1:{bmc.port}",
            Options(password=Secret("pw-viewer"), timeout=1.0),
        )
        while not source.channels and tries < 5:
            tries += 1
            try:
                source.open()
            except AuthenticationFailed:
                refused += 1
            except Exception:  # not in time, or an exception that escapes: once more
                continue
        if not source.channels:  # never: then what is measured is how it gets on without the line
            bmc.line = None
            source.open()
            bmc.line = Line(seed=seed, flip=flip, stray=stray)
        for _ in range(READINGS):
            with contextlib.suppress(Exception):  # what escapes costs the reading
                watts = source.read()[0].watts
                right += watts == 245
                wrong += watts not in (245, None)
        source.close()
    return right, wrong, refused, tries


def main() -> None:
    """One row per line."""
    table = Table(
        f"{SEEDS} × {READINGS} readings over a hostile line",
        ["line", "survive", "wrong", "told as refused", "tries to open", "s"],
    )
    for name, flip, stray in LINES:
        begin = time.perf_counter()
        right, wrong, refused, tries = map(
            sum, zip(*(one(seed, flip, stray) for seed in range(SEEDS)), strict=True)
        )
        count, seconds = SEEDS * READINGS, time.perf_counter() - begin
        table.row(
            name,
            f"{right} of {count} ({right / count:.1%})",
            wrong,
            refused,
            f"{tries} for {SEEDS}",
            f"{seconds:.1f}",
        )
    table.print()


if __name__ == "__main__":
    main()
