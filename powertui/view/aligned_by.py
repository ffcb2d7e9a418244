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
# Words of a method that say nothing to somebody who does not know both clocks.
_IN_WORDS = {
    "wall clocks of both": "timed by clock",
    "wall clocks, refined by signal": "timed by clock",
}
_MAX_UNKNOWN_CELLS = 16


def in_words(source: str) -> str:
    """The method as it stands beside the power: "timed by clock", "pinned by hand"."""
    return _IN_WORDS.get(source) or plain(source, 40)


def aligned_by(source: str) -> str:
    """The method in a word: "clock"; another one in its own words."""
    return _METHODS.get(source, plain(source, _MAX_UNKNOWN_CELLS))
