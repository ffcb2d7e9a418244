"""Start the recorder in a process of its own (see child.py), and listen to it as one listens to a
Recorder.

recorder = RecorderProcess([("ipmi://bmc", options)], path="power.csv", interval=1.0)
recorder.subscribe(…); recorder.on_event(…)
recorder.start()                 # raises what opening the sources or the file raised
recorder.mark("epoch 3")
summary = recorder.stop()
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from powertui import import_path
from powertui.errors import PowertuiError, SensorError
from powertui.sampler.child import encode_options, error_from, info_from
from powertui.sampler.csv_format import MARK
from powertui.sampler.health import Health
from powertui.sampler.programs import environment
from powertui.sampler.recorder_events import Event
from powertui.sampler.source import Channel, Info, Options, Reading, Stamp

__all__ = ["RecorderProcess"]

# The child begins isolated (-I): only the interpreter's own folders are on its path, neither the
# working folder nor what $PYTHONPATH says. Our folders come after those, and the package is loaded
# from the very place where ours is.
_START = """
import json, sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

told = json.loads(sys.stdin.readline())
sys.path += [entry for entry in told["path"] if entry not in sys.path]
spec = PathFinder.find_spec("powertui", [told["home"]])
sys.modules["powertui"] = package = module_from_spec(spec)
spec.loader.exec_module(package)
from powertui.sampler.child import main

