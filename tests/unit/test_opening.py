"""Files that never answer: pipes without a writer, files of /proc that block, servers that hang."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from powertui.opening import open_for_reading, within


def test_a_pipe_that_nobody_writes_to_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (
        open_for_reading(tmp_path / "pipe", 0.05) as stream,
        pytest.raises(OSError, match=r"nothing came through it for 0\.05 s"),
    ):
        stream.read()


def test_a_pipe_that_delivers_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    script = (
        f"import time; f = open({str(tmp_path / 'pipe')!r}, 'wb')\nfor n in range(3): "
        "f.write(b'x' * 100_000); f.flush()"
    )
    with (
        subprocess.Popen([sys.executable, "-c", script]),
        open_for_reading(tmp_path / "pipe", 120) as stream,
    ):
        assert stream.read() == b"x" * 300_000


def test_an_empty_file_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with open_for_reading(tmp_path / "empty") as stream:
        assert stream.read() == b""
    with pytest.raises(IsADirectoryError):
        open_for_reading(tmp_path)


def test_a_call_that_hangs_is_left_behind() -> None:
    answer = threading.Event()
    with pytest.raises(OSError, match="did not answer") as caught:
        within(0.05, answer.wait)
    assert caught.value.errno == errno.ETIMEDOUT
    answer.set()
    assert within(60, lambda: 3) == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--source", "csv:pipe", "-o", "p.csv"],
            "pipe is not a regular file: only a file can be followed.",
        ),
        (
            ["--source", "csv:log.csv", "-o", "pipe"],
            "pipe is a pipe: a recording needs a file that keeps its rows.",
        ),
    ],
)
def test_a_recording_refuses_a_pipe_at_once(
    tmp_path: Path, words: list[str], sentence: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "log.csv").write_text("watts\n1\n")
    done = subprocess.run(
        [sys.executable, "-m", "powertui", "record", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode in (1, 2)
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "p.csv").exists()
