"""AWS Neuron, as Neuron Explorer exports it to JSON (`neuron-explorer view --output-format json`).

    system_profile.json        {"trace_events": [{timestamp, duration, name, group, instance_id,
                               process_id, thread_id, type, …}], "mem_usage": […], "cpu_util": […]}
    device_profile_model_N.json  {"summary": [{…}], "instruction": [{timestamp, duration, label,
                               hlo_name, opcode, operands, …}]}

Times are ns: Unix time in a system profile, since the execution began in one of a device. Which
fields there are is known from the vendor's documentation; no recorded export lies here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Trace

NAME = "neuron"

_DEVICE_FIELDS = re.compile(rb'"(?:hlo_name|opcode)"')


def sniff(head: bytes, path: str) -> int:
    """The lists of one of the two exports, with fields that only they have."""
    if head[:8].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{" or b'"traceEvents"' in head:
        return 0
    if b'"trace_events"' in head and (b'"instance_id"' in head or path.endswith(_SYSTEM_NAME)):
        return 90
    has_list = b'"instruction"' in head and _DEVICE_FIELDS.search(head) is not None
    # A long summary may stand before the instructions.
    is_named = "device_profile_model_" in path and b'"summary"' in head
    return 90 if has_list or is_named else 0


_SYSTEM_NAME = "system_profile.json"


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """The whole trace."""
    from powertui.data.formats import neuron_events

    yield neuron_events.read(source, progress)
