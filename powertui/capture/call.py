"""One unary gRPC call over plain HTTP/2, on a connection of its own, without threads: whoever waits
asks a selector.

    call = Call(address); call.connect(); call.send(PROFILE, body)
    while not call.done:
        …wait until call.socket is readable…; call.receive()
    call.answer                     # the message; raises CaptureError where there is none

No pings are sent: gRPC's servers take more than two within five minutes for an attack. A peer that
vanishes without a word is found by TCP's own probes.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from typing import Any
from urllib.parse import unquote

from powertui.capture import problems
from powertui.capture.address import ServerAddress
from powertui.errors import CaptureError

__all__ = ["Call"]

CONNECT_TIMEOUT_S = 5.0  # for a connection, and for the first bytes of a server
# Old servers send their results in the answer: packed, and of a million events at most.
_MAX_ANSWER_BYTES = 256 << 20
_PIECE_BYTES = 1 << 16
# HTTP/2 begins with 64 KiB, after which a server that sends results would wait for us each time.
_WINDOW_BYTES = 1 << 24
_FRAME_HEAD_BYTES = 9  # length (3), type, flags, stream (4)
_SETTINGS_FRAME, _ACK_FLAG = 4, 1
# TCP's own probes, s, s and a count: 15 + 6 x 5 = 45 s until a machine that vanished is noticed.
_KEEPALIVE = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 6))


class Call:
    """Connects, asks once, and takes the answer as it comes."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self.socket: socket.socket | None = None
        self.failure: CaptureError | None = None
        self.sent = False  # it was asked, or that was begun
        self.path = ""  # of the file that is to be written: named where that fails
        self._h2: Any = None
        self._stream = 0
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._answered = False

    @property
    def done(self) -> bool:
        """Nothing more will come."""
        return self._answered or self.failure is not None

    @property
    def answer(self) -> bytes:
        """The message of the answer."""
        if self.failure is not None:
            raise self.failure
        if not self._answered:
            raise problems.closed(str(self.address))
        return self._message()

    def fileno(self) -> int:
        """For selectors; below zero when it is closed."""
        return self.socket.fileno() if self.socket is not None else -1

    def leave(self) -> None:
        """Wait no more. The server goes on by itself."""
        if not self.done:
            self.failure = problems.not_waited_for(str(self.address), self.path)

    def give_up(self, waited_s: float) -> None:
        """Its time is over."""
        if not self.done:
            self.failure = problems.did_not_answer(str(self.address), waited_s, self.path)

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()

    # ── connecting ───────────────────────────────────────────────────────────────────────────────

    def connect(self) -> None:
        """Reach the server and hear that it speaks HTTP/2."""
        from h2.config import H2Configuration
        from h2.connection import H2Connection
        from h2.exceptions import ProtocolError
        from h2.settings import SettingCodes

        where = str(self.address)
        try:
            self.socket = _connection(self.address, CONNECT_TIMEOUT_S)
        except OSError as error:
            raise problems.unreachable(where, error) from None
        _probe(self.socket)
        self._h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        # Nobody has to send us what we did not ask for.
        self._h2.local_settings[SettingCodes.ENABLE_PUSH] = 0
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(_WINDOW_BYTES)
        first = bytearray()
        try:
            self._flush()
            self._receive_frame_head(self.socket, first)
            is_settings = len(first) >= _FRAME_HEAD_BYTES and first[3] == _SETTINGS_FRAME
            if not is_settings or first[4] & _ACK_FLAG:
                raise problems.not_a_profiler(where, bytes(first))
            self._h2.receive_data(bytes(first))
            self._flush()
        except (ProtocolError, ConnectionError):
            raise problems.not_a_profiler(where, bytes(first)) from None
        except OSError as error:
            raise problems.unreachable(where, error) from None

    def _receive_frame_head(self, connection: socket.socket, first: bytearray) -> None:
        """Fill `first` up to the head of a frame: a server's first has to be its settings.

        Ends with less where the server closes the connection, or speaks something else and waits.
        """
        until = time.monotonic() + CONNECT_TIMEOUT_S
        while len(first) < _FRAME_HEAD_BYTES:
            remaining_s = until - time.monotonic()
            if remaining_s <= 0:
                raise problems.no_answer(str(self.address))
            if not select.select([connection], [], [], remaining_s)[0]:
                if not first:
                    raise problems.no_answer(str(self.address))
                return
            piece = connection.recv(_PIECE_BYTES)
            first += piece
            if not piece:
                return

    # ── asking ───────────────────────────────────────────────────────────────────────────────────

    def send(self, method: str, message: bytes) -> None:
        """Ask. Raises where the connection is gone already."""
        from h2.exceptions import ProtocolError

        headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", method),
            (":authority", str(self.address)),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("user-agent", "powertui"),
        ]
        try:
            self._stream = self._h2.get_next_available_stream_id()
            self.sent = True
            self._h2.send_headers(self._stream, headers)
            self._h2.send_data(
                self._stream, b"\0" + struct.pack(">I", len(message)) + message, end_stream=True
            )
            self._flush()
        # It said goodbye at once, or allows no request, or none of a few hundred bytes.
        except ProtocolError:
            raise problems.takes_nothing(str(self.address)) from None
        except OSError as error:
            raise problems.closed(str(self.address), error.strerror or "") from None

    def receive(self) -> None:
        """Take what has come. Never raises for what the server does: that is `failure`."""
        from h2.connection import ConnectionState
        from h2.exceptions import ProtocolError

        if self.socket is None or self.done:
            return
        try:
            piece = self.socket.recv(_PIECE_BYTES)
            if not piece:
                self.failure = problems.closed(str(self.address))
                return
            for event in self._h2.receive_data(piece):
                self._take(event)
            self._flush()
        except ProtocolError as error:
            # A server that ends says so, and may send more after it, which h2 refuses.
            is_ending = self._h2.state_machine.state is ConnectionState.CLOSED
            why = "" if is_ending else f"its answer is not HTTP/2: {error}"
            self.failure = self.failure or problems.closed(str(self.address), why)
        except (OSError, UnicodeDecodeError) as error:
            self.failure = self.failure or problems.closed(
                str(self.address), getattr(error, "strerror", "") or ""
            )

    def _take(self, event: Any) -> None:
        from h2 import events

        if isinstance(event, (events.ResponseReceived, events.TrailersReceived)):
            self._headers.update((_text(name), _text(value)) for name, value in event.headers)
        elif isinstance(event, events.DataReceived):
            self._body += event.data
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if len(self._body) > _MAX_ANSWER_BYTES:
                size = f"{_MAX_ANSWER_BYTES >> 20} MiB"
                self.failure = problems.closed(
                    str(self.address), f"its answer is larger than {size}"
                )
        elif isinstance(event, events.StreamEnded):
            self._judge()
        elif (
            isinstance(event, (events.StreamReset, events.ConnectionTerminated))
            and not self._answered
        ):
            self.failure = self.failure or problems.closed(
                str(self.address), f"HTTP/2 error {event.error_code}"
            )

    def _judge(self) -> None:
        """The whole answer is here: is it one."""
        where = str(self.address)
        http = self._headers.get(":status", "")
        if http != "200" or not self._headers.get("content-type", "").startswith(
            "application/grpc"
        ):
            self.failure = problems.not_a_profiler(where, b"HTTP/2 " + http.encode())
            return
        status = self._headers.get("grpc-status", "2")
        # 2 is UNKNOWN: also for a status that is no number.
        number = 2
        if status.isascii() and status.isdigit() and len(status) < 4:
            number = int(status)
        if number:
            self.failure = problems.refused(
                where, number, unquote(self._headers.get("grpc-message", "")), self.path
            )
            return
        self._answered = True

    def _message(self) -> bytes:
        # gRPC's heading: whether it is compressed (1 byte), and the size (4).
        if len(self._body) < 5:
            return b""
        squeezed, size = struct.unpack(">BI", self._body[:5])
        if squeezed or size != len(self._body) - 5:  # we do not offer to take compressed messages
            raise problems.closed(str(self.address), "its answer is damaged")
        return bytes(self._body[5:])

    def _flush(self) -> None:
        waiting = self._h2.data_to_send()
        if waiting and self.socket is not None:
            self.socket.sendall(waiting)


def _connection(address: ServerAddress, limit_s: float) -> socket.socket:
    """Connect to the first of the host's addresses that answers, within one time for all of
    them.
    """
    until = time.monotonic() + limit_s
    failure: OSError = TimeoutError()
    for family, kind, protocol, _, place in socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM
    ):
        left_s = until - time.monotonic()
        if left_s <= 0:
            break
        try:
            connection = socket.socket(family, kind, protocol)
        except OSError as error:  # a family that this machine has not
            failure = error
            continue
        try:
            connection.settimeout(left_s)
            connection.connect(place)
            connection.settimeout(CONNECT_TIMEOUT_S)
        except BaseException as error:
            connection.close()
            if not isinstance(error, OSError):
                raise
            failure = error
        else:
            return connection
    raise failure


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _probe(sock: socket.socket) -> None:
    """A machine that is switched off in the middle is noticed within a minute."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
