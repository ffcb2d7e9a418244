"""Power histories of HPE servers, each a document of many samples: an iLO's power meter (Redfish
PowerMeter and FastPowerMeter) and OneView's utilization.

Each sample is the mean of the time since the one before: 10 s of a FastPowerMeter, 5 min of a
PowerMeter and of OneView.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import json_docs
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.named_tuples import NamedTuple

NAME = "hpe"
UNITS_WRITTEN = True
_METER = re.compile(r'"PowerDetail"\s{0,9}:\s{0,9}\[')
_UTILIZATION = re.compile(r'"metricName"\s{0,9}:\s{0,9}"AveragePower"')
_NODE = Sensor("power", NAME, Scope.NODE)
# Members of one sample of a meter; iLO writes 0 for a part that it does not measure.
_PARTS = {
    "CpuWatts": Sensor("CPU", NAME, Scope.PACKAGE),
    "DimmWatts": Sensor("memory", NAME, Scope.DRAM),
    "GpuWatts": Sensor("GPUs", NAME, Scope.GPU),
}


class _Sample(NamedTuple):
    sensor: Sensor
    when: str
    watts: Any


def sniff(head: str, _path: str) -> int:
    """By the members that hold the samples."""
    is_meter = _METER.search(head) is not None and '"Average"' in head
    return 97 if is_meter or _UTILIZATION.search(head) else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The server, and those of its parts that are measured."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    samples = [
        (document.line, sample)
        for document in json_docs.documents(source.text, notes)
        for sample in _samples(document.value)
    ]
    measured = {
        sample.sensor
        for _, sample in samples
        if sample.sensor is _NODE or sample.watts not in (0, "0")
    }
    for line, sample in samples:
        if sample.sensor in measured and not isinstance(sample.watts, (dict, list, bool)):
            collected.add(sample.sensor, sample.when, str(sample.watts), line, mean=True)
    return collected.log(NAME, options, "HPE: means of each interval in W")


def _samples(value: Any) -> Iterator[_Sample]:
    """The samples of a document, or of the documents in it."""
    if isinstance(value, list):
        for member in value:
            yield from _samples(member)
        return
    if not isinstance(value, dict):
        return
    details = value.get("PowerDetail")
    if isinstance(details, list):
        for detail in details:
            yield from _samples_of_meter(detail)
        return
    for metric in value.get("metricList") or ():
        yield from _samples_of_utilization(metric)


def _samples_of_meter(detail: Any) -> Iterator[_Sample]:
    """One moment of an iLO's power meter."""
    if not isinstance(detail, dict):
        return
    when = str(detail.get("Time") or "")
    yield _Sample(_NODE, when, detail.get("Average"))
    for key, part in _PARTS.items():
        if key in detail:
            yield _Sample(part, when, detail[key])


def _samples_of_utilization(metric: Any) -> Iterator[_Sample]:
    """The pairs of time and watts in OneView's utilization."""
    if not isinstance(metric, dict) or metric.get("metricName") != "AveragePower":
        return
    for pair in metric.get("metricSamples") or ():
        if isinstance(pair, list) and len(pair) == 2:
            when, watts = pair
            yield _Sample(_NODE, str(when), watts)
