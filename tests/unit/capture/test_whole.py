"""One capture from start to end, against the stand-in server: files, power beside them, what is
fetched, what is said.
"""

from __future__ import annotations

import errno
import shlex
import socket
import stat
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from powertui import cli
from powertui.capture import (
    address,
    fetching,
    profile_session,
    repetition,
    session_files,
    surrounding_power,
)
from powertui.capture.messages import ProfileRequest
from powertui.capture.profile_session import CapturedProfile, Plan
from powertui.capture.servers import Server
from powertui.capture.stages import Stage
from powertui.capture.surrounding_power import PowerAround
from powertui.data import logdir
from powertui.data.energy import account, host_energy
from powertui.data.opened import Opened
from powertui.errors import Cancelled, CaptureError, PowertuiError, UsageError
from powertui.report import captured
from powertui.sampler.credentials import Secret
from powertui.sampler.source import Options
from powertui.sampler.targets import Target
from tests.bmc.rmcpplus import Bmc
from tests.profiler_server import EXISTS, ProfilerServer
from tests.waiting import text_of, until


def plan(server: ProfilerServer, logdir: Path, **more: object) -> Plan:
    return Plan(
        (address.parse(server.address),),
        str(logdir),
        ProfileRequest(0.2),
        before_s=0.6,
        after_s=0.6,
        **more,
    )  # type: ignore[arg-type]


def power_of(bmc: Bmc) -> tuple[Target, ...]:
    return (
        Target(
            f"ipmi://viewer@127.0.0.1:{bmc.port}",
            Options(password=Secret("pw-viewer"), timeout=120.0),
        ),
    )


def test_profile_and_power_lie_in_one_folder_and_on_one_clock(tmp_path: Path) -> None:
    stages: list[str] = []
    told_at: list[float] = []

    def told(stage: Stage) -> bool:
        stages.append(stage.what)
        told_at.append(time.time())
        if stage.what == "power before":  # however long this machine takes for the first ones
            until(
                lambda: (
                    sum(text_of(path).count(",ok,") for path in tmp_path.glob("power-*.csv")) >= 3
                )
            )
        if stage.what != "power after":
            return False
        (grows,) = tmp_path.glob("plugins/profile/*/power.csv")
        until(lambda: last_reading(grows) >= told_at[-1] + 0.4)
        # nothing more is waited for: the time is longer than any machine takes to come here
        return True

    with ProfilerServer() as server, Bmc() as bmc:
        taken = profile_session.take(
            replace(plan(server, tmp_path, power=power_of(bmc), interval=0.1), after_s=600), told
        )
    assert not taken.problems
    (profile,) = taken.files
    assert Path(profile).parent == taken.folder == tmp_path / "plugins/profile" / taken.session
    assert Path(taken.power) == taken.folder / "power.csv"
    assert stages[0] == "power before"
    assert stages[-1] == "power after"
    rows = [line for line in Path(taken.power).read_text().splitlines() if line[:1].isdigit()]
    marks = {
        row.split(",")[7]: float(row.split(",")[0])
        for row in rows
        if row.split(",")[7] in ("begin", "end")
    }
    readings = [float(row.split(",")[0]) for row in rows if row.split(",")[7] == "ok"]
    assert sum(one < marks["begin"] for one in readings) >= 3, "power is known before the profile"
    assert told_at[0] <= marks["begin"] - 0.5, "for as long as was asked"
    assert readings[-1] >= marks["end"] + 0.4, "and after it"
    assert told_at[0] < marks["begin"] < server.began_ns / 1e9 + 0.1, (
        "marked when the server was asked"
    )
    (profile_of_it,) = Opened(logdir.scan(str(taken.folder)).runs[0]).profiles
    found = account.energy_account(profile_of_it)
    assert found.alignment is not None
    assert (found.alignment.status, len(found.counted)) == ("aligned", 1)
    assert found.alignment.offset_s is not None
    truth = readings[0] - server.began_ns / 1e9
    assert abs(found.alignment.offset_s - truth) <= 0.005, (
        "both were stamped by this machine's clock"
    )
    assert any(line.strip().startswith("energy") for line in captured.lines(taken.folder))
    assert [entry.name for entry in tmp_path.iterdir()] == ["plugins"], (
        "nothing else is left behind"
    )


