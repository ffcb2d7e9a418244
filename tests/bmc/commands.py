"""What the test BMC answers inside a session: DCMI power, the sensor repository, sensor
readings.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

USER, OPERATOR, ADMINISTRATOR = 2, 3, 4
_WATTS_UNIT = 6

# Network functions and commands, as (netfn, command)
GET_DEVICE_ID = (0x06, 0x01)
GET_AUTH_CAPABILITIES = (0x06, 0x38)
SET_PRIVILEGE = (0x06, 0x3B)
CLOSE_SESSION = (0x06, 0x3C)
GET_CIPHER_SUITES = (0x06, 0x54)
DCMI_POWER = (0x2C, 0x02)
REPOSITORY_INFO = (0x0A, 0x20)
RESERVE_REPOSITORY = (0x0A, 0x22)
GET_RECORD = (0x0A, 0x23)
SENSOR_READING = (0x04, 0x2D)
SENSOR_THRESHOLDS = (0x04, 0x27)

OK = b"\x00"
UNKNOWN_COMMAND, NO_SUCH_RECORD, PRIVILEGE_TOO_LOW = b"\xc1", b"\xcb", b"\xd4"


def sensor_record(
    record_id: int, number: int, name: str, factor: int, unit: int = _WATTS_UNIT
) -> bytes:
    """A full sensor record (type 1): an unsigned byte, value = factor × raw."""
    body = bytearray(48)
    struct.pack_into("<HBB", body, 0, record_id, 0x51, 1)
    body[5], body[7] = 0x20, number  # owner: the BMC
    body[8], body[9] = 7, number  # entity: system board
    body[10], body[11] = 0x45, 0x04
    body[12], body[13] = 0x0B, 0x01  # "other units" sensor with thresholds
    body[18] = 0x3F
    body[21] = unit
    body[24], body[25] = factor & 0xFF, (factor >> 8) << 6
    body[27] = body[28] = 1
    body[34] = 255
    label = name.encode()[:16]
    body[47] = 0xC0 | len(label)
    body += label
    body[4] = len(body) - 5
    return bytes(body)


@dataclass
class Machine:
    """The server behind the BMC: what its sensors show and how they misbehave."""

    watts: int | Callable[[], int] = 245
    sensors: tuple[tuple[str, int], ...] = (
        ("Total Power", 7),
        ("p0_power", 2),
    )  # name, step in watts
    dcmi_active: bool = True
    dcmi_window: tuple[int, int, int] | None = (
        None  # minimum, maximum, average; None: all as the current value
    )
    dcmi_level: int = USER  # who may read it
    period_ms: int = 1000
    clock_offset: float = 0.0  # the BMC's clock minus the true one, s
    scanning: bool = True  # False: sensors exist and have no value (host off)
    refuse: dict[tuple[int, int], int] = field(
        default_factory=dict
    )  # (netfn, command) → completion code
    requests: int = 0

    def power(self) -> int:
        return int(self.watts() if callable(self.watts) else self.watts)

    def answer(self, netfn: int, command: int, data: bytes, level: int) -> bytes | None:
        """The completion code and data for a command that needs no knowledge of the session."""
        self.requests += 1
        key = (netfn, command)
        if key in self.refuse:
            return bytes([self.refuse[key]])
        if key == GET_DEVICE_ID:
            return OK + bytes.fromhex("20 01 02 10 02 bf 00 00 00 00 00 00 00 00 00")
        if key == DCMI_POWER and data[:1] == b"\xdc":
            return self._dcmi(data, level)
        if key == REPOSITORY_INFO:
            return OK + b"\x51" + struct.pack("<HH", len(self.sensors), 0) + bytes(8) + b"\x02"
        if key == RESERVE_REPOSITORY:
            return OK + b"\x01\x00"
        if key == GET_RECORD:
            return self._record(data)
        if key == SENSOR_READING:
            return self._reading(data[0])
        if key == SENSOR_THRESHOLDS:
            return OK + b"\x3f\x00\x00\x00\xff\xff\xff"
        return UNKNOWN_COMMAND

    def _dcmi(self, data: bytes, level: int) -> bytes:
        if level < self.dcmi_level:
            return PRIVILEGE_TOO_LOW
        if data[1] != 1:
            return b"\xcc\xdc"
        now = self.power()
        low, high, mean = self.dcmi_window or (now, now, now)
        stamp = int(time.time() + self.clock_offset) & 0xFFFFFFFF
        return (
            OK
            + b"\xdc"
            + struct.pack(
                "<HHHHIIB",
                now,
                low,
                high,
                mean,
                stamp,
                self.period_ms,
                0x40 if self.dcmi_active else 0,
            )
        )

    def _record(self, data: bytes) -> bytes:
        wanted, offset, count = struct.unpack_from("<HBB", data, 2)
        if not self.sensors:
            return NO_SUCH_RECORD
        index = len(self.sensors) - 1 if wanted == 0xFFFF else max(wanted - 1, 0)
        if index >= len(self.sensors):
            return NO_SUCH_RECORD
        name, factor = self.sensors[index]
        following = index + 2 if index + 1 < len(self.sensors) else 0xFFFF
        record = sensor_record(index + 1, index + 1, name, factor)
        return OK + struct.pack("<H", following) + record[offset : offset + min(count, 64)]

    def _reading(self, number: int) -> bytes:
        if not 1 <= number <= len(self.sensors):
            return NO_SUCH_RECORD
        raw = min(self.power() // self.sensors[number - 1][1], 255)
        return OK + bytes([raw, 0xC0 if self.scanning else 0x20, 0xC0])
