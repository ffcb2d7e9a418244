"""Dialects of tools and exporters, each on a sample of its documented form: channels, units, spans,
first values, devices.
"""

from __future__ import annotations

import gzip
import importlib
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from powertui.data.model import Badge, Device, Scope
from powertui.data.power import dialects, registry, times
from powertui.data.power.source import SQLITE, LogFile
from powertui.errors import PowertuiError, UnreadableFile

NODE, GPU, PACKAGE, CORE, DRAM, RAIL, PLUG, UNKNOWN = (
    Scope.NODE,
    Scope.GPU,
    Scope.PACKAGE,
    Scope.CORE,
    Scope.DRAM,
    Scope.RAIL,
    Scope.PLUG,
    Scope.UNKNOWN,
)
NONE, LOCAL, ABSOLUTE, BMC = "none", times.LOCAL, times.ABSOLUTE, times.BMC

# file, dialect, channels as (name, scope, host, rows, first watts), seconds from first to last row,
# clock
SAMPLES = [
    ("aiu_smi.csv", "aiu-smi", [("AIU 0", GPU, "", 4, 18.0)], 4, LOCAL),
    (
        "aiu_smi.txt",
        "aiu-smi",
        [("AIU 0", GPU, "", 5, 18.0), ("AIU 1", GPU, "", 5, 19.0)],
        4,
        LOCAL,
    ),
    (
        "amd_smi_metric.csv",
        "amd-smi",
        [("GPU 0", GPU, "", 4, 140.0), ("GPU 1", GPU, "", 4, 145.0)],
        3,
        LOCAL,
    ),
    (
        "amd_smi_metric.json",
        "amd-smi",
        [("GPU 0", GPU, "", 5, 500.0), ("GPU 1", GPU, "", 5, 510.0), ("GPU 2", GPU, "", 5, 520.0)],
        8,
        ABSOLUTE,
    ),
    (
        "amd_smi_monitor.csv",
        "amd-smi",
        [("GPU 0", GPU, "", 5, 120.0), ("GPU 1", GPU, "", 5, 125.0)],
        4,
        ABSOLUTE,
    ),
    (
        "amd_smi_monitor.txt",
        "amd-smi",
        [("GPU 0", GPU, "", 5, 120.0), ("GPU 1", GPU, "", 5, 125.0)],
        4,
        ABSOLUTE,
    ),
    ("columns.json", "json", [("power", UNKNOWN, "", 6, 300.5)], 5, ABSOLUTE),
    (
        "dcgm_dmon.txt",
        "dcgmi dmon",
        [
            ("GPU 0", GPU, "", 30, 300.5),
            ("GPU 0 (energy)", GPU, "", 30, 300.0),
            ("GPU 1", GPU, "", 30, 310.5),
            ("GPU 1 (energy)", GPU, "", 30, 300.0),
        ],
        29,
        ABSOLUTE,
    ),
    (
        "dcgm_dmon_untimed.txt",
        "dcgmi dmon",
        [("GPU 0", GPU, "", 10, 100.0), ("GPU 1", GPU, "", 9, 110.0)],
        9,
        NONE,
    ),
    (
        "dcgm_exporter.prom",
        "prometheus",
        [("GPU 0", GPU, "gpu01", 4, 500.25), ("GPU 1", GPU, "gpu01", 4, 510.25)],
        3,
        ABSOLUTE,
    ),
    ("gpu2_power.txt", "pm_counters", [("GPU 2", GPU, "", 6, 310.0)], 0.5, ABSOLUTE),
    (
        "influx.lp",
        "influx",
        [
            ("GPU 0", GPU, "gpu01", 5, 300.5),
            ("total_power", NODE, "gpu01", 5, 900.0),
            ("powerstat_package 0 current_power_consumption_watts", PACKAGE, "gpu01", 5, 120.25),
            ("powerstat_package 0 current_dram_power_consumption_watts", DRAM, "gpu01", 5, 9.5),
        ],
        4,
        ABSOLUTE,
    ),
    ("influx_query.csv", "csv", [("power_draw", UNKNOWN, "gpu01", 10, 300.0)], 9, ABSOLUTE),
    (
        "kepler_new.prom",
        "prometheus",
        [
            ("kepler_node_cpu package", PACKAGE, "node7", 4, 55.25),
            ("kepler_node_cpu package (energy)", PACKAGE, "node7", 4, 55.0),
            ("kepler_node_cpu dram", DRAM, "node7", 4, 4.5),
        ],
        15,
        ABSOLUTE,
    ),
    (
        "kepler_old.prom",
        "prometheus",
        [("kepler_node_package 0 rapl-sysfs", PACKAGE, "node7", 4, 50.0)],
        15,
        ABSOLUTE,
    ),
    (
        "likwid_powermeter.txt",
        "likwid",
        [
            ("package", PACKAGE, "", 2, 80.946),
            ("DRAM", DRAM, "", 2, 11.249),
            ("package (1)", PACKAGE, "", 2, 69.996),
        ],
        2,
        NONE,
    ),
    (
        "likwid_timeline.txt",
        "likwid",
        [("package", PACKAGE, "", 6, 83.0), ("DRAM", DRAM, "", 6, 11.0)],
        2.5,
        NONE,
    ),
    (
        "likwid_total.txt",
        "likwid",
        [("package", PACKAGE, "", 2, 100.2), ("DRAM", DRAM, "", 2, 10.0)],
        2.5,
        NONE,
    ),
    (
        "node_exporter.prom",
        "prometheus",
        [
            (
                "node_hwmon_power_average LNXSYSTM:00_LNXSYBUS:00_ACPI000D:00 power1",
                NODE,
                "",
                4,
                180.0,
            ),
            ("node_rapl_package 0", PACKAGE, "", 4, 60.0),
            ("node_rapl_dram 0", DRAM, "", 4, 5.0),
        ],
        30,
        ABSOLUTE,
    ),
    (
        "nvidia_query.txt",
        "nvidia-smi -q",
        [
            ("GPU 0 (average)", GPU, "", 4, 300.5),
            ("GPU 0 (instant)", GPU, "", 4, 301.5),
            ("GPU 1 (average)", GPU, "", 4, 301.5),
            ("GPU 1 (instant)", GPU, "", 4, 302.5),
        ],
        3,
        LOCAL,
    ),
    (
        "nvidia_query.xml",
        "nvidia-smi -q",
        [
            ("GPU 0 (average)", GPU, "", 4, 300.0),
            ("GPU 0 (instant)", GPU, "", 4, 305.0),
            ("GPU 1 (average)", GPU, "", 4, 310.0),
            ("GPU 1 (instant)", GPU, "", 4, 315.0),
        ],
        3,
        LOCAL,
    ),
    (
        "pm_counters.txt",
        "pm_counters",
        [
            ("GPU 0 (energy)", GPU, "", 5, 300.0),
            ("GPU 0", GPU, "", 5, 300.0),
            ("cpu", PACKAGE, "", 5, 120.0),
            ("node (energy)", NODE, "", 5, 800.0),
            ("memory", DRAM, "", 5, 40.0),
            ("node", NODE, "", 5, 800.0),
        ],
        0.4,
        ABSOLUTE,
    ),
    (
        "power_gadget.json",
        "power gadget",
        [("Processor 0", PACKAGE, "", 5, 9.25), ("DRAM 0", DRAM, "", 5, 1.25)],
        0.4,
        NONE,
    ),
    (
        "power_gadget_short.csv",
        "power gadget",
        [("Processor 0", PACKAGE, "", 2, 9.25), ("IA cores 0", CORE, "", 2, 5.1)],
        0.105,
        NONE,
    ),
    (
        "powermetrics.plist",
        "powermetrics",
        [
            ("CPU", CORE, "", 5, 4.824),
            ("GPU", RAIL, "", 5, 0.026),
            ("ANE", RAIL, "", 5, 0.0),
            ("Combined", PACKAGE, "", 5, 4.85),
        ],
        4.006,
        ABSOLUTE,
    ),
    (
        "powermetrics.txt",
        "powermetrics",
        [
            ("CPU", CORE, "", 7, 4.823),
            ("GPU", RAIL, "", 7, 0.026),
            ("ANE", RAIL, "", 7, 0.0),
            ("Combined", PACKAGE, "", 7, 4.849),
        ],
        6.016,
        ABSOLUTE,
    ),
    (
        "ptdaemon.txt",
        "ptdaemon",
        [
            ("analyser", PLUG, "", 5, 272.93),
            ("analyser Ch1", RAIL, "", 5, 91.06),
            ("analyser Ch2", RAIL, "", 5, 181.0),
        ],
        4,
        LOCAL,
    ),
    (
        "rapl_lines.txt",
        "rapl",
        [
            ("package-0", PACKAGE, "", 5, 60.0),
            ("core", CORE, "", 5, 30.0),
            ("dram", DRAM, "", 5, 5.0),
        ],
        2,
        ABSOLUTE,
    ),
    (
        "records.jsonl",
        "json",
        [("GPU 0", GPU, "n1", 5, 200.5), ("GPU 1", GPU, "n1", 5, 210.5)],
        4,
        ABSOLUTE,
    ),
    ("redfish_environment.jsonl", "redfish", [("node7 power", NODE, "", 4, 512.5)], 3, ABSOLUTE),
    (
        "redfish_power.json",
        "redfish",
        [
            ("System Power Control", NODE, "", 5, 344.0),
            ("PSU1 input", RAIL, "", 5, 190.0),
            ("PSU1 output", RAIL, "", 5, 178.0),
        ],
        4,
        ABSOLUTE,
    ),
    (
        "redfish_report.json",
        "redfish",
        [("SystemPowerConsumption", NODE, "", 6, 400.0), ("TotalCPUPower", PACKAGE, "", 6, 150.0)],
        25,
        BMC,
    ),
    (
        "rocm_smi.csv",
        "rocm-smi",
        [("GPU 0 (instant)", GPU, "", 6, 120.0), ("GPU 1 (instant)", GPU, "", 6, 130.0)],
        5,
        ABSOLUTE,
    ),
    (
        "rocm_smi.json",
        "rocm-smi",
        [("GPU 0", GPU, "", 6, 250.0), ("GPU 1", GPU, "", 6, 260.0)],
        5,
        ABSOLUTE,
    ),
    (
        "rocm_smi.txt",
        "rocm-smi",
        [("GPU 0", GPU, "", 5, 90.0), ("GPU 1", GPU, "", 5, 95.0)],
        4,
        ABSOLUTE,
    ),
    (
        "sacct.txt",
        "slurm",
        [("jobs on gpu[01-02]", NODE, "", 2, 602.0), ("jobs on gpu03", NODE, "gpu03", 2, 510.0)],
        600,
        LOCAL,
    ),
    ("sacct_wide.txt", "slurm", [("jobs", NODE, "", 2, 301.0)], 300, LOCAL),
    (
        "scaphandre.json",
        "scaphandre",
        [
            ("host", NODE, "", 6, 42.5),
            ("socket 0", PACKAGE, "", 6, 38.0),
            ("socket 0 core", CORE, "", 6, 30.0),
            ("socket 0 dram", DRAM, "", 6, 4.0),
        ],
        10,
        ABSOLUTE,
    ),
    (
        "scaphandre.prom",
        "prometheus",
        [
            ("scaph_host_power", NODE, "", 4, 42.5),
            ("scaph_socket_power 0", PACKAGE, "", 4, 38.0),
            ("scaph_domain_power dram 0", DRAM, "", 4, 4.0),
        ],
        6,
        ABSOLUTE,
    ),
    (
        "scaphandre.txt",
        "scaphandre",
        [("host", NODE, "", 4, 40.5), ("socket 0", PACKAGE, "", 4, 38.5)],
        6,
        ABSOLUTE,
    ),
    (
        "sh5util.csv",
        "slurm",
        [("node power", NODE, "gpu01", 5, 410.0), ("node power", NODE, "gpu02", 5, 420.0)],
        8,
        LOCAL,
    ),
    ("shelly_gen1.jsonl", "shelly", [("plug", PLUG, "", 4, 88.25)], 30, ABSOLUTE),
    ("shelly_gen2.jsonl", "shelly", [("WS_in", PLUG, "", 4, 150.5)], 3, ABSOLUTE),
    ("tasmota.txt", "tasmota", [("rack1", PLUG, "", 4, 200.0)], 30, LOCAL),
    (
        "tegrastats_nano.log",
        "tegrastats",
        [
            ("POM_5V_IN", NODE, "", 8, 4.936),
            ("POM_5V_GPU", GPU, "", 8, 1.234),
            ("POM_5V_CPU", PACKAGE, "", 8, 0.877),
        ],
        7,
        NONE,
    ),
    (
        "tegrastats_orin.log",
        "tegrastats",
        [
            ("VDD_GPU_SOC", GPU, "", 8, 5.139),
            ("VDD_CPU_CV", PACKAGE, "", 8, 3.268),
            ("VIN_SYS_5V0", RAIL, "", 8, 5.5),
        ],
        7,
        LOCAL,
    ),
]