def test_two_programs_of_one_machine_are_two_profiles_of_one_run_with_its_power_once(
    tmp_path: Path,
) -> None:
    with ProfilerServer() as one, ProfilerServer() as other, Bmc() as bmc:
        asked = replace(
            plan(one, tmp_path, power=power_of(bmc)),
            addresses=tuple(map(address.parse, (one.address, other.address))),
        )
        taken = profile_session.take(asked)
    assert not taken.problems
    assert one.asked[0][1][6] == other.asked[0][1][6] == [taken.session.encode()], "one session"
    (entry,) = logdir.scan(str(tmp_path)).runs
    opened = Opened(entry)
    name = socket.gethostname()
    assert sorted(profile.host for profile in opened.profiles) == sorted(
        f"{name}_{server.port}" for server in (one, other)
    )
    both = host_energy.run_energy(opened)
    assert both.hosts == (name,)
    lines = captured.lines(taken.folder)
    assert any(
        "ran 2 of the profiled workers: its power is that of all of them." in line for line in lines
    )
    assert sum(" in all" in line for line in lines) == 2


def last_reading(path: str | Path) -> float:
    whole_lines = Path(path).read_text().rpartition("\n")[0].splitlines()
    rows = [line.split(",") for line in whole_lines if line[:1].isdigit()]
    return max(float(row[0]) for row in rows if row[7] == "ok")


def test_power_grows_beside_the_profile_while_something_else_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timeline stands while power is still recorded, and for longer than that."""
    seen: list[str] = []
    goes_on, asked_for = threading.Event(), []

    class Held(threading.Timer):
        """As if the time were long: it begins when the test says so."""

        def run(self) -> None:
            asked_for.append(self.interval)
            assert goes_on.wait(600)
            super().run()

    monkeypatch.setattr(surrounding_power.threading, "Timer", Held)
    with ProfilerServer() as server, Bmc() as bmc:
        asked = plan(server, tmp_path, power=power_of(bmc), interval=0.1)

        def meanwhile(taken: CapturedProfile) -> bool:
            seen.append(taken.power)
            assert "# ended" not in text_of(Path(taken.power)), "it did not wait for the power"
            before = text_of(Path(taken.power)).count(",ok,")
            until(lambda: text_of(Path(taken.power)).count(",ok,") >= before + 3)
            goes_on.set()
            until(
                lambda: "# ended" in text_of(Path(taken.power))
            )  # nobody has to be there to end it
            assert last_reading(taken.power) >= taken.ended_ns / 1e9 + asked_for[0]
            return False

        taken = profile_session.take(asked, meanwhile=meanwhile)
    assert seen == [taken.power] == [str(taken.folder / "power.csv")]
    assert 0 <= asked_for[0] <= asked.after_s
    assert [entry.name for entry in tmp_path.iterdir()] == ["plugins"]


def test_power_lies_beside_the_profile_where_a_file_has_one_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    seen: list[str] = []
    with ProfilerServer() as server, Bmc() as bmc:
        taken = profile_session.take(
            plan(server, tmp_path, power=power_of(bmc)),
            meanwhile=lambda taken: bool(seen.append(taken.power)),
        )
    assert Path(seen[0]).parent == tmp_path, "it grows where it was begun"
    assert taken.power == str(taken.folder / "power.csv")
    assert [entry.name for entry in tmp_path.iterdir()] == ["plugins"]


def test_power_of_another_capture_is_not_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    (folder / "power.csv").write_text("mine")
    with Bmc() as bmc:
        power = PowerAround(power_of(bmc), str(tmp_path), 0.1)
        power.start()
        assert power.stop(folder) == str(folder / "power-2.csv")
    assert (folder / "power.csv").read_text() == "mine"
    assert power.notes == [], "nothing went wrong"


def test_power_of_another_capture_is_not_overwritten_where_a_file_has_one_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    folder = tmp_path / "session"
    folder.mkdir()
    (folder / "power.csv").write_text("mine")
    with Bmc() as bmc:
        power = PowerAround(power_of(bmc), str(tmp_path), 0.1)
        power.start()
        assert power.stop(folder) == str(power.path), "it stays where it was begun"
    assert (folder / "power.csv").read_text() == "mine"
    assert [note for note in power.notes if "File exists" in note] == [
        f"{folder / 'power.csv'} cannot be written: File exists."
    ]


def test_where_the_fetched_file_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_ssh(tmp_path, "echo 4; printf abcd", monkeypatch)
    (tmp_path / "logs").write_text("a file where the folder has to be")
    place = session_files.SessionPlace(tmp_path / "logs" / "session", "/far/session")
    with pytest.raises(CaptureError, match="cannot be written"):
        fetching.fetch(place, Server(address.parse("far:9012"), "far"), "far")


def test_stopped_while_the_file_is_fetched_power_and_the_line_that_fetches_it_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fetching, "fetch", interrupted)
    with ProfilerServer(root=str(tmp_path / "far")) as server, Bmc() as bmc:
        taken = profile_session.take(
            plan(server, tmp_path / "logs", via=("far",), power=power_of(bmc))
        )
    assert taken.stopped
    assert taken.elsewhere[0].startswith("scp ")
    assert Path(taken.power).parent == taken.folder


def test_a_second_ctrl_c_leaves_the_power(tmp_path: Path) -> None:
    """The server was told to end, and may write its file after we have gone."""

    def told(stage: Stage) -> bool:
        if stage.what in ("profiling", profile_session.WRITING):
            raise KeyboardInterrupt
        return False

    with ProfilerServer(hold=True, stubborn=True) as server, Bmc() as bmc:
        taken = profile_session.take(
            replace(plan(server, tmp_path, power=power_of(bmc)), asked=ProfileRequest(60)), told
        )
        assert server.terminated.is_set()
    assert taken.stopped
    assert "had written its profile" in str(taken.problems[0])
    assert Path(taken.power).exists()


def test_a_server_on_another_disk_is_told_with_one_line(tmp_path: Path) -> None:
    with ProfilerServer(root=str(tmp_path / "its own disk")) as server:
        taken = profile_session.take(plan(server, tmp_path / "logs"))
    assert not taken.files
    (line,) = taken.elsewhere
    words = shlex.split(line)
    assert words[0] == "scp"
    assert words[1].endswith(
        f"{tmp_path}/logs/plugins/profile/{taken.session}/{where_host(server)}.xplane.pb"
    )
    assert words[2] == f"{taken.folder}/"


def where_host(server: ProfilerServer) -> str:
    return server.asked[0][1][7][0].decode()


def fake_ssh(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


def test_it_is_fetched_through_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The far shell runs what was ordered; here it is this machine's, below another root."""
    script = (
        'while [ "$1" != -- ]; do shift; done; echo "$1 $2" > "$(dirname "$0")/asked"; '
        'shift 2; exec sh -c "$*"'
    )
    fake_ssh(tmp_path, script, monkeypatch)
    far = tmp_path / "far's logs"
    with ProfilerServer() as server:
        taken = profile_session.take(
            plan(server, tmp_path / "logs", server_logdir=str(far), via=("me@far",))
        )
    (profile,) = taken.files
    assert Path(profile).parent == tmp_path / "logs/plugins/profile" / taken.session
    assert Path(profile).read_bytes() == next(far.rglob("*.xplane.pb")).read_bytes()
    assert (tmp_path / "bin/asked").read_text().split() == ["--", "me@far"]


