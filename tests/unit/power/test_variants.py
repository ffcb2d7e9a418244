"""The same tools as other versions, wrappers and locales write them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.model import Badge, Device, Scope
from powertui.data.power import registry, times, units
from powertui.errors import UnreadableFile

NODE, GPU, PACKAGE, RAIL, PLUG, UNKNOWN = (
    Scope.NODE,
    Scope.GPU,
    Scope.PACKAGE,
    Scope.RAIL,
    Scope.PLUG,
    Scope.UNKNOWN,
)
START = 1_714_557_600  # 2024-05-01 10:00:00 UTC
UTC, LOCAL, NONE = START, "local", None


def lines(form: str, count: int = 8) -> str:
    """A line a second: {t} the second, {tt} with two digits, {T} Unix seconds, {w:N} is N watts
    more each second.
    """
    out = []
    for t in range(count):
        text = form.replace("{tt}", f"{t:02}").replace("{t}", str(t)).replace("{T}", str(START + t))
        for base in range(10_000):
            if f"<{base}>" in text:
                text = text.replace(f"<{base}>", str(base + t))
            if "<" not in text:
                break
        out.append(text)
    return "".join(out)


SMI = """Wed May  1 10:00:{tt} 2024
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.127.05             Driver Version: 550.127.05     CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA A40                     On  |   00000000:4F:00.0 Off |                    0 |
|  0%   29C    P8             <23>W /  300W |       1MiB /  46068MiB |      0%      Default |
|   1  NVIDIA A40                     On  |   00000000:52:00.0 Off |                    0 |
| N/A   30C    P8             ERR! /  300W |       1MiB /  46068MiB |      0%      Default |
|   2  NVIDIA A40                     On  |   00000000:53:00.0 Off |                    0 |
| 30%   30C    P8             <43>W /  300W |       1MiB /  46068MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
| Processes:                                                                              |
|    0   N/A  N/A      1234      C   python                                       400MiB |
"""
ROCM = """{T}
============================== Concise Info ==============================
GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%
0    49.0c           <35>.0W   800Mhz  1600Mhz  0%   auto  560.0W    0%   0%
1    50.0c           <45>.0W   800Mhz  1600Mhz  0%   auto  560.0W    0%   0%
"""
ROCM6 = """{T}
Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK    Fan  Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
0       2     0x74a1,   28851  41.0°C      <139>.0W    NPS1, SPX, 0        131Mhz  900Mhz  0%   auto  750.0W  0%     0%
"""
GPUSTAT = (
    json.dumps(
        {
            "hostname": "gpu01",
            "query_time": "2024-05-01T10:00:{tt}.5",
            "gpus": [
                {
                    "index": 0,
                    "uuid": "GPU-2c1f0a4e-0",
                    "name": "NVIDIA H100",
                    "temperature.gpu": 40,
                    "power.draw": "<8>",
                    "memory.used": 1,
                },
                {
                    "index": 1,
                    "uuid": "GPU-2c1f0a4e-1",
                    "name": "NVIDIA H100",
                    "temperature.gpu": 40,
                    "power.draw": "<9>",
                    "memory.used": 1,
                },
            ],
        }
    )
    .replace('"<8>"', "<8>")
    .replace('"<9>"', "<9>")
    + "\n"
)

# what, text, dialect, channels as (name, scope, host, rows, first watts), the first row's time
VARIANTS = [
    (
        "Xavier's rails",
        lines(
            "RAM 2410/31916MB (lfb 5x4MB) CPU [15%@1190] GPU@46C thermal@45.8C GPU <3154>/154 "
            "SYS5V <1476>/1476\n"
        ),
        "tegrastats",
        [("GPU", GPU, "", 8, 3.154), ("SYS5V", Scope.DRAM, "", 8, 1.476)],
        NONE,
    ),
    (
        "TX2",
        lines(
            "RAM 2007/7852MB (lfb 180x4MB) SWAP 0/3926MB (cached 0MB) VDD_SYS_GPU 153/153 "
            "VDD_4V0_WIFI 0/0 VDD_IN <1423>/1423\n"
        ),
        "tegrastats",
        [
            ("VDD_SYS_GPU", GPU, "", 8, 0.153),
            ("VDD_4V0_WIFI", RAIL, "", 8, 0),
            ("VDD_IN", NODE, "", 8, 1.423),
        ],
        NONE,
    ),
    (
        "a logger around tegrastats",
        lines(
            "[2024-05-01T10:00:{tt}.250Z] [INFO] RAM 2467/7471MB (lfb 2x4MB) VDD_IN "
            "<4462>mW/4462mW VDD_CPU_GPU_CV 480mW/480mW\n"
        ),
        "tegrastats",
        [("VDD_IN", NODE, "", 8, 4.462), ("VDD_CPU_GPU_CV", PACKAGE, "", 8, 0.48)],
        UTC + 0.25,
    ),
    (
        "nvidia-smi's own table",
        lines(SMI),
        "nvidia-smi table",
        [("GPU 0", GPU, "", 8, 23), ("GPU 2", GPU, "", 8, 43)],
        LOCAL,
    ),
    (
        "rocm-smi's own table",
        lines(ROCM),
        "rocm-smi",
        [("GPU 0", GPU, "", 8, 35), ("GPU 1", GPU, "", 8, 45)],
        UTC,
    ),
    ("rocm-smi 6's own table", lines(ROCM6), "rocm-smi", [("GPU 0", GPU, "", 8, 139)], UTC),
    (
        "amd-smi metric as text",
        lines(
            "{T}\nGPU: 0\n    POWER:\n        SOCKET_POWER: <140> W\n        GFX_VOLTAGE: 66 mV\n"
        ),
        "amd-smi",
        [("GPU 0", GPU, "", 8, 140)],
        UTC,
    ),
    (
        "sacct in lower case, without a start",
        "jobid|jobname|Elapsed|ConsumedEnergy|\n99|x|00:10:00|120K|\n99.batch|b|00:10:00|119K|\n",
        "slurm",
        [("jobs", NODE, "", 2, 200)],
        NONE,
    ),
    (
        "perf stat -j",
        lines(
            '{"interval" : 1{t}.001048, "counter-value" : "<19>.000000", "unit" : "Joules", '
            '"event" : "power/energy-pkg/", '
            '"event-runtime" : 1002, "pcnt-running" : 100.00}\n'
        ),
        "perf stat",
        [("power/energy-pkg/", PACKAGE, "", 9, 19 / 10.001048)],
        NONE,
    ),
    (
        "gpustat",
        lines(GPUSTAT),
        "json",
        [("GPU 0", GPU, "gpu01", 8, 8), ("GPU 1", GPU, "gpu01", 8, 9)],
        LOCAL,
    ),
    (
        "wandb",
        lines(
            '{"_timestamp": {T}, "system.gpu.0.powerWatts": <300>, '
            '"system.gpu.0.powerPercent": 50, "system.gpu.1.powerWatts": '
            "<310>}\n"
        ),
        "json",
        [
            ("system.gpu.0.powerWatts", GPU, "", 8, 300),
            ("system.gpu.1.powerWatts", GPU, "", 8, 310),
        ],
        UTC,
    ),
    (
        "a wattmeter's list",
        "["
        + lines(
            '{"timestamp": "2024-05-01T12:00:{tt}+02:00", "device_id": "taurus-1", "metric_id": '
            '"wattmetre_power_watt", "value": <130>},\n'
        ).rstrip(",\n")
        + "]",
        "json",
        [("taurus-1 wattmetre_power", PLUG, "", 8, 130)],
        UTC,
    ),
    (
        "a home's history",
        "entity_id,state,last_changed\n"
        + lines(
            "sensor.rack_plug_power,<150>.5,2024-05-01T10:00:{tt}.000Z\nsensor.rack_plug_voltage,"
            "231,2024-05-01T10:00:{tt}.000Z\n"
        ),
        "csv",
        [("sensor.rack_plug_power", PLUG, "", 8, 150.5)],
        UTC,
    ),
    (
        "xpu-smi",
        "Timestamp, DeviceId, GPU Utilization (%), GPU Power (W)\n"
        + lines("06:14:{tt}.000,    0, 0.00, <14>.61\n06:14:{tt}.000,    1, 0.00, <15>.61\n"),
        "csv",
        [("device 0", GPU, "", 8, 14.61), ("device 1", GPU, "", 8, 15.61)],
        NONE,
    ),
    (
        "GPU-Z",
        (
            "        Date        , GPU Clock [MHz] , Board Power Draw [W] , Power Consumption (%) "
            "[% TDP] ,\n"
        )
        + lines("2024-05-01 10:00:{tt} ,   1500.0   ,   <120>.5   ,   50.0   ,\n"),
        "csv",
        [("Board Power Draw", GPU, "", 8, 120.5)],
        LOCAL,
    ),
    (
        "a foot of names",
        'Date,Time,"CPU Package Power [W]","Total CPU Usage [%]",\n'
        + lines("1.5.2024,10:00:{tt}.000,<45>.123,10.0,\n")
        + 'Date,Time,"CPU Package Power [W]","Total CPU Usage [%]",\n,,"CPU [#0]: X","System",\n',
        "csv",
        [("CPU Package Power", PACKAGE, "", 8, 45.123)],
        LOCAL,
    ),
    (
        "decimal commas",
        "Zeit;Leistung (W)\n" + lines("01.05.2024 10:00:{tt};<230>,5\n"),
        "csv",
        [("Leistung", UNKNOWN, "", 8, 230.5)],
        LOCAL,
    ),
    (
        "commas of thousands",
        "time,power_w\n" + lines('{T},"1,<234>.5"\n'),
        "csv",
        [("power", UNKNOWN, "", 8, 1234.5)],
        UTC,
    ),
    (
        "a zone that several share",
        "timestamp,power_w\n" + lines("2024-05-01 10:00:{tt} CST,<230>\n"),
        "csv",
        [("power", UNKNOWN, "", 8, 230)],
        LOCAL,
    ),
    (
        "a zone of hours",
        "timestamp,power_w\n" + lines("2024-05-01 12:00:{tt}+02,<230>\n"),
        "csv",
        [("power", UNKNOWN, "", 8, 230)],
        UTC,
    ),
    (
        "after noon",
        "timestamp,power_w\n" + lines("2024-05-01 10:00:{tt} PM,<230>\n"),
        "csv",
        [("power", UNKNOWN, "", 8, 230)],
        LOCAL,
    ),
    (
        "sensors",
        lines(
            "Wed May  1 10:00:{tt} UTC 2024\n"
            "power_meter-acpi-0\nAdapter: ACPI interface\npower1:   <230>.00 W  (interval =   "
            "1.00 s)\n\n"
            "amdgpu-pci-0300\nAdapter: PCI adapter\n"
            "PPT:   <35>.00 W  (avg =  33.00 W, cap = 255.00 W)\nedge:  +40.0°C  (crit = "
            "+100.0°C)\n\n"
        ),
        "sensors",
        [("power_meter-acpi-0 power1", NODE, "", 8, 230), ("amdgpu-pci-0300 PPT", GPU, "", 8, 35)],
        UTC,
    ),
    (
        "sensors -u",
        lines(
            "{T}\namdgpu-pci-0300\nAdapter: PCI adapter\nPPT:\n  power1_average: <35>.000\n  "
            "power1_cap: 255.000\n"
            "SOC:\n  power2_average: 7.000\n  power2_input: <8>.500\n\n"
        ),
        "sensors",
        [("amdgpu-pci-0300 PPT", GPU, "", 8, 35), ("amdgpu-pci-0300 SOC", GPU, "", 8, 8.5)],
        UTC,
    ),
    (
        "Python's logging",
        lines(
            "INFO 2024-05-01 10:00:{tt},250 monitor GPU 0 power: <230>.5 W, limit: 350 W\n"
            "INFO 2024-05-01 10:00:{tt},250 monitor GPU 1 power: <240> W (max 260 W)\n"
        ),
        "log lines",
        [("monitor GPU 0 power", GPU, "", 8, 230.5), ("monitor GPU 1 power", GPU, "", 8, 240)],
        LOCAL,
    ),
    (
        "steps in a training's log",
        lines("[2024-05-01 10:00:{tt}] step {t}00 loss 0.{t}1 server power <230> W\n"),
        "log lines",
        [("step loss server power", NODE, "", 8, 230)],
        LOCAL,
    ),
    (
        "syslog",
        lines("May  1 10:00:{tt} mon1 pdu[312]: outlet 7 power=<230>W current=0.9A\n"),
        "log lines",
        [("outlet 7 power", PLUG, "", 8, 230)],
        NONE,
    ),
    (
        "kilowatts below a date",
        lines("{T}.250\nrack load is 1.<100> kilowatts\n"),
        "log lines",
        [("rack load", UNKNOWN, "", 8, 1100)],
        UTC + 0.25,
    ),
    (
        "OpenMetrics' seconds",
        lines('ipmi_dcmi_power_consumption_watts{instance="n1:9290"} <230> {T}.250\n', 8),
        "prometheus",
        [("ipmi_dcmi_power_consumption", NODE, "n1", 8, 230)],
        UTC + 0.25,
    ),
]


@pytest.mark.parametrize(
    ("text", "dialect", "channels", "first"),
    [row[1:] for row in VARIANTS],
    ids=[row[0] for row in VARIANTS],
)
def test_variants(
    tmp_path: Path,
    text: str,
    dialect: str,
    channels: list[tuple[str, Scope, str, int, float]],
    first: float | str | None,
) -> None:
    path = tmp_path / "log.txt"
    path.write_text(text, encoding="utf-8")
    log = registry.load(str(path))
    assert log.dialect == dialect
    assert [(s.sensor.name, s.sensor.scope, s.sensor.host, len(s)) for s in log.series] == [
        row[:4] for row in channels
    ]
    firsts = [float(s.watts[np.isfinite(s.watts)][0]) for s in log.series]
    assert firsts == pytest.approx([row[4] for row in channels])
    clock = log.series[0].clock
    if isinstance(first, str):
        assert clock.source == times.LOCAL
    elif first is None:
        assert not clock.known
    else:
        assert clock.lo_ns == clock.hi_ns
        assert clock.lo_ns == pytest.approx(first * 1e9, abs=1000)


def test_the_device_of_a_column_and_of_a_member(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(
        lines(
            '{"_timestamp": {T}, "system.gpu.0.powerWatts": <300>, "system.gpu.1.powerWatts": '
            "<310>}\n"
        )
    )
    assert [s.sensor.device for s in registry.load(str(path)).series] == [Device(0), Device(1)]


def test_rails_of_a_small_board_without_a_unit_are_milliwatts_and_a_guess(tmp_path: Path) -> None:
    path = tmp_path / "jtop.csv"
    path.write_text(
        "time,GPU,Power VDD_SOC,Power TOT,VDD_SOC mV\n"
        + lines("2024-05-01 10:00:{tt},5,<1400>,<4462>,900\n")
    )
    log = registry.load(str(path))
    assert [
        (s.sensor.name, round(float(s.watts[0]), 6), s.sensor.scale, s.sensor.device)
        for s in log.series
    ] == [("Power VDD_SOC", 1.4, Badge.ASSUMED, None), ("Power TOT", 4.462, Badge.ASSUMED, None)]


def read(tmp_path: Path, text: str, name: str = "log.txt") -> registry.PowerLog:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return registry.load(str(path))


def test_phases_are_no_channels(tmp_path: Path) -> None:
    rows = [f"{START + t},{'idle' if t < 10 else 'train'},{200 + t}\n" for t in range(20)]
    log = read(tmp_path, "time,label,power_w\n" + "".join(rows))
    assert [len(s) for s in log.series] == [20]
    assert "names time spans" in " ".join(map(str, log.warnings))
    blocks = [
        f"{START + t},{sensor},{200 + t}\n" for sensor in ("left", "right") for t in range(20)
    ]
    assert [len(s) for s in read(tmp_path, "time,label,power_w\n" + "".join(blocks)).series] == [
        20,
        20,
    ]


def test_which_is_whose_by_turn_is_a_guess(tmp_path: Path) -> None:
    rows = [f"{START + t}.{100 + g},{300 + 10 * g + t % 2}\n" for t in range(20) for g in range(4)]
    log = read(tmp_path, "time,power_w\n" + "".join(rows))
    assert [(len(s), s.sensor.scale) for s in log.series] == [(20, Badge.ASSUMED)] * 4


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("CPU Sub-system Power", PACKAGE),
        ("System Power Control", NODE),
        ("TotalCPUPower", PACKAGE),
        ("Memory Sub-system Power", Scope.DRAM),
        ("SystemPowerConsumption", NODE),
        ("GPU Sub-system Power", GPU),
    ],
)
def test_parts_of_a_machine_by_the_names_that_bmcs_give(name: str, scope: Scope) -> None:
    assert units.scope_of(name) is scope
    assert units.means_power(name)


@pytest.mark.parametrize(
    "name",
    [
        "power_capacity_watts",
        "Power Limit [W]",
        "node_hwmon_power_cap_watt",
        "GPUTemp",
        "power_max_w",
        "thermal_design_power_watts",
        "DCGM_FI_DEV_POWER_VIOLATION",
        "powerPercent",
        "power_factor",
        "rx_power_dbm",
        "Power (BTU/hr)",
        "power_on_hours",
        "apparent_power_kva",
        "memory_consumption_mb",
        "Current Draw (A)",
        "powerCycles",
        "rated_power_w",
        "Power State",
        "VDD_SOC mV",
    ],
)
def test_what_stands_beside_power_is_none(name: str) -> None:
    assert units.unit_of_name(name) is None
    assert not units.means_power(name)


def test_colours_of_a_recorded_screen(tmp_path: Path) -> None:
    log = read(tmp_path, "time,power_w\n" + lines("\x1b[32m{T}\x1b[0m,\x1b[1m<230>\x1b[0m\n"))
    assert log.series[0].watts.tolist() == [230.0 + t for t in range(8)]


def test_a_binary_profile_of_slurm_says_how_to_get_at_it(tmp_path: Path) -> None:
    path = tmp_path / "node.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200))
    with pytest.raises(UnreadableFile, match="sh5util"):
        registry.load(str(path))


def test_an_energy_that_slurm_does_not_know_is_none(tmp_path: Path) -> None:
    head = "JobID|Start|End|Elapsed|ConsumedEnergyRaw\n"
    rows = "1|2024-05-01T10:00:00|2024-05-01T10:10:00|00:10:00|18446744073709551614\n"
    rows += "2|2024-05-01T11:00:00|2024-05-01T11:10:00|00:10:00|60000\n"
    log = read(tmp_path, head + rows)
    assert np.nansum(log.series[0].joules) == 60000


def test_columns_of_json_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(lines('{"when": {T}, "draw": <230>, "apower": 1}\n'))
    log = registry.load(str(path), LogColumns(time_col="when", watts_col="draw", unit="W"))
    assert log.series[0].watts.tolist() == [230.0 + t for t in range(8)]


@pytest.mark.parametrize("name", ["nvidia_dmon.txt", "zeus.csv", "nvml_wide.csv"])
def test_gpus_in_every_dialect_are_devices(data: Path, name: str) -> None:
    assert [s.sensor.device for s in registry.load(str(data / "power" / name)).series] == [
        Device(0),
        Device(1),
    ]


def test_a_number_of_five_thousand_digits_is_no_card(tmp_path: Path) -> None:
    rows = "".join(f"{START + t},0,{120 + t}\n" for t in range(5))
    log = read(tmp_path, "timestamp,gpu,power_usage\n" + rows + f"{START},{'9' * 5000},120\n")
    assert [s.sensor.name for s in log.series] == ["GPU 0"]
    assert "the GPU is not a number" in " ".join(map(str, log.warnings))


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("energy_watt_hours", "Wh"),
        ("Energy (kWh)", "kWh"),
        ("energy_kilowatt_hours_total", "kWh"),
        ("energy_ws", "J"),
        ("energy_kWh", "kWh"),
        ("power_mw", "mW"),
        ("Current Power (W)", "W"),
        ("power_w_avg", "W"),
        ("total_energy_uj", "uJ"),
        ("Milliwatt hours", "mWh"),
        ("gpu0.powerWatts", "W"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "mJ"),
    ],
)
def test_units_that_names_carry(name: str, unit: str) -> None:
    found = units.unit_of_name(name)
    assert found is not None
    assert found.name == unit


@pytest.mark.parametrize(
    ("per_second", "mark"), [(1, ""), (1_000, ""), (1_000_000, ""), (1_000_000, " µs")]
)
def test_rapl_lines_whose_times_are_elapsed(tmp_path: Path, per_second: int, mark: str) -> None:
    rows = "".join(
        (
            f"{t * per_second + place}{mark} "
            f"{1_000_000 + (50 - 45 * (domain == 'dram')) * 1_000_000 * t} {domain}\n"
        )
        for t in range(10)
        for place, domain in enumerate(("package-0", "dram", "package-1", "dram"))
    )
    log = read(tmp_path, rows)
    assert [(s.sensor.name, len(s)) for s in log.series] == [
        ("package-0", 10),
        ("dram", 10),
        ("package-1", 10),
        ("dram 1", 10),
    ]
    assert [float(np.nanmedian(s.watts)) for s in log.series] == pytest.approx(
        [50, 5, 50, 5], rel=0.05
    )
    assert {s.sensor.scale for s in log.series} == {Badge.MEASURED if mark else Badge.ASSUMED}


def test_units_that_stand_in_the_cells(tmp_path: Path) -> None:
    watts = [850, 950, 1050, 1250, 990, 1500]
    cells = [f"{w} W" if w < 1000 else f"{w / 1000:g} kW" for w in watts]
    log = read(
        tmp_path,
        "Time,rack power\n"
        + "".join(f"2024-05-01 10:00:{t:02},{cell}\n" for t, cell in enumerate(cells)),
    )
    assert log.series[0].watts.tolist() == pytest.approx(watts)
    assert log.series[0].sensor.scale is Badge.MEASURED
    small = read(
        tmp_path,
        "Time,power\n" + "".join(f"2024-05-01 10:00:{t:02},{4400 + t} mW\n" for t in range(6)),
    )
    assert small.series[0].watts.tolist() == pytest.approx([4.4 + t / 1000 for t in range(6)])
    words = read(
        tmp_path,
        "Time,power\n" + "".join(f"2024-05-01 10:00:{t:02},{300 + t} Watts\n" for t in range(6)),
    )
    assert words.series[0].watts.tolist() == [300.0 + t for t in range(6)]


@pytest.mark.parametrize(
    "text",
    [
        lines("2024-05-01 10:00:{tt} power limit <300> W enforced\n"),
        "The server has two 800 W supplies.\nOn 2024-05-01 10:00:07 it drew 213 W.\n",
        lines("2024-05-01 10:00:{tt} <300> Wh used, power 3 W/m, heater2 at 5 Weeks\n"),
        lines("step {t} power <300> W\n"),  # no time
    ],
    ids=["limits", "prose", "other units", "no time"],
)
def test_watts_that_are_no_readings(tmp_path: Path, text: str) -> None:
    path = tmp_path / "train.log"
    path.write_text(text, encoding="utf-8")
    assert registry.sniff(str(path)) == ("", 0)


def test_a_few_readings_in_a_long_log_are_taken_only_when_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        lines("2024-05-01 10:00:{tt} node power <230> W\n") + "loss 0.5\n" * 40, encoding="utf-8"
    )
    dialect, score = registry.sniff(str(path))
    assert dialect == "log lines"
    assert 0 < score < registry.IS_POWER
    assert [len(s) for s in registry.load(str(path)).series] == [8]
