"""Do the tests hold? Each mutant of tests/mutants.txt is put into a copy of the program, and the
tests of its file are run.

    python scripts/mutants.py                 run the list; exit 1 when an outcome is not the one that is kept
    python scripts/mutants.py --only energy   those whose file or function has this in its name
    python scripts/mutants.py --check         is every source text of the list still there, once?
    python scripts/mutants.py --write         run, and keep the outcomes (explanations stay)
    python scripts/mutants.py --generate      put new mutants, from a fixed seed, in the place of those whose text has gone

A mutant is a file, a function and one line of it, before and after: moved lines do not break it.
"killed" means that a test failed, or used much more of the processor than without the mutant. The
checkout is never written to, but for the list itself.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "mutants.txt"
SEED = 9
COPIED = (
    "powertui",
    "tests",
    "docs",
    "benchmarks",
    "scripts",
    "pyproject.toml",
    "README.md",
    "setup.py",
    "Makefile",
)
TIMES, MORE_S = (
    3.0,
    20.0,
)  # a mutant may use so many times the processor time of the tests as they are, and so much more
PATIENCE = 600.0  # s of wall time for one that waits for nothing

# Which tests hold which file: the longest beginning counts.
TESTS: dict[str, tuple[str, ...]] = {
    "powertui/data/energy/": ("tests/unit/energy", "tests/unit/report/test_energy_verb.py"),
    "powertui/data/energy/overview.py": (
        "tests/unit/tools/test_overview_page.py",
        "tests/unit/report/test_energy_verb.py",
    ),
    "powertui/data/power/": ("tests/unit/power", "tests/unit/energy/test_foreign_logs.py"),
    "powertui/data/power/source.py": (
        "tests/unit/power/test_damage.py",
        "tests/unit/test_limits.py",
    ),
    "powertui/data/formats/": (
        "tests/unit/formats",
        "tests/unit/test_builder.py",
        "tests/unit/test_filenames.py",
    ),
    "powertui/data/formats/own_export.py": (
        "tests/unit/test_export.py",
        "tests/unit/formats/test_counters.py",
    ),
    "powertui/data/formats/xplane": (
        "tests/unit/formats",
        "tests/unit/test_builder.py",
        "tests/unit/wire",
    ),
    "powertui/data/run/": (
        "tests/unit/test_steps.py",
        "tests/unit/test_epochs.py",
        "tests/unit/test_clocks.py",
        "tests/unit/run",
        "tests/unit/test_loading.py",
        "tests/unit/energy/test_align.py",
    ),
    "powertui/data/run/grouping.py": ("tests/unit/test_grouping.py",),
    "powertui/data/logdir/": (
        "tests/unit/test_logdir.py",
        "tests/unit/test_loading.py",
        "tests/unit/test_cli.py",
    ),
    "powertui/data/tools/": ("tests/unit/tools", "tests/unit/test_results.py"),
    "powertui/data/export/": (
        "tests/unit/test_export.py",
        "tests/unit/test_export_lines.py",
        "tests/unit/report/test_export_verb.py",
    ),
    "powertui/data/wire/": ("tests/unit/wire",),
    "powertui/data/category.py": ("tests/unit/test_category.py",),
    "powertui/data/limits.py": ("tests/unit/test_limits.py",),
    "powertui/data/live.py": (
        "tests/unit/test_live.py",
        "tests/unit/test_feed.py",
        "tests/unit/widgets/test_live_rows.py",
    ),
    "powertui/data/pyramid.py": ("tests/unit/test_live.py", "tests/unit/test_feed.py"),
    "powertui/data/loading.py": ("tests/unit/test_loading.py", "tests/unit/test_opened.py"),
    "powertui/data/lod.py": ("tests/unit/test_lod.py",),
    "powertui/data/model/": (
        "tests/unit/test_model.py",
        "tests/unit/test_builder.py",
        "tests/unit/test_steps.py",
        "tests/unit/test_epochs.py",
        "tests/unit/test_window.py",
        "tests/unit/test_lod.py",
        "tests/unit/test_loading.py",
        "tests/unit/test_export.py",
    ),
    "powertui/data/packed.py": ("tests/unit/test_packed.py",),
    "powertui/data/extremes.py": ("tests/unit/test_extremes.py",),
    "powertui/data/training/": ("tests/unit/training",),
    "powertui/data/elsewhere/": ("tests/unit/test_elsewhere.py",),
    "powertui/capture/": ("tests/unit/capture",),
    "powertui/data/opened.py": (
        "tests/unit/test_opened.py",
        "tests/unit/test_loading.py",
        "tests/unit/api",
    ),
    "powertui/data/search.py": ("tests/unit/test_search.py",),
    "powertui/data/table.py": (
        "tests/unit/test_results.py",
        "tests/unit/tools",
        "tests/unit/test_units.py",
    ),
    "powertui/data/texts.py": ("tests/unit/test_texts.py", "tests/unit/test_search.py"),
    "powertui/data/watch.py": ("tests/unit/test_watch.py",),
    "powertui/data/window.py": ("tests/unit/test_window.py",),
    "powertui/data/": ("tests/unit/test_loading.py", "tests/unit/api", "tests/unit/test_opened.py"),
    "powertui/sampler/": ("tests/unit/sampler",),
    "powertui/sampler/health.py": (
        "tests/unit/sampler/test_health.py",
        "tests/unit/sampler/test_recorder.py",
    ),
    "powertui/sampler/ledger.py": (
        "tests/unit/sampler/test_health.py",
        "tests/unit/sampler/test_library.py",
    ),
    "powertui/sampler/ipmi": (
        "tests/unit/sampler/test_ipmi.py",
        "tests/unit/sampler/test_ipmi_line.py",
        "tests/unit/sampler/test_programs.py",
    ),
    "powertui/sampler/rapl.py": ("tests/unit/sampler/test_in_band.py",),
    "powertui/sampler/hwmon": (
        "tests/unit/sampler/test_in_band.py",
        "tests/unit/sampler/test_auto.py",
    ),
    "powertui/sampler/nvml.py": ("tests/unit/sampler/test_in_band.py",),
    "powertui/sampler/csv_tail.py": ("tests/unit/sampler/test_csv_tail.py",),
    "powertui/sampler/csv_columns.py": ("tests/unit/sampler/test_csv_tail.py",),
    "powertui/sampler/growing_file.py": ("tests/unit/sampler/test_csv_tail.py",),
    "powertui/sampler/plausible.py": ("tests/unit/sampler/test_plausible.py",),
    "powertui/sampler/recorder.py": (
        "tests/unit/sampler/test_recorder.py",
        "tests/unit/sampler/test_library.py",
    ),
    "powertui/sampler/recording_file.py": (
        "tests/unit/sampler/test_recording_file.py",
        "tests/unit/sampler/test_recorder.py",
    ),
    "powertui/sampler/csv_format.py": (
        "tests/unit/sampler/test_recording_file.py",
        "tests/unit/power/test_recording.py",
        "tests/unit/sampler/test_csv_tail.py",
    ),
    "powertui/sampler/own_file.py": ("tests/unit/sampler/test_recording_file.py",),
    "powertui/sampler/redfish.py": (
        "tests/unit/sampler/test_redfish.py",
        "tests/unit/sampler/test_hostile_http.py",
    ),
    "powertui/sampler/http.py": (
        "tests/unit/sampler/test_redfish.py",
        "tests/unit/sampler/test_hostile_http.py",
        "tests/unit/sampler/test_prometheus.py",
    ),
    "powertui/sampler/prometheus": (
        "tests/unit/sampler/test_prometheus.py",
        "tests/unit/sampler/test_hostile_http.py",
    ),
    "powertui/sampler/ipmitool.py": (
        "tests/unit/sampler/test_ipmitool.py",
        "tests/unit/sampler/test_crypto_probe.py",
    ),
    "powertui/sampler/recording_run.py": ("tests/unit/sampler/test_summary.py",),
    "powertui/sampler/process.py": (
        "tests/unit/test_feed.py",
        "tests/unit/sampler/test_library.py",
    ),
    "powertui/view/": ("tests/unit/widgets",),
    "powertui/view/navigation.py": (
        "tests/unit/widgets/test_navigation.py",
        "tests/screens/test_widgets_timeline.py",
    ),
}

# How many are drawn from where.
DRAWN = {
    "powertui/data/energy/": 32,
    "powertui/data/power/": 30,
    "powertui/data/formats/": 20,
    "powertui/data/run/": 20,
    "powertui/data/logdir/": 8,
    "powertui/data/tools/": 12,
    "powertui/data/export/": 10,
    "powertui/data/wire/pure/": 8,
    "powertui/data/*.py": 24,
    "powertui/sampler/": 34,
    "powertui/view/": 32,
    "powertui/data/training/": 8,
    "powertui/data/energy/findings/": 4,
    "powertui/data/energy/badges.py": 2,
    "powertui/data/formats/json_*.py": 5,
    "powertui/data/formats/perfetto/": 2,
    "powertui/data/formats/rocprof/": 3,
    "powertui/data/model/": 5,
    "powertui/data/wire/": 3,
    "powertui/data/elsewhere/": 3,
    "powertui/data/packed.py": 4,
    "powertui/data/extremes.py": 2,
    "powertui/capture/": 6,
}
# Rooms of memory and time, not of meaning: another size gives the same answer.
_SIZES = (
    "CHUNK",
    "BLOCK",
    "CACHE",
    "BUFFER",
    "BATCH",
    "_MOST",
    "MAX_",
    "PATIENCE",
    "BACKOFF",
    "TIMEOUT",
    "QUEUE",
    "RECENT",
    "HEAD",
    "_WHOLE",
)


class Broken(Exception):
    """The list does not fit the source."""


@dataclass(frozen=True)
class Mutant:
    """One line of one function, before and after.

    `outcome` is "killed", "survived" or "" (not known yet).
    """

    file: str
    function: str
    before: str
    after: str
    outcome: str = ""
    why: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.function, self.before, self.after

    def __str__(self) -> str:
        outcome = f"= {self.outcome or 'unknown'}" + (f": {self.why}" if self.why else "")
        return f"{self.file} {self.function}\n- {self.before}\n+ {self.after}\n{outcome}\n"


def read(text: str) -> list[Mutant]:
    """The list as it is kept. Lines that begin with # are for people."""
    found = []
    for number, block in enumerate(text.split("\n\n"), 1):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if not lines:
            continue
        if [line[:2] for line in lines[1:]] != ["- ", "+ ", "= "] or len(lines[0].split()) != 2:
            raise Broken(f"Block {number} of the list is no mutant: {lines[0]}")
        (file, function), (outcome, _, why) = lines[0].split(), lines[3][2:].partition(": ")
        found.append(
            Mutant(
                file,
                function,
                lines[1][2:],
                lines[2][2:],
                "" if outcome == "unknown" else outcome,
                why,
            )
        )
    return found