@pytest.mark.parametrize(
    "script", ["echo no such host >&2; exit 255", "echo 100; echo short", "exit 0"]
)
def test_a_fetch_that_fails_leaves_nothing_and_says_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    fake_ssh(tmp_path, script, monkeypatch)
    with ProfilerServer(root=str(tmp_path / "far")) as server:
        taken = profile_session.take(plan(server, tmp_path / "logs", via=("far",)))
    (problem,) = taken.problems
    assert "could not be fetched through far" in str(problem)
    assert "scp" in problem.hint
    assert not list((tmp_path / "logs").rglob("*.pb*"))


@pytest.mark.parametrize("host", ["-oProxyCommand=touch x", "a b", "", "x;y", "$(x)"])
def test_what_ssh_would_take_for_an_option_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match="not a host for ssh"):
        session_files.via(host)


def test_results_of_an_old_server_are_kept_under_plain_names_only(tmp_path: Path) -> None:
    given = (
        ("trace.json.gz", b"a"),
        ("../../evil", b"b"),
        ("/etc/x", b"c"),
        (".hidden", b"d"),
        ("overview_page.pb", b"e"),
    )
    with ProfilerServer(results=given) as server:
        taken = profile_session.take(plan(server, tmp_path))
    assert sorted(Path(path).name.split(".", 1)[1] for path in taken.results) == [
        *sorted(Path(path).name.split(".", 1)[1] for path in map(str, taken.folder.iterdir()))
    ]
    assert len(taken.results) == 2
    assert any("too old to return a profile" in note for note in taken.notes)


