"""The table of dialects: what shows that a log is written in one, and who reads it.

A dialect with a grammar of its own is a module. Three kinds are a row here and nothing else: a
table of watts that any table's reader can read once it knows what the columns do not say
(`PlainTable`, read by `plain_tables`), one whose rows are joules over stretches of time
(`EnergyTable`, read by `energy_tables`), and lines for a person that show watts beside a name
(`PrintedWatts`, read by `printed_watts`).
"""

from __future__ import annotations

import re

from powertui.data.model import Badge, Scope
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_JOULES_PER_KWH = 3.6e6
_SLASHED_YEARS = tuple(f"{year}/" for year in range(2015, 2050))  # how nvidia-smi begins a time


@dataclass(frozen=True)
class Dialect:
    """A dialect with a module of its own, `powertui.data.power.<module>`.

    The module holds `NAME` and `load(source, options) -> PowerLog`. Where `signature` is not enough
    to recognize the dialect, it holds `sniff(head, path) -> int` too (0 = not mine … 100 =
    certain). It is imported, and asked, only about a head that contains one of `words` and one of
    `signs`: most folders hold one kind of log or none.
    """

    module: str
    words: tuple[str, ...] = ()  # none: the module is asked about every head
    signature: str = ""  # a pattern that its heads contain, and no others
    score: int = 0  # of a head that contains the signature
    reads_sqlite: bool = False
    signs: tuple[str, ...] = ()  # what its rows are written with; none: anything

    def could_read(self, head: str | bytes) -> bool:
        """Whether a log that begins so could be of this dialect."""
        if isinstance(head, bytes):
            return self.reads_sqlite
        if self.signature:
            return re.search(self.signature, head) is not None
        if self.signs and not any(sign in head for sign in self.signs):
            return False
        return not self.words or any(word in head for word in self.words)


@dataclass(frozen=True)
class PlainTable:
    """A dialect that is a table of watts with a header."""

    name: str
    program: str  # that writes it, for messages
    columns: tuple[str, ...]  # the header matches all of these patterns, in any case
    score: int
    scope: Scope  # of all its channels
    day_first: bool = False  # of dates that could be read either way
    others: str = ""  # a pattern of headers that are of something else

    def could_read(self, head: str | bytes) -> bool:
        """Whether the header has the columns of this dialect."""
        if isinstance(head, bytes):
            return False
        lines = head.split("\n")
        header = next((line for line in lines if line.strip() and not line.startswith("#")), "")
        if self.others and re.search(self.others, header, re.IGNORECASE):
            return False
        return all(re.search(pattern, header, re.IGNORECASE) for pattern in self.columns)


class EnergyColumn(NamedTuple):
    """Columns of joules: a channel for each column whose whole name matches the pattern.

    The pattern's groups fill the places in `label`.
    """

    pattern: str
    label: str
    scope: Scope
    scale: Badge = Badge.MEASURED


@dataclass(frozen=True)
class EnergyTable:
    """A dialect whose rows are energies over stretches of time, by the names of its columns."""

    name: str
    program: str  # that writes it, for messages
    columns: tuple[str, ...]  # the first line contains all of these names, literally
    score: int
    time: str  # the column with the start of a row's stretch, or with its end
    duration: str  # the column with its length in seconds
    energies: tuple[EnergyColumn, ...]
    joules_per_unit: float
    time_is_end: bool = False
    time_is_number: bool = False  # of seconds, from 1970 or from the machine's boot
    run: str = ""  # the column that names the run whose rows repeat its growing total
    max_start_gap_s: float = 0.0  # by which the rows of one such run may disagree about its start
    drops_zero_columns: bool = False  # 0 stands where the program could not measure
    estimates: str = ""  # what the program does not measure, as a sentence
    guess: str = ""  # `{time}` is where the words about the time go

    def could_read(self, head: str | bytes) -> bool:
        """Whether the first line of the log names the columns of this dialect."""
        if isinstance(head, bytes):
            return False
        first_line = head.split("\n", 1)[0]
        return all(name in first_line for name in self.columns)


class PrintedReading(NamedTuple):
    """A line with watts: `watts` is a group of the pattern, others fill the places in `label`."""

    pattern: str
    label: str  # `{0}` is the last owner
    scope: Scope


