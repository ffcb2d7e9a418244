"""Several profiler servers, asked for one session at the same moment; ended early when somebody says so."""

from __future__ import annotations

import re
import select
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from powertui.capture import messages, problems
from powertui.capture.address import ServerAddress
from powertui.capture.call import PATIENCE_S, Call
from powertui.capture.messages import ProfileRequest, ServerAnswer
from powertui.errors import CaptureError

__all__ = ["Outcome", "Server", "check", "empty", "named", "take"]

_LOOK_S = 0.25  # between two looks at the clock and at whoever may want to stop
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
    unfinished: bool = False  # nobody waited until it had answered


def named(addresses: Sequence[ServerAddress]) -> tuple[Server, ...]:
    """Each with the name of its machine; with its port, too, where several run on one machine."""
    machines = [_NO_NAME.sub("_", one.machine).strip("._") or "host" for one in addresses]
    return tuple(
        Server(one, f"{name}_{one.port}" if machines.count(name) > 1 else name)
        for one, name in zip(addresses, machines, strict=True)
    )  # fmt: skip


def check(addresses: Sequence[ServerAddress]) -> None:
    """Raise what is wrong with the first that is no such server, before anything is waited for."""
    for address in addresses:
        call = Call(address)
        try:
            call.connect()
        finally:
            call.close()


def take(
    servers: Sequence[Server], asked: ProfileRequest, root: str, session: str, *, told: Callable[[float], bool] = lambda _: False,
    started: Callable[[], None] = lambda: None,
) -> tuple[tuple[Outcome, ...], bool]:  # fmt: skip
    """Ask all of them and wait for every answer.

    `started` is called once all were asked, `told` a few times a second with the seconds since then; when it answers True, or at
    Ctrl+C, the sessions are ended, and what they have by then is written: the second value says so. After a second Ctrl+C nothing
    is waited for.
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
        early = _wait(calls, session, asked.seconds, told, stop)
        return tuple(_outcome(call, server) for call, server in zip(calls, servers, strict=True)), early
    finally:
        for call in calls:
            call.close()


def _ask(calls: Sequence[Call], servers: Sequence[Server], asked: ProfileRequest, root: str, session: str) -> None:
    """Connect to all of them before the first is asked."""
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


def _wait(calls: Sequence[Call], session: str, seconds: float, told: Callable[[float], bool], stop: bool) -> bool:
    begun, ended, looked = time.monotonic(), stop and all(call.done for call in calls), -_LOOK_S
    while open_ := [call for call in calls if not call.done]:
        try:
            if stop and not ended:
                ended = True
                _terminate([call.address for call in open_], session)
            past = time.monotonic() - begun
            until_end = seconds - past if past < seconds else _LOOK_S
            for call in select.select(open_, [], [], min(_LOOK_S, until_end))[0]:
                call.receive()
            now = time.monotonic() - begun
            if now - looked >= _LOOK_S or now >= seconds > past:  # a server that talks all the time is no reason to look more often
                looked, stop = now, told(now) or stop
        except KeyboardInterrupt:
            if ended:
                for call in open_:
                    call.leave()
                return True
            stop = True
    return ended


def _terminate(addresses: Sequence[ServerAddress], session: str) -> None:
    """End its session now, at all of them. A server that knows no such call ends when the time is up."""
    calls = [Call(address) for address in addresses]
    for call in calls:
        try:
            call.connect()
            call.send(messages.TERMINATE, messages.terminate(session))
        except CaptureError as error:
            call.failure = error
    until = time.monotonic() + PATIENCE_S
    while (open_ := [call for call in calls if not call.done]) and (left := until - time.monotonic()) > 0:
        for call in select.select(open_, [], [], left)[0]:
            call.receive()
    for call in calls:
        call.close()


def _outcome(call: Call, server: Server) -> Outcome:
    try:
        answer = messages.answer(call.answer)
    except CaptureError as error:
        return Outcome(server, None, error, call.left)
    return Outcome(server, answer, None)


def empty(outcome: Outcome, asked: ProfileRequest) -> CaptureError | None:
    """What to say where a profile without events was recorded."""
    if outcome.answer is not None and outcome.answer.empty:
        return problems.empty(str(outcome.server.address), asked.seconds)
    return None
