"""`python -m benchmarks [topic …]`: run all benchmarks, or those named (scan, timeline,
power …).
"""

from __future__ import annotations

import importlib
import os
import sys
import time

from benchmarks.harness import ROOT, machine
from powertui.dependencies import one_thread

# As powertui itself starts numpy. On a busy machine the threads of small products wait
# for one another, and a cell of `compare_held_out` did not end.
one_thread()


def main() -> int:
    """Run each bench_*.py in turn; one that fails is said and does not stop the others."""
    topics = sys.argv[1:] or sorted(
        p.stem.removeprefix("bench_") for p in (ROOT / "benchmarks").glob("bench_*.py")
    )
    print(f"## {machine()}")
    failed = []
    for topic in topics:
        begin = time.perf_counter()
        cpu_begin = _cpu_s()
        print(f"\n## {topic}", flush=True)
        try:
            importlib.import_module(f"benchmarks.bench_{topic}").main()
        except Exception as error:
            failed.append(topic)
            print(f"\n**failed**: {type(error).__name__}: {error}", flush=True)
        took_s = time.perf_counter() - begin
        print(f"\n({topic}: {took_s:.0f} s, {_cpu_s() - cpu_begin:.0f} CPU s)", flush=True)
    return 1 if failed else 0


def _cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended: what a topic takes, however
    busy the machine is.
    """
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


if __name__ == "__main__":
    raise SystemExit(main())
