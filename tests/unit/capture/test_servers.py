"""The client against a stand-in server: what it says, what it takes, and one sentence for
everything that can go wrong.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from powertui.capture import address, call, messages, servers
from powertui.capture.messages import ProfileRequest
from powertui.errors import CaptureError, UsageError
from tests.profiler_server import EXISTS, ProfilerServer

TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x46"
HTTPS_WANTED = (
    b"HTTP/1.1 400 Bad Request\r\n\r\n<html>The plain HTTP request was sent to HTTPS port</html>"
)


def take(
    root: Path, *of: ProfilerServer, asked: ProfileRequest | None = None, **more: object
) -> tuple[servers.Outcome, ...]:
    named = servers.named_servers([address.parse(one.address) for one in of])
    return servers.take(named, asked or ProfileRequest(0.1), str(root), "session", **more)[0]  # type: ignore[arg-type]


def problem(outcome: servers.Outcome) -> str:
    assert outcome.problem is not None
    return str(outcome.problem)


def test_the_server_is_told_everything_and_writes_the_file(tmp_path: Path) -> None:
    with ProfilerServer() as server:
        (outcome,) = take(
            tmp_path,
            server,
            asked=ProfileRequest(1.5, host_level=3, device_level=2, python_level=1, hlo=True),
        )
        (method, request), *_ = server.asked
    assert outcome.problem is None
    assert outcome.answer == messages.ServerAnswer(empty=False, results=())
    assert method == "/tensorflow.ProfilerService/Profile"
    host = outcome.server.host
    assert (request[1], request[5], request[6], request[7]) == (
        [1500],
        [str(tmp_path).encode()],
        [b"session"],
        [host.encode()],
    )
    from tests.profiler_server import fields

    assert fields(request[4][0]) == {2: [3], 3: [2], 4: [1], 5: [1], 7: [1], 9: [1500]}
    assert (tmp_path / "session" / f"{host}.xplane.pb").stat().st_size > 100


def test_no_request_goes_without_a_folder() -> None:
    for root, session, host in (("", "s", "h"), ("r", "", "h"), ("r", "s", "")):
        with pytest.raises(ValueError, match="needs a folder"):
            messages.profile(ProfileRequest(), root, session, host)


def test_several_are_started_together_with_one_session(tmp_path: Path) -> None:
    with ProfilerServer() as one, ProfilerServer() as other:
        first, second = take(tmp_path, one, other)
        sessions = {server.asked[0][1][6][0] for server in (one, other)}
    assert sessions == {b"session"}
    assert first.server.host != second.server.host, (
        "two programs on one machine must not write one file"
    )
    assert {path.name for path in (tmp_path / "session").iterdir()} == {
        f"{o.server.host}.xplane.pb" for o in (first, second)
    }


def test_what_is_there_is_kept_when_it_is_ended_early(tmp_path: Path) -> None:
    with ProfilerServer(hold=True) as server:
        (outcome,) = take(
            tmp_path, server, asked=ProfileRequest(60), on_wait=lambda _wait: server.began.is_set()
        )
        assert server.asked[-1] == ("/tensorflow.ProfilerService/Terminate", {1: [b"session"]})
    assert outcome.problem is None
    assert (tmp_path / "session" / f"{outcome.server.host}.xplane.pb").exists()


def test_ctrl_c_ends_it_early(tmp_path: Path) -> None:
    with ProfilerServer(hold=True) as server:
        pressed = []

        def on_wait(_wait: servers.AnswerWait) -> bool:
            if server.began.is_set() and not pressed:
                pressed.append(1)
                raise KeyboardInterrupt
            return False

        named = servers.named_servers([address.parse(server.address)])
        (outcome,), early = servers.take(
            named, ProfileRequest(60), str(tmp_path), "session", on_wait=on_wait
        )
    assert early
    assert outcome.problem is None


def test_ctrl_c_in_the_moment_of_asking_ends_what_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two servers, and right behind the last: the one that profiles is ended, and what it
    has is kept.
    """

    def pressed() -> None:
        raise KeyboardInterrupt

    with ProfilerServer(hold=True) as one, ProfilerServer(hold=True) as other:
        named = servers.named_servers([address.parse(one.address), address.parse(other.address)])
        both, early = servers.take(named, ProfileRequest(60), str(tmp_path), "a", started=pressed)
        assert early
        assert [outcome.problem for outcome in both] == [None, None]
    send = call.Call.send

    def sending(self: call.Call, method: str, message: bytes) -> None:
        if method == messages.PROFILE and self.address.port == other.port:
            raise KeyboardInterrupt
        send(self, method, message)

    monkeypatch.setattr(call.Call, "send", sending)
    with ProfilerServer(hold=True) as one, ProfilerServer(hold=True) as other:
        named = servers.named_servers([address.parse(one.address), address.parse(other.address)])
        (first, second), early = servers.take(named, ProfileRequest(60), str(tmp_path), "b")
    assert early
    assert first.problem is None
    assert (tmp_path / "b" / f"{first.server.host}.xplane.pb").exists()
    assert problem(second) == f"Stopped before {other.address} was asked."


