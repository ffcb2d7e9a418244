"""What several channels drew that do not overlap, over all places where they may be."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import mixture
from powertui.data.energy.measured_energy import Energy, interval_with_gain
from powertui.data.model import Z95, Int64s, PowerOnTrace, worst_badge
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class EnergyOfCounted:
    """The energy of channels that are added up."""

    channels: tuple[PowerOnTrace, ...]

    @functools.cached_property
    def _worlds(self) -> list[tuple[float, tuple[PowerOnTrace, ...]]]:
        """The channels at all places in question, each with its weight; none where there is one
        place alone.
        """
        return mixture.worlds(self.channels)

    @functools.cached_property
    def _by_place(self) -> list[tuple[PowerOnTrace, ...]]:
        return [channels for _, channels in self._worlds] or [self.channels]

    def of_window(
        self,
        lo_ps: int,
        hi_ps: int,
        *,
        edge_ps: float,
        with_log: tuple[bool, bool],
    ) -> Energy | None:
        """Over any window.

        `with_log`: whether the window begins, and whether it ends, with the log: wherever the log
        is, no reading there is lost.
        """
        # A first picture measures no window: what integrates is imported here.
        from powertui.data.energy import integrate

        logs = {channel.series.path for channel in self.channels}
        if any(with_log) and len(logs) == 1:
            by_place = []
            for channels in self._by_place:
                shift = channels[0].offset_ps - self.channels[0].offset_ps
                lo = lo_ps + shift * with_log[0]
                hi = hi_ps + shift * with_log[1]
                # At a place where the log ends before the window begins, nothing of it is there.
                hi = max(lo, hi)
                by_place.append(integrate.across(channels, lo, hi, edge_ps=edge_ps))
            return self._mixed(by_place)
        # All channels at all places at once: one place after the other costs as much again for
        # each.
        everywhere = [power for channels in self._by_place for power in channels]
        results = iter(integrate.across(everywhere, lo_ps, hi_ps, edge_ps=edge_ps))
        return self._mixed(
            [list(itertools.islice(results, len(channels))) for channels in self._by_place]
        )

    def of_steps(self, start: Int64s, end: Int64s) -> tuple[Energy, ...]:
        """Over each of many windows."""
        if len(self.channels) == 1:
            return tuple(mixture.energies(self.channels[0], start, end))
        from powertui.data.energy import integrate

        by_place = [
            [integrate.energies(channel, start, end) for channel in channels]
            for channels in self._by_place
        ]
        out = []
        for row in range(len(start)):
            energy = self._mixed([[energies[row] for energies in place] for place in by_place])
            assert energy is not None
            out.append(energy)
        return tuple(out)

    def mean(self, start: Int64s, end: Int64s) -> Energy | None:
        """The mean over many windows."""
        from powertui.data.energy import integrate

        by_place = []
        for channels in self._by_place:
            means = [integrate.mean_energy(channel, start, end) for channel in channels]
            by_place.append([energy for energy in means if energy is not None])
        return self._mixed(by_place)

    def _mixed(self, by_place: Sequence[Sequence[Energy]]) -> Energy | None:
        """Over all places in question, from the energy of each channel at each place."""
        sums = [combined(energies) for energies in by_place]
        parts = [energy for energy in sums if energy is not None]
        if not parts:
            return None
        if not self._worlds:
            return mixture.withheld(parts[0])
        return mixture.mixed([weight for weight, _ in self._worlds], parts)


def combined(parts: Sequence[Energy]) -> Energy | None:
    """Channels that do not overlap, added up: resolved where all are.

    Errors of different sensors are independent, but for their place: one shift of a log moves all
    of its channels. That of several logs is added up the same way, which is never too narrow.
    """
    if len(parts) < 2:
        return parts[0] if parts else None
    covered_joules = sum(part.covered_joules for part in parts)
    coverage = min(part.coverage for part in parts)
    unresolved = [part for part in parts if not part.resolved]
    if unresolved:
        return replace(
            unresolved[0],
            covered_joules=covered_joules,
            coverage=coverage,
        )
    joules = sum(part.joules or 0.0 for part in parts)
    quantum = _root([part.sigma_quantum for part in parts])
    sampling = _root([part.sigma_sampling for part in parts])
    edges = _root([part.sigma_edges for part in parts])
    timing = sum(part.sigma_timing for part in parts)
    half = Z95 * _root([quantum, sampling, edges, timing])
    gains = [part.gain_j for part in parts if part.gain_j is not None]
    gain_j = _root(gains) if gains else None
    lo, hi = interval_with_gain(joules, joules - half, joules + half, gain_j)
    return replace(
        parts[0],
        joules=joules,
        lo=lo,
        hi=hi,
        mean_w=sum(part.mean_w or 0.0 for part in parts),
        max_w=None,
        gain_j=gain_j,
        covered_joules=covered_joules,
        coverage=coverage,
        is_filled=any(part.is_filled for part in parts),
        other_joules=None,
        badge=worst_badge(part.badge for part in parts),
        sigma_quantum=quantum,
        sigma_sampling=sampling,
        sigma_edges=edges,
        sigma_timing=timing,
    )


def _root(values: Sequence[float]) -> float:
    return float(np.sqrt(sum(value * value for value in values)))
