"""Forms that tools write which no reader knew at first: times before each line, documents of
sensors, answers of a query tool, rows that name a part.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from powertui.data.model import PowerSeries, Scope
from powertui.data.power import hosts_like_parts, registry
from powertui.errors import UnreadableFile
from tests.unit.power.test_real_forms import ROWS, WATTS, ZERO, at

Text = Callable[[], str]
_STAMP = "%a %b %d %H:%M:%S UTC %Y"


def _lines(line: Callable[[int, int], str]) -> str:
    return "".join(f"{line(k, WATTS[k])}\n" for k in ROWS)


def _chips(k: int, w: int) -> str:
    chip = {"Adapter": "ACPI interface", "power1": {"power1_average": w + 0.001}}
    document = {"power_meter-acpi-0": chip, "coretemp-isa-0000": {"temp1": {"temp1_input": 61.0}}}
    return f"{at(k, '%Y-%m-%dT%H:%M:%S')}+00:00\n{json.dumps(document, indent=3)}"


def _telegraf(k: int, w: int) -> str:
    rows = [
        {"fields": {"power_draw": w + gpu}, "name": "nvidia_smi", "timestamp": ZERO + k}
        | {"tags": {"host": "vm", "index": str(gpu), "uuid": f"GPU-{gpu}f0c9a52"}}
        for gpu in (0, 1)
    ]
    return "\n".join(map(json.dumps, rows))


READ: dict[str, tuple[str, dict[str, float], Scope]] = {
    "dcmi_below_date.txt": (
        _lines(lambda k, w: f"{at(k, _STAMP)} Instantaneous power reading:      {w} Watts"),
        {"DCMI power": 0},
        Scope.NODE,
    ),
    "dcmi_through_ts_of_moreutils.txt": (
        _lines(
            lambda k, w: (
                f"{at(k, '%b %d %H:%M:%S')}     Instantaneous power reading:     {w} Watts\n"
                f"{at(k, '%b %d %H:%M:%S')}     IPMI timestamp:     {at(k - 3, '%a %b %d %H:%M:%S %Y')}"
            )
        ),
        {"DCMI power": 0},
        Scope.NODE,
    ),
    "promtool_query_range.txt": (
        'ipmi_dcmi_power_consumption_watts{instance="vm:9290"} =>\n'
        + _lines(lambda k, w: f"{w} @[{ZERO + k}.125]"),
        {"ipmi_dcmi_power_consumption": 0},
        Scope.NODE,
    ),
    "sensors_j.txt": (
        _lines(_chips),
        {"power_meter-acpi-0.power1.power1_average": 0.001},
        Scope.NODE,
    ),
    "telegraf.jsonl": (_lines(_telegraf), {"GPU 0": 0, "GPU 1": 1}, Scope.GPU),
    "kibana.csv": (
        '"@timestamp","host.name","power.watts"\n'
        + _lines(lambda k, w: f'"{at(k, "%b %d, %Y @ %H:%M:%S")}.250",vm,"{w}.0"'),
        {"power.watts": 0},
        Scope.UNKNOWN,
    ),
    "jtop.csv": (
        "time,uptime,RAM,GPU,Power VDD_GPU_SOC,Power TOT\n"
        + _lines(lambda k, w: f"{at(k)}.125,1:02:03,0.31,99,{w * 600},{w * 1000}"),
        {"Power VDD_GPU_SOC": -0.4, "Power TOT": 0},
        Scope.UNKNOWN,
    ),
}


@pytest.mark.parametrize("name", READ)
def test_forms_of_trials_are_read_right(name: str, tmp_path: Path) -> None:
    text, channels, scope = READ[name]
    path = tmp_path / name
    path.write_text(text)
    log = registry.load(str(path))
    by_name = {series.sensor.channel: series for series in log.series}
    assert set(by_name) == set(channels), log.guess
    for channel, offset in channels.items():
        series = by_name[channel]
        expected = np.array(WATTS) * (1 + offset) if offset < 0 else np.array(WATTS) + offset
        np.testing.assert_allclose(series.watts, expected, rtol=1e-6)
        assert (series.times[-1] - series.times[0]) / 1e9 == pytest.approx(59, abs=0.01)
        assert scope in (Scope.UNKNOWN, series.sensor.scope)
    assert "BMC" not in log.guess


def test_the_total_of_a_board_covers_its_rails(tmp_path: Path) -> None:
    path = tmp_path / "jtop.csv"
    path.write_text(READ["jtop.csv"][0])
    scopes = {s.sensor.channel: s.sensor.scope for s in registry.load(str(path)).series}
    assert scopes == {"Power VDD_GPU_SOC": Scope.RAIL, "Power TOT": Scope.NODE}


def test_the_number_of_a_socket_is_no_power(tmp_path: Path) -> None:
    path = tmp_path / "rapl.csv"
    rows = _lines(lambda k, w: f"{(ZERO + k) * 1000},sensor,all,0,0,{w << 32},1000123456")
    path.write_text("timestamp,sensor,target,socket,cpu,RAPL_ENERGY_PKG,time_enabled\n" + rows)
    with pytest.raises(UnreadableFile, match="RAPL_ENERGY_PKG"):
        registry.load(str(path))


def _channels(tmp_path: Path, *names: str) -> list[PowerSeries]:
    path = tmp_path / "power.csv"
    path.write_text(
        f"time_unix_s,{','.join(names)}\n"
        + _lines(lambda k, w: f"{ZERO + k},{','.join([str(w)] * len(names))}")
    )
    return list(registry.load(str(path)).series)


@pytest.mark.parametrize(
    ("columns", "host", "expected"),
    [
        (("gpu17_w", "gpu18_w"), "gpu17", ["gpu17", "gpu18"]),
        (("gpu17_w",), "GPU17.cluster", ["gpu17"]),
        (("gpu0_w", "gpu1_w", "gpu2_w"), "gpu1", ["", "", ""]),
        (("gpu0_w", "gpu1_w"), "gpu17", ["", ""]),
        (("gpu2_w", "gpu3_w"), "gpu17", ["", ""]),
        (("gpu17_w", "gpu18_w"), "vm", ["", ""]),
        (("total_w", "gpu17_w"), "gpu17", ["", "gpu17"]),
    ],
)
def test_hosts_called_like_a_part_are_told_by_their_numbers(
    columns: tuple[str, ...], host: str, expected: list[str], tmp_path: Path
) -> None:
    channels = hosts_like_parts.with_hosts(_channels(tmp_path, *columns), [host])
    assert [series.sensor.host for series in channels] == expected
    for series in channels:
        assert not series.sensor.host or series.sensor.device is None
