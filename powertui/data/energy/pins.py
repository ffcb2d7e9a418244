"""Alignment by hand: points where a person saw that an edge of power and an event are the same
moment.

Pins live in a small text file that its owner places and names (`--pins FILE`); nothing is written
beside the data unasked. One line is `log_seconds trace_seconds [note]`; `nudge seconds` shifts
everything; `#` starts a comment.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from powertui.data.asked import Pins
from powertui.data.energy import settings
from powertui.data.model import Z95
from powertui.errors import UnreadableFile, UsageError
from powertui.opening import open_for_reading
from powertui.value_types import dataclass

_HEADER = (
    "# powertui pins: power-log seconds, trace seconds, note. A line `nudge SECONDS` "
    "shifts the log.\n"
)
_MAX_BYTES = 1 << 20
_HINT = "Give --pins a file that powertui wrote."


@dataclass(frozen=True)
class ClockFit:
    """trace = offset + log · (1 + ppm · 1e-6), with the ± of the offset."""

    offset_s: float
    half_s: float
    ppm: float
    worst_s: float  # largest distance of a pin from the line


def fit(pins: Pins) -> ClockFit | None:
    """Least squares over the pins.

    Two pins or more within ten minutes give an offset only; drift needs a longer reach.
    """
    if not pins.pins:
        return None
    log = np.array([p.log_s for p in pins.pins])
    trace = np.array([p.trace_s for p in pins.pins])
    ppm = 0.0
    if len(log) >= 3 and np.ptp(log) > 600:
        log_apart = log - log.mean()
        drifted = trace - trace.mean() - log_apart
        slope = float(np.polyfit(log_apart, drifted, 1)[0])
        ppm = float(np.clip(slope * 1e6, -200, 200))
    rest = trace - log * (1 + ppm * 1e-6)
    offset = float(rest.mean())
    spread = 0.0
    if len(rest) > 1:
        spread = float(rest.std(ddof=1))
    # A single pin is as good as an eye on a screen: a tenth of a second is claimed, no less.
    half = max(Z95 * spread, settings.INSTANT_S) / np.sqrt(len(rest))
    return ClockFit(
        offset_s=offset + pins.nudge_s,
        half_s=float(half),
        ppm=ppm,
        worst_s=float(np.abs(rest - offset).max()),
    )


def read(path: str) -> Pins:
    """Read a pins file.

    A file that is not there yet is an empty one: it is written when the first pin is set.
    """
    place = Path(path)
    try:
        if not place.exists():
            return Pins(path=path)
        with open_for_reading(path) as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise UnreadableFile(path, "is too large for a pins file", hint=_HINT)
        text = data.decode()
    except UnicodeDecodeError:
        raise UnreadableFile(
            path, "cannot be read as a pins file: it is not UTF-8 text", hint=_HINT
        ) from None
    except OSError as error:
        raise UnreadableFile(
            path, f"cannot be read as a pins file: {error.strerror or error}", hint=_HINT
        ) from None
    pins = Pins(path=path)
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split(maxsplit=2)
        if not words:
            continue
        try:
            if words[0] == "nudge":
                pins = pins.nudged(_finite(words[1]))
            else:
                pins = pins.add(
                    _finite(words[0]), _finite(words[1]), words[2] if len(words) > 2 else ""
                )
        except (ValueError, IndexError):
            raise UnreadableFile(
                path,
                f"line {number} is not a pin",
                hint="A pin is two times in seconds: power-log time, trace time.",
            ) from None
    return pins


def write(pins: Pins) -> None:
    """Write the file that was read (or named). The old one stays whole until the new one is."""
    if not pins.path:
        raise UsageError(
            "There is no file for the pins.", hint="Start with --pins FILE to save them."
        )
    lines = [_HEADER]
    lines += [
        f"{p.log_s:.9g} {p.trace_s:.12g}{' ' + p.note if p.note else ''}\n" for p in pins.pins
    ]
    if pins.nudge_s:
        lines.append(f"nudge {pins.nudge_s:.9g}\n")
    place = Path(pins.path)
    try:
        import tempfile  # only to write: it imports random, hashlib and lzma

        handle, name = tempfile.mkstemp(prefix=".pins-", dir=place.parent or Path())
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(
            f"{pins.path}: cannot be written ({error.strerror or error})",
            hint="Name another file with --pins.",
        ) from None


def _finite(text: str) -> float:
    value = float(text)
    if not np.isfinite(value):
        raise ValueError(text)
    return value
