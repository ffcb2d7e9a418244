"""What the C library does with memory that was freed."""

from __future__ import annotations

import ctypes
from contextlib import suppress

# From glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
# Free memory at the end of the heap that is kept, and arrays that are put into the heap. A host of
# 50,000 events needs 10 MB for a moment, again and again: with the library's own thresholds each of
# its pages was taken from the system anew (2,400 faults and 6.7 ms a host; with 16 MB and more 33
# faults and 2 ms; with 4 MB 1,500).
_KEPT_BYTES = 32 << 20


def keep_for_next_answer() -> None:
    """Keep some free memory for a process that answers many questions, one after the other.

    Another C library than glibc decides for itself.
    """
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        library.mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