# ── source ───────────────────────────────────────────────────────────────────────────────────────


def functions(tree: ast.Module) -> dict[str, tuple[int, int]]:
    """First and last line of every function and class by its dotted name; <module> is the whole
    file.
    """
    found = {"<module>": (1, 10**9)}

    def walk(node: ast.AST, above: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{above}{child.name}"
                if name in found:  # a property and its setter: the whole of both
                    found[name] = (found[name][0], child.end_lineno or child.lineno)
                else:
                    found[name] = (child.lineno, child.end_lineno or child.lineno)
                walk(child, name + ".")
            else:
                walk(child, above)

    walk(tree, "")
    return found


def applied(mutant: Mutant, text: str) -> str:
    """The source with the mutant in it."""
    where = functions(ast.parse(text)).get(mutant.function)
    if where is None:
        raise Broken(f"{mutant.file} has no {mutant.function} any more (- {mutant.before})")
    lines = text.split("\n")
    at = [
        i
        for i in range(where[0] - 1, min(where[1], len(lines)))
        if lines[i].strip() == mutant.before
    ]
    if len(at) != 1:
        raise Broken(
            f"{mutant.file} {mutant.function} has this line {len(at)} times, not once: "
            f"{mutant.before}"
        )
    line = lines[at[0]]
    lines[at[0]] = line[: len(line) - len(line.lstrip())] + mutant.after
    changed = "\n".join(lines)
    if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text)):
        raise Broken(f"{mutant.file} {mutant.function}: the mutant changes nothing: {mutant.after}")
    return changed


