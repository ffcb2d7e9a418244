"""Servers that die, never answer or fill the disk: what was recorded is kept, and no cut file has
the name of a profile.
"""

from __future__ import annotations

import errno
import os
import resource
import socket
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from powertui.capture import address, profile_file, profile_session
from powertui.capture.messages import ProfileRequest
from powertui.capture.profile_session import Plan
from powertui.capture.stages import Stage
from powertui.capture.surrounding_power import PowerAround
from powertui.errors import CaptureError
from tests.bmc.rmcpplus import Bmc
from tests.profiler_server import ProfilerServer, profile, server_process
from tests.unit.capture.test_whole import power_of
from tests.waiting import until


def plan(logdir: Path, *servers: str, **more: object) -> Plan:
    addresses = tuple(address.parse(server) for server in servers)
    asked = ProfileRequest(600.0, patience_s=600.0)
    return replace(Plan(addresses, str(logdir), asked, before_s=0.3, after_s=0.3), **more)  # type: ignore[arg-type]


def power_rows(path: str | Path) -> int:
    return Path(path).read_text().count(",ok,")


class Killer:
    """Kills a process once its server was asked and some power was read meanwhile."""

    def __init__(self, process: subprocess.Popen[str], logdir: Path) -> None:
        self._process, self._logdir = process, logdir
        self.killed = False

    def __call__(self, stage: Stage) -> bool:
        if stage.what == "profiling" and not self.killed:
            assert self._process.stdout is not None
            assert self._process.stdout.readline() == "began\n"
            until(lambda: any(power_rows(path) >= 3 for path in self._logdir.glob("power-*.csv")))
            self._process.kill()
            self._process.wait()
            self.killed = True
        return False


def test_a_server_that_is_killed_in_the_middle_leaves_the_power(tmp_path: Path) -> None:
    with server_process(hold=True) as (process, where), Bmc() as bmc:
        taken = profile_session.take(
            plan(tmp_path, where, power=power_of(bmc)), Killer(process, tmp_path)
        )
    (problem,) = taken.problems
    assert problem.message.startswith(
        f"{where} closed the connection before the profile was written"
    )
    assert not taken.good
    assert taken.power == str(taken.folder / "power.csv")
    assert power_rows(taken.power) >= 3
    text = Path(taken.power).read_text()
    assert ",begin," in text
    assert ",end," in text, "the window in which it was profiled is marked"
    assert taken.notes == [f"The power that was recorded is kept in {taken.power}."]
    assert [entry.name for entry in tmp_path.iterdir()] == ["plugins"], "nothing lies beside it"


def test_one_of_two_servers_is_killed_and_the_other_profile_is_kept_with_the_power(
    tmp_path: Path,
) -> None:
    with server_process(hold=True) as (process, dies), ProfilerServer() as lives, Bmc() as bmc:
        taken = profile_session.take(
            plan(tmp_path, dies, lives.address, power=power_of(bmc)), Killer(process, tmp_path)
        )
    assert len(taken.problems) == 1
    assert dies in taken.problems[0].message
    (path,) = taken.files
    assert profile_file.file_state(Path(path)) == "complete"
    assert taken.power == str(taken.folder / "power.csv")


def test_a_file_that_a_killed_server_had_begun_is_kept_under_another_name(tmp_path: Path) -> None:
    with server_process(hold=True, cuts=True) as (process, where), Bmc() as bmc:
        killer = Killer(process, tmp_path)

        def told(stage: Stage) -> bool:
            if stage.what == "profiling":
                until(lambda: list(tmp_path.rglob("*.xplane.pb")))
            return killer(stage)

        taken = profile_session.take(plan(tmp_path, where, power=power_of(bmc)), told)
    (aside,) = taken.folder.glob("*.part")
    assert sorted(entry.name for entry in taken.folder.iterdir()) == sorted(
        [aside.name, "power.csv"]
    )
    assert aside.stat().st_size > 0
    assert (
        taken.notes[0]
        == f"What was written of the profile ends in the middle. It is kept in {aside}."
    )


def test_a_profile_that_was_complete_when_its_server_died_is_a_profile(tmp_path: Path) -> None:
    with ProfilerServer(mute=True) as server:

        def told(_stage: Stage) -> bool:
            if server.began.is_set():
                until(
                    lambda: any(
                        profile_file.file_state(path) == "complete"
                        for path in tmp_path.rglob("*.pb")
                    )
                )
                for connection in list(server._open):
                    with suppress(OSError):  # the first one only asked whether it is there
                        connection.shutdown(socket.SHUT_RDWR)
            return False

        taken = profile_session.take(plan(tmp_path, server.address), told)
    (path,) = taken.files
    assert taken.notes == [f"The profile is complete all the same: {path}."]
    assert "closed the connection" in taken.problems[0].message


def test_a_server_that_reports_a_cut_file_as_written(tmp_path: Path) -> None:
    with ProfilerServer(cuts=True) as server:
        taken = profile_session.take(plan(tmp_path, server.address))
    assert not taken.files
    assert "ends in the middle, although" in taken.problems[0].message
    assert [entry.suffix for entry in taken.folder.iterdir()] == [".part"]


