"""Record three trainings again and again, those with a slower op in turns with the others.

python -m scripts.repeats FOLDER [TURNS]

A letter of TURNS is a run: a without a slower op, b and c with one (`programs.py`).
Runs that are there already are kept. Each run has a power log beside it: what a board's controller
would publish of a machine that draws 150 W and 60 W for each busy processor, as a mean of 0.5 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from scripts.repeats.programs import PROGRAMS

# Ten without the slower op, so that they can be split into five and five, and five with it.
TURNS = "abaabaabaabaaba"
RECORDED = "recorded.json"
_IDLE_W, _CORE_W = 150.0, 60.0
_SENSOR_S = 0.5
_MARGIN_S = 2.0  # of the power log on either side of the program


def main() -> int:
    """Exit code 1 where a program fails."""
    root = Path(sys.argv[1])
    turns = sys.argv[2] if len(sys.argv) > 2 else TURNS
    for name in PROGRAMS:
        for turn, side in enumerate(turns):
            folder = root / name / f"{turn:02}{side}"
            if not (folder / RECORDED).exists() and not _recorded(name, folder, side):
                return 1
    return 0


def _recorded(name: str, folder: Path, side: str) -> bool:
    folder.mkdir(parents=True, exist_ok=True)
    start_s, load = time.time(), os.getloadavg()[0]
    slower = str("abc".index(side))
    words = [sys.executable, "-m", "scripts.repeats.programs", name, str(folder), slower]
    with _PowerLog(folder / "power.csv"):
        ended = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
        )
    if ended.returncode:
        print(f"{folder}: {ended.stderr.strip()[-400:]}", file=sys.stderr)
        return False
    facts = {"start_unix_s": start_s, "load": [load, os.getloadavg()[0]]}
    (folder / RECORDED).write_text(json.dumps(facts))
    print(f"{folder}: {time.time() - start_s:.0f} s, load {load:.1f}", flush=True)
    return True


class _PowerLog:
    """Watts by the processors' busy time, while the block runs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> None:
        self._thread.start()
        time.sleep(_MARGIN_S)

    def __exit__(self, *_: object) -> None:
        time.sleep(_MARGIN_S)
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        rows = ["time_unix_s,watts\n"]
        at_s, busy_s = time.time(), _busy_s()
        while not self._stop.wait(_SENSOR_S):
            now_s, now_busy_s = time.time(), _busy_s()
            watts = _IDLE_W + _CORE_W * (now_busy_s - busy_s) / (now_s - at_s)
            rows.append(f"{now_s:.3f},{watts:.1f}\n")
            at_s, busy_s = now_s, now_busy_s
        self._path.write_text("".join(rows))


def _busy_s() -> float:
    """Of all processors, since the machine was started."""
    user, nice, system = Path("/proc/stat").read_text().split(maxsplit=4)[1:4]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
