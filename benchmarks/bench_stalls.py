"""How long the screens stop answering while a run is read, and while two are compared: the longest
pauses of the event loop.

A heartbeat of 2 ms runs inside the real program in a pty, from its first screen until four seconds
after the run stands, or the comparison does.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from benchmarks import make_big
from benchmarks.harness import EXTRA_DATA, ROOT, Amount, Table

EVENTS = 10_000_000
LIMIT_MS = 50
STARTS = Amount(1, 3, "starts")

PROGRAM = """
import asyncio, json, sys, time
from powertui import cli
from powertui.screens.shell import Shell
out, *arguments = sys.argv[1:]
pauses = []
mounted = Shell.on_mount
def on_mount(self):
    mounted(self)
    async def beat():
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.002)
            now = time.perf_counter()
            pauses.append((now - last - 0.002, not self.session.complete))
            last = now
    self.heartbeat = asyncio.get_running_loop().create_task(beat())
Shell.on_mount = on_mount
cli.main(["open", *arguments])
with open(out, "w") as file:
    json.dump(pauses, file)
"""


def pauses(*paths: Path) -> tuple[float, float, int]:
    """(longest pause while reading, longest afterwards, pauses beyond the limit), in ms. Two runs
    are compared as soon as the first of them stands.
    """
    from tests.e2e.terminal import Terminal, environment

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "pauses.json")
        env = environment(extra={"PYTHONPATH": str(ROOT)})
        with Terminal(
            [sys.executable, "-c", PROGRAM, str(out), *map(str, paths)], size=(200, 50), env=env
        ) as terminal:
            terminal.wait_for("host:CPU")
            if len(paths) > 1:
                terminal.write(b"=")
                terminal.wait_for("within noise|cannot tell|differs", limit=300)
            terminal.run(4.0)
            terminal.press("q")
            terminal.wait_exit()
        found = [(1000 * seconds, reading) for seconds, reading in json.loads(out.read_text())]
    reading = max((ms for ms, during in found if during), default=0.0)
    after = max((ms for ms, during in found if not during), default=0.0)
    return reading, after, sum(ms > LIMIT_MS for ms, _ in found)


def main() -> None:
    """Measure and print."""
    table = Table(
        f"Longest pause, worst of {STARTS}",
        ["what", "while reading", "afterwards", f"beyond {LIMIT_MS} ms"],
    )
    profiles = [("demo", [ROOT / "powertui" / "demo" / "data"])]
    if EXTRA_DATA.is_dir():
        profiles.append(("keras_cifar", [EXTRA_DATA / "own" / "keras_cifar"]))
    big = Path(make_big.make(EVENTS))
    profiles.append((f"generated, {EVENTS:,} events", [big]))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "plugins", "profile", "copy", big.name)
        copy.parent.mkdir(parents=True)
        copy.symlink_to(big)
        profiles.append((f"two runs of {EVENTS:,} events, compared", [big, copy]))
        for name, paths in profiles:
            runs = [pauses(*paths) for _ in range(STARTS.count)]
            table.row(
                name,
                f"{max(run[0] for run in runs):.0f} ms",
                f"{max(run[1] for run in runs):.0f} ms",
                sum(run[2] for run in runs),
            )
    table.note(f"Limit: {LIMIT_MS} ms while a run is read.")
    table.print()


if __name__ == "__main__":
    main()
