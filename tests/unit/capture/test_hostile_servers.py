"""Servers that speak HTTP/2 and mean no good, and ones that break: each is one sentence, and none
holds us or fills the memory.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import repeat
from pathlib import Path

import hpack
import pytest

from powertui.capture import address, call, servers
from powertui.capture.messages import ProfileRequest
from powertui.errors import CaptureError

SETTINGS, HEADERS, DATA, RESET, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = 4, 1, 0, 3, 5, 6, 7, 8, 9
END_HEADERS, END_STREAM = 4, 1
LIMIT_S = 60.0


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return (
        struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body
    )


def headers(*pairs: tuple[str, str]) -> bytes:
    packed: bytes = hpack.Encoder().encode(list(pairs))
    return packed


def setting(number: int, value: int) -> bytes:
    return frame(SETTINGS, 0, 0, struct.pack(">HI", number, value))


HELLO = frame(SETTINGS, 0, 0, b"")
BEGUN = frame(
    HEADERS, END_HEADERS, 1, headers((":status", "200"), ("content-type", "application/grpc"))
)
ENDED = frame(HEADERS, END_HEADERS | END_STREAM, 1, headers(("grpc-status", "0")))
PUSHED = headers((":method", "GET"), (":path", "/"), (":scheme", "http"), (":authority", "x"))
MORE = frame(CONTINUATION, 0, 1, b"\0\1a\1b" * 100)
# One long header, and then thousands of times one byte that means it: 48 MB in 12 KB.
BOMB = frame(HEADERS, END_HEADERS, 1, headers(("x", "a" * 4000)) + b"\xbe" * 12_000)


@contextmanager
def server(hello: bytes, then: Callable[[], Iterator[bytes]]) -> Iterator[str]:
    """Says hello at once, and the rest when it was asked."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve(one: socket.socket) -> None:
        with one, suppress(OSError):
            one.recv(1 << 16)
            one.sendall(hello)
            while b"trace_viewer" not in (piece := one.recv(1 << 16)):  # that is in the request
                if not piece:  # the caller has gone
                    return
            for piece in then():
                one.sendall(piece)

    def accept() -> None:
        while not over.is_set():
            with suppress(OSError):
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def said(
    where: str,
    folder: Path,
    on_wait: Callable[[servers.AnswerWait], bool] = lambda _: False,
    patience_s: float = 30.0,
) -> CaptureError:
    """What is said of a capture that comes to nothing."""
    asked = ProfileRequest(0.1, patience_s=patience_s)
    ((outcome,), _) = servers.take(
        servers.named_servers((address.parse(where),)), asked, str(folder), "s", on_wait=on_wait
    )
    assert outcome.problem is not None
    return outcome.problem


@pytest.mark.parametrize(
    ("hello", "words"),
    [
        pytest.param(
            HELLO + frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0)),
            "does not accept requests",
            id="goodbye",
        ),
        pytest.param(setting(4, 0), "does not accept requests", id="no room for a request"),
        pytest.param(setting(3, 0), "does not accept requests", id="no streams"),
        pytest.param(setting(5, 1), "is not a profiler server", id="impossible setting"),
        pytest.param(bytes(range(256)) * 20, "is not a profiler server", id="garbage"),
    ],
)
def test_one_that_takes_no_request(hello: bytes, words: str, tmp_path: Path) -> None:
    with server(hello, lambda: iter(())) as where:
        problem = said(where, tmp_path)
    assert words in problem.message
    assert problem.hint


