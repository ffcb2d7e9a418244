"""What thousands of runs cost: report and doctor of all of them, and the list of them on the
screen.
"""

from __future__ import annotations

import sys
from functools import partial

from benchmarks import make_runs
from benchmarks.harness import ROOT, Amount, Table, run_process

SIZE = (200, 50)
TURNS = Amount(1, 3, "turns")


def all_found(runs: int, shown: str) -> bool:
    """Whether the list says that it is whole."""
    return f": {runs:,} runs" in shown and "so far" not in shown


def main() -> None:
    """Report and doctor of all runs, and the list of them on the screen."""
    from tests.e2e.terminal import Terminal, environment

    table = Table(
        "Logdirs of many runs",
        [
            "runs",
            "report --json: CPU s",
            "ms a run",
            "doctor: CPU s",
            "ms a run",
            "list: first picture",
            "list: all runs found",
        ],
    )
    waited: list[str] = []
    for runs in (500, 2_000, 10_000):
        path = make_runs.make(runs)
        cells = [f"{runs:,}"]
        for verb in (["report", "--json"], ["doctor"]):
            if runs > 2_000:
                cells += ["–", "–"]
                continue
            used = [
                run_process([sys.executable, "-m", "powertui", *verb, str(path)])
                for _ in range(TURNS.count)
            ]
            least = min(one.cpu_s for one in used)
            cells += [f"{least:.2f}", f"{least / runs * 1000:.2f}"]
            waited.append(f"{verb[0]} of {runs:,} {min(one.wall_s for one in used):.2f} s")
        env = environment(extra={"PYTHONPATH": str(ROOT)})
        with Terminal(
            [sys.executable, "-m", "powertui", str(path)], size=SIZE, env=env
        ) as terminal:
            terminal.wait_for(r"run_\d{5}", limit=60)
            first = terminal.last_byte - terminal.started
            terminal.wait_for(partial(all_found, runs), limit=120)
            whole = terminal.last_byte - terminal.started
            terminal.press("q")
            terminal.wait_exit()
        table.row(*cells, f"{first:.2f} s", f"{whole:.2f} s")
    table.note(
        f"Least of {TURNS}; of several processes together. By the clock: {', '.join(waited)}."
    )
    table.note(
        "Targets: report and doctor of 2,000 runs within 2 s on four cores, the list of 10,000 "
        "within 1 s."
    )
    table.print()


if __name__ == "__main__":
    main()
