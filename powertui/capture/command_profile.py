"""A profile of a command that is being recorded: wait for its server, then capture between two
steps, or after some time.

Steps are read from the scalars that the program logs. A writer keeps them to itself for a while
(TensorFlow's for up to two minutes unless it is flushed), so when the steps come is told by the
rate of those that were seen; the capture begins earlier and ends later by as much as that may be
off. Which steps it caught is said afterwards, when the log is complete.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from powertui.capture import profile_session, servers
from powertui.capture.profile_session import CapturedProfile, Plan
from powertui.capture.stages import Stage
from powertui.capture.step_clock import StepClock
from powertui.data.watch import Watch
from powertui.errors import CaptureError, PowertuiError, UsageError
from powertui.plain import plain
from powertui.value_types import dataclass

__all__ = ["RequestedProfile", "WhileRecording", "steps_of"]

# A program that ends closes its server first. Chosen: longer than Python takes to end.
_END_LAG_S = 2.0
_LOOK_PERIOD_S = 0.5  # between two looks for the server, and at the logdir
# without any step logged it is captured by time instead: TensorFlow's writer keeps them for 120
_NO_STEPS_S = 150.0
_LEAD_S = 0.4  # until a profiler has begun
_MAX_LOG_DELAY_S = 5.0  # a log that is so far behind deserves a word
_HOW = (
    "TensorBoard(update_freq=10) or tf.summary.scalar log steps; the writer's flush() writes them "
    "at once."
)


@dataclass(frozen=True)
class RequestedProfile:
    """When to capture."""

    plan: Plan  # one address; its seconds are the most, where steps are named
    steps: tuple[int, int] | None = None
    after_s: float = 10.0  # from when the server is there
    by_time_s: float = 2.0  # where steps are named and none is logged


def steps_of(written: str) -> tuple[int, int]:
    """ "100-110": from step 100 on, until step 110."""
    first, sign, last = written.partition("-")
    if not (sign and first.strip().isdecimal() and last.strip().isdecimal()) or int(first) >= int(
        last
    ):
        raise UsageError(
            f"--steps {plain(written, 40)}: is not a range of steps.", hint="Write it like 100-110."
        )
    return int(first), int(last)


class WhileRecording:
    """A thread beside the command; `with` begins it, and its end says what came of it."""

    def __init__(self, request: RequestedProfile, say: Callable[[str], None]) -> None:
        self._request, self._say = request, say
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="powertui-capture", daemon=True)
        self._watch = Watch(request.plan.logdir) if request.steps is not None else None
        self._looked_s = 0.0
        self._steps = StepClock()
        self._until: int | None = None  # the last step that is wanted
        self._slow = False  # the profile is late, which was said
        self.capture: CapturedProfile | None = None

    def __enter__(self) -> WhileRecording:
        before = signal.pthread_sigmask(
            signal.SIG_BLOCK, signal.valid_signals()
        )  # signals are for the main thread
        self._thread.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self.capture is not None and self.capture.files and self._request.steps is not None:
            self._say_steps(self.capture)

    def _run(self) -> None:
        address = self._request.plan.addresses[0]
        try:
            if not self._server_is_there():
                self._say(
                    "No profile was taken: the command ended, and nothing had listened at "
                    f"{address}."
                )
                return
            plan = self._when()
            if plan is None:
                at = (
                    f"step {self._request.steps[0]}"
                    if self._request.steps
                    else f"{self._request.after_s:g} s"
                )
                none = self._request.steps is not None and self._steps.last is None
                self._say(
                    f"No profile was taken: the command ended before {at}."
                    + f" It logged no step. {_HOW}" * none
                )
                return
            self.capture = profile_session.take(plan, self._enough)
        except PowertuiError as error:
            self._say(f"No profile was taken: {error.message}")
            return
        for problem in self.capture.problems:
            self._say(problem.message)
        if not self.capture.files and self._over.wait(_END_LAG_S):
            self._say(
                "The command ended while it was profiled. --profile-time sets another length."
            )
        for path in self.capture.files:
            self._say(f"profile: {path}")
        for line in self.capture.elsewhere:
            self._say(f"The server wrote the profile on its own disk. To fetch it: {line}")

    def _server_is_there(self) -> bool:
        """Wait for it. A port that something else answers on is said at once."""
        while not self._over.is_set():
            try:
                servers.check(self._request.plan.addresses)
                return True
            except CaptureError as error:
                if "Nothing listens" not in error.message:
                    raise
            self._over.wait(_LOOK_PERIOD_S)
        return False

    def _when(self) -> Plan | None:
        """What to capture, once it is time; None when the command ended before."""
        plan = self._request.plan
        steps = self._request.steps
        begun = time.monotonic()
        if steps is None:
            return None if self._over.wait(self._request.after_s) else plan
        wait_s = 0.0
        while not self._over.wait(wait_s):
            self._look()
            last = self._steps.last
            due_s = self._due_in_s(steps[0])
            if (last is not None and last >= steps[0]) or due_s <= 0:
                self._until = self._last_wanted(*steps)
                if self._until is not None:
                    return plan
                return self._by_time(
                    f"The log does not show how fast steps go: it has only step {last}."
                )
            if last is None and time.monotonic() - begun > _NO_STEPS_S:
                return self._by_time(f"No step has been logged in {plan.logdir} so far. {_HOW}")
            wait_s = min(_LOOK_PERIOD_S, due_s)
        return None

    def _due_in_s(self, step: int) -> float:
        """When to ask for the profile, so that it has begun before the step does."""
        expected = self._steps.when(step)
        if expected is None:
            return _LOOK_PERIOD_S
        due_s: float = expected.at - expected.half - _LEAD_S - time.time()
        return due_s

    def _last_wanted(self, first: int, last: int) -> int | None:
        """Until which step to capture: the one that was asked for, or as many from now on where
        that is over.
        """
        now = self._steps.at(time.time())
        end = self._steps.when(last)
        if now is None or end is None:
            return last if (self._steps.last or 0) < last else None
        if time.time() < end.at:
            self._say(f"about step {now:.0f}: capturing until step {last}")
            return last
        self._say(
            f"Steps {first} to {last} had already run when logged: capturing {last - first} "
            f"steps from about {now:.0f} on."
        )
        return round(now) + last - first

    def _by_time(self, why: str) -> Plan:
        plan = self._request.plan
        length = self._request.by_time_s
        self._say(f"{why} Capturing {length:g} s now.")
        return replace(plan, asked=replace(plan.asked, seconds=length))

    def _enough(self, stage: Stage) -> bool:
        if stage.sentence() and not self._slow:
            self._slow = True
            self._say(
                f"Waiting for the profile from {' and '.join(stage.slow)}, at most "
                f"{stage.deadline_s:.0f} s in all."
            )
        if self._over.is_set():
            return True
        if self._until is None:
            return False
        self._look()
        end = self._steps.when(self._until)
        return (self._steps.last or 0) >= self._until or (
            end is not None and time.time() >= end.at + end.half
        )

    def _look(self) -> None:
        """What was logged since, twice a second at most. Epochs are no steps."""
        if self._watch is not None and time.monotonic() - self._looked_s >= _LOOK_PERIOD_S:
            records = self._watch.poll().scalars
            made = [
                (record.step, record.wall_ns / 1e9)
                for record in records
                if not record.tag.startswith(("epoch_", "evaluation_"))
            ]
            self._steps.add(made, time.time())
            self._looked_s = time.monotonic()

    def _say_steps(self, capture: CapturedProfile) -> None:
        """Which steps it caught: as the profile numbers them, else as the log has them now that the
        command is over.
        """
        assert self._request.steps is not None
        self._looked_s = 0.0
        self._look()
        numbers = _numbered(capture)
        begin = capture.begun_ns / 1e9
        end = capture.ended_ns / 1e9
        by_log = self._steps.at(begin), self._steps.at(end)
        if numbers is not None:
            caught, how = numbers, "by its own numbers"
        elif by_log[0] is not None and by_log[1] is not None:
            sure = self._steps.covers(begin) and self._steps.covers(end)
            caught = (round(by_log[0]), round(by_log[1]))
            how = "by the log" if sure else "by the rate of the steps that were logged"
        else:
            self._say(
                "Which steps it holds is not known: the profile numbers none, and the log has "
                "too few."
            )
            return
        first, last = self._request.steps
        if caught[0] <= first and caught[1] >= last:
            held = ""
        else:
            held = f" Requested: {first} to {last}."
        self._say(f"It holds steps {caught[0]} to {caught[1]}, {how}.{held}")
        if held and self._steps.behind_s > _MAX_LOG_DELAY_S:
            self._say(
                f"The log was {self._steps.behind_s:.0f} s behind the program. It is logged "
                "sooner where the writer is flushed, "
                "with tf.summary.create_file_writer(…, flush_millis=1000) or writer.flush()."
            )


def _numbered(capture: CapturedProfile) -> tuple[int, int] | None:
    """The first and the last step of a profile that numbers its steps itself."""
    from powertui.data import logdir
    from powertui.data.opened import Opened

    try:
        profiles = [
            profile
            for entry in logdir.scan(str(capture.folder)).runs
            for profile in Opened(entry).profiles
        ]
    except PowertuiError:
        return None
    for profile in profiles:
        steps = profile.steps
        if (
            len(steps)
            and steps.confidence.startswith("sure")
            and not steps.inferred
            and int(steps.number.min()) >= 0
        ):
            return int(steps.number.min()), int(steps.number.max())
    return None
