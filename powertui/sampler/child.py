"""The recorder in a process of its own: it keeps its rate while the program that started it is
suspended or killed.

It has its own session, so that ctrl+z, ctrl+c and a lost terminal do not reach it. It is told
everything through standard input, one JSON object a line (passwords too: they are on no command
line and in no environment), and ends with a complete file when that is closed, which is also what
happens when its parent is killed. It answers on standard output.

    → {"sources": [{"url": …, "options": {…}}], "path": …, "interval": 1.0, "stream": true,
       "patient": false}
    ← {"opened": …} or {"error": {…}};  {"event": [t, mono, level, source, text]}
    ← {"refused": [name, {…}]} of a source that will not be asked again
    ← {"limit": [source, channel, mono, watts]}, beside the readings
    ← {"readings": [[…], …], "reconnects": n, "missed": n}
    ← {"info": [name, {…}]} of a source that was opened
    ← {"channels": [name, [{…}]]} that a source has got since, before their first readings
    → {"mark": [kind, t, mono, text]};  {"stop": reason, "window": [lo, hi]}
    → {"end_at": mono, "stop": reason, "window": [lo, hi]}
    ← {"summary": {…}}
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from powertui import errors
from powertui.errors import PowertuiError
from powertui.named_tuples import NamedTuple
from powertui.sampler import clocks
from powertui.sampler.credentials import Secret
from powertui.sampler.health import Health
from powertui.sampler.limits import PowerLimit
from powertui.sampler.recorder import Recorder
from powertui.sampler.recorder_events import Event
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import (
    Channel,
    Info,
    Options,
    Reading,
    Stamp,
    make_names_unique,
    open_source,
)
from powertui.sampler.source_state import SourceState

__all__ = ["decode_options", "encode_options", "error_from", "info_from", "main"]


_LOOK_PERIOD_S = 1.0  # between two looks at the clock, while a recording lasts so long as was asked
# So long the first readings are waited for: a log that is followed may have none for long.
_FIRST_READINGS_S = 0.5
# Lines that a stopped parent has not read yet: a minute and more of 32 BMCs at 10 Hz.
_MAX_UNSENT_LINES = 20_000


def encode_options(options: Options) -> dict[str, Any]:
    """For the pipe to the child, and for nothing else: the secrets are in it."""
    plain = {
        name: getattr(options, name)
        for name in ("user", "level", "insecure", "sensors", "timeout", "root", "name", "machine")
    }
    secrets = {
        name: secret.reveal()
        for name in ("password", "kg")
        if (secret := getattr(options, name)) is not None
    }
    return {**plain, **secrets}


def decode_options(given: dict[str, Any]) -> Options:
    fields: dict[str, Any] = {
        name: Secret(value) if name in ("password", "kg") else value
        for name, value in given.items()
    }
    return Options(**{**fields, "sensors": tuple(given.get("sensors", ()))})


class _Outbox:
    """Lines to the parent, sent from a thread of their own: a parent that is stopped reads nothing,
    and must not stop us.
    """

    def __init__(self) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue(_MAX_UNSENT_LINES)
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def put(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(queue.Full):  # then the parent misses it; the file has it
            self._lines.put_nowait(json.dumps(message) + "\n")

    def _send(self) -> None:
        while (line := self._lines.get()) is not None:
            data = line.encode()
            try:
                while data:
                    data = data[os.write(1, data) :]
            except OSError:
                return

    def finish(self) -> None:
        self._lines.put(None)
        self._thread.join()


def _summary_of(recorder: Recorder, window: list[float] | None) -> dict[str, Any]:
    """What a recording came to, per channel."""
    started, ended = recorder.started, recorder.ended
    if started and ended:
        duration_s = ended.mono - started.mono
    else:
        duration_s = 0.0
    failed = {
        name: state.failed or "it never answered"
        for name, state in recorder.states.items()
        if state.failed or state.info is None
    }
    return {
        "duration_s": duration_s,
        "interval_s": recorder.interval,
        "channels": [
            _channel_summary(state, health, window) for state, health in recorder.health()
        ],
        "failed": failed,
        **_file_summary(recorder.file, recorder.dropped),
    }


def _channel_summary(
    state: SourceState,
    health: Health,
    window: list[float] | None,
) -> dict[str, Any]:
    if window is None:
        total = health.total()
    else:
        total = health.between(window[0], window[1])
    return {
        "source": state.source.name,
        "channel": health.channel.name,
        "host": health.channel.host,
        "scope": health.channel.scope,
        "how": state.info.source if state.info else "",
        # No joules, not 0 J, where no stretch of time is covered.
        "joules": total.joules if total.covered_s > 0 else None,
        "watts": total.watts,
        "covered_s": total.covered_s,
        "span_s": total.span_s,
        "samples": total.samples,
        "min_w": health.minimum,
        "max_w": health.maximum,
        "gaps": health.gaps,
        "readings": health.readings,
        "missed": state.missed,
        "reconnects": state.reconnects,
        "refresh_s": health.refresh,
        "rtt_s": health.rtt,
    }


def _file_summary(file: RecordingFile | None, dropped_rows: int) -> dict[str, Any]:
    """What of it is in the file. `dropped_rows` never came as far as the file."""
    if file is None:
        return {
            "path": None,
            "rows": 0,
            "rows_before": 0,
            "lost": dropped_rows,
            "faults": 0,
            "rescued": None,
        }
    return {
        "path": None if file.removed else str(file.place),
        "rows": file.held,
        "rows_before": file.earlier,
        "lost": file.lost + dropped_rows,
        "faults": file.faults,
        "rescued": str(file.rescued) if file.rescued else None,
    }


def _info(info: Info | None) -> dict[str, Any] | None:
    if info is None:
        return None
    return {**asdict(info), "facts": dict(info.facts)}


def info_from(given: dict[str, Any]) -> Info:
    """What `_info` made, as what it was."""
    channels = tuple(Channel(**c) for c in given["channels"])
    return Info(**{**given, "channels": channels, "notes": tuple(given["notes"])})


def main() -> None:
    """The child's whole life. The parent has put its own sys.path in place."""
    orders: queue.SimpleQueue[_End] = queue.SimpleQueue()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: orders.put(_End("terminated")))
    outbox = _Outbox()
    try:
        order = json.loads(sys.stdin.readline())
        recorder = _open(order, outbox)
    except PowertuiError as error:
        outbox.put({"error": _error(error)})
        outbox.finish()
        return
    except ValueError:  # the parent is gone before it said anything
        return
    if order.get("patient"):
        outbox.put({"opened": dict.fromkeys(recorder.states)})
        recorder.start()
    else:
        _await_first_readings(recorder, recorder.start)
        outbox.put({"opened": {name: _info(state.info) for name, state in recorder.states.items()}})
    threading.Thread(target=_listen, args=(recorder, orders), daemon=True).start()
    end = _await_end(orders)
    recorder.stop(end.reason)
    outbox.put({"summary": _summary_of(recorder, end.window)})
    outbox.finish()


