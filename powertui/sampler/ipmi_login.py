"""The login to a BMC (RMCP+: IPMI 2.0, sections 13.17 to 13.24) over a line on which packets are
lost, damaged and added.

Before the keys are agreed nothing is authenticated but two messages, and those only for who knows
the password. So no single packet is believed when it speaks against us. A reply must fit the
request that is outstanding (kind, tag, session) and prove itself where it can; what does not is
left alone, a better one is waited for, and the request is sent again. A refusal is one when a
second login, begun anew, ends in the same way: a flipped bit is not told as a wrong password or a
wrong K_G.
"""

from __future__ import annotations

import hmac
import os
import struct
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from powertui.named_tuples import NamedTuple

__all__ = ["SUITE_REFUSED", "Keys", "Refused", "User", "Wire", "log_in"]

_OPEN_REQUEST, _OPEN_RESPONSE, _RAKP_1, _RAKP_2, _RAKP_3, _RAKP_4 = range(0x10, 0x16)
_OK, _BAD_CHECK, _NO_SESSION = 0x00, 0x0F, 0x02
SUITE_REFUSED = frozenset({0x04, 0x05, 0x06, 0x07, 0x10, 0x11})
_NAME_ONLY = 0x10  # look the user up by name alone
_MAX_SENDS = 4  # of one request, while its replies do not prove themselves
# So long, and two round trips, a better reply is waited for after one that does not fit.
_BETTER_REPLY_S = 0.02
_EQUAL_REFUSALS = 2  # logins that must end alike
_RAKP_HEAD_BYTES = 8  # tag, status, two reserved, session: what every reply but a refusal has


class Wire(Protocol):
    """What carries session setup messages."""

    deadline: float  # monotonic
    step: float  # s to wait for a reply before the request is sent again
    rtt: float  # s that the last reply took

    def send_setup(self, kind: int, body: bytes) -> None: ...

    def receive_setup(self, until: float) -> tuple[int, bytes]:
        """The next well-formed one. Raises TimeoutError at `until`."""


class Refused(Exception):
    """The BMC does not let us in.

    `what` is "password", "kg" or the status that it answered with.
    """

    def __init__(self, what: str | int) -> None:
        super().__init__(what)
        self.what = what


class Keys(NamedTuple):
    suite: Any
    session_id: int  # the BMC's
    console_id: int
    integrity_key: bytes


class User(NamedTuple):
    name: bytes
    password: bytes
    kg: bytes
    level: int


def log_in(
    wire: Wire,
    user: User,
    suites: Sequence[Any],
    digests: dict[int, tuple[Any, int]],
) -> Keys:
    """Log in with the first suite that the BMC takes.

    Raises Refused, or TimeoutError at the deadline.
    """
    ends: Counter[tuple[int, str | int]] = Counter()
    at = 0
    while True:
        attempt = _Attempt(
            wire, user, suites[at], digests[suites[at].authentication], tell=bool(ends)
        )
        try:
            return attempt.run()
        except TimeoutError:
            wire.step *= 2
            if time.monotonic() >= wire.deadline:
                raise
        except Refused as refused:
            wire.step *= 2  # a BMC that computes for long is not to be asked twice each time
            if refused.what in (_NO_SESSION, _BAD_CHECK) and attempt.repeated:
                continue  # our own repetition may have confused it
            ends[at, refused.what] += 1
            if ends[at, refused.what] < _EQUAL_REFUSALS:
                continue
            if refused.what not in SUITE_REFUSED or at == len(suites) - 1:
                raise
            at += 1


class _Replies(NamedTuple):
    """What came upon one request."""

    fitting: bytes | None  # the reply that proves itself
    refusal: int  # the last status that was not OK; 0: there was none
    unfit: bool  # a reply came that did not fit