MODULES = [
    importlib.import_module(f"powertui.data.power.{dialect.module}")
    for dialect in registry.DIALECTS
    if isinstance(dialect, dialects.Dialect)
]


@pytest.fixture
def tools(data: Path) -> Path:
    return data / "power_tools"


@pytest.mark.parametrize(
    ("name", "dialect", "channels", "seconds", "clock"), SAMPLES, ids=[row[0] for row in SAMPLES]
)
def test_samples(
    tools: Path,
    name: str,
    dialect: str,
    channels: list[tuple[str, Scope, str, int, float]],
    seconds: float,
    clock: str,
) -> None:
    path = str(tools / name)
    assert registry.sniff(path)[0] == ("json" if name == "power_gadget.json" else dialect)
    log = registry.load(path)
    assert log.dialect == dialect
    assert [(s.sensor.name, s.sensor.scope, s.sensor.host, len(s)) for s in log.series] == [
        row[:4] for row in channels
    ]
    firsts = [float(s.watts[np.isfinite(s.watts)][0]) for s in log.series]
    assert firsts == pytest.approx([row[4] for row in channels], abs=2e-3)
    assert float(log.series[0].times[-1] - log.series[0].times[0]) / 1e9 == pytest.approx(
        seconds, rel=1e-3
    )
    assert {s.clock.source for s in log.series} == {clock}
    for series in log.series:
        assert (np.diff(series.times) > 0).all()
        assert series.sensor.scale is Badge.MEASURED or dialect == "csv"


