"""What recordings with known truth gave, by table, sensor and figure; and what missed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from benchmarks.energy_answers import Row

MIN_COUNT = 5  # recordings: what fewer give is shown, and misses nothing


class Miss(NamedTuple):
    """A cell beside what is asked for."""

    by: float  # how far, as a multiple of what is allowed
    words: str


class Score:
    """All rows, by table, sensor and figure; and what missed."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self.seeds: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        self.missed: list[Miss] = []
        for row in rows:
            key = row[:3]
            self.values[key].append(row.value)
            self.seeds[key].append(row.seed)

    def sensors(self, kind: str) -> list[str]:
        """In the order of their first row."""
        return list(dict.fromkeys(name for k, name, _ in self.values if k == kind))

    def has(self, kind: str, name: str, what: str) -> bool:
        return bool(self.values.get((kind, name, what)))

    def mean(self, kind: str, name: str, what: str) -> float:
        return float(np.mean(self.values[kind, name, what]))

    def share(
        self,
        kind: str,
        name: str,
        what: str,
        least: float = 0.0,
        most: float = 1.0,
        *,
        bad: float = 0.0,
    ) -> str:
        """A share of recordings; it is kept as missed when it lies outside of what is asked.

        `bad`: the value of a bad row.
        """
        if not self.has(kind, name, what):
            return "–"
        key = (kind, name, what)
        got, count = self.mean(*key), len(self.values[key])
        slack = (
            1.0 / count if most > 0 else 0.0
        )  # one recording is not a miss, where some are allowed
        if got < least - slack or got > most + slack:
            below = got < least
            by = (
                (least - got) / max(1 - least, 0.02)
                if below
                else (got - most) / max(1 - most if most > 0.5 else most, 0.02)
            )
            seeds = sorted(
                {s for s, v in zip(self.seeds[key], self.values[key], strict=True) if v == bad}
            )[:8]
            asked = f"≥ {least:.0%}" if below else f"≤ {most:.0%}"
            shown = f"; seeds {', '.join(map(str, seeds))}" if seeds and (below or bad) else ""
            self.missed.append(
                Miss(by, f"{kind}, {name}: {what} {got:.1%} of {count}, asked {asked}{shown}")
            )
        return f"{got:.1%}"

    def wider(self, kind: str, name: str, what: str, most: float = 2.0) -> str:
        """How many times as wide as they need be the intervals are: what they could shrink by and
        still hold 95 %.
        """
        parts = self.values.get((kind, name, f"{what} of half"), [])
        if len(parts) < MIN_COUNT:
            return "–"
        need = float(np.quantile(parts, 0.95))
        got = 1 / need if need > 0 else float("inf")
        if got > most and np.isfinite(got):
            self.missed.append(
                Miss(
                    got / most - 1,
                    f"{kind}, {name}: {what} {got:.1f} × as wide as needed, asked ≤ {most:.0f}",
                )
            )
        return f"{got:.2g}" if np.isfinite(got) else "exact"

    def few(self, kind: str, name: str, what: str, got: int, count: int, least: float) -> None:
        """A count that is kept as missed when it is more than one below what is asked."""
        if got + 1 < least * count:
            words = f"{kind}, {name}: {what} {got} of {count}, asked ≥ {least:.0%}"
            self.missed.append(Miss((least - got / count) / max(1 - least, 0.02), words))

    def ratio(self, kind: str, name: str, told: str, true: str, within: float) -> str:
        """Sum told against sum true."""
        if not self.has(kind, name, told):
            return "–"
        count = len(self.values[kind, name, told])
        got = sum(self.values[kind, name, told]) / sum(self.values[kind, name, true]) - 1
        if abs(got) > within and count >= MIN_COUNT:
            self.missed.append(
                Miss(
                    abs(got) / within - 1,
                    f"{kind}, {name}: {told} {got:+.1%}, asked within {within:.0%}",
                )
            )
        return f"{got:+.1%}"