@dataclass(frozen=True)
class PrintedWatts:
    """A dialect that a tool prints for a person, with its readings in lines of their own."""

    name: str
    program: str  # that prints it, for messages
    signature: str  # a pattern that its heads contain, and no others
    # In groups: of a later one nothing is read where an earlier one matches.
    readings: tuple[tuple[PrintedReading, ...], ...]
    score: int
    hint: str  # how it is recorded
    owner: str = ""  # a line that names whose readings follow

    def could_read(self, head: str | bytes) -> bool:
        """Whether a log that begins so could be of this dialect."""
        return isinstance(head, str) and re.search(self.signature, head) is not None


# Watts beside volts; dates have the day first, and often whole minutes.
_WALL_PLUG = PlainTable(
    name="wall plug",
    program="a plug",
    columns=(
        r"(voltage|spannung)[^;,\t]{0,80}[/\[( ]V",
        (
            r"(consumption|power|leistung|active power|wirkleistung)[^;,\t]{0,80}?[/\[( "
            r"](m|k)?W[\])]?\s*(?=[;,\t]|$)"
        ),
    ),
    score=93,
    scope=Scope.PLUG,
    day_first=True,
    others=r"(?<![a-z])(?:gpu|cpu|vdd|dram|soc)(?![a-z])",  # sensors inside a machine
)

_ZEUS = EnergyTable(
    name="zeus",
    program="Zeus",
    columns=("start_time", "window_name", "elapsed_time"),
    score=99,
    time="start_time",
    time_is_number=True,
    duration="elapsed_time",
    energies=(
        EnergyColumn(r"gpu(\d*)_energy", "GPU {}", Scope.GPU),
        EnergyColumn(r"cpu(\d*)_energy", "CPU {}", Scope.PACKAGE),
        EnergyColumn(r"dram(\d*)_energy", "DRAM {}", Scope.DRAM),
        EnergyColumn(r"soc(\d*)_energy", "SOC {}", Scope.NODE),
    ),
    joules_per_unit=1.0,
    guess="Zeus: windows in J; start_time in {time}",
)

_CODECARBON = EnergyTable(
    name="codecarbon",
    program="CodeCarbon",
    columns=("emissions", "cpu_energy", "duration"),
    score=98,
    time="timestamp",
    time_is_end=True,
    duration="duration",
    energies=(
        EnergyColumn("cpu_energy", "CPU", Scope.PACKAGE, Badge.ESTIMATED),
        EnergyColumn("gpu_energy", "GPU", Scope.GPU),
        EnergyColumn("ram_energy", "RAM", Scope.DRAM, Badge.ESTIMATED),
    ),
    joules_per_unit=_JOULES_PER_KWH,
    run="run_id",
    max_start_gap_s=3.0,  # its times have whole seconds; the bound is chosen, not measured
    drops_zero_columns=True,
    estimates="CodeCarbon's memory (and processors without a counter) are estimates of a model",
    guess="CodeCarbon: energies in kWh over `duration`, ending at `timestamp` ({time})",
)

_ECO2AI = EnergyTable(
    name="eco2ai",
    program="Eco2AI",
    columns=("start_time", "power_consumption(kW", "duration"),
    score=98,
    time="start_time",
    duration="duration",
    energies=(
        EnergyColumn(
            r"power_consumption(?:\(.*)?",
            "processor, memory and GPU",
            Scope.UNKNOWN,
            Badge.ESTIMATED,
        ),
    ),
    joules_per_unit=_JOULES_PER_KWH,
    run="id",
    estimates="Eco2AI's processor and memory are estimates of a model",
    guess="Eco2AI: energies in kWh over `duration(s)`, from `start_time` on ({time})",
)

_NUMBER = r"(?P<watts>\d{1,6}(?:\.\d{1,6})?)"