def test_every_sample_is_in_the_table(tools: Path) -> None:
    assert {path.name for path in tools.iterdir() if path.suffix != ".md"} == {
        row[0] for row in SAMPLES
    }


def test_every_sample_is_recognised_by_its_own_reader_only(data: Path) -> None:
    """The readers of any table and any JSON come after all others, and take what nobody
    else knows.
    """
    for path in sorted((*(data / "power").iterdir(), *(data / "power_tools").iterdir())):
        if path.suffix == ".md":
            continue
        source = LogFile(str(path))
        head = source.head if source.head.startswith(SQLITE) else source.head_text
        scores = {reader.name: reader.score for reader in registry.readers(head, str(path))}
        surest = max(scores, key=lambda name: scores[name])
        assert registry.sniff(str(path))[0] == surest or not any(scores.values()), path.name
        known = {
            name: score
            for name, score in scores.items()
            if score and name not in ("csv", "json", "log lines")
        }
        assert len(known) <= 1, (path.name, known)
        if known:
            assert max(scores, key=lambda name: scores[name]) in known, (path.name, scores)


def test_a_reader_is_imported_when_a_head_calls_for_it(tools: Path) -> None:
    code = (
        "import sys; from powertui.data.power import registry; "
        f"print(registry.sniff({str(tools / 'tegrastats_orin.log')!r})[0]); "
        "print(sorted(name.rsplit('.', 1)[-1] for name in sys.modules if "
        "name.startswith('powertui.data.power.')))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert told[0] == "tegrastats"
    assert "'tegrastats'" in told[1]
    for other in (
        "redfish",
        "slurm",
        "powermetrics",
        "likwid",
        "shelly",
        "nvidia_query",
        "codecarbon",
        "json_docs",
    ):
        assert f"'{other}'" not in told[1], told[1]


def test_nobody_takes_what_is_no_power_log(tmp_path: Path) -> None:
    for name, text in [
        (
            "trace.json",
            (
                '{"traceEvents": [{"ph": "X", "name": "power", "ts": 1, "dur": 2}], '
                '"displayTimeUnit": "ns"}'
            ),
        ),
        ("config.json", '{"power_limit": 300, "time": "2024-05-01", "model": "resnet"}'),
        ("metrics.jsonl", '{"step": 1, "loss": 0.5, "time": 1714557600}\n' * 9),
        ("train.log", "RAM 3/4 used, GPU 0 busy, POWER of two, card0\n" * 9),
        ("requirements.txt", "numpy>=1.24\npandas>=1.5\n"),
        ("slurm.out", "JobID 4711 started on gpu01\nepoch 1 loss 0.4\n"),
        ("host.xml", "<?xml version='1.0'?><hosts><host name='a'/></hosts>"),
    ]:
        path = tmp_path / name
        path.write_text(text)
        assert registry.sniff(str(path))[1] < registry.IS_POWER, (name, registry.sniff(str(path)))


@pytest.mark.parametrize("name", [row[0] for row in SAMPLES])
def test_recoded_and_packed(tools: Path, tmp_path: Path, name: str) -> None:
    text = (tools / name).read_bytes()
    plain = [(s.sensor.name, s.watts.tolist()) for s in registry.load(str(tools / name)).series]
    for kind, body in [
        ("gz", gzip.compress(text)),
        ("utf16", b"\xff\xfe" + text.decode().encode("utf-16-le")),
        ("bom", b"\xef\xbb\xbf" + text),
        ("crlf", text.replace(b"\n", b"\r\n")),
    ]:
        folder = tmp_path / kind
        folder.mkdir()
        path = folder / name
        path.write_bytes(body)
        assert str(
            [(s.sensor.name, s.watts.tolist()) for s in registry.load(str(path)).series]
        ) == str(plain), kind


@pytest.mark.parametrize(
    "name",
    [
        row[0]
        for row in SAMPLES
        if not row[0].startswith(
            ("likwid_total", "likwid_powermeter", "power_gadget_s", "sacct", "columns")
        )
    ],
)
def test_what_was_cut_loses_nothing_that_can_be_read(
    tools: Path, tmp_path: Path, name: str
) -> None:
    whole = (tools / name).read_bytes()
    rows = sum(len(s) for s in registry.load(str(tools / name)).series)
    path = tmp_path / name
    for share in (0.97, 0.9, 0.8, 0.7):
        path.write_bytes(whole[: int(len(whole) * share)])
        found = registry.load(str(path))
        got = sum(len(s) for s in found.series)
        assert got >= (share - 0.3) * rows, (share, got, rows)
        before = {s.sensor: s for s in registry.load(str(tools / name)).series}
        for series in found.series:  # no reading that the whole file does not have
            assert set(series.watts[np.isfinite(series.watts)].round(6)) <= set(
                before[series.sensor].watts.round(6)
            ), (name, share)


# ── devices and hosts ────────────────────────────────────────────────────────────────────────────

UUID = "GPU-2c1f0a4e-8c3b-4e6d-9f10-00000000000"
H100 = "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        (
            "nvidia_query.xml",
            [Device(g, f"{UUID}{g}", f"0000:{0x1B + g:02x}:00.0", H100) for g in (0, 0, 1, 1)],
        ),
        (
            "nvidia_query.txt",
            [Device(g, "", f"0000:{0x1B + g:02x}:00.0", "") for g in (0, 0, 1, 1)],
        ),
        (
            "dcgm_exporter.prom",
            [Device(g, f"{UUID}{g}", f"0000:{0x1B + g:02x}:00.0", H100) for g in (0, 1)],
        ),
        ("dcgm_dmon.txt", [Device(0), Device(0), Device(1), Device(1)]),
        ("influx.lp", [Device(0, f"{UUID}0", "", H100), None, None, None]),
        ("amd_smi_metric.json", [Device(0), Device(1), Device(2)]),
        ("rocm_smi.csv", [Device(0), Device(1)]),
        ("pm_counters.txt", [Device(0), Device(0), None, None, None, None]),
        (
            "aiu_smi.txt",
            [
                Device(0, "", "0301:50:00.0", "IBM Spyre"),
                Device(1, "", "0302:50:00.0", "IBM Spyre"),
            ],
        ),
    ],
)
def test_each_channel_knows_its_device(
    tools: Path, name: str, devices: list[Device | None]
) -> None:
    assert [series.sensor.device for series in registry.load(str(tools / name)).series] == devices


