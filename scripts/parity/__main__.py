"""Compare all profiles and write the table of agreement into docs/parity.md."""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from powertui.errors import PowertuiError
from scripts.parity import comparison, converter, ours, page, profiles, programs
from scripts.parity.comparison import Agreement, Difference
from scripts.parity.page import ComparedProfile
from scripts.parity.profiles import Profile
from scripts.parity.reasons import UNKNOWN, reason_of
from scripts.parity.tables import TABLES, TOOLS, Tables

# Whose versions the page names.
_PACKAGES = {"xprof": "xprof", "tensorflow-cpu": "TensorFlow", "jax": "JAX"}


# Of a profile, without --list: a table that is missing has thousands.
_MAX_SHOWN_CELLS = 10


def main() -> int:
    """Exit code 1 when a cell differs and no reason is known."""
    arguments = _parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="powertui-parity-") as folder:
        compared = [
            _compared(profile, show_cells=arguments.list)
            for profile in _profiles(arguments.only, Path(folder))
        ]
    if arguments.only is None:
        block = page.block(compared, time.strftime("%Y-%m-%d"), _versions())
        text = page.PAGE.read_text(encoding="utf-8")
        page.PAGE.write_text(page.written_into(text, block), encoding="utf-8")
    agreements = [part for profile in compared for part in profile.by_tool.values()]
    return int(page.reason_counts(agreements)[UNKNOWN] > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.parity", description=__doc__)
    parser.add_argument(
        "--only",
        type=Path,
        metavar="PATH",
        help="only this profile, those below this folder, or (recorded) those that are recorded "
        "now; the page stays",
    )
    parser.add_argument("--list", action="store_true", help="print every cell that differs")
    return parser


def _profiles(only: Path | None, folder: Path) -> Iterator[Profile]:
    """The stored profiles, then those that are recorded now, into the folder."""
    if only is None:
        yield from profiles.stored_profiles()
        yield from programs.record(folder)
    elif str(only) == "recorded":
        yield from programs.record(folder)
    else:
        yield from profiles.profiles_below(only)


def _compared(profile: Profile, *, show_cells: bool) -> ComparedProfile:
    """Ask both sides about a copy of the profile, alone in a folder."""
    with tempfile.TemporaryDirectory(prefix="powertui-parity-") as folder:
        copy = Path(shutil.copy(profile.path, folder))
        try:
            by_tool = compare_tools(ours.answers(Path(folder)), converter.answers(copy))
        except (PowertuiError, converter.NoAnswer) as error:
            reason = str(error).replace(f"{copy}: ", "").splitlines()[0]
            print(f"{profile.name}: {reason}", file=sys.stderr, flush=True)
            return ComparedProfile(profile.name, unreadable=f"{reason}.")
    _print(profile, list(by_tool.values()), show_cells=show_cells)
    return ComparedProfile(profile.name, by_tool)


def compare_tools(our_tables: Tables, their_tables: Tables) -> dict[str, Agreement]:
    """The agreement of each tool over all its tables."""
    by_tool = {tool: Agreement() for tool in TOOLS}
    for table in TABLES:
        our_rows, their_rows = our_tables.get(table.id, []), their_tables.get(table.id, [])
        if table.name == "figures":
            # The converter has dozens, most of them for its own page.
            names = {row["figure"] for row in our_rows}
            their_rows = [row for row in their_rows if row["figure"] in names]
        by_tool[table.tool].add(comparison.compare(table, our_rows, their_rows))
    return by_tool


def _print(profile: Profile, agreements: Sequence[Agreement], *, show_cells: bool) -> None:
    counts = page.reason_counts(agreements)
    why = ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
    count = sum(agreement.cells for agreement in agreements)
    print(f"{profile.name}: {count:,} cells{f'; {why}' if why else ''}", flush=True)
    cells = [cell for agreement in agreements for cell in agreement.differences]
    if show_cells:
        shown = cells
    else:
        cells = [cell for cell in cells if reason_of(cell) == UNKNOWN]
        shown = cells[:_MAX_SHOWN_CELLS]
    for cell in shown:
        print(f"  {_described(cell)}")
    if len(shown) < len(cells):
        print(f"  and {len(cells) - len(shown)} more: --list shows all")


def _described(cell: Difference) -> str:
    """Where a cell is, and its two values: ours, then theirs."""
    ours_text = "no row" if cell.only == "theirs" else repr(cell.ours)
    their_text = "no row" if cell.only == "ours" else repr(cell.theirs)
    return f"{cell.table.id} {cell.key} {cell.column}: {ours_text}, {their_text}"


def _versions() -> str:
    names = [f"{name} {_version(package)}" for package, name in _PACKAGES.items()]
    return ", ".join(names[:-1]) + f" and {names[-1]}"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    raise SystemExit(main())
