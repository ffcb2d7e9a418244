"""A source that another package brings along: whatever it raises is no worse for a recording than a
sensor that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from powertui.errors import PowertuiError, SensorError
from powertui.plain import plain
from powertui.plugins import Plugin
from powertui.sampler.source import Channel, Info, Options, Reading, Stamp
from powertui.sampler.urls import Address

__all__ = ["ForeignSource", "maker"]

_SOURCE_ATTRIBUTES = ("name", "open", "read", "close")
_HINT = "Report it to its authors, or uninstall it."


class ForeignSource:
    """What it raises becomes a reading without a value, or a sentence when it is opened."""

    def __init__(self, plugin: Plugin, source: Any) -> None:
        lacks = [name for name in _SOURCE_ATTRIBUTES if not hasattr(source, name)]
        if lacks:
            raise SensorError(
                (
                    f"The plugin {plugin.name!r} of {plugin.package} makes no source: it has no "
                    f"{', '.join(lacks)}."
                ),
                hint=_HINT,
            )
        self._plugin, self._source = plugin, source
        self.name = str(source.name)
        self.min_period = float(getattr(source, "min_period", 0.05))
        self.channels: Sequence[Channel] = ()

    @property
    def reconnects(self) -> int:
        """How often it built up its connection again, where it counts that."""
        return int(getattr(self._source, "reconnects", 0))

    def open(self) -> Info:
        """Connect."""
        info: Info = _asked(self._plugin, self._source.open)
        self.channels = tuple(getattr(self._source, "channels", info.channels))
        return info

    def read(self) -> list[Reading]:
        """Its readings; where it raises, none for each of its channels."""
        stamp = Stamp.now()
        try:
            return list(self._source.read())
        except Exception as error:  # somebody else's code
            why = plain(f"the plugin failed ({type(error).__name__}: {error})", 200)
            failed = stamp.middle()
            return [failed.gap(self.name, channel.name, why) for channel in self.channels]

    def close(self) -> None:
        """Let go."""
        try:
            self._source.close()
        except Exception:  # it is over anyway
            return


def maker(plugin: Plugin) -> Callable[[Address, Options], ForeignSource]:
    """What makes the sources of a plugin's scheme."""
    return lambda address, options: ForeignSource(
        plugin, _asked(plugin, lambda: plugin.loaded(address, options))
    )


def _asked(plugin: Plugin, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except PowertuiError:
        raise
    except Exception as error:  # somebody else's code
        message = plain(
            (
                f"The plugin {plugin.name!r} of {plugin.package} failed ({type(error).__name__}: "
                f"{error})."
            ),
            300,
        )
        raise SensorError(message, hint=_HINT) from None
