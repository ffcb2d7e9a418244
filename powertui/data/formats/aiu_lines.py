"""Where the lines of a trace of IBM's AIU (Spyre) belong: each rank is a device, and what holds
none of the device's registers ran on its host.
"""

from __future__ import annotations

from typing import Any

from powertui.data.formats import aiu_power
from powertui.data.formats.builder import LineEvents, ProcessBuilder, TraceBuilder
from powertui.data.formats.json_stats import ArgStats, PairNames
from powertui.data.formats.makers import process_name
from powertui.data.model import Track

_MAX_RANK = 100_000  # a larger pid is that of a process of the host


class AiuRank:
    """One pid of such a trace, as a device and as a host, as far as it has lines of either."""

    def __init__(
        self,
        builder: TraceBuilder,
        label: str,
        pid: Any,
        stats: ArgStats,
        names: PairNames,
    ) -> None:
        self._builder = builder
        self._stats = stats
        self._names = names
        self._name = process_name(label)
        self._pid = pid
        self._device: ProcessBuilder | None = None
        self._host: ProcessBuilder | None = None
        self._labels: dict[str, int] = {}  # how many lines of the device have each
        if self._name.startswith("/device:"):  # it is shown as idle where it has no events
            self._device = builder.process(self._name, (), stats)

    def add(self, key: int, label: str, line: LineEvents) -> Track | None:
        """One line, as `ProcessBuilder.add`."""
        positions = line.events[: aiu_power.SAMPLED_EVENTS].position
        if not aiu_power.writes_registers(self._stats, positions):
            return self._host_process().add(key, label, line)
        own = aiu_power.line_label(self._names, dict.fromkeys(line.name.tolist()))
        return self._device_process().add(key, self._numbered(own or label), line)

    def _numbered(self, label: str) -> str:
        if not label:
            return ""
        count = self._labels[label] = self._labels.get(label, 0) + 1
        if count == 1:
            return label
        return f"{label} {count}"

    def _device_process(self) -> ProcessBuilder:
        if self._device is None:
            is_rank = isinstance(self._pid, int) and 0 <= self._pid < _MAX_RANK
            name = f"/device:AIU:{self._pid if is_rank else 0}"
            self._device = self._builder.process(name, (), self._stats)
        return self._device

    def _host_process(self) -> ProcessBuilder:
        if self._host is None:
            is_named = self._name and not self._name.startswith("/device:")
            if is_named:
                name = self._name
            else:
                name = f"/host:CPU rank {self._pid}"
            self._host = self._builder.process(name, (), self._stats)
        return self._host
