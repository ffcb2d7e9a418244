"""Times, energies and counts as a person reads and writes them. Integers of picoseconds in, short
text out.

`duration` keeps three or four figures; `instant` keeps as many as the grid behind it needs, so that
two neighboring marks never read the same.
"""

from __future__ import annotations

import math
import re

from powertui.patterns import late_pattern

PS_PER_S = 1_000_000_000_000
_UNITS = ((PS_PER_S, "s"), (1_000_000_000, "ms"), (1_000_000, "µs"), (1_000, "ns"), (1, "ps"))
_SCALE = {"ps": 0, "ns": 3, "us": 6, "µs": 6, "μs": 6, "ms": 9, "s": 12}
_MAX_WHOLE_DIFFERENCE = 9999.5  # four digits, as everywhere
_CLOCK = r"(?:(\d+):)?(\d+):(\d+(?:\.\d*)?)"  # compiled where somebody types a time
_PREFIXES = (
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
)
# Units in which profilers export columns, each with what one of it is: "1.307 kTFLOP/s" is no
# number that a person reads.
_SCALED_UNITS = {
    "GFLOP/s": (1e9, "FLOP/s"),
    "TFLOP/s": (1e12, "FLOP/s"),
    "GiB/s": (2.0**30, "B/s"),
}
_BINARY_UNITS = frozenset({"GiB/s"})
_BINARY_PREFIXES = (
    (2.0**50, "Pi"),
    (2.0**40, "Ti"),
    (2.0**30, "Gi"),
    (2.0**20, "Mi"),
    (2.0**10, "Ki"),
    (1.0, ""),
)
_TIME = late_pattern(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)\s*(ps|ns|us|µs|μs|ms|s|m|min|h)?")


