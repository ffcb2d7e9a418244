"""A source that always says 42 W."""

from __future__ import annotations

from powertui.sampler.source import Channel, Info, Options, Reading, Stamp
from powertui.sampler.urls import Address


class Meter:
    """What `toy:` opens."""

    name = "toy"
    min_period = 0.1  # asking it more often gains nothing (s)
    reconnects = 0
    channels: tuple[Channel, ...] = ()

    def open(self) -> Info:
        """Connect, and say what there is."""
        self.channels = (Channel("Total Power", scope="node"),)
        return Info("toy", "toy:", "", self.channels)

    def read(self) -> list[Reading]:
        """One reading for each channel, at the middle of the time that asking took."""
        t, mono, rtt = Stamp.now().middle()
        return [Reading(t, mono, 42.0, rtt, self.name, channel.name) for channel in self.channels]

    def close(self) -> None:
        """Nothing to let go."""


def make(address: Address, options: Options) -> Meter:
    """As every scheme's function: not yet connected."""
    return Meter()
