"""wire/scan under libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer: build, run, replay,
and what of it was reached.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Sequence
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
SCAN = HERE.parents[1] / "powertui" / "data" / "wire" / "scan"
TARGET = HERE / "scan_target.c"
CORPUS = HERE / "corpus.zip"
HEADER = 32  # bytes that choose arguments, as in scan_target.c

LONGEST = 8192  # bytes of an input: enough for events that need more lanes than there are
_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
_FLAGS = {
    "fuzz": (*_SANITIZE, "-O1"),
    "replay": (*_SANITIZE, "-O1", "-DSTANDALONE"),
    "coverage": ("-fprofile-instr-generate", "-fcoverage-mapping", "-O0", "-DSTANDALONE"),
}


class Finding(Exception):
    """Something that must not be: the message holds what the sanitizer said and which input
    did it.
    """


def compiler() -> str | None:
    """clang where there is one; else what replays the kept inputs without libFuzzer."""
    return (
        shutil.which("clang") or os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
    )


def _library() -> list[str]:
    """What an embedded interpreter is linked with."""
    folders = [sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LIBPL")]
    name = f"python{sysconfig.get_config_var('LDVERSION') or sysconfig.get_config_var('py_version_short')}"
    linked = [
        flag for folder in folders if folder for flag in (f"-L{folder}", f"-Wl,-rpath,{folder}")
    ]
    more = f"{sysconfig.get_config_var('LIBS') or ''} {sysconfig.get_config_var('SYSLIBS') or ''}".split()
    return [*linked, f"-l{name}", *more]


def build(folder: Path, kind: str = "fuzz") -> Path:
    """The program of a kind in this folder. Raises OSError with what is missing."""
    found = compiler()
    if found is None:
        raise OSError("there is no C compiler")
    includes = [f"-I{sysconfig.get_paths()['include']}"]
    warnings = ["-std=gnu99", "-g", "-Wall", "-Wextra", "-Werror"]
    scanned = (
        ["-fsanitize=fuzzer-no-link"] if kind == "fuzz" else []
    )  # only branches of the scanner itself guide the search
    full = sys.version_info < (3, 11) or sysconfig.get_config_var(
        "Py_GIL_DISABLED"
    )  # as setup.py builds it
    limited = [] if full else ["-DPy_LIMITED_API=0x030B0000"]
    target = folder / f"scan-{kind}"
    flags = [*warnings, *_FLAGS[kind], *includes]
    parts = []
    for source in sorted(SCAN.glob("*.c")):
        parts.append(str(folder / f"{source.stem}-{kind}.o"))
        _run([found, *flags, *scanned, *limited, "-c", str(source), "-o", parts[-1]])
    linked = ["-fsanitize=fuzzer"] if kind == "fuzz" else []
    # the target itself is compiled apart, or the linker's flag would instrument it
    harness = folder / f"target-{kind}.o"
    _run([found, *flags, "-c", str(TARGET), "-o", str(harness)])
    _run([found, *_FLAGS[kind], *linked, str(harness), *parts, *_library(), "-o", str(target)])
    if kind != "coverage":
        _try(target, folder / f"first-{kind}")
    return target


def _try(target: Path, folder: Path) -> None:
    """One empty input.

    Raises OSError where the sanitizers do not run: some emulators have no room for their shadow
    memory.
    """
    folder.mkdir()
    add(folder, [bytes(HEADER)])
    try:
        replay(target, folder)
    except Finding as finding:
        if "this must hold" in str(finding) or f"{SCAN}{os.sep}" in str(finding):
            raise
        raise OSError(f"the compiler's sanitizers do not run here: {finding}") from None


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(
            f"{Path(command[0]).name} cannot build it: {(done.stdout + done.stderr).strip()[-800:]}"
        )
    return done.stdout


# ── inputs ───────────────────────────────────────────────────────────────────────────────────────


def unpack(folder: Path) -> Path:
    """The kept inputs as files, which is what libFuzzer takes."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(CORPUS) as archive:
        for name in archive.namelist():
            (folder / Path(name).name).write_bytes(archive.read(name))
    return folder


def add(folder: Path, inputs: Iterable[bytes]) -> None:
    """More inputs beside those in a folder."""
    for data in inputs:
        (folder / sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)