def check(mutants: Sequence[Mutant], root: Path = ROOT) -> list[str]:
    """What does not fit the source, in sentences."""
    problems = []
    for mutant in mutants:
        try:
            applied(mutant, (root / mutant.file).read_text("utf-8"))
        except (Broken, OSError, SyntaxError) as error:
            problems.append(str(error))
    double = [key for key, count in Counter(m.key for m in mutants).items() if count > 1]
    return problems + [f"twice in the list: {' '.join(key[:2])} + {key[3]}" for key in double]


# ── generation ───────────────────────────────────────────────────────────────────────────────────

_COMPARED = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_COMPUTED = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.Mod: ("%", "+"),
    ast.FloorDiv: ("//", "*"),
}


def candidates(file: str, text: str) -> Iterator[Mutant]:
    """Every single change that is tried of a file."""
    tree, lines = ast.parse(text), text.split("\n")
    spans = functions(tree)

    def home(line: int) -> str:
        return max((span[0], name) for name, span in spans.items() if span[0] <= line <= span[1])[1]

    for node, line, begin, end, new in _changes(tree, lines):
        raw = lines[line - 1].encode()
        before, after = (
            raw.decode().strip(),
            (raw[:begin] + new.encode() + raw[end:]).decode().strip(),
        )
        yield Mutant(file, home(node.lineno), before, after)


