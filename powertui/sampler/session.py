"""Recording inside a training script:

    import powertui

    with powertui.record("power.csv", host="bmc1", user="viewer") as power:
        for epoch in range(10):
            with power.window(f"epoch {epoch}"):
                train()

Nothing happens when this is imported. A recording must never end a training: when the BMC is away,
wrong or refuses us, a warning says so, and the loop goes on without power. (`strict=True` raises
instead.)
"""

from __future__ import annotations

import atexit
import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from powertui.errors import PowertuiError
from powertui.sampler.csv_format import BEGIN, END, MARK
from powertui.sampler.health import Joules
from powertui.sampler.source import Reading, Stamp

if TYPE_CHECKING:
    from powertui.sampler.targets import SourceArguments, Target

__all__ = ["PowerRecording", "PowerWarning", "RecordedWindow", "record"]

# Environment variables, read where no argument says it.
HOST, SOURCE, USER = "POWERTUI_HOST", "POWERTUI_SOURCE", "POWERTUI_USER"
# A window of which less was covered has no energy to report: chosen, not measured.
_MIN_COVERAGE = 0.5


class PowerWarning(UserWarning):
    """Power is not recorded, or not completely."""


class RecordedWindow:
    """A stretch of time with a name.

    Once it has ended, `joules` says what it cost, as far as that was measured.
    """

    def __init__(self, name: str, begin: Stamp) -> None:
        self.name, self.begin = name, begin
        self.end: Stamp | None = None
        # By channel; with several sources by "source channel".
        self.energy: dict[str, Joules] = {}

    @property
    def seconds(self) -> float:
        return (self.end or Stamp.now()).mono - self.begin.mono

    @property
    def joules(self) -> float | None:
        """The energy of the first channel.

        None while the window is open, and where two readings do not fit in.
        """
        first = next(iter(self.energy.values()), None)
        if first is None or first.samples < 2 or first.coverage <= _MIN_COVERAGE:
            return None
        return first.joules


class PowerRecording:
    """A recording that was started by `record()`.

    `close()` completes its file; so does the end of the process.
    """

    def __init__(self, recorder: Any, path: str) -> None:
        self._recorder = recorder  # None when nothing can be recorded
        self._pid = os.getpid()
        self.path = path
        self.trouble: list[str] = []

    @property
    def recording(self) -> bool:
        return self._recorder is not None and self._recorder.ended is None

    @property
    def watts(self) -> float | None:
        """The last value of the first channel, None when there is none now."""
        if not self.recording:
            return None
        health = next((h for _, h in self._recorder.health()), None)
        return health.last.watts if health and health.last else None

    @property
    def joules(self) -> float:
        """The energy of the first channel since the start, as far as it was measured."""
        if self._recorder is None:
            return 0.0
        return next((h.total().joules for _, h in self._recorder.health()), 0.0)

    def subscribe(self, listener: Callable[[list[Reading]], None]) -> Callable[[], None]:
        """Called with every batch of readings, from the writer's thread."""
        unsubscribe: Callable[[], None] = (
            self._recorder.subscribe(listener) if self._recorder else lambda: None
        )
        return unsubscribe

    def mark(self, text: str) -> None:
        """Note this moment; it appears in the timeline."""
        if self.recording:
            self._recorder.mark(text, MARK)

    @contextlib.contextmanager
    def window(self, name: str) -> Iterator[RecordedWindow]:
        """Note the begin and the end of a stretch: an epoch, an evaluation, a checkpoint."""
        window = self.begin(name)
        try:
            yield window
        finally:
            self.end(window)

    def begin(self, name: str) -> RecordedWindow:
        """For callbacks, where a `with` does not fit: `end()` takes what this returns."""
        window = RecordedWindow(name, Stamp.now())
        if self.recording:
            self._recorder.mark(name, BEGIN, window.begin)
        return window

    def end(self, window: RecordedWindow) -> RecordedWindow:
        window.end = Stamp.now()
        if self.recording:
            self._recorder.mark(window.name, END, window.end)
            channels = self._recorder.health()
            several = len({state.source.name for state, _ in channels}) > 1
            for state, health in channels:
                name = health.channel.name
                if several:
                    name = f"{state.source.name} {name}"
                window.energy[name] = health.between(window.begin.mono, window.end.mono, hold=True)
        return window

    def close(self) -> None:
        """End the recording.

        May be called twice; does nothing in a forked child, whose parent goes on recording.
        """
        atexit.unregister(self.close)
        if self._recorder is None or self._recorder.ended is not None or os.getpid() != self._pid:
            return
        self._recorder.stop("closed")
        file = self._recorder.file
        if file is not None and (file.faults or file.lost):
            _warn("; ".join(self.trouble) or f"{self.path} is not complete.")

    def __enter__(self) -> PowerRecording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _warn(text: str) -> None:
    warnings.warn(f"powertui: {text}", PowerWarning, stacklevel=4)