class _End(NamedTuple):
    """When and why the recording ends."""

    reason: str
    window: list[float] | None = None  # of which the summary tells
    at: float = 0.0  # on the steady clock


def _await_end(orders: queue.SimpleQueue[_End]) -> _End:
    """Wait for the order to end, or for the time at which an earlier order lets it end."""
    end: _End | None = None
    while True:
        if end is None:
            remaining = _LOOK_PERIOD_S
        else:
            remaining = end.at - clocks.steady_s()
        if end is not None and remaining <= 0:
            return end
        with contextlib.suppress(queue.Empty):
            # A wait stands still while the machine sleeps: none is long.
            end = orders.get(timeout=min(remaining, _LOOK_PERIOD_S))


def _open(order: dict[str, Any], outbox: _Outbox) -> Recorder:
    sources = [
        open_source(entry["url"], decode_options(entry["options"])) for entry in order["sources"]
    ]
    make_names_unique(sources)
    recorder = Recorder(sources, interval=order["interval"])
    if order.get("path"):
        recorder.file = RecordingFile(
            order["path"], order["interval"], recorder.say, sync=order.get("sync")
        )

    def on_event(event: Event) -> None:
        state = recorder.states.get(event.source)
        if event.level == "error" and state is not None and state.refusal is not None:
            outbox.put({"refused": [state.name, _error(state.refusal)]})
        outbox.put(
            {"event": [event.stamp.t, event.stamp.mono, event.level, event.source, event.text]}
        )

    def on_readings(readings: list[Reading]) -> None:
        state = recorder.states[readings[0].source]
        outbox.put(
            {
                "readings": [list(r) for r in readings],
                "reconnects": state.reconnects,
                "missed": state.missed,
            }
        )

    def on_limit(source: str, stamp: Stamp, limit: PowerLimit) -> None:
        outbox.put({"limit": [source, limit.channel, stamp.mono, limit.watts]})

    def on_open(state: SourceState) -> None:
        outbox.put({"info": [state.name, _info(state.info)]})

    def on_new_channels(state: SourceState, channels: Sequence[Channel]) -> None:
        outbox.put({"channels": [state.name, [asdict(channel) for channel in channels]]})

    recorder.on_event(on_event)
    recorder.on_open(on_open)
    recorder.on_new_channels(on_new_channels)
    if order.get("stream"):
        recorder.subscribe(on_readings)
        recorder.on_limit(on_limit)
    if order.get("patient"):
        return recorder  # its threads open the sources, all at once
    try:
        recorder.open()
    except PowertuiError as error:
        if recorder.file is not None:
            recorder.file.close(error.message)
        raise
    return recorder


def _await_first_readings(recorder: Recorder, start: Callable[[], None]) -> None:
    """Start, and say that it has begun when it has: a command that starts then is covered from its
    first moment. Not for long.
    """
    heard = threading.Event()
    stop_hearing = recorder.subscribe(
        lambda _readings: heard.set()
    )  # told when their channels know them
    start()
    end = clocks.steady_s() + _FIRST_READINGS_S
    while not _all_read(recorder) and heard.wait(max(0.0, end - clocks.steady_s())):
        heard.clear()
    stop_hearing()


def _all_read(recorder: Recorder) -> bool:
    opened = all(state.channels or state.info is None for state in recorder.states.values())
    return opened and all(health.readings for _, health in recorder.health())


def _listen(recorder: Recorder, orders: queue.SimpleQueue[_End]) -> None:
    for line in sys.stdin:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            order = json.loads(line)
            if "mark" in order:
                kind, t, mono, text = order["mark"]
                recorder.mark(text, kind, Stamp(t, mono))
            elif "stop" in order:
                orders.put(_End(order["stop"], order.get("window"), order.get("end_at", 0.0)))
                if "end_at" not in order:
                    return
    orders.put(_End("the program that started the recorder ended"))


def _error(error: PowertuiError) -> dict[str, str]:
    return {"type": type(error).__name__, "message": error.message, "hint": error.hint}


def error_from(given: dict[str, str]) -> PowertuiError:
    """The child's error, raised again in the parent as what it was."""
    kind = getattr(errors, given["type"], PowertuiError)
    made: PowertuiError = kind(given["message"], hint=given["hint"])
    return made
