"""Numbers in files of /sys, and why there is none."""

from __future__ import annotations

import errno
from pathlib import Path

__all__ = ["DENIED", "FAULTS", "GONE", "number_in", "read_number"]

GONE = "the device is gone"
DENIED = "you have no permission to read it"

# Drivers report a busy controller, an unplugged board and a closed file by errno alone.
FAULTS = {
    errno.EIO: "the sensor cannot be read right now",
    errno.ENODATA: "the sensor has no value right now",
    errno.EAGAIN: "the sensor is busy",
    errno.EBUSY: "the sensor is busy",
    errno.ETIMEDOUT: "the sensor did not answer in time",
    errno.ENODEV: GONE,
    errno.ENOENT: GONE,
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
}


def read_number(path: Path) -> tuple[int | None, str]:
    """The whole number in a file of /sys, or why there is none."""
    try:
        return int(path.read_text("ascii", "replace").strip()), ""
    except OSError as error:
        return None, FAULTS.get(error.errno or 0, (error.strerror or "it cannot be read").lower())
    except ValueError:
        return None, "its content is not a number"


def number_in(path: Path) -> int | None:
    """The same, for whom the reason does not matter."""
    return read_number(path)[0]
