"""A profile of a command that is being recorded: wait for its server, then capture between two steps, or after some time.

Steps are read from the scalars that the program logs. A writer keeps them to itself for a while (TensorFlow's for up to two minutes
unless it is flushed), so a capture by steps begins at the first look that shows the step; the profile says which steps it has.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from powertui.capture import servers, whole
from powertui.capture.whole import Plan, Stage, Taken
from powertui.data.watch import Watch
from powertui.errors import CaptureError, PowertuiError, UsageError
from powertui.plain import plain

__all__ = ["WantedProfile", "WhileRecording", "steps_of"]

_ASK_S = 0.5  # between two looks for the server, and at the logdir
_NO_STEPS_S = 120.0  # without any step logged it is captured by time instead


@dataclass(frozen=True)
class WantedProfile:
    """When to capture."""

    plan: Plan  # one address; its seconds are the most, where steps are named
    steps: tuple[int, int] | None = None
    after_s: float = 10.0  # from when the server is there
    by_time_s: float = 2.0  # where steps are named and none is logged


def steps_of(written: str) -> tuple[int, int]:
    """ "100-110": from step 100 on, until step 110."""
    first, sign, last = written.partition("-")
    if not (sign and first.strip().isdecimal() and last.strip().isdecimal()) or int(first) >= int(last):
        raise UsageError(f"--steps {plain(written, 40)}: is no range of steps.", hint="Write it like 100-110.")
    return int(first), int(last)


class WhileRecording:
    """A thread beside the command; `with` begins it, and its end says what came of it."""

    def __init__(self, wanted: WantedProfile, say: Callable[[str], None]) -> None:
        self._wanted, self._say = wanted, say
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="powertui-capture", daemon=True)
        self._watch = Watch(wanted.plan.logdir) if wanted.steps is not None else None
        self._looked_s = 0.0
        self._step: int | None = None
        self.taken: Taken | None = None

    def __enter__(self) -> WhileRecording:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # signals are for the main thread
        self._thread.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        address = self._wanted.plan.addresses[0]
        try:
            if not self._server_is_there():
                self._say(f"No profile was taken: the command ended, and nothing had listened at {address}.")
                return
            plan = self._when()
            if plan is None:
                at = f"step {self._wanted.steps[0]}" if self._wanted.steps else f"{self._wanted.after_s:g} s"
                self._say(f"No profile was taken: the command ended before {at}.")
                return
            self.taken = whole.take(plan, self._enough)
        except PowertuiError as error:
            self._say(f"No profile was taken: {error.message}")
            return
        for problem in self.taken.problems:
            self._say(problem.message)
        for path in self.taken.files:
            self._say(f"profile: {path}")
        for line in self.taken.elsewhere:
            self._say(f"The server wrote the profile on its own disk. To fetch it: {line}")

    def _server_is_there(self) -> bool:
        """Wait for it. A port that something else answers on is said at once."""
        while not self._over.is_set():
            try:
                servers.check(self._wanted.plan.addresses)
                return True
            except CaptureError as error:
                if "Nothing listens" not in error.message:
                    raise
            self._over.wait(_ASK_S)
        return False

    def _when(self) -> Plan | None:
        """What to capture, once it is time; None when the command ended before."""
        plan, steps = self._wanted.plan, self._wanted.steps
        begun = time.monotonic()
        while not self._over.wait(_ASK_S if steps else 0.05):
            waited = time.monotonic() - begun
            if steps is None:
                if waited >= self._wanted.after_s:
                    return plan
                continue
            if (self._now() or 0) >= steps[0]:
                self._say(f"step {self._step}: capturing until step {steps[1]}")
                return plan
            if self._step is None and waited > _NO_STEPS_S:
                length = self._wanted.by_time_s
                self._say(f"No step has been logged in {plan.logdir} so far: capturing {length:g} s now.")
                self._watch = None
                return replace(plan, asked=replace(plan.asked, seconds=length))
        return None

    def _enough(self, _stage: Stage) -> bool:
        if self._over.is_set():
            return True
        steps = self._wanted.steps
        return steps is not None and self._watch is not None and (self._now() or 0) >= steps[1]

    def _now(self) -> int | None:
        """The last step that was logged, looked up twice a second at most. Epochs are no steps."""
        if self._watch is not None and time.monotonic() - self._looked_s >= _ASK_S:
            self._watch.poll()
            logged = [one.step for (_, tag), one in self._watch.latest.items() if not tag.startswith(("epoch_", "evaluation_"))]
            self._step = max(logged, default=self._step)
            self._looked_s = time.monotonic()
        return self._step


def session_of(taken: Taken | None) -> Path | None:
    """The folder of the profile that was taken and lies here."""
    return taken.folder if taken is not None and taken.files else None
