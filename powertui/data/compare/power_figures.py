"""Joules of a step and watts while steps run, by the account that every page tells of."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from powertui.data.asked import Aligning
from powertui.data.compare.drift import block_edges
from powertui.data.compare.figure import Family
from powertui.data.compare.part import (
    ComparedPart,
    HostWindow,
    comparable_seconds,
    comparable_steps,
    step_bounds,
    step_seconds,
)
from powertui.data.compare.undisturbed import undisturbed_mean, undisturbed_watts
from powertui.data.compare.values import ComparedValue, ValueKey, Values
from powertui.data.energy import account, integrate
from powertui.data.energy.counted_energy import combined
from powertui.data.energy.trace_account import Account
from powertui.data.model import PS_PER_S, Bools, Floats, Int64s
from powertui.named_tuples import NamedTuple

JOULES = ValueKey(Family.ENERGY, "energy per step", "J")
WATTS = ValueKey(Family.ENERGY, "power during steps", "W")
UNDISTURBED_JOULES = ValueKey(Family.ENERGY, "energy per undisturbed step", "J")
UNDISTURBED_WATTS = ValueKey(Family.ENERGY, "power of undisturbed steps", "W")

# So many readings of their own the steps away from pauses must have, else all may be disturbed.
_MIN_READINGS = 4.0
_PAUSE_PARTS = 10  # a pause is longer than such a part of a reading
# A reading is the mean of the sensor's window: in a block of two of them one is the block's own.
_READINGS_PER_BLOCK = 2.0

_Bounds = tuple[Int64s, Int64s]  # ps: when each step of the profile began and ended


class PowerMeasured(NamedTuple):
    """The figures of power, or why there are none."""

    values: Values
    why: str = ""


def power_values(part: ComparedPart) -> PowerMeasured:
    """Of all hosts that are compared; a run with a host without power has none."""
    hosts = []
    for window in part.windows:
        host = _host_energy(window, part.aligning)
        if isinstance(host, str):
            return PowerMeasured({}, host)
        hosts.append(host)
    if not hosts:
        return PowerMeasured({}, "there is no profile")
    joules = sum(host.joules for host in hosts)
    values: Values = {}
    seconds = max(host.seconds for host in hosts)
    blocks = _summed([host.block_joules for host in hosts])
    watts: tuple[float, ...] = ()
    if blocks:
        block_watts = np.array(blocks) / hosts[0].block_seconds
        watts = tuple(block_watts.tolist())
    joules_of_steps = watts_of_steps = None
    if _alike(hosts):
        series = [host.series for host in hosts]
        seconds_of_steps = comparable_seconds(part.windows[0].profile)
        joules_of_steps = np.sum(series, axis=0)
        watts_of_steps = joules_of_steps / seconds_of_steps
    values[JOULES] = ComparedValue(joules, blocks, joules_of_steps)
    mean_watts = joules / seconds
    values[WATTS] = ComparedValue(mean_watts, watts, watts_of_steps)
    if watts_of_steps is not None:
        values |= _undisturbed_values(part, hosts, watts_of_steps)
    return PowerMeasured(values)


def _undisturbed_values(
    part: ComparedPart,
    hosts: Sequence[_HostEnergy],
    watts_of_steps: Floats,
) -> Values:
    """Watts and joules of steps while nothing else draws; none where pauses are all around.

    They have no blocks: by those of a slow sensor two windows of one run were called different in
    3 of 28 pairs. Runs show how they vary.
    """
    window = part.windows[0]
    seconds = comparable_seconds(window.profile)
    places = window.places
    reading_s = max(host.reading_s for host in hosts)
    clear = places[_away_from_pauses(window, reading_s)[places]]
    clear_s = float(seconds[clear].sum())
    if not len(clear) or clear_s < _MIN_READINGS * reading_s:
        return {}
    watts = undisturbed_watts(watts_of_steps[clear])
    joules = watts * undisturbed_mean(seconds[places])
    return {
        UNDISTURBED_JOULES: ComparedValue(joules),
        UNDISTURBED_WATTS: ComparedValue(watts),
    }


def _away_from_pauses(window: HostWindow, reading_s: float) -> Bools:
    """Of the steps that can be compared, those whose readings hold nothing but steps."""
    starts, ends = step_bounds(window.profile)
    reading_ps = int(reading_s * PS_PER_S)
    pauses = starts[1:] - ends[:-1]
    least_pause_ps = reading_ps // _PAUSE_PARTS
    is_after_pause = np.r_[True, pauses > least_pause_ps]
    # Of each step, the stretch of steps without a pause that it is in, and where that lies.
    stretch = np.cumsum(is_after_pause) - 1
    first = np.flatnonzero(is_after_pause)
    last_step = len(starts) - 1
    last = np.r_[first[1:] - 1, last_step]
    begin = starts[first][stretch]
    end = ends[last][stretch]
    begins_later = starts >= begin + reading_ps
    ends_earlier = ends <= end - reading_ps
    is_clear = begins_later & ends_earlier
    comparable = comparable_steps(window.profile)
    return np.asarray(is_clear[comparable])


def _alike(hosts: Sequence[_HostEnergy]) -> bool:
    """Whether all hosts have as many steps."""
    return len({len(host.series) for host in hosts}) == 1


class _HostEnergy(NamedTuple):
    """The mean step of one host: its joules and its length, also of each block of steps."""

    joules: float
    seconds: float
    block_joules: tuple[float, ...]  # empty where the sensor does not resolve every block
    block_seconds: tuple[float, ...]
    series: Floats  # joules of every step that can be compared, as far as readings tell
    reading_s: float  # what a reading of the slowest sensor is the mean of


def _host_energy(window: HostWindow, aligning: Aligning) -> _HostEnergy | str:
    """The energy of a host's steps, or why there is none."""
    rows = window.rows
    if not len(rows):
        return "there are no steps to count joules by"
    energies = account.energy_account(window.profile, aligning)
    of_all = energies.per_step(None)
    if of_all is None:
        return "there is no power log"
    bounds = step_bounds(window.profile)
    # Marks of steps that are dispatched ahead are too short for any sensor, and their work is not.
    if not of_all.resolved and bounds[0] is window.profile.steps.start:
        return of_all.reason
    joules = _joules(energies, bounds, rows)
    if joules is None:
        return "the sensor does not resolve these steps"
    seconds = step_seconds(window.profile)
    edges = block_edges(len(rows)).tolist()
    blocks = [rows[lo:hi] for lo, hi in itertools.pairwise(edges)]
    block_seconds = [float(seconds[block].mean()) for block in blocks]
    comparable = comparable_steps(window.profile)
    return _HostEnergy(
        joules=joules,
        seconds=float(seconds[rows].mean()),
        block_joules=_joules_of_blocks(energies, bounds, blocks),
        block_seconds=tuple(block_seconds),
        series=_joules_of_steps(energies, bounds, comparable),
        reading_s=_longest_reading_s(energies),
    )


