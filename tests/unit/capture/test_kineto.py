"""Asking Kineto: as its daemon, which answers the process that is meant and nobody else; what it
writes is waited for.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from powertui.capture import dynolog, kineto, profile_session
from powertui.capture.dynolog import Daemon, ProcessUser
from powertui.capture.messages import ProfileRequest
from powertui.capture.profile_session import Plan
from powertui.capture.stages import Stage
from powertui.errors import CaptureError, UsageError
from tests.bmc.rmcpplus import Bmc
from tests.unit.capture.test_whole import power_of

# What Kineto does, as far as it concerns us: it asks its daemon again and again, and writes a trace
# where that says.
STAND_IN = """
import json, os, socket, struct, sys, time
suffix, bits, user = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if user:
    os.setgid(user)
    os.setuid(user)
own = os.path.join(os.environ["KINETO_IPC_SOCKET_DIR"], f"client-{os.getpid()}")
one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
one.bind(own)
one.settimeout(5)
print("up", flush=True)
while True:
    time.sleep(0.1)
    body = struct.pack("@iiq2i", bits, 2, 0, os.getpid(), os.getppid())
    try:
        one.sendto(struct.pack("@N32s", len(body), b"req") + body, os.path.join(os.path.dirname(own), "dynolog"))
        order = one.recv(9999)[40:].decode()
    except OSError:
        continue
    if not order:
        continue
    orders = dict(line.split("=", 1) for line in order.split())
    event = {"ph": "X", "dur": 9e5, "pid": 1, "tid": 1, "cat": "user_annotation"}
    events = [{**event, "name": f"ProfilerStep#{n}", "ts": 1e6 * n} for n in range(3)]
    with open(orders["ACTIVITIES_LOG_FILE"].replace(".json", suffix + ".json"), "w") as file:
        file.write('{"schemaVersion": 1, "duration": %s, ' % orders["ACTIVITIES_DURATION_MSECS"])
        file.flush()
        time.sleep(0.6)
        file.write('"traceEvents": ' + json.dumps(events) + "}")
"""


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s")  # the path of a socket is 107 bytes at most


def start(
    place: Path, suffix: str = "", bits: int = 3, daemon: bool = True, user: int = 0
) -> subprocess.Popen[str]:
    env = {
        **os.environ,
        "KINETO_IPC_SOCKET_DIR": str(place),
        **({"KINETO_USE_DAEMON": "1"} if daemon else {}),
    }
    words = [sys.executable, "-c", STAND_IN, suffix, str(bits), str(user)]
    process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.fixture(params=["", "_4711"])
def program(request: pytest.FixtureRequest, place: Path) -> Iterator[subprocess.Popen[str]]:
    with start(place, request.param) as process:
        yield process
        process.kill()


def test_it_is_asked_and_its_file_waited_for(
    program: subprocess.Popen[str], place: Path, tmp_path: Path
) -> None:
    taken = profile_session.take(
        Plan((), str(tmp_path / "logs"), ProfileRequest(1.5), pid=program.pid)
    )
    assert not taken.problems
    (path,) = taken.files
    assert '"duration": 1500' in Path(path).read_text()
    assert Path(path).read_text().endswith("}")
    assert not (place / "dynolog").exists(), "a daemon that runs later finds its place free"
    from powertui.report import captured

    assert any("3: median" in line for line in captured.lines(taken.folder))


def test_a_program_that_is_killed_while_it_writes_leaves_the_power_and_no_trace_that_is_cut(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dead program stays listed, since nobody has asked for its exit code: that is no reason to
    wait for it.
    """
    killed = []

    def told(_stage: Stage) -> bool:
        if not killed and any(path.stat().st_size for path in tmp_path.rglob("*.json")):
            killed.append(process.kill())
        return False

    monkeypatch.setattr(
        sys.modules[__name__], "STAND_IN", STAND_IN.replace("time.sleep(0.6)", "time.sleep(3600)")
    )
    with start(place) as process, Bmc() as bmc:
        asked = Plan(
            (),
            str(tmp_path / "logs"),
            ProfileRequest(0.2),
            power_of(bmc),
            before_s=0.2,
            pid=process.pid,
        )
        taken = profile_session.take(asked, told)
    (problem,) = taken.problems
    assert problem.message == f"Process {process.pid} ended before its profile was written."
    (trace,) = taken.folder.glob("*.part")
    assert (
        problem.hint
        == f"What was written of the profile ends in the middle. It is kept in {trace}."
    )
    assert sorted(entry.name for entry in taken.folder.iterdir()) == sorted(
        [trace.name, "power.csv"]
    )
    assert taken.power == str(taken.folder / "power.csv")


