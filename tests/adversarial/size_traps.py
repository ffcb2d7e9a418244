"""`python -m tests.adversarial.size_traps [WORD …]`: every shape of sizes.py at its full size, read
by the real program.

Each file is read by a process of its own that may take so much address space and so many seconds. A
row a shape: bytes of the file, CPU seconds, peak memory, how much was printed, and what the program
said.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.adversarial import sizes

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Reading:
    """What it took to read one file."""

    status: int  # the exit code; negative for a signal
    cpu_s: float
    peak_bytes: int
    printed: str
    errors: str


def read(
    path: Path, verb: Sequence[str], address_space: int, seconds: int, program: Path = ROOT
) -> Reading:
    """Read this file or folder with the real program, in a process that is ended after so many
    seconds of a processor.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        child = subprocess.Popen(
            [sys.executable, "-m", "powertui", *verb, str(path)],
            stdout=printed,
            stderr=errors,
            cwd=program,
            env=environment,
            preexec_fn=limit,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        errors.seek(0)
        cpu_s = used.ru_utime + used.ru_stime
        return Reading(
            child.returncode, cpu_s, used.ru_maxrss * 1024, printed.read(), errors.read()
        )


def size_of(path: Path) -> int:
    """Bytes of a file; of a folder nothing."""
    return path.stat().st_size if path.is_file() else 0


def said(reading: Reading) -> str:
    """The message, or the first line of an answer."""
    lines = [line for line in (reading.errors or reading.printed).splitlines() if line.strip()]
    if "Traceback" in reading.errors:
        return f"TRACEBACK {lines[-1][:200]}"
    return " / ".join(lines[:2])[:240]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "words", nargs="*", help="shapes whose names contain one of these; all without"
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the full size")
    parser.add_argument("--verb", default="report", help="with its options")
    parser.add_argument(
        "--memory", type=float, default=6.0, metavar="GIB", help="address space of each process"
    )
    parser.add_argument("--seconds", type=int, default=120, help="of a processor, for each")
    parser.add_argument(
        "--program", type=Path, default=ROOT, help="the tree that the program is in"
    )
    options = parser.parse_args()
    wanted = [
        shape
        for shape in sizes.ALL
        if not options.words or any(word in shape.name for word in options.words)
    ]
    for shape in wanted:
        folder = Path(tempfile.mkdtemp(prefix="size-trap-"))
        try:
            path = shape.write(folder, max(1, int(shape.full * options.share)))
            reading = read(
                path,
                options.verb.split(),
                int(options.memory * (1 << 30)),
                options.seconds,
                options.program,
            )
            weight = size_of(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        each = f"{reading.peak_bytes / weight:6.1f} B/B" if weight > 1 << 20 else ""
        print(
            f"{shape.name:45} {weight / 1e6:7.1f} MB {reading.cpu_s:6.1f} s "
            f"{reading.peak_bytes / 1e6:6.0f} MB {each:10} "
            f"rc {reading.status:3} out {len(reading.printed) + len(reading.errors):7}  "
            f"{said(reading)}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