# The table, and `-t power`. The words are those of its source and of printed examples.
_NPU_SMI = PrintedWatts(
    name="npu-smi",
    program="npu-smi",
    signature=(
        r"(?m)^\s{0,8}\| NPU {1,9}Name"
        r"|^\s{0,9}NPU ID {1,40}:(?s:.){1,400}?Power[^:\n]{0,20}\(W\)"
    ),
    owner=r"^\s*NPU ID\s+: (\d{1,3})",
    readings=(
        (
            PrintedReading(
                r"^\s{0,8}\| (?P<npu>\d{1,3}) {1,9}[^| ][^|]{0,60}\| [A-Za-z][^|]{0,30}\| "
                + _NUMBER,
                "NPU {npu}",
                Scope.GPU,
            ),
        ),
        (
            PrintedReading(
                r"^\s*(?:NPU Real-time Power|Power Dissipation)\(W\)\s+: " + _NUMBER,
                "NPU {0}",
                Scope.GPU,
            ),
        ),
    ),
    score=97,
    hint="Record it with: while sleep 1; do date +%s.%N; npu-smi info; done >> FILE",
)

# Network UPS Tools. What each outlet draws is a part of what the whole device does.
_UPSC = PrintedWatts(
    name="upsc",
    program="upsc",
    signature=r"(?m)^\s{0,9}(?:ups|output|outlet(?:\.\d{1,3})?)\.realpower: \d",
    readings=tuple(
        (PrintedReading(rf"^\s*{name}\.realpower: {_NUMBER}\s*$", label, Scope.PLUG),)
        for name, label in (
            ("ups", "UPS"),
            ("output", "UPS"),
            ("outlet", "outlets"),
            (r"outlet\.(?P<outlet>\d{1,3})", "outlet {outlet}"),
        )
    ),
    score=96,
    hint="Record it with: while sleep 1; do date +%s.%N; upsc NAME; done >> FILE",
)

# Dell's `racadm getsensorinfo`: the reading is before its limits; and `racadm get System.Power`.
_RACADM = PrintedWatts(
    name="racadm",
    program="racadm",
    signature=(
        r"(?m)^\s{0,9}System Board (?:Pwr Consumption|System Level)\s+\w+\s+\d+\s?Watts"
        r"|^\s{0,9}#?(?:Realtime\.)?Power=\d{1,6} W \|"
    ),
    readings=(
        (
            PrintedReading(
                r"^\s*(?P<name>System Board (?:Pwr Consumption|System Level))\s+\w+\s+"
                + _NUMBER
                + r"\s?Watts",
                "{name}",
                Scope.NODE,
            ),
            PrintedReading(
                r"^\s*#?(?:Realtime\.)?Power=" + _NUMBER + r" W \|", "system power", Scope.NODE
            ),
        ),
    ),
    score=97,
    hint="Record it with: while sleep 5; do date +%s.%N; racadm getsensorinfo; done >> FILE",
)

# Intel's pcm-power: watts are means since the answer before.
_PCM_POWER = PrintedWatts(
    name="pcm-power",
    program="pcm-power",
    signature=r"(?m)(?:^|\s)S\d{1,2}; Consumed energy units: ",
    readings=(
        (
            PrintedReading(
                r"^\s*S(?P<socket>\d{1,2}); Consumed energy units: .{1,60}?; Watts: " + _NUMBER,
                "package {socket}",
                Scope.PACKAGE,
            ),
            PrintedReading(
                r"^\s*S(?P<socket>\d{1,2}); Consumed DRAM .{1,90}?; DRAM Watts: " + _NUMBER,
                "DRAM {socket}",
                Scope.DRAM,
            ),
        ),
    ),
    score=97,
    hint="Record it with: pcm-power 1 | ts '%.s' > FILE",
)