def fits(mutant: Mutant, text: str) -> bool:
    """Whether the change can be made, and what comes out is a program."""
    try:
        applied(mutant, text)
    except (Broken, SyntaxError):
        return False
    return True


def _changes(tree: ast.Module, lines: list[str]) -> Iterator[tuple[Any, int, int, int, str]]:
    """(node, line, first byte, behind the last byte, what stands there instead)."""
    left_out = _left_out(tree)

    def between(line: int, left: ast.AST, right: ast.AST, old: str) -> tuple[int, int] | None:
        if left.end_lineno != line or right.lineno != line:  # type: ignore[attr-defined]
            return None
        raw = lines[line - 1].encode()
        at = raw.find(old.encode(), left.end_col_offset, right.col_offset)  # type: ignore[attr-defined]
        return None if at < 0 else (at, at + len(old))

    for node in ast.walk(tree):
        if id(node) in left_out or getattr(node, "lineno", 0) != getattr(node, "end_lineno", -1):
            continue
        line: int = node.lineno  # type: ignore[attr-defined]
        begin, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            old, new = _COMPARED[type(node.ops[0])]
            if place := between(line, node.left, node.comparators[0], old):
                yield node, line, *place, new
        elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
            old, new = _COMPUTED[type(node.op)]
            if place := between(line, node.left, node.right, old):
                yield node, line, *place, new
        elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            if place := between(line, node.values[0], node.values[1], old):
                yield node, line, *place, new
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
            yield node, line, begin, node.operand.col_offset, ""
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            new = (
                str(not node.value) if isinstance(node.value, bool) else repr(node.value * 2 or 1.0)
            )
            yield node, line, begin, end, str(node.value + 1) if type(node.value) is int else new
        elif (
            isinstance(node, (ast.AugAssign, ast.Continue, ast.Break, ast.Raise))
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
            or (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], (ast.Attribute, ast.Subscript))
            )
        ):
            yield node, line, begin, end, "pass"