def keep(corpus: Path) -> int:
    """Pack a folder of inputs as the kept ones, the same bytes for the same inputs."""
    files = sorted(corpus.iterdir())
    with zipfile.ZipFile(CORPUS, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in files:
            archive.writestr(
                zipfile.ZipInfo(file.name, (1980, 1, 1, 0, 0, 0)),
                file.read_bytes(),
                zipfile.ZIP_DEFLATED,
            )
    return len(files)


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


class Executed(NamedTuple):
    """How much was run: each input goes through every function, some of them several times."""

    inputs: int
    calls: int


def fuzz(target: Path, corpus: Path, runs: int, seed: int, processes: int = 1) -> Executed:
    """So many inputs, shared by some processes. Raises `Finding` with the input that did it."""
    prefix = corpus.parent / "finding-"
    command = [
        str(target),
        f"-runs={-(-runs // processes)}",
        f"-max_len={LONGEST}",
        "-timeout=10",
        "-rss_limit_mb=2048",
        f"-artifact_prefix={prefix}",
        "-print_final_stats=1",
        "-verbosity=1",
        str(corpus),
    ]
    logs = [(corpus.parent / f"fuzz-{number}.log").open("w+") for number in range(processes)]
    started = [
        subprocess.Popen([*command, f"-seed={seed + number}"], stdout=log, stderr=log, env=_env())
        for number, log in enumerate(logs)
    ]
    inputs = calls = 0
    problem = ""
    for process, log in zip(started, logs, strict=True):
        code = process.wait()
        log.seek(0)
        said = log.read()
        log.close()
        if count := re.search(r"(\d+) inputs, (\d+) calls of the scanner", said):
            inputs, calls = inputs + int(count[1]), calls + int(count[2])
        if code:
            kept = {path.name: path.read_bytes().hex() for path in corpus.parent.glob("finding-*")}
            problem = f"{_essence(said)}\ninputs: {kept}"
    if problem:
        raise Finding(problem)
    return Executed(inputs, calls)


def replay(target: Path, corpus: Path) -> int:
    """Every input of a folder once; how many they were."""
    inputs = sorted(map(str, corpus.iterdir()))
    done = subprocess.run(
        [str(target), *inputs], capture_output=True, text=True, env=_env(), check=False
    )
    if done.returncode:
        raise Finding(_essence(done.stdout + done.stderr))
    return len(inputs)


def merge(target: Path, corpus: Path, into: Path) -> None:
    """The fewest inputs that reach what all of these reach."""
    into.mkdir()
    subprocess.run(
        [str(target), "-merge=1", f"-max_len={LONGEST}", str(into), str(corpus)],
        capture_output=True,
        env=_env(),
        check=True,
    )


def coverage(folder: Path, corpus: Path) -> str:
    """What llvm-cov says of the scanner after these inputs: its line of figures and every line that
    was not reached.
    """
    target = build(folder, "coverage")
    raw, data = folder / "scan.profraw", folder / "scan.profdata"
    subprocess.run(
        [str(target), *map(str, corpus.iterdir())],
        env={**_env(), "LLVM_PROFILE_FILE": str(raw)},
        check=True,
        capture_output=True,
    )
    _run([_tool("llvm-profdata"), "merge", str(raw), "-o", str(data)])
    sources = [str(path) for path in sorted(SCAN.glob("*.[ch]"))]
    figures = _run([_tool("llvm-cov"), "report", str(target), f"-instr-profile={data}", *sources])
    shown = _run([_tool("llvm-cov"), "show", str(target), f"-instr-profile={data}", *sources])
    missed = [line for line in shown.splitlines() if re.match(r"\s*\d+\|\s+0\|", line)]
    return "\n".join([*figures.strip().splitlines(), *missed])


def _tool(name: str) -> str:
    """An LLVM tool of the same version as clang, where distributions keep several."""
    version = re.search(r"version (\d+)", _run([compiler() or "clang", "--version"]))
    return (shutil.which(f"{name}-{version[1]}") if version else None) or shutil.which(name) or name


def _env() -> dict[str, str]:
    # what the interpreter allocates once and keeps is no leak of the scanner
    return {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}


def _essence(said: str) -> str:
    """The part of a sanitizer's report that says what and where."""
    at = re.search(r"(ERROR: \w+|runtime error|this must hold|SUMMARY|raised)", said)
    return said[max(0, at.start() - 200) : at.start() + 3000] if at else said[-3000:]
