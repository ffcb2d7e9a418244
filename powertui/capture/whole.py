"""One capture from start to end: look whether the servers are there, power before, the profile, power after, where the file is."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from powertui.capture import around, kineto, problems, servers, where
from powertui.capture.address import ServerAddress
from powertui.capture.around import PowerAround
from powertui.capture.messages import ProfileRequest
from powertui.capture.servers import Server
from powertui.capture.where import SessionPlace
from powertui.errors import Cancelled, CaptureError, PowertuiError
from powertui.sampler.targets import Target

__all__ = ["BEFORE", "SESSIONS", "WRITING", "Plan", "Stage", "Taken", "Waiting", "take"]

SESSIONS = "plugins/profile"  # below a logdir: where TensorBoard keeps its sessions
BEFORE, _PROFILING, WRITING, _AFTER = "power before", "profiling", "waiting for the server to write the profile", "power after"
_LOOK_S = 0.25  # between two looks whether somebody wants to stop, who is told meanwhile how far it is


class Stage(NamedTuple):
    """What is being waited for."""

    what: str
    past_s: float
    of_s: float | None  # None: as long as it takes


@dataclass(frozen=True)
class Plan:
    """What is to be taken."""

    addresses: tuple[ServerAddress, ...]
    logdir: str  # absolute
    asked: ProfileRequest = field(default_factory=ProfileRequest)
    power: tuple[Target, ...] = ()  # none: no power is recorded
    interval: float = 0.25
    before_s: float = 5.0
    after_s: float = 5.0
    delay_s: float = 0.0
    server_logdir: str = ""  # the logdir as the server sees it, where that is another path
    pid: int | None = None  # a PyTorch program of this machine, instead of addresses
    via: tuple[str, ...] = ()  # for each address, or one for all: through which host to fetch its file


@dataclass
class Taken:
    """What came of it."""

    session: str
    folder: Path  # as we see it
    files: list[str] = field(default_factory=list)  # profiles that are here
    elsewhere: list[str] = field(default_factory=list)  # for those that are not: the line that fetches each
    results: list[str] = field(default_factory=list)  # of old servers
    power: str = ""  # the recording
    problems: list[PowertuiError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    begun_ns: int = 0  # when the servers were asked, and when the last had answered (Unix ns)
    ended_ns: int = 0
    ended_s: float = 0.0  # the same moment on the clock that nobody sets
    stopped: bool = False  # before its time, by a person
    unfinished: bool = False  # somebody did not wait until the servers had written

    @property
    def good(self) -> bool:
        """There is something to look at, here or elsewhere."""
        return bool(self.files or self.elsewhere or self.results)


class Waiting:
    """Waits in slices, tells of it, and remembers that somebody asked to stop."""

    def __init__(self, told: Callable[[Stage], bool]) -> None:
        self._told = told
        self.stopped = False

    def look(self, what: str, past: float, of: float | None) -> bool:
        self.stopped = self._told(Stage(what, past, of)) or self.stopped
        return self.stopped

    def wait(self, what: str, seconds: float, past: float = 0.0) -> None:
        """So long, of which some may be past, unless somebody stops it: Ctrl+C ends the wait, not the capture."""
        begun = time.monotonic() - past
        try:
            while (past := time.monotonic() - begun) < seconds and not self.look(what, past, seconds):
                time.sleep(min(_LOOK_S, seconds - past))
        except KeyboardInterrupt:
            self.stopped = True


def take(
    plan: Plan, told: Callable[[Stage], bool] = lambda _: False, *, meanwhile: Callable[[Taken], bool] = lambda _: False
) -> Taken:
    """Take one profile of every address. `told` hears what is waited for, some times a second; True ends the capture early.
    `meanwhile` is given what is there once the profile is: power goes on beside it, in a file that grows. With True it ends that.

    Raises where nothing can come of it; what goes wrong with one of several servers is among the problems of what was taken.
    """
    around.made(plan.logdir)
    if plan.pid is not None:
        kineto.ready(plan.pid)
    servers.check(plan.addresses)
    waiting = Waiting(told)
    power = PowerAround(plan.power, plan.logdir, plan.interval) if plan.power else None
    before = plan.before_s if power is not None else 0.0
    waiting.wait("waiting", plan.delay_s - before)
    taken = None
    try:
        if power is not None:
            power.start()
        waiting.wait(BEFORE, before if not waiting.stopped else 0.0)
        if waiting.stopped:
            raise Cancelled("Stopped before the profile began: nothing was captured.")
        taken = _profile(plan, power, waiting) if plan.pid is None else _of_process(plan, plan.pid, power, waiting)
        _after(plan, taken, power, waiting, meanwhile)
    finally:
        if power is not None:
            _end(power, taken, waiting)
    taken.stopped = waiting.stopped
    return taken


def _after(plan: Plan, taken: Taken, power: PowerAround | None, waiting: Waiting, meanwhile: Callable[[Taken], bool]) -> None:
    """Power for some seconds more, from when the servers had answered."""
    goes_on = power is not None and taken.good and not waiting.stopped
    if power is not None and goes_on:
        power.show(taken.folder)
        power.end_in(max(0.0, plan.after_s - _since(taken)))
        taken.power = power.lies
    if taken.good:
        waiting.stopped = meanwhile(taken) or waiting.stopped
    if goes_on and not waiting.stopped:
        waiting.wait(_AFTER, plan.after_s, _since(taken))


def _since(taken: Taken) -> float:
    return time.monotonic() - taken.ended_s


def _end(power: PowerAround, taken: Taken | None, waiting: Waiting) -> None:
    """What was recorded is kept where there is a profile, or where one may still come."""
    keeps = taken.good or taken.unfinished if taken is not None else power.begun is not None
    folder = taken.folder if taken is not None and keeps else None
    try:
        path = power.stop(folder)
    except KeyboardInterrupt:
        waiting.stopped = True
        path = power.stop(folder)
    if not keeps and path:
        with contextlib.suppress(OSError):
            Path(path).unlink()  # seconds of power with no profile: nobody asked for that
        path = ""
    if taken is not None:
        taken.power, taken.notes = path, [*taken.notes, *power.notes]


def _session(logdir: str) -> str:
    """Named as TensorBoard names them: the local time. Two within a second get one each: the later one waits for its second."""
    while True:
        name = time.strftime("%Y_%m_%d_%H_%M_%S")
        if not (Path(logdir) / SESSIONS / name).exists():
            return name
        time.sleep(1.0 - time.time() % 1.0)


def _profile(plan: Plan, power: PowerAround | None, waiting: Waiting) -> Taken:
    session = _session(plan.logdir)
    theirs = f"{(plan.server_logdir or plan.logdir).rstrip('/')}/{SESSIONS}"
    place = SessionPlace(Path(plan.logdir) / SESSIONS / session, f"{theirs}/{session}")
    taken = Taken(session, place.here)
    seconds = plan.asked.seconds

    def look(past: float) -> bool:
        if past < seconds:
            return waiting.look(_PROFILING, past, seconds)
        return waiting.look(WRITING, past - seconds, None)

    def started() -> None:
        taken.begun_ns = time.time_ns()
        if power is not None:
            power.begin(f"profile {session}")

    outcomes, early = servers.take(servers.named(plan.addresses), plan.asked, theirs, session, told=look, started=started)
    taken.ended_ns, taken.ended_s = time.time_ns(), time.monotonic()
    waiting.stopped = waiting.stopped or early
    if power is not None:
        power.end(f"profile {session}")
    for index, outcome in enumerate(outcomes):
        if outcome.answer is None:
            taken.problems += [outcome.problem] if outcome.problem else []
            taken.unfinished = taken.unfinished or outcome.unfinished
            continue
        hop = plan.via[min(index, len(plan.via) - 1)] if plan.via else ""
        try:
            _locate(taken, place, outcome.server, outcome.answer.results, hop)
        except CaptureError as error:
            taken.problems.append(error)
        except KeyboardInterrupt:  # it is written: fetching it is what was not waited for
            waiting.stopped = True
            taken.elsewhere.append(where.command(place, outcome.server))
        nothing = servers.empty(outcome, plan.asked)
        if nothing is not None:
            taken.problems.append(nothing)
    return taken


def _of_process(plan: Plan, pid: int, power: PowerAround | None, waiting: Waiting) -> Taken:
    """Kineto begins by itself, some seconds after it was asked: the window in the recording is from asking to the file."""
    session = _session(plan.logdir)
    taken = Taken(session, Path(plan.logdir) / session)

    def look(past: float) -> bool:
        return waiting.look(f"waiting for Kineto to profile process {pid}", past, None)

    taken.begun_ns = time.time_ns()
    if power is not None:
        power.begin(f"profile {session}")
    try:
        taken.files.append(str(kineto.take(pid, plan.asked.seconds, taken.folder, look)))
    except (CaptureError, KeyboardInterrupt) as error:
        waiting.stopped = waiting.stopped or not isinstance(error, CaptureError)
        taken.problems += [error] if isinstance(error, CaptureError) else [kineto.stopped()]
        with contextlib.suppress(OSError):
            taken.folder.rmdir()
    taken.ended_ns, taken.ended_s = time.time_ns(), time.monotonic()
    if power is not None:
        power.end(f"profile {session}")
    return taken


def _locate(taken: Taken, place: SessionPlace, server: Server, results: tuple[tuple[str, bytes], ...], hop: str) -> None:
    if results:
        taken.results += where.results(place, server, results)
        taken.notes.append(problems.too_old(str(server.address)))
        if not (place.file(server)).exists():
            return
    if hop:
        where.fetch(place, server, hop)
        taken.files.append(str(place.file(server)))
    elif where.found(place, server):
        taken.files.append(str(place.file(server)))
    else:
        taken.elsewhere.append(where.command(place, server))
