"""One frame in flight: the next is sent when the terminal says that it has shown the last.

A slow link is not slow because frames cost time here, but because they queue between here and the
eye. So every frame ends with the question "where is the cursor?" (CSI 6n). The answer comes back
from the terminal itself, through every buffer on the way, and only then may the next frame leave.
Whatever changed meanwhile is in that next frame: the newest state wins and none is queued.

Some terminals never answer. The question is therefore asked once before the first frame; until an
answer came, frames leave at a modest fixed rate, and once one came, the gate trusts it.

The gate is arithmetic on a clock that the caller reads: no timers, no terminal.
"""

from __future__ import annotations

from dataclasses import field

from powertui.value_types import dataclass

# The numbers of this file were chosen, not measured.

# ── answers ──
# A terminal that has not answered the first question by now is taken for one that does not answer.
PATIENCE_S = 0.5
LOST_S = 15.0  # an answer that is missing for so long was lost
BLIND_FPS = 8.0  # frames a second towards a terminal that does not answer

# ── the size of a frame ──
_SLICE_S = 0.25  # a frame should not keep the link longer than this
SLICE_LEAST = 4096  # … but a frame of this size always goes whole
SLICE_FIRST = 16384  # the first frame goes in pieces, until one has shown how fast the link is

# ── what is learned of the link ──
_MAX_BARE_BYTES = 512  # what so small a frame takes is the round trip itself
_MIN_RATED_BYTES = 2048  # a smaller frame shows nothing of the bandwidth
_MIN_RATED_S = 0.02  # beyond the round trip: less is the terminal's own scatter
_RTT_WEIGHT = 0.2  # of the newest answer: a line that gets slower is noticed after some five
_RATE_WEIGHT = 0.3  # the same of the bandwidth
_RATE_GROWTH = 1.25  # a large frame that took no time shows that the line is better than thought

# ── what the link can carry ──
# On a line that answers later, an outline would come when one has looked for the place already.
_MAX_MOTION_RTT_S = 0.1
_SLOW_S = 0.40  # a frame that took so long is slow
_QUICK_S = 0.15  # a frame under this is quick
_SLOW_FRAMES = 3  # in a row: send less
_QUICK_FRAMES = 10  # in a row: send more again, later than less, so that quality does not flicker
_MAX_COMPRESSED_BYTES_PER_S = 250_000  # on a line of 2 Mbit/s and less `ssh -C` can be felt


@dataclass(frozen=True)
class Quality:
    """What a link of this speed can carry."""

    fps: int
    color: str  # "true", "256" or "16": an upper bound
    runs: int  # color runs a row of the timeline may have
    name: str


LEVELS = (
    Quality(120, "true", 40, "full"),
    Quality(20, "256", 32, "reduced"),
    Quality(8, "16", 20, "low"),
)