class _Attempt:
    """One login, from Open Session to RAKP 4."""

    def __init__(
        self,
        wire: Wire,
        user: User,
        suite: Any,
        digest: tuple[Any, int],
        *,
        tell: bool,
    ) -> None:
        self.wire = wire
        self.user = user
        self.suite = suite
        self.tell = tell
        self.hash, self.check_length = digest
        self.console = os.urandom(4)
        self.tag = os.urandom(1)[0]
        self.repeated = False  # a request was sent twice

    def run(self) -> Keys:
        bmc = self._open()
        random = os.urandom(16)
        name = self.user.name
        role = bytes([self.user.level | _NAME_ONLY, len(name)]) + name
        theirs = self._rakp_1(bmc, random, role)
        bmc_random = theirs[8:24]
        guid = theirs[24:40]
        # Without a K_G the password takes its place (IPMI 2.0, 13.31).
        key = self._mac(self.user.kg or self.user.password, random + bmc_random + role)
        proof = self._mac(key, random + bmc + guid)[: self.check_length]
        self._rakp_3(bmc, bmc_random + self.console + role, proof)
        return Keys(
            suite=self.suite,
            session_id=struct.unpack("<I", bmc)[0],
            console_id=struct.unpack("<I", self.console)[0],
            integrity_key=key,
        )

    def _open(self) -> bytes:
        algorithms = (self.suite.authentication, self.suite.integrity, self.suite.confidentiality)
        body = struct.pack("<BBxx4s", self._next(), self.user.level, self.console)
        body += b"".join(
            struct.pack("<BxxBBxxx", kind, 8, algorithm)
            for kind, algorithm in enumerate(algorithms)
        )

        def fits(reply: bytes) -> bool:
            return len(reply) >= 36 and tuple(reply[i] & 0x3F for i in (16, 24, 32)) == algorithms

        return self._ask(_OPEN_REQUEST, body, _OPEN_RESPONSE, fits, "")[8:12]

    def _rakp_1(self, bmc: bytes, random: bytes, role: bytes) -> bytes:
        body = struct.pack("<Bxxx4s16sBxxB", self._next(), bmc, random, role[0], role[1]) + role[2:]

        def fits(reply: bytes) -> bool:
            signed = self.console + bmc + random + reply[8:24] + reply[24:40] + role
            return len(reply) > 40 and hmac.compare_digest(
                self._mac(self.user.password, signed), reply[40:]
            )

        try:
            return self._ask(_RAKP_1, body, _RAKP_2, fits, "password")
        except Refused as refused:
            # So that the BMC lets go of the session. Not the first time: it counts as a failed
            # login, and accounts lock.
            if refused.what == "password" and self.tell:
                refusal = struct.pack("<BBxx4s", self._next(), _BAD_CHECK, bmc)
                self.wire.send_setup(_RAKP_3, refusal)
            raise

    def _rakp_3(self, bmc: bytes, signed: bytes, expected: bytes) -> None:
        body = struct.pack("<BBxx4s", self._next(), _OK, bmc) + self._mac(
            self.user.password, signed
        )
        self._ask(
            _RAKP_3, body, _RAKP_4, lambda reply: hmac.compare_digest(reply[8:], expected), "kg"
        )

    def _ask(
        self,
        kind: int,
        body: bytes,
        answer: int,
        fits: Callable[[bytes], bool],
        otherwise: str,
    ) -> bytes:
        """The first reply that fits.

        Refused(status) when it says no, Refused(otherwise) when none of several proves itself.
        """
        unfit_rounds = 0
        for sends in range(_MAX_SENDS):
            self.repeated = self.repeated or sends > 0
            begin = time.monotonic()
            if begin >= self.wire.deadline:
                break
            self.wire.send_setup(kind, body)
            replies = self._replies(answer, body[0], begin, fits)
            if replies.fitting is not None:
                self.wire.rtt = time.monotonic() - begin
                return replies.fitting
            if replies.refusal:
                raise Refused(replies.refusal)
            unfit_rounds += replies.unfit
        # A single reply that does not prove itself may be a damaged packet; a wrong password ends
        # every round so.
        if unfit_rounds > 1 and otherwise:
            raise Refused(otherwise)
        raise TimeoutError

    def _replies(
        self,
        kind: int,
        tag: int,
        begin: float,
        fits: Callable[[bytes], bool],
    ) -> _Replies:
        """Listen to what comes upon one request, until a reply fits or the time for it is over."""
        until = min(begin + self.wire.step, self.wire.deadline)
        refusal = _OK
        unfit = False
        while True:
            try:
                reply = self._reply(kind, tag, until)
            except TimeoutError:
                return _Replies(None, refusal, unfit)
            status = reply[1]
            if status == _OK:
                if len(reply) < _RAKP_HEAD_BYTES:
                    continue
                if reply[4:8] == self.console and fits(reply):
                    return _Replies(reply, refusal, unfit)
            refusal = status or refusal
            unfit = True
            # What says no may be forged or damaged: the BMC's own reply is then close behind it.
            now = time.monotonic()
            until = min(until, now + _BETTER_REPLY_S + 2 * (now - begin))

    def _reply(self, kind: int, tag: int, until: float) -> bytes:
        while True:
            reply_kind, body = self.wire.receive_setup(until)
            if reply_kind == kind and len(body) >= 2 and body[0] == tag:
                return body

    def _next(self) -> int:
        self.tag = (self.tag + 1) & 0xFF
        return self.tag

    def _mac(self, key: bytes, data: bytes) -> bytes:
        return hmac.new(key, data, self.hash).digest()