main()
"""


class RecorderProcess:
    """A recorder that neither ctrl+z nor a crash of this program can hold up."""

    def __init__(
        self,
        sources: Sequence[tuple[str, Options]],
        *,
        path: str | None = None,
        interval: float = 1.0,
        stream: bool = True,
        sync: float | None = None,
    ) -> None:
        self.interval = interval
        self.path = path
        self.infos: dict[str, Info] = {}  # what was found, by source name
        # Sources that have not answered yet, in order, and why; "" where nothing was heard of it.
        self.away: dict[str, str] = {}
        self.refused: dict[str, PowertuiError] = {}  # those of them that will not be asked again
        self.channels: dict[tuple[str, str], Health] = {}  # kept from the readings that arrive here
        self.reconnects: dict[str, int] = {}  # by source name, so far
        self.missed: dict[str, int] = {}
        self.events: deque[Event] = deque(maxlen=1000)
        self.summary: dict[str, Any] | None = None
        self._sources = list(sources)
        self._stream = stream
        self._sync = sync
        self._subscribers: list[Callable[[list[Reading]], None]] = []
        self._listeners: list[Callable[[Event], None]] = []
        self._limit_listeners: list[Callable[[str, str, float, float | None], None]] = []
        self._opened = threading.Event()
        self._over = False  # nothing more will come
        self._error: dict[str, str] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None

    def subscribe(self, listener: Callable[[list[Reading]], None]) -> Callable[[], None]:
        """Called with each batch of readings, in a thread of its own: return soon."""
        self._subscribers.append(listener)
        return lambda: self._subscribers.remove(listener)

    def on_event(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def on_limit(self, listener: Callable[[str, str, float, float | None], None]) -> None:
        """Call `listener` when a limit changes: (source, channel, monotonic s, watts or None)."""
        self._limit_listeners.append(listener)

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def failure(self) -> PowertuiError | None:
        """Why nothing can be recorded; None while something may.

        For one that was started without waiting.
        """
        if self._error is not None:
            return error_from(self._error)
        if self.refused and len(self.refused) == len(self._sources):
            return next(iter(self.refused.values()))
        return None

    def start(self, *, wait: bool = True) -> None:
        """Open the sources and begin. Returns when readings are on their way, or at once when we
        are not to wait for them.

        Without waiting nothing is raised for a source that is away or refuses us: see `away`,
        `refused` and `failure`.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, "powertui-recorder"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(os.environ),
            start_new_session=True,
            text=True,
        )
        sources = [
            {"url": url, "options": encode_options(options)} for url, options in self._sources
        ]
        script = getattr(sys.modules.get("__main__"), "__file__", None) or ""
        self._send(
            json.dumps({"home": import_path.home(), "path": import_path.cleaned(sys.path, script)})
        )
        order = {
            "sources": sources,
            "path": self.path,
            "interval": self.interval,
            "sync": self._sync,
            "stream": self._stream,
        }
        order["patient"] = not wait
        self._send(json.dumps(order))
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:  # signals are for the main thread
            self._thread = threading.Thread(
                target=self._receive,
                name="powertui-readings",
                daemon=True,
            )
            self._thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if not wait:
            return
        try:
            self._opened.wait()
        except BaseException:
            self._end()
            raise
        if self._error is not None:
            self._end()
            raise error_from(self._error)
        if not self.infos and (self._over or not self.alive):
            self._end()
            raise SensorError("The recorder could not be started.", hint="See its message above.")

    def mark(self, text: str, kind: str = MARK, stamp: Stamp | None = None) -> Stamp:
        stamp = stamp or Stamp.now()
        self._send(json.dumps({"mark": [kind, stamp.t, stamp.mono, text]}))
        return stamp

    def stop(
        self,
        reason: str = "stopped",
        window: tuple[float, float] | None = None,
    ) -> dict[str, Any] | None:
        """End the recording and wait until its file is complete.

        None when the recorder had died.
        """
        self._send(json.dumps({"stop": reason, "window": window}))
        self._end()
        return self.summary

    def end_at(self, mono: float, reason: str, window: tuple[float, float]) -> None:
        """Let the recording end by itself then, by the steady clock, whatever becomes of us: we may
        be suspended.
        """
        self._send(json.dumps({"end_at": mono, "stop": reason, "window": window}))

    def health(self) -> list[tuple[str, Health]]:
        return [(source, health) for (source, _), health in list(self.channels.items())]

    def _end(self) -> None:
        if self._process is None:
            return
        with contextlib.suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        if self._thread:
            self._thread.join()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def _send(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        # A child that is gone is noticed where that matters.
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _receive(self) -> None:
        stdout = self._process.stdout if self._process else None
        for line in stdout or ():
            with contextlib.suppress(ValueError):
                self._take(json.loads(line))
        self._over = True  # its end is noticed before the system calls it dead
        self._opened.set()

    def _take(self, message: dict[str, Any]) -> None:
        """One line of the child's; see child.py for the kinds."""
        if "readings" in message:
            self._take_readings(message)
        elif "event" in message:
            self._take_event(message["event"])
        elif "limit" in message:
            for on_limit in list(self._limit_listeners):
                with contextlib.suppress(Exception):
                    on_limit(*message["limit"])
        elif "summary" in message:
            self.summary = message["summary"]
        else:
            self._take_source_news(message)

    def _take_source_news(self, message: dict[str, Any]) -> None:
        """What became of opening the sources."""
        if "opened" in message:
            for name, fields in message["opened"].items():
                if fields is not None:
                    self.infos.setdefault(name, info_from(fields))
                elif name not in self.infos:
                    self.away[name] = ""
            self._opened.set()
        elif "info" in message:
            name, fields = message["info"]
            self.infos[name] = info_from(fields)
            self.away.pop(name, None)
        elif "channels" in message:
            self._take_new_channels(*message["channels"])
        elif "refused" in message:
            name, fields = message["refused"]
            self.refused[name] = error_from(fields)
        elif "error" in message:
            self._error = message["error"]
            self._opened.set()

    def _take_new_channels(self, name: str, described: list[dict[str, Any]]) -> None:
        """A source has got channels since it was opened."""
        info = self.infos.get(name)
        if info is not None:
            channels = (*info.channels, *(Channel(**fields) for fields in described))
            self.infos[name] = replace(info, channels=channels)

    def _take_readings(self, message: dict[str, Any]) -> None:
        readings = [Reading(*values) for values in message["readings"]]
        for reading in readings:
            self._health_of(reading).add(reading)
        if readings:
            self.reconnects[readings[0].source] = message.get("reconnects", 0)
            self.missed[readings[0].source] = message.get("missed", 0)
        for on_readings in list(self._subscribers):
            # A listener that fails misses these; the next readings come all the same.
            with contextlib.suppress(Exception):
                on_readings(readings)

    def _take_event(self, fields: list[Any]) -> None:
        t, mono, level, source, text = fields
        event = Event(Stamp(t, mono), level, source, text)
        self.events.append(event)
        if source in self.away and level != "info":
            self.away[source] = text.removeprefix("no value: ")
        for on_event in list(self._listeners):
            with contextlib.suppress(Exception):
                on_event(event)

    def _health_of(self, reading: Reading) -> Health:
        key = (reading.source, reading.channel)
        if key not in self.channels:
            info = self.infos.get(reading.source)
            channel = Channel(reading.channel)
            for described in info.channels if info else ():
                if described.name == reading.channel:
                    channel = described
                    break
            self.channels[key] = Health(reading.source, channel, self.interval)
        return self.channels[key]
