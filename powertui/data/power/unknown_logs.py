"""What to say of a file that no reader of power logs takes: what it looks like, and what to do."""

from __future__ import annotations

from powertui import plugins
from powertui.data.power import column_hint, column_names, own_tables, table
from powertui.data.power.options import COLUMNS_HINT
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

# How packed files begin, and what unpacks them.
_PACKED = {
    b"\xfd7zXZ\x00": "xz -dk",
    b"BZh": "bzip2 -dk",
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"PK\x03\x04": "unzip",
}
_SPREADSHEETS = (".xlsx", ".xls", ".ods")
_MAX_SHOWN_CHARS = 60  # of a file's own words in a message: they fit on one line of a terminal


def not_a_log(source: LogFile) -> UnreadableFile:
    """What to raise for a file that no reader takes."""
    if own_table := own_tables.own_export(source.head_text):
        return UnreadableFile(
            source.path,
            f"holds {own_table}, not a power log",
            hint="Name the log itself, or columns: --time-col --watts-col.",
        )
    if source.path.lower().endswith(_SPREADSHEETS):
        return UnreadableFile(source.path, "is a spreadsheet", hint="Save it as CSV.")
    for magic, program in _PACKED.items():
        if source.head.startswith(magic):
            problem = "is packed, and powertui unpacks gzip alone"
            return UnreadableFile(source.path, problem, hint=f"Unpack it first: {program} FILE")
    hint = _which_columns(source) + plugins.left_out(plugins.POWER)
    return UnreadableFile(source.path, _looks(source), hint=hint)


def _which_columns(source: LogFile) -> str:
    """What to type for a table whose names say nothing of power: its own names, spelled out."""
    head = source.head_text
    if column_names.json_members(head) is not None:
        return "powertui reads objects with a time and a member like power_w or energy_j."
    layout = table.shape(head)
    if layout is None or not layout.named:
        return COLUMNS_HINT
    rows = table.first_rows(head, layout)
    if rows is None:
        return COLUMNS_HINT
    return column_hint.column_hint(rows)


def _looks(source: LogFile) -> str:
    """Why this file is no power log, as the end of a sentence."""
    head = source.head
    if head.startswith(b"\x89HDF"):
        return (
            "is an HDF5 file, which powertui does not read (of Slurm's profiles: sh5util -j "
            "JOB -E --series=Energy writes a CSV)"
        )
    if head.startswith(b"PAR1"):
        return (
            "is a Parquet file, and powertui reads power from text (pandas writes a CSV: "
            'read_parquet("FILE").to_csv("power.csv"))'
        )
    is_utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\x00" in head[:1024] and not is_utf16:
        return "is binary, and not a power log that powertui knows"
    if (names_in_json := column_names.json_members(source.head_text)) is not None:
        members = _printable(", ".join(names_in_json))
        return (
            f"is JSON without objects that hold a time and a power or energy (members: {members})"
        )
    layout = table.shape(source.head_text)
    names = [name for name in layout.names if name] if layout is not None and layout.named else []
    if len(set(names)) > 1:
        return (
            "has no column that is named like power or energy (its columns are: "
            f"{_printable(', '.join(names))})"
        )
    lines = (line.strip() for line in source.head_text.split("\n"))
    first_line = repr(_printable(next(filter(None, lines), "")))
    if layout is not None and not layout.named:
        return f"has no header that names its columns (its first line is: {first_line})"
    return f"has no column named like power or time (its first line is: {first_line})"


def _printable(text: str) -> str:
    shown = ""
    for char in text[:_MAX_SHOWN_CHARS]:
        shown += char if char.isprintable() else "?"
    if len(text) <= _MAX_SHOWN_CHARS:
        return shown
    return f"{shown}…"