@dataclass
class PaintGate:
    """Decides when the next frame may leave and how large it may be, and measures the link as it
    goes.
    """

    fps: float = 30.0  # upper bound from the capabilities
    acknowledged: bool = False  # the terminal has answered at least once
    rtt: float | None = (
        None  # seconds for a question without a frame before it: the shortest seen lately
    )
    bandwidth: float | None = (
        None  # bytes a second, once frames took measurably longer than the round trip
    )
    level: int = 0  # index into LEVELS
    frames: int = 0
    bytes_sent: int = 0
    _outstanding: int = 0  # questions without an answer
    _sent_at: float | None = None
    _sent_bytes: int = 0
    _last_frame: float = -1e9
    _asked_at: float | None = None  # the very first question
    _proved: bool = False  # a large frame went through without delay
    _held_until: float = -1e9
    _slow: int = field(default=0, repr=False)
    _quick: int = field(default=0, repr=False)

    @property
    def quality(self) -> Quality:
        """What to send at this moment."""
        return LEVELS[self.level]

    @property
    def allows_motion(self) -> bool:
        """Whether something may move that nobody needs: only where the line is known to be quick,
        and nothing waits for it.
        """
        is_near = self.rtt is not None and self.rtt <= _MAX_MOTION_RTT_S
        return self.acknowledged and self.level == 0 and is_near

    @property
    def interval(self) -> float:
        """The least time between two frames."""
        answering = self.acknowledged or self._outstanding <= 1
        return 1.0 / (min(self.fps, self.quality.fps) if answering else min(self.fps, BLIND_FPS))

    def opens_at(self) -> float:
        """The earliest moment at which a frame may leave, as far as is known now."""
        earliest = max(self._last_frame + self.interval, self._held_until)
        if self._sent_at is None:
            return earliest
        return max(earliest, self._sent_at + (LOST_S if self.acknowledged else PATIENCE_S))

    def hold(self, until: float) -> None:
        """No frame leaves before this moment, unless `release` comes first."""
        self._held_until = until

    def release(self) -> None:
        """What frames were held for is there."""
        self._held_until = -1e9

    def is_open(self, now: float) -> bool:
        """Whether a frame may leave now."""
        return now >= self.opens_at()

    @property
    def slice_bytes(self) -> int:
        """How large the next frame may be; the rest follows in the one after it."""
        if self.bandwidth is not None:
            return max(SLICE_LEAST, int(self.bandwidth * _SLICE_S))
        return SLICE_FIRST if self.acknowledged and not self._proved else 1 << 30

    def sent(self, now: float, count: int, *, frame: bool = True) -> None:
        """A frame (or only the question) has left, with the question at its end."""
        if self._asked_at is None:
            self._asked_at = now
        self._outstanding += 1
        self._sent_at = now
        self._sent_bytes = count
        self.bytes_sent += count
        if frame:
            self.frames += 1
            self._last_frame = now

    def answered(self, now: float) -> bool:
        """A cursor position came in.

        True when it was the answer to the last question, so that the gate is open.
        """
        if self._outstanding == 0:
            return False  # nobody asked: a terminal's modified F3 looks the same
        self._outstanding -= 1
        self.acknowledged = True
        if self._outstanding:
            return False
        assert self._sent_at is not None
        self._measure(now - self._sent_at, self._sent_bytes)
        self._sent_at = None
        return True

    def lost(self, now: float) -> None:
        """Give up on an answer: call when a frame leaves although the last one was never
        acknowledged.
        """
        if self._sent_at is not None and now - self._sent_at >= (
            LOST_S if self.acknowledged else PATIENCE_S
        ):
            self._sent_at = None
            if self.acknowledged:
                self._outstanding = 0

    def forget(self) -> None:
        """The terminal was away (suspended): no answer of before will come."""
        self._outstanding = 0
        self._sent_at = None

    def _measure(self, took: float, count: int) -> None:
        if self.rtt is None or took < self.rtt:
            self.rtt = took
        elif count < _MAX_BARE_BYTES:
            self.rtt += _RTT_WEIGHT * (took - self.rtt)  # lines get slower, too: forget slowly
        if count >= _MIN_RATED_BYTES:
            self._rate(took - self.rtt, count)
        self._judge(took)

    def _rate(self, extra_s: float, count: int) -> None:
        """Learn the bandwidth from a frame that took this much longer than the round trip."""
        if extra_s <= _MIN_RATED_S:
            self._proved = self._proved or count >= SLICE_FIRST // 2
            if self.bandwidth is not None:
                self.bandwidth *= _RATE_GROWTH
            return
        rate = count / extra_s
        if self.bandwidth is None:
            self.bandwidth = rate
        else:
            self.bandwidth += _RATE_WEIGHT * (rate - self.bandwidth)

    def _judge(self, took: float) -> None:
        self._slow = self._slow + 1 if took > _SLOW_S else 0
        self._quick = self._quick + 1 if took < _QUICK_S else 0
        if self._slow >= _SLOW_FRAMES and self.level + 1 < len(LEVELS):
            self.level += 1
            self._slow = 0
        elif self._quick >= _QUICK_FRAMES and self.level > 0:
            self.level -= 1
            self._quick = 0

    @property
    def wants_compression(self) -> bool:
        """Whether `ssh -C` would help enough to say so."""
        if self.level > 0:
            return True
        return self.bandwidth is not None and self.bandwidth < _MAX_COMPRESSED_BYTES_PER_S

    def describe(self) -> str:
        """The link in one line, for the help screen."""
        if not self.acknowledged or self.rtt is None:
            rate = f"frames at most every {1000 / BLIND_FPS:.0f} ms"
            return f"the terminal does not answer cursor queries: {rate}"
        parts = [f"round trip {self.rtt * 1000:.0f} ms"]
        if self.bandwidth is not None:
            parts.append(f"about {self.bandwidth * 8 / 1e6:.1f} Mbit/s")
        parts.append(f"quality {self.quality.name}")
        parts.append(f"{self.frames} frames, {self.bytes_sent / 1e6:.2f} MB sent")
        return " · ".join(parts)
