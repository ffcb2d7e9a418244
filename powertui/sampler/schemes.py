"""The table of power sources, one line each: how a URL names it, where its code is, and what it is
on the machine we run on.

A further source is one file beside this one with

    def make(address: Address, options: Options) -> Source

and one line in `SCHEMES`. It is then opened by `--source`, the config file and `powertui.record`,
and named in the help; with `here` it is also looked for by `powertui sensors`, and by `record`
where nothing was named. A module is imported when its source is opened.
"""

from __future__ import annotations

from powertui.named_tuples import NamedTuple

_RAPL_FILES = "/sys/class/powercap/intel-rapl:*/energy_uj"
_PERF = "kernel.perf_event_paranoid=0"


class Scheme(NamedTuple):
    """One kind of source."""

    target: str  # "module:function" in this folder
    written: str = ""  # how the help writes its URL; "" for one that nobody has to name
    here: str = ""  # the URL of what there is of it on this machine
    # Scopes and other sources: where one of them is recorded, this one is not recorded as well.
    yields_to: tuple[str, ...] = ()
    # Named only where it is found: most machines have nothing of the kind, or another source reads
    # the same sensor.
    quiet: bool = False
    to_open: str = ""  # what an administrator can open to users
    bmc: bool = False  # wants a login; how often it may be asked does not say how often it has news
    port: int | None = None  # where it is asked when its URL names no port


# Those of this machine in the order in which they are asked: whole machines first, in band and at
# once; then what takes a while to answer; then processors alone, which a whole machine's figure
# holds; then what Slurm counts every half minute.
SCHEMES: dict[str, Scheme] = {
    "auto": Scheme("auto:make", bmc=True),
    "ipmi": Scheme("ipmi:make", "ipmi://", bmc=True, port=623),
    "redfish": Scheme("redfish:make", "redfish://", bmc=True, port=443),
    "pm_counters": Scheme(
        "pm_counters:make",
        "pm_counters:",
        "pm_counters:",
        quiet=True,
        to_open="read access to /sys/cray/pm_counters",
    ),
    "hwmon": Scheme(
        "hwmon:make",
        "hwmon:",
        "hwmon:",
        to_open="read access to /sys/class/hwmon/*/power*_input and energy*_input (a udev rule)",
    ),
    "nvml": Scheme("nvml:make", "nvml:", "nvml:"),
    "amd": Scheme("hwmon:make_amd", "amd:", "amd:", yields_to=("hwmon:",), quiet=True),
    "ipmitool": Scheme(
        "ipmitool:make",
        "ipmitool:",
        "ipmitool:open",
        yields_to=("node",),
        to_open="read access to /dev/ipmi0 (a udev rule)",
        bmc=True,
        port=623,
    ),
    "nvidia-smi": Scheme(
        "gpu_programs:make_nvidia",
        "nvidia-smi:",
        "nvidia-smi:",
        yields_to=("nvml:",),
        quiet=True,
    ),
    "amd-smi": Scheme(
        "gpu_programs:make_amd",
        "amd-smi:",
        "amd-smi:",
        yields_to=("amd:", "hwmon amdgpu"),
        quiet=True,
    ),
    "aiu-smi": Scheme("aiu_smi:make", "aiu-smi:", "aiu-smi:", quiet=True),
    "rapl": Scheme(
        "rapl:make",
        "rapl:",
        "rapl:",
        yields_to=("node", "package"),
        to_open=f"read access to {_RAPL_FILES} (a udev rule) or {_PERF}",
    ),
    "perf": Scheme(
        "perf:make",
        "perf:",
        "perf:",
        yields_to=("node", "package"),
        quiet=True,
        to_open=_PERF,
    ),
    "slurm": Scheme(
        "slurm:make",
        "slurm:",
        "slurm:",
        yields_to=("node", "package"),
        quiet=True,
        to_open="AcctGatherEnergyType in slurm.conf",
    ),
    "prometheus": Scheme("prometheus:make", "prometheus://", port=9090),
    "csv": Scheme("csv_tail:make", "csv:FILE"),
}


def local() -> dict[str, Scheme]:
    """What there may be on this machine, by its URL."""
    return {scheme.here: scheme for scheme in SCHEMES.values() if scheme.here}


def as_help() -> str:
    """Every URL that can be named, as the help writes them."""
    return " ".join(scheme.written for scheme in SCHEMES.values() if scheme.written)


def usual_port(scheme: str) -> int | None:
    """The port that a URL of this scheme means when it names none."""
    return SCHEMES[scheme].port if scheme in SCHEMES else None


def is_bmc(scheme: str) -> bool:
    """Whether sources of this scheme are BMCs."""
    return scheme in SCHEMES and SCHEMES[scheme].bmc
