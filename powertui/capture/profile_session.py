"""One capture from start to end: look whether the servers are there, power before, the profile,
power after, where the file is.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from powertui import units
from powertui.capture import (
    fetching,
    kineto,
    problems,
    profile_file,
    servers,
    session_files,
    surrounding_power,
)
from powertui.capture.address import ServerAddress
from powertui.capture.fetching import FetchProgress
from powertui.capture.messages import ProfileRequest
from powertui.capture.problems import NotWritten, ProfileLost
from powertui.capture.servers import AnswerWait, Outcome
from powertui.capture.session_files import SessionPlace
from powertui.capture.stages import Stage, Waiting
from powertui.capture.surrounding_power import PowerAround
from powertui.errors import Cancelled, CaptureError, PowertuiError
from powertui.sampler.targets import Target
from powertui.value_types import dataclass

__all__ = ["BEFORE", "SESSIONS", "WRITING", "CapturedProfile", "Plan", "take"]

SESSIONS = "plugins/profile"  # below a logdir: where TensorBoard keeps its sessions
BEFORE, _PROFILING, WRITING, _AFTER = (
    "power before",
    "profiling",
    "waiting for the server to write the profile",
    "power after",
)
# beyond the asked time: profiles of the programs in docs/capture.md were written within 1 s
_SLOW_ANSWER_S = 3.0
# Without a byte more for so long, a file that ends in the middle is taken for abandoned.
_SETTLED_S = 0.5


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
    # For each address, or one for all: through which host to fetch its file.
    via: tuple[str, ...] = ()


@dataclass
class CapturedProfile:
    """What came of it."""

    session: str
    folder: Path  # as we see it
    files: list[str] = field(default_factory=list)  # profiles that are here
    # For those that are not: the line that fetches each.
    elsewhere: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)  # of old servers
    power: str = ""  # the recording
    problems: list[PowertuiError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    begun_ns: int = 0  # when the servers were asked, and when the last had answered (Unix ns)
    ended_ns: int = 0
    ended_s: float = 0.0  # the same moment on the clock that nobody sets
    stopped: bool = False  # before its time, by a person
    lost: bool = False  # a profiler had begun, and its profile did not come

    @property
    def good(self) -> bool:
        """There is something to look at, here or elsewhere."""
        return bool(self.files or self.elsewhere or self.results)


def take(
    plan: Plan,
    on_stage: Callable[[Stage], bool] = lambda _: False,
    *,
    meanwhile: Callable[[CapturedProfile], bool] = lambda _: False,
) -> CapturedProfile:
    """Take one profile of every address. `on_stage` hears what is waited for, some times a second;
    True ends the capture early. `meanwhile` is given what is there once the profile is: power goes
    on beside it, in a file that grows. With True it ends that.

    Raises where nothing can come of it; what goes wrong with one of several servers is among the
    problems of what was taken.
    """
    surrounding_power.make_folder(plan.logdir)
    if plan.pid is not None:
        kineto.ready(plan.pid)
    servers.check(plan.addresses)
    waiting = Waiting(on_stage)
    power = PowerAround(plan.power, plan.logdir, plan.interval) if plan.power else None
    before = plan.before_s if power is not None else 0.0
    waiting.wait("waiting", plan.delay_s - before)
    capture = None
    try:
        if power is not None:
            power.start()
        waiting.wait(BEFORE, before if not waiting.stopped else 0.0)
        if waiting.stopped:
            raise Cancelled("Stopped before the profile began: nothing was captured.")
        capture = _begin(plan)
        if plan.pid is None:
            _profile(plan, capture, power, waiting)
        else:
            _process_profile(plan, plan.pid, capture, power, waiting)
        _after(plan, capture, power, waiting, meanwhile)
    finally:
        if power is not None:
            _end(power, capture, waiting)
    capture.stopped = waiting.stopped
    return capture


def _begin(plan: Plan) -> CapturedProfile:
    session = _session(plan)
    return CapturedProfile(session, _folder(plan, session))


def _after(
    plan: Plan,
    capture: CapturedProfile,
    power: PowerAround | None,
    waiting: Waiting,
    meanwhile: Callable[[CapturedProfile], bool],
) -> None:
    """Power for some seconds more, from when the servers had answered."""
    goes_on = power is not None and capture.good and not waiting.stopped
    if power is not None and goes_on:
        power.show(capture.folder)
        power.end_in(max(0.0, plan.after_s - _since(capture)))
        capture.power = power.lies
    if capture.good:
        waiting.stopped = meanwhile(capture) or waiting.stopped
    if goes_on and not waiting.stopped:
        waiting.wait(_AFTER, plan.after_s, _since(capture))


def _since(capture: CapturedProfile) -> float:
    return time.monotonic() - capture.ended_s


def _end(power: PowerAround, capture: CapturedProfile | None, waiting: Waiting) -> None:
    """Keep what was recorded where there is a profile, and where one had begun: nobody can record
    that power again.
    """
    folder = _power_folder(power, capture)
    try:
        path = power.stop(folder)
    except KeyboardInterrupt:
        # The file is completed all the same; a second Ctrl+C gives that up.
        waiting.stopped = True
        path = power.stop(folder)
    if folder is None and path:
        with contextlib.suppress(OSError):
            Path(path).unlink()  # seconds of power with no profile: nobody asked for that
        path = ""
    if capture is None:
        return
    capture.power, capture.notes = path, [*capture.notes, *power.notes]
    if path and not capture.good:
        capture.notes.append(f"The power that was recorded is kept in {path}.")


def _power_folder(power: PowerAround, capture: CapturedProfile | None) -> Path | None:
    """Where the power is kept; None where it is not worth keeping."""
    if capture is None:
        return None
    raised_inside = power.began and not power.ended
    if capture.good or capture.lost or raised_inside:
        return capture.folder
    return None


def _session(plan: Plan) -> str:
    """Named as TensorBoard names them: the local time.

    Two within a second get one each: the later one waits for its second.
    """
    while True:
        name = time.strftime("%Y_%m_%d_%H_%M_%S")
        if not _folder(plan, name).exists():
            return name
        time.sleep(1.0 - time.time() % 1.0)


def _folder(plan: Plan, session: str) -> Path:
    logdir = Path(plan.logdir)
    # TensorBoard looks for PyTorch's traces right in the run, for XPlanes below plugins/profile.
    if plan.pid is not None:
        return logdir / session
    return logdir / SESSIONS / session


def _profile(
    plan: Plan,
    capture: CapturedProfile,
    power: PowerAround | None,
    waiting: Waiting,
) -> None:
    session = capture.session
    # The server writes the profile itself, where it sees the logdir.
    server_root = f"{(plan.server_logdir or plan.logdir).rstrip('/')}/{SESSIONS}"
    place = SessionPlace(capture.folder, f"{server_root}/{session}")

    def started() -> None:
        capture.begun_ns = time.time_ns()
        if power is not None:
            power.begin(f"profile {session}")

    outcomes, early = servers.take(
        servers.named_servers(plan.addresses),
        plan.asked,
        server_root,
        session,
        on_wait=_answer_report(plan.asked.seconds, waiting, keeps_power=power is not None),
        started=started,
    )
    capture.ended_ns = time.time_ns()
    capture.ended_s = time.monotonic()
    waiting.stopped = waiting.stopped or early
    if power is not None:
        power.end(f"profile {session}")
    for index, outcome in enumerate(outcomes):
        if outcome.answer is None:
            _without_answer(capture, place, outcome)
            continue
        hop = ""
        if plan.via:
            hop = plan.via[min(index, len(plan.via) - 1)]
        _take_profile(capture, place, outcome, hop, waiting)
        nothing = servers.empty(outcome, plan.asked)
        if nothing is not None:
            capture.problems.append(nothing)


def _answer_report(
    seconds: float,
    waiting: Waiting,
    *,
    keeps_power: bool,
) -> Callable[[AnswerWait], bool]:
    def on_wait(wait: AnswerWait) -> bool:
        past_s = wait.past_s
        if past_s < seconds and not wait.ending:
            return waiting.look(Stage(_PROFILING, past_s, seconds))
        # Writing takes a moment: only who takes longer than that is named.
        is_slow = wait.ending or past_s >= seconds + _SLOW_ANSWER_S
        stage = Stage(
            what=WRITING,
            past_s=past_s,
            of_s=None,
            deadline_s=wait.limit_s,
            slow=wait.servers if is_slow else (),
            ending=wait.ending,
            keeps_power=keeps_power,
        )
        return waiting.look(stage)

    return on_wait


def _take_profile(
    capture: CapturedProfile,
    place: SessionPlace,
    outcome: Outcome,
    hop: str,
    waiting: Waiting,
) -> None:
    """What goes wrong with one server's file must not cost the others theirs."""
    try:
        _locate(capture, place, outcome, hop, waiting)
    except CaptureError as error:
        capture.problems.append(error)
        capture.lost = True
    except KeyboardInterrupt:  # it is written: fetching it is what was not waited for
        waiting.stopped = True
        capture.elsewhere.append(session_files.command(place, outcome.server))