def test_a_process_that_was_not_started_for_it(place: Path, tmp_path: Path) -> None:
    with start(place, daemon=False) as process:
        with pytest.raises(CaptureError) as caught:
            profile_session.take(Plan((), str(tmp_path / "logs"), pid=process.pid))
        assert "KINETO_USE_DAEMON=1" in caught.value.hint
        process.kill()


@pytest.mark.parametrize(
    ("bits", "said"), [(-1, "did not ask for anything"), (0, "is taking another profile already")]
)
def test_one_that_never_asks_and_one_that_is_busy(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int, said: str
) -> None:
    monkeypatch.setattr(kineto, "FIRST_REQUEST_S", 2.0)
    if bits < 0:  # it asks elsewhere
        monkeypatch.setattr(dynolog, "socket_of", lambda _: b"\0powertui-test-%d" % os.getpid())
    with start(place, bits=max(bits, 0)) as process:
        taken = profile_session.take(Plan((), str(tmp_path / "logs"), pid=process.pid))
        process.kill()
    assert said in str(taken.problems[0])
    assert not list((tmp_path / "logs").iterdir())


def test_a_daemon_that_runs_already_is_not_put_aside(
    program: subprocess.Popen[str], place: Path, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as theirs:
        theirs.bind(str(place / "dynolog"))
        taken = profile_session.take(Plan((), str(tmp_path / "logs"), pid=program.pid))
        assert f"dyno gputrace --pids {program.pid}" in str(taken.problems[0])
        assert (place / "dynolog").exists()
    assert not list((tmp_path / "logs").iterdir())


def test_only_the_process_that_is_meant_gets_the_order(place: Path) -> None:
    """Whatever pids a request names: the kernel says who sent it. Damaged requests change nothing,
    and words that Kineto does not know (0xff) are not sent on."""
    request = struct.pack("@iiqi", 3, 1, 0, 1)
    said = struct.pack("@N32s", len(request), b"req") + request
    where = bytes(place / "dynolog")
    answers = []
    for pid in (1, os.getpid()):
        with (
            Daemon(where, pid, "ORDER=1\n") as daemon,
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client,
        ):
            client.bind(str(place / f"client-{pid}"))
            client.settimeout(10)
            for one in (
                said,
                b"",
                b"x" * 39,
                said[:44],
                struct.pack("@N32s", 0, b"ctxt"),
                b"\xff" * 60,
                said,
            ):
                client.sendto(one, where)
                daemon.look(10)
            client.setblocking(False)
            for _ in range(4):
                answers.append((pid == os.getpid(), client.recv(9999)[40:]))
            with pytest.raises(BlockingIOError):
                client.recv(1)
    count = struct.pack("@i", 1)
    assert [told for mine, told in answers if not mine] == [b"", b"", count, b""]
    assert [told for mine, told in answers if mine] == [b"ORDER=1\n", b"", count, b""], (
        "it is told once"
    )


OTHER_USER = ProcessUser(65534, 65534)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="acting for another user takes root")


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that other users can reach: those of pytest they cannot."""
    with tempfile.TemporaryDirectory(prefix="powertui-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def refusal(folder: Path, user: ProcessUser | None = None) -> str:
    """Why no socket is bound in this folder."""
    with (
        pytest.raises(CaptureError) as caught,
        Daemon(bytes(folder) + b"/dynolog", os.getpid(), "", user),
    ):
        pass
    return str(caught.value)


def test_a_folder_that_is_a_link_is_not_used(place: Path) -> None:
    (place / "real" / "below").mkdir(parents=True)
    (place / "link").symlink_to(place / "real")
    assert "link in it is a link" in refusal(place / "link")
    if os.geteuid() == 0:
        os.chown(place / "link", 65534, 65534, follow_symlinks=False)
    else:
        pytest.skip("a link of another user takes root to make")
    assert "link in it is a link" in refusal(place / "link" / "below")
    os.chown(place / "link", 0, 0, follow_symlinks=False)
    with Daemon(bytes(place / "link" / "below" / "dynolog"), os.getpid(), ""):
        assert (place / "real" / "below" / "dynolog").is_socket(), "as /var/run is a link of root's"
    assert not list((place / "real" / "below").iterdir())


def test_a_folder_that_others_can_write_to_is_used_only_if_it_is_sticky(place: Path) -> None:
    for mode in (0o777, 0o775, 0o757):
        place.chmod(mode)
        assert f"chmod go-w {place}" in refusal(place)
        assert not list(place.iterdir())
    place.chmod(0o1777)
    with Daemon(bytes(place / "dynolog"), os.getpid(), ""):
        assert (place / "dynolog").is_socket()


def test_a_folder_that_is_not_there_or_not_a_whole_path(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "No such file or directory" in refusal(place / "nowhere")
    (place / "file").touch()
    assert "Not a directory" in refusal(place / "file")
    monkeypatch.chdir(place)
    assert "it is not a whole path" in refusal(Path("relative"))


@needs_root
def test_a_folder_of_a_third_user_is_not_used(place: Path) -> None:
    os.chown(place, 1234, 1234)
    for user in (None, OTHER_USER):
        assert "it belongs to user 1234" in refusal(place, user)
    assert not list(place.iterdir())


@needs_root
def test_root_binds_with_the_rights_of_the_program_s_user(open_place: Path) -> None:
    """A folder of root's where that user may not write is not written to for him, and its socket
    can be reached by his program.
    """
    assert "Permission denied" in refusal(open_place, OTHER_USER)
    os.chown(open_place, OTHER_USER.user_id, OTHER_USER.group_id)
    with Daemon(bytes(open_place / "dynolog"), os.getpid(), "", OTHER_USER):
        assert (open_place / "dynolog").stat().st_uid == OTHER_USER.user_id
        (open_place / "root's").touch()
        assert (open_place / "root's").stat().st_uid == 0, "for the socket alone"
    assert [path.name for path in open_place.iterdir()] == ["root's"]


@needs_root
def test_a_program_of_another_user_is_captured_by_root(open_place: Path) -> None:
    os.chown(open_place, OTHER_USER.user_id, OTHER_USER.group_id)
    logs = open_place / "logs"
    logs.mkdir()
    logs.chmod(0o1777)
    with start(open_place, user=OTHER_USER.user_id) as program:
        path = kineto.take(program.pid, 1.5, logs)
        program.kill()
    assert path.stat().st_uid == OTHER_USER.user_id
    assert path.read_text().endswith("}")
    assert not (open_place / "dynolog").exists()


def test_what_somebody_else_put_in_its_place_stays(place: Path) -> None:
    with Daemon(bytes(place / "dynolog"), os.getpid(), ""):
        (place / "dynolog").unlink()
        (place / "dynolog").write_text("theirs")
    assert (place / "dynolog").read_text() == "theirs"
    (place / "dynolog").unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as theirs:
        with Daemon(bytes(place / "dynolog"), os.getpid(), ""):
            (place / "dynolog").rename(place / "ours")
            theirs.bind(str(place / "dynolog"))
        assert (place / "dynolog").is_socket()


def test_a_link_under_its_name_is_neither_followed_nor_removed(place: Path) -> None:
    (place / "dynolog").symlink_to(place / "elsewhere")
    assert "dynolog" in refusal(place)
    assert (place / "dynolog").is_symlink()
    assert not (place / "elsewhere").exists()


def test_a_socket_that_nobody_listens_at_is_named(place: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as killed:
        killed.bind(str(place / "dynolog"))
    assert f"rm {place}/dynolog" in refusal(place)
    assert (place / "dynolog").is_socket()


def test_an_answer_goes_only_to_a_socket_of_the_same_folder(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Root answers: a sender's name could lead to a socket that only root can write to."""
    elsewhere = tmp_path_factory.mktemp("e")
    request = struct.pack("@N32s", 0, b"ctxt")
    with Daemon(bytes(place / "dynolog"), os.getpid(), "") as daemon:
        for folder, answered in ((elsewhere, False), (place, True)):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
                client.bind(str(folder / "client"))
                client.sendto(request, str(place / "dynolog"))
                daemon.look(10)
                client.setblocking(False)
                try:
                    assert client.recv(99)
                    assert answered
                except BlockingIOError:
                    assert not answered


def test_the_name_is_the_one_that_kineto_compares() -> None:
    """It ends its program when an answer comes from a name that does not begin with its folder and
    a slash.
    """
    for folder in (b"/run/x", b"/run/x/", b"/run//x"):
        assert dynolog.socket_of({b"KINETO_IPC_SOCKET_DIR": folder}) == folder + b"/dynolog"


def test_no_such_process(place: Path, tmp_path: Path) -> None:
    with start(place) as process:
        process.kill()
    with pytest.raises(UsageError, match="There is no process"):
        profile_session.take(Plan((), str(tmp_path / "logs"), pid=process.pid))
