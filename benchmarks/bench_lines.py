"""Slow lines: the first picture, a key after `d` was held, and leaving, over a real sshd behind a
relay.

100 ms and 1 Mbit/s are a line across a country, 300 ms and 64 kbit/s a bad mobile one across an
ocean.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import ROOT, Amount, Table

SIZES = ((80, 24), (200, 50))
HELD = 60  # presses of `d`
PRESSES_A_S = 30  # as keyboards repeat
QUIET_S = 1.5  # without a byte: longer than the longest round trip and what stands in the queue
TURNS = Amount(1, 3, "visits")


class SlowLine(NamedTuple):
    """A line as its two figures."""

    name: str
    rtt_s: float
    bytes_per_s: float


LINES = (SlowLine("100 ms, 1 Mbit/s", 0.1, 125_000.0), SlowLine("300 ms, 64 kbit/s", 0.3, 8_000.0))


class Waits(NamedTuple):
    """Seconds that a person waits, and bytes of the first picture."""

    first_s: float
    bytes: float
    key_s: float
    quit_s: float


def waits(line: SlowLine, size: tuple[int, int]) -> Waits:
    """One visit to the demo: look, walk far to the right, one key more, leave."""
    from tests.e2e.ssh import Line, Sshd
    from tests.e2e.terminal import Terminal, environment

    with (
        tempfile.TemporaryDirectory() as folder,
        Sshd(Path(folder) / "sshd") as server,
        Line(server.port, rtt_s=line.rtt_s, bytes_per_s=line.bytes_per_s) as slow,
    ):
        command = server.command(
            slow.port,
            [sys.executable, "-m", "powertui", "demo"],
            env={"PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
        )
        with Terminal(command, size=size, env=environment()) as terminal:
            terminal.wait_for("whole run", limit=120)
            terminal.settle(QUIET_S)  # the line at the top comes before the rest of the picture
            first_s, sent = terminal.last_byte - terminal.started, terminal.total
            terminal.press("g", *"wwwwww")
            terminal.settle(QUIET_S)
            for _ in range(HELD):
                terminal.write(b"d")
                terminal.run(1 / PRESSES_A_S)
            begin = time.monotonic()
            terminal.write(b"a")
            terminal.settle(QUIET_S)
            key_s = max(0.0, terminal.last_byte - begin)
            begin = time.monotonic()
            terminal.write(b"q")
            while not terminal.eof and terminal.modes.get(1049):
                terminal.read(0.01)
            quit_s = time.monotonic() - begin
            terminal.wait_exit()
    return Waits(first_s, sent, key_s, quit_s)


def main() -> None:
    """Each line at each size, the median of several visits."""
    sys.path.insert(0, str(ROOT))
    from tests.e2e.ssh import find_sshd

    if find_sshd() is None:
        print("\n(no sshd here: slow lines were not measured)")
        return
    table = Table(
        f"The demo over sshd on slow lines, medians of {TURNS}",
        ["line", "size", "first picture", "its bytes", f"a key after {HELD} × d", "q → restored"],
    )
    for line in LINES:
        for size in SIZES:
            visits = [waits(line, size) for _ in range(TURNS.count)]
            middle = Waits(*map(statistics.median, zip(*visits, strict=True)))
            table.row(
                line.name,
                f"{size[0]}×{size[1]}",
                f"{middle.first_s:.2f} s",
                f"{middle.bytes:,.0f}",
                f"{middle.key_s:.2f} s",
                f"{middle.quit_s:.2f} s",
            )
    table.note("The first picture holds ssh's own greeting: eight to ten round trips.")
    table.print()


if __name__ == "__main__":
    main()
