"""`python -m benchmarks [topic …]`: run all benchmarks, or those named (scan, timeline,
power …).
"""

from __future__ import annotations

import importlib
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
        print(f"\n## {topic}", flush=True)
        try:
            importlib.import_module(f"benchmarks.bench_{topic}").main()
        except Exception as error:
            failed.append(topic)
            print(f"\n**failed**: {type(error).__name__}: {error}", flush=True)
        print(f"\n({topic}: {time.perf_counter() - begin:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
