"""How long PyTorch's profiler recorded, as it writes itself: a program may do nothing that is
recorded before its first operation, or after its last one, and that is time of the profile, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from powertui.data.model import PS_PER_S, Int64s
from powertui.value_types import dataclass

_PS_PER_MS = PS_PER_S // 1000
_TITLE = "PyTorch Profiler"
_STEP = "ProfilerStep"


@dataclass(frozen=True)
class _ProfilerOverhead:
    """How long the profiler itself may take between the ends of its window and the events in it.

    In 80 recordings of torch 2.13 on two busy cores that call an operation at once, the first one
    comes 0.07 to 25 ms after the window begins (median 0.2 ms), and the window ends 0.02 to 0.38 ms
    after the last one. With half of `start_ps` a cold start would be told as idle time; with twice
    as much, 60 ms of a program would be hidden. With a device the tracing library of its maker
    starts within the window, too: 0.06 to 95 ms passed in ten traces of CUDA and ROCm.
    """

    start_ps: int = 30 * _PS_PER_MS
    start_with_device_ps: int = PS_PER_S
    end_ps: int = _PS_PER_MS


_OVERHEAD = _ProfilerOverhead()


class ProfilerWindow:
    """From when to when the profiler recorded, ps from the origin of the trace."""

    def __init__(self) -> None:
        self._begin: int | None = None
        self._end = 0

    def __bool__(self) -> bool:
        """Whether the profiler wrote it."""
        return self._begin is not None

    def take(self, start: Int64s, length: Int64s) -> None:
        """Some windows: of several sessions in one file all of it counts."""
        for begin, lasted in zip(start.tolist(), length.tolist(), strict=True):
            end = begin + max(0, lasted)
            if self._begin is None:
                self._begin = begin
                self._end = end
            self._begin = min(self._begin, begin)
            self._end = max(self._end, end)

    def span_with(
        self,
        first_ps: int,
        last_ps: int,
        names: Iterable[str],
        *,
        with_device: bool,
    ) -> tuple[int, int]:
        """When the profile begins and ends that has its first event and its last one there, ps.

        As its events do, where what is beyond may be the profiler's own start or stop. Steps that
        its schedule marks reach from the one to the other: nothing outside them is the program's.
        """
        unchanged = (first_ps, last_ps)
        if self._begin is None or self._end < first_ps or self._begin > last_ps:
            return unchanged
        if with_device:
            overhead_ps = _OVERHEAD.start_with_device_ps
        else:
            # A profile that is mostly this start says nothing of operations, whoever's it is.
            events_ps = max(last_ps - first_ps, _PS_PER_MS)
            overhead_ps = min(_OVERHEAD.start_ps, events_ps)
        begins_before = first_ps - self._begin > overhead_ps
        ends_after = self._end - last_ps > _OVERHEAD.end_ps
        if not begins_before and not ends_after:
            return unchanged
        if any(name.startswith(_STEP) for name in names):
            return unchanged
        begin = self._begin if begins_before else first_ps
        return begin, self._end if ends_after else last_ps


def is_window(title: object) -> bool:
    """Whether an event of the category `Trace` is the profiler's window."""
    return isinstance(title, str) and title.startswith(_TITLE)