def test_one_of_several_fails_and_the_other_is_kept(tmp_path: Path) -> None:
    with ProfilerServer(dies=True) as one, ProfilerServer() as other:
        first, second = take(tmp_path, one, other)
    assert "closed the connection before the profile was written" in problem(first)
    assert second.problem is None


def test_old_servers_answer_with_results(tmp_path: Path) -> None:
    large = bytes(range(256)) * 4000  # more than the windows that HTTP/2 begins with
    with ProfilerServer(results=(("trace.json.gz", large), ("overview_page.pb", b""))) as server:
        (outcome,) = take(tmp_path, server)
    assert outcome.answer is not None
    assert outcome.answer.results == (("trace.json.gz", large), ("overview_page.pb", b""))


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (13, EXISTS, "taking another profile already"),
        (6, "", "taking another profile already"),
        (13, "/x; No space left on device", "disk is full: it could not write"),
        (8, "Disk%20quota exceeded", "disk is full"),
        (13, "/x; Permission denied", "does not have permission to write"),
        (7, "", "does not have permission to write"),
        (12, "", "is a gRPC server, but not a profiler server"),
        (13, "something%20%1b[31mred\u001b", "something \\x1b[31mred"),
        (14, "", "no reason was given (grpc status 14)"),
    ],
)
def test_what_the_server_refuses_is_one_sentence(
    tmp_path: Path, status: int, said: str, words: str
) -> None:
    with ProfilerServer(status=status, said=said.replace("\u001b", "")) as server:
        (outcome,) = take(tmp_path, server)
        assert words in problem(outcome)
        assert server.address in problem(outcome) or "server" in problem(outcome)
    assert "\x1b" not in problem(outcome)


def test_an_empty_profile_is_said_with_what_to_do(tmp_path: Path) -> None:
    with ProfilerServer(empty=True) as server:
        (outcome,) = take(tmp_path, server)
    told = servers.empty(outcome, ProfileRequest(0.1))
    assert told is not None
    assert "recorded nothing" in told.message
    assert "while it trains" in told.hint


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ProfilerServer(greeting=b"HTTP/1.0 501 Unsupported method\r\n\r\n"),
            "answers in HTTP/1, as web servers do",
        ),
        (lambda: ProfilerServer(greeting=TLS_ALERT), "requires TLS"),
        (lambda: ProfilerServer(greeting=HTTPS_WANTED), "requires TLS"),
        (lambda: ProfilerServer(greeting=b"SSH-2.0-OpenSSH_9.2\r\n"), "in an unknown protocol"),
        (lambda: ProfilerServer(greeting=b""), "closes the connection"),
        (lambda: ProfilerServer(greeting=b"\0\0"), "in an unknown protocol"),
    ],
)
def test_what_is_no_profiler_server_is_named(
    make: Callable[[], ProfilerServer], words: str
) -> None:
    with make() as server, pytest.raises(CaptureError, match="is not a profiler server") as caught:
        servers.check([address.parse(server.address)])
    assert words in str(caught.value)


def test_one_that_says_nothing_is_not_waited_for_forever(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(call, "CONNECT_TIMEOUT_S", 0.2)
    with ProfilerServer(silent=True) as server, pytest.raises(CaptureError, match="sends nothing"):
        servers.check([address.parse(server.address)])


def test_nothing_listens_tells_how_to_start_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(CaptureError, match=f"Nothing listens at 127.0.0.1:{port}") as caught:
        servers.check([address.parse(f"127.0.0.1:{port}")])
    assert "jax.profiler.start_server(9012)" in caught.value.hint


def test_a_host_that_does_not_exist() -> None:
    with pytest.raises(CaptureError, match=r"There is no host named 'no-such-host\.invalid'"):
        servers.check([address.parse("no-such-host.invalid:9012")])


@pytest.mark.parametrize(
    "written",
    ["", "host", "host:", "host:0", "host:65536", "a b:1", "-oProxyCommand=x:1x", "http://h:1"],
)
def test_addresses_that_are_none(written: str) -> None:
    with pytest.raises(UsageError, match="is not the address"):
        address.parse(written)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("9012", "localhost:9012"),
        (":9012", "localhost:9012"),
        ("node-7.x:1", "node-7.x:1"),
        ("[::1]:9", "[::1]:9"),
        ("grpc://a:8466", "a:8466"),
    ],
)
def test_addresses(written: str, meant: str) -> None:
    assert str(address.parse(written)) == meant


def test_damaged_answers_never_raise() -> None:
    whole = bytes.fromhex("320a0a03612e62120378797a3801")
    for cut in range(len(whole)):
        messages.answer(whole[:cut])
    for at in range(len(whole)):
        for value in (0, 127, 128, 255):
            messages.answer(whole[:at] + bytes([value]) + whole[at + 1 :])


def test_a_server_that_goes_away_while_one_waits(tmp_path: Path) -> None:
    with ProfilerServer(hold=True) as server:

        def leave() -> None:
            server.began.wait()
            for one in list(server._open):
                one.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=leave, daemon=True).start()
        (outcome,) = take(tmp_path, server, asked=ProfileRequest(60))
    assert "closed the connection" in problem(outcome)
