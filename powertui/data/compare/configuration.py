"""What a run was: hosts, devices, batch size, versions, flags, steps and sensors, as words."""

from __future__ import annotations

from collections.abc import Sequence

from powertui.data.compare.part import Part
from powertui.data.table import shown
from powertui.data.tools import environment
from powertui.value_types import dataclass

_VERSION_WORDS = ("version", "flags", "backend", "world_size", "dtype")


@dataclass(frozen=True)
class Setting:
    """One thing that differs between the sides; "" where a side does not say it."""

    name: str
    a: str
    b: str


def settings(part: Part) -> dict[str, str]:
    """Everything that a run's files say of how it was run."""
    run, lead = part.opened.run, part.lead
    out: dict[str, str] = {}
    if lead is None:
        return out
    for fact in environment.facts(part.opened, lead.profile):
        if fact.id == "hosts":
            out[fact.label] = ", ".join(window.profile.host for window in part.windows)
        elif fact.value is not None:
            out[fact.label] = shown(fact.value, fact.kind, fact.unit)
    for process in lead.profile.trace.processes:
        for stat in process.stats:
            if any(word in stat.name.lower() for word in _VERSION_WORDS):
                out.setdefault(stat.name, str(stat.value))
    out["format"] = lead.profile.trace.format
    out["steps compared"] = f"{len(lead.rows):,}"
    out["steps marked by"] = lead.profile.steps.source
    out["sensors"] = ", ".join(sorted({series.sensor.label for series in run.power}))
    return out


def differing_settings(
    a: Sequence[dict[str, str]], b: Sequence[dict[str, str]]
) -> tuple[Setting, ...]:
    """The settings whose values on one side are not those of the other."""
    names = dict.fromkeys(name for one_run in (*a, *b) for name in one_run)
    rows = [Setting(name, _values(a, name), _values(b, name)) for name in names]
    return tuple(row for row in rows if row.a != row.b)


def _values(runs: Sequence[dict[str, str]], name: str) -> str:
    return " / ".join(sorted({settings_of.get(name, "") for settings_of in runs} - {""}))
