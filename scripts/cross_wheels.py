"""Wheels of other machines, compiled here: no container and no emulator.

zig (`ziglang` on PyPI) is a C compiler for every machine, with the C libraries of old
distributions. The limited API is the same wherever a long has 64 bits and the lowest byte comes
first, so this machine's Python headers serve the others, too.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import sysconfig
import zipfile
from pathlib import Path

# What zig calls a machine, with the oldest C library that it has for it. s390x is not among them:
# profiles are refused on big-endian machines, so that a compiled scanner would never run there,
# and the wheel of every machine does the same.
TARGETS = {
    "x86_64": "x86_64-linux-gnu.2.17",
    "aarch64": "aarch64-linux-gnu.2.17",
    "ppc64le": "powerpc64le-linux-gnu.2.19",
}
SCANNERS = ("_scan", "_json_scan")
# Bytes 4 (class), 5 (byte order) and 18 to 20 (machine) of an ELF file.
ELF_HEADS = {"x86_64": (2, 1, 62), "aarch64": (2, 1, 183), "ppc64le": (2, 1, 21)}


def compiler_environment(machine: str, folder: Path) -> dict[str, str]:
    """What makes setuptools compile for another machine. `folder` takes headers."""
    target = TARGETS[machine]
    words = [sys.executable, "-m", "ziglang", "cc", "-target", target]
    words += ["-idirafter", str(multiarch_headers(target, folder))]
    # zig keeps what it has compiled; its own folder, so that the second build compiles again.
    return {
        "CC": shlex.join(words),
        "_PYTHON_HOST_PLATFORM": f"linux-{machine}",
        "ZIG_GLOBAL_CACHE_DIR": str(folder / "cache"),
        "ZIG_LOCAL_CACHE_DIR": str(folder / "cache"),
    }


def multiarch_headers(target: str, folder: Path) -> Path:
    """Debian's pyconfig.h includes one of the machine's, which is not installed for others."""
    triplet = target.rpartition(".2.")[0]
    version = f"python{sysconfig.get_python_version()}"
    here = Path("/usr/include") / str(sysconfig.get_config_var("MULTIARCH")) / version
    there = folder / triplet / version
    there.mkdir(parents=True, exist_ok=True)
    if (here / "pyconfig.h").exists():
        shutil.copy(here / "pyconfig.h", there)
    return folder


def check_binaries(wheel: Path) -> None:
    """Refuse a wheel that lacks a scanner, or has one of another machine than its name says."""
    (machine,) = (name for name in TARGETS if wheel.stem.endswith(name))
    missing = set(SCANNERS)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".so"):
                missing.discard(Path(name).name.partition(".")[0])
                if elf_head(archive.read(name)) != ELF_HEADS[machine]:
                    raise ValueError(f"{wheel.name}: {name} is of another machine")
    if missing:
        raise ValueError(f"{wheel.name} lacks {' and '.join(sorted(missing))}")


def elf_head(content: bytes) -> tuple[int, int, int]:
    """Class, byte order and machine of an ELF file."""
    order = "little" if content[5] == 1 else "big"
    return content[4], content[5], int.from_bytes(content[18:20], order)
