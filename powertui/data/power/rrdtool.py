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
from collections.abc import Iterator, Sequence

from powertui.data.asked import LogColumns
from powertui.data.power import generic_csv
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

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
    if len(lines) < 3 or len(lines[0]) > _MAX_NAMES_LENGTH or lines[1].strip():
        return False
    names = lines[0].split()
    row = re.fullmatch(_ROW, lines[2])
    return bool(names) and row is not None and len(row[2].split()) == len(names)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The table that the document holds."""
    text = source.text
    if "<xport>" in source.head_text:
        names, rows = _of_xml(text)
    elif text.lstrip().startswith("{"):
        names, rows = _of_json(source.path, text)
    else:
        names, rows = _of_fetch(text)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time", *names])
    writer.writerows(row for row in rows if len(row) == len(names) + 1)
    log: PowerLog = generic_csv.load(LogFile.of_text(source, out.getvalue()), options)
    return log


def _of_fetch(text: str) -> tuple[list[str], Iterator[Sequence[str]]]:
    lines = text.split("\n")
    matches = (re.fullmatch(_ROW, line) for line in lines[1:])
    return lines[0].split(), ((match[1], *match[2].split()) for match in matches if match)


def _of_xml(text: str) -> tuple[list[str], Iterator[Sequence[str]]]:
    names = [html.unescape(name).strip() for name in re.findall(_XML_NAME, text)]
    matches = re.findall(_XML_ROW, text)
    figures: dict[str, int] = {}
    for name, value in re.findall(_XML_FIGURE, text):
        figures[name] = int(value)
    return names, _xml_rows(matches, _ends(figures, len(matches)))


def _xml_rows(matches: list[tuple[str, str]], ends: list[str]) -> Iterator[Sequence[str]]:
    """Each row as its time and cells. Without --showtime no row has a time of its own."""
    for (time, cells), end in zip(matches, ends, strict=False):
        yield (time.strip() or end, *re.findall(_XML_CELL, cells))


def _of_json(path: str, text: str) -> tuple[list[str], Iterator[Sequence[str]]]:
    try:
        document = json.loads(text)
        meta = document["meta"]
        data = document["data"]
        names = [str(name) for name in meta["legend"]]
        figures = {name: int(meta[name]) for name in ("end", "step")}
        rows = [["nan" if cell is None else str(cell) for cell in row] for row in data]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnreadableFile(path, "comes from rrdtool xport, but is cut or damaged") from None
    ends = _ends(figures, len(rows))
    return names, (_timed(row, end, len(names)) for row, end in zip(rows, ends, strict=False))


def _timed(row: list[str], end: str, width: int) -> list[str]:
    """A row with its time: with --showtime it begins with its own."""
    if len(row) > width:
        return row
    return [end, *row]


def _ends(figures: dict[str, int], count: int) -> list[str]:
    """The end of each row's step.

    The last row's is the document's end: what `start` means differs between versions.
    """
    end = figures.get("end", 0)
    step = figures.get("step", 0)
    return [str(end - (count - 1 - row) * step) if end and step else "" for row in range(count)]