def test_no_server_is_said_before_anything_is_waited_for_or_written(tmp_path: Path) -> None:
    with ProfilerServer() as server:
        gone = plan(server, tmp_path)
    with pytest.raises(CaptureError, match="Nothing listens"):
        profile_session.take(gone, lambda _stage: pytest.fail("it waited"))
    assert not list(tmp_path.iterdir())


def test_power_that_cannot_be_had_is_said_before_the_profile(tmp_path: Path) -> None:
    with ProfilerServer() as server:
        with pytest.raises(PowertuiError):
            profile_session.take(
                plan(server, tmp_path, power=(Target("csv:/no/such/file", Options()),))
            )
        assert not server.asked
    assert not list(tmp_path.iterdir())


def test_stopped_before_the_profile_nothing_is_left(tmp_path: Path) -> None:
    with ProfilerServer() as server, Bmc() as bmc:
        with pytest.raises(Cancelled):
            profile_session.take(plan(server, tmp_path, power=power_of(bmc)), lambda _stage: True)
        assert not server.asked
    assert not list(tmp_path.iterdir())


def test_a_profile_that_never_began_leaves_no_power(tmp_path: Path) -> None:
    with ProfilerServer(status=13, said=EXISTS) as server, Bmc() as bmc:
        taken = profile_session.take(plan(server, tmp_path, power=power_of(bmc)))
    assert "is taking another profile already" in str(taken.problems[0])
    assert not taken.power
    assert not list(tmp_path.rglob("*.csv"))


def test_a_profile_that_could_not_be_written_leaves_its_power(tmp_path: Path) -> None:
    with ProfilerServer(status=13, said="x; Permission denied") as server, Bmc() as bmc:
        taken = profile_session.take(plan(server, tmp_path, power=power_of(bmc)))
    assert "does not have permission to write" in str(taken.problems[0])
    assert taken.power == str(taken.folder / "power.csv")
    assert taken.notes == [f"The power that was recorded is kept in {taken.power}."]
    assert ",ok," in Path(taken.power).read_text()


def test_again_and_again_keeps_the_last_ones_and_what_others_put_there(tmp_path: Path) -> None:
    done: list[CapturedProfile] = []

    def say(taken: CapturedProfile | PowertuiError) -> None:
        assert isinstance(taken, CapturedProfile)
        done.append(taken)
        if len(done) == 1:
            (taken.folder / "notes.txt").write_text("mine")

    def told(_stage: Stage) -> bool:
        return len(done) == 3

    with ProfilerServer() as server:
        assert repetition.run(plan(server, tmp_path), 0.01, 1, told, say) == 0
    sessions = tmp_path / "plugins/profile"
    assert [path.name for path in done[0].folder.iterdir()] == ["notes.txt"]
    assert not done[1].folder.exists()
    assert len(done) == 4, "the one that was ended early is kept like any other"
    assert len(list(sessions.rglob("*.xplane.pb"))) == 1


def test_the_command_line_says_what_it_came_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProfilerServer() as server:
        words = [
            "capture",
            server.address,
            "--logdir",
            str(tmp_path),
            "-t",
            "200ms",
            "--no-power",
            "--no-open",
        ]
        assert cli.main(words) == 0
    out, _ = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].endswith(".xplane.pb")
    assert "3: median 500 ms" in out
    assert lines[-1].startswith("next: powertui ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["capture"], "Name where the program's profiler server listens"),
        (["capture", "9012"], "Name the logdir with --logdir"),
        (["capture", "9012", "--logdir", ".", "-t", "soon"], "-t soon"),
        (["capture", "9012", "--logdir", ".", "--keep", "0"], "--keep must be 1"),
        (
            ["capture", "9012", "--logdir", ".", "--keep", "2", "--no-power"],
            "--keep belongs to --every",
        ),
        (["capture", "9012", "--logdir", ".", "--via", "-x"], "--via needs a value"),
        (
            ["capture", "9012", "--logdir", ".", "--no-power", "--host", "x"],
            "--no-power records nothing",
        ),
        (
            ["capture", "9012", "--logdir", ".", "--server-logdir", "x", "--no-power"],
            "must be an absolute path",
        ),
    ],
)
def test_wrong_usage(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(words)
    except SystemExit as left:
        code = int(left.code or 0)
    assert code == 2
    assert told in capsys.readouterr().err