def record(
    path: str | os.PathLike[str] = "",
    *,
    host: str | Sequence[str] = (),
    source: str | Sequence[str] = (),
    user: str = "",
    password: str | None = None,
    password_file: str = "",
    kg_file: str = "",
    level: str = "",
    sensors: Sequence[str] = (),
    insecure: bool = False,
    interval: float = 1.0,
    sync: float | None = None,
    timeout: float | None = None,
    strict: bool = False,
) -> PowerRecording:
    """Start to record power into a CSV file, in a thread of this process.

    `host` is a BMC or a name of the config file, `source` a URL; without both, $POWERTUI_HOST,
    $POWERTUI_SOURCE, and at last the sensors of this machine. The password comes from `password`,
    `password_file`, $IPMI_PASSWORD or the key store; a training script is never held up by a
    prompt. What was recorded reaches the disk itself where values stop, at the end, and every
    `sync` seconds where that is given.
    """
    # Imported here, so that importing this module costs a training script nothing.
    from powertui.sampler.credentials import Secret
    from powertui.sampler.csv_format import default_path
    from powertui.sampler.recorder import Recorder
    from powertui.sampler.recording_file import RecordingFile
    from powertui.sampler.source import make_names_unique, open_source
    from powertui.sampler.targets import SourceArguments

    file_path = os.fspath(path) or default_path()
    named = SourceArguments(
        hosts=_names(host),
        sources=_names(source),
        user=user or os.environ.get(USER, ""),
        password=Secret(password) if password else None,
        password_file=password_file,
        kg_file=kg_file,
        level=level,
        sensors=sensors,
        insecure=insecure,
        timeout=timeout,
    )
    try:
        sources = [open_source(target.url, target.options) for target in _targets(named)]
        make_names_unique(sources)
        recorder = Recorder(sources, interval=interval)
        file = RecordingFile(file_path, interval, recorder.say, sync=sync)
        recorder.file = file
        try:
            recorder.open(patient=not strict)
        except PowertuiError as error:
            file.close(error.message)
            raise
        for event in recorder.events:
            if event.level == "warning":  # away for now: the recorder goes on asking
                _warn(f"{event.text} It will be asked again while this runs.")
    except PowertuiError as error:
        if strict:
            raise
        _warn(f"{error.message} Power is not recorded.")
        return PowerRecording(None, file_path)
    recording = PowerRecording(recorder, file_path)
    recorder.on_event(
        lambda event: recording.trouble.append(event.text) if event.level == "error" else None
    )
    recorder.start()
    # A script that never calls close() still gets the rows that wait, and the line of the end.
    atexit.register(recording.close)
    return recording


def _names(named: str | Sequence[str]) -> list[str]:
    names = [named] if isinstance(named, str) else named
    return [name for name in names if name]


def _targets(named: SourceArguments) -> Sequence[Target]:
    """What was named, in the call or in the environment; else what is on this machine."""
    from powertui import config
    from powertui.sampler.inventory import local_targets
    from powertui.sampler.targets import targets

    if not named.hosts and not named.sources:
        hosts, sources = (os.environ.get(variable, "").split() for variable in (HOST, SOURCE))
        named = replace(named, hosts=hosts, sources=sources)
    if not named.hosts and not named.sources:
        return local_targets()
    entries = config.load().hosts if named.hosts or named.sources else {}
    return targets(named, config=entries, environment=os.environ, ask=False)
