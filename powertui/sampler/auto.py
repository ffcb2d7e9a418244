"""A BMC of which only the name is known: ipmi, then ipmitool, then redfish, two seconds each, or as
long as one answer may take.

A refused login ends the search. The next protocol would try the same password again, and BMCs lock
accounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from powertui.errors import AuthenticationFailed, SensorError, UsageError
from powertui.sampler.source import Channel, Info, Options, Reading, Source, machine_of, open_source
from powertui.sampler.urls import Address, join_host_port

__all__ = ["CHAIN", "AutoSource", "budget", "make"]

CHAIN = ("ipmi", "ipmitool", "redfish")
_MIN_BUDGET_S = 2.0  # a BMC that is slow to log in would be passed over with less


def budget(options: Options) -> float:
    """Seconds that each protocol gets: who allows an answer more time has a slow BMC."""
    return max(_MIN_BUDGET_S, options.timeout)


class AutoSource:
    """The first protocol that gives a power reading, from then on."""

    def __init__(self, address: Address, options: Options) -> None:
        self._address, self._options = address, options
        self.name = join_host_port(address.host, address.port)
        self._chosen: Source | None = None

    @property
    def min_period(self) -> float:
        return self._chosen.min_period if self._chosen else 0.1

    @property
    def reconnects(self) -> int:
        return self._chosen.reconnects if self._chosen else 0

    @property
    def channels(self) -> Sequence[Channel]:
        return self._chosen.channels if self._chosen else ()

    def open(self) -> Info:
        refused: list[str] = []
        for scheme in CHAIN:
            options = replace(self._options, open_within=budget(self._options), name=self.name)
            source = open_source(str(replace(self._address, scheme=scheme)), options)
            try:
                info = source.open()
            except AuthenticationFailed as error:
                raise AuthenticationFailed(
                    error.message,
                    hint=(error.hint + " " if error.hint else "")
                    + "No other protocol was tried, to keep the account from being locked.",
                ) from None
            except SensorError as error:
                refused.append(f"{scheme}: {error.message}")
                source.close()
            else:
                self._chosen = source
                return info
        address = self._address
        raise SensorError(
            f"No power can be read from {machine_of(address, self._options)}.\n  "
            + "\n  ".join(refused),
            hint=(
                "powertui sensors --host "
                f"{self._options.machine or join_host_port(address.host, address.port)} shows more."
            ),
        )

    def read(self) -> list[Reading]:
        return self._chosen.read() if self._chosen else []

    def close(self) -> None:
        if self._chosen:
            self._chosen.close()


def make(address: Address, options: Options) -> AutoSource:
    if not address.host:
        raise UsageError("auto: needs a host.", hint="Write auto://bmc.")
    return AutoSource(address, options)