# ── what stands in them beside power ─────────────────────────────────────────────────────────────


def said(path: Path) -> str:
    return " ".join(str(warning) for warning in registry.load(str(path)).warnings)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dcgm_dmon_untimed.txt", ["'N/A' instead of a reading", "one round every 1 s is assumed"]),
        ("tegrastats_nano.log", ["one round every 1 s is assumed"]),
        ("ptdaemon.txt", ["-1, not measured"]),
        ("sacct.txt", ["reports no energy", "whole nodes"]),
        ("aiu_smi.csv", ["'-' instead of a reading"]),
        ("likwid_total.txt", ["no power within it is known"]),
    ],
)
def test_what_was_left_out_or_assumed_is_said(tools: Path, name: str, words: list[str]) -> None:
    for part in words:
        assert part in said(tools / name)


def written(tmp_path: Path, text: str, name: str = "log.txt") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_several_answers_without_a_time_are_refused_with_the_command(tmp_path: Path) -> None:
    card = '{"card0": {"Average Graphics Package Power (W)": "35.0"}}\n'
    with pytest.raises(UnreadableFile, match="answers of rocm-smi and no time") as caught:
        registry.load(str(written(tmp_path, card * 3)))
    assert "date +%s" in str(caught.value)
    alone = registry.load(str(written(tmp_path, card)))
    assert alone.series[0].watts.tolist() == [35.0]


