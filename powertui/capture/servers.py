"""Several profiler servers, asked for one session at the same moment; ended early when somebody
says so.
"""

from __future__ import annotations

import re
import select
import time
from collections.abc import Callable, Sequence

from powertui.capture import messages, problems
from powertui.capture.address import ServerAddress
from powertui.capture.call import CONNECT_TIMEOUT_S, Call
from powertui.capture.messages import ProfileRequest, ServerAnswer
from powertui.errors import CaptureError
from powertui.named_tuples import NamedTuple

__all__ = ["AnswerWait", "Outcome", "Server", "check", "empty", "named_servers", "take"]

_LOOK_PERIOD_S = 0.25  # between two looks at the clock and at whoever may want to stop
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class Server(NamedTuple):
    """One server, and what its file is to be called: HOST.xplane.pb."""

    address: ServerAddress
    host: str


class Outcome(NamedTuple):
    """What became of one server's part."""

    server: Server
    answer: ServerAnswer | None  # None where there is a problem instead
    problem: CaptureError | None

    @property
    def lost(self) -> bool:
        """Its profiler had begun, and no profile came."""
        return isinstance(self.problem, problems.ProfileLost)


class AnswerWait(NamedTuple):
    """How long the servers have been waited for, and which ones still are."""

    past_s: float  # since they were asked
    limit_s: float  # when they are given up
    servers: tuple[str, ...]  # that have not answered
    ending: bool  # they were told to end now


def named_servers(addresses: Sequence[ServerAddress]) -> tuple[Server, ...]:
    """Each with the name of its machine; with its port, too, where several run on one machine."""
    machines = [_NO_NAME.sub("_", address.machine).strip("._") or "host" for address in addresses]
    return tuple(
        Server(address, f"{name}_{address.port}" if machines.count(name) > 1 else name)
        for address, name in zip(addresses, machines, strict=True)
    )


def check(addresses: Sequence[ServerAddress]) -> None:
    """Raise what is wrong with the first that is no such server, before anything is waited for."""
    for address in addresses:
        call = Call(address)
        try:
            call.connect()
        finally:
            call.close()


def take(
    servers: Sequence[Server],
    asked: ProfileRequest,
    root: str,
    session: str,
    *,
    on_wait: Callable[[AnswerWait], bool] = lambda _: False,
    started: Callable[[], None] = lambda: None,
) -> tuple[tuple[Outcome, ...], bool]:
    """Ask all of them and wait for every answer, each until its deadline.

    `started` is called once all were asked, `on_wait` a few times a second from then on; when it
    answers True, or at Ctrl+C, the sessions are ended, and what they have by then is written: the
    second value says so. After a second Ctrl+C nothing is waited for.
    """
    calls = [Call(server.address) for server in servers]
    stop = False
    try:
        try:
            _ask(calls, servers, asked, root, session)
            started()
        except KeyboardInterrupt:
            stop = True
            for call in calls:
                if not call.sent and call.failure is None:
                    call.failure = problems.not_asked(str(call.address))
        early = _Waiter(calls, session, asked, on_wait).wait(stop)
        return tuple(
            _outcome(call, server) for call, server in zip(calls, servers, strict=True)
        ), early
    finally:
        for call in calls:
            call.close()


def _ask(
    calls: Sequence[Call],
    servers: Sequence[Server],
    asked: ProfileRequest,
    root: str,
    session: str,
) -> None:
    """Connect to all of them before the first is asked."""
    # A connection may take seconds: asked one by one, the profiles would begin seconds apart.
    for call, server in zip(calls, servers, strict=True):
        call.path = f"{root}/{session}/{server.host}.xplane.pb"
        try:
            call.connect()
        except CaptureError as error:
            call.failure = error
    for call, server in zip(calls, servers, strict=True):
        if call.failure is None:
            try:
                call.send(messages.PROFILE, messages.profile(asked, root, session, server.host))
            except CaptureError as error:
                call.failure = error


class _Waiter:
    """Takes the answers as they come."""

    def __init__(
        self,
        calls: Sequence[Call],
        session: str,
        asked: ProfileRequest,
        on_wait: Callable[[AnswerWait], bool],
    ) -> None:
        self._calls = calls
        self._session = session
        self._asked = asked
        self._on_wait = on_wait
        self._begun = time.monotonic()
        self._limit_s = asked.limit_s
        self._looked_s = -_LOOK_PERIOD_S
        self._ending = False  # the servers were told to end

    def wait(self, stop: bool) -> bool:
        """Until all have answered or their time is over. True when they were ended early."""
        if stop and not self._open():
            return True
        while self._open():
            try:
                if stop and not self._ending:
                    self._end_early()
                self._receive()
                stop = self._look() or stop
            except KeyboardInterrupt:
                if self._ending:  # the second Ctrl+C
                    for call in self._open():
                        call.leave()
                    return True
                stop = True
            self._give_up_late()
        return self._ending

    def _give_up_late(self) -> None:
        if self._past_s() >= self._limit_s:
            for call in self._open():
                call.give_up(self._limit_s)

    def _open(self) -> list[Call]:
        return [call for call in self._calls if not call.done]

    def _past_s(self) -> float:
        return time.monotonic() - self._begun

    def _end_early(self) -> None:
        """From here on the servers have only to write what they have."""
        self._ending = True
        self._limit_s = min(self._limit_s, self._past_s() + self._asked.patience_s)
        _terminate([call.address for call in self._open()], self._session)

    def _receive(self) -> None:
        past_s = self._past_s()
        until_end_s = (
            self._asked.seconds - past_s if past_s < self._asked.seconds else _LOOK_PERIOD_S
        )
        for call in select.select(self._open(), [], [], min(_LOOK_PERIOD_S, until_end_s))[0]:
            call.receive()

    def _look(self) -> bool:
        """Report a few times a second, however much a server talks, and once when the asked time is
        over.
        """
        past_s = self._past_s()
        at_end = past_s >= self._asked.seconds > self._looked_s
        if past_s - self._looked_s < _LOOK_PERIOD_S and not at_end:
            return False
        self._looked_s = past_s
        waiting = tuple(str(call.address) for call in self._open())
        return self._on_wait(AnswerWait(past_s, self._limit_s, waiting, self._ending))


def _terminate(addresses: Sequence[ServerAddress], session: str) -> None:
    """End its session now, at all of them.

    A server that knows no such call ends when the time is up.
    """
    calls = [Call(address) for address in addresses]
    try:
        for call in calls:
            try:
                call.connect()
                call.send(messages.TERMINATE, messages.terminate(session))
            except CaptureError as error:
                call.failure = error
        until = time.monotonic() + CONNECT_TIMEOUT_S
        while (open_ := [call for call in calls if not call.done]) and (
            remaining_s := until - time.monotonic()
        ) > 0:
            for call in select.select(open_, [], [], remaining_s)[0]:
                call.receive()
    finally:
        for call in calls:
            call.close()


def _outcome(call: Call, server: Server) -> Outcome:
    try:
        answer = messages.answer(call.answer)
    except CaptureError as error:
        return Outcome(server, None, error)
    return Outcome(server, answer, None)


def empty(outcome: Outcome, asked: ProfileRequest) -> CaptureError | None:
    """What to say where a profile without events was recorded."""
    if outcome.answer is not None and outcome.answer.empty:
        return problems.empty(str(outcome.server.address), asked.seconds)
    return None
