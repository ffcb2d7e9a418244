"""Three pulses of load that can be found again in any power log: 2 s, 3 s and 5 s with all cores
busy, 3 s of rest around.

The lengths differ so that no shift of the log by one pulse fits. The load is a hash that runs
without the interpreter's lock, in one thread per core: nothing is started and nothing is left
behind.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable

from powertui.cores import usable_cores
from powertui.sampler import clocks
from powertui.sampler.csv_format import BEGIN, END
from powertui.sampler.source import Stamp

__all__ = ["PULSES_S", "REST_S", "pulses"]

PULSES_S = (2.0, 3.0, 5.0)
REST_S = 3.0
_HASH_ROUNDS = 4000  # rounds of the hash between looks at the clock: a few milliseconds


def _burn(seconds: float) -> tuple[Stamp, Stamp]:
    """Keep all cores busy. Returns when that really began and ended."""
    begin = Stamp.now()
    end = begin.mono + seconds

    def work() -> None:
        while clocks.steady_s() < end:
            hashlib.pbkdf2_hmac("sha512", b"power", b"tui", _HASH_ROUNDS)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(usable_cores())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return begin, Stamp.now()


def pulses(mark: Callable[[str, str, Stamp], object]) -> None:
    """Rest, pulse, rest, pulse, rest, pulse, rest; each pulse noted with `mark(text, kind,
    stamp)`.
    """
    time.sleep(REST_S)
    for number, seconds in enumerate(PULSES_S, 1):
        begin, end = _burn(seconds)
        mark(f"pulse {number}", BEGIN, begin)
        mark(f"pulse {number}", END, end)
        time.sleep(REST_S)
