"""Whether this machine holds limits of memory: emulators of another processor may take them and
forget them.
"""

from __future__ import annotations

import functools
import subprocess
import sys


@functools.cache
def holds(which: int) -> bool:
    """Whether a process that may have 2 GiB cannot take 3 GiB."""
    code = f"import resource; resource.setrlimit({which}, (2 << 30, 2 << 30)); bytearray(3 << 30)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return "MemoryError" in done.stderr
