"""NVIDIA's Nsight Systems, as `nsys export --type sqlite` writes a report.

One database holds the capture: kernels, copies and memsets on the streams of each GPU, calls of
CUDA and NVTX ranges on their threads, CUDA graphs, allocations, sampled metrics. Versions differ in
tables and columns: what is there is read. Times are ns since the start of the session, whose Unix
time the newer versions write down.

The database is not trusted: it is opened as a file that nobody changes (no lock, no journal), only
its own tables are asked for columns, and what it names is text.
"""

from __future__ import annotations

from collections.abc import Iterator

from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Trace

NAME = "nsys"

_SQLITE = b"SQLite format 3\x00"
# Tables that an export of any version begins with, or cannot lack.
_TABLES = (
    b"CUPTI_ACTIVITY_KIND_",
    b"TARGET_INFO_",
    b"NVTX_EVENTS",
    b"META_DATA_EXPORT",
    b"ENUM_NSYS",
    b"ENUM_CUDA_",
)


def sniff(head: bytes, path: str) -> int:
    """A SQLite database with tables that Nsight Systems alone names so.

    With many tables their list does not fit into the first page, and may begin anywhere: then the
    database itself is asked.
    """
    if not head.startswith(_SQLITE):
        return 0
    if any(name in head for name in _TABLES):
        return 97
    from powertui.data.formats.nsys.database import schema_text

    listed = schema_text(path)
    if any(name in listed for name in _TABLES):
        return 97
    return 0


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """The whole trace: which stream an event is on is known only when its table was read."""
    from powertui.data.formats.nsys import reader

    yield reader.read(source, progress)