def _left_out(tree: ast.Module) -> set[int]:
    """Annotations, decorators, formats, strings, version gates, sizes of buffers, which column of a
    table gives way first.
    """
    found: set[int] = set()

    def drop(node: ast.AST | None) -> None:
        if node is not None:
            found.update(id(inner) for inner in ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for decorator in node.decorator_list:
                drop(decorator)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            drop(node.returns)
        if isinstance(node, (ast.AnnAssign, ast.arg)):
            drop(node.annotation)
        if isinstance(node, ast.keyword) and node.arg == "weight":
            drop(node.value)
        if isinstance(node, (ast.JoinedStr, ast.Raise)):
            for inner in ast.iter_child_nodes(node):
                drop(inner)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if any(word in name for word in _SIZES) or (
                name[:1].isupper() is False and name == "__all__"
            ):
                drop(node)
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            drop(node)
    return found


def generate(kept: Sequence[Mutant], root: Path = ROOT) -> list[Mutant]:
    """Those that are kept and still fit, and so many new ones that each folder has its number."""
    fitting = [m for m in kept if not check([m], root)]
    chosen = list(fitting)
    for where, count in DRAWN.items():
        files = sorted(root.glob(where) if where.endswith(".py") else root.glob(where + "*.py"))
        names = {path.relative_to(root).as_posix() for path in files}
        have = [m for m in fitting if m.file in names]
        texts = {name: (root / name).read_text("utf-8") for name in sorted(names)}
        pool = [m for name, text in texts.items() for m in candidates(name, text)]
        used = {(m.file, m.function, m.before) for m in have}
        rng = random.Random(f"{SEED} {where}")
        rng.shuffle(pool)
        for mutant in pool:
            if len(have) >= count:
                break
            if (mutant.file, mutant.function, mutant.before) not in used and fits(
                mutant, texts[mutant.file]
            ):
                used.add((mutant.file, mutant.function, mutant.before))
                have.append(mutant)
                chosen.append(mutant)
    return sorted(chosen, key=lambda m: m.file)


# ── running ──────────────────────────────────────────────────────────────────────────────────────


def tests_of(file: str) -> tuple[str, ...]:
    """Which tests hold a file."""
    known = [start for start in TESTS if file.startswith(start)]
    if not known:
        raise Broken(f"No tests are named for {file}: add a line to TESTS in scripts/mutants.py.")
    return TESTS[max(known, key=len)]


def ordered(tests: Sequence[str], file: str, place: Path) -> list[str]:
    """The files of tests, those first that have the file's name, then those that import it: they
    are the likeliest to fail.
    """
    paths = [
        path
        for test in tests
        for path in (
            sorted((place / test).glob("test_*.py")) if (place / test).is_dir() else [place / test]
        )
    ]
    paths.sort(key=lambda path: (Path(file).stem not in path.stem, not speaks_of(path, file)))
    return [str(path.relative_to(place)) for path in paths]


def speaks_of(test: Path, file: str) -> bool:
    """Whether a file of tests has the file's name, or imports it."""
    folder, _, name = file.removesuffix(".py").replace("/", ".").rpartition(".")
    imports = (
        rf"from {re.escape(folder)}\.{name} import|from {re.escape(folder)} import "
        rf"[^\n]*\b{name}\b|{re.escape(folder)}\.{name}\b"
    )
    return name in test.stem or bool(re.search(imports, test.read_text("utf-8")))


def copy(root: Path, to: Path) -> Path:
    """What the tests need of a checkout, compiled, in a folder that may be written to."""
    for name in COPIED:
        source = root / name
        if source.is_dir():
            shutil.copytree(
                source,
                to / name,
                ignore=shutil.ignore_patterns("__pycache__", "mutants.txt", "generated"),
            )
        elif source.exists():
            shutil.copy(source, to / name)
    compileall.compile_dir(to / "powertui", quiet=2)
    return to


def _pytest(place: Path, tests: Sequence[str], cpu_s: float) -> int:
    """Run in a process of our own making, forked: numpy, pandas and pytest are there already."""
    os.setsid()
    out = os.open(place / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number in (1, 2):
        os.dup2(out, number)
    sys.stdout = sys.stderr = open(out, "w", buffering=1, encoding="utf-8")  # noqa: PTH123, SIM115
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if cpu_s:
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 5))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    os.chdir(place)
    os.environ["PYTHONPATH"] = str(place)
    sys.path.insert(0, str(place))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("powertui", "tests")]:
        del sys.modules[name]  # whoever calls us may have the checkout's
    if cpu_s:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    import pytest

    class Mine:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            import powertui

            if Path(powertui.__file__ or "").parent.parent.resolve() != place.resolve():
                os._exit(99)  # it would test the checkout, and kill nothing

    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests], plugins=[Mine()]))