def test_a_temperature_of_a_power_supply_is_no_power(tmp_path: Path) -> None:
    """`ipmitool sensor get` names the unit; where it names none, the sensor's name has to."""

    def block(name: str, reading: str) -> str:
        return (
            f"2026-11-20 10:00:00\nSensor ID              : {name} (0x1)\n Sensor Reading   "
            f"     : {reading}\n Status : ok\n"
        )

    text = (
        block("PS1 Power Temp", "35 (+/- 0) degrees C")
        + block("Fan 1", "30 (+/- 0)")
        + block("Total Power", "280 (+/- 0) Watts")
    )
    log = registry.load(str(written(tmp_path, text * 2)))
    assert log.dialect == "ipmitool"
    assert [series.sensor.name for series in log.series] == ["Total Power"]


@pytest.mark.parametrize("text", ["245.5", "-3", "1e30", "1.1e30", "-1.1e30", "inf", "-inf", "nan"])
def test_a_reading_of_a_scrape_is_a_number_where_a_tables_cell_is(text: str) -> None:
    from powertui.data.power import prometheus, table

    assert prometheus._value(text) == pytest.approx(table.number(text), nan_ok=True)


def test_half_of_powerboards_names_are_not_its_header() -> None:
    from powertui.data.power import powerboard

    assert powerboard.sniff("Time_elapsed,Sensor_Name,Sensor_Reading\n", "x.csv") == 100
    assert powerboard.sniff("Time_elapsed,loss\n", "x.csv") == 0
    assert powerboard.sniff("step,Sensor_Reading\n", "x.csv") == 0


