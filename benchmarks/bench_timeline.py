"""The timeline over a terminal: time to the first frame, cost of a key, bytes, and a slow line.

Everything runs as a person would run it: a process of its own in a pty of 200×50 with 256 colours
that answers like a terminal. The slow line is a real sshd on the loopback behind a relay of 1
Mbit/s and 100 ms.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import ASKS_ALL, EXTRA_DATA, ROOT, Amount, Table, asks_all
from benchmarks.make_big import make

SIZE = (200, 50)
BIG = 10_000_000
FRAME_S = 0.09  # without a byte: the frame is drawn, and what a resting view asks for has not begun
REST_S = 0.5
RTT_S, BYTES_PER_S = 0.1, 125_000.0
READY = "whole run"
PRESSES = Amount(4, 12, "presses")
STARTS = Amount(1, 3, "starts")

PLAIN = """
from textual.app import App
from textual.widgets import Static
class Plain(App):
    def compose(self):
        yield Static("whole run")
Plain().run()
"""


@dataclass(frozen=True)
class Case:
    """One thing to look at."""

    name: str
    arguments: Sequence[str]


@dataclass(frozen=True)
class Cost:
    """What one key costs, in the middle of several."""

    cpu_ms: float  # of the frame
    count: int
    last_byte_ms: float
    rest_ms: float = 0.0  # of what is counted when the view rests


def cases() -> list[Case]:
    """The demo, a recording if there is one beside the checkout, and the generated file."""
    found = [Case("demo", ["demo"])]
    keras = EXTRA_DATA / "own" / "keras_cifar"
    if keras.is_dir():
        found.append(Case("keras_cifar", [str(keras)]))
    found.append(Case(f"generated, {BIG:,} events", [str(make(BIG)), "--no-power"]))
    return found


def cpu_s(pid: int) -> float:
    """CPU seconds of a process, to the microsecond: all its threads by the scheduler's account."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return total / 1e9


def open_terminal(arguments: Sequence[str]) -> object:
    """powertui in a terminal."""
    from tests.e2e.terminal import Terminal, environment

    env = environment(extra={"PYTHONPATH": str(ROOT)})
    return Terminal([sys.executable, "-m", "powertui", *arguments], size=SIZE, env=env)


def loaded(text: str) -> bool:
    """Whether the run is shown whole: nothing says how far reading has come."""
    return READY in text and " % of " not in text and "reading" not in text.lower()


def plain_s() -> float:
    """From process start to the first frame of a Textual application with one Static."""
    from tests.e2e.terminal import Terminal, environment

    with Terminal([sys.executable, "-c", PLAIN], size=SIZE, env=environment()) as terminal:
        terminal.wait_for(READY)
        return terminal.last_byte - terminal.started


def first_frames(case: Case) -> tuple[float, float, int]:
    """Seconds to the first picture of the timeline and to the complete one, and all bytes until
    then.
    """
    terminal = open_terminal(case.arguments)
    with terminal:  # type: ignore[attr-defined]
        terminal.wait_for(READY, limit=120)  # type: ignore[attr-defined]
        first = terminal.last_byte - terminal.started  # type: ignore[attr-defined]
        terminal.wait_for(loaded, limit=240)  # type: ignore[attr-defined]
        complete = terminal.last_byte - terminal.started  # type: ignore[attr-defined]
        terminal.settle(0.5)  # type: ignore[attr-defined]
        return first, complete, terminal.total  # type: ignore[attr-defined]


