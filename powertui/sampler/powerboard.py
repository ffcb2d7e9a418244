"""The files that PowerBoard's libipmi wrote: ipmi_data.db, ipmi_data.csv, and the mark that its
TensorBoard plugin looks for.

Columns, places and line ends are the same, so that scripts and the plugin go on working; one
column, Time_epoch, is new at the end: without it such a log has no absolute time. The mark is one
tfevents file, written by hand because it is worth no TensorFlow: two records of a format that has
not changed since 2015.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sqlite3
import struct
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from powertui.named_tuples import NamedTuple

__all__ = [
    "COLUMNS",
    "CSV_NAME",
    "DB_NAME",
    "Database",
    "Sample",
    "constants_from",
    "read_database",
    "write_csv",
    "write_marker",
]

DB_NAME, CSV_NAME, _MARKER_FOLDER = "ipmi_data.db", "ipmi_data.csv", "demo_logs"
# fmt: off
COLUMNS = (
    "Sensor_ID", "Entity_ID", "Sensor_Type_Threshold_", "Sensor_Reading", "Status",
    "Lower_Non_Recoverable", "Lower_Critical", "Lower_Non_Critical",
    "Upper_Non_Critical", "Upper_Critical", "Upper_Non_Recoverable", "Positive_Hysteresis",
    "Negative_Hysteresis", "Assertion_Events", "Assertions_Enabled", "Time_elapsed", "Time_epoch",
)
# fmt: on
# The name of each constant column in what `ipmitool sensor get` prints.
_LABELS = {
    "Entity_ID": "Entity ID",
    "Sensor_Type_Threshold_": "Sensor Type (Threshold)",
    "Lower_Non_Recoverable": "Lower Non-Recoverable",
    "Lower_Critical": "Lower Critical",
    "Lower_Non_Critical": "Lower Non-Critical",
    "Upper_Non_Critical": "Upper Non-Critical",
    "Upper_Critical": "Upper Critical",
    "Upper_Non_Recoverable": "Upper Non-Recoverable",
    "Positive_Hysteresis": "Positive Hysteresis",
    "Negative_Hysteresis": "Negative Hysteresis",
    "Assertion_Events": "Assertion Events",
    "Assertions_Enabled": "Assertions Enabled",
}


class Sample(NamedTuple):
    elapsed: float  # s since start()
    epoch: float  # Unix s
    watts: float | None
    reason: str  # why there is no value


def constants_from(text: str) -> dict[str, str]:
    """The columns that do not change, from `ipmitool sensor get`.

    What it does not print is left out.
    """
    constants: dict[str, str] = {}
    for column, label in _LABELS.items():
        matched = re.search(rf"^\s*{re.escape(label)}\s*:[ \t]*(.*)$", text, re.MULTILINE)
        if matched:
            constants[column] = matched[1].strip().replace(",", ";") or "Empty_string"
    return constants


class Database:
    """ipmi_data.db in the working folder: one row per reading, at once on its way to the disk."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / DB_NAME
        self._begun = False
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
        self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self._db.execute(
            "PRAGMA synchronous=OFF"
        )  # a crash of this program loses nothing; a crash of the machine may
        self._db.execute("CREATE TABLE SensorData (sensorRead TEXT, dataTime FLOAT)")
        self._db.execute("CREATE TABLE Recording (sensor TEXT, epoch FLOAT)")

    def add(self, sensor: str, sample: Sample) -> None:
        if not self._begun:
            self._db.execute(
                "INSERT INTO Recording VALUES (?, ?)", (sensor, sample.epoch - sample.elapsed)
            )
            self._begun = True
        if sample.watts is None:
            value = "No reading"
        else:
            value = f"{sample.watts:g} Watts"
        status = "na" if sample.watts is None else "ok"
        text = f"Sensor ID : {sensor}\\n Sensor Reading : {value}\\n Status : {status}\\n"
        self._db.execute("INSERT INTO SensorData VALUES (?, ?)", (text, sample.elapsed))

    def close(self) -> None:
        self._db.close()


def read_database(folder: Path) -> tuple[str, list[Sample]]:
    """The samples that an earlier process left behind: (sensor, samples).

    Empty when there are none.
    """
    path = folder / DB_NAME
    if not path.exists():
        return "", []
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        try:
            sensor, epoch = db.execute("SELECT sensor, epoch FROM Recording").fetchone() or (
                "Total Power",
                0.0,
            )
            rows = db.execute(
                "SELECT sensorRead, dataTime FROM SensorData ORDER BY rowid"
            ).fetchall()
        except sqlite3.Error:
            return "", []
    samples = []
    for text, elapsed in rows:
        matched = re.search(r"Sensor Reading\s*:\s*(-?\d+(?:\.\d+)?)", text)
        samples.append(
            Sample(
                elapsed,
                epoch + elapsed,
                float(matched[1]) if matched else None,
                "" if matched else "no reading",
            )
        )
    return sensor, samples


def _row(sensor: str, constants: dict[str, str], sample: Sample) -> str:
    values = {
        **dict.fromkeys(COLUMNS, "na"),
        "Assertion_Events": "Empty_string",
        "Assertions_Enabled": "Empty_string",
        "Sensor_Type_Threshold_": "Unknown",
        **constants,
        "Sensor_ID": sensor.replace(",", " "),
        "Sensor_Reading": "" if sample.watts is None else f"{sample.watts:g}",
        "Status": "na" if sample.watts is None else "ok",
        "Time_elapsed": f"{sample.elapsed:.5f}",
        "Time_epoch": f"{sample.epoch:.6f}",
    }
    return ",".join(values[c] for c in COLUMNS)


def write_csv(
    folders: Sequence[Path],
    sensor: str,
    constants: dict[str, str],
    samples: Iterable[Sample],
) -> list[Path]:
    """ipmi_data.csv in each of the folders; they are made where they are missing.

    Each file is complete or not there.
    """
    text = "\r\n".join([",".join(COLUMNS), *(_row(sensor, constants, s) for s in samples), ""])
    written: list[Path] = []
    for folder in dict.fromkeys(f.resolve() for f in folders):
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / CSV_NAME
        _write_complete(target, text.encode())
        written.append(target)
    return written


def _write_complete(path: Path, data: bytes) -> None:
    """A file that gets its name when all of it is on the disk. After an error nothing is there."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


# the mark


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = _crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _field(number: int, data: bytes) -> bytes:
    """A length-delimited field; all of ours are shorter than 16 KiB."""
    if len(data) < 128:
        size = bytes([len(data)])
    else:
        size = bytes([len(data) & 0x7F | 0x80, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def _event(*fields: bytes) -> bytes:
    return b"\x09" + struct.pack("<d", time.time()) + b"".join(fields)


def write_marker(folder: Path, value: str) -> Path:
    """What makes TensorBoard show PowerBoard's tab: a text summary of its plugin, with the folder
    of the CSV.
    """
    plugin = _field(9, _field(1, _field(1, b"powerboard")))
    tensor = _field(
        8, b"\x08\x07" + _field(2, b"") + _field(8, value.encode()[:4000])
    )  # DT_STRING, a scalar
    summary = _field(5, _field(1, _field(1, CSV_NAME.encode()) + tensor + plugin))
    logs = folder / _MARKER_FOLDER
    logs.mkdir(parents=True, exist_ok=True)
    path = (
        logs / f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}."
        f"{time.monotonic_ns() % 10**6}.v2"
    )
    _write_complete(
        path, _record(_event(_field(3, b"brain.Event:2"))) + _record(_event(b"\x10\x00", summary))
    )
    return path
