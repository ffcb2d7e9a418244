"""Which files of a folder are captures of rocprofv3: each prefix (a process) a host of one run.

238_kernel_trace.csv  238_hip_api_trace.csv  238_agent_info.csv      one capture in parts
238_results.json                                                     the same in one
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from powertui.data.formats import rocprof
from powertui.data.formats.rocprof.tables import AGENTS, TABLES, split_table_name
from powertui.data.logdir.tree import FoundFile, head_of

TOOL = "rocprofv3"


@dataclass
class Capture:
    """What one process left: the file that stands for it, the same in another form, and all that
    belongs to it.
    """

    prefix: str
    whole: FoundFile | None = None  # the JSON
    tables: dict[str, FoundFile] = field(default_factory=dict)

    @property
    def files(self) -> list[FoundFile]:
        """The better one first: a JSON holds all; of tables one stands for those beside it."""
        first = next((self.tables[name] for name in TABLES if name in self.tables), None)
        return [file for file in (self.whole, first) if file is not None]

    @property
    def size(self) -> int:
        """Bytes that are read of the better one."""
        return (
            self.whole.size
            if self.whole is not None
            else sum(file.size for file in self.tables.values())
        )


def captures(files: Iterable[FoundFile]) -> tuple[list[Capture], set[str]]:
    """(the captures, the paths that are theirs).

    Only the heads of files that could be are looked at.
    """
    found: dict[str, Capture] = {}
    agents: list[tuple[str, FoundFile]] = []
    taken: set[str] = set()
    for file in files:
        named = split_table_name(file.name)
        if named is not None and named[1] == AGENTS:
            agents.append((named[0], file))
        elif named is not None and file.size and rocprof.sniff(head_of(file.path), file.path):
            found.setdefault(named[0], Capture(named[0])).tables[named[1]] = file
            taken.add(file.path)
        elif (
            file.name.endswith(rocprof.RESULTS)
            and file.size
            and rocprof.sniff(head_of(file.path), file.path)
        ):
            prefix = file.name.removesuffix(rocprof.RESULTS).rstrip("_")
            found.setdefault(prefix, Capture(prefix)).whole = file
            taken.add(file.path)
    taken.update(file.path for prefix, file in agents if prefix in found)
    return [found[prefix] for prefix in sorted(found)], taken
