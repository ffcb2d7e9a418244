"""What a PyTorch trace says of the launcher that started its process: machine, rank, job.

Programs put it there themselves (`add_metadata`), by the names of the launchers' environment
variables: of torchrun, Slurm and Open MPI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from powertui.data.formats.json_stats import clean
from powertui.data.model import ProcessLaunch

_MAX_NAME_CHARS = 255  # of a host name, as DNS allows
_MAX_FACTS = 4096  # of one dictionary that are looked at: an environment has some hundreds
_MAX_NODES = 4096  # of a job that are counted: a bound of time

# The surest first: what PyTorch writes itself, what a person wrote, what Slurm says.
_HOST_NAMES = ("host_name", "hostname", "slurmd_nodename", "nodename", "node_name", "host")
_NODE_LISTS = ("slurm_job_nodelist", "slurm_nodelist")
_NUMBERS = {
    "rank": ("rank", "slurm_procid", "ompi_comm_world_rank"),
    "local_rank": ("local_rank", "slurm_localid", "ompi_comm_world_local_rank"),
    "local_size": ("local_world_size", "ompi_comm_world_local_size"),
    "world_size": ("world_size", "slurm_ntasks", "ompi_comm_world_size"),
    "node": ("group_rank", "slurm_nodeid", "node_rank"),
}
_ALL_NAMES = frozenset(
    (*_HOST_NAMES, *_NODE_LISTS, *(n for names in _NUMBERS.values() for n in names))
)
_NODES = re.compile(r"([^,\[\]]+)(?:\[([0-9,-]+)\])?([^,\[\]]*)(?:,|$)")


class LaunchFacts:
    """The facts of one trace, collected member by member."""

    def __init__(self) -> None:
        self._facts: dict[str, str] = {}

    def member(self, key: str, value: Any) -> None:
        """A member of the file, or the members of a dictionary in it."""
        if not isinstance(value, dict):
            self._add(key, value)
            return
        for number, (name, fact) in enumerate(value.items()):
            if number >= _MAX_FACTS:
                return
            self._add(name, fact)

    def _add(self, key: str, value: Any) -> None:
        name = key.casefold()
        if name in _ALL_NAMES and isinstance(value, (str, int)) and not isinstance(value, bool):
            self._facts.setdefault(name, clean(str(value).strip()))

    @property
    def host_names(self) -> Iterator[str]:
        """What it calls its machine, the surest first."""
        for name in _HOST_NAMES:
            if text := self._facts.get(name, "")[:_MAX_NAME_CHARS]:
                yield text

    @property
    def node_name(self) -> str:
        """The node of its job that it ran on, where the job has one, or it says which; else ""."""
        lists = [self._facts[name] for name in _NODE_LISTS if name in self._facts]
        names = _node_names(lists[0]) if lists else ()
        if len(names) == 1:
            return names[0]
        number = self._number(_NUMBERS["node"])
        if number is not None and number < len(names):
            return names[number]
        return ""

    @property
    def launch(self) -> ProcessLaunch:
        """Its numbers."""
        return ProcessLaunch(**{name: self._number(keys) for name, keys in _NUMBERS.items()})

    def _number(self, names: tuple[str, ...]) -> int | None:
        for name in names:
            text = self._facts.get(name, "")
            if re.fullmatch(r"[0-9]{1,7}", text):
                return int(text)
        return None


def _node_names(nodes: str) -> tuple[str, ...]:
    """The hosts of a Slurm list: "node[07-09,12],login" has five."""
    names: list[str] = []
    for match in _NODES.finditer(nodes[: 16 * _MAX_NODES]):
        before = match[1].strip()
        ranges = match[2]
        after = match[3]
        if ranges is None:
            names.append(before + after)
            continue
        for part in ranges.split(","):
            numbers = _numbers_of_range(part)
            if numbers is None or len(names) + len(numbers) > _MAX_NODES:
                return ()
            names += [f"{before}{number}{after}" for number in numbers]
    return tuple(name for name in names if name)


def _numbers_of_range(text: str) -> list[str] | None:
    """The numbers of "07-09" or "12", as wide as the first; None for what is no range."""
    first, _, last = text.partition("-")
    if not first.isdigit() or (last and not last.isdigit()):
        return None
    start = int(first)
    end = int(last or first)
    if end < start or end - start >= _MAX_NODES:
        return None
    return [f"{number:0{len(first)}d}" for number in range(start, end + 1)]
