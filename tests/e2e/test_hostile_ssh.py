"""Hosts that are sick or hostile: `hostile_ssh.py` stands in for ssh, and the real program reads
from it.

Each run is a process of its own. Its peak of resident memory is held against that of an honest
answer, and what it may take is 300 MB more. No test measures a duration: a host that hangs is left
after the deadline that the environment sets.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.synthetic import xplane
from tests.waiting import LIMIT_S, until

from .conftest import ROOT, python_env
from .processes import state
from .terminal import Terminal

pytestmark = pytest.mark.e2e

MAX_MORE_MEMORY = 300 << 20  # bytes of resident memory above the run that reads an honest answer
SILENCE_S = (
    4  # the deadline for progress in these tests: many times what the stand-in takes to start
)
SECRET = "correct-horse-battery"
STAND_IN = ROOT / "tests" / "e2e" / "hostile_ssh.py"
MS = 10**9


@dataclass(frozen=True)
class Outcome:
    """How one run of powertui went."""

    code: int
    out: str
    err: str
    peak: int  # bytes of resident memory

    @property
    def text(self) -> str:
        return self.out + self.err


class Box:
    """A host named box, whose ssh is the stand-in: the first program of that name on PATH."""

    def __init__(self, folder: Path) -> None:
        programs, self._notes = folder / "bin", folder / "notes"
        programs.mkdir()
        self._notes.mkdir()
        ssh = programs / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {STAND_IN} "$@"\n')
        ssh.chmod(0o755)
        events = [
            xplane.Event("train", i * 20 * MS, 18 * MS, {"step_num": i, "_r": 1})
            for i in range(5000)
        ]
        self.profile = folder / "vm.xplane.pb"
        self.profile.write_bytes(
            xplane.encode([xplane.Plane("/host:CPU", [xplane.Line("python", events)])])
        )
        self.cache = folder / "cache"
        self._env = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOSTILE_PROFILE": str(self.profile),
            "HOSTILE_NOTES": str(self._notes),
            "XDG_CACHE_HOME": str(self.cache),
            "HOSTILE_DRIP": "0.05",
        }

    def env(self, behavior: str, **more: str) -> dict[str, str]:
        env = python_env({**self._env, "HOSTILE_SSH": behavior, **more})
        env.pop("POWERTUI_SSH", None)
        return env

    def start(
        self, behavior: str, *, limit: Callable[[], None] | None = None, **more: str
    ) -> subprocess.Popen[str]:
        """`powertui report` of the host, without a terminal."""
        return subprocess.Popen(
            [sys.executable, "-m", "powertui", "report", "ssh://box/logs"],
            env=self.env(behavior, **more),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=limit,
        )

    def report(
        self, behavior: str, *, limit: Callable[[], None] | None = None, **more: str
    ) -> Outcome:
        """The same to its end, with the peak of its memory."""
        with self.start(behavior, limit=limit, **more) as process:
            peak, ended = [0], threading.Event()

            def watch() -> None:
                while not ended.wait(0.01):
                    peak[0] = max(peak[0], peak_memory(process.pid))

            watching = threading.Thread(target=watch)
            watching.start()
            try:
                out, err = process.communicate(timeout=LIMIT_S)
            finally:
                ended.set()
                watching.join()
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return Outcome(process.returncode, out, err, peak[0])

    @property
    def asked(self) -> list[str]:
        """What each ssh was asked for, in no order."""
        return [note.read_text() for note in self._notes.glob("[0-9]*")]

    def running(self) -> list[int]:
        """Processes of the stand-in that have not ended."""
        return [
            int(note.name)
            for note in self._notes.glob("[0-9]*")
            if state(int(note.name)) not in ("", "Z")
        ]

    def end(self) -> None:
        for pid in self.running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def peak_memory(pid: int) -> int:
    """The most resident memory that a process ever had, as the kernel counts it; 0 where it has
    ended.
    """
    with contextlib.suppress(OSError):
        match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(match[1]) << 10 if match else 0
    return 0


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    host = Box(tmp_path)
    yield host
    host.end()


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """An honest answer."""
    host = Box(tmp_path_factory.mktemp("honest"))
    outcome = host.report("honest")
    assert outcome.code == 0, outcome.text
    assert "5,000" in outcome.out or "vm" in outcome.out
    return outcome


NOT_UNDERSTOOD = "powertui does not understand the host's answer"
LEFT_OUT = "left out (outside the folder, too deep, or without a size)"

# What a host does; the exit code; what the person reads. Nothing of these waits for a deadline.
ENDINGS: dict[str, tuple[int, str]] = {
    "huge_size": (3, f"1 impossible name was {LEFT_OUT}"),
    "large_size": (3, ""),  # a file system may refuse the size before the disk's room is asked for
    "negative_size": (3, f"1 impossible name was {LEFT_OUT}"),
    "size_is_no_number": (3, f"3 impossible names were {LEFT_OUT}"),
    "size_is_nan": (3, f"3 impossible names were {LEFT_OUT}"),
    "impossible_times": (0, f"impossible names were {LEFT_OUT}"),
    "size_changes_to_huge": (3, ""),
    "size_changes_each_time": (3, "it changes faster than it can be copied"),
    "state_is_no_number": (3, "bytes before the end"),
    "deep_path": (0, f"1 impossible name was {LEFT_OUT}"),
    "deep_folders": (0, LEFT_OUT),
    "deep_root": (3, NOT_UNDERSTOOD),
    "deep_root_that_fits": (3, "its path cannot be kept here"),
    "absolute_paths": (0, f"3 impossible names were {LEFT_OUT}"),
    "parent_paths": (0, f"3 impossible names were {LEFT_OUT}"),
    "line_breaks": (0, ""),
    "nul_bytes": (0, LEFT_OUT),
    "escape_sequences": (0, "cannot be listed: permission denied"),
    "not_utf8": (0, ""),
    "endless_name": (3, "sends more than the names of"),
    "duplicate_names": (0, ""),
    "link_loops": (0, "a link to nothing"),
    "endless_listing": (3, NOT_UNDERSTOOD),
    "endless_zeros": (3, NOT_UNDERSTOOD),
    "gzip_bomb": (3, NOT_UNDERSTOOD),
    "endless_gzip": (3, NOT_UNDERSTOOD),
    "damaged_gzip": (3, ""),
    "longer_than_promised": (0, ""),
    "shorter_than_promised": (3, "bytes before the end"),
    "gzip_bomb_profile": (3, "it unpacks to more than 250 times its size"),
    "endless_heads": (3, NOT_UNDERSTOOD),
    "endless_sums": (3, NOT_UNDERSTOOD),
    "exit_255": (3, "box refuses the connection: no ssh server listens there"),
    "exit_255_without_a_word": (3, "ssh failed: it says nothing"),
    "nothing_at_all": (3, "ssh failed: it says nothing"),
    "killed_midway": (0, "the connection ended before all files were listed. Listed until then: 1"),
    "killed_within_a_file": (3, "bytes before the end"),
    "banner_first": (0, ""),
    "endless_banner": (3, "the host prints something else before its answer"),
    "endless_errors": (3, "box prints error messages without end"),
    "refusal_with_secrets": (3, "ssh failed: "),
    "host_key_question": (3, "ssh does not know the key of box yet, or it has another one"),
    "password_prompt": (3, "box does not let you in"),
}  # fmt: skip

# Those that say nothing, or too little: what the person reads after the deadline for progress.
HANGING: dict[str, tuple[int, str]] = {
    "silence": (3, "box has not answered for"),
    "deaf_silence": (3, "box has not answered for"),
    "silence_midway": (0, "box has sent nothing for"),
    "silence_before_a_file": (3, "box has not answered for"),
    "silence_within_a_file": (3, "box has sent nothing for"),
    "dripping_words": (3, "box sends too slowly: "),
    "dripping_listing": (3, "box sends too slowly: "),
    "dripping_file": (3, "box sends too slowly: "),
}  # fmt: skip


def check(outcome: Outcome, code: int, sentence: str, usual: Outcome) -> None:
    """What holds for each of them."""
    assert "Traceback" not in outcome.text, outcome.text
    assert outcome.code == code, outcome.text
    assert sentence in " ".join(outcome.text.split()), outcome.text
    if code:
        assert outcome.text.strip()
    assert "\x1b" not in outcome.text
    assert SECRET not in outcome.text
    assert outcome.peak <= usual.peak + MAX_MORE_MEMORY, (
        f"{outcome.peak >> 20} MB, an honest answer takes {usual.peak >> 20} MB"
    )


@pytest.mark.parametrize("behavior", ENDINGS)
def test_a_hostile_host_is_one_sentence(box: Box, usual: Outcome, behavior: str) -> None:
    """Whatever it answers: no traceback, no escape sequence, no secret, no more memory than 300 MB
    above an honest answer.
    """
    code, sentence = ENDINGS[behavior]
    check(box.report(behavior), code, sentence, usual)
    assert box.running() == []


@pytest.mark.parametrize("behavior", HANGING)
def test_a_host_that_hangs_is_left(box: Box, usual: Outcome, behavior: str) -> None:
    """After the deadline for progress, with a sentence; its ssh is ended, also one that ignores
    SIGTERM.
    """
    code, sentence = HANGING[behavior]
    check(box.report(behavior, POWERTUI_REMOTE_TIMEOUT=str(SILENCE_S)), code, sentence, usual)
    assert box.running() == []


@pytest.mark.parametrize("behavior", [*HANGING, "endless_errors", "endless_gzip"])
def test_an_interrupt_ends_it_and_its_ssh(box: Box, behavior: str) -> None:
    """SIGINT to powertui alone, while it waits: the process is gone with exit code 130, and no ssh
    is left.
    """
    with box.start(behavior) as process:
        question = "read" if behavior.endswith("file") else "list"
        until(lambda: question in box.asked or process.poll() is not None)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT_S)
    # The two that never rest may have been refused before the signal came. It may also come while
    # Python itself ends after that.
    refused = (3, -signal.SIGINT) if behavior.startswith("endless") else ()
    assert process.returncode in (130, *refused), err
    assert "Traceback" not in err
    until(lambda: box.running() == [])


def test_a_slow_honest_line_is_not_refused(box: Box, usual: Outcome) -> None:
    """1 Mbit/s, with a deadline for progress that is much shorter than the transfer."""
    box.profile.write_bytes(
        box.profile.read_bytes() + xplane.encode([xplane.Plane("/padding", [])]) * 60_000
    )
    size = box.profile.stat().st_size
    assert size / 125_000 > 1.5 * SILENCE_S
    outcome = box.report("slow_line", POWERTUI_REMOTE_TIMEOUT=str(SILENCE_S))
    check(outcome, 0, "", usual)
    (fetched,) = box.cache.rglob("files/**/vm.xplane.pb")
    assert fetched.read_bytes() == box.profile.read_bytes()


def test_a_transfer_that_never_ends_has_a_deadline_for_the_whole(box: Box, usual: Outcome) -> None:
    """It sends enough to be called progress, and much less than the least rate."""
    times = {
        "POWERTUI_REMOTE_TIMEOUT": str(SILENCE_S),
        "POWERTUI_REMOTE_RATE": "1e6",
        "HOSTILE_DRIP": "0.0001",
    }
    outcome = box.report("dripping_file", **times)
    check(outcome, 3, "box sends too slowly: ", usual)


def test_many_names_are_listed_within_the_memory(box: Box, usual: Outcome) -> None:
    outcome = box.report("many_names", HOSTILE_NAMES="20000")
    check(outcome, 0, "", usual)


def test_endless_names_end_with_a_reason(box: Box, usual: Outcome) -> None:
    """Names without end are cut where a scan of a folder of our own would be."""
    code = (
        "import powertui.data.elsewhere.ssh as ssh, sys; ssh.MAX_ENTRIES = 30; from powertui import "
        "cli; "
        "sys.exit(cli.main(['report', 'ssh://box/logs']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=box.env("endless_names"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert "there are more than 30 names. Name a folder further down" in " ".join(
        (done.stdout + done.stderr).split()
    )
    assert "Traceback" not in done.stderr
    assert box.running() == []


def test_progress_is_shown_while_a_host_is_slow(box: Box) -> None:
    """On a terminal: how much has come, of how much. Ctrl+C on it ends powertui and ssh."""
    command = [sys.executable, "-m", "powertui", "report", "ssh://box/logs"]
    with Terminal(command, size=(100, 30), env=box.env("dripping_file")) as terminal:
        terminal.wait_for(r"powertui: .* from box.*\(Ctrl\+C stops\)")
        terminal.press("C-c")
        assert terminal.wait_exit() == 130
        assert b"Traceback" not in terminal.raw
    until(lambda: box.running() == [])


def test_the_screens_show_progress_and_stop(box: Box) -> None:
    """The profile never comes whole: the page says how far it is, and Ctrl+C on the process leaves
    no ssh.
    """
    command = [sys.executable, "-m", "powertui", "ssh://box/logs"]
    with Terminal(command, size=(100, 30), env=box.env("silence_within_a_file")) as terminal:
        terminal.wait_for(r"from box")
        terminal.signal(signal.SIGINT)
        assert terminal.wait_exit() == 130
        assert terminal.left_on() == []
    until(lambda: box.running() == [])


def test_a_password_is_asked_for_and_never_shown(box: Box) -> None:
    """ssh asks on the terminal; what is typed is not echoed, and the answer comes."""
    command = [sys.executable, "-m", "powertui", "report", "ssh://box/logs"]
    with Terminal(command, size=(100, 60), env=box.env("password_prompt")) as terminal:
        for count in (1, 2):  # the stand-in keeps no connection: it asks for each question
            terminal.wait_until(
                lambda count=count: terminal.raw.count(b"password: ") >= count, "the prompt"
            )  # type: ignore[misc]
            terminal.wait_until(lambda: not terminal.as_before(), "no echo")
            os.write(terminal.fd, SECRET.encode() + b"\n")
            terminal.wait_until(
                lambda count=count: (
                    terminal.raw.count(b"password: ") > count or terminal.as_before()
                ),
                "the answer",
            )  # type: ignore[misc]
        assert terminal.wait_exit() == 0
        assert SECRET.encode() not in terminal.raw
    assert not any(SECRET in path.name for path in box.cache.rglob("*"))


def test_a_full_disk_leaves_no_cut_file(box: Box) -> None:
    """The limit of a file's size stands for the disk: what came is kept aside, and the next run
    goes on from there.
    """
    assert box.report("killed_within_a_file").code == 3  # its name is there now
    size = box.profile.stat().st_size

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))

    outcome = box.report("honest", limit=small_files)
    assert outcome.code == 3
    assert "Traceback" not in outcome.text
    assert "cannot be written" in " ".join(outcome.text.split())
    (placed,) = box.cache.rglob("files/**/vm.xplane.pb")
    assert not placed.stat().st_mode & stat.S_IRUSR  # not come yet
    (part,) = box.cache.rglob("parts/*")
    assert 0 < part.stat().st_size <= size // 2
    assert box.report("honest").code == 0
    assert placed.read_bytes() == box.profile.read_bytes()
