"""Dialects that dashboards, trackers and management networks write: channels, watts, devices, and
what has to be asked.

The readings are written from each format's description: a level, a step up, and the level again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.model import Badge, Device, PowerKind
from powertui.data.power import registry
from powertui.data.power.options import PowerLog
from powertui.errors import UnreadableFile

START = 1_714_557_600  # 2024-05-01 10:00:00 UTC
WATTS = [200 + 50 * (3 <= second < 7) + second % 3 for second in range(12)]
MEAN = sum(WATTS) / len(WATTS)


def rows(form: Callable[[int, int], str]) -> str:
    """A piece of text for each second and its watts."""
    return "".join(form(second, watts) for second, watts in enumerate(WATTS))


def utc(second: float, form: str = "%Y-%m-%dT%H:%M:%S") -> str:
    return time.strftime(form, time.gmtime(START + second))


def read(folder: Path, name: str, text: str, **columns: str) -> PowerLog:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return registry.load(str(path), LogColumns(**columns))


def channels(log: PowerLog) -> list[tuple[str, str, float]]:
    return [
        (channel.sensor.name, channel.sensor.host, round(float(np.nanmean(channel.watts)), 2))
        for channel in log.series
    ]


def level(watts: float) -> float:
    return round(watts, 2)


# ── Power Gadget ─────────────────────────────────────────────────────────────────────────────────

GADGET = (
    "System Time,RDTSC,Elapsed Time (sec),Processor Power_0(Watt),"
    "Cumulative Processor Energy_0(Joules)\n"
)
GADGET_END = "\nTotal Elapsed Time (sec) = 0.3\nMeasured RDTSC Frequency (GHz) = 2.3\n\n" + "".join(
    f"Cumulative {part} Energy_0 (Joules) = 3.0\nCumulative {part} Energy_0 (mWh) = 0.8\n"
    f"Average {part} Power_0 (Watt) = 10.0\n\n"
    for part in ("Processor", "IA", "DRAM", "GT")
)


@pytest.mark.parametrize("count", [2, 3, 8, 40])
def test_a_power_gadget_log_shorter_than_its_summary(tmp_path: Path, count: int) -> None:
    text = GADGET + "".join(
        f"14:55:35:{100 * row % 1000:03},27292{row},{0.1 * row:.1f},10.0,{row:.1f}\n"
        for row in range(1, count + 1)
    )
    log = read(tmp_path, "gadget.csv", text + GADGET_END)
    assert channels(log) == [("Processor 0", "", 10.0)]
    assert len(log.series[0]) == count
    assert not log.warnings


# ── gpustat ──────────────────────────────────────────────────────────────────────────────────────


def gpustat(second: int, watts: int, limit: str = " / 400") -> str:
    return (
        f"node3                   {utc(second, '%a %b %d %H:%M:%S %Y')}  535.104.05\n"
        f"[0] NVIDIA A100 | 45'C,  93 % | {watts:3d}{limit} W | 30000 / 81920 MB | alice(29990M)\n"
        f"[1] NVIDIA A100 | 35'C,   0 % |  60{limit} W |     0 / 81920 MB |\n"
    )


@pytest.mark.parametrize("limit", [" / 400", " /  400", ""])
def test_gpustat_names_host_time_and_device(tmp_path: Path, limit: str) -> None:
    log = read(tmp_path, "gpustat.log", rows(lambda s, w: gpustat(s, w, limit)), tz="UTC")
    assert channels(log) == [("GPU 0", "node3", level(MEAN)), ("GPU 1", "node3", 60.0)]
    assert [channel.sensor.device for channel in log.series] == [
        Device(index, "", "", "NVIDIA A100") for index in (0, 1)
    ]
    assert log.series[0].clock.lo_ns == START * 10**9


def test_gpustat_without_power_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "gpustat.log"
    path.write_text(rows(lambda _s, _w: "[0] NVIDIA A100 | 45'C,  93 % | 30000 / 81920 MB |\n"))
    assert registry.sniff(str(path))[1] < registry.IS_POWER


# ── SNMP ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "factor"),
    [
        ("PowerNet-MIB::rPDUIdentDevicePowerWatts.0 = INTEGER: {w}", 1),
        ("PowerNet-MIB::rPDU2DeviceStatusPower.1 = INTEGER: {w}", 10),  # hundredths of kW
        ("iso.3.6.1.4.1.318.1.1.26.4.3.1.5.1 = INTEGER: {w}", 10),
        (".1.3.6.1.4.1.232.6.2.15.3.0 = Gauge32: {w}", 1),
        ("SNMPv2-SMI::enterprises.534.6.6.7.6.5.1.3.0.4 = INTEGER: {w}", 1),
        ("FOO-MIB::feed.1 = INTEGER: {w} tenths of Watts", 0.1),
        ("FOO-MIB::feed.1 = INTEGER: {w} hundredths of kW", 10),
        ("FOO-MIB::outletActivePowerWatts.1 = Gauge32: {w}", 1),
    ],
)
def test_snmp_takes_the_unit_from_the_mib(tmp_path: Path, answer: str, factor: float) -> None:
    text = rows(lambda s, w: f"{START + s}\n{answer.format(w=w)}\n")
    log = read(tmp_path, "pdu.log", text)
    assert [watts for _, _, watts in channels(log)] == [level(MEAN * factor)]
    assert log.series[0].clock.lo_ns == START * 10**9


@pytest.mark.parametrize(
    "answer",
    [
        "iso.3.6.1.4.1.99999.1.2.3.0 = INTEGER: {w}",
        "FOO-MIB::outletPower.1 = INTEGER: {w}",
    ],
)
def test_snmp_asks_for_a_unit_that_it_cannot_know(tmp_path: Path, answer: str) -> None:
    text = rows(lambda s, w: f"{START + s}\n{answer.format(w=w)}\n")
    with pytest.raises(UnreadableFile, match=r"(?s)unit of .*--unit W"):
        read(tmp_path, "pdu.log", text)
    assert channels(read(tmp_path, "pdu.log", text, unit="dW"))[0][2] == level(MEAN / 10)


def test_snmp_leaves_out_what_is_no_power(tmp_path: Path) -> None:
    text = rows(
        lambda s, w: (
            f"{utc(s)}Z PowerNet-MIB::rPDU2OutletMeteredStatusPower.3 = INTEGER: {w}\n"
            f"{utc(s)}Z PowerNet-MIB::rPDU2OutletMeteredStatusCurrent.3 = INTEGER: 9\n"
            f"{utc(s)}Z PowerNet-MIB::rPDU2OutletMeteredStatusPeakPower.3 = INTEGER: 900\n"
            f"{utc(s)}Z Sentry4-MIB::st4OutletPowerCapacity.1.1.1 = INTEGER: 2000 Volt-Amps\n"
        )
    )
    log = read(tmp_path, "pdu.log", text)
    assert channels(log) == [("rPDU2OutletMeteredStatusPower.3", "", level(MEAN))]


# ── HPE and other Redfish ────────────────────────────────────────────────────────────────────────


def test_the_samples_of_an_ilo_power_meter(tmp_path: Path) -> None:
    document = {
        "@odata.id": "/redfish/v1/Chassis/1/Power/FastPowerMeter",
        "Average": 210,
        "PowerDetail": [
            {
                "AmbTemp": 22,
                "Average": watts,
                "Cap": 0,
                "CpuWatts": 90,
                "DimmWatts": 10,
                "GpuWatts": 0,
                "Minimum": watts - 9,
                "Peak": watts + 99,
                "Time": f"{utc(10 * place)}Z",
            }
            for place, watts in reversed(list(enumerate(WATTS)))
        ],
    }
    log = read(tmp_path, "power.json", json.dumps(document))
    assert channels(log) == [("power", "", level(MEAN)), ("CPU", "", 90.0), ("memory", "", 10.0)]
    assert log.series[0].kind is PowerKind.INTERVAL
    assert log.series[0].times[-1] == 110 * 10**9


def test_utilization_of_oneview(tmp_path: Path) -> None:
    metrics = [
        {
            "metricName": name,
            "metricSamples": [
                [(START + 300 * place) * 1000, watts + more] for place, watts in enumerate(WATTS)
            ],
        }
        for name, more in (("PeakPower", 90), ("AveragePower", 0), ("AmbientTemperature", 1))
    ]
    log = read(tmp_path, "utilization.json", json.dumps({"metricList": metrics}))
    assert channels(log) == [("power", "", level(MEAN))]


def ilo(watts: int) -> dict[str, object]:
    supplies = [
        {
            "LastPowerOutputWatts": watts // 2 + bay,
            "MemberId": str(bay - 1),
            "Name": "HpeServerPowerSupply",
            "Oem": {"Hpe": {"BayNumber": bay}},
        }
        for bay in (1, 2)
    ]
    return {
        "@odata.id": "/redfish/v1/Chassis/1/Power",
        "PowerConsumedWatts": watts,
        "PowerControl": [{"MemberId": "0", "PowerConsumedWatts": watts}],
        "PowerSupplies": supplies,
    }


def test_two_supplies_of_one_name_are_two(tmp_path: Path) -> None:
    log = read(tmp_path, "one.json", json.dumps(ilo(200), indent=1))
    names = ["power", "HpeServerPowerSupply 1 output", "HpeServerPowerSupply 2 output"]
    assert channels(log) == list(zip(names, ["", "", ""], [200.0, 101.0, 102.0], strict=True))
    log = read(tmp_path, "loop.json", rows(lambda s, w: f"{START + s}\n{json.dumps(ilo(w))}\n"))
    assert [name for name, _, _ in channels(log)] == names
    assert not log.warnings


def test_a_sensor_whose_id_is_escaped(tmp_path: Path) -> None:
    def report(second: int, watts: int) -> str:
        value = {
            "MetricId": "p",
            "MetricProperty": "/redfish/v1/Chassis/chassis/Sensors/power_total%5Cpower",
            "MetricValue": str(watts),
            "Timestamp": f"{utc(second)}Z",
        }
        return json.dumps({"MetricValues": [value]}) + "\n"

    log = read(tmp_path, "report.jsonl", rows(report))
    assert channels(log) == [("power_total\\power p", "", level(MEAN))]
    text = "timestamp,sensor,value\n" + rows(
        lambda s, w: f"{START + s},node%5Cpower,{w}\n{START + s},inlet%5Ctemp,20\n"
    )
    log = read(tmp_path, "sensors.csv", text)
    assert channels(log) == [("node\\power", "", level(MEAN))]


# ── MLflow, collectd ─────────────────────────────────────────────────────────────────────────────


def test_a_metric_file_of_mlflow_is_what_it_is_called(tmp_path: Path) -> None:
    text = rows(lambda s, w: f"{(START + s) * 1000 + 250} {float(w)} {s}\n")
    log = read(tmp_path, "gpu_1_power_usage_watts", text)
    assert [watts for _, _, watts in channels(log)] == [level(MEAN)]
    assert log.series[0].sensor.device == Device(1)
    assert log.series[0].sensor.scale is Badge.MEASURED
    path = str(tmp_path / "gpu_1_power_usage_watts")
    assert registry.sniff(path)[1] >= registry.IS_POWER
    with pytest.raises(UnreadableFile):
        read(tmp_path, "gpu_1_power_usage_percentage", text)


def test_a_file_of_collectd(tmp_path: Path) -> None:
    text = "epoch,value\n" + rows(lambda s, w: f"{START + s}.125,{w}.000000\n")
    log = read(tmp_path, "power-total_power-2024-05-01", text)
    assert channels(log) == [("power-total_power", "", level(MEAN))]
    assert log.series[0].sensor.scale is Badge.MEASURED


# ── many machines, times on lines of their own ───────────────────────────────────────────────────


def dcmi(host: str, watts: int) -> str:
    return (
        f"{host}: \n{host}:     Instantaneous power reading:                   {watts} Watts\n"
        f"{host}:     Maximum during sampling period:                900 Watts\n"
        f"{host}:     Power reading state is:                   activated\n"
    )


@pytest.mark.parametrize("hosts", [("node01", "node02"), ("gpu01", "gpu02"), ("a", "b")])
def test_pdsh_names_the_machine_before_each_line(tmp_path: Path, hosts: tuple[str, str]) -> None:
    first, second = hosts
    text = rows(lambda s, w: f"{START + s}\n{dcmi(first, w)}{dcmi(second, 60)}")
    log = read(tmp_path, "pdsh.txt", text)
    assert channels(log) == [("DCMI power", first, level(MEAN)), ("DCMI power", second, 60.0)]
    assert log.dialect == "ipmitool"


def test_parts_before_each_line_are_no_machines(tmp_path: Path) -> None:
    text = rows(lambda s, w: f"{START + s}\ngpu0: {w} W\ngpu1: 60 W\n")
    log = read(tmp_path, "gpus.txt", text)
    assert channels(log) == [("gpu0", "", level(MEAN)), ("gpu1", "", 60.0)]


def test_a_nest_of_names_does_not_keep_the_reader_busy(tmp_path: Path) -> None:
    path = tmp_path / "nest.txt"
    path.write_text("a1: " * 15_000 + "\n")
    before = time.process_time()
    assert registry.sniff(str(path))[1] < registry.IS_POWER
    assert time.process_time() - before < 5


@pytest.mark.parametrize(
    "form",
    [
        "{t}Z [node1] current power: {w} W\n{t}Z [node2] current power: 60 W\n",
        "{t}Z node1 mon[312]: power={w}W temp=4C\n{t}Z node2 mon[{s}]: power=60W temp=4C\n",
    ],
)
def test_lines_of_two_hosts_at_one_moment_are_two_channels(tmp_path: Path, form: str) -> None:
    log = read(tmp_path, "mon.log", rows(lambda s, w: form.format(t=utc(s), w=w, s=s)))
    assert [watts for _, _, watts in channels(log)] == [level(MEAN), 60.0]


@pytest.mark.parametrize(
    "answer",
    [
        "Pwr Consumption,{w},Watts,ok\nInlet Temp,22,degrees C,ok\nFan1,4200,RPM,ok\n",
        (
            "ID,Name,Type,Reading,Units,Event\n5,Pwr Consumption,Current,{w}.00,W,'OK'\n"
            "6,Inlet Temp,Temperature,22.00,C,'OK'\n7,Pwr Cap,Current,900,W,'OK'\n"
        ),
    ],
    ids=["ipmitool -c sdr", "ipmi-sensors"],
)
def test_a_table_below_each_time(tmp_path: Path, answer: str) -> None:
    text = rows(lambda s, w: f"{START + s}\n{answer.format(w=w)}")
    log = read(tmp_path, "sdr.txt", text)
    assert [watts for _, _, watts in channels(log)] == [level(MEAN)]
    assert log.series[0].sensor.name.endswith("Pwr Consumption")
    assert log.series[0].clock.lo_ns == START * 10**9


def test_ipmitool_below_times_of_day_and_between_rules(tmp_path: Path) -> None:
    reading = "Instantaneous power reading:                   {w} Watts\n"
    text = rows(lambda s, w: f"{utc(s, '%H:%M:%S')}     {reading.format(w=w)}")
    assert channels(read(tmp_path, "grep.txt", text)) == [("DCMI power", "", level(MEAN))]
    rule = rows(lambda s, w: f"=== {utc(s)} ===\n{reading.format(w=w)}")
    assert channels(read(tmp_path, "rule.txt", rule)) == [("DCMI power", "", level(MEAN))]


def test_devices_of_one_moment_in_a_json_list(tmp_path: Path) -> None:
    def nvtop(second: int, watts: int) -> str:
        devices = [{"device_name": "A100", "power_draw": f"{w}W"} for w in (watts, 60)]
        return f"{START + second}\n{json.dumps(devices)}\n"

    log = read(tmp_path, "nvtop.txt", rows(nvtop))
    assert [watts for _, _, watts in channels(log)] == [level(MEAN), 60.0]
    assert [channel.sensor.device for channel in log.series] == [Device(0), Device(1)]


def test_nvidia_smi_stats(tmp_path: Path) -> None:
    text = rows(
        lambda s, w: (
            f"0, pwrDraw , {START + s}000005, {w}\n0, temp , {START + s}000005, 45\n"
            f"0, gpuUtil , {START + s}000005, 93\n1, pwrDraw , {START + s}000005, 60\n"
        )
    )
    log = read(tmp_path, "stats.csv", text)
    assert [watts for _, _, watts in channels(log)] == [level(MEAN), 60.0]
    assert [channel.sensor.device for channel in log.series] == [Device(0), Device(1)]


# ── what must not be taken for watts ─────────────────────────────────────────────────────────────


def test_a_counter_that_nothing_names_is_asked_about(tmp_path: Path) -> None:
    totals = np.cumsum(WATTS).tolist()
    for text in (
        rows(lambda s, _: f"{START + s} {1_000_000 * (99 + totals[s])}\n"),
        "timestamp,total\n" + rows(lambda s, _: f"{START + s},{totals[s]}\n"),
        "timestamp,package-0\n" + rows(lambda s, _: f"{START + s},{totals[s]}\n"),
    ):
        with pytest.raises(UnreadableFile, match=r"(?s)only grow.*--unit J"):
            read(tmp_path, "counter.csv", text)
    log = read(tmp_path, "counter.csv", text, unit="J")
    assert channels(log)[0][2] == level(sum(WATTS[1:]) / (len(WATTS) - 1))


def test_columns_of_gpus_below_a_hundred_may_be_percent(tmp_path: Path) -> None:
    for most, scale in ((90, Badge.ASSUMED), (300, Badge.MEASURED)):
        text = "timestamp,gpu0\n" + rows(lambda s, _: f"{START + s},{most - s % 3}\n")  # noqa: B023
        assert read(tmp_path, "gpus.csv", text).series[0].sensor.scale is scale


def test_times_that_a_spreadsheet_rounded_are_refused(tmp_path: Path) -> None:
    text = "timestamp,power_w\n" + rows(lambda s, w: f"1.71456E+12,{w + s}\n")
    with pytest.raises(UnreadableFile, match=r"rounded times: 1.71456E\+12 is right to 10,000 s"):
        read(tmp_path, "excel.csv", text)
    exact = "timestamp,power_w\n" + rows(lambda s, w: f"{START + s:.9e},{w}\n")
    assert read(tmp_path, "exact.csv", exact).series[0].times[-1] == 11 * 10**9


@pytest.mark.parametrize("name", ["power_setpoint_w", "power_target", "power_std_w", "cappingW"])
def test_what_is_wanted_or_spread_is_no_reading(tmp_path: Path, name: str) -> None:
    text = f"time,{name},power_w\n" + rows(lambda s, w: f"{START + s},500,{w}\n")
    assert [watts for _, _, watts in channels(read(tmp_path, "a.csv", text))] == [level(MEAN)]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "power.csv"
    text = "timestamp,power_w\n" + rows(lambda s, w: f"{START + s},{w}\n")
    path.write_bytes(text.encode(encoding))
    assert channels(registry.load(str(path))) == [("power", "", level(MEAN))]


def test_series_of_graphite_and_victoriametrics(tmp_path: Path) -> None:
    points = [[watts, START + second] for second, watts in enumerate(WATTS)]
    graphite = [{"target": "servers.node1.power_watts", "datapoints": [*points, [None, START]]}]
    log = read(tmp_path, "render.json", json.dumps(graphite))
    assert [watts for _, _, watts in channels(log)] == [level(MEAN)]
    exported = {
        "metric": {"__name__": "node_power_watts", "instance": "n1"},
        "values": WATTS,
        "timestamps": [1000 * when for _, when in points],
    }
    log = read(tmp_path, "export.jsonl", json.dumps(exported))
    assert [(host, watts) for _, host, watts in channels(log)] == [("n1", level(MEAN))]


# ── Grafana, InfluxDB ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        '"Time","node a","node b"\n'
        + rows(lambda s, w: f"{utc(s, '%Y-%m-%d %H:%M:%S')},{w / 1000:.3f} kW,60 W\n"),
        'sep=;\n"Series";"Time";"Value"\n'
        + rows(lambda s, w: f'"node a";"{utc(s)}+00:00";{w} W\n')
        + rows(lambda s, w: f'"node b";"{utc(s)}+00:00";60 W\n'),
        '\ufeffsep=,\r\n"Time","node a","node b","inlet"\r\n'
        + rows(lambda s, w: f'"{utc(s, "%Y-%m-%d %H:%M:%S")}","{w} W","60 W","20 °C"\r\n'),
    ],
    ids=["columns", "rows", "columns with a byte order mark"],
)
def test_grafana_writes_the_unit_into_the_cells(tmp_path: Path, text: str) -> None:
    log = read(tmp_path, "panel.csv", text, tz="UTC")
    assert channels(log) == [("node a", "", level(MEAN)), ("node b", "", 60.0)]
    assert {channel.sensor.scale for channel in log.series} == {Badge.MEASURED}


def test_grafana_names_a_column_by_its_selector(tmp_path: Path) -> None:
    selectors = [
        f'"{{__name__=""DCGM_FI_DEV_POWER_USAGE"", gpu=""{gpu}"", Hostname=""gpu01""}}"'
        for gpu in (0, 1)
    ]
    text = f'"Time",{",".join(selectors)}\n' + rows(lambda s, w: f"{(START + s) * 1000},{w},60\n")
    log = read(tmp_path, "panel.csv", text)
    assert channels(log) == [("GPU 0", "gpu01", level(MEAN)), ("GPU 1", "gpu01", 60.0)]
    assert [channel.sensor.device for channel in log.series] == [Device(0), Device(1)]


def test_a_host_that_is_called_gpu01_is_no_device(tmp_path: Path) -> None:
    text = '"Time","gpu01 power"\n' + rows(lambda s, w: f"{START + s},{w} W\n")
    assert read(tmp_path, "panel.csv", text).series[0].sensor.device is None


def test_answers_of_influxdb(tmp_path: Path) -> None:
    values = [[f"{utc(second)}Z", watts] for second, watts in enumerate(WATTS)]
    series = {"name": "power", "tags": {"host": "n1"}, "columns": ["time", "value"]}
    answer = {"results": [{"statement_id": 0, "series": [{**series, "values": values}]}]}
    log = read(tmp_path, "answer.json", json.dumps(answer))
    assert channels(log) == [("power", "n1", level(MEAN))]
    text = "name,time,host,mean\n" + rows(lambda s, w: f"power,{START + s}000000000,n1,{w}\n")
    assert channels(read(tmp_path, "answer.csv", text)) == [("power", "n1", level(MEAN))]


# ── rrdtool, kasa, nvidia-smi without a header ───────────────────────────────────────────────────


def xport(rows_of: str, **meta: object) -> str:
    figures = {"start": START, "end": START + len(WATTS) - 1, "step": 1} | meta
    return (
        '{ "about": "RRDtool graph JSON output",\n  "meta": {\n'
        + "".join(f'    "{name}": {value},\n' for name, value in figures.items())
        + f'    "legend": [ "watts" ]\n  }},\n  "data": [\n{rows_of}\n  ]\n}}\n'
    )


def rrd_rows(form: str) -> str:
    return ",\n".join(
        form.format(at=START + second, watts=f"{watts:.10e}") for second, watts in enumerate(WATTS)
    )


@pytest.mark.parametrize(
    "text",
    [
        "                          watts\n\n" + rows(lambda s, w: f"{START + s}: {w:.10e}\n"),
        '<?xml version="1.0"?>\n<xport>\n <meta>\n'
        f"  <start>{START}</start>\n  <end>{START + 11}</end>\n  <step>1</step>\n"
        "  <legend><entry>watts</entry></legend>\n </meta>\n <data>\n"
        + rows(lambda s, w: f"  <row><t>{START + s}</t><v>{w:.10e}</v></row>\n")
        + " </data>\n</xport>\n",
        '<?xml version="1.0"?>\n<xport>\n <meta>\n'
        f"  <start>{START}</start>\n  <end>{START + 11}</end>\n  <step>1</step>\n"
        "  <legend><entry>watts</entry></legend>\n </meta>\n <data>\n"
        + rows(lambda s, w: f"  <row><v>{w:.10e}</v></row>\n")
        + " </data>\n</xport>\n",
        xport(rrd_rows("[ {watts} ]")),
        xport(rrd_rows('[ "{at}",{watts} ]')),
        xport(rrd_rows("[ {watts} ]"), start=START - 1),
    ],
    ids=["fetch", "XML", "XML without times", "JSON", "JSON with times", "JSON, older start"],
)
def test_what_rrdtool_prints(tmp_path: Path, text: str) -> None:
    log = read(tmp_path, "power.txt", text)
    assert channels(log) == [("watts", "", level(MEAN))]
    assert log.series[0].clock.mid_ns + int(log.series[0].times[0]) == START * 1_000_000_000


def test_a_cut_document_of_rrdtool_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="rrdtool xport, but is cut"):
        read(tmp_path, "power.json", xport(rrd_rows("[ {watts} ]"))[:-20])


@pytest.mark.parametrize("title", ["Energy", "Emeter"])
def test_answers_of_a_kasa_plug_below_times(tmp_path: Path, title: str) -> None:
    text = rows(
        lambda s, w: (
            f"{utc(s)}+00:00\n== {title} ==\nCurrent: 1.04 A\nVoltage: 230.1 V\n"
            f"Power: {w}.0 W\nTotal consumption: 12.063 kWh\n"
        )
    )
    log = read(tmp_path, "plug.txt", text)
    assert channels(log) == [("plug", "", level(MEAN))]


def test_nvidia_smi_without_header_and_units_shows_power_by_its_decimals(tmp_path: Path) -> None:
    text = rows(
        lambda s, w: "".join(
            f"{utc(s, '%Y/%m/%d %H:%M:%S')}.{7 + s:03}, {gpu}, NVIDIA A100, {w + gpu}.25, "
            f"400.00, {90 + s}, 35021\n"
            for gpu in (0, 1)
        )
    )
    log = read(tmp_path, "gpu.csv", text, tz="UTC")
    assert channels(log) == [("GPU 0", "", level(MEAN + 0.25)), ("GPU 1", "", level(MEAN + 1.25))]
    assert {channel.sensor.scale for channel in log.series} == {Badge.ASSUMED}


def test_nvidia_smi_with_two_columns_of_watts_and_no_names_is_asked_about(tmp_path: Path) -> None:
    text = rows(
        lambda s, w: f"{utc(s, '%Y/%m/%d %H:%M:%S')}.000, 0, {w}.25, {w + s}.75, {s}, 7, 8\n"
    )
    with pytest.raises(UnreadableFile):
        read(tmp_path, "gpu.csv", text, tz="UTC")


def test_nvidia_smi_with_a_header_and_no_units_is_no_guess(tmp_path: Path) -> None:
    text = "timestamp, index, power.draw [W], utilization.gpu [%]\n" + rows(
        lambda s, w: f"{utc(s, '%Y/%m/%d %H:%M:%S')}.000, 0, {w}.25, {90 + s}\n"
    )
    log = read(tmp_path, "gpu.csv", text, tz="UTC")
    assert [channel.sensor.scale for channel in log.series] == [Badge.MEASURED]


# ── carbontracker, turbostat and IPMICFG ─────────────────────────────────────────────────────────


def test_carbontracker_tells_mean_power_of_each_epoch(tmp_path: Path) -> None:
    def epoch(number: int, end: int, length: str, gpus: str) -> str:
        when = utc(end, "%Y-%m-%d %H:%M:%S")
        return (
            f"{when} - Epoch {number}:\n{when} - Duration: {length}\n"
            f"{when} - Average power usage (W) for gpu: {gpus}\n"
            f"{when} - Average power usage (W) for cpu: None\n"
        )

    text = (
        "2024-05-01 09:59:00 - carbontracker version 1.2.5\n"
        + epoch(1, 100, "0:01:30.00", "[136.5, 90.25]")
        + epoch(2, 3800, "1:01:40.00", "[140.0, 100.0]")
    )
    log = read(tmp_path, "carbontracker_output.log", text, tz="UTC")
    assert log.dialect == "carbontracker"
    assert [series.sensor.name for series in log.series] == ["GPU 0", "GPU 1"]
    assert {series.kind for series in log.series} == {PowerKind.INTERVAL}
    watts = log.series[0].watts[np.isfinite(log.series[0].watts)]
    assert watts.tolist() == [136.5, 140.0]


def test_a_log_of_carbontracker_without_power_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="comes from carbontracker, but holds no power"):
        read(
            tmp_path,
            "c.log",
            "2024-05-01 09:59:00 - carbontracker version 1.2.5\n"
            "2024-05-01 10:01:00 - Average power usage (W) for gpu: None\n",
        )


def test_tables_of_turbostat_below_times_are_placed_by_these(tmp_path: Path) -> None:
    text = rows(lambda s, w: f"{START + s}\nBusy%\tPkgWatt\tRAMWatt\n55.2\t{w}.50\t9.00\n")
    log = read(tmp_path, "turbo.txt", text)
    assert channels(log) == [("PkgWatt", "", level(MEAN + 0.5)), ("RAMWatt", "", 9.0)]
    assert log.series[0].clock.known
