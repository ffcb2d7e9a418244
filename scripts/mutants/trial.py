"""Try mutants in copies of the checkout, several at a time."""

from __future__ import annotations

import compileall
import contextlib
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.queues import Queue
from pathlib import Path

from scripts.mutants.covering_tests import is_about, ordered_files, tests_of
from scripts.mutants.listed import ROOT, Mutant
from scripts.mutants.matching import applied

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
# A mutant is killed when its tests take more processor time than the tests of the program as it
# is: so many times as long, and so many seconds more. Both were chosen, not measured.
CPU_TIME_FACTOR = 3.0
MORE_CPU_S = 20.0
MAX_WALL_S = 600.0  # for a mutant that waits for something that never comes

# Exit codes of the process that runs the tests, beside those of pytest.
_CRASHED = 98
_WRONG_COPY = 99


class TrialError(Exception):
    """Mutants cannot be tried."""


def copy_checkout(root: Path, to: Path) -> Path:
    """A copy of what the tests need, compiled, that may be written to."""
    for name in COPIED:
        source = root / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "mutants.txt", "generated")
            shutil.copytree(source, to / name, ignore=ignored)
        elif source.exists():
            shutil.copy(source, to / name)
    compileall.compile_dir(to / "powertui", quiet=2)
    return to


class Bench:
    """A copy of the checkout in which one mutant after another is tried."""

    def __init__(self, root: Path, to: Path) -> None:
        self.root = copy_checkout(root, to)
        self._cpu_s: dict[tuple[str, ...], float] = {}  # of tests without a mutant

    def failure(self, mutant: Mutant, tests: tuple[str, ...]) -> str:
        """The line of the first failed test; "" if all pass with the mutant in place."""
        files = ordered_files(tests, mutant.file, self.root)
        # Most mutants are killed by the tests nearest to them: the others run only if those pass.
        near = [file for file in files if is_about(self.root / file, mutant.file)]
        if 0 < len(near) < len(files):
            code = self._exit_code(mutant, tuple(near)) or self._exit_code(mutant, tuple(files))
        else:
            code = self._exit_code(mutant, tuple(files))
        if code == _WRONG_COPY:
            raise TrialError("The tests do not import the copy.")
        if not code:
            return ""
        for line in self._output().splitlines():
            if line.startswith(("FAILED", "ERROR")):
                return line
        return f"ended with {code}"

    def _exit_code(self, mutant: Mutant, tests: tuple[str, ...]) -> int:
        """The exit code of the tests with the mutant in place."""
        max_cpu_s = CPU_TIME_FACTOR * self._cpu_s_without_mutant(tests) + MORE_CPU_S
        path = self.root / mutant.file
        source = path.read_text("utf-8")
        # Python takes a compiled file of the same second and size for that of the new text.
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
        try:
            path.write_text(applied(mutant, source), "utf-8")
            return _run_tests(self.root, tests, max_cpu_s)[0]
        finally:
            path.write_text(source, "utf-8")

    def _cpu_s_without_mutant(self, tests: tuple[str, ...]) -> float:
        """The processor time of tests without a mutant. They must pass."""
        if tests not in self._cpu_s:
            code, cpu_s = _run_tests(self.root, tests, max_cpu_s=None)
            if code:
                names = " ".join(tests)
                raise TrialError(
                    f"Without any mutant these tests fail ({code}): {names}\n"
                    + self._output()[-3000:]
                )
            self._cpu_s[tests] = cpu_s
        return self._cpu_s[tests]

    def _output(self) -> str:
        return (self.root / "output.txt").read_text("utf-8", "replace")


def _run_tests(root: Path, tests: Sequence[str], max_cpu_s: float | None) -> tuple[int, float]:
    """The exit code of tests, 0 if they pass, and the processor time that they took.

    Tests that take longer than they may are ended.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if not child:
        try:
            code = _pytest_exit_code(root, tests, max_cpu_s)
        except BaseException:
            traceback.print_exc()
            code = _CRASHED
        os._exit(code)
    end = time.monotonic() + MAX_WALL_S
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # processes that the tests started and did not end
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return os.waitstatus_to_exitcode(status), cpu_s


def _pytest_exit_code(root: Path, tests: Sequence[str], max_cpu_s: float | None) -> int:
    """Run pytest in this process, which was forked from one that has imported numpy and pandas."""
    os.setsid()
    output = os.open(root / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.stdout = sys.stderr = os.fdopen(output, "w", buffering=1, encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if max_cpu_s is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(max_cpu_s) + 1, int(max_cpu_s) + 5))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root)
    sys.path.insert(0, str(root))
    for name in list(sys.modules):
        if name.partition(".")[0] in ("powertui", "tests"):
            del sys.modules[name]  # the caller may have imported those of the checkout
    import pytest

    class CopyIsTested:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            import powertui

            if Path(powertui.__file__ or "").parent.parent.resolve() != root.resolve():
                os._exit(_WRONG_COPY)

    return int(
        pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests], plugins=[CopyIsTested()])
    )


def tried(mutants: Sequence[Mutant], jobs: int, root: Path = ROOT) -> Iterator[Mutant]:
    """The mutants with their outcomes, each as soon as its tests have run."""
    fork = multiprocessing.get_context("fork")
    waiting: Queue[tuple[int, Mutant] | None] = fork.Queue()
    finished: Queue[tuple[int, str, str]] = fork.Queue()
    # Mutants with the same tests come one after another, so that few workers have to measure how
    # long those tests take.
    for item in sorted(enumerate(mutants), key=lambda item: (tests_of(item[1].file), item[0])):
        waiting.put(item)
    for _ in range(jobs):
        waiting.put(None)
    errors = []
    with tempfile.TemporaryDirectory(prefix="powertui-mutants-") as folder:
        workers = [
            fork.Process(target=_work, args=(root, Path(folder) / f"{i}", waiting, finished))
            for i in range(jobs)
        ]
        for worker in workers:
            worker.start()
        try:
            for count in range(1, len(mutants) + 1):
                number, failure, error = finished.get()
                mutant = mutants[number]
                what = error or failure[:110] or f"SURVIVED + {mutant.after}"
                line = f"{mutant.file} {mutant.function}: {what}"
                print(f"{count:4}/{len(mutants)}  {line}", flush=True)
                if error:  # the other mutants are tried all the same
                    errors.append(line)
                elif failure:
                    yield replace(mutant, outcome="killed", why="")
                else:
                    yield replace(mutant, outcome="survived")
        finally:
            for worker in workers:
                worker.terminate()
                worker.join()
    if errors:
        raise TrialError("\n".join(errors))


def _work(
    root: Path,
    to: Path,
    waiting: Queue[tuple[int, Mutant] | None],
    finished: Queue[tuple[int, str, str]],
) -> None:
    """Try what waits, and hand back the number of each mutant, its failure and what went wrong."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in ("pytest", "numpy", "pandas"):  # once, for all processes that are forked from here
        with contextlib.suppress(ImportError):
            __import__(name)
    bench = Bench(root, to)
    while (item := waiting.get()) is not None:
        number, mutant = item
        try:
            finished.put((number, bench.failure(mutant, tests_of(mutant.file)), ""))
        except Exception as error:
            finished.put((number, "", f"{type(error).__name__}: {error}"))
