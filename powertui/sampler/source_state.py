"""What a recorder knows of one source."""

from __future__ import annotations

from dataclasses import dataclass, field

from powertui.errors import PowertuiError
from powertui.sampler.health import Health
from powertui.sampler.heartbeat import Suspension
from powertui.sampler.limits import Watcher
from powertui.sampler.plausible import Judge
from powertui.sampler.source import Channel, Info, Source, Stamp

__all__ = ["SourceState"]


@dataclass
class SourceState:
    """What the recorder knows of one source."""

    source: Source
    info: Info | None = None
    missed: int = 0  # ticks that passed while an answer was waited for
    failed: str = ""  # why it will never be asked again
    refusal: PowertuiError | None = None  # what said so
    reopen_pause: float = 0.0  # s that the last try to open it in vain was followed by
    retry_at: float = 0.0  # monotonic: not opened again before
    down_since: float | None = None  # monotonic; None while values come
    asked: Stamp | None = None  # since when an answer is waited for
    silent: Stamp | None = None  # the request whose silence was noted as a gap
    # Of the recorder, until readings come that were taken after it.
    suspension: Suspension | None = None
    caught_up: bool = False  # some readings came that were taken during that suspension
    gaps_of: Suspension | None = None  # the last one that left a gap
    reported: set[str] = field(default_factory=set)  # reasons of this outage
    channels: dict[str, Health] = field(default_factory=dict)
    judges: dict[str, Judge] = field(default_factory=dict)
    limits: Watcher = field(default_factory=Watcher)
    limits_due: float = 0.0  # monotonic
    implausible: set[str] = field(default_factory=set)  # channels with an impossible value so far

    _by_name: dict[str, Channel] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def reconnects(self) -> int:
        return self.source.reconnects

    def channel(self, name: str) -> Channel:
        """What the source says of a channel; a bare one where it says nothing."""
        if name not in self._by_name:  # first asked for, or found by the source since then
            for channel in reversed(self.source.channels):
                self._by_name[channel.name] = channel
        return self._by_name.get(name) or Channel(name)