def _fetch_report(hop: str, waiting: Waiting) -> Callable[[FetchProgress], bool]:
    def on_wait(progress: FetchProgress) -> bool:
        size = units.size(progress.size) if progress.size is not None else "an unknown size"
        detail = f"{units.size(progress.received)} of {size}"
        return waiting.look(
            Stage(f"fetching the profile through {hop}", progress.past_s, None, detail=detail)
        )

    return on_wait


def _without_answer(capture: CapturedProfile, place: SessionPlace, outcome: Outcome) -> None:
    """A server that refused or went away may have left a file: complete, or one that ends in the
    middle.
    """
    problem = outcome.problem
    if problem is None:
        return
    capture.problems.append(problem)
    capture.lost = capture.lost or outcome.lost
    path = place.file(outcome.server)
    state = profile_file.settled_state(path, _SETTLED_S) if outcome.lost else "absent"
    if state == "complete":
        capture.files.append(str(path))
        capture.notes.append(f"The profile is complete all the same: {path}.")
    elif state == "incomplete" and isinstance(problem, NotWritten):
        capture.notes.append(_removed(path))
    elif state == "incomplete":
        capture.notes.append(_put_away(path))
    if not capture.lost:
        with contextlib.suppress(OSError):
            capture.folder.rmdir()  # a folder in which nothing is


