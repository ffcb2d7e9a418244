"""The joules of a recording that has just ended, channel by channel, with their interval.

The sampler counts as it goes, without numpy and without an interval. Once the file is complete it
is read like any other log, and what `powertui record` and `powertui live` say at their end is what
`powertui energy` says of that file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from powertui.data.energy import integrate, placing
from powertui.data.energy import sensor as sensors
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S, PowerOnTrace
from powertui.data.power import registry
from powertui.errors import PowertuiError

_MAX_BYTES = 256 << 20  # a person waits for the answer at a prompt; chosen, not measured


def energies(path: str, begin_s: float, length_s: float) -> dict[str, dict[str, Any]]:
    """By "source channel" the joules from a moment (Unix seconds) on.

    Nothing of a file that cannot be read, or is very long.
    """
    try:
        if Path(path).stat().st_size > _MAX_BYTES:
            return {}
        log = registry.load(path)
    except (OSError, PowertuiError):
        return {}
    energies_by_channel = {}
    for series in log.series:
        lo = round(begin_s * NS_PER_S) - series.clock.mid_ns
        hi = lo + round(length_s * NS_PER_S)
        if not (placing.fits(lo) and placing.fits(hi)):
            continue
        power = placing.on_trace(
            series=sensors.describe(series),
            offset_ps=0,
            lo_ps=0,
            hi_ps=0,
            status="aligned",
            source="its own clock",
        )
        energy = _energy_within(power, lo * PS_PER_NS, hi * PS_PER_NS)
        energies_by_channel[series.sensor.name] = {
            "joules": energy.joules,
            "lo": energy.lo,
            "hi": energy.hi,
            "mean_w": energy.mean_w,
            "coverage": energy.coverage,
            "over_s": (energy.hi_ps - energy.lo_ps) / PS_PER_S,
            "reason": energy.reason,
        }
    return energies_by_channel


def _energy_within(power: PowerOnTrace, lo_ps: int, hi_ps: int) -> Energy:
    """Of the whole stretch; where that is not resolved, of what the readings cover of it.

    The last reading of a slow sensor tells of a time that ended before the recording did.
    """
    whole = integrate.energy(power, lo_ps, hi_ps)
    covered_ps = integrate.reach(power)
    if whole.joules is not None or covered_ps is None:
        return whole
    first_ps = max(lo_ps, covered_ps[0])
    last_ps = min(hi_ps, covered_ps[1])
    if last_ps <= first_ps:
        return whole
    covered = integrate.energy(power, first_ps, last_ps)
    return whole if covered.joules is None else covered
