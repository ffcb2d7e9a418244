"""Whose clock an ipmitool log has, and a Redfish sensor that stands alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from powertui.data.power import registry

DATA = Path(__file__).parents[2] / "data" / "power"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ipmi_dcmi_utc.txt", "ipmitool: watts; time: the BMC's clock, dates with a zone"),
        ("ipmi_dcmi_date.txt", "ipmitool: watts; time: Unix seconds"),
    ],
)
def test_whose_clock_it_is_is_said(name: str, words: str) -> None:
    assert registry.load(str(DATA / name)).guess == words


def test_a_sensor_of_its_own_is_read_and_one_without_a_reading_is_not(tmp_path: Path) -> None:
    """Redfish's Sensor resource: the reading stands beside its unit."""
    log = tmp_path / "sensors.jsonl"
    lines = []
    for second, watts in enumerate((210.0, 214.0, 230.0)):
        for name, reading in (("TotalPower", watts), ("Dead", None)):
            body = {
                "@odata.type": "#Sensor.v1_2_0.Sensor",
                "@odata.id": f"/redfish/v1/Chassis/1/Sensors/{name}",
                "Id": name,
                "Name": name,
                "Reading": reading,
                "ReadingUnits": "W",
            }
            lines += [str(1_790_000_000 + second), json.dumps(body)]
    log.write_text("\n".join(lines) + "\n")
    found = registry.load(str(log))
    assert found.dialect == "redfish"
    (series,) = found.series
    assert "TotalPower" in series.sensor.name
    assert series.watts.tolist() == [210.0, 214.0, 230.0]
