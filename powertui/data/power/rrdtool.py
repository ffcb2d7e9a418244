"""What `rrdtool fetch` and `rrdtool xport` print: a line of names with rows of `time: values` below
it, XML, or JSON.

A value is the mean over the step that ends at its time. The document is turned into a table, whose
columns are called as the data sources or legends are, and read as any other.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence

from powertui.data.asked import LogColumns
from powertui.data.power import generic_csv
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "rrdtool"
_ROW = r"(\d{9,10}):((?:\s+-?(?:[\d.]+(?:e[+-]\d+)?|nan))+)\s*"
_XML_NAME = r"<entry>([^<]*)</entry>"
_XML_ROW = r"<row>(?:<t>([^<]*)</t>)?((?:<v\d{0,4}>[^<]*</v\d{0,4}>)*)</row>"
_XML_CELL = r"<v\d{0,4}>([^<]*)</v\d{0,4}>"
_XML_FIGURE = r"<(end|step)>\s*(\d{1,12})\s*</(?:end|step)>"
_SCORE = 96
_JSON_ABOUT = "RRDtool graph JSON output"
_MAX_NAMES_LENGTH = 2000  # of one line. Chosen, not measured


def sniff(head: str, _path: str) -> int:
    """By the words of its documents, or by the form of the rows of `fetch`."""
    is_xml = "<xport>" in head and "<meta>" in head
    is_json = head.lstrip().startswith("{") and _JSON_ABOUT in head
    if is_xml or is_json or _is_fetch(head.split("\n")):
        return _SCORE
    return 0


def _is_fetch(lines: Sequence[str]) -> bool:
    """Whether lines are a line of names, an empty one, and a row with a value for each name."""
    if len(lines) < 3:
        return False
    header, empty, first_row = lines[:3]
    if empty.strip() or len(header) > _MAX_NAMES_LENGTH:
        return False
    names = header.split()
    row = re.fullmatch(_ROW, first_row)
    if row is None or not names:
        return False
    cells = row[2].split()
    return len(cells) == len(names)


class _Exported(NamedTuple):
    """What a document holds: the names of its columns, and rows that begin with their time."""

    names: list[str]
    rows: Iterable[Sequence[str]]


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The table that the document holds."""
    text = source.text
    if "<xport>" in source.head_text:
        exported = _exported_xml(text)
    elif text.lstrip().startswith("{"):
        exported = _exported_json(source.path, text)
    else:
        exported = _fetched(text)
    names = ["time", *exported.names]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in exported.rows:
        if len(row) == len(names):
            writer.writerow(row)
    as_csv = LogFile.of_text(source, out.getvalue())
    log: PowerLog = generic_csv.load(as_csv, options)
    return log


def _fetched(text: str) -> _Exported:
    header, *lines = text.split("\n")
    rows = []
    for line in lines:
        match = re.fullmatch(_ROW, line)
        if match is not None:
            time, cells = match.groups()
            rows.append([time, *cells.split()])
    return _Exported(header.split(), rows)


def _exported_xml(text: str) -> _Exported:
    names = []
    for entry in re.findall(_XML_NAME, text):
        names.append(html.unescape(entry).strip())
    figures: dict[str, int] = {}
    for name, digits in re.findall(_XML_FIGURE, text):
        figures[name] = int(digits)
    matches = re.findall(_XML_ROW, text)
    ends = _ends(figures, len(matches))
    return _Exported(names, _xml_rows(matches, ends))


def _xml_rows(matches: list[tuple[str, str]], ends: list[str]) -> Iterator[Sequence[str]]:
    """Each row as its time and cells. Without --showtime no row has a time of its own."""
    for (time, cell_text), end in zip(matches, ends, strict=False):
        cells = re.findall(_XML_CELL, cell_text)
        yield [time.strip() or end, *cells]


def _exported_json(path: str, text: str) -> _Exported:
    try:
        document = json.loads(text)
        meta = document["meta"]
        names = list(map(str, meta["legend"]))
        figures = {name: int(meta[name]) for name in ("end", "step")}
        rows = [list(map(_json_cell, row)) for row in document["data"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnreadableFile(path, "comes from rrdtool xport, but is cut or damaged") from None
    ends = _ends(figures, len(rows))
    timed_rows = []
    for row, end in zip(rows, ends, strict=True):
        # With --showtime a row begins with its own time.
        has_time = len(row) > len(names)
        timed_rows.append(row if has_time else [end, *row])
    return _Exported(names, timed_rows)


def _json_cell(cell: object) -> str:
    return "nan" if cell is None else str(cell)


def _ends(figures: dict[str, int], count: int) -> list[str]:
    """The end of each row's step.

    The last row's is the document's end: what `start` means differs between versions.
    """
    end = figures.get("end", 0)
    step = figures.get("step", 0)
    if not end or not step:
        return [""] * count
    first_end = end - (count - 1) * step
    ends = range(first_end, end + step, step)
    return list(map(str, ends))