def test_one_that_ends_is_not_called_a_stranger_to_http2(tmp_path: Path) -> None:
    """As JAX's server does when its program ends: it says goodbye, and sends on in the same piece."""
    goodbye = frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0))
    more_room = frame(WINDOW, 0, 0, struct.pack(">I", 1000))
    with server(HELLO, lambda: iter([goodbye + more_room])) as where:
        problem = said(where, tmp_path)
    assert problem.message == f"{where} closed the connection before the profile was written."


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(lambda: iter([BOMB]), id="header bomb"),
        pytest.param(
            lambda: iter([frame(HEADERS, 0, 1, b""), *repeat(MORE, 5000)]), id="headers without end"
        ),
        pytest.param(
            lambda: iter([BEGUN, *repeat(frame(HEADERS, END_HEADERS, 1, headers(("a", "b"))), 99)]),
            id="trailers again",
        ),
        pytest.param(
            lambda: iter([BEGUN, *repeat(frame(DATA, 0, 1, b"x" * 16384), 4000)]),
            id="more than its window",
        ),
        pytest.param(
            lambda: iter([frame(PUSH, END_HEADERS, 1, struct.pack(">I", 2) + PUSHED)]),
            id="what nobody asked for",
        ),
        pytest.param(
            lambda: iter([b"\xff\xff\xff\0\0\0\0\0\1" + b"x" * 100_000]), id="a frame too large"
        ),
        pytest.param(lambda: iter([frame(RESET, 0, 1, struct.pack(">I", 2))]), id="reset"),
        pytest.param(lambda: iter([BEGUN[:7]]), id="killed in the middle of a frame"),
        pytest.param(
            lambda: iter([BEGUN, frame(DATA, 0, 1, b"\0\xff\xff\xff\xffabc"), ENDED]),
            id="a length that is not so",
        ),
        pytest.param(
            lambda: iter([frame(HEADERS, END_HEADERS, 1, b"\x80\xff\xff\xff\xff")]),
            id="headers that are none",
        ),
    ],
)
def test_one_that_answers_nonsense(then: Callable[[], Iterator[bytes]], tmp_path: Path) -> None:
    with server(HELLO, then) as where:
        problem = said(where, tmp_path)
    assert "before the profile was written" in problem.message
    assert "\n" not in problem.message


TALKS = pytest.mark.parametrize(
    "piece",
    [
        pytest.param(frame(PING, 0, 0, b"12345678") * 20, id="pings"),
        pytest.param(setting(4, 65535) * 20, id="settings"),
        pytest.param(frame(HEADERS, END_HEADERS, 1, headers((":status", "103"))), id="hints"),
        pytest.param(BEGUN + frame(DATA, 0, 1, b"") * 500, id="nothing, again and again"),
    ],
)


@TALKS
def test_one_that_talks_for_ever_can_be_left(
    piece: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl+C is heard between its frames, and a second one waits no more; who is told, is told a
    few times a second.
    """
    monkeypatch.setattr(servers, "CONNECT_TIMEOUT_S", 0.2)
    monkeypatch.setattr(call, "CONNECT_TIMEOUT_S", 2.0)
    times: list[float] = []

    def on_wait(wait: servers.AnswerWait) -> bool:
        times.append(wait.past_s)
        if wait.past_s > 1:
            raise KeyboardInterrupt
        return False

    first, rest = (
        (piece[: len(BEGUN)], piece[len(BEGUN) :]) if piece.startswith(BEGUN) else (b"", piece)
    )
    with server(HELLO, lambda: iter(chain_of(first, rest))) as where:
        problem = said(where, tmp_path, on_wait)
    assert (
        problem.message.startswith("Stopped before") or "closed the connection" in problem.message
    )
    assert len(times) < 4 * times[-1] + 4


@TALKS
def test_one_that_talks_for_ever_has_a_deadline(piece: bytes, tmp_path: Path) -> None:
    """However much it says, its answer is late: nobody has to press a key."""
    first, rest = (
        (piece[: len(BEGUN)], piece[len(BEGUN) :]) if piece.startswith(BEGUN) else (b"", piece)
    )
    with server(HELLO, lambda: iter(chain_of(first, rest))) as where:
        problem = said(where, tmp_path, patience_s=0.4)
    assert (
        problem.message == f"{where} did not answer within 0.5 s."
        or "closed the connection" in problem.message
    )


def chain_of(first: bytes, rest: bytes) -> Iterator[bytes]:
    yield first
    yield from repeat(rest)
