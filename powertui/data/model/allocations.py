"""What the allocators of a program took and gave back, event by event."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar, overload

import numpy as np

from powertui.data.model.ground import Bools, Floats, Int32s, Int64s
from powertui.value_types import dataclass

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class AllocationTexts:
    """Words of events, each text once: what an allocation is for."""

    texts: tuple[str, ...]
    op: Int32s  # the operator or line of code; indices into `texts`, -1 where it is not known
    region: Int32s  # what kind of memory: "output", "temp", "persist/dynamic"
    dtype: Int32s
    shape: Int32s

    def text(self, index: int) -> str:
        """The text with this index; "" for -1."""
        return self.texts[index] if index >= 0 else ""


@dataclass(frozen=True, eq=False)
class MemorySegments:
    """What an allocator had reserved at the end, piece by piece."""

    address: Int64s
    size: Int64s  # bytes
    active: Int64s  # bytes in use
    largest_free: Int64s  # bytes of the largest block that is not in use
    blocks: Int64s  # how many there are
    stream: Int64s
    kinds: tuple[str, ...]  # "small", "large"
    lines: tuple[str, ...]  # the line of code that made the allocator reserve it

    def __len__(self) -> int:
        return len(self.size)


@dataclass(frozen=True, eq=False)
class AllocatorLog:
    """What one allocator did. Events are by time; of equal times in the order of the file."""

    allocator: str  # "GPU_0_bfc", "GPU 0", "CPU"
    times: Int64s  # ps since the profile's zero
    taken: Bools  # True: memory was allocated, False: it was given back
    size: Int64s  # bytes
    address: Int64s  # above 2**63 it wraps; 0 where it is not known
    # What holds after each event, in bytes; NaN where the allocator did not say.
    allocated: Floats
    reserved: Floats
    stated_free: Floats | None  # None: what is reserved and not allocated
    stated_fragmentation: Floats | None  # 0 to 1; None: `last_fragmentation`
    lifetime_peak: Floats  # the most that was ever in use
    requested: Floats  # bytes that were asked for
    step: Int64s  # the step's number as the file has it; -1 where it has none
    words: AllocationTexts
    track: Int32s  # the line of each event over Trace.tracks(), -1 where it is on none
    event: Int32s  # its row on that line, -1 where it is no event of the line
    order: Int32s | Int64s  # the place of each event in the file
    # PyTorch reserves memory and allocates in it. TensorFlow's reserved bytes are stacks beside
    # what is allocated.
    reserved_beside: bool = False
    is_timed: bool = True  # False: its times only keep the order of its events
    segments: MemorySegments | None = None
    last_fragmentation: float = math.nan  # after the last event, where it is known of no other

    def __len__(self) -> int:
        return len(self.times)

    @property
    def free(self) -> Floats:
        """Bytes that may still be taken after each event."""
        if self.stated_free is not None:
            return self.stated_free
        return self.reserved - self.allocated

    @property
    def fragmentation(self) -> Floats:
        """1 - the largest free block / all that is free, after each event."""
        if self.stated_fragmentation is not None:
            return self.stated_fragmentation
        fragmentation = np.full(len(self), np.nan)
        fragmentation[-1:] = self.last_fragmentation
        return fragmentation

    @property
    def in_use(self) -> Floats:
        """Bytes in use after each event, with stacks where they are counted beside."""
        if not self.reserved_beside:
            return self.allocated
        return self.allocated + np.nan_to_num(self.reserved)


class TextPool:
    """Numbers for texts, in the order in which they first come."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, text: str) -> bool:
        return text in self._numbers

    def number(self, text: str | None) -> int:
        """The number of a text; -1 for none."""
        if not text:
            return -1
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def texts(self) -> tuple[str, ...]:
        """All of them, by number."""
        return tuple(self._numbers)


class Deferred(Sequence[_T]):
    """A sequence that is made when it is first looked at, and kept.

    Reading may raise `FileChanged`, now and at every further look.
    """

    def __init__(self, read: Callable[[], Sequence[_T]]) -> None:
        self._read = read

    @cached_property
    def _values(self) -> Sequence[_T]:
        return self._read()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[_T]:
        return iter(self._values)

    @overload
    def __getitem__(self, row: int) -> _T: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[_T]: ...
    def __getitem__(self, row: int | slice) -> _T | Sequence[_T]:
        return self._values[row]
