"""Tables that powertui itself writes: windows that were exported, joules, findings. They hold watts
and times, and are no log.

A window that was exported is a part of a log that is already there; read as a log beside it, it
would be placed anew, and would lead where it must not. Recordings are logs, and not meant here.
"""

from __future__ import annotations

from powertui.data.power import table
from powertui.patterns import late_pattern

_COMMENT = "# powertui: "  # the first line of an export with comments
#: What a window that was exported as OpenMetrics says of its watts, in its first line. Other
#: programs' metrics of the same name do not say it.
OPENMETRICS_WATTS = (
    "Power as the sensor read it, at the moment that the reading is about. NaN: not known."
)
# The first key of every answer in JSON, and of what a window in JSON is about.
_JSON = late_pattern(r'\s*\{\s*("powertui":\s*"|"about":\s*\[\s*\[\s*"powertui")')
#: Columns that no other table has together, and what it is that has them. Of "joules: GPU 0" only
#: the part before the colon counts.
_HEADS = (
    ({"trace_s", "about_s"}, "samples that powertui exported"),
    ({"badge", "reason", "joules"}, "joules that powertui worked out"),
    ({"delta_watts", "delta_joules", "badge"}, "findings of powertui"),
    ({"quantum_w", "placed", "counted"}, "a table of sensors that powertui wrote"),
    ({"unix_start_s", "start_s", "plane", "line"}, "events that powertui exported"),
    ({"start_s", "end_s", "start_to_start_s"}, "a table of steps that powertui wrote"),
    ({"total_s", "self_s", "average_s", "share"}, "a table of ops that powertui wrote"),
)


def own_export(head: str) -> str:
    """What this is ("samples that powertui exported"); "" for what we did not write."""
    if _JSON.match(head):
        return "an answer of powertui in JSON"
    first = ""
    for line in head.split("\n"):
        if line.startswith(_COMMENT) or line.endswith(OPENMETRICS_WATTS):
            return "a window that powertui exported"
        if line.strip() and not line.startswith("#"):
            first = line
            break
    if "," in first:
        names = {name.split(":")[0].strip() for name in table.fields(first.rstrip("\r"), ",")}
    else:
        names = set()
    return next((words for columns, words in _HEADS if columns <= names), "")
