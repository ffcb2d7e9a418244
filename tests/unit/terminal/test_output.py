"""The output thread: nothing blocks the program, and a terminal that is gone is reported once."""

from __future__ import annotations

import os
import threading

from powertui.terminal.clipboard import osc52
from powertui.terminal.output import OutputThread


def test_everything_arrives_in_order() -> None:
    read, write = os.pipe()
    thread = OutputThread(write, "utf-8", lambda: None)
    thread.start()
    for number in range(1000):
        thread.write(f"{number} ▁\n")
    thread.stop()
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        assert pipe.read() == "".join(f"{number} ▁\n" for number in range(1000))


def test_what_cannot_be_encoded_is_replaced() -> None:
    read, write = os.pipe()
    thread = OutputThread(write, "ascii", lambda: None)
    thread.start()
    thread.write("a▁b")
    thread.stop()
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"a?b"


def test_a_terminal_that_is_gone_is_reported_once() -> None:
    read, write = os.pipe()
    os.close(read)
    gone = threading.Event()
    times: list[int] = []
    thread = OutputThread(write, "utf-8", lambda: (times.append(1), gone.set())[0])
    thread.start()
    thread.write("x")
    assert gone.wait(120)
    thread.write("y")
    thread.stop()
    os.close(write)
    assert times == [1]


def test_a_line_that_does_not_move_blocks_neither_writing_nor_leaving() -> None:
    read, write = os.pipe()
    thread = OutputThread(write, "utf-8", lambda: None)
    thread.start()
    for _ in range(100):
        thread.write("x" * 100_000)  # far more than a pipe holds, and nobody reads
    thread.stop()
    assert thread.is_alive()  # it waits for the line; the program does not wait for it
    os.close(read)
    thread.join(5)
    os.close(write)


def test_osc52_carries_the_text() -> None:
    assert osc52("hé") == "\x1b]52;c;aMOp\x07"
    assert osc52("x" * 100_000) == ""
    assert osc52("hi", "screen").startswith("\x1bP")
    assert osc52("hi", "tmux-256color").startswith("\x1b]52")