def test_a_server_whose_disk_is_full_leaves_no_cut_file(tmp_path: Path) -> None:
    with (
        ProfilerServer(cuts=True, status=13, said="x; No space left on device") as server,
        Bmc() as bmc,
    ):
        taken = profile_session.take(plan(tmp_path, server.address, power=power_of(bmc)))
    assert "disk is full" in taken.problems[0].message
    assert [entry.name for entry in taken.folder.iterdir()] == ["power.csv"]
    assert taken.notes[0].startswith(
        "The server left a file that ends in the middle. It was removed: "
    )


# ── the deadline ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "settings", [{"writes": False, "mute": True}, {"cuts": True, "mute": True}]
)
def test_a_server_that_never_answers_has_a_deadline(
    settings: dict[str, bool], tmp_path: Path
) -> None:
    """Half of the answer's file is there in the second case."""
    with ProfilerServer(**settings) as server, Bmc() as bmc:  # type: ignore[arg-type]
        asked = ProfileRequest(0.2, patience_s=0.3)
        taken = profile_session.take(
            plan(tmp_path, server.address, asked=asked, power=power_of(bmc))
        )
    (problem,) = taken.problems
    assert problem.message == f"{server.address} did not answer within 0.5 s."
    assert "--patience" in problem.hint
    assert taken.power == str(taken.folder / "power.csv")
    assert not taken.stopped
    assert not list(taken.folder.glob("*.pb"))


def test_the_profile_of_a_server_that_wrote_it_and_never_answered_is_taken(tmp_path: Path) -> None:
    with ProfilerServer(mute=True) as server:
        asked = ProfileRequest(0.2, patience_s=0.2)

        def told(stage: Stage) -> bool:
            if stage.what != "profiling":  # however late this machine lets it write
                until(
                    lambda: any(
                        profile_file.file_state(path) == "complete"
                        for path in tmp_path.rglob("*.pb")
                    )
                )
            return False

        taken = profile_session.take(plan(tmp_path, server.address, asked=asked), told)
    assert len(taken.files) == 1
    assert "did not answer" in taken.problems[0].message


def test_a_slow_server_is_named_with_the_deadline_and_what_ctrl_c_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_session, "_SLOW_ANSWER_S", 0.0)
    stages: list[Stage] = []

    def told(stage: Stage) -> bool:
        stages.append(stage)
        return bool(stage.sentence())

    with ProfilerServer(hold=True) as server, Bmc() as bmc:
        asked = ProfileRequest(0.2, patience_s=600.0)
        profile_session.take(plan(tmp_path, server.address, asked=asked, power=power_of(bmc)), told)
    slow = next(stage for stage in stages if stage.sentence())
    named = slow._replace(past_s=12.3).sentence()
    assert named == (
        f"Waiting for {server.address}: 12 s of at most 600 s. Ctrl+C ends the capture and "
        "keeps the power."
    )
    assert (
        slow._replace(keeps_power=False, ending=True, past_s=12.3)
        .sentence("P")
        .endswith("600 s. P stops waiting.")
    )


# ── whether a profile is complete ────────────────────────────────────────────────────────────────


def test_every_cut_of_a_profile_is_seen(tmp_path: Path) -> None:
    """But at the end of an outermost field, where it is a smaller profile."""
    path = tmp_path / "x.xplane.pb"
    data = profile(10**18)
    path.write_bytes(data)
    assert profile_file.file_state(path) == "complete"
    complete = []
    for size in range(len(data)):
        path.write_bytes(data[:size])
        complete += [size] if profile_file.file_state(path) == "complete" else []
    assert len(complete) <= 3, "planes and the host's name are the outermost fields"
    path.write_bytes(b"\xff" * 64)
    assert profile_file.file_state(path) == "incomplete"
    assert profile_file.file_state(tmp_path) == "absent"
    assert profile_file.file_state(tmp_path / "nothing") == "absent"


def test_a_pipe_in_the_place_of_a_profile_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.xplane.pb")
    assert profile_file.file_state(tmp_path / "x.xplane.pb") == "absent"


# ── files of ours ────────────────────────────────────────────────────────────────────────────────


def test_power_goes_to_another_file_system_as_a_complete_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another(*_: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(Path, "rename", another)
    link = Path.hardlink_to

    def link_here(self: Path, target: Path) -> None:
        if Path(target).parent != self.parent:
            another()
        link(self, target)

    monkeypatch.setattr(Path, "hardlink_to", link_here)
    with Bmc() as bmc:
        power = PowerAround(power_of(bmc), str(tmp_path), 0.1)
        power.start()
        assert power.stop(tmp_path / "session") == str(tmp_path / "session" / "power.csv")
    assert power.notes == []
    assert "# ended" in (tmp_path / "session" / "power.csv").read_text()
    assert [entry.name for entry in tmp_path.iterdir()] == ["session"]
    assert [entry.name for entry in (tmp_path / "session").iterdir()] == ["power.csv"]


def test_results_of_an_old_server_that_do_not_fit_leave_no_cut_file(tmp_path: Path) -> None:
    """The limit for a file's size is the system's own: a write beyond it fails like one on a full
    disk.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ProfilerServer(results=(("a.json", b"a" * 10), ("b.json", b"b" * 100_000))) as server:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
        try:
            taken = profile_session.take(plan(tmp_path, server.address))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (problem,) = taken.problems
    assert isinstance(problem, CaptureError)
    assert "b.json: cannot be written (File too large)" in problem.message
    (kept,) = taken.folder.iterdir()
    assert kept.name.endswith(".a.json")
    assert taken.results == [str(kept)]
