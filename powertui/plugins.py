"""Formats, power logs and sources that other packages bring along, by entry points:

    [project.entry-points."powertui.formats"]      a module as in data/formats (NAME, SUFFIXES,
                                                   sniff, load)
    [project.entry-points."powertui.power"]        a module as in data/power (NAME, sniff, load)
    [project.entry-points."powertui.sources"]      scheme = "module:function", which takes (Address,
                                                   Options), as in sampler/

Only installed packages are asked, never the working folder. One that cannot be loaded costs one
warning, and is left out. `POWERTUI_NO_PLUGINS=1` asks nobody.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from powertui import dependencies
from powertui.named_tuples import NamedTuple
from powertui.plain import plain

FORMATS, POWER, SOURCES = "powertui.formats", "powertui.power", "powertui.sources"


class Plugin(NamedTuple):
    """One that was loaded."""

    name: str
    package: str
    loaded: Any


class PluginGroup(NamedTuple):
    """What a group holds."""

    plugins: tuple[Plugin, ...]
    problems: tuple[str, ...]  # a sentence for each that was left out


@functools.lru_cache(maxsize=8)
def plugin_group(group: str) -> PluginGroup:
    """Everything of a group that is installed and can be used; looked for once."""
    if os.environ.get("POWERTUI_NO_PLUGINS"):
        return PluginGroup((), ())
    if not dependencies.bring_along(group):
        return PluginGroup((), ())
    from importlib import metadata

    plugins, problems = [], []
    for entry in metadata.entry_points(group=group):
        package = entry.dist.name if entry.dist is not None else "an unknown package"
        try:
            loaded = entry.load()
            missing = _missing(group, loaded)
        except Exception as error:  # somebody else's code may raise anything
            missing = f"it cannot be loaded ({type(error).__name__}: {error})"
        if missing:
            problems.append(
                plain(f"The plugin {entry.name!r} of {package} is left out: {missing}.", 300)
            )
        else:
            plugins.append(Plugin(entry.name, package, loaded))
    return PluginGroup(tuple(plugins), tuple(problems))


def problems() -> tuple[str, ...]:
    """What was wrong with any plugin, of whatever kind."""
    return tuple(
        problem for group in (FORMATS, POWER, SOURCES) for problem in plugin_group(group).problems
    )


def left_out(group: str) -> str:
    """What to add where nothing takes a file or a scheme, and something that was left out might
    have; "" for nothing.
    """
    return "".join(f" {problem}" for problem in plugin_group(group).problems)


def guarded(plugin: Plugin, what: str, ask: Callable[[], Any], otherwise: Any) -> Any:
    """What a plugin answers; `otherwise` when it raises anything but an answer of ours."""
    from powertui.errors import PowertuiError

    try:
        return ask()
    except PowertuiError:
        raise
    except Exception:  # somebody else's code
        _failed.setdefault((plugin.name, what), plugin.package)
        return otherwise


def failed() -> tuple[str, ...]:
    """Which plugins raised when they were asked."""
    return tuple(
        plain(f"The plugin {name!r} of {package} failed in {what}.", 300)
        for (name, what), package in _failed.items()
    )


_failed: dict[tuple[str, str], str] = {}

_PLUGIN_ATTRIBUTES = {
    FORMATS: ("NAME", "SUFFIXES", "sniff", "load"),
    POWER: ("NAME", "sniff", "load"),
}


def _missing(group: str, loaded: Any) -> str:
    if group == SOURCES:
        return "" if callable(loaded) else "it is not a function"
    lacks = [name for name in _PLUGIN_ATTRIBUTES[group] if not hasattr(loaded, name)]
    return f"it has no {', '.join(lacks)}" if lacks else ""
