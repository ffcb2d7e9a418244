"""`dask://scheduler:8786`: a Dask cluster as the executor that reads the hosts of a run, and the
runs of a list.

Dask carries what is sent, spreads it over workers and repeats what a lost one was doing. Who may
use a cluster, and TLS, are matters of Dask's own configuration.
"""

from __future__ import annotations

import logging
import re
import warnings
from typing import TYPE_CHECKING, Any

from powertui import __version__
from powertui.data.host_readers import HostReading
from powertui.errors import UsageError
from powertui.plain import plain

if TYPE_CHECKING:
    from concurrent.futures import Executor

_ADDRESS = re.compile(r"dask://(\[[0-9A-Fa-f:]+\]|[\w.-]+)(?::(\d{1,5}))?/?(\?tls=1)?", re.ASCII)
_PORT = 8786  # Dask's own
_CONNECT_S = 5  # chosen: a scheduler in the same network answers within a second
_RETRIES = 3  # how often what a lost worker was doing is tried again, as Dask has it by default


def cluster_reader(address: str) -> HostReading:
    """Who reads hosts on the cluster of this address. Raises `UsageError` where it cannot."""
    return HostReading(cluster=_DaskCluster(address))


class _DaskCluster:
    """A cluster that answers, all of whose workers run this version of powertui."""

    def __init__(self, address: str) -> None:
        self.name = plain(address)
        match = _ADDRESS.fullmatch(address)
        if match is None or int(match[2] or _PORT) > 65535:
            raise UsageError(
                f"--on {plain(address, 60)} is not the address of a cluster.",
                hint="Write it like dask://scheduler:8786.",
            )
        host, port, tls = match.groups()
        scheme = "tls" if tls else "tcp"
        self._client = self._connected(f"{scheme}://{host}:{port or _PORT}")
        self._workers: set[str] = set(self._client.ncores())
        self._check_workers()

    @property
    def executor(self) -> Executor:
        """Whom to ask."""
        # Without `pure=False` Dask would answer for a file as it was the last time.
        executor: Executor = self._client.get_executor(pure=False, retries=_RETRIES)
        return executor

    @property
    def cores(self) -> int:
        """How many questions its workers answer at once."""
        return sum(self._client.ncores().values())

    def lost_workers(self) -> tuple[int, int]:
        """(how many workers were lost since it was opened or asked last, how many there were)."""
        before = self._workers
        self._workers = self._present()
        return len(before - self._workers), len(before)

    def has_workers(self) -> bool:
        """Whether there is anybody who can answer."""
        return bool(self._present())

    def _present(self) -> set[str]:
        """The workers that there are now; none where the scheduler does not answer any more."""
        if self._client.status != "running":
            return set()
        try:
            return set(self._client.ncores())
        except (OSError, RuntimeError):
            return set()

    def _connected(self, scheduler: str) -> Any:
        try:
            from distributed import Client
        except ImportError:
            raise UsageError(
                f"--on {self.name} needs the package distributed.",
                hint="pip install distributed",
            ) from None
        _silence_dask()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # on versions: our own are compared
                connect: Any = Client
                return connect(scheduler, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            # A TypeError says what Dask's configuration lacks for TLS.
            why = ""
            if isinstance(error, TypeError):
                why = str(error).partition("\n")[0]
            because = f" ({plain(why, 100)})" if why else ""
            raise UsageError(
                f"No Dask scheduler answers at {self.name}{because}.",
                hint="Start one with `dask scheduler`, or check host and port.",
            ) from None

    def _check_workers(self) -> None:
        """Raise `UsageError` unless there are workers that read as this program does."""
        if not self._workers:
            raise UsageError(
                f"{self.name} has no worker yet.",
                hint=f"Start some with `dask worker {self.name.replace('dask', 'tcp', 1)}`.",
            )
        versions = self._client.run(_version_there, on_error="return")
        for worker, version in versions.items():
            if version == __version__:
                continue
            found = "no powertui"
            if isinstance(version, str):
                found = f"powertui {plain(version, 20)}"
            name = plain(worker, 60)
            raise UsageError(
                f"The worker {name} of {self.name} has {found}, this is {__version__}.",
                hint="Install the same version in the environment of all workers.",
            )


def _silence_dask() -> None:
    """Whatever Dask would say of a lost worker, we say in one sentence, and never on a screen.

    Its configuration gives several of its loggers a level and a handler of their own.
    """
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _version_there() -> str:
    """The version of powertui where this runs."""
    return __version__
