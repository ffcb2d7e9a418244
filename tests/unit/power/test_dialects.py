"""Every dialect on a sample of its own, and the public recordings: channels, units, spans, clocks,
what was left out.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.energy import sensor
from powertui.data.model import Badge, Figure, PowerKind, PowerSeries, Scope
from powertui.data.power import registry, times
from powertui.errors import UnreadableFile, UsageError

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
NONE, LOCAL, ABSOLUTE = "none", times.LOCAL, times.ABSOLUTE

# file, dialect, channels as (name, scope, rows, mean watts), seconds from first to last row, clock
SAMPLES = [
    ("powerboard.csv", "powerboard", [("Total Power", NODE, 50, 268.24)], 12.247, NONE),
    ("powerboard_epoch.csv", "powerboard", [("Total Power", NODE, 50, 268.24)], 12.247, ABSOLUTE),
    ("powerboard_bad_rows.csv", "powerboard", [("Total Power", NODE, 47, 270.17)], 12.247, NONE),
    ("dataipmi_data.csv", "powerboard", [("Total Power", NODE, 50, 268.24)], 12.247, NONE),
    ("ipmi_data.db", "powerboard", [("Total Power", NODE, 50, 268.24)], 12.247, NONE),
    ("2023-07-13.csv", "powergraph", [("power", NODE, 20, 437.4)], 19.0, LOCAL),
    ("powergraph_noheader.csv", "powergraph", [("power", NODE, 10, 409.5)], 9.0, NONE),
    (
        "nvidia_smi_two_gpus.csv",
        "nvidia-smi",
        [("GPU 0", GPU, 30, 11.43), ("GPU 1", GPU, 29, 214.86)],
        29.0,
        LOCAL,
    ),
    (
        "nvidia_smi_noheader.csv",
        "nvidia-smi",
        [(f"GPU {g}", GPU, 20, 32.375 + 10 * g) for g in range(3)],
        19.0,
        LOCAL,
    ),
    (
        "nvidia_smi_index.csv",
        "nvidia-smi",
        [
            ("GPU 0", GPU, 10, 94.5),
            ("GPU 1", GPU, 10, 95.5),
            ("GPU 0 (instant)", GPU, 10, 95.5),
            ("GPU 1 (instant)", GPU, 10, 96.5),
        ],
        9.0,
        LOCAL,
    ),
    (
        "nvidia_dmon.txt",
        "nvidia-smi dmon",
        [("GPU 0", GPU, 8, 63.5), ("GPU 1", GPU, 7, 83.71)],
        7.0,
        NONE,
    ),
    ("nvidia_dmon_times.txt", "nvidia-smi dmon", [("GPU 0", GPU, 8, 73.5)], 7.0, LOCAL),
    ("nvml_wide.csv", "csv", [("GPU0", GPU, 40, 63.2), ("GPU1", GPU, 40, 58.975)], 19.5, ABSOLUTE),
    ("ipmi_dcmi_ctime.txt", "ipmitool", [("DCMI power", NODE, 6, 257.5)], 5.0, LOCAL),
    ("ipmi_dcmi_utc.txt", "ipmitool", [("DCMI power", NODE, 5, 244.0)], 4.0, times.BMC),
    ("ipmi_dcmi_edt.txt", "ipmitool", [("DCMI power", NODE, 5, 264.0)], 4.0, times.BMC),
    ("ipmi_dcmi_date.txt", "ipmitool", [("DCMI power", NODE, 7, 233.71)], 7.0, ABSOLUTE),
    (
        "ipmi_sensor.txt",
        "ipmitool",
        [
            ("Fan Power A", RAIL, 9, 12.44),
            ("Proc0 Power", PACKAGE, 9, 117.0),
            ("GPU Sense", GPU, 9, 0.0),
            ("Total Power", NODE, 9, 297.0),
        ],
        8.0,
        LOCAL,
    ),
    ("ipmi_sdr.txt", "ipmitool", [("Total_Power", NODE, 6, 292.5)], 5.0, ABSOLUTE),
    ("ipmi_sdr_type.txt", "ipmitool", [("Total_Power", NODE, 1, 165.0)], 0.0, NONE),
    ("ipmi_sensor_get.txt", "ipmitool", [("Total Power", NODE, 12, 238.0)], 11.0, ABSOLUTE),
    (
        "ipmi_exporter.txt",
        "prometheus",
        [
            ("ipmi_dcmi_power_consumption", NODE, 5, 262.0),
            ("ipmi_power Pwr Consumption", NODE, 5, 272.0),
        ],
        60.0,
        ABSOLUTE,
    ),
    (
        "exporter_snapshot.txt",
        "prometheus",
        [
            ("ipmi_dcmi_power_consumption", NODE, 1, 260.0),
            ("ipmi_power Pwr Consumption", NODE, 1, 270.0),
        ],
        0.0,
        NONE,
    ),
    (
        "exporter_stamped.txt",
        "prometheus",
        [("node_rapl_package 0", PACKAGE, 6, 55.5)],
        5.0,
        ABSOLUTE,
    ),
    (
        "prometheus_matrix.json",
        "prometheus",
        [("ipmi_dcmi_power_consumption", NODE, 10, m) for m in (204.5, 214.667, 224.5)],
        9.0,
        ABSOLUTE,
    ),
    ("prometheus_vector.json", "prometheus", [("GPU 2", GPU, 1, 71.25)], 0.0, ABSOLUTE),
    (
        "codecarbon.csv",
        "codecarbon",
        [("CPU", PACKAGE, 5, 40.0), ("GPU", GPU, 5, 98.8), ("RAM", DRAM, 5, 6.0)],
        1260.0,
        LOCAL,
    ),
    ("zeus.csv", "zeus", [("GPU 0", GPU, 5, 156.67), ("GPU 1", GPU, 5, 151.0)], 37.0, NONE),
    (
        "perf_stat.csv",
        "perf stat",
        [("power/energy-pkg/", PACKAGE, 6, 19.8), ("power/energy-ram/", DRAM, 6, 1.985)],
        4.505,
        LOCAL,
    ),
    ("perf_stat_locale.txt", "perf stat", [("power/energy-pkg/", PACKAGE, 3, 518.9)], 2.002, LOCAL),
    (
        "turbostat.txt",
        "turbostat",
        [
            ("PkgWatt package 0", PACKAGE, 4, 99.5),
            ("PkgWatt package 1", PACKAGE, 4, 94.0),
            ("RAMWatt package 0", DRAM, 4, 10.0),
            ("RAMWatt package 1", DRAM, 4, 11.5),
        ],
        15.0,
        NONE,
    ),
    (
        "turbostat_times.txt",
        "turbostat",
        [("PkgWatt", PACKAGE, 12, 35.5), ("CorWatt", CORE, 12, 25.5)],
        11.0,
        ABSOLUTE,
    ),
    (
        "power_gadget.csv",
        "power gadget",
        [
            ("Processor 0", PACKAGE, 10, 9.5),
            ("IA cores 0", CORE, 10, 4.25),
            ("DRAM 0", DRAM, 10, 1.0),
        ],
        0.9,
        NONE,
    ),
    (
        "amester.csv",
        "amester",
        [
            ("PWR1MS", NODE, 8, 303.5),
            ("PWR1MSP0", PACKAGE, 8, 121.5),
            ("PWR1MSMEM0", DRAM, 8, 40.0),
        ],
        0.224,
        NONE,
    ),
    (
        "rapl_wrap.csv",
        "rapl",
        [("package-0", PACKAGE, 8, 50.0), ("dram-0", DRAM, 8, 7.0)],
        7.0,
        ABSOLUTE,
    ),
    ("rapl_reset.csv", "rapl", [("package-0", PACKAGE, 8, 40.0)], 7.0, ABSOLUTE),
    (
        "rapl_sysfs.txt",
        "rapl",
        [("package-0", PACKAGE, 6, 60.0), ("core", CORE, 6, 30.0)],
        5.0,
        ABSOLUTE,
    ),
    (
        "pyjoules.csv",
        "rapl",
        [
            ("package_0", PACKAGE, 3, 40.0),
            ("dram_0", DRAM, 3, 4.0),
            ("nvidia_gpu_0", GPU, 3, 150.0),
        ],
        6.0,
        ABSOLUTE,
    ),
    ("wall_plug.csv", "wall plug", [("Actual Consumption", PLUG, 12, 344.333)], 660.0, LOCAL),
    (
        "generic_long.csv",
        "csv",
        [("GPU 0", GPU, 6, 52.5), ("GPU 1", GPU, 6, 52.6)] * 2,
        5.0,
        ABSOLUTE,
    ),
    ("generic_mw.csv", "csv", [("cpu power", PACKAGE, 20, 45.095)], 1.9, NONE),
    ("generic_noheader.csv", "csv", [("column 2", UNKNOWN, 12, 301.5)], 11.0, ABSOLUTE),
    ("generic_value.csv", "csv", [("value", UNKNOWN, 12, 301.5)], 11.0, NONE),
    ("generic_joules.csv", "csv", [("energy", UNKNOWN, 12, 12.0)], 11.0, ABSOLUTE),
    ("growing.csv", "csv", [("watts", UNKNOWN, 12, 251.5)], 11.0, ABSOLUTE),
    (
        "recording.csv",
        "powertui recording",
        [("bmc1 power", NODE, 12, 245.91), ("rapl package-0", PACKAGE, 12, 50.5)],
        11.0,
        ABSOLUTE,
    ),
]


def span(series: PowerSeries) -> float:
    return float(series.times[-1] - series.times[0]) / 1e9


def mean(series: PowerSeries) -> float:
    return float(np.nanmean(series.watts)) if np.isfinite(series.watts).any() else float("nan")


@pytest.mark.parametrize(
    ("name", "dialect", "channels", "seconds", "clock"), SAMPLES, ids=[row[0] for row in SAMPLES]
)
def test_samples(
    data: Path,
    name: str,
    dialect: str,
    channels: list[tuple[str, Scope, int, float]],
    seconds: float,
    clock: str,
) -> None:
    path = str(data / "power" / name)
    assert registry.sniff(path)[0] == dialect
    log = registry.load(path)
    assert log.dialect == dialect
    assert log.guess
    assert str(log.series[0].warnings[-1]) == f"{path}: read as {log.guess}"
    assert [(s.sensor.name, s.sensor.scope, len(s)) for s in log.series] == [
        channel[:3] for channel in channels
    ]
    assert [mean(s) for s in log.series] == pytest.approx(
        [channel[3] for channel in channels], rel=2e-3
    )
    assert span(log.series[0]) == pytest.approx(seconds, abs=2e-3)
    assert {s.clock.source for s in log.series} == {clock}
    for series in log.series:
        assert series.path == path
        assert (np.diff(series.times) > 0).all()
        assert series.clock.known == (clock != NONE)
        assert (series.joules is not None) == (series.kind is PowerKind.INTERVAL)


def test_every_sample_is_in_the_table(data: Path) -> None:
    unreadable = {"powerboard_shifted.csv", "ipmi_dcmi_untimed.txt", "prometheus_error.json"}
    found = {path.name for path in (data / "power").iterdir()} - unreadable - {"generic_markup.csv"}
    assert found == {row[0] for row in SAMPLES}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "powerboard_shifted.csv",
            ["'Unknown' as every reading", "columns are shifted", "--watts-col"],
        ),
        ("ipmi_dcmi_untimed.txt", ["2 readings of DCMI power and no usable time", "date +%s"]),
        ("prometheus_error.json", ["exceeded maximum resolution", "Fetch it in parts"]),
    ],
)
def test_what_cannot_be_read_says_why_and_what_to_do(
    data: Path, name: str, words: list[str]
) -> None:
    with pytest.raises(UnreadableFile) as caught:
        registry.load(str(data / "power" / name))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("name", "warnings"),
    [
        ("powerboard.csv", []),
        (
            "powerboard_bad_rows.csv",
            [
                "rows 5, 10): the reading is not a number, 2 times",
                "row 7): has 3 fields where the others have 16",
                "row 52): has 7",
            ],
        ),
        ("dataipmi_data.csv", ["pre-release PowerBoard"]),
        (
            "ipmi_data.db",
            [
                "row 6): the sensor did not give a number",
                "11 rows of Total Power repeat another row; dropped",
                "time goes back at 1 of 61",
            ],
        ),
        ("powergraph_noheader.csv", ["no date"]),
        ("nvidia_smi_two_gpus.csv", ["row 11): '[N/A]' instead of a reading"]),
        (
            "nvidia_dmon.txt",
            ["row 8): '-' instead of a reading", "one round per second is assumed"],
        ),
        ("ipmi_dcmi_date.txt", ["0 W from a BMC that reports its power reading as deactivated"]),
        ("ipmi_sensor.txt", ["'na' instead of a reading, 9 times"]),
        (
            "codecarbon.csv",
            ["row 5): its window overlaps the one before", "row 4): no gpu_energy", "of a model"],
        ),
        ("perf_stat.csv", ["row 8): <not counted> instead of joules"]),
        ("turbostat.txt", ["5 s per interval is assumed"]),
        ("rapl_wrap.csv", ["package-0 wrapped 1 time; corrected"]),
        ("rapl_reset.csv", ["package-0 was reset 1 time; left as a gap"]),
        ("growing.csv", ["row 14): the last line is incomplete"]),
        (
            "recording.csv",
            [
                "row 35): the last line is incomplete",
                "1 reading missing: no answer within 2 s",
                "1 reading was marked stale",
            ],
        ),
        ("power_gadget.csv", []),
    ],
)
def test_rows_left_out_are_counted_and_named(data: Path, name: str, warnings: list[str]) -> None:
    found = [str(warning) for warning in registry.load(str(data / "power" / name)).warnings]
    assert len(found) == len(warnings), found
    for words in warnings:
        assert any(words in text for text in found), (words, found)


def test_the_model_of_a_gpu_decides_how_its_sensor_averages(data: Path) -> None:
    a100, unknown = (
        sensor.describe(registry.load(str(data / "power" / f"nvidia_smi_{name}.csv")).series[0])
        for name in ("index", "two_gpus")
    )
    assert a100.sensor.window_s == Figure(0.025, Badge.ASSUMED)
    assert unknown.sensor.window_s == Figure(1.0, Badge.ASSUMED)


def test_zero_is_never_written_for_unknown(data: Path) -> None:
    for row in SAMPLES:
        if row[0] == "ipmi_sensor.txt":
            continue  # its GPU Sense really says 0.000
        for series in registry.load(str(data / "power" / row[0])).series:
            assert not (series.watts == 0).any(), row[0]


def test_counters_wrap_and_reset(data: Path) -> None:
    wrapped = registry.load(str(data / "power" / "rapl_wrap.csv")).series[0]
    assert wrapped.joules is not None
    assert wrapped.joules[1:] == pytest.approx(50, abs=1e-3)
    reset = registry.load(str(data / "power" / "rapl_reset.csv")).series[0]
    assert np.flatnonzero(np.isnan(reset.watts)).tolist() == [0, 4]


def test_windows_and_the_pauses_between_them(data: Path) -> None:
    zeus = registry.load(str(data / "power" / "zeus.csv")).series[0]
    assert (zeus.times / 1e9).tolist() == [0, 10, 12, 32, 37]
    assert np.isnan(zeus.watts).tolist() == [
        True,
        False,
        True,
        False,
        False,
    ]  # 10 to 12 s is a pause
    assert "boot" in zeus.clock.detail
    flushed = registry.load(str(data / "power" / "codecarbon.csv")).series[0]
    assert flushed.joules is not None
    assert flushed.joules[1:3] == pytest.approx(
        [0.0007 * 3.6e6] * 2
    )  # the second row of a run tells what was added


def test_elapsed_logs_keep_their_own_zero_and_others_begin_at_their_first_row(data: Path) -> None:
    assert registry.load(str(data / "power" / "powerboard.csv")).series[0].times[
        0
    ] == pytest.approx(250_000_000)
    epoch = registry.load(str(data / "power" / "powerboard_epoch.csv")).series[0]
    assert epoch.clock.lo_ns == pytest.approx(
        1_700_000_000 * times.S, abs=2_000
    )  # start(), told by both columns
    assert epoch.times[0] == pytest.approx(250_000_000, abs=2_000)
    wide = registry.load(str(data / "power" / "nvml_wide.csv")).series[0]
    assert wide.times[0] == 0
    assert wide.clock.lo_ns == 1_718_000_000_250_000_000


def test_local_times_are_an_interval_until_someone_knows_the_zone(data: Path) -> None:
    path = str(data / "power" / "nvidia_smi_two_gpus.csv")
    naive = registry.load(path).series[0].clock
    assert naive.lo_ns is not None
    assert naive.hi_ns is not None
    assert naive.hi_ns - naive.lo_ns == 26 * 3600 * times.S
    as_utc = 1_709_287_200_178_000_000  # 2024-03-01 10:00:00.178 UTC
    assert times.with_offset(naive, 0).lo_ns == as_utc
    assert times.with_offset(naive, -3 * 3600).lo_ns == as_utc + 3 * 3600 * times.S
    for tz in ("-03:00", "America/Sao_Paulo"):
        told = registry.load(path, LogColumns(tz=tz)).series[0].clock
        assert told.source == ABSOLUTE
        assert told.lo_ns == told.hi_ns == as_utc + 3 * 3600 * times.S
        assert told.utc_offset_s == -3 * 3600
    with pytest.raises(UsageError, match="does not know that time zone"):
        registry.load(path, LogColumns(tz="Mars/Olympus"))


def test_what_a_file_holds_is_data_and_nothing_else(data: Path) -> None:
    log = registry.load(str(data / "power" / "generic_markup.csv"))
    assert log.series[0].sensor.name == "[bold]=cmd|' /C calc'!A0 watts[/bold]"
    assert mean(log.series[0]) == 301.5


def test_the_database_is_opened_without_a_trace(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "a folder?#%41" / "ipmi_data.db"
    copy.parent.mkdir()
    shutil.copy(data / "power" / "ipmi_data.db", copy)
    before = copy.read_bytes()
    copy.chmod(0o400)
    copy.parent.chmod(0o500)
    try:
        assert len(registry.load(str(copy)).series[0]) == 50
        assert [path.name for path in copy.parent.iterdir()] == ["ipmi_data.db"]
        assert copy.read_bytes() == before
    finally:
        copy.parent.chmod(0o700)


# ── what a person says ───────────────────────────────────────────────────────────────────────────


def test_columns_unit_and_zone_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(
        "when;a;b\n"
        + "".join(f"01/05/2024 10:00:{i:02};{1000 * i};{5000 + i}\n" for i in range(10))
    )
    log = registry.load(
        str(path), LogColumns(time_col="when", watts_col="b", unit="mW", tz="+02:00", host="box")
    )
    assert mean(log.series[0]) == pytest.approx(5.0045)
    assert log.series[0].sensor.host == "box"
    assert (
        log.series[0].clock.lo_ns == 1_704_448_800_000_000_000 - 7200 * times.S
    )  # month first: the first number keeps still
    both = registry.load(str(path), LogColumns(time_col="1", watts_col="a,b"))
    assert [s.sensor.name for s in both.series] == ["a", "b"]
    with pytest.raises(UsageError, match="no column 'c'"):
        registry.load(str(path), LogColumns(watts_col="c"))
    with pytest.raises(UsageError, match="unknown unit"):
        registry.load(str(path), LogColumns(time_col="when", watts_col="a", unit="horse"))


def test_files_that_are_no_power_log(tmp_path: Path) -> None:
    for name, text, words in [
        ("empty.csv", "", "is empty"),
        ("history.csv", "epoch,loss,accuracy\n0,0.5,0.7\n1,0.4,0.8\n", "power"),
        ("notes.txt", "nothing to see here\nnor here\n", "no column"),
        (
            "prose.txt",
            "the time and the power of it\nwere never measured by anyone here\n",
            "no column",
        ),
        (
            "pointer.csv",
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "Git LFS pointer",
        ),
        ("binary.csv", "\x00\x01\x02" * 100, "binary"),
        ("header.csv", "time,watts\n", "no complete row"),
        ("na.csv", "time,watts\n1700000000,na\n1700000001,na\n", "na"),
    ]:
        path = tmp_path / name
        path.write_text(text)
        assert registry.sniff(str(path))[1] < registry.IS_POWER or name in (
            "header.csv",
            "na.csv",
        ), name
        with pytest.raises(UnreadableFile) as caught:
            registry.load(str(path))
        assert words in str(caught.value), str(caught.value)
    assert registry.sniff(str(tmp_path / "nothing.csv")) == ("", 0)
    assert registry.sniff(str(tmp_path)) == ("", 0)


# ── public recordings ────────────────────────────────────────────────────────────────────────────

PUBLIC = [
    (
        "powerboard_power_run195247/data/ipmi_data.csv",
        "powerboard",
        {"Total Power": 33},
        8.930,
        (224, 315),
    ),
    (
        "powerboard_power_run195247/ipmi_data.db",
        "powerboard",
        {"Total Power": 33},
        8.930,
        (224, 315),
    ),
    (
        "power_misc/mock_intel_power_gadget_data.csv",
        "power gadget",
        {"Processor 0": 12, "IA cores 0": 12, "DRAM 0": 12},
        1.150,
        (1.1, 10.0),
    ),
    ("power_misc/A40+bert-base-uncased+gpu0.csv", "zeus", {"GPU 0": 18}, 198.115, (100, 280)),
    ("power_misc/emissions.csv", "codecarbon", {"CPU": 43, "GPU": 43, "RAM": 43}, 23395.5, (0, 40)),
]


@pytest.mark.parametrize(
    ("path", "dialect", "channels", "seconds", "watts"), PUBLIC, ids=[row[0] for row in PUBLIC]
)
def test_public_files(
    shared_data: Path,
    path: str,
    dialect: str,
    channels: dict[str, int],
    seconds: float,
    watts: tuple[float, float],
) -> None:
    log = registry.load(str(shared_data / "public" / path))
    assert log.dialect == dialect
    assert {s.sensor.name: len(s) for s in log.series} == channels
    assert span(log.series[0]) == pytest.approx(seconds, abs=0.1)
    values = log.series[0].watts
    assert watts[0] <= np.nanmin(values)
    assert np.nanmax(values) <= watts[1]


def test_every_public_power_file_is_in_the_table(shared_data: Path) -> None:
    found = {
        str(path.relative_to(shared_data / "public"))
        for path in (shared_data / "public").rglob("*")
        if path.is_file()
        and path.suffix in (".csv", ".db", ".txt", ".log", ".tsv")
        and registry.sniff(str(path))[1] >= registry.IS_POWER
    }
    assert found == {row[0] for row in PUBLIC}


def test_the_database_and_the_csv_of_one_run_agree(shared_data: Path) -> None:
    folder = shared_data / "public/powerboard_power_run195247"
    table, base = (
        registry.load(str(folder / name)).series[0]
        for name in ("data/ipmi_data.csv", "ipmi_data.db")
    )
    assert (table.watts == base.watts).all()
    assert np.abs(table.times - base.times).max() <= 5_000  # the CSV has five decimals


def test_a_line_of_megabytes_between_counters_is_looked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "rapl.txt"
    counters = "".join(
        f"17000000{i:02}\n/sys/class/powercap/intel-rapl:0/energy_uj:{10**7 * i}\n"
        for i in range(10)
    )
    for line in (
        "1" * (4 << 20),
        "intel-rapl/" * (1 << 18),
        "/a" * (1 << 20),
        "intel-rapl:0/energy_uj" + " " * (4 << 20),
    ):
        path.write_text(counters + line + "\n" + counters.replace("170000000", "170000001"))
        assert len(registry.load(str(path)).series[0]) == 20


@pytest.mark.parametrize("head", ["start_time,window_name,elapsed_time", "timestamp;tag;duration"])
def test_a_header_that_fits_no_row_is_unreadable(tmp_path: Path, head: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        f"{head} 0.02\n" + "".join(f"reading {i}\n" for i in range(9))
    )  # a table of two columns, parted by blanks
    with pytest.raises(UnreadableFile):
        registry.load(str(path))
