"""How long a profile must be, so that every power sensor recorded beside it has readings in it."""

from __future__ import annotations

from collections.abc import Iterable

from powertui.named_tuples import NamedTuple

__all__ = ["DEFAULT_S", "ProfileLength", "profile_length"]

DEFAULT_S = 2.0  # a few seconds hold many steps; as `--help` says
# Joules need two whole readings in a profile; of three any two are whole. Chosen, not measured.
_READINGS = 3
# s from one new reading to the next, of the slowest sensors of each kind: PowerBoard's BMC changes
# every 3.2 s over IPMI, Redfish services refresh every 5 s or so, and Slurm counts every 30 s. Of
# kinds that are not listed the readings are new whenever they are asked for.
_NEWS_S = {
    "auto": 5.0,
    "ipmi": 3.2,
    "ipmitool": 3.2,
    "redfish": 5.0,
    "slurm": 30.0,
    "prometheus": 15.0,
}


class ProfileLength(NamedTuple):
    """How long, and because of which source."""

    seconds: float
    source: str  # its URL without what may be secret; "" where the usual length is enough
    news_s: float  # from one of its readings to the next

    def reason(self) -> str:
        """For a person, before it begins; "" where the usual length is enough."""
        if not self.source:
            return ""
        return (
            f"The profile takes {self.seconds:g} s, because {self._sensor} may have a new reading "
            f"only every {self.news_s:g} s."
        )

    def warning(self, seconds: float) -> str:
        """What is to be said of a length that was asked for; "" where it is enough."""
        if not self.source or seconds >= self.seconds:
            return ""
        return (
            f"{seconds:g} s are too short for joules: {self._sensor} may have a new reading only "
            f"every {self.news_s:g} s. {self.seconds:g} s are enough."
        )

    @property
    def _sensor(self) -> str:
        """As a person calls it: `auto` is how a BMC is asked where no protocol is named."""
        return "the BMC" if self.source == "auto" else self.source


def profile_length(urls: Iterable[str], interval_s: float) -> ProfileLength:
    """The length that the slowest of these sources needs."""
    slowest, news_s = "", 0.0
    for url in urls:
        scheme = url.split(":", 1)[0]
        source_s = max(_NEWS_S.get(scheme, 0.0), interval_s)
        if source_s > news_s:
            slowest, news_s = scheme, source_s
    seconds = float(-(-_READINGS * news_s // 1))
    if seconds <= DEFAULT_S:
        return ProfileLength(DEFAULT_S, "", news_s)
    return ProfileLength(seconds, slowest, news_s)
