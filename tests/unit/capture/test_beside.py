"""A profile of a command that is recorded: it waits for the server, and takes the steps that were
asked for.
"""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import pytest

from powertui import cli
from powertui.capture import address, command_profile
from powertui.capture.command_profile import RequestedProfile, WhileRecording
from powertui.capture.messages import ProfileRequest
from powertui.capture.profile_session import Plan
from powertui.capture.step_clock import StepClock
from powertui.errors import UsageError
from tests.profiler_server import ProfilerServer
from tests.synthetic.tfevents import frame, scalar, write_scalars
from tests.waiting import until

LIMIT_S = 180.0


def wanted(server: ProfilerServer, logdir: Path, **more: object) -> RequestedProfile:
    return RequestedProfile(
        Plan((address.parse(server.address),), str(logdir), ProfileRequest(30)), **more
    )  # type: ignore[arg-type]


def logged(file: Path, steps: range, last_s: float, each_s: float) -> None:
    """What a program logs that makes its last step at this moment."""
    file.parent.mkdir(exist_ok=True)
    records = [(last_s - each_s * (steps[-1] - step), step, "batch_loss", 1.0) for step in steps]
    write_scalars(file, [*records, (last_s, 999, "epoch_loss", 1.0)], last_s)


def test_the_steps_are_met_by_their_rate_though_the_log_says_no_more(tmp_path: Path) -> None:
    now, said = time.time(), []
    logged(tmp_path / "train" / f"events.out.tfevents.{int(now)}.host.1.0.v2", range(100), now, 0.1)
    with (
        ProfilerServer(hold=True) as server,
        WhileRecording(wanted(server, tmp_path, steps=(120, 130)), said.append) as one,
    ):
        assert server.began.wait(LIMIT_S)
        began = time.time()
        assert server.terminated.wait(LIMIT_S)
        ended = time.time()
        one._thread.join(LIMIT_S)
    assert now + 0.5 < began, "not at the first look: step 120 is 2.1 s away"
    assert ended >= now + 3.1, "step 130 ends then"
    assert one.capture is not None
    assert Path(one.capture.files[0]).exists()
    late = said[0].startswith(
        "Steps 120 to 130 were over"
    )  # on a machine that took seconds for the first look
    assert began >= now + 3.1 if late else said[0].endswith(": capturing until step 130")
    assert any(line.startswith("profile: ") for line in said)
    assert said[-1].startswith("It holds steps 0 to 2, by its own numbers. Requested: 120 to 130.")


def test_steps_that_were_over_when_the_log_told_of_them(tmp_path: Path) -> None:
    """As many are taken from now on, and it is said which."""
    now, said = time.time(), []
    logged(
        tmp_path / "train" / f"events.out.tfevents.{int(now)}.host.1.0.v2",
        range(0, 200, 20),
        now - 9,
        0.1,
    )
    with (
        ProfilerServer(hold=True, steps=()) as server,
        WhileRecording(wanted(server, tmp_path, steps=(20, 30)), said.append) as one,
    ):
        assert server.terminated.wait(LIMIT_S)
        one._thread.join(LIMIT_S)
    told = re.match(
        r"Steps 20 to 30 had already run when logged: capturing 10 steps from about (\d+)", said[0]
    )
    held = re.match(r"It holds steps (\d+)", said[-1])
    assert told is not None
    assert held is not None
    assert 260 <= int(told[1]) <= int(held[1]) + 20, "step 180 was made 9 s ago"
    assert said[-1].endswith(", by the rate of the steps that were logged. Requested: 20 to 30.")


def test_a_log_that_comes_late_is_said_with_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_profile, "_MAX_LOG_DELAY_S", 1.0)
    now, said = time.time(), []
    file = tmp_path / "train" / f"events.out.tfevents.{int(now)}.host.1.0.v2"
    with (
        ProfilerServer(steps=()) as server,
        WhileRecording(wanted(server, tmp_path, steps=(5, 8)), said.append) as one,
    ):
        time.sleep(2.5)  # the program makes its steps, and its writer keeps them
        logged(file, range(20), time.time(), 0.1)
        one._thread.join(LIMIT_S)
    assert said[0].startswith("Steps 5 to 8 had already run")
    assert "s behind the program" in said[-1]
    assert "flush" in said[-1]