def key_costs(case: Case, wanted: Sequence[str]) -> dict[str, Cost]:
    """What keys cost in the middle of the run, and what idling costs (under "idle")."""
    terminal = open_terminal(case.arguments)
    out: dict[str, Cost] = {}
    with terminal:  # type: ignore[attr-defined]
        terminal.wait_for(loaded, limit=240)  # type: ignore[attr-defined]
        terminal.settle(0.8)  # type: ignore[attr-defined]
        terminal.press("z", "z")  # type: ignore[attr-defined]
        terminal.settle(0.5)  # type: ignore[attr-defined]
        for key in ("w", "w", "w"):
            terminal.press(key)  # type: ignore[attr-defined]
            terminal.settle(0.3)  # type: ignore[attr-defined]
        for key in wanted:
            samples = []
            back = {"d": "a", "a": "d", "w": "s", "s": "w"}.get(key)
            for _ in range(PRESSES.count):
                samples.append(_press(terminal, key))
                if back:
                    _press(terminal, back)
            out[key] = Cost(
                *(statistics.median_high(values) for values in zip(*samples, strict=True))
            )  # type: ignore[arg-type]
        before = terminal.total  # type: ignore[attr-defined]
        terminal.run(3.0)  # type: ignore[attr-defined]
        out["idle"] = Cost(0.0, terminal.total - before, 0.0)  # type: ignore[attr-defined]
    return out


def _press(terminal: object, key: str) -> tuple[float, int, float, float]:
    from tests.e2e.terminal import Terminal

    assert isinstance(terminal, Terminal)
    cpu, count, begin = cpu_s(terminal.pid), terminal.total, time.monotonic()
    terminal.write(key.encode())
    terminal.settle(FRAME_S)
    frame, last = cpu_s(terminal.pid), terminal.last_byte if terminal.total > count else begin
    terminal.settle(REST_S)  # what ran in view is counted after a pause, in a thread
    return (
        (frame - cpu) * 1000,
        terminal.total - count,
        (last - begin) * 1000,
        (cpu_s(terminal.pid) - frame) * 1000,
    )


