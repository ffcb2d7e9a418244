"""Sentences end where the terminal ends, on standard error too, wherever standard output goes."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

COLUMNS = 44


def said_on_a_terminal(words: list[str], place: Path) -> list[str]:
    """Lines of standard error on a terminal of 44 columns, with standard output into a pipe."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    subprocess.run(
        [sys.executable, "-m", "powertui", *words],
        stdout=subprocess.PIPE,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        cwd=place,
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # Linux says so at the end of what was written
        pass
    finally:
        os.close(ours)
    return shown.decode().splitlines()


def test_an_error_is_broken_at_blanks(tmp_path: Path) -> None:
    assert said_on_a_terminal(["report", "nothing"], tmp_path) == [
        "powertui: nothing: no such file or directory",
        "  Check the path. `powertui doctor .`",
        "    shows what is in the current folder.",
    ]


def test_what_a_recording_says_is_broken_at_blanks(tmp_path: Path) -> None:
    log = tmp_path / "meter.csv"
    log.write_text("time_unix,power_W\n" + "".join(f"{1.7e9 + s},100\n" for s in range(5)))
    words = ["record", "--source", f"csv:{log}", "-o", "out.csv", "--", "true"]
    lines = said_on_a_terminal(words, tmp_path)
    assert len(lines) > 3
    long = [line for line in lines if len(line) > COLUMNS and str(tmp_path) not in line]
    assert long == []
