"""What is expected, before any fit, of the watts that each kind of work draws.

The idle machine is near the lowest reading of the log. No kind of work draws many times the log's
swing, hardly any draws more than computing does, and all of them together draw something.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy import settings
from powertui.data.model import Floats
from powertui.named_tuples import NamedTuple

# Prices are in units of the ordinary residual's, as in `placement_score`. What half and twice of a
# value do to 27 logs stands in docs/energy-evidence.md.

# Expected power of each kind of work, as a share of the log's swing. Chosen: a fit is free
# to leave it by as much again. A host call that shows nothing inside is probably waiting.
_WORK_SHARE_OF_SWING = {
    "host calls without detail": 0.25,
    "host work": 0.6,
    "input": 0.6,
    "compiling": 0.7,
    "copies": 0.8,
}
_DEFAULT_SHARE_OF_SWING = 1.5
# How much more than computing a kind of work may draw, as a share of the swing.
# Half and twice of the default: no change.
_EXCESS_OVER_COMPUTE = {"host calls without detail": 0.03, "input": 0.2}
_DEFAULT_EXCESS_OVER_COMPUTE = settings.UNKNOWN_SHARE
# Price of a fit in which no work draws power, so that the log swings for reasons of its own.
# Half and twice: no change.
_NO_POWER_PRICE = 5.0
# Of the swing: work that draws less is within what idling varies by.
_NO_POWER_SHARE = settings.MINOR_SHARE


class LogPower(NamedTuple):
    """What a log shows of its machine whatever ran."""

    swing_w: float  # from the floor to the highest readings
    idle_w: float  # where the idle machine is likeliest, above the floor
    idle_share: float  # of the swing: so far the idle machine may be from there
    alike: float  # how many neighboring residuals say the same thing


class WorkPrior(NamedTuple):
    """What is expected of the watts of each kind of work, the idle machine first."""

    log: LogPower
    usual_w: Floats
    precision: Floats  # 1 / W²
    allowed_excess_w: Floats  # over computing, of each kind of work but the idle machine
    compute: int | None  # which kind of work computing is

    def price(self, fitted: Floats) -> Floats:
        """What speaks against the watts of each fit, one kind of work at a time."""
        squares = (fitted - self.usual_w) ** 2
        price: Floats = (squares @ self.precision) / 2
        return price

    def no_power_price(self, fitted: Floats, mixture: Floats) -> Floats:
        """What each fit costs for saying that the work of the profile hardly draws power.

        `mixture`: the share of each kind of work in the profile.
        """
        total_share = max(float(mixture.sum()), 1e-9)
        work_w = fitted[:, 1:] @ mixture / total_share
        minor_w = _NO_POWER_SHARE * self.log.swing_w
        share = work_w / minor_w
        price: Floats = _NO_POWER_PRICE * self.log.alike * np.exp(-(share**2) / 2)
        return price

    def over_compute_price(self, fitted: Floats) -> Floats | None:
        """What each fit costs for work that draws more than computing; None if nothing computes."""
        if self.compute is None:
            return None
        work_w = fitted[:, 1:]
        compute_w = work_w[:, self.compute, None]
        over_compute_w = np.maximum(work_w - compute_w, 0.0)
        excess = over_compute_w / self.allowed_excess_w
        squares = (excess**2).sum(axis=1)
        price: Floats = self.log.alike * squares / 2
        return price


def work_prior(kinds: Sequence[str], log: LogPower) -> WorkPrior:
    """What is expected of these kinds of work in a log."""
    expected_shares = [log.idle_share]
    excess_shares = []
    for kind in kinds:
        expected_shares.append(_WORK_SHARE_OF_SWING.get(kind, _DEFAULT_SHARE_OF_SWING))
        excess_shares.append(_EXCESS_OVER_COMPUTE.get(kind, _DEFAULT_EXCESS_OVER_COMPUTE))
    expected_w = log.swing_w * np.array(expected_shares)
    usual_w = np.zeros(len(expected_w))
    usual_w[0] = log.idle_w
    compute = None
    if "compute" in kinds:
        compute = kinds.index("compute")
    return WorkPrior(
        log=log,
        usual_w=usual_w,
        precision=log.alike / expected_w**2,
        allowed_excess_w=log.swing_w * np.array(excess_shares),
        compute=compute,
    )