def _joules_of_blocks(
    energies: Account,
    bounds: _Bounds,
    blocks: Sequence[Int64s],
) -> tuple[float, ...]:
    """The mean energy of each block's steps; empty where the sensor does not resolve them all.

    A sensor that averages over several blocks would make them alike.
    """
    # So that its readings are its own.
    least_s = _READINGS_PER_BLOCK * _longest_reading_s(energies)
    starts, ends = bounds
    joules = []
    for block in blocks:
        first_start = int(starts[block[0]])
        last_end = int(ends[block[-1]])
        length_ps = last_end - first_start
        of_block = _joules(energies, bounds, block)
        if of_block is None or length_ps / PS_PER_S < least_s:
            return ()
        joules.append(of_block)
    return tuple(joules)


def _longest_reading_s(energies: Account) -> float:
    """What a reading of the slowest sensor is the mean of, or how long it stands."""
    longest = 0.0
    for channel in energies.channels:
        sensor = channel.series.sensor
        for figure in (sensor.refresh_s, sensor.window_s):
            longest = max(longest, figure.value if figure is not None else 0.0)
    return longest


def _joules_of_steps(energies: Account, bounds: _Bounds, comparable: Bools) -> Floats:
    """The energy of each step as readings have it, too short for the sensor or not."""
    starts, ends = bounds
    lo = starts[comparable]
    hi = ends[comparable]
    joules = np.zeros(len(lo), np.float64)
    for channel in energies.channels:
        joules += integrate.energies(channel, lo, hi).covered_joules
    return joules


def _joules(energies: Account, bounds: _Bounds, rows: Int64s) -> float | None:
    """The mean energy of these steps by all counted channels; None where it is not resolved."""
    starts, ends = bounds
    lo = starts[rows]
    hi = ends[rows]
    parts = []
    for channel in energies.channels:
        energy = integrate.mean_energy(channel, lo, hi)
        if energy is not None:
            parts.append(energy)
    mean = combined(parts)
    if mean is None or not mean.resolved:
        return None
    return mean.joules


def _summed(hosts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Blocks of all hosts, added up; empty where one of the hosts has none."""
    lengths = {len(blocks) for blocks in hosts}
    if not all(hosts) or len(lengths) != 1:
        return ()
    total = np.sum(hosts, axis=0)
    return tuple(total.tolist())
