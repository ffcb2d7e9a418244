"""Limits of power that a source reports beside its power: what the hardware is held to, and whether
it is held back right now.

They are only read: nothing here sets one. A source that knows any has `limits()`; the recorder asks
it now and then, and records what changed: a row of kind `limit`, and a window named "throttled: …"
for as long as something is held back.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from powertui.named_tuples import NamedTuple
from powertui.sampler.sysfs import read_number

__all__ = [
    "DCMI_LIMIT",
    "DCMI_REQUEST",
    "PowerLimit",
    "Watcher",
    "dcmi_limit_w",
    "hwmon_limit_w",
    "nvml_limit",
    "opal_limit_w",
    "rapl_limit_w",
    "redfish_limit_w",
]

DCMI_LIMIT = 0x03  # Get Power Limit
DCMI_REQUEST = b"\xdc\x00\x00"  # DCMI's group number, and two reserved bytes
_MAX_LIMIT_W = 1e6  # no machine is limited to more; the bound that plausible.py sets on watts
# NVML: why clocks are lower than asked for. The others (idle, application clocks, sync boost) hold
# nobody back.
_NVML_REASONS = (
    (0x04, "power cap"),
    (0x80, "power brake"),
    (0x40, "temperature"),
    (0x20, "temperature"),
    (0x08, "hardware slowdown"),
    (0x200, "board limit"),
    (0x400, "reliability"),
)


class PowerLimit(NamedTuple):
    """What one channel is held to."""

    channel: str
    watts: float | None  # None: there is none, or it is not known
    held: str = ""  # why it runs slower than it could, now


def rapl_limit_w(zone: Path) -> float | None:
    """The least of a zone's constraints that are set (W); long and short term may be both."""
    if read_number(zone / "enabled")[0] == 0:
        return None
    limits_uw = [read_number(path)[0] for path in zone.glob("constraint_*_power_limit_uw")]
    return min((limit / 1e6 for limit in limits_uw if limit), default=None)


def hwmon_limit_w(power: Path) -> float | None:
    """`powerN_cap` beside `powerN_input` (W)."""
    match = re.match(r"power\d+", power.name)
    if match:
        value = read_number(power.with_name(f"{match[0]}_cap"))[0]
    else:
        value = None
    return value / 1e6 if value else None


def opal_limit_w(root: str) -> float | None:
    """The power cap of the whole machine that OPAL keeps on POWER (W)."""
    folder = Path(root) / "sys/firmware/opal/powercap"
    caps = [read_number(path)[0] for path in sorted(folder.glob("*/powercap-current"))]
    return min((float(cap) for cap in caps if cap), default=None)


def nvml_limit(library: Any, handle: Any) -> tuple[float | None, str]:
    """(the limit that is enforced, why the board is held back)."""
    watts = None
    with contextlib.suppress(library.NVMLError, AttributeError):
        watts = library.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000
    # The first name is that of newer drivers.
    for name in (
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetCurrentClocksThrottleReasons",
    ):
        try:
            reasons = int(getattr(library, name)(handle))
        except (library.NVMLError, AttributeError):
            continue
        words = [word for bit, word in _NVML_REASONS if reasons & bit]
        return watts, ", ".join(dict.fromkeys(words))
    return watts, ""


def dcmi_limit_w(code: int, payload: bytes) -> float | None:
    """The limit in an answer to Get Power Limit; None where none is active.

    Code 80 means that one is stored, and not in force.
    """
    if code or len(payload) < 6 or payload[0] != 0xDC:
        return None
    watts: int = struct.unpack_from("<H", payload, 4)[0]
    if watts not in (0, 0xFFFF):
        return float(watts)
    return None


def redfish_limit_w(body: Any, index: int | None = None) -> float | None:
    """The limit beside a reading: EnvironmentMetrics' `PowerLimitWatts`, or with an index
    `PowerControl[index].PowerLimit.LimitInWatts`.
    """
    if index is None:
        limit = _member(body, "PowerLimitWatts")
        if _member(limit, "ControlMode") == "Disabled":
            return None
        watts = _member(limit, "SetPoint")  # its Reading is what is drawn, and no limit
    else:
        controls = _member(body, "PowerControl")
        if isinstance(controls, list) and index < len(controls):
            control = controls[index]
        else:
            control = None
        watts = _member(_member(control, "PowerLimit"), "LimitInWatts")
    if not isinstance(watts, (int, float)) or isinstance(watts, bool):
        return None
    return float(watts) if 0 < watts < _MAX_LIMIT_W else None


def _member(value: Any, key: str) -> Any:
    """A member of a JSON object; None where there is none."""
    if isinstance(value, dict):
        return value.get(key)
    return None


class Watcher:
    """What changed since the last look, for one source."""

    def __init__(self) -> None:
        self._watts: dict[str, float | None] = {}
        self._held: dict[str, str] = {}

    def changed(self, now: Iterable[PowerLimit]) -> tuple[list[PowerLimit], list[str], list[str]]:
        """(limits that are new or others, names of windows that begin, and of those that end)."""
        limits, begin, end = [], [], []
        for limit in now:
            channel = limit.channel
            if limit.watts != self._watts.get(channel):
                limits.append(limit)
                self._watts[channel] = limit.watts
            before = self._held.get(channel, "")
            if limit.held != before:
                if before:
                    end.append(_window(channel, before))
                if limit.held:
                    begin.append(_window(channel, limit.held))
                self._held[channel] = limit.held
        return limits, begin, end

    def rest(self) -> list[str]:
        """Windows that are open at the end."""
        return [_window(channel, reason) for channel, reason in self._held.items() if reason]


def _window(channel: str, reason: str) -> str:
    return f"throttled: {channel} ({reason})"
