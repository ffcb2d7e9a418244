"""A profile of a command that is recorded: it waits for the server, and takes the steps that were asked for."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from powertui import cli
from powertui.capture import address, beside
from powertui.capture.beside import WantedProfile, WhileRecording
from powertui.capture.messages import ProfileRequest
from powertui.capture.whole import Plan
from powertui.errors import UsageError
from tests.profiler_server import ProfilerServer
from tests.synthetic.tfevents import frame, scalar, write_scalars

LIMIT_S = 60.0


def wanted(server: ProfilerServer, logdir: Path, **more: object) -> WantedProfile:
    return WantedProfile(Plan((address.parse(server.address),), str(logdir), ProfileRequest(30)), **more)  # type: ignore[arg-type]


def test_from_step_to_step_as_they_are_logged(tmp_path: Path) -> None:
    now, said = time.time(), []
    file = tmp_path / "train" / f"events.out.tfevents.{int(now)}.host.1.0.v2"
    file.parent.mkdir()
    write_scalars(file, [(now, 3, "batch_loss", 1.0), (now, 999, "epoch_loss", 1.0)], now)
    with ProfilerServer(hold=True) as server, WhileRecording(wanted(server, tmp_path, steps=(100, 110)), said.append) as one:
        assert not server.began.wait(1.5), "an epoch's number is no step"
        with file.open("ab") as more:
            more.write(frame(scalar(now + 1, 104, "batch_loss", 0.5)))
        assert server.began.wait(LIMIT_S)
        assert not server.terminated.wait(1.5)
        with file.open("ab") as more:
            more.write(frame(scalar(now + 2, 111, "batch_loss", 0.4)))
        assert server.terminated.wait(LIMIT_S)
        one._thread.join(LIMIT_S)
    assert one.taken is not None
    assert Path(one.taken.files[0]).exists()
    assert said[0] == "step 104: capturing until step 110"
    assert said[-1].startswith("profile: ")


def test_after_some_time_where_no_steps_are_named(tmp_path: Path) -> None:
    with ProfilerServer() as server, WhileRecording(wanted(server, tmp_path, after_s=0.1), lambda _: None) as one:
        one._thread.join(LIMIT_S)
    assert one.taken is not None
    assert one.taken.files


def test_without_steps_in_the_log_it_is_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_NO_STEPS_S", 0.1)
    said: list[str] = []
    with ProfilerServer() as server, WhileRecording(wanted(server, tmp_path, steps=(1, 2)), said.append) as one:
        one._thread.join(LIMIT_S)
        (_, request), *_ = server.asked
    assert request[1] == [2000], "as long as a profile by time, not as the most by steps"
    assert said[0].startswith("No step has been logged")


def test_a_command_that_ends_first_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    with ProfilerServer() as server:
        with WhileRecording(wanted(server, tmp_path, after_s=LIMIT_S), said.append):
            pass
        assert not [method for method, _ in server.asked]
    with WhileRecording(wanted(server, tmp_path), said.append):
        pass
    assert "the command ended before" in said[0] or "nothing had listened" in said[0]
    assert "nothing had listened" in said[1]


def test_it_waits_for_a_server_that_comes_later(tmp_path: Path) -> None:
    with ProfilerServer() as server:
        pass
    done = threading.Event()
    with WhileRecording(wanted(server, tmp_path, after_s=0.0), lambda _: done.set()) as one:
        time.sleep(0.7)
        with ProfilerServer(port=server.port):
            assert done.wait(LIMIT_S)
    assert one.taken is not None


@pytest.mark.parametrize("written", ["", "5", "5-5", "9-3", "a-b", "-5", "1-2-3"])
def test_ranges_of_steps_that_are_none(written: str) -> None:
    with pytest.raises(UsageError, match="is no range of steps"):
        beside.steps_of(written)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--steps", "1-2", "--", "true"], "belong to --profile-server"),
        (["--profile-server", "9012", "--logdir", "."], "needs a command"),
        (["--profile-server", "9012", "--", "true"], "Name the logdir"),
        (["--profile-server", "x", "--logdir", ".", "--", "true"], "is not the address"),
    ],
)
def test_wrong_usage_is_said_before_anything_runs(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["record", *words]) == 2
    assert told in capsys.readouterr().err
