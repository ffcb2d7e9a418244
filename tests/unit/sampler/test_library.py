"""What people call from their training scripts: powertui.record() and PowerBoard's libipmi."""

from __future__ import annotations

import contextlib
import csv
import os
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pandas as pd
import pytest

import powertui
from powertui import libipmi
from powertui.errors import AuthenticationFailed
from powertui.sampler import powerboard
from powertui.sampler.health import Health
from powertui.sampler.session import PowerWarning
from tests.waiting import until, until_told

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def power(bmc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPMI_PASSWORD", "pw-viewer")
    monkeypatch.setenv("POWERTUI_CONFIG", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    return bmc


@pytest.fixture
def named(power, tmp_path, monkeypatch):
    """The same, as the host "node" of a config file that gives a busy machine its time to
    answer.
    """
    config = tmp_path / "config.toml"
    config.write_text(
        f'[hosts.node]\nhost = "127.0.0.1:{power.port}"\nuser = "viewer"\ntimeout = 60\n'
    )
    monkeypatch.setenv("POWERTUI_CONFIG", str(config))
    return power


def readings_in(folder):
    return [sample for sample in powerboard.read_database(folder)[1] if sample.watts is not None]


# record()


def test_importing_starts_nothing_and_imports_neither_numpy_nor_a_screen():
    code = """
        import sys, threading
        import powertui, powertui.libipmi, powertui.sampler.session, powertui.sampler.recorder, powertui.sampler.ipmi
        powertui.record, powertui.libipmi.start
        heavy = [m for m in ("numpy", "pandas", "textual", "rich", "plotext", "pyipmi", "powertui.data") if m in sys.modules]
        print(heavy, threading.active_count())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[] 1"


def test_every_source_module_imports_without_numpy():
    code = """
        import sys, pkgutil, importlib, powertui.sampler as s
        for m in pkgutil.iter_modules(s.__path__):
            importlib.import_module("powertui.sampler." + m.name)
        print([m for m in ("numpy", "pandas", "textual") if m in sys.modules])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_windows_and_marks_are_in_the_file_and_know_their_energy(power, tmp_path, monkeypatch):
    monkeypatch.setattr(
        Health, "longest_bridge", 600.0
    )  # what a busy machine leaves out is no hole here
    with powertui.record(
        "p.csv", source=f"ipmi://viewer@127.0.0.1:{power.port}", interval=0.3, timeout=60
    ) as recording:
        assert recording.recording
        recording.mark("warm")
        until(lambda: recording.watts)
        with recording.window("epoch 3") as window:
            heard = []
            recording.subscribe(heard.extend)
            until(lambda: len(heard) >= 4)
            time.sleep(0.2)  # its end lies behind the last reading
        assert recording.watts == 245
    assert not recording.recording
    assert window.joules == pytest.approx(
        245 * window.seconds, rel=0.02
    )  # up to its end, not to the last reading
    assert recording.joules > window.joules
    frame = pd.read_csv("p.csv", comment="#")
    marks = frame[[q in ("mark", "begin", "end") for q in frame.quality]]
    assert list(zip(marks.quality, marks["mark"], strict=True)) == [
        ("mark", "warm"),
        ("begin", "epoch 3"),
        ("end", "epoch 3"),
    ]
    inside = frame[
        (frame.time_unix_s >= window.begin.t)
        & (frame.time_unix_s <= window.end.t)
        & (frame.quality == "ok")
    ]
    assert len(inside) >= 3
    assert "# ended:" in (tmp_path / "p.csv").read_text()


def test_a_window_without_two_readings_has_no_energy(power):
    with powertui.record(
        "p.csv", source=f"ipmi://viewer@127.0.0.1:{power.port}", interval=3600, timeout=60
    ) as recording:
        with recording.window("short") as window:
            pass
        assert window.joules is None


def test_a_window_that_raises_is_ended_and_the_error_goes_on(power):
    with (
        pytest.raises(ZeroDivisionError),
        powertui.record("p.csv", source=f"ipmi://viewer@127.0.0.1:{power.port}") as recording,
        recording.window("epoch 0"),
    ):
        1 / 0  # noqa: B018
    assert ",end,,epoch 0" in Path("p.csv").read_text()


def test_a_training_goes_on_without_power(tmp_path, monkeypatch):
    """No BMC, a wrong password, a file that cannot be written: a warning, and every call still
    works.
    """
    monkeypatch.chdir(tmp_path)
    with pytest.warns(PowerWarning, match="Power is not recorded"):
        recording = powertui.record("/nonexistent/p.csv", source="csv:/nonexistent.csv")
    with recording, recording.window("epoch") as window:
        recording.mark("x")
    assert (window.joules, recording.watts, recording.joules) == (None, None, 0.0)


def test_strict_raises(power):
    with pytest.raises(AuthenticationFailed):
        powertui.record(
            "p.csv", source=f"ipmi://viewer@127.0.0.1:{power.port}", password="wrong", strict=True
        )
    assert not Path("p.csv").exists()


def test_a_bmc_that_is_away_at_the_start_is_recorded_when_it_comes(power):
    port = power.port
    power.stop()
    with pytest.warns(PowerWarning, match="asked again while this runs"):
        recording = powertui.record(
            "p.csv", source=f"ipmi://viewer@127.0.0.1:{port}", interval=0.05, timeout=20
        )
    power.start()
    with recording:
        until(lambda: recording.watts == 245)
    assert len(pd.read_csv("p.csv", comment="#")) > 0


def test_the_end_of_the_process_completes_the_file(power, tmp_path):
    code = f"""
        import powertui, time
        powertui.record("p.csv", source="ipmi://viewer@127.0.0.1:{power.port}", interval=0.05)
        time.sleep(0.3)
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=300,
    )
    assert "# ended:" in (tmp_path / "p.csv").read_text()


def test_a_forked_worker_does_not_end_its_parents_recording(power):
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    recording = powertui.record(
        "p.csv", source=f"ipmi://viewer@127.0.0.1:{power.port}", interval=0.05
    )
    recorder, pid = recording._recorder, recording._pid
    recording._pid = -1  # as a forked child sees it, without forking this process with its threads
    recording.close()
    assert recorder.ended is None
    recording._pid = pid
    recording.close()
    assert recorder.ended is not None


def test_host_from_the_environment(power, monkeypatch):
    monkeypatch.setenv("POWERTUI_SOURCE", f"ipmi://viewer@127.0.0.1:{power.port}")
    with powertui.record("p.csv", interval=0.05):
        until_told(Path("p.csv"), ",245,")


# libipmi

ARTICLE = """
    from powertui import libipmi
    libipmi.start()
    import time; time.sleep({seconds})
    libipmi.stop()
    libipmi.dbToCSV("./data")
"""


def run_article(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "POWERTUI_HOST": "node"}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(ARTICLE.format(seconds=1.2))],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


PB_COLUMNS = (
    "Sensor_ID,Entity_ID,Sensor_Type_Threshold_,Sensor_Reading,Status,Lower_Non_Recoverable,"
    "Lower_Critical,Lower_Non_Critical,"
    "Upper_Non_Critical,Upper_Critical,Upper_Non_Recoverable,Positive_Hysteresis,"
    "Negative_Hysteresis,Assertion_Events,"
    "Assertions_Enabled,Time_elapsed"
)


@pytest.mark.usefixtures("named")
def test_the_articles_script_runs_with_only_its_import_changed(tmp_path):
    before = time.time()
    done = run_article(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for path in (tmp_path / "ipmi_data.csv", tmp_path / "data" / "ipmi_data.csv"):
        raw = path.read_bytes()
        assert raw.startswith((PB_COLUMNS + ",Time_epoch\r\n").encode())
        rows = list(csv.DictReader(raw.decode().splitlines()))
        values = [
            r["Sensor_Reading"] for r in rows if r["Sensor_Reading"]
        ]  # an answer that is long in coming is a gap first
        assert set(values) == {"245"}
        elapsed = [float(r["Time_elapsed"]) for r in rows]
        assert elapsed == sorted(elapsed)
        assert elapsed[-1] >= 1.2  # no lost tail
        assert (
            2 <= len(values) <= elapsed[-1] / 0.5 + 2
        )  # at most one in each half second, and the last one at stop()
        assert len(set(elapsed)) == len(elapsed)  # no doubled tail
        assert all(before < float(r["Time_epoch"]) < time.time() for r in rows)
    assert (tmp_path / "ipmi_data.db").exists()


def test_the_database_is_let_go_of(tmp_path):
    database = powerboard.Database(tmp_path)
    database.add("Total Power", powerboard.Sample(0.5, 1.7e9, 245.0, ""))
    database.close()
    assert not [
        name
        for name in os.listdir("/proc/self/fd")
        if _link(f"/proc/self/fd/{name}") == str(database.path)
    ]


def _link(path: str) -> str:
    with contextlib.suppress(OSError):  # the folder's own descriptor is gone by now
        return os.readlink(path)
    return ""


def test_start_works_again_and_begins_anew(power, tmp_path):
    for watts in (245, 301):
        power.machine.watts = watts
        begin = time.monotonic()
        libipmi.start(source=f"ipmi://viewer@127.0.0.1:{power.port}", interval=0.05)
        until(lambda: len(libipmi._run.samples) >= 3)
        libipmi.stop()
        lasted = time.monotonic() - begin
        libipmi.dbToCSV()
        frame = pd.read_csv("data/ipmi_data.csv")
        assert set(frame.Sensor_Reading.dropna()) == {watts}
        assert 0 <= frame.Time_elapsed.iloc[0] <= frame.Time_elapsed.iloc[-1] <= lasted, (
            "its times count from its own start"
        )


def test_a_second_start_while_recording_changes_nothing(power):
    libipmi.start(source=f"ipmi://viewer@127.0.0.1:{power.port}", interval=0.05)
    with pytest.warns(PowerWarning, match="goes on"):
        libipmi.start()
    libipmi.stop()
    libipmi.stop()  # twice does no harm


def test_a_gap_is_an_empty_reading(power):
    libipmi.start(source=f"ipmi://viewer@127.0.0.1:{power.port}", interval=0.05)
    power.machine.refuse[(0x2C, 2)] = 0xCB
    until(lambda: any(sample.watts is None for sample in libipmi._run.samples))
    libipmi.stop()
    libipmi.dbToCSV()
    frame = pd.read_csv("ipmi_data.csv")
    assert frame.Sensor_Reading.isna().any()
    assert set(frame[frame.Sensor_Reading.isna()].Status.fillna("na")) == {"na"}


@pytest.mark.usefixtures("named")
def test_what_a_killed_process_left_in_the_database_can_still_be_written(tmp_path):
    code = "from powertui import libipmi; libipmi.start(host='node', interval=0.05); input()"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    begun = time.time()
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, stdin=subprocess.PIPE
    ) as process:
        until(lambda: len(readings_in(tmp_path)) >= 4)
        process.kill()
    ended = time.time()
    subprocess.run(
        [sys.executable, "-c", "from powertui import libipmi; libipmi.dbToCSV('out')"],
        cwd=tmp_path,
        env=env,
        check=True,
        timeout=300,
    )
    frame = pd.read_csv(tmp_path / "out" / "ipmi_data.csv")
    assert len(frame) >= 4
    assert set(frame.Sensor_Reading.dropna()) == {245}
    assert begun < frame.Time_epoch.min() <= frame.Time_epoch.max() < ended


def test_the_first_reading_is_in_the_database_though_making_that_takes_its_time(
    power, tmp_path, monkeypatch
):
    made = powerboard.Database

    def slowly(*given):
        heard = len(libipmi._run.samples)
        time.sleep(0.3)  # the readings do not begin meanwhile
        assert len(libipmi._run.samples) == heard == 0
        return made(*given)

    monkeypatch.setattr(powerboard, "Database", slowly)
    libipmi.start(source=f"ipmi://viewer@127.0.0.1:{power.port}", interval=0.05)
    until(lambda: len(libipmi._run.samples) >= 2)
    libipmi.stop()
    assert [sample.elapsed for sample in powerboard.read_database(tmp_path)[1]] == [
        pytest.approx(sample.elapsed) for sample in libipmi._run.samples
    ]


def test_without_a_sensor_the_training_goes_on_with_a_warning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.warns(PowerWarning, match="not recorded"):
        libipmi.start(source="hwmon:nothing")
    libipmi.stop()
    with pytest.warns(PowerWarning, match="no readings to write"):
        libipmi.dbToCSV()
    assert Path("ipmi_data.csv").read_text().count("\n") == 1


def test_an_older_recording_is_not_the_result_of_a_start_that_failed(power, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    libipmi.start(source=f"ipmi://viewer@127.0.0.1:{power.port}", interval=0.05)
    until(lambda: len(libipmi._run.samples) >= 2)
    libipmi.stop()
    libipmi.dbToCSV()
    assert Path("ipmi_data.csv").read_text().count("\n") > 2
    with pytest.warns(PowerWarning, match="not recorded"):
        libipmi.start(source="hwmon:nothing")
    with pytest.warns(PowerWarning, match="no readings to write"):
        libipmi.dbToCSV()
    assert Path("ipmi_data.csv").read_text().count("\n") == 1
    assert Path("ipmi_data.db").exists()


def test_the_marker_is_a_tfevents_file_that_names_the_plugin(tmp_path):
    path = powerboard.write_marker(tmp_path, "./data")
    assert path.parent.name == "demo_logs"
    data, events = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        events.append(data[12 : 12 + length])
        assert powerboard._masked(data[:8]) == data[8:12]
        assert powerboard._masked(events[-1]) == data[12 + length : 16 + length]
        data = data[16 + length :]
    assert len(events) == 2
    assert b"brain.Event:2" in events[0]
    assert b"powerboard" in events[1]
    assert b"ipmi_data.csv" in events[1]
    assert b"./data" in events[1]


def test_crc32c_has_its_published_value():
    assert powerboard._crc32c(b"123456789") == 0xE3069283


def test_thresholds_from_ipmitool():
    text = (
        "Locating sensor record...\nSensor ID              : Total Power (0x4d)\n Entity ID    "
        "         : 215.0\n"
        " Sensor Type (Threshold)  : Unknown\n Upper Critical        : 1785.000\n Assertion "
        "Events      : \n"
    )
    assert powerboard.constants_from(text) == {
        "Entity_ID": "215.0",
        "Sensor_Type_Threshold_": "Unknown",
        "Upper_Critical": "1785.000",
        "Assertion_Events": "Empty_string",
    }
