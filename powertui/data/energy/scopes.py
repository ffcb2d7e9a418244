"""Which channels may be added up.

A node holds its packages and GPUs, a package holds its cores: never both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import field

import numpy as np

from powertui.data.energy import supplies
from powertui.data.energy.hostnames import MAX_LISTED_NAMES
from powertui.data.model import Device, PowerSeries, Scope, Sensor
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

# The number of a GPU or an AIU, as logs and profiles write it.
NUMBER = late_pattern(r"(?:gpu|cuda|rocm|hip|aiu)[\s:#_\[-]*(\d{1,3})", re.IGNORECASE)
# A node whose peak is less than this share of what its parts draw is no node. Chosen: two sensors
# of one thing differ by their gains, of ±5 % each, and by when they read.
_MIN_NODE_SHARE = 0.85
# Input of a machine over what its board reads: supplies lose 5 to 20 %, more at little load. At 1.1
# a plug and a BMC of one machine would be two things.
_MAX_SUPPLY_RATIO = 1.3
_GPU_WORD = late_pattern(r"(?<![a-z])gpu", re.IGNORECASE)
# What feeds a GPU's board, as HWiNFO and GPU-Z name it beside "GPU Power".
_GPU_RAIL = late_pattern(
    r"nvvdd|fbvdd|msvdd|mvddc?|vddc|vddci|12vhpwr|\d-?pin|pcie|slot|(?<![a-z])rail", re.IGNORECASE
)
_READ_IN_A_WAY = late_pattern(r" \([^()]*\)$")  # behind a name: "GPU 0 (average)"
_NUMBERED = late_pattern(r"\d+")
_TOTAL = late_pattern(
    r"(?<![a-z])(?:total|sum|all|overall|combined|aggregate)s?(?![a-z])", re.IGNORECASE
)
_WHOLE_SCOPES = (Scope.NODE, Scope.PLUG)  # of channels that hold a whole machine
_PART_SCOPES = (Scope.GPU, Scope.PACKAGE, Scope.DRAM)
_FEEDING = "together they feed the machine"
_PARTS = "parts of the machine, not the whole"
# What is said where channels could be one thing or several, and how that begins where none counts.
_OVERLAP_UNKNOWN = "it is not known which of"
NONE_FOR_OVERLAP = f"none: {_OVERLAP_UNKNOWN}"


@dataclass(frozen=True, eq=False)
class Addends:
    """The channels that make up the machine's power as far as it was measured, and what was left
    out.
    """

    series: tuple[PowerSeries, ...]
    indices: tuple[int, ...]  # into what was given
    text: str

    @property
    def is_doubtful(self) -> bool:
        """Whether channels were left out that may be a thing of their own."""
        return _OVERLAP_UNKNOWN in self.text


def _overlap(series: PowerSeries, rival: PowerSeries) -> bool:
    """Whether two channels of a machine are, or may be, one thing that draws power. Of two such
    only one is counted.

    One log tells its GPUs apart by itself: two ways of reading one ("GPU 0 (average)", "GPU 0
    (instant)") have one name. Channels of two logs are two GPUs only where both say which, in the
    same way.
    """
    sensor = series.sensor
    rival_sensor = rival.sensor
    if sensor.scope is not rival_sensor.scope:
        return False
    if _name_of_thing(sensor) == _name_of_thing(rival_sensor):
        return True
    gpu = device(sensor)
    rival_gpu = device(rival_sensor)
    if gpu is not None and rival_gpu is not None:
        for key in ("uuid", "pci", "index"):
            identity = getattr(gpu, key)
            rival_identity = getattr(rival_gpu, key)
            if identity not in ("", None) and rival_identity not in ("", None):
                return bool(identity == rival_identity)
    return series.path != rival.path


def _name_of_thing(sensor: Sensor) -> str:
    return _READ_IN_A_WAY.sub("", sensor.name).casefold()


def device(sensor: Sensor) -> Device | None:
    """The GPU that a channel names: as its reader says, else by the number in its name."""
    if sensor.device is not None or sensor.scope is not Scope.GPU:
        return sensor.device
    match = NUMBER.search(sensor.name)
    if match is None:
        return None
    return Device(int(match[1]))


def of_one(
    series: Sequence[PowerSeries],
    *,
    assumed: Collection[int] = (),
    single: Collection[int] = (),
    other_gpus: Collection[int] = (),
) -> Addends:
    """Disjoint channels of one machine, by whatever names its logs call it (node17, bmc-node17).

    Of channels of the whole machine those that are its own by name come before those that are only
    `assumed` to be. Those that a person gave to the machine one by one are `single`: nothing else
    could say of channels without a known scope that they do not overlap. `other_gpus` are none that
    its profile shows: they count in no sum of parts.
    """
    rows = [row for row, channel in enumerate(series) if len(channel)]
    machine = _Machine(
        series=series,
        rows=rows,
        named=_label,
        assumed=frozenset(assumed),
        single=frozenset(single),
        other_gpus=frozenset(other_gpus),
    )
    return machine.addends()


def total(series: Sequence[PowerSeries]) -> Addends:
    """Disjoint channels, host by host as the logs name them.

    Of several logs that cannot be added up the first counts: whoever has several gives the better
    one first.
    """
    rows_of_host: dict[str, list[int]] = {}
    for row, channel in enumerate(series):
        rows = rows_of_host.setdefault(channel.sensor.host, [])
        if len(channel):
            rows.append(row)
    picked: list[int] = []
    words: list[str] = []
    for host, rows in rows_of_host.items():
        machine = _Machine(
            series=series,
            rows=rows,
            named=_name,
            is_owned=False,
        )
        of_host = machine.addends()
        picked += of_host.indices
        if of_host.text:
            words.append(f"{host}: {of_host.text}" if host else of_host.text)
    return _addends(series, picked, "; ".join(words))


def _addends(
    series: Sequence[PowerSeries],
    rows: Sequence[int],
    text: str,
) -> Addends:
    return Addends(
        series=tuple(series[row] for row in rows),
        indices=tuple(rows),
        text=text,
    )


@dataclass(frozen=True, eq=False)
class _Machine:
    """The channels of one machine, of which the widest that are alive make up its power: a part
    never lowers it.
    """

    series: Sequence[PowerSeries]
    rows: Sequence[int]
    named: Callable[[PowerSeries], str]
    assumed: frozenset[int] = frozenset()
    single: frozenset[int] = frozenset()
    other_gpus: frozenset[int] = frozenset()
    is_owned: bool = True  # somebody knows that all of it is this machine's
    _peaks: dict[int, float] = field(default_factory=dict)  # W of each channel

    def addends(self) -> Addends:
        """Those that count."""
        chosen, text = self._chosen()
        return _addends(self.series, chosen, text)

    def _chosen(self) -> tuple[list[int], str]:
        if not self.rows:
            return [], ""
        if all(self._is_zero(row) for row in self.rows):
            return [], "none: every reading is 0 W, so nothing was measured"
        parts = self._parts()
        whole = self._whole(parts)
        if whole is not None:
            return whole
        gpu_words = self._gpu_words()
        if parts:
            rows, text = self._together(parts, "overlapping, ", _PARTS)
            if gpu_words:
                text = f"{text}; {gpu_words}"
            return rows, text
        if self.other_gpus:
            return [], f"none: {gpu_words}"
        return self._unknown()

    def _gpu_words(self) -> str:
        """Why some GPUs, or all, are not counted."""
        gpus = [row for row in self.rows if self.series[row].sensor.scope is Scope.GPU]
        others = sum(row in self.other_gpus for row in gpus)
        if not others:
            return ""
        if others < len(gpus):
            return f"{others} of {len(gpus)} GPUs of the log {_are(others)} not in the profile"
        if others == 1:
            return "1 GPU is logged, and nothing shows that the profile used it"
        return f"{others} GPUs are logged, and nothing shows which of them the profile used"

    def _whole(self, parts: Sequence[int]) -> tuple[list[int], str] | None:
        """What all of the machine's power goes through: its node, plug or supplies; None where no
        channel is of that.
        """
        outlets = set(supplies.outlets(self.series, self.rows))
        for scope in _WHOLE_SCOPES:
            of_machine = []
            for row in self._of_scope(scope):
                if row not in outlets and self._holds([row], parts):
                    of_machine.append(row)
            by_name = [row for row in of_machine if row not in self.assumed]
            if of_machine:
                return self._whole_of_scope(scope, by_name or of_machine)
        return self._by_outlets(outlets, parts) or self._wider_unknown(parts)

    def _whole_of_scope(self, scope: Scope, rows: Sequence[int]) -> tuple[list[int], str]:
        """The channel, or the supplies, of a scope that holds the whole machine."""
        if scope is Scope.PLUG:
            inlets = supplies.supplies(self.series, rows)
            if len(inlets) > 1:
                return self._together(inlets, "others ", _FEEDING)
        all_assumed = self.assumed.issuperset(rows)
        if len(rows) > 1 and all_assumed and self._are_unlike(rows):
            return [], f"none: {len(rows)} logs may be of this machine, but their power differs"
        of_first_log = self._of_log(rows, rows[0])
        return self._alone(self._longest(of_first_log))

    def _of_log(self, rows: Sequence[int], row: int) -> list[int]:
        """Those of these channels that are of the same log as one of them."""
        path = self.series[row].path
        return [channel for channel in rows if self.series[channel].path == path]

    def _by_outlets(
        self,
        outlets: Collection[int],
        parts: Sequence[int],
    ) -> tuple[list[int], str] | None:
        """The outlets, or the supplies, that feed the machine."""
        living = self._living()
        feeding = [row for row in living if row in outlets]
        if len(feeding) > 1 and not self.is_owned:
            best = self._longest(feeding)
            name = self.named(self.series[best])
            words = f"{name} alone: {_OVERLAP_UNKNOWN} the {len(feeding)} outlets feed the machine"
            return [best], words
        feeding = feeding or supplies.supplies(self.series, living)
        if not feeding or not self._holds(feeding, parts):
            return None
        if len(feeding) == 1:
            return self._alone(feeding[0])
        return self._together(feeding, "others ", _FEEDING)

    def _of_scope(self, scope: Scope) -> list[int]:
        return [row for row in self._living() if self.series[row].sensor.scope is scope]

    def _longest(self, rows: Sequence[int]) -> int:
        return max(rows, key=lambda row: len(self.series[row]))

    def _holds(
        self,
        rows: Sequence[int],
        parts: Sequence[int],
        share: float = _MIN_NODE_SHARE,
    ) -> bool:
        """Whether channels can hold all that these parts draw.

        The peak is held against the parts' median: the logs may tell of different hours.
        """
        if not parts:
            return True
        parts_w = sum(self._level(row) for row in parts)
        peak_w = sum(self._peak(row) for row in rows)
        return peak_w >= share * parts_w

    def _wider_unknown(self, parts: Sequence[int]) -> tuple[list[int], str] | None:
        """The one channel beside parts of which nothing says what it covers, where it holds them
        all.
        """
        unknown = self._of_scope(Scope.UNKNOWN)
        if len(unknown) != 1 or not parts:
            return None
        if not self._holds(unknown, parts, share=1.0):
            return None
        return self._alone(unknown[0])

    def _parts(self) -> list[int]:
        """GPUs, packages and memory that do not overlap."""
        parts: list[int] = []
        for row in self._living():
            channel = self.series[row]
            if channel.sensor.scope not in _PART_SCOPES or row in self.other_gpus:
                continue
            if self._is_total_of_parts(channel) or self._is_within_gpu(channel):
                continue
            if not any(_overlap(channel, self.series[part]) for part in parts):
                parts.append(row)
        return parts

    def _is_within_gpu(self, channel: PowerSeries) -> bool:
        """Whether a channel is the memory or a rail on a GPU's board, which the GPU's own power
        holds.
        """
        sensor = channel.sensor
        gpus = [self.series[row].sensor for row in self._of_scope(Scope.GPU)]
        if sensor.scope is Scope.DRAM and _GPU_WORD.search(sensor.name):
            return bool(gpus)
        if sensor.device is not None or not _is_rail(sensor):
            return False
        return any(gpu.device is None and not _is_rail(gpu) for gpu in gpus)

    def _is_total_of_parts(self, channel: PowerSeries) -> bool:
        """Whether a channel is what several parts beside it draw together: `Total_GPU_Power` beside
        `GPU0_Power` and `GPU1_Power`.
        """
        name = channel.sensor.name
        if not _TOTAL.search(name) or _NUMBERED.search(name):
            return False
        numbered = []
        for row in self._of_scope(channel.sensor.scope):
            beside = self.series[row]
            if beside.path == channel.path and _NUMBERED.search(beside.sensor.name):
                numbered.append(row)
        if len(numbered) == 1:
            # The total of one part is that part, unless parts are missing.
            total_w = float(np.nanmedian(channel.watts))
            return self._peak(numbered[0]) >= _MIN_NODE_SHARE * total_w
        return len(numbered) > 1

    def _unknown(self) -> tuple[list[int], str]:
        living = self._living()
        first = living[0]
        first_name = self.named(self.series[first])
        if len(self.rows) == 1:
            return [first], f"{first_name} alone"
        # What comes out of a supply went into it.
        outputs = supplies.outputs(self.series, living)
        going_in = [row for row in living if row not in outputs]
        if len(going_in) == 1:
            return self._alone(going_in[0])
        if self.single.issuperset(going_in):
            return self._together(going_in, "others ", _PARTS)
        words = f"the {len(self.rows)} channels overlap"
        of_first_log = self._of_log(living, first)
        if self.is_owned and (len(of_first_log) > 1 or self._are_unlike(going_in)):
            return [], f"{NONE_FOR_OVERLAP} {words}"
        return [first], f"{first_name} alone: {_OVERLAP_UNKNOWN} {words}"

    def _are_unlike(self, rows: Sequence[int]) -> bool:
        """Whether channels of several logs cannot be readings of one thing: not even what is lost
        in a supply lies between them.
        """
        logs = {self.series[row].path for row in rows}
        if len(logs) < 2:
            return False
        levels = [self._level(row) for row in rows]
        return max(levels) > _MAX_SUPPLY_RATIO * min(levels)

    def _living(self) -> list[int]:
        """The channels that read anything but zero; all, where none does."""
        living = [row for row in self.rows if self._peak(row) > 0]
        return living or list(self.rows)

    def _is_zero(self, row: int) -> bool:
        """Whether it says 0 W and nothing else; a channel that does not answer is missing."""
        return self._peak(row) <= 0 and self._answers(row)

    def _answers(self, row: int) -> bool:
        is_answer = np.isfinite(self.series[row].watts)
        return bool(is_answer.any())

    def _peak(self, row: int) -> float:
        if row not in self._peaks:
            peak_w = 0.0
            if self._answers(row):
                peak_w = float(np.nanmax(self.series[row].watts))
            self._peaks[row] = peak_w
        return self._peaks[row]

    def _level(self, row: int) -> float:
        if not self._answers(row):
            return 0.0
        return float(np.nanmedian(self.series[row].watts))

    def _alone(self, row: int) -> tuple[list[int], str]:
        name = self.named(self.series[row])
        others = len(self.rows) - 1
        if others:
            return [row], f"{name} alone, which includes the other {others}"
        return [row], f"{name} alone"

    def _together(
        self,
        rows: list[int],
        others: str,
        what: str,
    ) -> tuple[list[int], str]:
        listed = rows[:MAX_LISTED_NAMES]
        names = " + ".join(self.named(self.series[row]) for row in listed)
        unlisted = len(rows) - len(listed)
        if unlisted:
            names += f" + {unlisted} more"
        unused = len(self.rows) - len(rows) - len(self.other_gpus)
        if unused:
            names += f" ({unused} {others}left out)"
        return rows, f"{names}: {what}"


def _is_rail(sensor: Sensor) -> bool:
    """Whether a channel is named as what feeds a GPU's board."""
    return _GPU_RAIL.search(sensor.name) is not None


def _are(count: int) -> str:
    return "are" if count > 1 else "is"


def _name(series: PowerSeries) -> str:
    return series.sensor.name or series.sensor.source or "power"


def _label(series: PowerSeries) -> str:
    return series.sensor.label