def test_the_last_step_that_is_logged_ends_it(tmp_path: Path) -> None:
    """However the rate was."""
    now, said = time.time(), []
    file = tmp_path / "train" / f"events.out.tfevents.{int(now)}.host.1.0.v2"
    logged(file, range(0, 100, 10), now, 10.0)
    with (
        ProfilerServer(hold=True) as server,
        WhileRecording(wanted(server, tmp_path, steps=(90, 100)), said.append) as one,
    ):
        assert server.began.wait(LIMIT_S)
        assert not server.terminated.wait(1.5)
        with file.open("ab") as more:
            more.write(frame(scalar(time.time(), 101, "batch_loss", 0.4)))
        assert server.terminated.wait(LIMIT_S)
        one._thread.join(LIMIT_S)
    assert one.capture is not None


def test_one_step_alone_tells_no_rate(tmp_path: Path) -> None:
    now, said = time.time(), []
    logged(
        tmp_path / "train" / f"events.out.tfevents.{int(now)}.host.1.0.v2",
        range(500, 501),
        now,
        1.0,
    )
    with (
        ProfilerServer() as server,
        WhileRecording(wanted(server, tmp_path, steps=(100, 110)), said.append) as one,
    ):
        one._thread.join(LIMIT_S)
        (_, request), *_ = server.asked
    assert request[1] == [2000]
    assert (
        said[0]
        == "The log does not show how fast steps go: it has only step 500. Capturing 2 s now."
    )


def test_a_rate_is_as_good_as_what_was_logged() -> None:
    clock = StepClock()
    assert clock.when(5) is None
    assert clock.at(0.0) is None
    clock.add([], 99.0)
    clock.add([(0, 100.0), (10, 101.0), (10, 101.001), (20, 102.2), (30, 103.0)], 110.0)
    assert clock.behind_s == pytest.approx(10.0)
    near, far = clock.when(40), clock.when(400)
    assert near is not None
    assert far is not None
    assert near.at == pytest.approx(104.0)
    assert 0.2 < near.half < 0.5, "a step came 0.2 s late"
    assert far.half > 3
    assert clock.at(101.6) == pytest.approx(15.0), "between two records"
    assert clock.at(105.0) == pytest.approx(50.0), "by the rate"
    assert clock.covers(103.0)
    assert not clock.covers(103.1)
    clock.add([(40, 90.0)], 110.0)
    assert clock.when(50) is None, "a clock that was set tells no rate"


def test_after_some_time_where_no_steps_are_named(tmp_path: Path) -> None:
    with (
        ProfilerServer() as server,
        WhileRecording(wanted(server, tmp_path, after_s=0.1), lambda _: None) as one,
    ):
        one._thread.join(LIMIT_S)
    assert one.capture is not None
    assert one.capture.files


def test_without_steps_in_the_log_it_is_by_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_profile, "_NO_STEPS_S", 0.1)
    said: list[str] = []
    with (
        ProfilerServer() as server,
        WhileRecording(wanted(server, tmp_path, steps=(1, 2)), said.append) as one,
    ):
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


def test_a_command_that_ends_while_it_is_profiled_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    with (
        ProfilerServer(dies=True) as server,
        WhileRecording(wanted(server, tmp_path, after_s=0.0), said.append),
    ):
        until(lambda: any("closed the connection" in line for line in said))
    assert said[-1] == (
        "The command ended while it was profiled. --profile-time sets another length."
    )


def test_it_waits_for_a_server_that_comes_later(tmp_path: Path) -> None:
    with ProfilerServer() as server:
        pass
    done = threading.Event()
    with WhileRecording(wanted(server, tmp_path, after_s=0.0), lambda _: done.set()) as one:
        time.sleep(0.7)
        with ProfilerServer(port=server.port):
            assert done.wait(LIMIT_S)
    assert one.capture is not None


@pytest.mark.parametrize("written", ["", "5", "5-5", "9-3", "a-b", "-5", "1-2-3"])
def test_ranges_of_steps_that_are_none(written: str) -> None:
    with pytest.raises(UsageError, match="is not a range of steps"):
        command_profile.steps_of(written)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--steps", "1-2", "--", "true"], "belong to --profile-server"),
        (["--profile-server", "9012", "--logdir", "."], "needs a command"),
        (["--profile-server", "9012", "--", "true"], "Name the logdir"),
        (["--profile-server", "x", "--logdir", ".", "--", "true"], "is not the address"),
    ],
)
def test_wrong_usage_is_said_before_anything_runs(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["record", *words]) == 2
    assert told in capsys.readouterr().err
