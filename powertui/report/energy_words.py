"""An energy in words: in the unit that was asked for, with its error and the sensor's gain."""

from __future__ import annotations

from powertui import units
from powertui.data.energy import sensor as sensors
from powertui.data.energy.clock_words import clock_words
from powertui.data.energy.log_alignment import Alignment
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import (
    NS_PER_S,
    PS_PER_NS,
    PS_PER_S,
    Badge,
    PowerKind,
    PowerSeries,
    Scope,
    Sensor,
)
from powertui.value_types import dataclass

# Of the ± of a log's place: less is not worth words. Chosen, not measured.
_MIN_PROFILE_SHARE = 0.25

# The headings above `EnergyWords.cells`.
HEADINGS = ("energy", "± 95 %", "gain", "mean", "max", "quality")
# From this length on joules have too many digits for a person: watt-hours are shown. A day of a log
# is in kWh, a training of an hour in kJ. Chosen, not measured.
_WATT_HOURS_FROM_PS = 12 * 3600 * PS_PER_S


def unit_for(asked: str | None, longest_ps: int) -> str:
    """The unit that was asked for; else the one that suits the longest stretch of a page."""
    if asked:
        return asked
    return "Wh" if longest_ps >= _WATT_HOURS_FROM_PS else "J"


@dataclass(frozen=True)
class EnergyWords:
    """How a page writes energies: a unit of `units.ENERGY_UNITS`."""

    unit: str = "J"

    def plain_joules(self, joules: float, half: float = 0.0) -> str:
        """Joules alone."""
        return units.energy(joules, self.unit, half)

    def with_error(self, energy: Energy) -> str:
        """ "3,479 J ± 16 (gain ± 170)"; the reason where nothing is known."""
        if energy.joules is None:
            return energy.reason
        words, error, gain = self._figures(energy)
        if error:
            words += f" ± {units.energy_error(energy.error, energy.joules, self.unit)}"
        if gain:
            words += f" (gain {gain})"
        return words

    def in_the_other_unit(self, energy: Energy) -> str:
        """The same energy in watt-hours, or in joules where those are shown already."""
        other = "J" if self.unit.endswith("Wh") else "Wh"
        return units.energy(energy.joules or 0.0, other, energy.error)

    def cells(self, energy: Energy | None) -> list[str]:
        """The cells below `HEADINGS`."""
        if energy is None:
            return ["–", "", "", "", "", ""]
        if energy.joules is None:
            return ["–", "", "", "", "", "not resolved"]
        mean = ""
        if energy.mean_w is not None:
            mean = units.quantity(energy.mean_w, "W")
        highest = ""
        if energy.max_w is not None:
            highest = units.quantity(energy.max_w, "W", 3)
        return [*self._figures(energy), mean, highest, self._quality(energy)]

    def _figures(self, energy: Energy) -> tuple[str, str, str]:
        """The energy, its error, and what the gain adds to that."""
        if energy.joules is None or energy.hi is None:
            return "–", "", ""
        if energy.error >= energy.joules:  # nothing but a bound is known
            bound = units.energy(energy.hi, self.unit, energy.error)
            return f"≤ {bound}", "", ""
        error = ""
        if energy.error > 0:
            error = self._plus_minus(energy.error, energy.joules)
        gain = ""
        if energy.gain_j:
            gain = self._plus_minus(energy.gain_j, energy.joules)
        return units.energy(energy.joules, self.unit, energy.error), error, gain

    def _plus_minus(self, half: float, joules: float) -> str:
        return f"± {units.energy_error_alone(half, joules, self.unit)}"

    def _quality(self, energy: Energy) -> str:
        quality = energy.badge.value
        if energy.is_filled:
            sampled = units.percent(energy.coverage)
            quality += f", {sampled} sampled"
        if energy.other_joules is not None:
            if_held = self.plain_joules(energy.other_joules)
            quality += f"; {if_held} if each reading held"
        return quality


def is_plainly_measured(cell: str) -> bool:
    """Whether a cell of the last column says nothing beyond the usual."""
    return cell in ("", Badge.MEASURED.value)


def clock_line(alignment: Alignment | None, profile_half_ns: int = 0) -> str:
    """How surely the log's place is known.

    `profile_half_ns`: the ± of the clock of the profile that it is placed on, where that may be
    most of it.
    """
    if alignment is None:
        return "clock: the log has no reading"
    words = f"clock: {clock_words(alignment).known}"
    if alignment.lo_s is None or alignment.hi_s is None:
        return words
    half_s = (alignment.hi_s - alignment.lo_s) / 2
    profile_half_s = profile_half_ns / NS_PER_S
    if alignment.is_sure and half_s >= profile_half_s > _MIN_PROFILE_SHARE * half_s:
        profile_half = units.duration(profile_half_ns * PS_PER_NS, 2)
        words += f", of which {profile_half} are the profile's own clock"
    return words


def sensor_words(channels: list[PowerSeries]) -> str:
    """What was read, and what one reading covers."""
    if not channels:
        return ""
    scopes = dict.fromkeys(_scope(series.sensor) for series in channels)
    names = " + ".join(scopes)
    if len(channels) > 1:
        names = f"{len(channels)} channels, {names}"
    return f"sensor: {names}{_reading_words(channels[0])}"


def _reading_words(channel: PowerSeries) -> str:
    """What one reading of a channel covers, after a comma; "" where nothing shows that."""
    sensor = channel.sensor
    if channel.kind is PowerKind.INTERVAL and sensor.poll_s:
        return f", energy every {_seconds(sensor.poll_s.value)}"
    if sensor.window_s and sensor.window_s.value > 0 and sensors.is_window_known(sensor):
        return f", {_seconds(sensor.window_s.value)} mean"
    if sensor.refresh_s:
        assumed = " (assumed)" if sensor.refresh_s.badge is Badge.ASSUMED else ""
        return f", every {_seconds(sensor.refresh_s.value)}{assumed}"
    return ""


def _scope(sensor: Sensor) -> str:
    """What it measures; its name where that is not known."""
    if sensor.scope is Scope.UNKNOWN:
        return sensor.name
    return str(sensor.scope.value)


def _seconds(seconds: float) -> str:
    rounded = float(f"{seconds:.2g}")  # to two digits, then without an exponent
    return f"{rounded:g} s"
