"""Makes one archive that installs powertui where there is no network: program, packages, install
script, checksums.

    python3 scripts/bundle.py                               for this machine and this Python
    python3 scripts/bundle.py --python 3.11 --python 3.12   for these
    python3 scripts/bundle.py --machine ppc64le             for another machine

It ends up in dist/. Unpack it there and run `sh install.sh`. PyPI has no numpy and pandas for some
machines (POWER): there the script takes the machine's own, and says in a sentence when they are
missing.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import archives  # noqa: E402
from environment import ISOLATED, NEEDED, WHEELS  # noqa: E402
from sbom import document, of_wheel  # noqa: E402

# Versions of the C library up to RHEL 8's, newest first. Nothing for 2_34: those wheels of
# `cryptography` are compiled for POWER9, and end a POWER8 with SIGILL.
LIBC = ("2_28", "2_27", "2_26", "2_24", "2_17", "2014")


def main(arguments: list[str] | None = None) -> int:
    """Exit code 1 when pip lacks something."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--machine", default=platform.machine(), help="as `uname -m` says it there")
    parser.add_argument(
        "--python", action="append", metavar="3.X", help="a version of Python there (repeatable)"
    )
    parser.add_argument(
        "--wheel",
        type=Path,
        action="append",
        help="powertui's own wheel, where it is built already (repeatable)",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    asked = parser.parse_args(arguments)
    pythons = sorted(
        set(asked.python or [f"{sys.version_info[0]}.{sys.version_info[1]}"]),
        key=lambda one: int(one.split(".")[1]),
    )
    with tempfile.TemporaryDirectory() as folder:
        name = f"powertui-{version()}-{asked.machine}"
        into = Path(folder) / name
        (into / "wheels").mkdir(parents=True)
        own = asked.wheel or [build(into.parent, pure=asked.machine != platform.machine())]
        for wheel in own:
            shutil.copy(wheel, into / "wheels")
        if not fetch(into / "wheels", asked.machine, pythons, own[0]):
            return 1
        describe(into, asked.machine, pythons)
        asked.out.mkdir(exist_ok=True)
        archive = asked.out / f"{name}-bundle.tar.gz"
        archives.pack(into, archive, level=1)  # wheels are packed already
    print(
        f"{archive}: {archive.stat().st_size / 1e6:.0f} MB for {asked.machine}, Python "
        f"{', '.join(pythons)}"
    )
    print(f"Copy it there, then: tar xf {archive.name} && sh {name}/install.sh")
    return 0


def version() -> str:
    """As the package says it."""
    for line in (ROOT / "powertui/__init__.py").read_text("utf-8").splitlines():
        if line.startswith("__version__"):
            return line.split('"')[1]
    raise SystemExit("powertui/__init__.py names no version.")


def build(folder: Path, pure: bool) -> Path:
    """powertui's own wheel.

    Another machine gets the wheel without binaries, and reads slower: `make release` compiles for
    it.
    """
    if pure:
        print(
            "This bundle decodes with numpy. For more speed give it a wheel of that machine, which "
            "`make release` builds: --wheel dist/powertui-….whl"
        )
    copy = folder / "source"
    unwanted = shutil.ignore_patterns(
        ".git",
        ".venv",
        ".parity-venv",
        "dist",
        "build",
        "*.egg-info",
        "*.so",
        "__pycache__",
        "generated",
        ".*_cache",
    )
    shutil.copytree(ROOT, copy, ignore=unwanted)
    environment = {"CC": "/bin/false"} if pure else {}
    subprocess.run(
        [
            sys.executable,
            *ISOLATED,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--wheel-dir",
            str(folder / "own"),
            str(copy),
        ],
        check=True,
        env=os.environ | environment,
    )
    return next((folder / "own").glob("powertui-*.whl"))


def fetch(wheels: Path, machine: str, pythons: list[str], own: Path) -> bool:
    """What powertui needs, as wheels for that machine.

    pip judges markers by the Python that it runs in, so tomli is named.
    """
    lacking = () if machine in WHEELS else tuple(name for name, _ in NEEDED)
    asked = [line for line in requirements(own) if not line.startswith(lacking or ("/",))]
    for python in pythons:
        tags = [
            flag
            for libc in LIBC
            for flag in ("--platform", f"manylinux{'_' if '_' in libc else ''}{libc}_{machine}")
        ]
        older = (
            ["tomli", "typing_extensions", "exceptiongroup"]
            if int(python.split(".")[1]) < 11
            else []
        )
        command = [
            *(
                sys.executable,
                *ISOLATED,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--disable-pip-version-check",
                "--only-binary",
                ":all:",
            ),
            *(
                "--dest",
                str(wheels),
                "--python-version",
                python,
                "--implementation",
                "cp",
                *tags,
                "--platform",
                f"linux_{machine}",
            ),
            *("pip", *asked, *older),
        ]
        if subprocess.call(command):
            print(
                f"PyPI lacks a package for Python {python} on {machine}: the reason stands above.",
                file=sys.stderr,
            )
            return False
    if lacking:
        (wheels.parent / "FROM_THE_MACHINE").write_text("\n".join(lacking) + "\n", "utf-8")
    newest = max(
        wheels.glob("pip-*.whl"),
        key=lambda path: [int(n) if n.isdigit() else 0 for n in path.name.split("-")[1].split(".")],
    )
    for other in wheels.glob("pip-*.whl"):
        if other != newest:
            other.unlink()
    return True


def requirements(wheel: Path) -> list[str]:
    """What the wheel asks for, without extras and without what only an older Python needs."""
    return [
        str(line).partition(";")[0].strip() for line in of_wheel(wheel).requires if ";" not in line
    ]


def describe(into: Path, machine: str, pythons: list[str]) -> None:
    """The files beside the wheels, and the checksums of all."""
    shutil.copy(ROOT / "packaging/install.sh", into / "install.sh")
    (into / "install.sh").chmod(0o755)
    shutil.copy(ROOT / "LICENSE", into / "LICENSE")
    (into / "MACHINE").write_text(f"{machine}\n", "utf-8")
    (into / "PYTHONS").write_text("".join(f"{python}\n" for python in pythons), "utf-8")
    packages = [of_wheel(path) for path in sorted((into / "wheels").glob("*.whl"))]
    (into / "sbom.spdx.json").write_text(
        document(f"powertui-{version()}-{machine}-bundle", packages), "utf-8"
    )
    files = sorted(path for path in into.rglob("*") if path.is_file())
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(into).as_posix()}\n"
        for path in files
    ]
    (into / "SHA256SUMS").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