def slow_line(case: Case) -> tuple[float, float, float]:
    """Over the slow line, in seconds: from releasing D to the last byte; from q to the restored
    screen, idle and with D held.
    """
    from tests.e2e.ssh import Line, Sshd
    from tests.e2e.terminal import Terminal, environment

    with tempfile.TemporaryDirectory() as folder, Sshd(Path(folder) / "sshd") as server:
        lags, quits = [], []
        for held in (False, True):
            with Line(server.port, rtt_s=RTT_S, bytes_per_s=BYTES_PER_S) as line:
                command = server.command(
                    line.port,
                    [sys.executable, "-m", "powertui", *case.arguments],
                    env={"PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
                )
                with Terminal(command, size=SIZE, env=environment()) as terminal:
                    terminal.wait_for(loaded, limit=240)
                    terminal.settle(1.0)
                    for key in ("g", *"wwwwww"):
                        terminal.press(key)
                        terminal.settle(0.6)
                    released = _hold(terminal, "d", 3.0)
                    if not held:
                        terminal.settle(1.5)
                        lags.append(max(0.0, terminal.last_byte - released))
                    begin = time.monotonic()
                    terminal.write(b"q")
                    while (
                        not terminal.eof
                        and terminal.modes.get(1049)
                        and time.monotonic() - begin < 30
                    ):
                        terminal.read(0.01)
                    quits.append(time.monotonic() - begin)
                    terminal.wait_exit()
        return lags[0], quits[0], quits[1]


def _hold(terminal: object, key: str, seconds: float) -> float:
    """Hold a key as keyboards do, thirty times a second; when it was released."""
    from tests.e2e.terminal import Terminal

    assert isinstance(terminal, Terminal)
    begin = due = time.monotonic()
    while time.monotonic() - begin < seconds:
        if time.monotonic() >= due:
            terminal.write(key.encode())
            due += 1 / 30
        terminal.read(0.005)
    return time.monotonic()


def start_table(every: Sequence[Case]) -> None:
    """1. Time to the first frame, and 3. its bytes."""
    table = Table(
        f"From process start to the timeline, {STARTS}",
        ["what", "first picture", "÷ plain app", "complete", "÷ plain app", "bytes until then"],
    )
    plain = statistics.median(plain_s() for _ in range(3))
    table.row("Textual app with one Static", f"{plain:.2f} s", "1.0", "", "", "")
    for case in every:
        runs = [first_frames(case) for _ in range(1 if "generated" in case.name else STARTS.count)]
        first, complete = (statistics.median(run[i] for run in runs) for i in (0, 1))
        table.row(
            case.name,
            f"{first:.2f} s",
            f"{first / plain:.1f}",
            f"{complete:.2f} s",
            f"{complete / plain:.1f}",
            f"{runs[0][2]:,}",
        )
    table.note(
        "Limit: first frame at most 40,000 bytes. A large file is shown in parts while it is "
        "read: here all their bytes count."
    )
    table.print()


def key_table(every: Sequence[Case]) -> None:
    """2. What keys cost, and 3. their bytes."""
    table = Table(
        f"One key at 200×50, 256 colours, median of {PRESSES}",
        [
            "what",
            "pan: CPU",
            "bytes",
            "key → last byte",
            "zoom: CPU",
            "bytes",
            "key → last byte",
            "cursor: bytes",
            "idle 3 s: bytes",
        ],
    )
    sizes: dict[int, dict[str, Cost]] = {}
    for case in every:
        costs = key_costs(case, ("d", "w", "j"))
        if "generated" in case.name:
            sizes[BIG] = costs
        cells = [
            f"{x.cpu_ms:.1f} ms|{x.count:,}|{x.last_byte_ms:.0f} ms"
            for x in (costs["d"], costs["w"])
        ]
        table.row(
            case.name,
            *cells[0].split("|"),
            *cells[1].split("|"),
            f"{costs['j'].count:,}",
            costs["idle"].count,
        )
    table.note("Limits: pan at most 5,000 bytes, zoom 15,000, cursor move at most 2,000, idle 0.")
    table.print()
    growth = Table(
        f"The same key on more events, median of {PRESSES}",
        [
            "events",
            "pan: CPU",
            "÷ smallest",
            "zoom: CPU",
            "÷ smallest",
            "counted when the view rests: CPU",
            "pan: bytes",
        ],
    )
    for events in (100_000, 1_000_000):
        sizes[events] = key_costs(Case("", [str(make(events)), "--no-power"]), ("d", "w"))
    base = sizes[100_000]
    for events in sorted(sizes):
        cost = sizes[events]
        growth.row(
            f"{events:,}",
            f"{cost['d'].cpu_ms:.1f} ms",
            f"{cost['d'].cpu_ms / base['d'].cpu_ms:.2f}",
            f"{cost['w'].cpu_ms:.1f} ms",
            f"{cost['w'].cpu_ms / base['w'].cpu_ms:.2f}",
            f"{cost['d'].rest_ms:.0f} ms",
            f"{cost['d'].count:,}",
        )
    growth.note(
        "Target: a frame costs the same for 0.1 and for 10 million events, ratio at most 1.5."
    )
    growth.note("What is counted at rest goes over the events in view, in a thread.")
    growth.print()


def line_table(every: Sequence[Case]) -> None:
    """4. A slow line."""
    from tests.e2e.ssh import find_sshd

    if find_sshd() is None:
        print("\n(no sshd here: the slow line was not measured)")
        return
    table = Table(
        "Over sshd at 1 Mbit/s and 100 ms",
        ["what", "D held 3 s: release → last byte", "q → screen restored", "q while D is held"],
    )
    for case in every if asks_all() else every[-1:]:
        lag, quit_s, quit_held = slow_line(case)
        table.row(case.name, f"{lag:.2f} s", f"{quit_s:.2f} s", f"{quit_held:.2f} s")
    table.note("Targets: last frame within 0.7 s of releasing, q within 0.5 s at any time.")
    if not asks_all():
        table.note(f"One of {len(every)}; {ASKS_ALL}=1 for all. `lines` has the demo on two lines.")
    table.print()


def main() -> None:
    """All tables."""
    sys.path.insert(0, str(ROOT))
    every = cases()
    start_table(every)
    key_table(every)
    line_table(every)


if __name__ == "__main__":
    main()
