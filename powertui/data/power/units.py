"""What the name of a column or metric says: its unit, and what part of the machine it covers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from powertui.data.model import Scope
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

Quantity = Literal["power", "energy"]


class Unit(NamedTuple):
    """How a written value becomes watts or joules."""

    name: str
    quantity: Quantity
    factor: float


UNITS = {
    unit.name: unit
    for unit in (
        Unit("W", "power", 1.0),
        Unit("mW", "power", 1e-3),
        Unit("uW", "power", 1e-6),
        Unit("kW", "power", 1e3),
        Unit("dW", "power", 0.1),
        Unit("J", "energy", 1.0),
        Unit("mJ", "energy", 1e-3),
        Unit("uJ", "energy", 1e-6),
        Unit("kJ", "energy", 1e3),
        Unit("Wh", "energy", 3600.0),
        Unit("mWh", "energy", 3.6),
        Unit("kWh", "energy", 3.6e6),
    )
}

_WORDS = {
    "w": "W",
    "watt": "W",
    "watts": "W",
    "mw": "mW",
    "milliwatt": "mW",
    "milliwatts": "mW",
    "uw": "uW",
    "µw": "uW",
    "microwatt": "uW",
    "microwatts": "uW",
    "kw": "kW",
    "kilowatt": "kW",
    "kilowatts": "kW",
    "kwatt": "kW",
    "kwatts": "kW",
    "mwatt": "mW",
    "mwatts": "mW",
    "dw": "dW",
    "deciwatt": "dW",
    "deciwatts": "dW",
    "j": "J",
    "joule": "J",
    "joules": "J",
    "mj": "mJ",
    "millijoule": "mJ",
    "millijoules": "mJ",
    "uj": "uJ",
    "µj": "uJ",
    "microjoule": "uJ",
    "microjoules": "uJ",
    "kj": "kJ",
    "wh": "Wh",
    "mwh": "mWh",
    "kwh": "kWh",
    "whs": "Wh",
    "kwhs": "kWh",
    "ws": "J",
    "wattsecond": "J",
    "wattseconds": "J",
}
_MAX_NAME_CHARS = 300  # characters of a name that are looked at
METRICS = {  # metrics and fields whose names do not end in a unit
    "DCGM_FI_DEV_POWER_USAGE": "W",
    "DCGM_FI_DEV_POWER_USAGE_INSTANT": "W",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": "mJ",
    "node_hwmon_power_average_watt": "W",
    "node_hwmon_power_input_watt": "W",
    "amd_gpu_power": "W",
    "power.draw": "W",
    "power_draw": "W",
    "habanalabs_power_mW": "mW",
    "gpu_package_power": "W",
    "gpu_average_package_power": "W",
    "amd_gpu_package_power": "W",
    "amd_gpu_average_package_power": "W",
}
NO_POWER = late_pattern(
    r"limit|violation|throttl|residenc|\bcap\b|_cap\b|capping|\bmax|\bmin|highest|lowest|critical|"
    r"threshold|budget|tdp|thermal "
    r"design|"
    r"\bbtu|dbm|\bhp\b|horse ?power|kcal|\b[tr]x\b|signal|laser|optic|power "
    r"(?:on|off|cycles?|modes?|sav(?:e|ing)|profile|level)\b|"
    r"memory (?:consumption|usage)|"
    r"\bpeak|\bpk\b|\b(?:[kmgt]i?b|[kmgt]?i?bytes|k?va|kvar)\b|capacit|available|allocated|requested|\brated|"
    r"(?<![a-z])temp|temp\b|temperature|freq|clock|util|per ?cent|prozent|pourcent|porcent|"
    r"(?<![a-z])(?:pct|perc|ratio)(?![a-z])|%|emission|cost|price|"
    r"set ?point|\btarget|\breserved?\b|\bstd(?:dev)?\b|deviation|variance|power ?good|"
    r"rate\b|state|factor|rating|nominal|reactive|apparent|voltage|"
    r"current\b(?!.*(?:socket|power|consumption|watt))|\bvar\b|\bva\b|"
    # The same in other languages: apparent, reactive, rated, at most, set; factors.
    r"scheinl|blindl|nennl|h[oö]chstl|spitzenl|(?<![a-z])soll|grenz|fa[ck]teur|faktor|fattore|"
    r"r[eé]acti[fv]|reattiv|apparente|aparente|因[数數]|力率|视在|皮相|无功|無効|额定|定格|最[大小]|上限|"
    r"峰值|реактивн|полная|максим",
    re.IGNORECASE,
)
BOARD_RAIL = late_pattern(
    r"(?<![a-z])(?:vdd|pom|vin)_|vin_sys|\bpower tot\b|jetson|tegra", re.IGNORECASE
)
_CURRENT = late_pattern(r"[_ \[(]m?[AVav]\)?\]?$")  # amperes and volts
_POWER = late_pattern(
    r"(?<![a-z])(?:vdd|pom)_[0-9a-z_]+|power|watt|pwr|consumption|\bdraw\b|"
    # What goes into a supply and comes out of it, in the words of PMBus.
    r"(?<![a-z])psu?[ _-]?\d{0,2}[ _.-]?p(?:in|out)(?![a-z])|"
    # German, French, Spanish, Italian, Portuguese, Dutch, Russian, Chinese, Japanese, Korean.
    r"leistung|puissance|pot[eê]n[cz]i?a\b|vermogen|мощност|功率|[電电]力|전력",
    re.IGNORECASE,
)


_ENERGY = late_pattern(r"(?<![a-z])energy|energie|(?<![a-z])joules?\b|consumed", re.IGNORECASE)
_POWER_ALONE = late_pattern(r"power|watts?(?![ _-]?h)|pwr", re.IGNORECASE)
_HWMON = late_pattern(r"\bpower\d{1,2}_(?:input|average)$")  # the kernel's, always in µW
# The same as `sensors -j` prints it, below its chip: in watts.
_OF_CHIP = late_pattern(r"-(?:acpi|isa|pci|i2c|virtual|hid|mdio|scsi|spi|usb)-[0-9a-f-]{1,12}\.")
_SCALED = late_pattern(
    r"[\[(/]\s*(?:0?[.,]0{0,3}1|10{1,3})\s*[x×*]?\s*[kmuµ]?(?:W|J|Wh)\b|"
    r"[kmuµ]?(?:W|J|Wh)\s*[x×*/]\s*10|\b[x×*]\s*10|"
    r"\b(?:tenth|hundredth|thousandth)s?\b|\bcenti ?watts?",
    re.IGNORECASE,
)
_JOINT = late_pattern(
    r"(?:(?<=[a-z][a-z])(?=[A-Z])|(?<=[a-z])(?=[A-Z][a-z])|"
    r"(?<=[A-Z][A-Z])(?=[A-Z][a-z]))(?!Wh(?![a-z]))"
)
_HOURS = late_pattern(r"(?:(?:kilo|milli)[ _-]?)?watts?[ _-]?hours?", re.IGNORECASE)


_ESCAPE = late_pattern(r"%([2-7][0-9A-Fa-f])")  # of a sensor's id in an address


def _unescaped(name: str) -> str:
    """A name without the escapes of an address: "power%5Ctotal" is power\\total."""
    if "%" in name:
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), name)
    return name


def _short_hours(match: re.Match[str]) -> str:
    """ "kilowatt_hours" as kwh."""
    written = match[0].lower()
    if "kilo" in written:
        return "kwh"
    return "mwh" if "milli" in written else "wh"


def spaced(name: str) -> str:
    """Words that are run together, apart: "TotalCPUPower_w" → Total CPU Power w.

    Units stay whole (mW, kWh).
    """
    return _JOINT.sub(" ", name).replace("_", " ")


def tokens(name: str) -> list[str]:
    """The words of a name, lower case: "GPU0 power.draw [W]" → gpu0 power draw w."""
    name = spaced(_unescaped(name[:_MAX_NAME_CHARS]).replace("μ", "µ"))
    return [word for word in re.split(r"[^a-z0-9µ%]+", name.lower()) if word]


def no_power(name: str) -> bool:
    """A name of a limit, a temperature, a share of time, a voltage …"""
    name = _unescaped(name[:_MAX_NAME_CHARS])
    return bool(NO_POWER.search(name) or NO_POWER.search(spaced(name)))


def scaled(name: str) -> bool:
    """A name that tells a scale beside its unit: "power (0.1 W)", "hundredths of kW"."""
    return bool(_SCALED.search(name[:_MAX_NAME_CHARS]))


_CYRILLIC_UNITS = {
    "вт": "W",
    "мвт": "mW",
    "квт": "kW",
    "вт·ч": "Wh",
    "втч": "Wh",
    "квт·ч": "kWh",
    "квтч": "kWh",
    "дж": "J",
    "кдж": "kJ",
}
_CYRILLIC_AT_END = late_pattern(r"(?<!\w)([мк]?(?:вт|дж)(?:·?ч)?)\W*$", re.IGNORECASE)


def unit_of_name(name: str) -> Unit | None:
    """The unit that a name carries at its end or in brackets.

    None when it says none, or means a limit.
    """
    if name in METRICS:
        return UNITS[METRICS[name]]
    name = _HOURS.sub(_short_hours, _unescaped(name[:_MAX_NAME_CHARS]))
    if no_power(name):
        return None
    if _HWMON.search(name):
        return UNITS["W" if _OF_CHIP.search(name) else "uW"]
    bracket = re.search(r"[\[(/]\s*([A-Za-zµμ]+)\s*[\])]?\s*$", name)
    if bracket:
        # "MW" in a log of one machine is milliwatts written carelessly: nobody's server draws
        # megawatts.
        word = bracket[1].replace("μ", "µ").lower()
        if word in _WORDS:
            return UNITS[_WORDS[word]]
    if match := _CYRILLIC_AT_END.search(name):
        return UNITS.get(_CYRILLIC_UNITS.get(match[1].lower(), ""))
    return _unit_among(tokens(name), is_letter=name in ("W", "J"))


# Words behind a unit that say nothing of it: "power_watts_total".
_STATISTICS = ("total", "sum", "avg", "average", "mean")


def _unit_among(words: Sequence[str], *, is_letter: bool) -> Unit | None:
    """The unit that one of a name's words is, the last one first.

    `is_letter`: the name is a unit's letter and nothing else.
    """
    for word in reversed(words):
        # A letter alone is a unit where words stand before it: "power_w".
        is_clear = len(word) > 1 or len(words) > 1 or is_letter
        if word not in _STATISTICS and word in _WORDS and is_clear:
            return UNITS[_WORDS[word]]
    return None


def unit_of_symbol(cell: str) -> Unit | None:
    """The unit that stands alone in a cell ("Watts", "mW"); None for any other, and for none."""
    word = cell.strip().strip("[]()").replace("μ", "µ")
    if word.lower() in _WORDS:
        return UNITS[_WORDS[word.lower()]]
    return None


def any_power(names: Sequence[str]) -> bool:
    """Whether any of these names means power or energy."""
    return any(unit_of_name(name) is not None or means_power(name) for name in names)


def means_energy(name: str) -> bool:
    """A name that means energy, with or without a unit."""
    name = _unescaped(name[:_MAX_NAME_CHARS])
    return bool(_ENERGY.search(name)) and not _POWER_ALONE.search(name) and not no_power(name)


def means_power(name: str) -> bool:
    """A name that means power without a unit."""
    name = _unescaped(name[:_MAX_NAME_CHARS])
    return bool(_POWER.search(name)) and not no_power(name) and not _CURRENT.search(name)


def power_unit(name: str) -> Unit | None:
    """The unit of a metric or a field: as its name says, and watts where it only means power."""
    unit = unit_of_name(name)
    if unit is None and means_power(name):
        return UNITS["W"]
    return unit


_SCOPES = (
    (Scope.CORE, r"gpu chip power|chip power draw"),
    (Scope.GPU, r"board power draw"),  # GPU-Z: the chip is a part of the board
    (
        Scope.PLUG,
        (
            r"plug|wattmet|outlet|\binlet|wall|\bpdu\b|socket outlet|smart ?meter|actual "
            r"consumption|shelly|tasmota"
        ),
    ),
    (Scope.DRAM, r"dram|\bram(\d|_|\b|watt)|\bmem(ory)?\d*\b|membuf|centaur|\bram"),
    (
        Scope.RAIL,
        (
            r"\bfan|pcie|\bio\b|\bhdd|\bdisk|\bssd|\bnic\b|\bps\d|psu|storage|cache|uncore|\bvdd|"
            r"\bvcs|gpu ?sense.*rail|"
            # The graphics within a processor's package, whose power holds theirs.
            r"\bpp1\b|\bgt cores\b|\bgfx ?(?:watt|j\b)|energy-gpu"
        ),
    ),
    (
        Scope.GPU,
        (
            r"gpu|nvidia|dcgm|nvml|accelerator|graphics package|\bgfx|socket "
            r"graphics|amdgpu|cuda|\bgt\b"
        ),
    ),
    (Scope.CORE, r"\bia\b|\bcores?\b|pp0|\bcor ?watt|energy-cores"),
    (
        Scope.NODE,
        (
            r"dcmi|^(?!.*\b(?:cpu|proc|processor|package|pkg)\b).*\btotal|node|\bhost\b|server|"
            r"(?<!sub)(?<!sub[ -])system|chassis|pwr consumption|"
            r"sys power|\bpsys\b|platform|machine|instantaneous|acpi000d|"
            r"power meter-acpi|power tot\b"
        ),
    ),
    (Scope.PACKAGE, r"package|\bpkg|\bp\d+\b|\bcpu|\bproc|processor|socket|rapl"),
    (Scope.GPU, r"\bcard\d"),
)


def scope_of(name: str) -> Scope:
    """What part of the machine a channel's name refers to."""
    words = spaced(_unescaped(name[:_MAX_NAME_CHARS])).replace(".", " ").lower()
    for scope, pattern in _SCOPES:
        if re.search(pattern, words):
            return scope
    return Scope.UNKNOWN


