"""A stand-in for TensorFlow's and JAX's profiler server: HTTP/2 in pure Python, with every way in
which one can fail.

    with ProfilerServer() as server:
        server.status, server.said = 13, "Another profiling session active."
        …ask localhost:server.port…
        server.asked                  # what came: method, and the fields of the message

It reads requests with a decoder of its own, so that it cannot share a mistake with the client.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import h2.config
import h2.connection
import h2.events

from tests.synthetic import xplane

ROOT = Path(__file__).parents[1]
EXISTS = "Another profiling session active."
_PROGRAM = """
import sys
from tests.profiler_server import ProfilerServer
with ProfilerServer(**eval(sys.argv[1])) as server:
    print(server.port, flush=True)
    server.began.wait()
    print("began", flush=True)
    sys.stdin.read()
"""
Fields = dict[int, list[Any]]


def fields(data: bytes) -> Fields:
    """Every field of a message: numbers, or bytes."""
    found: Fields = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            value: Any = varint()
        else:
            assert tag & 7 == 2, "no other wire type is in these messages"
            size = varint()
            value = data[at : at + size]
            at += size
        found.setdefault(tag >> 3, []).append(value)
    return found


def profile(now_ns: int, numbers: Sequence[int] = (0, 1, 2)) -> bytes:
    """A small profile with steps of half a second."""
    steps = [
        xplane.Event("train", at * 6 * 10**11, 5 * 10**11, {"step_num": number})
        for at, number in enumerate(numbers)
    ]
    steps = steps or [xplane.Event("work", 0, 10**12)]
    environment = xplane.Plane(
        "Task Environment",
        stats={"profile_start_time": now_ns, "profile_stop_time": now_ns + 2 * 10**9},
    )
    planes = [xplane.Plane("/host:CPU", [xplane.Line("python", steps, 1)]), environment]
    return xplane.encode(planes, hosts=[socket.gethostname()])  # whatever the file is to be called


@dataclass
class ProfilerServer:
    """One server on a loopback port. Set what is to go wrong before it is asked."""

    status: int = 0  # grpc-status
    said: str = ""  # grpc-message
    writes: bool = True  # the profile, where the request says
    root: str = ""  # instead of the repository root that the request names: a disk that is not ours
    size: int = 0  # bytes of the profile at least
    cuts: bool = (
        False  # the profile ends in the middle; then it answers as it would, or `hold`s, or `dies`
    )
    empty: bool = False
    results: tuple[tuple[str, bytes], ...] = ()
    steps: Sequence[int] = (0, 1, 2)  # of the profile
    hold: bool = False  # answer only to Terminate
    stubborn: bool = False  # and not even then
    takes_s: float = 0.0  # before it answers
    dies: bool = False  # close the connection in the middle
    mute: bool = False  # write the profile, and never answer
    greeting: bytes | None = None  # said instead of HTTP/2
    silent: bool = False
    asked: list[tuple[str, Fields]] = field(default_factory=list)
    port: int = 0
    began_ns: int = 0  # the start of the last profile, as its file says
    terminated: threading.Event = field(default_factory=threading.Event)
    began: threading.Event = field(default_factory=threading.Event)
    closed: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> ProfilerServer:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes whoever accepts
        self._listener.close()
        self.closed.set()
        self.terminated.set()
        for one in self._open:
            one.close()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _accept(self) -> None:
        while True:
            try:
                one, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(one)
            threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one: socket.socket) -> None:
        try:
            if self.silent:
                one.recv(1 << 16)
                self.terminated.wait()
            elif self.greeting is not None:
                one.recv(1 << 16)
                one.sendall(self.greeting)
            else:
                self._speak(one)
        except OSError:
            pass
        one.close()

    def _speak(self, one: socket.socket) -> None:
        wire = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        wire.initiate_connection()
        one.sendall(wire.data_to_send())
        bodies: dict[int, bytearray] = {}
        methods: dict[int, str] = {}
        while piece := one.recv(1 << 16):
            for event in wire.receive_data(piece):
                if isinstance(event, h2.events.RequestReceived):
                    methods[event.stream_id] = dict(event.headers)[":path"]
                    bodies[event.stream_id] = bytearray()
                elif isinstance(event, h2.events.DataReceived):
                    bodies[event.stream_id] += event.data
                    wire.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    body = bytes(bodies[event.stream_id])
                    assert body[0] == 0
                    assert struct.unpack(">I", body[1:5])[0] == len(body) - 5
                    if not self._answer(
                        one, wire, event.stream_id, methods[event.stream_id], fields(body[5:])
                    ):
                        return
            one.sendall(wire.data_to_send())

    def _send(self, one: socket.socket, wire: Any, stream: int, body: bytes) -> None:
        """In frames as large as the client's windows allow."""
        while body:
            size = min(
                wire.local_flow_control_window(stream), wire.max_outbound_frame_size, len(body)
            )
            if size:
                wire.send_data(stream, body[:size])
                body = body[size:]
            one.sendall(wire.data_to_send())
            if not size:
                piece = one.recv(1 << 16)
                if not piece:
                    raise ConnectionError
                wire.receive_data(piece)

    def _write(self, request: Fields) -> None:
        root, session, host = (request[number][0].decode() for number in (5, 6, 7))
        folder = Path(self.root or root) / session
        folder.mkdir(parents=True, exist_ok=True)
        data = b"\x0a\x00" if self.empty else profile(self.began_ns, self.steps)
        padding = max(0, self.size - len(data))
        data += (
            xplane.blob(3, b"w" * padding) if padding else b""
        )  # a warning, which profiles may hold
        path = folder / f"{host}.xplane.pb"
        with path.open("wb", buffering=0) as file:  # as far as the disk takes it, like a real one
            rest = memoryview(data[: len(data) // 2] if self.cuts else data)
            while rest:
                try:
                    rest = rest[file.write(rest) :]
                except OSError as error:
                    raise OSError(error.errno, error.strerror, str(path)) from None

    def _answer(
        self, one: socket.socket, wire: Any, stream: int, method: str, request: Fields
    ) -> bool:
        self.asked.append((method, request))
        head = [(":status", "200"), ("content-type", "application/grpc")]
        if method.endswith("/Terminate"):
            self.terminated.set()
            wire.send_headers(stream, head)
            self._send(one, wire, stream, b"\0\0\0\0\0")
            wire.send_headers(stream, [("grpc-status", "0")], end_stream=True)
            return True
        self.began.set()
        self.began_ns = time.time_ns()
        if self.cuts:
            self._write(request)
        if self.dies:
            return False
        time.sleep(self.takes_s)
        if self.hold:
            (self.closed if self.stubborn else self.terminated).wait()
        if not self.status and self.writes and not self.results and not self.cuts:
            try:
                self._write(request)
            except OSError as error:  # a real one answers like this
                self.status, self.said = 13, f"{error.filename}; {error.strerror}"
        if self.mute:
            self.closed.wait()
        if self.status:
            wire.send_headers(
                stream,
                [*head, ("grpc-status", str(self.status)), ("grpc-message", self.said)],
                end_stream=True,
            )
            return True
        results = b"".join(
            xplane.blob(6, xplane.blob(1, name.encode()) + xplane.blob(2, data))
            for name, data in self.results
        )
        message = results + (xplane.number(7, 1) if self.empty else b"")
        wire.send_headers(stream, head)
        self._send(one, wire, stream, b"\0" + struct.pack(">I", len(message)) + message)
        wire.send_headers(stream, [("grpc-status", "0")], end_stream=True)
        return True


@contextmanager
def server_process(**settings: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A stand-in server in a process of its own, which can be killed, and its address."""
    words = [sys.executable, "-c", _PROGRAM, repr(settings)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, f"127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()
