"""With a compiler, without one, and with a scanner that does not fit: powertui runs each time."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WIRE = ROOT / "powertui" / "data" / "wire"
SCAN = WIRE / "scan"
SOURCES = [*sorted(SCAN.glob("*.c")), ROOT / "powertui/data/formats/json_scan.c"]
COMPILER = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
HEADERS = sysconfig.get_paths()["include"]

needs_compiler = pytest.mark.skipif(
    not COMPILER or not (Path(HEADERS) / "Python.h").exists(),
    reason="no compiler, or no Python headers",
)
needs_setuptools = pytest.mark.skipif(
    not importlib.util.find_spec("setuptools"), reason="setuptools is not installed"
)


def run(*command: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def choice(**env: str) -> tuple[bool, str, str]:
    """What `powertui.data.wire` chose: whether compiled, why not, and where its functions come
    from.
    """
    script = (
        "import json; from powertui.data import wire as w; print(json.dumps([w.COMPILED, "
        "w.WHY_PURE, w.decoder.__name__]))"
    )
    compiled, why, module = json.loads(
        run(sys.executable, "-c", script, PYTHONPATH=str(ROOT), **env).stdout
    )
    return compiled, why, module.rpartition(".")[2]


def test_the_environment_forces_the_pure_decoder() -> None:
    assert choice(POWERTUI_PURE="1") == (False, "POWERTUI_PURE is set", "pure")


def test_the_scanner_is_used_where_it_is_built() -> None:
    compiled, why, module = choice(POWERTUI_PURE="")
    assert (compiled, module) == (not why, "pure" if why else "compiled")
    assert compiled == bool(importlib.util.find_spec("powertui.data.wire._scan"))


def test_a_scanner_for_another_machine_is_not_fatal(tmp_path: Path) -> None:
    for package in ("powertui", "powertui/data"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    shutil.copytree(
        WIRE, tmp_path / "powertui/data/wire", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    (
        tmp_path / "powertui/data/wire" / f"_scan{sysconfig.get_config_var('EXT_SUFFIX')}"
    ).write_bytes(b"not a library of this machine")
    script = "from powertui.data import wire as w; print(w.COMPILED, w.WHY_PURE)"
    done = run(
        sys.executable, "-c", script, cwd=tmp_path, PYTHONPATH=str(tmp_path), POWERTUI_PURE=""
    )
    assert done.stdout.startswith("False the compiled scanner cannot be loaded (")


def build(into: Path, source: Path = SCAN, **env: str) -> list[Path]:
    """The extension as setup.py builds it, outside of the tree."""
    tree = into / "source"
    (tree / "scripts").mkdir(parents=True)
    for file in ("setup.py", "scripts/archives.py"):
        shutil.copy(ROOT / file, tree / file)
    shutil.copytree(source, tree / "powertui/data/wire/scan")
    command = [
        sys.executable,
        "setup.py",
        "-q",
        "build_ext",
        "--build-lib",
        str(into / "lib"),
        "--build-temp",
        str(into / "temp"),
    ]
    run(*command, cwd=tree, **env)
    return sorted(into.glob("lib/powertui/data/wire/_scan*"))


@needs_setuptools
def test_without_a_compiler_the_build_succeeds_and_leaves_the_scanner_out(tmp_path: Path) -> None:
    assert build(tmp_path, CC="/bin/false") == []


@needs_setuptools
@needs_compiler
def test_with_a_compiler_the_scanner_is_built(tmp_path: Path) -> None:
    (library,) = build(tmp_path)
    if sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert "abi3" in library.name


@needs_setuptools
@needs_compiler
def test_a_scanner_of_another_version_is_not_used(tmp_path: Path) -> None:
    """An editable installation whose sources were updated: what was compiled gives and takes other
    things than is asked of it.
    """
    (tmp_path / "old").mkdir()
    shutil.copytree(
        ROOT / "powertui",
        tmp_path / "old/powertui",
        ignore=shutil.ignore_patterns("*.so", "__pycache__"),
    )
    scan = shutil.copytree(SCAN, tmp_path / "scan")
    text = (SCAN / "module.c").read_text(encoding="utf-8")
    (scan / "module.c").write_text(
        text.replace("INTERFACE = ", "INTERFACE = 1000 + "), encoding="utf-8"
    )
    (library,) = build(tmp_path, source=scan)
    shutil.copy(library, tmp_path / "old/powertui/data/wire")
    script = "from powertui.data import wire as w; print(w.COMPILED, w.WHY_PURE)"
    done = run(
        sys.executable,
        "-c",
        script,
        cwd=tmp_path / "old",
        PYTHONPATH=str(tmp_path / "old"),
        POWERTUI_PURE="",
    )
    assert done.stdout.startswith(
        "False the compiled scanner cannot be loaded (it was built from another version"
    )


@needs_compiler
@pytest.mark.parametrize("limited", [True, False], ids=["limited", "full"])
@pytest.mark.parametrize("char", ["-funsigned-char", "-fsigned-char"])
@pytest.mark.parametrize("source", SOURCES, ids=[path.stem for path in SOURCES])
def test_the_scanners_compile_without_a_warning(
    tmp_path: Path, limited: bool, char: str, source: Path
) -> None:
    if limited and sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("a build without a GIL has no limited API yet")
    api = ["-DPy_LIMITED_API=0x030B0000"] if limited and sys.version_info >= (3, 11) else []
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Werror", char, "-fPIC"]
    run(
        str(COMPILER),
        *flags,
        *api,
        f"-I{HEADERS}",
        "-c",
        str(source),
        "-o",
        str(tmp_path / "scan.o"),
    )


def test_what_the_benchmark_calls_is_there() -> None:
    from benchmarks import bench_scan
    from powertui.data import wire

    asked = set(re.findall(r"\bwire\.([A-Za-z_]\w*)", bench_scan.SCAN))
    assert len(asked) > 3
    assert {name for name in asked if not hasattr(wire, name)} == set()
