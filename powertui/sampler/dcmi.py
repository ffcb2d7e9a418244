"""DCMI "Get Power Reading": the request, the answer's bytes, and what its fields may be trusted
with.

Watts are whole numbers of 16 bit. The minimum, maximum and average cover the BMC's own window of
any length, and its clock is often wrong: only the current value is used.
"""

from __future__ import annotations

import struct

from powertui.named_tuples import NamedTuple

__all__ = [
    "GROUP",
    "NETFN",
    "NOT_ACTIVE",
    "POWER_READING",
    "REQUEST",
    "PowerReading",
    "completion",
    "decode",
    "verdict",
]

NETFN = 0x2C
POWER_READING = 0x02
GROUP = 0xDC
REQUEST = bytes([GROUP, 0x01, 0x00, 0x00])  # mode 1: system power statistics
NOT_ACTIVE = "power measurement is not active (is the host on?)"
_ANSWER = struct.Struct("<BHHHHIIB")

_CODES = {
    0xC0: "busy",
    0xC1: "command unknown",
    0xC3: "timeout inside the BMC",
    0xC9: "parameter out of range",
    0xCB: "no such sensor or record",
    0xCC: "request refused",
    0xCD: "not possible for this sensor",
    0xCE: "no answer from the sensor",
    0xD0: "sensor repository is being updated",
    0xD1: "firmware is being updated",
    0xD2: "BMC is starting",
    0xD3: "sensor is not reachable",
    0xD4: "privilege level too low",
    0xD5: "not possible in this state",
    0xD6: "command disabled",
    0xFF: "unspecified error",
}


def completion(code: int) -> str:
    """A completion code in words."""
    return f"the BMC reports: {_CODES.get(code, 'error')} (code {code:02x})"


class PowerReading(NamedTuple):
    watts: int
    minimum: int
    maximum: int
    average: int
    bmc_time: int  # s; for a notice about its clock, never for a reading
    period_ms: int
    active: bool


def decode(payload: bytes) -> PowerReading:
    """The 18 bytes after the completion code. Raises ValueError when they are not that."""
    if len(payload) < _ANSWER.size or payload[0] != GROUP:
        raise ValueError(
            f"a DCMI power reading has {_ANSWER.size} bytes and begins with dc, not "
            f"{payload[:20].hex(' ') or 'nothing'}"
        )
    _, now, low, high, mean, stamp, period, state = _ANSWER.unpack_from(payload)
    return PowerReading(
        watts=now,
        minimum=low,
        maximum=high,
        average=mean,
        bmc_time=stamp,
        period_ms=period,
        active=bool(state & 0x40),
    )


def verdict(reading: PowerReading) -> str:
    """Why this reading is no value: "" when it is one.

    "Not active" alone says nothing: OpenBMC builds of years send right watts with that bit clear.
    Zero watts with the bit clear means that nothing is measured (the host is off or its power
    controller is not up). 0xffff is "no value".
    """
    if reading.watts == 0xFFFF:
        return "the BMC has no value"
    if reading.watts == 0 and not reading.active:
        return NOT_ACTIVE
    return ""
