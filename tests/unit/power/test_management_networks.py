"""What management processors and monitoring services print: FreeIPMI, OpenBMC, Dell's racadm,
Slurm's watts, Graphite, OpenTSDB, Telegraf's JSON; and files that hold power but cannot be read.

The readings are written from each tool's documentation and printed examples.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.logdir.tree import may_be_power, says_power
from powertui.data.model import Scope
from powertui.data.power import registry
from powertui.data.power.options import PowerLog
from powertui.errors import UnreadableFile

START = 1_714_557_600  # 2024-05-01 10:00:00 UTC
WATTS = [200 + 50 * (3 <= second < 7) + second % 3 for second in range(12)]
UNIT = "xyz.openbmc_project.Sensor.Value.Unit"


def rows(form: Callable[[int, int], str]) -> str:
    return "".join(form(second, watts) for second, watts in enumerate(WATTS))


def date(second: int) -> str:
    return time.strftime("%a %b %d %H:%M:%S UTC %Y\n", time.gmtime(START + second))


def utc(second: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(START + second))


def read(folder: Path, text: str, name: str = "answers.txt", **columns: str) -> PowerLog:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return registry.load(str(path), LogColumns(**columns))


def sensor_row(watts: int, delimiter: str = " | ", state: str = "", name: str = "Power") -> str:
    cells = ["54", name, "Power Supply", *filter(None, [state]), f"{watts}.00", "W", "'OK'"]
    return delimiter.join(cells) + "\n"


def rest_answer(watts: int, scale: int) -> str:
    sensor = {"Scale": scale, "Unit": f"{UNIT}.Watts", "Value": watts * 10**-scale}
    return json.dumps({"data": sensor, "message": "200 OK", "status": "ok"}, indent=2) + "\n"


def all_sensors(watts: int) -> str:
    folder = "/xyz/openbmc_project/sensors"
    data = {
        f"{folder}/temperature/ambient": {"Scale": -3, "Unit": f"{UNIT}.DegreesC", "Value": 23000},
        f"{folder}/power/total_power": {"Scale": 0, "Unit": f"{UNIT}.Watts", "Value": watts},
        f"{folder}/power/total_power_cap": {"Scale": 0, "Unit": f"{UNIT}.Watts", "Value": 3050},
    }
    return json.dumps({"data": data, "message": "200 OK", "status": "ok"}) + "\n"


def point(second: int, watts: int) -> str:
    tags = {"host": "node7", "name": "pwr_consumption", "unit": "watts"}
    member = {"fields": {"value": watts}, "name": "ipmi_sensor", "tags": tags}
    return json.dumps({**member, "timestamp": START + second})


TOTAL = "/xyz/openbmc_project/sensors/power/total_power"
LOGS = {
    "ipmi-sensors below dates": rows(lambda s, w: date(s) + sensor_row(w)),
    "its CSV below dates": rows(lambda s, w: date(s) + sensor_row(w, ",", "Nominal")),
    "its CSV behind dates": rows(lambda s, w: f"{utc(s)},{sensor_row(w, ',', 'Nominal')}"),
    "its rows behind seconds": rows(lambda s, w: f"{START + s}.0 {sensor_row(w)}"),
    "its older rows": rows(
        lambda s, w: f"{date(s)}54: Power (Current): {w}.00 W (0.00/900.00): [OK]\n"
    ),
    "OpenBMC over REST": rows(lambda s, w: date(s) + rest_answer(w, 0)),
    "its older firmware": rows(lambda s, w: f"{START + s} " + rest_answer(w, -3)),
    "all sensors of OpenBMC": rows(lambda s, w: date(s) + all_sensors(w)),
    "busctl": rows(lambda s, w: f"{START + s} {TOTAL} d {w}.0\n"),
    "openbmctool": rows(lambda s, w: f"{date(s)}total_power | power | Watts | {w}.0 | N/A\n"),
    "racadm get System.Power": rows(
        lambda s, w: f"{date(s)}#Realtime.Amps=1.2 Amps\n#Realtime.Power={w} W | 700 Btu/hr\n"
    ),
    "lines of scontrol": rows(lambda s, w: f"{date(s)}   CurrentWatts={w} AveWatts=190\n"),
    "scontrol behind dates": rows(lambda s, w: f"{utc(s)} CurrentWatts={w} AveWatts=190\n"),
    "Graphite": rows(lambda s, w: f"dc.node7.power.total_watts {w} {START + s}\n"),
    "Graphite's CSV": rows(lambda s, w: f"dc.node7.power.total_watts,{utc(s)},{w}\n"),
    "OpenTSDB": json.dumps(
        [
            {
                "metric": "sys.power.watts",
                "tags": {"host": "node7"},
                "dps": {str(START + s): w for s, w in enumerate(WATTS)},
            },
            {"metric": "sys.fan.rpm", "tags": {}, "dps": {str(START): 4000}},
        ]
    ),
    "Telegraf's JSON": "\n".join(point(s, w) for s, w in enumerate(WATTS)) + "\n",
    "Telegraf's batches": '{"metrics":['
    + ",".join(point(s, w) for s, w in enumerate(WATTS))
    + "]}\n",
    "a time and watts": rows(lambda s, w: f"{START + s}.0 {w} W\n"),
    "a numbered sensor that no reader knows": rows(lambda s, w: f"{date(s)}7;Input;{w}.0;W;OK\n"),
}


@pytest.mark.parametrize("name", LOGS)
def test_watts_and_times_are_those_that_were_printed(tmp_path: Path, name: str) -> None:
    log = read(tmp_path, LOGS[name])
    (channel,) = log.series
    assert channel.watts.tolist() == WATTS
    assert np.array_equal(channel.times, np.arange(len(WATTS)) * 10**9)
    clock = channel.clock
    assert clock.known
    assert clock.source == "local time without zone" or clock.lo_ns == START * 10**9
    assert registry.sniff(log.path)[1] >= registry.IS_POWER


def test_sensors_of_one_name_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    text = rows(lambda s, w: date(s) + sensor_row(w) + sensor_row(60).replace("54", "61", 1))
    log = read(tmp_path, text)
    means = {channel.sensor.name: float(np.mean(channel.watts)) for channel in log.series}
    assert means == {"Power 54": pytest.approx(np.mean(WATTS)), "Power 61": 60.0}


def test_a_sensor_that_does_not_answer_is_counted(tmp_path: Path) -> None:
    silent = f"{date(4)}54 | Total_Power | Power Supply | N/A | W | N/A\n"
    text = rows(lambda s, w: date(s) + sensor_row(w, name="Total_Power") if s != 4 else silent)
    log = read(tmp_path, text)
    assert len(log.series[0]) == len(WATTS) - 1
    assert log.series[0].sensor.scope is Scope.NODE
    assert any("'N/A' instead of a reading" in warning.cause for warning in log.warnings)


def test_hosts_are_those_of_the_tags(tmp_path: Path) -> None:
    for name in ("OpenTSDB", "Telegraf's JSON"):
        (channel,) = read(tmp_path, LOGS[name]).series
        assert channel.sensor.host == "node7"


@pytest.mark.parametrize(
    "text",
    [
        rows(lambda s, w: f"{START + s} {w} W 90 W\n"),  # two things without names
        "2024-05-01T10:00:00 100 W bulb replaced\n2024-05-01T10:00:01 60 W bulb\n" * 3,
        rows(lambda s, w: f"dc.node7.power.cap_watts {w} {START + s}\n"),
        rows(lambda s, w: f"dc.node7.power_cap.watts {w} {START + s}\n"),
        rows(lambda s, w: f"dc.node7.fans.speed {w} {START + s}\n"),
    ],
)
def test_what_is_no_reading_of_power_is_not_taken(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    assert registry.sniff(str(path))[1] < registry.IS_POWER


@pytest.mark.parametrize(
    "text",
    [
        '{"data": ' * 3000 + f'{{"Unit": "{UNIT}.Watts", "Value": 3}}' + "}" * 3000,
        f'{{"data": {{"Unit": "{UNIT}.Watts", "Value": "high", "Scale": "x"}}}}',
        '[{"metric": "sys.power.watts", "dps": [[1714557600], 3, "ab"]}]',
        '{"fields": {"value": "x"}, "name": "power_watts", "tags": [1]}',
    ],
)
def test_damaged_answers_are_refused_with_a_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableFile):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("power.parquet", b"PAR1" + bytes(80) + b"PAR1", "is a Parquet file"),
        ("power.xlsx", b"PK\x03\x04" + bytes(60), "is a spreadsheet"),
    ],
)
def test_a_file_of_power_in_a_form_that_is_not_read_says_so(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert may_be_power(name)
    assert said in registry.why_not_taken(str(path))


def test_names_of_management_processors_say_power() -> None:
    for name in ("bmc.log", "idrac-node7.txt", "dcmi_1.log", "ilo.csv"):
        assert says_power(name)
    for name in ("pilot.csv", "abmc.log", "silo.txt"):
        assert not says_power(name)