def duration(ps: int, figures: int = 4, *, padded: bool = False) -> str:
    """A length of time with at most so many figures: "1.234 ms", "27.31 s", "3 min 05 s".

    `padded`: with exactly so many, so that the points of a column stand below each other.
    """
    if ps < 0:
        return "-" + duration(-ps, figures, padded=padded)
    if ps >= 120 * PS_PER_S:
        return _minutes((ps + PS_PER_S // 2) // PS_PER_S)
    for size, unit in _UNITS:
        if ps < size:
            continue
        whole_digits = len(str(ps // size))
        text = fixed(ps, size, max(0, figures - whole_digits))
        if float(text) >= 1000 and unit != "s":  # 999.96 µs became 1000.0 µs
            rounded_ps = round(float(text)) * size
            return duration(rounded_ps, figures, padded=padded)
        return f"{text if padded else _trim(text)} {unit}"
    return "0 s"


def _minutes(seconds: int) -> str:
    """Two minutes and more: "3 min 05 s", "2 h 10 min"."""
    if seconds < 7200:
        minutes, seconds = divmod(seconds, 60)
        return f"{minutes} min {seconds:02d} s"
    hours, minutes = divmod((seconds + 30) // 60, 60)
    return f"{hours} h {minutes:02d} min"


def instant(ps: int, resolution: int) -> str:
    """A moment on a grid of `resolution` ps, in seconds, with the decimals that the grid needs."""
    decimals = decimals_for(resolution, PS_PER_S)
    return fixed(ps, PS_PER_S, decimals) + "s"


def decimals_for(resolution: int, size: int) -> int:
    """Decimals of a number in units of `size` that tell multiples of `resolution` apart."""
    decimals = 0
    while size % 10 == 0 and resolution % size:
        size //= 10
        decimals += 1
    return decimals


def resolution(length: int) -> int:
    """The grid for moments that belong to something `length` long: a power of ten, about a
    thousandth of it.
    """
    digits = len(str(max(1, length)))
    return int(10 ** max(0, digits - 4))


def fixed(value: int, size: int, decimals: int) -> str:
    """value/size with that many decimals, rounded half up, in integers throughout."""
    scale = 10**decimals
    scaled = (abs(value) * scale + size // 2) // size
    sign = "-" if value < 0 and scaled else ""  # what rounds to 0 has no sign
    whole, fraction = divmod(scaled, scale)
    if not decimals:
        return f"{sign}{whole}"
    return f"{sign}{whole}.{fraction:0{decimals}d}"


def _trim(text: str) -> str:
    if "." not in text:
        return text
    return text.rstrip("0").rstrip(".")


def parse_time(text: str) -> int | None:
    """ "27.31s", "350ms", "12us", "1:02.5", "90" (seconds) as ps; None when it is no time."""
    text = text.strip()
    clock = re.fullmatch(_CLOCK, text)
    if clock:
        hours, minutes, seconds = clock.groups()
        whole_s = int(hours or 0) * 3600 + int(minutes) * 60
        return whole_s * PS_PER_S + _scaled(seconds, 12)
    match = _TIME.fullmatch(text)
    if not match:
        return None
    sign, number, unit = match.groups()
    if unit == "h":
        ps = _scaled(number, 12) * 3600
    elif unit in ("m", "min"):
        ps = _scaled(number, 12) * 60
    else:
        ps = _scaled(number, _SCALE[unit or "s"])
    return -ps if sign == "-" else ps


def _scaled(number: str, exponent: int) -> int:
    """The number times a power of ten, without going through a float; more digits are cut off."""
    integer, _, fraction = number.partition(".")
    digits = (fraction + "0" * exponent)[:exponent]
    whole = int(integer or "0") * int(10**exponent)
    return whole + int(digits or "0")


def count(value: int) -> str:
    """A count with thousands set apart, or shortened from ten million on: "12,345", "11.4 M"."""
    if abs(value) < 10_000_000:
        return f"{value:,}"
    for size, suffix in ((10**12, "T"), (10**9, "G"), (10**6, "M")):
        if abs(value) >= size:
            return f"{_trim(fixed(value, size, 1))} {suffix}"
    return str(value)


def size(count: float) -> str:
    """Bytes in the units of `ls -h`, decimal: 20.7 MB."""
    for unit, width in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= width:
            return f"{count / width:,.1f} {unit}"
    return f"{count:.0f} bytes"


def percent(share: float, decimals: int = 0) -> str:
    """A share as a person writes it: "84 %"."""
    return f"{zero_without_sign(f'{100 * share:.{decimals}f}')} %"


def zero_without_sign(number: str) -> str:
    """A number in digits; what rounds to 0 has no sign."""
    return number if float(number) else number.lstrip("-+")


def quantity(value: float, unit: str, figures: int = 4, *, padded: bool = False) -> str:
    """A number with a unit: "245.3 W", "1.2 MB/s". `padded`: "1.200 MB/s"."""
    if unit == "J":
        shown = energy(value, figures=figures)
        return shown if padded else _without_last_zeros(shown)
    prefixes = _BINARY_PREFIXES if unit in _BINARY_UNITS else _PREFIXES
    if unit in _SCALED_UNITS:
        scale, unit = _SCALED_UNITS[unit]
        value *= scale
    if value != value:  # NaN: not known
        return f"– {unit}"
    for size, prefix in prefixes:
        if abs(value) >= size or (value == 0 and size == 1.0):
            return f"{_figures(value / size, figures, padded=padded)} {prefix}{unit}"
    return f"{_figures(value, figures)} {unit}"


def watts(value: float) -> str:
    """A reading in watts without its unit, in four digits: 14.47; whole above: 12350."""
    if abs(value) < 10_000:
        return f"{float(f'{value:.4g}'):g}"
    return f"{value:.0f}"


def difference(delta: float, unit: str) -> str:
    """A difference with its sign: "+60 W", "-3,479 J"; what has more digits is "+362 kJ"."""
    if unit == "J":
        return energy_difference(delta)
    if abs(delta) < _MAX_WHOLE_DIFFERENCE:
        return f"{delta:+.0f} {unit}"
    sign = "-" if delta < 0 else "+"
    return sign + quantity(abs(delta), unit, 3)


def _figures(value: float, figures: int, *, padded: bool = False) -> str:
    """So many figures, but never 2.6e+02 for 260."""
    if padded and value and abs(value) < 10**figures:
        return f"{value:#.{figures}g}".removesuffix(".")
    text = f"{value:.{figures}g}"
    if "e+" in text and abs(value) < 1e6:
        return f"{float(text):.0f}"
    return text


def number(value: float, figures: int = 4) -> str:
    """A number without a unit: "0.0123", "10,000"; with a power of ten from a million on."""
    text = f"{value:.{figures}g}"
    if 1000 <= abs(float(text)) < 1e6:
        return f"{float(text):,.0f}"
    return text


# ── energies ─────────────────────────────────────────────────────────────────────────────────────

# What a person may ask energies in. J and Wh grow by their prefixes, the others stay.
ENERGY_UNITS = ("J", "kJ", "MJ", "Wh", "kWh")
_JOULES_IN = {
    "µJ": 1e-6,
    "mJ": 1e-3,
    "J": 1.0,
    "kJ": 1e3,
    "MJ": 1e6,
    "GJ": 1e9,
    "Wh": 3.6e3,
    "kWh": 3.6e6,
    "MWh": 3.6e9,
}
# Each prefix with the least figure of it that is shown: joules are whole numbers of up to four
# digits before they become kilojoules. Ops and steps take thousandths of one.
_PREFIXED = {
    "J": (("GJ", 10.0), ("MJ", 10.0), ("kJ", 10.0), ("J", 1.0), ("mJ", 1.0), ("µJ", 0.0)),
    "Wh": (("MWh", 1.0), ("kWh", 1.0), ("Wh", 0.0)),
}
_UNITS_OF_PARTS = ("mJ", "µJ")  # of ops and steps; an error beside joules is in whole ones
# Digits that are shown at most: an error is known less well than what it is the error of.
_ENERGY_FIGURES = 4
_DIFFERENCE_FIGURES = 3
_ERROR_FIGURES = 2


def _energy_unit(joules: float, unit: str = "J") -> str:
    """The unit in which so many joules are shown, where a person asked for `unit`."""
    if joules == 0:
        return unit
    for prefixed, least in _PREFIXED.get(unit, ()):
        if round(abs(joules) / _JOULES_IN[prefixed], 3) >= least:
            return prefixed
    return unit


def energy(
    joules: float,
    unit: str = "J",
    half: float = 0.0,
    figures: int = _ENERGY_FIGURES,
) -> str:
    """An energy with up to four digits, and no more of them than its error leaves: "3,479 J".

    Every energy that a person reads is written here: by itself, with its error
    (`energy_interval`), or as a difference.
    """
    if not math.isfinite(joules):  # not known
        return f"– {unit}"
    if joules == 0 and not half:
        return f"0 {unit}"
    shown_unit = _energy_unit(joules, unit)
    unit_joules = _JOULES_IN[shown_unit]
    value = joules / unit_joules
    decimals = _free_decimals(value, figures)
    if 0 < half < math.inf:
        decimals = min(decimals, _error_decimals(half / unit_joules))
    elif 0 < abs(value) < 1:
        decimals = figures - 1 - math.floor(math.log10(abs(value)))
    return f"{_grouped(value, decimals)} {shown_unit}"


def energy_interval(joules: float, lo: float, hi: float, unit: str = "J") -> str:
    """An energy with its error: "3,479 J ± 16", "13.19 kJ ± 6.0 J".

    Of an interval that is not centered the wider side counts. Where the error is as large as the
    energy, only the bound is known: "≤ 36 J".
    """
    half = max(hi - joules, joules - lo)
    if not half > 0:
        return energy(joules, unit)
    if half >= joules and hi > 0:
        return f"≤ {energy(hi, unit, half)}"
    return f"{energy(joules, unit, half)} ± {energy_error(half, joules, unit)}"


def energy_difference(delta: float) -> str:
    """More or less energy, with three digits: "+124 J", "-3,479 J", "+12.4 kJ"."""
    sign = "-" if delta < 0 else "+"
    return sign + _without_last_zeros(energy(abs(delta), figures=_DIFFERENCE_FIGURES))


def energy_difference_interval(delta: float, lo: float, hi: float) -> str:
    """More or less energy with its error: "+131 J ± 28". One that may be 0 keeps its figure."""
    half = max(hi - delta, delta - lo)
    return f"{energy_difference(delta)} ± {energy_error(half, delta)}"


def _without_last_zeros(shown: str) -> str:
    """ "24 J" for "24.00 J"."""
    number, _, unit = shown.partition(" ")
    return f"{_trim(number)} {unit}"


def _grouped(value: float, decimals: int) -> str:
    """With thousands set apart; decimals below 0 are none."""
    return f"{value:,.{max(decimals, 0)}f}"


def energy_error(half: float, joules: float, unit: str = "J") -> str:
    """The error of an energy with two digits, in the unit in which the energy is shown: "16".

    An error with more decimals than the energy shows is in a smaller unit, with that unit:
    "6.0 J" beside "13.19 kJ". Where there is none, it is rounded to the energy's last digit.
    """
    shown_unit = _energy_unit(joules, unit)
    unit_joules = _JOULES_IN[shown_unit]
    error = half / unit_joules
    if not 0 < error < math.inf:
        return "0"
    decimals = _error_decimals(error)
    most_decimals = max(_free_decimals(joules / unit_joules, _ENERGY_FIGURES), 0)
    if decimals <= most_decimals:
        return _grouped(round(error, decimals), decimals)
    smaller_unit = _energy_unit(half, "Wh" if shown_unit.endswith("Wh") else "J")
    if smaller_unit != shown_unit and smaller_unit not in _UNITS_OF_PARTS:
        error = half / _JOULES_IN[smaller_unit]
        return f"{_grouped(error, _error_decimals(error))} {smaller_unit}"
    last_digit = 10.0**-most_decimals
    rounded = max(round(error, most_decimals), last_digit)
    return _grouped(rounded, most_decimals)


def energy_error_alone(half: float, joules: float, unit: str = "J") -> str:
    """The same where the energy is not right before it, as in a column of its own: with its unit,
    unless that is the one of the page. "0.43 kJ" of 13.19 kJ, "16" of 3,479 J.
    """
    error = energy_error(half, joules, unit)
    shown_unit = _energy_unit(joules, unit)
    if shown_unit == unit or " " in error:  # a smaller unit is written already
        return error
    return f"{error} {shown_unit}"


def _free_decimals(value: float, figures: int) -> int:
    """Decimals of an energy that no error limits; below 0 where it has more digits than are
    shown.
    """
    decimals = figures - _whole_digits(value)
    # 99.999 is 100.0: rounded it may have a digit more.
    rounded = round(value, decimals)
    return figures - _whole_digits(rounded)


def _whole_digits(value: float) -> int:
    """Digits before the point; below 0 for zeros behind it, which count for none: -2 of 0.0023."""
    if value == 0:
        return 0
    if abs(value) < 1:
        return math.floor(math.log10(abs(value))) + 1
    return len(str(int(abs(value))))


def _error_decimals(error: float) -> int:
    """Decimals that show an error with two digits: 9.99 is 10."""
    decimals = _two_digit_decimals(error)
    return _two_digit_decimals(round(error, decimals))


def _two_digit_decimals(error: float) -> int:
    return _ERROR_FIGURES - 1 - math.floor(math.log10(error))