def _removed(path: Path) -> str:
    """The server reported that it failed: what it left only takes room on a disk that is full."""
    if profile_file.remove(path):
        return f"The server left a file that ends in the middle. It was removed: {path}."
    cut = "The server left a file that ends in the middle"
    return f"{cut}, which you do not have permission to remove: {path}."


def _put_away(path: Path) -> str:
    """Take an incomplete file from its final name, and report what became of it."""
    aside = profile_file.set_aside(path)
    if aside is None:
        cut = f"{path} ends in the middle and is not a whole profile."
        return f"{cut} You do not have permission to rename it."
    return f"What was written of the profile ends in the middle. It is kept in {aside}."


def _process_profile(
    plan: Plan,
    pid: int,
    capture: CapturedProfile,
    power: PowerAround | None,
    waiting: Waiting,
) -> None:
    """Kineto begins by itself, some seconds after it was asked: the window in the recording is from
    asking to the file.
    """
    name = f"profile {capture.session}"

    def on_wait(past_s: float, limit_s: float) -> bool:
        slow = (f"process {pid}",) if past_s >= plan.asked.seconds + kineto.TYPICAL_S else ()
        stage = Stage(
            what=f"waiting for Kineto to profile process {pid}",
            past_s=past_s,
            of_s=None,
            deadline_s=limit_s,
            slow=slow,
            keeps_power=power is not None,
        )
        return waiting.look(stage)

    capture.begun_ns = time.time_ns()
    if power is not None:
        power.begin(name)
    try:
        capture.files.append(str(kineto.take(pid, plan.asked.seconds, capture.folder, on_wait)))
    except CaptureError as error:
        capture.problems.append(error)
        capture.lost = isinstance(error, ProfileLost)
    except KeyboardInterrupt:
        waiting.stopped = capture.lost = True
        capture.problems.append(kineto.stopped(capture.folder))
    if not capture.files:
        with contextlib.suppress(OSError):
            capture.folder.rmdir()  # nothing is in it
    capture.ended_ns = time.time_ns()
    capture.ended_s = time.monotonic()
    if power is not None:
        power.end(name)


def _locate(
    capture: CapturedProfile,
    place: SessionPlace,
    outcome: Outcome,
    hop: str,
    waiting: Waiting,
) -> None:
    server = outcome.server
    path = place.file(server)
    results = outcome.answer.results if outcome.answer is not None else ()
    if results:
        for written in session_files.results(place, server, results):
            capture.results.append(written)  # each as soon as it is there: the next may not fit
        capture.notes.append(problems.too_old(str(server.address)))
        if not path.exists():
            return
    if hop:
        capture.files.append(str(fetching.fetch(place, server, hop, _fetch_report(hop, waiting))))
        return
    state = session_files.state(place, server)
    if state == "complete":
        capture.files.append(str(path))
    elif state == "incomplete":
        capture.notes.append(_put_away(path))
        raise problems.cut_file(str(server.address), str(path))
    else:
        capture.elsewhere.append(session_files.command(place, server))
