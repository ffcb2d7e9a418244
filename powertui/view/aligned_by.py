"""What aligned the power with the trace, in a word."""

from __future__ import annotations

from powertui.plain import plain

_METHODS = {
    "wall clocks of both": "clock",
    "wall clocks, refined by signal": "clock",
    "powerboard marker": "marker",
    "local time, zone found": "clock",
    "by signal": "signal",
    "set by hand": "hand",
    "pinned by hand": "hand",
}
_MAX_UNKNOWN_CELLS = 16


def aligned_by(source: str) -> str:
    """The method in a word: "clock"; another one in its own words."""
    return _METHODS.get(source, plain(source, _MAX_UNKNOWN_CELLS))