#: The first of two dialects that are equally sure reads the log. The readers of any lines, any JSON
#: and any table are the last.
DIALECTS: tuple[Dialect | PlainTable | EnergyTable | PrintedWatts, ...] = (
    Dialect("recording", ("powertui recording", "time_unix_s,mono_s")),
    Dialect("powerboard", ("Sensor_Reading",), reads_sqlite=True),
    # Without a header and units its times alone show it.
    Dialect("nvidia_smi", ("power.draw", "utilization.gpu", " W", ", P", *_SLASHED_YEARS)),
    Dialect("nvidia_dmon", ("pwr",)),
    Dialect("nvidia_query", ("nvidia_smi_log", "nvsmi_device", "NVSMI LOG")),
    Dialect("nvidia_table", signature="Pwr:Usage/Cap", score=96),
    Dialect("gpustat", ("[0]", "[1]")),
    Dialect("snmp", ("::", ": ")),
    Dialect("freeipmi", ("| W", "|W", ",W,", ",Watts,", " W (")),
    Dialect("openbmc", ("/xyz/openbmc_project/", ".Unit.Watts", "| Watts")),
    Dialect("pdsh", (": ",)),
    Dialect("stamped_rows", ("\n",)),
    Dialect("hpe", ("PowerDetail", "metricSamples")),
    Dialect("dcgm", ("Entity",)),
    Dialect("rocm_smi", ("Power (W)", "SCLK")),
    Dialect("amd_smi", ("_power", "power_usage", "POWER")),
    Dialect("aiu_smi", ("pwr",)),
    Dialect("tegrastats", ("RAM ",)),
    Dialect("ipmitool", ("Watts", "watts", "Sensor ID", "ower", "OWER"), signs=(":", "|")),
    Dialect(
        "redfish",
        ("PowerConsumedWatts", "PowerInputWatts", "PowerWatts", "ReadingUnits", "MetricValues"),
    ),
    # Unlike a table's header, a metric has a blank or labels behind its name.
    Dialect(
        "prometheus",
        ("{", "watt", "joule", "power", "POWER", "status"),
        signs=(" ", "\t", "{", "["),
    ),
    Dialect("influx", ("=",)),
    Dialect("telegraf", signature=r'\{"fields": ?\{[^{}]{1,2000}\}, ?"name": ?"', score=95),
    Dialect("graphite", (".power", "power.", ".watt", "power ", "watts ", "watts,2", "_w ")),
    Dialect("opentsdb", signature=r'"dps": ?[{\[]', score=95),
    Dialect("slurm", ("ConsumedEnergy", "Series", "CurrentWatts", '"jobs"', "lurm")),
    _CODECARBON,
    _ECO2AI,
    _ZEUS,
    _NPU_SMI,
    _UPSC,
    _RACADM,
    _PCM_POWER,
    Dialect("scaphandre", ("consum", "Host:")),
    Dialect("perf_stat", ("Joules",)),
    Dialect("turbostat", ("Watt", "_J")),
    Dialect("likwid", ("MetricsCount", "NumMetrics", "RDTSC", "Energy consumed")),
    Dialect("powermetrics", ("Sampled system activity", "elapsed_ns")),
    Dialect("power_gadget", ("Elapsed Time", "System Time", "RDTSC")),
    Dialect("perfmon", signature=r'^\s{0,9}"?\(PDH-CSV \d', score=97),
    Dialect("afterburner", signature=r"^\s{0,9}00, .{19}, Hardware monitoring log v", score=97),
    Dialect("amester", ("PWR", "rcnt")),
    Dialect(
        "rapl",
        (
            *("energy_uj", "rapl", "RAPL", "timestamp;tag;duration"),
            *("package", "Package", "dram", "pkg", "core", "psys", "pp0"),
        ),
    ),
    Dialect("pm_counters", (" us",)),
    Dialect("ptdaemon", ("Watts,",)),
    Dialect(
        "shelly",
        signature=(
            r'"apower"|"total_act_power"|"act_power"\s*:'
            r'|"e?meters"\s*:\s*\[\s*\{[^}]{0,300}"power"'
        ),
        score=96,
    ),
    Dialect(
        "kasa",
        signature=r"(?m)^[ \t]*== (?:Energy|Emeter) ==[ \t\r]*\n(?:.*\n){0,3}?[ \t]*Power:",
        score=96,
    ),
    Dialect(
        "carbontracker",
        signature=r" - Average power usage \(W\) for \w+: |^.{19} - carbontracker version ",
        score=97,
    ),
    Dialect("rrdtool", ("<xport>", "RRDtool", ": ")),
    Dialect("tasmota", signature=r'"ENERGY"\s*:\s*\{[^}]{0,600}"Power"\s*:', score=97),
    _WALL_PLUG,
    Dialect("powergraph", (":",)),
    Dialect("lm_sensors", ("Adapter: ",)),
    Dialect(
        "log_lines",
        (
            *(f"{digit}W" for digit in range(10)),
            *(" W", " mW", " kW", " watt", " Watt"),
            *("0mW", "0kW", " milliwatt", " kilowatt", "watts=", "_w="),
        ),
    ),
    Dialect("generic_json", ("{",)),
    Dialect("generic_csv"),
)
