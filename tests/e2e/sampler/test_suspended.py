"""A recording that somebody stops, freezes or sends to sleep: it goes on, ends when it was to end,
and reports what is missing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pty_process import PtyProcess
from test_record import (
    Numbers,
    child_of,
    ended,
    numbers_in,
    started,
    state_of,
    text_of,
    wait_for_end,
    wait_for_rows,
    wait_until,
)

from powertui.data.power import registry
from tests.e2e import freezer, interrupted_recordings
from tests.e2e.interrupted_recordings import rows_of

pytestmark = pytest.mark.e2e

# the recording's longest wait for a signal: a process that is stopped for longer than that misses
# its end
WAITS_S = 1.0
STOPPED_S = 2 * WAITS_S
RECORDER = "powertui-recorder"
CENTURIES_S = 250 * 365.25 * 86400


def gaps_in(path: Path) -> list[list[str]]:
    return [
        row
        for row in rows_of(path)
        if row[7] == "none" and row[8].startswith("nothing was recorded for ")
    ]


def stop(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        wait_until(lambda pid=pid: state_of(pid) == "T", lambda pid=pid: state_of(pid))


def go_on(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def where(bmc) -> list[str]:
    return ["--host", f"127.0.0.1:{bmc.port}", "--user", "viewer", "-o", "p.csv", "--timeout", "60"]


def grows_by(path: Path, count: int) -> None:
    wait_for_rows(path, text_of(path).count(",ok,") + count)


def interrupt(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return err


def until_waited(path: Path, since: float) -> None:
    """The recorder, which goes on, shows by its own rows that the other process has slept through
    its wait.
    """
    wait_until(
        lambda: float(rows_of(path)[-1][1]) > since + STOPPED_S, lambda: text_of(path)[-300:]
    )


def test_a_stopped_program_goes_on_and_loses_nothing(
    powertui: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    log = Numbers(tmp_path)
    process = powertui("record", *log.words)
    started(process)
    path = tmp_path / "p.csv"
    for _ in range(4):
        log.more(5)
        wait_for_rows(path, log.written)
        stop(process.pid)
        since = time.monotonic()
        while time.monotonic() < since + STOPPED_S:
            log.more(1)
            wait_for_rows(path, log.written)
        go_on(process.pid)
        log.more(1)
        wait_for_rows(path, log.written)
    assert process.poll() is None
    err = interrupt(process)
    assert numbers_in(path) == list(range(log.written))
    assert gaps_in(path) == []
    assert "suspended" not in err
    assert ended(tmp_path)["reason"] == "stopped"


def test_the_end_comes_when_it_was_asked_for_though_the_program_is_stopped(
    bmc, powertui, tmp_path: Path
) -> None:
    process = powertui("record", *where(bmc), "--interval", "0.1", "--duration", "3")
    started(process)
    path = tmp_path / "p.csv"
    wait_for_rows(path, 2)
    stop(process.pid)
    wait_for_end(path)
    go_on(process.pid)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    last = ended(tmp_path)
    assert last["reason"] == "after 3 s"
    assert last["rows"] == len(rows_of(path))
    assert err.count(f"{last['rows']} rows in ") == 1


@pytest.mark.parametrize("interval", ["0.1", "1"])
@pytest.mark.parametrize("also", ["the recorder alone", "all of it"])
def test_what_a_stopped_recorder_could_not_read_is_a_gap(
    bmc, powertui, tmp_path: Path, also: str, interval: str
) -> None:
    process = powertui("record", *where(bmc), "--interval", interval)
    started(process)
    path = tmp_path / "p.csv"
    wait_for_rows(path, 3)
    child = child_of(process.pid, RECORDER)
    pids = [child] if also == "the recorder alone" else [process.pid, child]
    stop(*pids)
    time.sleep(2.5)
    go_on(*pids)
    grows_by(path, 3)
    err = interrupt(process)
    check_the_hole(path, err, "the recorder was suspended", 2.0)


def check_the_hole(path: Path, err: str, cause: str, least_s: float) -> None:
    """One gap row with its length between readings that lie as far apart; said once; its share of
    the time is not counted.
    """
    rows = [row for row in rows_of(path) if row[3]]
    (at,) = (i for i, row in enumerate(rows) if row in gaps_in(path) and row[8].endswith(cause))
    before, gap, after = rows[at - 1 : at + 2]
    assert float(before[1]) < float(gap[1]) < float(after[1])
    apart = float(after[1]) - float(before[1])
    assert apart >= least_s
    reason = gap[8]
    assert err.count(f"powertui: {reason}\n") == 1
    length = re.fullmatch(
        r"nothing was recorded for (?:(\d+) h )?(?:(\d+) min ?)?(?:([\d.]+) s)?: " + cause, reason
    )
    assert length, reason
    seconds = sum(
        float(part or 0) * scale for part, scale in zip(length.groups(), (3600, 60, 1), strict=True)
    )
    assert least_s - 0.1 <= seconds <= apart * 1.1 + 60 * bool(length[1])
    covered = re.search(r"([\d.]+) % of the time", err)
    times = [float(row[1]) for row in rows if row[7] == "ok"]
    share = 100 * (1 - apart / (times[-1] - times[0]))
    assert covered is not None, err
    assert float(covered[1]) <= share + 12, (
        err
    )  # what lies before the first reading and behind the last is a little more
    (series,) = registry.load(str(path)).series
    assert int((series.watts != series.watts).sum()) == len(gaps_in(path))


def test_a_log_that_went_on_meanwhile_is_read_afterwards(powertui, tmp_path: Path) -> None:
    log = Numbers(tmp_path)
    log.path.write_text("time_epoch,watts\n")
    process = powertui("record", *log.words)
    started(process)
    path = tmp_path / "p.csv"

    def more(count: int) -> None:
        for _ in range(count):
            with log.path.open("a") as file:
                file.write(f"{time.time():.6f},{log.written}\n")
            log.written += 1
            time.sleep(0.05)

    more(8)
    wait_for_rows(path, log.written)
    child = child_of(process.pid, RECORDER)
    stop(child)
    more(40)
    go_on(child)
    wait_for_rows(path, log.written)
    more(3)  # with rows from after it the recorder knows that all of that time is there
    wait_for_rows(path, log.written)
    err = interrupt(process)
    assert numbers_in(path) == list(range(log.written))
    assert gaps_in(path) == []
    assert re.search(
        (
            r"the recorder was suspended for [\d.]+ s, and then read what the source had kept: "
            r"nothing is missing\n"
        ),
        err,
    )
    assert "missed" not in err


def test_ctrl_z_and_fg_in_a_shell(powertui, environment: dict[str, str], tmp_path: Path) -> None:
    """The shell stops the program; the recorder has a session of its own and records on."""
    log = Numbers(tmp_path)
    path = tmp_path / "p.csv"
    environment = {**environment, "PS1": "ready> "}
    shell = PtyProcess(["bash", "--norc", "--noprofile", "-i"], environment, tmp_path)
    try:
        shell.wait("ready> ")
        shell.send(f"{sys.executable} -m powertui record {' '.join(log.words)}; echo code $?\n")
        shell.wait("ctrl+c ends it")
        for _ in range(2):
            log.more(2)
            wait_for_rows(path, log.written)
            shell.send("\x1a")
            shell.wait("Stopped")
            shell.wait("ready> ")
            since = time.monotonic()
            while time.monotonic() < since + STOPPED_S:
                log.more(1)
                wait_for_rows(path, log.written)
            shell.send("fg\n")
            shell.wait("powertui record")
            log.more(2)
            wait_for_rows(path, log.written)
        assert "# ended" not in text_of(path)
        shell.send("\x03")
        shell.wait("rows in")
        shell.wait("ready> ")
        assert numbers_in(path) == list(range(log.written))
        assert ended(tmp_path)["reason"] == "stopped"
    finally:
        shell.close()


@pytest.mark.parametrize("version", ["freezer of version 1", "freezer of version 2"])
def test_a_frozen_container(bmc, powertui, tmp_path: Path, version: str) -> None:
    mounts = freezer.groups()
    if version not in mounts:
        pytest.skip(f"no {version} that we may use")
    process = powertui("record", *where(bmc), "--interval", "0.1")
    started(process)
    path = tmp_path / "p.csv"
    wait_for_rows(path, 3)
    with freezer.frozen_group(
        mounts[version], [process.pid, child_of(process.pid, RECORDER)]
    ) as group:
        group.freeze()
        time.sleep(2.5)
        group.thaw()
        grows_by(path, 5)
        assert process.poll() is None
    err = interrupt(process)
    check_the_hole(path, err, "the recorder was suspended", 2.0)


@pytest.mark.parametrize("way", interrupted_recordings.WAYS)
def test_at_random_moments(way: str) -> None:
    """Three of each; `python -m tests.e2e.interrupted_recordings` does thirty."""
    assert interrupted_recordings.rounds(way, 3, seed=11) == {"": 3}


class SleepingMachine:
    """What the clocks of some processes show."""

    def __init__(self, folder: Path) -> None:
        library = folder / "sleeping_machine.so"
        source = Path(__file__).with_name("sleeping_machine.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        self._file = (folder / "slept").open("wb+", buffering=0)
        self._file.write(struct.pack("qq", 0, 0))
        self.environment = {"LD_PRELOAD": str(library), "SLEEPING_MACHINE": str(folder / "slept")}

    def sleep(self, seconds: float, *, clock_set_s: float = 0.0) -> None:
        os.pwrite(
            self._file.fileno(),
            struct.pack("qq", round(seconds * 1e9), round(clock_set_s * 1e9)),
            0,
        )

    def close(self) -> None:
        self._file.close()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[SleepingMachine]:
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        pytest.skip("no C compiler, or another system's clocks")
    with contextlib.closing(SleepingMachine(tmp_path)) as made:
        yield made


def test_a_machine_that_slept_is_no_clock_that_was_set(
    bmc, powertui, tmp_path, environment, machine
) -> None:
    """The monotonic clock stands still meanwhile and the wall clock does not; the hole has its true
    length.
    """
    process = powertui(
        "record", *where(bmc), "--interval", "0.1", env={**environment, **machine.environment}
    )
    started(process)
    path = tmp_path / "p.csv"
    wait_for_rows(path, 5)
    machine.sleep(7380)
    grows_by(path, 10)
    err = interrupt(process)
    assert "stepped" not in err + text_of(path)
    check_the_hole(path, err, "this machine slept", 7380)
    assert "nothing was recorded for 2 h 03 min: this machine slept" in err
    (series,) = registry.load(str(path)).series
    assert not any("clock" in warning.cause for warning in series.warnings)
    assert (int(series.times[-1]) - int(series.times[0])) / 1e9 > 7380


def test_a_duration_counts_the_time_asleep(bmc, powertui, tmp_path, environment, machine) -> None:
    process = powertui(
        "record",
        *where(bmc),
        "--interval",
        "0.1",
        "--duration",
        "5000",
        env={**environment, **machine.environment},
    )
    started(process)
    wait_for_rows(tmp_path / "p.csv", 5)
    machine.sleep(4000)
    grows_by(tmp_path / "p.csv", 5)
    assert process.poll() is None
    machine.sleep(6000)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert ended(tmp_path)["reason"] == "after 5000 s"
    assert err.count("this machine slept\n") in (
        1,
        2,
    )  # the second sleep may end the recording before a reading comes


def test_a_clock_that_was_set_while_the_machine_was_awake_is_reported(
    bmc, powertui, tmp_path, environment, machine
) -> None:
    process = powertui(
        "record", *where(bmc), "--interval", "0.1", env={**environment, **machine.environment}
    )
    started(process)
    path = tmp_path / "p.csv"
    wait_for_rows(path, 5)
    machine.sleep(0, clock_set_s=3600)
    grows_by(path, 10)
    err = interrupt(process)
    assert "the host's clock was stepped by +3600." in err
    assert "slept" not in err


def test_a_clock_past_2262_is_a_sentence(bmc, powertui, tmp_path, environment, machine) -> None:
    """Python's own time cannot be told there, and no log holds it."""
    machine.sleep(0, clock_set_s=CENTURIES_S)
    path = tmp_path / "x.csv"
    path.write_text("time,watts\n0,1\n1,1\n")
    for words in (
        ["record", *where(bmc)],
        ["report", str(path)],
        ["doctor", str(path)],
        ["sensors"],
        ["energy", str(path)],
    ):
        process = powertui(*words, env={**environment, **machine.environment})
        _, err = process.communicate(timeout=300)
        assert process.returncode == 1, err
        assert err == (
            "powertui: This machine's clock is past April 2262, and no log can hold such times.\n"
            "  Set the clock, then start again: `date` shows it.\n"
        )
    assert not (tmp_path / "p.csv").exists()


def test_a_clock_that_is_set_past_2262_while_recording_ends_nothing(
    bmc, powertui, tmp_path, environment, machine
) -> None:
    process = powertui(
        "record", *where(bmc), "--interval", "0.1", env={**environment, **machine.environment}
    )
    started(process)
    path = tmp_path / "p.csv"
    wait_for_rows(path, 5)
    machine.sleep(0, clock_set_s=CENTURIES_S)
    grows_by(path, 10)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert "Traceback" not in err
    assert "the host's clock was stepped by +" in err
    assert process.returncode == 0, err
    assert json.loads(text_of(path).splitlines()[-1].removeprefix("# ended: "))["rows"] == len(
        rows_of(path)
    )