_CELLS = {
    **UNITS, "MW": Unit("MW", "power", 1e6), "µW": UNITS["uW"], "MJ": Unit("MJ", "energy", 1e6),
    **{word: UNITS[short] for word, short in _WORDS.items() if len(word) > 3},
}  # fmt: skip
_SUFFIX = late_pattern(r"\d\s{0,3}([kKmMuµμ]?(?:Wh|W|J)|[A-Za-z]{4,12})\s*")


def unit_of_cells(cells: Sequence[str]) -> tuple[Unit, list[float]] | None:
    """What the readings themselves say ("950 W", "1.23 kW"): the plain unit, and what each of them
    is to be multiplied by.
    """
    if not any(_SUFFIX.search(cell) for cell in cells[:200]):
        return None
    units_of_cells = [_unit_of_cell(cell) for cell in cells]
    named = [unit for unit in units_of_cells if unit is not None]
    filled_count = sum(bool(cell) for cell in cells)
    quantities = {unit.quantity for unit in named}
    if 2 * len(named) <= filled_count or len(quantities) != 1:
        return None
    if named[0].quantity == "power":
        plain = UNITS["W"]
    else:
        plain = UNITS["J"]
    factors = [float("nan") if unit is None else unit.factor for unit in units_of_cells]
    return plain, factors


def _unit_of_cell(cell: str) -> Unit | None:
    """The unit behind a cell's number; megawatts are possible there, unlike in a name."""
    match = _SUFFIX.search(cell.rstrip()[-24:])
    if match is None:
        return None
    word = match[1].replace("μ", "µ")
    return _CELLS.get(word) or _CELLS.get(word.lower())


_UNIT_IN_BRACKETS = late_pattern(r"\s*[\[(](?:[mkuµ]?[WJ]h?|[Ww]atts?|[Jj]oules?)[\])]\s*$")
_UNIT_BEHIND_SLASH = late_pattern(r"(?:/|_energy_)[mkuµ]?[WJ]h?$", re.IGNORECASE)
_UNIT_WORD = late_pattern(
    r"[_ ](?:watts?|milliwatts?|microwatts?|[mu]?w|[mu]?j|joules?)$", re.IGNORECASE
)


def without_unit(name: str) -> str:
    """A channel's name without its unit, for a person: "power.draw [W]" → "power.draw"."""
    name = _unescaped(name)
    short = _UNIT_IN_BRACKETS.sub("", name)
    short = _UNIT_BEHIND_SLASH.sub("", short)
    short = _UNIT_WORD.sub("", short)
    return short.strip() or name
