"""Logs as instruments, dashboards and monitors write them, after their documentation: read right,
or refused with what to do.

All hold the same course (200 and 300 W in turn, ten rows each), so that a wrong unit, scale, time
or channel shows in its figures.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.power import registry
from powertui.errors import UnreadableFile

ZERO = 1_795_283_292
ROWS = range(60)
WATTS = [200 + 100 * (k // 10 % 2) for k in ROWS]
Line = Callable[[int, int], str]  # (number, watts) → one row


def at(k: int, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return datetime.fromtimestamp(ZERO + k, timezone.utc).strftime(form)


def so_far(k: int) -> int:
    return sum(WATTS[: k + 1])


# : name: (whose form it is, what stands above the rows, one row, below, the channels and the factor
# of each)
READ: dict[str, tuple[str, str, Line, str, dict[str, float]]] = {
    "powerstat.txt": (
        "powerstat(8), Ubuntu's manual page",
        (
            "Running for 60.0 seconds (60 samples at 1.0 second intervals).\nPower "
            "measurements will start in 0 seconds time.\n\n"
            "  Time    User  Nice   Sys  Idle    IO  Run Ctxt/s  IRQ/s Fork Exec Exit  Watts\n"
        ),
        lambda k, w: (
            f"{at(k, '%H:%M:%S')}   0.5   0.0   0.3  99.2   0.0    1    519    317    0    0   "
            f" 0 {w:6.2f} \n"
        ),
        (
            "-------- ----- ----- ----- ----- ----- ---- ------ ------ ---- ---- ---- ------ \n"
            " Average   0.5   0.0   0.3  99.2   0.0  1.0  519.0  317.0  0.0  0.0  0.0 250.00 \n"
            "Maximum  0.5   0.0   0.3  99.2   0.0  1.0  519.0  317.0  0.0  0.0  0.0 300.00 \n"
        ),
        {"Watts": 1},
    ),
    "hwinfo.csv": (
        "HWiNFO64's log: a header of units in brackets, said again below",
        (
            'Date,Time,"CPU Package [°C]","CPU Package Power [W]","PL1 Power Limit [W]","Total GPU '
            'Power (normalized) [% of TDP]",\n'
        ),
        lambda k, w: f"{at(k, '%d.%m.%Y')},{at(k, '%H:%M:%S')}.123,55,{w}.0,125,40,\n",
        (
            'Date,Time,"CPU Package [°C]","CPU Package Power [W]","PL1 Power Limit [W]","Total '
            'GPU Power (normalized) [% of TDP]",\n'
            ",,CPU [#0]: Intel Core i9,CPU [#0]: Intel Core i9,,,\n"
        ),
        {"CPU Package Power": 1},
    ),
    "gpuz.txt": (
        "GPU-Z Sensor Log.txt",
        (
            "        Date        , GPU Clock [MHz] , Board Power Draw [W] , Power Consumption (%) "
            "[% TDP] ,\n"
        ),
        lambda k, w: f"{at(k)} , 1410.0 , {w}.0 , 60.0 ,\n",
        "",
        {"Board Power Draw": 1},
    ),
    "ilo.csv": (
        "HPE iLO's power history, exported",
        "Timestamp,CPU (Avg %),Power (Avg W),Power (Peak W),Power Cap\n",
        lambda k, w: f"{at(k, '%Y-%m-%dT%H:%M:%SZ')},20,{w},400,0\n",
        "",
        {"Power (Avg W)": 1},
    ),
    "data.txt": (
        "APC's rack PDU, data.txt: the peak beside the reading",
        "Date\tTime\tPwr.kW\tPk.Pwr.kW\tEnergy.kWh\tPh.I-1\n",
        lambda k, w: f"{at(k, '%m/%d/%Y')}\t{at(k, '%H:%M:%S')}\t{w / 1000:.2f}\t0.4\t123.4\t1.2\n",
        "",
        {"Pwr.kW": 1},
    ),
    "geopm.csv": (
        "GEOPM's trace (geopm_agent(7))",
        (
            "# geopm_version: 3.0\n# node_name: "
            "node1\nTIME|EPOCH_COUNT|REGION_HASH|CPU_ENERGY|CPU_POWER|DRAM_POWER\n"
        ),
        lambda k, w: f"{k}.0|{k // 9}|0x0|{1000 + so_far(k)}|{w}|{w / 10}\n",
        "",
        {"CPU_POWER": 1, "DRAM_POWER": 0.1},
    ),
    "emporia.csv": (
        "Emporia Vue, exported by the second",
        "Time Bucket (UTC),Server-1 (kWatts)\n",
        lambda k, w: f"{at(k, '%m/%d/%Y %H:%M:%S')},{w / 1000}\n",
        "",
        {"Server-1 (kWatts)": 1},
    ),
    "jtop.csv": (
        "jetson-stats' logger (jtop_logger.py)",
        "time,uptime,jetson_clocks,nvp model,CPU1,RAM,Temp cpu,Power CPU,Power TOT\n",
        lambda k, w: f"{at(k)}.0,1:00:00,OFF,MAXN,20,0.2,50.5,{w * 10},{w * 50}\n",
        "",
        {"Power CPU": 0.01, "Power TOT": 0.05},
    ),
    "wattsup.csv": (
        "Watts up? PRO's software: watt hours beside watts",
        "time,watts,volts,amps,watt hours,cost\n",
        lambda k, w: f"{k},{w:.1f},120.2,1.7,{so_far(k) / 3600:.1f},0.01\n",
        "",
        {"watts": 1},
    ),
    "joulescope.csv": (
        "Joulescope UI, exported",
        "#time (s),current (A),voltage (V),power (W)\n",
        lambda k, w: f"{k:.6f},{w / 12:.6f},12.0,{w:.6f}\n",
        "",
        {"power": 1},
    ),
    "n6705.csv": (
        "Keysight 14585A's export: its head above the table",
        (
            "Agilent 14585A Data\nTotal points,60\nSample Period,1\n\nTime (s),Volt avg 1 "
            "(V),Power avg 1 (W)\n"
        ),
        lambda k, w: f"{k},12.0,{w}.0\n",
        "",
        {"Power avg 1": 1},
    ),
    "raritan.csv": (
        "Raritan PX's readings: active beside apparent power",
        "Time,Inlet I1 Active Power (W),Inlet I1 Apparent Power (VA)\n",
        lambda k, w: f"{at(k, '%Y-%m-%dT%H:%M:%S+00:00')},{w},{w * 1.05:.0f}\n",
        "",
        {"Inlet I1 Active Power": 1},
    ),
    "history.csv": (
        "Home Assistant's history, exported",
        "entity_id,state,last_changed\n",
        lambda k, w: (
            f"sensor.server_power,{w},{at(k, '%Y-%m-%dT%H:%M:%S')}.000Z\n"
            f"sensor.server_energy,{5 + so_far(k) / 3.6e6:.4f},{at(k, '%Y-%m-%dT%H:%M:%S')}.000Z\n"
        ),
        "",
        {"sensor.server_power": 1},
    ),
    "query.csv": (
        "InfluxDB 2's annotated CSV",
        (
            "#group,false,false,true,false,false,true,true\n#datatype,string,long,string,"
            "dateTime:RFC3339,double,string,string\n"
            "#default,mean,,,,,,\n,result,table,host,_time,_value,_field,_measurement\n"
        ),
        lambda k, w: f",,0,node1,{at(k, '%Y-%m-%dT%H:%M:%SZ')},{w},power_w,ipmi\n",
        "",
        {"power": 1},
    ),
    "zabbix.csv": (
        "Zabbix's history by API scripts",
        '"Host";"Item";"Timestamp";"Value"\n',
        lambda k, w: f'"srv1";"Power consumption";"{at(k)}";"{w} W"\n',
        "",
        {"Power consumption": 1},
    ),
    "xpumcli.csv": (
        "Intel xpumcli dump -m 0,1: a time of day",
        "Timestamp, DeviceId, GPU Utilization (%), GPU Power (W)\n",
        lambda k, w: (
            f"{at(k, '%H:%M:%S')}.123,    0, 00.00, {w}.00\n{at(k, '%H:%M:%S')}.123,    1, "
            f"00.00, {w / 2}\n"
        ),
        "",
        {"device 0": 1, "device 1": 0.5},
    ),
}


@pytest.mark.parametrize("name", READ)
def test_forms_of_other_programs_are_read_right(name: str, tmp_path: Path) -> None:
    _, above, line, below, channels = READ[name]
    path = tmp_path / name
    path.write_text(above + "".join(line(k, WATTS[k]) for k in ROWS) + below)
    log = registry.load(str(path))
    assert {series.sensor.channel for series in log.series} == set(channels), log.guess
    for series in log.series:
        np.testing.assert_allclose(
            series.watts, np.array(WATTS) * channels[series.sensor.channel], rtol=1e-4
        )
        assert (series.times[-1] - series.times[0]) / 1e9 == pytest.approx(59, abs=0.01)
        if series.clock.known:
            east = (
                series.clock.mid_ns / 1e9 - ZERO
            ) % 1800  # the middle of all zones lies an hour beside UTC
            assert min(east, 1800 - east) < 0.2


_NAMELESS, _NO_HEADER, _NO_UNIT = (
    "no column that is named like power or energy",
    "no header that names its columns",
    "no unit for `energy`",
)
#: name: (whose form it is, its text, what the refusal says)
REFUSED = {
    "yokogawa.csv": (
        "Yokogawa WT300E: P-E1 may be anything to who does not know the instrument",
        (
            "Model,WT310E\nSerial No,C2XX\nStore Count,60\n\nStore "
            "No.,Date,Time,Millisecond,U-E1,I-E1,P-E1\n"
        )
        + "".join(
            f"{k},{at(k, '%Y/%m/%d')},{at(k, '%H:%M:%S')},100,230.1E+00,1.3E+00,{w}.0E+00\n"
            for k, w in enumerate(WATTS)
        ),
        "If P-E1 is the power in W, add: --watts-col P-E1 --time-col Date --unit W",
    ),
    "gpuz_old.txt": (
        "GPU-Z of older cards: a share of the limit alone",
        "Date, GPU Clock [MHz], Power Consumption [% TDP],\n"
        + "".join(f"{at(k)} , 1410.0 , 60.0,\n" for k in ROWS),
        "no column that is named like power or energy",
    ),
    "monsoon.csv": (
        "Monsoon PowerTool: currents",
        "Time(s),Main(mA),USB(mA),Main Voltage(V)\n"
        + "".join(f"{k * 0.01:.4f},{w * 10},0.0,4.2\n" for k, w in enumerate(WATTS)),
        _NAMELESS,
    ),
    "rocm.csv": (
        "rocm-smi --showpower --csv in a loop without a time",
        "".join(
            f"device,Average Graphics Package Power (W)\ncard0,{w}.0\ncard1,{w / 2}\n\n"
            for w in WATTS
        ),
        "no time",
    ),
    "nvidia.csv": (
        "nvidia-smi --format=csv,noheader,nounits: which of two columns is the power stands nowhere",
        "".join(
            f"{at(k, '%Y/%m/%d %H:%M:%S')}.123, 0, {w}.25, {w + k}.50, 98\n"
            for k, w in enumerate(WATTS)
        ),
        _NO_HEADER,
    ),
    "job.txt": (
        "PBS: one figure of a job",
        "Job Id: 123.srv\n    resources_used.energy = 0.345\n    job_state = F\n",
        "no ",
    ),
    "meter.csv": (
        "many exporters: energy without a unit",
        "time,energy\n" + "".join(f"{ZERO + k},{so_far(k)}\n" for k in ROWS),
        _NO_UNIT,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_known_is_refused_with_a_way_on(name: str, tmp_path: Path) -> None:
    _, text, said = REFUSED[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UnreadableFile) as caught:
        registry.load(str(path), LogColumns())
    assert said in caught.value.cause
    assert caught.value.hint
