"""Numbers that somebody chose in data/energy and data/training, and that change an answer.

    python scripts/tuned_numbers.py [--list] [FOLDER ...]

Counted are numeric constants of modules and the fields of rules (`class _…Rules`): thresholds,
shares, times, sigmas. A table such as a grid of watts is one number: it is chosen at once. A name
that takes its value from `settings` is none. Not counted are

* indices and enumerations (`range(3)`, weights of columns, ranks), masks and empty arrays,
* conversions of units and mathematics (`HALF_HOUR_S`, `ROOT_2PI`): nobody can choose them,
* what only guards float64 or int64 (1e-300, 1 << 62),
* bounds of work: how many rows, cells, rounds or places are looked at before an answer is as exact
  as it gets. They are counted beside the others.

Numbers without a name are counted, too, so that none is hidden by writing it into a function.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("powertui/data/energy", "powertui/data/training")

# What a name says of a constant that bounds work or memory, and no answer.
WORK = re.compile(
    r"CHUNK|BATCH|BYTES|CACHED|_ROWS|(MAX_\w*|^_?GRID)_CELLS|_BINS|_DRAWS|ROUNDS|ITERATIONS|HALVINGS|_GRID|GRID_|_RANGES|LISTED"
    r"|PROMPTLY|_LOOKS|_PHASES|_AGES|_PRODUCTS|BLOCK_ROWS|_COLUMNS_AT|CENTERS|ALIASES|BASINS|CANDIDATES|_PEAKS"
    r"|_OFFSETS|_PASSES|_FITS|_STEPS_PER|_PLACES$|_PLACES_PER|PER_SIDE|_WORLDS|MAX_(\w+_)?(READINGS|SAMPLES|RECORDS)"
    r"|_ENTRIES|MAX_ENERGIES|MAX_RESULTS|MAX_NAMES?$|MAX_CALLS|MAX_JUMPS|MAX_LAGS|_SHIFTS|MAX_STRETCHES|EXACT_BINS"
    r"|MAX_SEPARATE|(MEDIAN|BEAT|PIECE|MAX|STRETCH)_DIFFERENCES$|MAX_CHANGES|MAX_PARTS|MAX_WAYS|MAX_PUBLICATIONS|LONG_LOG|MAX_OPS|COURSE_POINTS"
    r"|PIECE_READINGS|SPREAD_READINGS|CLOSE_PIECES|MOMENTS$|LENGTHS$|MEANS_PER_MEMORY|MAX_STALLS|TOO_MANY"
)
# What nobody can choose: units, mathematics, and the ends of number types.
FIXED = re.compile(
    r"^_?(HALF_HOUR_S|DAY_S|HOUR_NS|UNITS|ROOT_2PI|SQRT_2|GOLDEN_RATIO|STUDENT_T|CHI2|MEDIAN_TO_SIGMA|INNER_TO_SIGMA"
    r"|MEDIAN_ERROR|TAILS|TAIL|HALF_Z95|TUKEY_CUT|HUBER_SIGMAS|SMALLER_HALF_MEAN|CHI_SQUARE_5_PERCENT|QUIET_TO_SIGMA"
    r"|QUIET_QUANTILE|TINY|ROUNDING|ZERO_SHARE|ZERO_SLOPE_SHARE|RIDGE_SHARE|HOLD_SHARE|RIDGE|FULL_COVERAGE|ROOM_PS"
    r"|FARTHEST_PS|MAX_REACH_PS|MAX_FREQUENCY|MAX_CORRELATION|ROUNDING_MARGIN|ZONES|QUARTER_HOUR_ZONES|EDGES"
    r"|EDGE_ENTRIES|\w*RANK|WEIGHTS|WRITTEN_AS_FULL|RISES|FALLS|EITHER|NO_\w+|NOTHING|NONE|\w*FIELDS|\w*FIGURES|\w+_SOURCES|SOURCES"
    r"|STEP_RANK)$"
)
# Floats in functions that are no choice: halves and wholes, guards against a division by zero.
# The polynomial of a normal distribution, and how seconds are written.
MATHEMATICS = {"_normal", "seconds"}
PLAIN = {0.0, 0.5, 1.0, 2.0}
MIN_CHOSEN = 1e-5


@dataclass(frozen=True)
class Number:
    """One number and the place where it is chosen."""

    path: Path
    line: int
    name: str
    text: str
    is_work: bool = False


def _numbers(node: ast.AST) -> list[float]:
    constants = (child.value for child in ast.walk(node) if isinstance(child, ast.Constant))
    return [
        value
        for value in constants
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr, int]]:
    """Each name with its value; `A, B = 1, 2` is two numbers."""
    for statement in body:
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            yield ast.unparse(statement.target), statement.value, statement.lineno
        elif isinstance(statement, ast.Assign):
            (target,) = statement.targets[:1]
            if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                for name, value in zip(target.elts, statement.value.elts, strict=True):
                    yield ast.unparse(name), value, statement.lineno
            else:
                yield ast.unparse(target), statement.value, statement.lineno


def named_numbers(path: Path) -> list[Number]:
    """Chosen numbers of a file that have a name."""
    tree = ast.parse(path.read_text())
    found = []
    for node in ast.walk(tree):
        is_rule = isinstance(node, ast.ClassDef) and node.name.endswith(
            ("Rules", "Rule", "Settings")
        )
        if not isinstance(node, ast.Module) and not is_rule:
            continue
        for name, value, line in _assigned(node.body):
            is_constant = name.isupper() or is_rule
            if (
                is_constant
                and _numbers(value)
                and not FIXED.match(name)
                and "range(" not in ast.unparse(value)
            ):
                is_work = bool(WORK.search(name.upper()))
                found.append(Number(path, line, name, ast.unparse(value), is_work))
    return found


def unnamed_numbers(path: Path) -> list[Number]:
    """Chosen numbers that are written into a function of a file."""
    tree = ast.parse(path.read_text())
    found = []
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if function.name in MATHEMATICS:
            continue
        for node in ast.walk(function):
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, float) and value not in PLAIN and value > MIN_CHOSEN:
                found.append(Number(path, node.lineno, function.name, repr(value)))
    return sorted(set(found), key=lambda number: number.line)


def files(folders: tuple[str, ...] = FOLDERS) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    parser.add_argument("--list", action="store_true", help="name each of them")
    asked = parser.parse_args()
    for folder in asked.folders:
        named = [number for path in files((folder,)) for number in named_numbers(path)]
        unnamed = [number for path in files((folder,)) for number in unnamed_numbers(path)]
        work = [number for number in named if number.is_work]
        print(
            f"{folder}: {len(named) - len(work)} tuned, {len(work)} bounds of work,"
            f" {len(unnamed)} without a name"
        )
        if asked.list:
            for number in (*named, *unnamed):
                kind = "work " if number.is_work else ""
                place = f"{number.path.relative_to(ROOT)}:{number.line}"
                print(f"  {kind}{number.name} = {number.text}  ({place})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
