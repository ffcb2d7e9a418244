"""Which files of a folder are captures of rocprofv3: each prefix (a process) a host of one run.

238_kernel_trace.csv  238_hip_api_trace.csv  238_agent_info.csv      one capture in parts
238_results.json                                                     the same in one
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from powertui.data.formats import rocprof
from powertui.data.formats.rocprof.tables import AGENTS, TABLES, split_table_name
from powertui.data.logdir.tree import FoundFile, head_of
from powertui.value_types import dataclass

TOOL = "rocprofv3"


@dataclass
class Capture:
    """What one process left: the file that stands for it, the same in another form, and all that
    belongs to it.
    """

    prefix: str
    json: FoundFile | None = None  # the JSON
    tables: dict[str, FoundFile] = field(default_factory=dict)

    @property
    def files(self) -> list[FoundFile]:
        """The better one first: a JSON holds all; of tables one stands for those beside it."""
        first = next((self.tables[name] for name in TABLES if name in self.tables), None)
        return [file for file in (self.json, first) if file is not None]

    @property
    def size(self) -> int:
        """Bytes that are read of the better one."""
        if self.json is not None:
            return self.json.size
        return sum(file.size for file in self.tables.values())


def captures(files: Iterable[FoundFile]) -> tuple[list[Capture], set[str]]:
    """(the captures, the paths that are theirs).

    Only the heads of files that could be are looked at.
    """
    by_prefix: dict[str, Capture] = {}
    agents: list[tuple[str, FoundFile]] = []
    paths: set[str] = set()
    for file in files:
        prefix, table = split_table_name(file.name) or ("", "")
        if table == AGENTS:
            agents.append((prefix, file))
            continue
        is_json = not table and file.name.endswith(rocprof.RESULTS)
        if not (table or is_json) or not _is_taken(file):
            continue
        if is_json:
            prefix = file.name.removesuffix(rocprof.RESULTS).rstrip("_")
        capture = by_prefix.setdefault(prefix, Capture(prefix))
        if is_json:
            capture.json = file
        else:
            capture.tables[table] = file
        paths.add(file.path)
    # A list of agents is no capture alone: it belongs to that of its process.
    paths.update(file.path for prefix, file in agents if prefix in by_prefix)
    return [by_prefix[prefix] for prefix in sorted(by_prefix)], paths


def _is_taken(file: FoundFile) -> bool:
    """Whether the reader of rocprofv3 takes this file."""
    return file.size > 0 and bool(rocprof.sniff(head_of(file.path), file.path))
