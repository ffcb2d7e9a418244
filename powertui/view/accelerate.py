"""How far a held key moves: a little at first, more while it is held, half a screen at most.

Pure: the caller tells the time.
"""

from __future__ import annotations

# A key repeats every 30–50 ms on most systems, after a first pause of up to half a second.
_MAX_KEY_REPEAT_S = 0.25
# Two presses by hand come within the pause of a repeat. They must move twice as far as one, however
# late a busy machine gets to the second: growth begins after that pause.
_STEADY_FOR_S = 0.3
_FULL_SPEED_AFTER_S = 1.5  # held this long, a key moves as far as it ever does
# One press moves by this share of the width, a key that is held long by that one.
_FIRST_STEP = 1 / 16
_LARGEST_STEP = 1 / 2


class HeldKey:
    """One direction of one action."""

    def __init__(self) -> None:
        self._direction = 0
        self._since = 0.0
        self._last = 0.0

    def cells(
        self,
        direction: int,
        width: int,
        now: float,
    ) -> int:
        """The signed step for one press: a sixteenth of the width, growing to half of it."""
        if direction != self._direction or now - self._last > _MAX_KEY_REPEAT_S:
            self._since = now
            self._direction = direction
        self._last = now
        held_s = now - self._since
        growing_s = _FULL_SPEED_AFTER_S - _STEADY_FOR_S
        share = min(1.0, max(0.0, held_s - _STEADY_FOR_S) / growing_s)
        share_of_width = _FIRST_STEP + share * (_LARGEST_STEP - _FIRST_STEP)
        return direction * max(1, round(width * share_of_width))
