"""Asking Kineto: only a process that waits for it is sent a signal, and what it writes is waited for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from powertui.capture import kineto, whole
from powertui.capture.messages import ProfileRequest
from powertui.capture.whole import Plan
from powertui.errors import CaptureError, UsageError

# What Kineto does at the signal, as far as it concerns us: it reads its orders and writes a trace there.
STAND_IN = """
import json, os, pathlib, signal, sys, time
def asked(*_):
    orders = dict(line.split("=", 1) for line in pathlib.Path(sys.argv[1]).read_text().split())
    event = {"ph": "X", "dur": 9e5, "pid": 1, "tid": 1, "cat": "user_annotation"}
    events = [{**event, "name": f"ProfilerStep#{n}", "ts": 1e6 * n} for n in range(3)]
    path = orders["ACTIVITIES_LOG_FILE"].replace(".pt.trace", sys.argv[2] + ".pt.trace")
    with open(path, "w") as file:
        file.write('{"schemaVersion": 1, "duration": %s, ' % orders["ACTIVITIES_DURATION_MSECS"])
        file.flush()
        time.sleep(0.6)
        file.write('"traceEvents": ' + json.dumps(events) + "}")
if len(sys.argv) > 2:
    signal.signal(signal.SIGUSR2, asked)
print("up", flush=True)
while True:
    time.sleep(0.1)
"""


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kineto, "ON_DEMAND", tmp_path / "libkineto.conf")
    return tmp_path / "libkineto.conf"


def start(orders: Path, *more: str, daemon: bool = True) -> subprocess.Popen[str]:
    env = {**os.environ, **({"KINETO_USE_DAEMON": "1"} if daemon else {})}
    process = subprocess.Popen([sys.executable, "-c", STAND_IN, str(orders), *more], env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.fixture(params=["", "_4711"])
def program(request: pytest.FixtureRequest, orders: Path) -> Iterator[subprocess.Popen[str]]:
    with start(orders, request.param) as process:
        yield process
        process.kill()


def test_it_is_asked_and_its_file_waited_for(program: subprocess.Popen[str], orders: Path, tmp_path: Path) -> None:
    taken = whole.take(Plan((), str(tmp_path / "logs"), ProfileRequest(1.5), pid=program.pid))
    assert not taken.problems
    (path,) = taken.files
    assert '"duration": 1500' in Path(path).read_text()
    assert Path(path).read_text().endswith("}")
    assert not orders.exists(), "nobody else is asked for the same later"
    from powertui.report import captured

    assert any("3: median" in line for line in captured.lines(taken.folder))


@pytest.mark.parametrize(("more", "daemon"), [((), True), (("",), False), ((), False)])
def test_a_process_that_does_not_wait_for_it_is_never_sent_the_signal(
    orders: Path, tmp_path: Path, more: tuple[str, ...], daemon: bool
) -> None:
    with start(orders, *more, daemon=daemon) as process:
        with pytest.raises(CaptureError) as caught:
            whole.take(Plan((), str(tmp_path / "logs"), pid=process.pid))
        assert "KINETO_USE_DAEMON=1" in caught.value.hint
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)


def test_orders_of_somebody_else_are_not_touched(program: subprocess.Popen[str], orders: Path, tmp_path: Path) -> None:
    orders.symlink_to(tmp_path / "precious")
    taken = whole.take(Plan((), str(tmp_path / "logs"), pid=program.pid))
    assert "is there already" in str(taken.problems[0])
    assert orders.is_symlink()
    assert not (tmp_path / "precious").exists()
    assert not list((tmp_path / "logs").iterdir())


def test_no_such_process(orders: Path, tmp_path: Path) -> None:
    with start(orders) as process:
        process.kill()
    with pytest.raises(UsageError, match="There is no process"):
        whole.take(Plan((), str(tmp_path / "logs"), pid=process.pid))
