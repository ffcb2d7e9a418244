"""PowerBoard's API, so that scripts written for it run with only their import changed:

    from powertui import libipmi          # was: from pb import libipmi
    libipmi.start()
    model.fit(…)
    libipmi.stop()
    libipmi.dbToCSV("./data")

`ipmi_data.db` and `ipmi_data.csv` appear in the working folder, the CSV also in the folder named,
as they did. In-band ipmitool is the default; `start(host="bmc")`, `start(source="hwmon:")`,
$POWERTUI_HOST and $POWERTUI_SOURCE choose another sensor. A training is never ended for its power:
what goes wrong is a warning (`PowerWarning`), unless `strict=True`.

New scripts are better off with `powertui.record()`, which also marks epochs.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from powertui.errors import PowertuiError, SensorError
from powertui.sampler import powerboard, programs
from powertui.sampler.source import Options, Reading, Source, open_source

if TYPE_CHECKING:
    from powertui.sampler.recorder import Recorder

__all__ = ["dbToCSV", "start", "stop"]

_lock = threading.Lock()
_run: _Run | None = None
_failed = False  # this process wanted to record and could not: an older recording is not its result


class _Run:
    """One recording, from start() to the next start()."""

    def __init__(self, recorder: Recorder, folder: Path) -> None:
        self.recorder, self.folder = recorder, folder
        self.samples: list[powerboard.Sample] = []
        self.constants: dict[str, str] = {}
        self.sensor = "Total Power"
        self.database: powerboard.Database | None = None
        self.channel = ""

    def begin(self) -> None:
        state = next(iter(self.recorder.states.values()))
        if state.info and state.info.channels:
            self.channel = state.info.channels[0].name
            self.sensor = "DCMI power" if self.channel == "power" else self.channel
            self.constants = _constants(state.source, self.channel)
        try:
            self.database = powerboard.Database(self.folder)
        except (OSError, sqlite3.Error) as error:
            _warn(
                f"{powerboard.DB_NAME} cannot be written here ({error}); the readings are kept "
                "in memory until dbToCSV()."
            )
        self.recorder.subscribe(self.take)
        self.recorder.start()  # last: the first reading comes at once, in a thread of its own

    def take(self, readings: list[Reading]) -> None:
        stamp = self.recorder.started
        assert stamp is not None
        for reading in readings:
            self.channel = self.channel or reading.channel
            if reading.channel != self.channel:
                continue
            elapsed = reading.mono - stamp.mono
            sample = powerboard.Sample(elapsed, stamp.t + elapsed, reading.watts, reading.quality)
            self.samples.append(sample)
            if self.database is not None:
                try:
                    self.database.add(self.sensor, sample)
                except sqlite3.Error as error:
                    self.database = None
                    _warn(
                        f"{powerboard.DB_NAME}: {error}; the readings are kept in memory until "
                        "dbToCSV()."
                    )

    def end(self) -> None:
        self.recorder.stop()
        if self.database is not None:
            self.database.close()
            self.database = None


def _warn(text: str) -> None:
    from powertui.sampler.session import PowerWarning

    warnings.warn(f"powertui: {text}", PowerWarning, stacklevel=3)


def _constants(source: Source, channel: str) -> dict[str, str]:
    """Thresholds and the like, asked for once: only ipmitool's `sensor get` tells them."""
    from powertui.sampler.ipmitool import IpmitoolSource, sensor_records

    if not isinstance(source, IpmitoolSource) or channel == "power":
        return {}
    try:
        return powerboard.constants_from(sensor_records(source, [channel]))
    except SensorError:
        return {}


def _own_bmc() -> str:
    """In-band ipmitool, through sudo where the device is root's alone.

    PowerBoard always asked for sudo; this only if it must.
    """
    from powertui.sampler.ipmitool import device_of

    device = device_of("/")
    sudo = programs.find("sudo", as_root=True).path
    if device is None or os.access(device, os.R_OK | os.W_OK) or not sudo:
        return "ipmitool:open"
    if sys.stdin is not None and sys.stdin.isatty():
        ask = [sudo, "-v"]
    else:
        ask = [sudo, "-n", "-v"]
    subprocess.run(ask, check=False)
    return "ipmitool:open?sudo=1"


def _sources(
    host: str,
    source: str,
    user: str,
    password_file: str,
    sensors: Sequence[str],
) -> list[Source]:
    from powertui import config
    from powertui.sampler.session import HOST, SOURCE, USER
    from powertui.sampler.targets import SourceArguments, targets

    if not host and not source:
        host = os.environ.get(HOST, "")
        source = os.environ.get(SOURCE, "")
    if not host and not source:
        return [open_source(_own_bmc(), Options(sensors=tuple(sensors)))]
    named = SourceArguments(
        hosts=[host] if host else [],
        sources=[source] if source else [],
        user=user or os.environ.get(USER, ""),
        password_file=password_file,
        sensors=sensors,
    )
    hosts = config.load().hosts if host else {}
    first = targets(named, config=hosts, environment=os.environ)[0]
    return [open_source(first.url, first.options)]


def start(
    *,
    host: str = "",
    source: str = "",
    user: str = "",
    password_file: str = "",
    sensors: Sequence[str] = (),
    interval: float = 0.5,
    strict: bool = False,
) -> None:
    """Begin to sample in a thread. After stop() it may be called again, for a new recording."""
    from powertui.sampler.recorder import Recorder

    global _run, _failed
    with _lock:
        if _run is not None and _run.recorder.ended is None:
            _warn(
                "libipmi.start() was called while it was already recording. That recording goes on."
            )
            return
        _run, _failed = None, True
        try:
            recorder = Recorder(
                _sources(host, source, user, password_file, sensors), interval=interval
            )
            recorder.open(patient=not strict)
        except PowertuiError as error:
            if strict:
                raise
            _warn(f"{error} Power is not recorded.")
            return
        _run = _Run(recorder, Path.cwd())
        _failed = False
        _run.begin()


def stop() -> None:
    """End the sampling. When this returns, every reading is in the database."""
    with _lock:
        if _run is not None:
            _run.end()


def dbToCSV(path: str = "./data") -> None:  # noqa: N802  PowerBoard's name
    """Write ipmi_data.csv into the working folder and into `path`, and the mark for PowerBoard's
    TensorBoard plugin.

    Without a recording of this process, one that an earlier process left in ipmi_data.db is
    written.
    """
    with _lock:
        folder = _run.folder if _run is not None else Path.cwd()
        if _run is not None:
            sensor = _run.sensor
            constants = _run.constants
            samples = list(_run.samples)
        else:
            constants = {}
            sensor, samples = ("", []) if _failed else powerboard.read_database(folder)
        if not samples:
            _warn(
                "There are no readings to write. Check that libipmi.start() was called and "
                "that the sensor answered."
            )
        try:
            powerboard.write_csv(
                [folder, folder / path], sensor or "Total Power", constants, samples
            )
            powerboard.write_marker(folder, path)
        except OSError as error:
            _warn(f"{powerboard.CSV_NAME} could not be written: {error}.")
