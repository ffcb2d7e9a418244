"""The chips of the kernel's hardware monitor that measure power, and what each of their files is:
/sys/class/hwmon.

hwmonN is numbered anew at every boot, so chips are found by their name and values by their label.
Files are in µW (power) and µJ (energy). A counter of energy is exact where a sample of power is a
moment, so it is taken in the place of the power file with the same label.
"""

from __future__ import annotations

import re
from pathlib import Path

from powertui.named_tuples import NamedTuple

__all__ = ["AMD_CHIPS", "Chip", "Meter", "chips", "is_partition"]

AMD_CHIPS = ("amdgpu",)
_NODE_CHIPS = ("acpi_power_meter", "power_meter", "ibmaem", "ibmpex")
_VALUE = re.compile(r"(power|energy)(\d+)_(input|average)")
_WHOLE_WATTS = (
    "ibmpowernv",
)  # the driver reads watts as an integer and multiplies them by a million
_PART_OF_SOCKET = re.compile(
    r"Ecore\d+"
)  # amd_energy counts each core, and the sockets that hold them


class Meter(NamedTuple):
    """One power or energy file and what it is called."""

    chip: str
    label: str
    path: Path
    scope: str
    averaged: bool = False
    counts: bool = False  # energy in µJ, running up
    sampled: Path | None = None  # of a counter: the power file with its label

    @property
    def quantum_w(self) -> float | None:
        """The step of its values, where the driver is known."""
        if self.chip in _WHOLE_WATTS and not self.counts:
            return 1.0
        return None

    def as_samples(self) -> Meter | None:
        """The power file in the place of a counter; None where there is none."""
        if self.sampled is None:
            return None
        return self._replace(
            path=self.sampled,
            averaged=self.sampled.name.endswith("_average"),
            counts=False,
            sampled=None,
        )

    @property
    def kind(self) -> str:
        """As `Channel` says it."""
        return "interval" if self.counts else "sampled"

    @property
    def note(self) -> str:
        """What a person should know of it."""
        how = (
            "; energy counter, watts are the mean since the last reading"
            if self.counts
            else ", averaged by the chip" * self.averaged
        )
        return f"{self.chip} {self.path.name}{how}"


class Chip(NamedTuple):
    name: str
    folder: Path
    meters: tuple[Meter, ...]


def _text(path: Path) -> str:
    try:
        return "".join(c for c in path.read_text("utf-8", "replace").strip() if c.isprintable())[
            :80
        ]
    except OSError:
        return ""


def _scope(chip: str, label: str) -> str:
    name = label.casefold()
    if chip in AMD_CHIPS or "gpu" in name:
        return "gpu"
    if chip in _NODE_CHIPS or name in ("system", "total power", "system power"):
        return "node"
    if re.fullmatch(r"(chip|p|proc|processor|cpu|esocket) ?\d* ?(power)?", name):
        return "package"
    if "mem" in name or "centaur" in name:
        return "dram"
    if label:
        return "rail"
    return "unknown"


def chips(root: str) -> list[Chip]:
    """Every chip that has power or energy files, in a stable order, whatever its number is
    today.
    """
    found_chips: list[Chip] = []
    base = Path(root) / "sys/class/hwmon"
    for folder in sorted(base.glob("hwmon*"), key=lambda p: int(re.sub(r"\D", "", p.name) or 0)):
        name = _text(folder / "name") or folder.name
        meters = _meters(folder, name)
        if meters:
            found_chips.append(Chip(name, folder, tuple(meters)))
    return found_chips


def _meters(folder: Path, chip: str) -> list[Meter]:
    """The power and energy files of one chip. Of two with one label the energy counter stays."""
    files: dict[tuple[str, int], tuple[Path, str]] = {}
    for path in sorted(folder.glob("[pe][on]*")):  # input wins over average
        if match := _VALUE.fullmatch(path.name):
            files[match[1], int(match[2])] = (path, match[3])
    powers: list[Meter] = []
    counters: dict[str, Meter] = {}
    for (what, index), (path, kind) in sorted(
        files.items(), key=lambda item: (item[0][0] != "power", item[0][1])
    ):
        label = _text(folder / f"{what}{index}_label")
        meter = Meter(
            chip=chip,
            label=label or f"{what}{index}",
            path=path,
            scope=_scope(chip, label),
            averaged=kind == "average",
            counts=what == "energy",
        )
        if what == "power":
            powers.append(meter)
        elif not _PART_OF_SOCKET.fullmatch(label):
            counters.setdefault(label or f"power{index}", meter)
    meters = [
        counters.pop(meter.label)._replace(sampled=meter.path) if meter.label in counters else meter
        for meter in powers
    ]
    return meters + list(counters.values())


def is_partition(root: str) -> bool:
    """Whether this is a guest on POWER (PowerVM, KVM), where `ibmpowernv` has nothing to read: OPAL
    is not below it.
    """
    return (Path(root) / "proc/ppc64/lparcfg").exists() and not (
        Path(root) / "sys/firmware/opal"
    ).exists()