def test_an_entity_in_xml_is_text(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "1"><!ENTITY b "&a;&a;&a;&a;">]>\n'
    body = (
        "<gpu id='x'><product_name>&b;</product_name><gpu_power_readings><power_draw>40 "
        "W</power_draw></gpu_power_readings></gpu>"
    )
    log = registry.load(
        str(
            written(
                tmp_path,
                (
                    f"{bomb}<nvidia_smi_log><timestamp>Wed May  1 10:00:00 "
                    f"2024</timestamp>{body}</nvidia_smi_log>"
                ),
            )
        )
    )
    assert log.series[0].sensor.device is not None
    assert log.series[0].sensor.device.model == "&b;"


def test_one_of_several_attached_gpus_is_not_called_the_first(tools: Path, tmp_path: Path) -> None:
    text = (
        (tools / "nvidia_query.xml").read_text().replace("<attached_gpus>2<", "<attached_gpus>8<")
    )
    log = registry.load(str(written(tmp_path, text)))
    assert {series.sensor.device.index for series in log.series if series.sensor.device} == {None}
    assert {series.sensor.device.pci for series in log.series if series.sensor.device} == {
        "0000:1b:00.0",
        "0000:1c:00.0",
    }


def test_a_header_again_after_a_restart_is_no_row(tools: Path, tmp_path: Path) -> None:
    for name in ("amd_smi_monitor.csv", "dcgm_dmon.txt", "aiu_smi.txt", "rocm_smi.csv"):
        text = (tools / name).read_text()
        later = text.replace("17145576", "17145586").replace("10:00:", "10:20:")
        found = registry.load(str(written(tmp_path, text + later, name)))
        assert [len(s) for s in found.series] == [
            2 * len(s) for s in registry.load(str(tools / name)).series
        ], name


