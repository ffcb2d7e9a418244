"""What a run was: hosts, devices, batch size, versions, flags, steps and sensors, as words."""

from __future__ import annotations

from collections.abc import Sequence

from powertui.data.columns import shown
from powertui.data.compare.part import ComparedPart
from powertui.data.opened import Profile
from powertui.data.tools import environment
from powertui.value_types import dataclass

_VERSION_WORDS = ("version", "flags", "backend", "world_size", "dtype")


@dataclass(frozen=True)
class Setting:
    """One thing that differs between the sides; "" where a side does not say it."""

    name: str
    a: str
    b: str


def settings(part: ComparedPart) -> dict[str, str]:
    """Everything that a run's files say of how it was run."""
    lead = part.lead
    if lead is None:
        return {}
    labels = {series.sensor.label for series in part.opened.run.power}
    return {
        **_environment(part, lead.profile),
        **_versions(lead.profile),
        "format": lead.profile.trace.format,
        "steps compared": f"{len(lead.rows):,}",
        "steps marked by": lead.profile.steps.source,
        **({"steps dispatched ahead": "yes"} if lead.profile.steps.asynchronous else {}),
        "sensors": ", ".join(sorted(labels)),
    }


def _environment(part: ComparedPart, profile: Profile) -> dict[str, str]:
    """Hosts, devices, batch size, software and command line."""
    values_by_name: dict[str, str] = {}
    for fact in environment.facts(part.opened, profile):
        if fact.value is not None:
            words = shown(fact.value, fact.kind, fact.unit)
            values_by_name[fact.label] = words
    hosts = [window.profile.host for window in part.windows]
    values_by_name["hosts"] = ", ".join(hosts)
    return values_by_name


def _versions(profile: Profile) -> dict[str, str]:
    """What the profile's planes say of versions and flags."""
    values_by_name: dict[str, str] = {}
    for process in profile.trace.processes:
        for stat in process.stats:
            low = stat.name.lower()
            if any(word in low for word in _VERSION_WORDS):
                values_by_name.setdefault(stat.name, str(stat.value))
    return values_by_name


def differing_settings(
    a: Sequence[dict[str, str]],
    b: Sequence[dict[str, str]],
) -> tuple[Setting, ...]:
    """The settings whose values on one side are not those of the other."""
    names: dict[str, None] = {}
    for settings in (*a, *b):
        names.update(dict.fromkeys(settings))
    rows = []
    for name in names:
        values_a = _values(a, name)
        values_b = _values(b, name)
        row = Setting(name, values_a, values_b)
        if row.a != row.b:
            rows.append(row)
    return tuple(rows)


def _values(runs: Sequence[dict[str, str]], name: str) -> str:
    values = {settings_of.get(name, "") for settings_of in runs}
    return " / ".join(sorted(values - {""}))
