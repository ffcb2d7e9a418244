"""A BMC in pure Python: IPMI 2.0 over LAN (RMCP+) on a loopback port, with every fault that a
sampler must survive.

    with Bmc() as bmc:
        bmc.machine.watts = 700
        bmc.drop = True              # nothing is answered
        bmc.lose_every = 5           # every fifth packet vanishes
        bmc.delay = 0.3              # slow
        bmc.restart(down=2.0)        # the port is closed meanwhile, all sessions are forgotten
        bmc.machine.refuse[DCMI_POWER] = 0xC1

It follows the IPMI 2.0 specification, sections 13.17 to 13.32: Open Session, RAKP 1–4, then sealed
messages. Cipher suites 1, 2, 3, 15, 16 and 17; suites with AES need the package `cryptography`.
Clients that were written by others (ipmitool, FreeIPMI) are held against it in the tests, so that
it cannot share a mistake with our own client unseen.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from .commands import (
    ADMINISTRATOR,
    CLOSE_SESSION,
    GET_AUTH_CAPABILITIES,
    GET_CIPHER_SUITES,
    OK,
    SET_PRIVILEGE,
    USER,
    Machine,
)
from .line import Line

# suite → algorithms of authentication, integrity, confidentiality
SUITES = {1: (1, 0, 0), 2: (1, 1, 0), 3: (1, 1, 1), 15: (3, 0, 0), 16: (3, 4, 0), 17: (3, 4, 1)}
AUTHENTICATION = {
    1: (hashlib.sha1, 12),
    3: (hashlib.sha256, 16),
}  # hash, length of RAKP 4's check value
INTEGRITY = {
    0: None,
    1: (hashlib.sha1, 12),
    4: (hashlib.sha256, 16),
}  # hash, length of a message's code

OPEN_SESSION, RAKP_1, RAKP_3 = 0x10, 0x12, 0x14
ENCRYPTED, AUTHENTICATED = 0x80, 0x40
NO_RESOURCES, NO_SESSION, BAD_AUTHENTICATION, BAD_ROLE, BAD_NAME, BAD_CHECK, NO_SUITE = (
    0x01,
    0x02,
    0x04,
    0x09,
    0x0D,
    0x0F,
    0x11,
)
RMCP_IPMI = b"\x06\x00\xff\x07"
GUID = bytes(range(16))


def checksum(data: bytes) -> int:
    return -sum(data) & 0xFF


@dataclass
class Session:
    """What the BMC keeps of one console."""

    console_id: bytes
    own_id: bytes
    algorithms: tuple[int, int, int]
    used: float
    established: bool = False
    level: int = USER
    limit: int = USER
    sequence: int = 0
    role: int = 0
    password: bytes = b""
    console_random: bytes = b""
    own_random: bytes = b""
    identity: bytes = b""  # role, name length and name, as all HMACs take them
    k1: bytes = b""
    k2: bytes = b""

    @property
    def hash(self) -> Any:
        return AUTHENTICATION[self.algorithms[0]][0]


@dataclass
class Bmc:
    users: dict[str, tuple[str, int]] = field(
        default_factory=lambda: {
            "admin": ("pw-admin", ADMINISTRATOR),
            "viewer": ("pw-viewer", USER),
        }
    )
    suites: tuple[int, ...] = (3, 17)
    host: str = "127.0.0.1"
    port: int = 0
    kg: bytes | None = None
    answers_ping: bool = False  # OpenBMC did not before 2021
    lists_suites: bool = True  # answers Get Channel Cipher Suites before a session exists
    max_sessions: int = 15
    idle_timeout: float = 60.0
    machine: Machine = field(default_factory=Machine)
    # faults
    drop: bool = False
    lose_every: int = 0
    delay: float = 0.0
    garble: bool = False  # answers in a session carry a wrong integrity code
    line: Line | None = None  # what packets go through
    # what a test may look at
    packets: int = 0
    logins: int = 0
    attempts: list[tuple[str, bool]] = field(
        default_factory=list
    )  # user of each login, and whether it knew the password
    sessions: dict[int, Session] = field(default_factory=dict)
    refused_packets: list[str] = field(default_factory=list)

    # life

    def start(self) -> Bmc:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.bind((self.host, self.port))
        self._socket.settimeout(0.05)
        self.port = self._socket.getsockname()[1]
        self._running = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        self._running = False
        self._thread.join()
        self._socket.close()
        self.sessions.clear()

    def restart(self, down: float = 0.5) -> None:
        self.stop()
        time.sleep(down)
        self.start()

    def __enter__(self) -> Bmc:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _serve(self) -> None:
        while self._running:
            try:
                packet, peer = self._socket.recvfrom(4096)
            except OSError:
                continue
            self.packets += 1
            if self.drop or (self.lose_every and self.packets % self.lose_every == 0):
                continue
            if self.delay:
                time.sleep(self.delay)
            if self.line:
                packet = self.line.incoming(packet)
            try:
                answer = self._packet(packet)
            except (IndexError, struct.error, KeyError, ValueError) as error:
                self.refused_packets.append(repr(error))
                continue
            for each in (
                self.line.outgoing(answer) if self.line and answer else [answer] if answer else []
            ):
                self._socket.sendto(each, peer)

    # packets

    def _packet(self, packet: bytes) -> bytes | None:
        if packet[3] == 6:  # ASF: presence ping
            pong = (
                b"\x06\x00\xff\x06\x00\x00\x11\xbe\x40"
                + packet[9:10]
                + b"\x00\x10\x00\x00\x11\xbe"
                + bytes(4)
                + b"\x81"
                + bytes(7)
            )
            return pong if self.answers_ping and packet[8] == 0x80 else None
        if packet[3] != 7:
            return None
        if packet[4] == 0:  # IPMI 1.5 framing, outside of any session
            reply = self._message(packet[14 : 14 + packet[13]], None)
            return RMCP_IPMI + bytes(9) + bytes([len(reply)]) + reply if reply else None
        if packet[4] != 6:
            return None
        kind = packet[5] & 0x3F
        session_id, _, length = struct.unpack_from("<IIH", packet, 6)
        body = packet[16 : 16 + length]
        if session_id == 0:
            if kind == OPEN_SESSION:
                return _unsealed(kind + 1, self._open_session(body))
            if kind == RAKP_1:
                return _unsealed(kind + 1, self._rakp1(body))
            if kind == RAKP_3:
                return _unsealed(kind + 1, self._rakp3(body))
            reply = self._message(body, None)
            return _unsealed(0, reply) if reply else None
        session = self._live_session(session_id)
        if session is None or kind:
            return (
                None  # a forgotten session is not answered: that is what a client sees of a restart
            )
        opened = self._open_seal(session, packet, body)
        reply = self._message(opened, session) if opened is not None else None
        return self._seal(session, reply) if reply else None

    def _live_session(self, session_id: int) -> Session | None:
        session = self.sessions.get(session_id)
        if session is None or not session.established:
            return None
        if time.monotonic() - session.used > self.idle_timeout:
            del self.sessions[session_id]
            return None
        session.used = time.monotonic()
        return session

    def _open_seal(self, session: Session, packet: bytes, body: bytes) -> bytes | None:
        """Check the integrity code and decrypt."""
        integrity = INTEGRITY[session.algorithms[1]]
        if integrity:
            digest, length = integrity
            code = hmac.new(session.k1, packet[4:-length], digest).digest()[:length]
            if not packet[5] & AUTHENTICATED or not hmac.compare_digest(code, packet[-length:]):
                self.refused_packets.append("wrong integrity code")
                return None
        if session.algorithms[2]:
            clear = _aes(session, body[:16]).decryptor().update(body[16:])
            return clear[: len(clear) - 1 - clear[-1]]
        return body

    def _seal(self, session: Session, reply: bytes) -> bytes:
        kind = 0
        if session.algorithms[2]:
            vector = os.urandom(16)
            pad = -(len(reply) + 1) % 16
            reply = vector + _aes(session, vector).encryptor().update(
                reply + bytes(range(1, pad + 1)) + bytes([pad])
            )
            kind |= ENCRYPTED
        integrity = INTEGRITY[session.algorithms[1]]
        if integrity:
            kind |= AUTHENTICATED
        session.sequence += 1
        sealed = (
            bytes([6, kind])
            + session.console_id
            + struct.pack("<IH", session.sequence, len(reply))
            + reply
        )
        if integrity:
            digest, length = integrity
            pad = -(len(sealed) + 2) % 4
            sealed += b"\xff" * pad + bytes([pad, 7])
            code = hmac.new(session.k1, sealed, digest).digest()[:length]
            sealed += bytes(length) if self.garble else code
        return RMCP_IPMI + sealed

    # the login

    def _open_session(self, body: bytes) -> bytes:
        tag, console_id = body[0], body[4:8]
        wanted = (body[12] & 0x3F, body[20] & 0x3F, body[28] & 0x3F)
        offered = [SUITES[s] for s in self.suites]
        if wanted not in offered:
            status = NO_SUITE if wanted[0] in {o[0] for o in offered} else BAD_AUTHENTICATION
            return bytes([tag, status, 0, 0]) + console_id
        now = time.monotonic()
        self.sessions = {
            k: s
            for k, s in self.sessions.items()
            if now - s.used < (self.idle_timeout if s.established else 3.0)
        }  # a login that was begun and not ended holds its slot for 3 s
        if len(self.sessions) >= self.max_sessions:
            return bytes([tag, NO_RESOURCES, 0, 0]) + console_id
        own_id = os.urandom(4)
        self.sessions[int.from_bytes(own_id, "little")] = Session(console_id, own_id, wanted, now)
        return bytes([tag, 0, ADMINISTRATOR, 0]) + console_id + own_id + body[8:32]

    def _rakp1(self, body: bytes) -> bytes:
        tag = body[0]
        session = self.sessions.get(struct.unpack_from("<I", body, 4)[0])
        if session is None:
            return bytes([tag, NO_SESSION, 0, 0]) + bytes(4)
        session.console_random, session.role = body[8:24], body[24]
        if len(body) < 28 + body[27]:
            raise ValueError("a name that is shorter than it says")
        name = bytes(body[28 : 28 + body[27]])
        user = self.users.get(name.decode())
        if user is None:
            self.attempts.append((name.decode(), False))
            return bytes([tag, BAD_NAME, 0, 0]) + session.console_id
        if session.role & 0x0F > user[1]:
            return bytes([tag, BAD_ROLE, 0, 0]) + session.console_id
        session.password, session.limit = user[0].encode().ljust(20, b"\0"), user[1]
        session.own_random = os.urandom(16)
        session.identity = bytes([session.role, len(name)]) + name
        signed = (
            session.console_id
            + session.own_id
            + session.console_random
            + session.own_random
            + GUID
            + session.identity
        )
        code = hmac.new(session.password, signed, session.hash).digest()
        return bytes([tag, 0, 0, 0]) + session.console_id + session.own_random + GUID + code

    def _rakp3(self, body: bytes) -> bytes | None:
        tag = body[0]
        session = self.sessions.get(struct.unpack_from("<I", body, 4)[0])
        if session is None:
            return None
        if body[1]:  # the console found our RAKP 2 wrong (it has another password): forget it
            self.sessions.pop(struct.unpack_from("<I", body, 4)[0])
            self.attempts.append((session.identity[2:].decode(), False))
            return None
        expected = hmac.new(
            session.password,
            session.own_random + session.console_id + session.identity,
            session.hash,
        ).digest()
        self.attempts.append(
            (session.identity[2:].decode(), hmac.compare_digest(expected, body[8:]))
        )
        if not self.attempts[-1][1]:
            return bytes([tag, BAD_CHECK, 0, 0]) + session.console_id
        key = (self.kg or session.password).ljust(20, b"\0")
        master = hmac.new(
            key, session.console_random + session.own_random + session.identity, session.hash
        ).digest()
        session.k1 = hmac.new(master, b"\x01" * 20, session.hash).digest()
        session.k2 = hmac.new(master, b"\x02" * 20, session.hash).digest()
        session.established = True
        self.logins += 1
        length = AUTHENTICATION[session.algorithms[0]][1]
        code = hmac.new(
            master, session.console_random + session.own_id + GUID, session.hash
        ).digest()[:length]
        return bytes([tag, 0, 0, 0]) + session.console_id + code

    # messages

    def _message(self, message: bytes, session: Session | None) -> bytes | None:
        """Check an IPMI message and frame the answer to it."""
        if (
            len(message) < 7
            or checksum(message[:2]) != message[2]
            or checksum(message[3:-1]) != message[-1]
        ):
            return None
        netfn, command, data = message[1] >> 2, message[5], bytes(message[6:-1])
        body = self._command(netfn, command, data, session)
        if body is None:
            return None
        head = bytes([message[3], (netfn | 1) << 2 | message[4] & 3])
        rest = bytes([message[0], message[4] & 0xFC | message[1] & 3, command]) + body
        return head + bytes([checksum(head)]) + rest + bytes([checksum(rest)])

    def _command(
        self, netfn: int, command: int, data: bytes, session: Session | None
    ) -> bytes | None:
        key = (netfn, command)
        if key == GET_AUTH_CAPABILITIES:
            return OK + bytes([1, 0x80, 0x04 | (0x20 if self.kg else 0), 2, 0, 0, 0, 0])
        if key == GET_CIPHER_SUITES:
            if not self.lists_suites:
                return None
            records = b"".join(
                bytes([0xC0, s, SUITES[s][0], 0x40 | SUITES[s][1], 0x80 | SUITES[s][2]])
                for s in self.suites
            )
            start = (data[2] & 0x3F) * 16
            return OK + b"\x01" + records[start : start + 16]
        if session is None:
            return b"\xd4"
        if key == SET_PRIVILEGE:
            if data[0] > min(session.limit, session.role & 0x0F or ADMINISTRATOR):
                return b"\x81"
            session.level = data[0] or session.level
            return OK + bytes([session.level])
        if key == CLOSE_SESSION:
            self.sessions.pop(int.from_bytes(session.own_id, "little"), None)
            return OK
        return self.machine.answer(netfn, command, data, session.level)


def _unsealed(kind: int, body: bytes | None) -> bytes | None:
    return (
        RMCP_IPMI + bytes([6, kind]) + struct.pack("<IIH", 0, 0, len(body)) + body if body else None
    )


def _aes(session: Session, vector: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(session.k2[:16]), modes.CBC(vector))