def _run(
    place: Path, tests: Sequence[str], cpu_s: float, patience: float = PATIENCE
) -> tuple[int, float]:
    """(exit code, s of the processor): 0 when the tests pass.

    Over the limit they are ended, and the code is not 0.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if not child:
        try:
            code = _pytest(place, tests, cpu_s)
        except BaseException:
            traceback.print_exc()
            code = 98
        os._exit(code)
    end = time.monotonic() + patience
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what the tests left behind
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return os.waitstatus_to_exitcode(status), used


class Bench:
    """A copy in which one mutant after another is tried."""

    def __init__(self, root: Path, to: Path) -> None:
        self.place = copy(root, to)
        self._usual: dict[tuple[str, ...], float] = {}

    def usual(self, tests: tuple[str, ...]) -> float:
        """s that the tests take without a mutant. They must pass."""
        if tests not in self._usual:
            code, seconds = _run(self.place, tests, 0.0)
            if code:
                told = (self.place / "output.txt").read_text("utf-8", "replace")[-3000:]
                raise Broken(
                    f"Without any mutant these tests fail ({code}): {' '.join(tests)}\n{told}"
                )
            self._usual[tests] = seconds
        return self._usual[tests]

    def _tried(self, mutant: Mutant, tests: tuple[str, ...]) -> int:
        """The exit code of the tests with the mutant in place."""
        usual = self.usual(tests)
        path = self.place / mutant.file
        text = path.read_text("utf-8")
        shutil.rmtree(
            path.parent / "__pycache__", ignore_errors=True
        )  # never older code than the text
        try:
            path.write_text(applied(mutant, text), "utf-8")
            return _run(self.place, tests, TIMES * usual + MORE_S)[0]
        finally:
            path.write_text(text, "utf-8")

    def killed(self, mutant: Mutant, tests: tuple[str, ...]) -> str:
        """What failed; "" when every test passes with the mutant in place."""
        files = ordered(tests, mutant.file, self.place)
        near = [
            file for file in files if speaks_of(self.place / file, mutant.file)
        ]  # most die there: the others wait
        code = 0
        for some in (near, files) if 0 < len(near) < len(files) else (files,):
            code = code or self._tried(mutant, tuple(some))
        if code == 99:
            raise Broken("The tests do not import the copy.")
        if not code:
            return ""
        told = (self.place / "output.txt").read_text("utf-8", "replace")
        return next(
            (line for line in told.splitlines() if line.startswith(("FAILED", "ERROR"))),
            f"ended with {code}",
        )


def _work(root: Path, to: Path, todo: Any, done: Any) -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in ("pytest", "numpy", "pandas"):  # once, for all that is forked from here
        with contextlib.suppress(ImportError):
            __import__(name)
    bench = Bench(root, to)
    while (item := todo.get()) is not None:
        number, mutant = item
        try:
            done.put((number, bench.killed(mutant, tests_of(mutant.file)), ""))
        except Exception as error:
            done.put((number, "", f"{type(error).__name__}: {error}"))


def run(mutants: Sequence[Mutant], jobs: int, root: Path = ROOT) -> Iterator[Mutant]:
    """The same in any order with their outcomes as they are now, each as soon as it is known."""
    fork = multiprocessing.get_context("fork")
    todo, done = fork.Queue(), fork.Queue()
    # Mutants of one file one after another, so that few workers have to learn how long its tests
    # take.
    for item in sorted(enumerate(mutants), key=lambda item: (tests_of(item[1].file), item[0])):
        todo.put(item)
    for _ in range(jobs):
        todo.put(None)
    troubles = []
    with tempfile.TemporaryDirectory(prefix="powertui-mutants-") as folder:
        workers = [
            fork.Process(target=_work, args=(root, Path(folder) / f"{i}", todo, done))
            for i in range(jobs)
        ]
        for worker in workers:
            worker.start()
        try:
            for count in range(1, len(mutants) + 1):
                number, what, trouble = done.get()
                mutant = mutants[number]
                if trouble:  # the others are tried all the same
                    troubles.append(f"{mutant.file} {mutant.function}: {trouble}")
                    print(f"{count:4}/{len(mutants)}  {troubles[-1]}", flush=True)
                    continue
                said = what[:110] if what else "SURVIVED + " + mutant.after
                print(
                    f"{count:4}/{len(mutants)}  {mutant.file} {mutant.function}: {said}", flush=True
                )
                yield replace(
                    mutant, outcome="killed" if what else "survived", why="" if what else mutant.why
                )
        finally:
            for worker in workers:
                worker.terminate()
                worker.join()
    if troubles:
        raise Broken("\n".join(troubles))


def summary(mutants: Sequence[Mutant]) -> str:
    """Killed and survived by folder."""
    rows = Counter((m.file.rpartition("/")[0], m.outcome) for m in mutants)
    lines = [f"{'folder':28} killed survived"]
    for folder in sorted({folder for folder, _ in rows}):
        lines.append(f"{folder:28} {rows[folder, 'killed']:6} {rows[folder, 'survived']:8}")
    survived = sum(m.outcome == "survived" for m in mutants)
    lines.append(
        f"{'all':28} {len(mutants) - survived:6} {survived:8}   "
        f"{survived / max(len(mutants), 1):.1%} survive"
    )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 1: an outcome is another one than is kept, or a survivor is not explained; 2: the
    list does not fit the source.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", type=Path, default=LIST, help="another list")
    parser.add_argument(
        "--only", default="", help="mutants with this in the name of their file or function"
    )
    parser.add_argument(
        "--unknown", action="store_true", help="only mutants whose outcome is not kept yet"
    )
    parser.add_argument(
        "--survivors", action="store_true", help="only those that are kept as survivors"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument(
        "--check", action="store_true", help="only look whether the list fits the source"
    )
    parser.add_argument("--write", action="store_true", help="keep the outcomes in the list")
    parser.add_argument(
        "--generate",
        action="store_true",
        help="draw new mutants in the place of those whose text has gone",
    )
    options = parser.parse_args(argv)
    text = options.list.read_text("utf-8") if options.list.exists() else ""
    head = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
    kept = read(text)

    def write(mutants: Sequence[Mutant]) -> None:
        options.list.write_text(head + "\n" + "\n".join(str(m) for m in mutants), "utf-8")

    if options.generate:
        kept = generate(kept)
        write(kept)
        return 0
    problems = check(kept)
    if problems:
        print(
            "The list does not fit the source (--generate puts others in their place):",
            *problems,
            sep="\n  ",
            file=sys.stderr,
        )
        return 2
    if options.check:
        return 0
    chosen = [
        m
        for m in kept
        if options.only in f"{m.file} {m.function}"
        and (not options.unknown or not m.outcome)
        and (not options.survivors or m.outcome == "survived")
    ]
    new: dict[tuple[str, ...], Mutant] = {}
    try:
        for mutant in run(chosen, options.jobs):
            new[mutant.key] = mutant
            if options.write:
                write([new.get(m.key, m) for m in kept])
    except Broken as error:
        print(error, file=sys.stderr)
        return 2
    found = [new[m.key] for m in chosen]
    print(summary(found))
    other = [f for m, f in zip(chosen, found, strict=True) if m.outcome and m.outcome != f.outcome]
    bare = [m for m in found if m.outcome == "survived" and not m.why]
    for word, mutants in (
        ("Another outcome than is kept", other),
        ("Survives without an explanation", bare),
    ):
        for mutant in mutants:
            print(f"\n{word}:\n{mutant}", end="")
    return 1 if other or bare else 0


if __name__ == "__main__":
    raise SystemExit(main())