def test_a_broken_document_among_whole_ones_costs_itself(tools: Path, tmp_path: Path) -> None:
    lines = (tools / "shelly_gen2.jsonl").read_text().splitlines()
    lines[1] = lines[1][:60]
    path = written(tmp_path, "\n".join(lines) + "\n")
    assert registry.load(str(path)).series[0].watts.tolist() == [150.5, 152.5, 153.5]
    assert "not a whole JSON document" in said(path)


def test_dcgm_blanks_are_no_watts(tmp_path: Path) -> None:
    rows = "".join(
        f"GPU 0  {value}\n" for value in ("300.5", "2147483632", "9223372036854775794", "301.5")
    )
    path = written(tmp_path, "#Entity   POWER\nID        W\n" + rows)
    assert registry.load(str(path)).series[0].watts.tolist() == [300.5, 301.5]


@pytest.mark.parametrize(
    "text",
    [
        "{" * 50_000,
        "[" * 50_000,
        '{"a":' * 20_000,
        '{"apower": 1' * 5_000,
        "<nvidia_smi_log>" * 5_000,
    ],
)
def test_hostile_nesting_ends_with_a_sentence(tmp_path: Path, text: str) -> None:
    for head in ("", '{"apower": 3.5, "ts": 1714557600}\n'):
        path = written(tmp_path, head + text)
        try:
            log = registry.load(str(path))
        except PowertuiError:
            continue
        assert len(log.series) <= 2


@pytest.mark.parametrize(
    "part", ["\n", " ", "\t", "Power ", "(", "1 W, ", "a=1,", '{"', "GPU ", "|", "RAM 1/2MB "]
)
def test_no_head_keeps_a_reader_busy(part: str) -> None:
    """Seconds of the processor, not of a clock: a pattern that tries again from each character
    takes minutes for these.
    """
    before = time.process_time()
    for first in ("time,power.draw [W] Watts pwr\n", '{"card0": 1}\n', ""):
        head = first + (part * 60_000)[:60_000] + "\n"
        for dialect in registry.DIALECTS:
            dialect.could_read(head)
        for module in MODULES:
            if hasattr(module, "sniff"):
                module.sniff(head, "")
    assert time.process_time() - before < 20
