"""Wheels of other machines, compiled here: no container and no emulator.

zig (`ziglang` on PyPI) is a C compiler for every machine, with the C libraries of old
distributions. The limited API is the same wherever a long has 64 bits and the lowest byte comes
first, so this machine's Python headers serve the others, too.
"""

from __future__ import annotations

import shlex
import shutil
import struct
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

# What zig calls a machine, with the oldest C library that it has for it. s390x is not among them:
# profiles are refused on big-endian machines, so that a compiled scanner would never run there,
# and the wheel of every machine does the same.
TARGETS = {
    "x86_64": "x86_64-linux-gnu.2.17",
    "aarch64": "aarch64-linux-gnu.2.17",
    "ppc64le": "powerpc64le-linux-gnu.2.19",
}
# Alpine's C library. The scanners call nothing that a version of it lacks.
MUSL_TARGETS = {
    "x86_64": "x86_64-linux-musl",
    "aarch64": "aarch64-linux-musl",
    "ppc64le": "powerpc64le-linux-musl",
}
MUSL_TAG = "musllinux_1_2"  # the oldest that numpy has wheels for
SCANNERS = ("_scan", "_json_scan")
# What the limited API of 3.11 has and Python 3.10 has not (doc/data/stable_abi.dat of CPython).
# The buffer protocol became part of it in 3.11 without a change, so that 3.10 loads a binary that
# calls none of these.
NEW_IN_3_11 = {
    b"PyErr_GetHandledException",
    b"PyErr_SetHandledException",
    b"PyType_GetName",
    b"PyType_GetQualName",
    b"Py_Version",
}
DYNAMIC_SECTION = 6  # type of a section: what the loader has to do
RUN_PATH_TAGS = (15, 29)  # of its entries: DT_RPATH, DT_RUNPATH
# Bytes 4 (class), 5 (byte order) and 18 to 20 (machine) of an ELF file.
ELF_HEADS = {"x86_64": (2, 1, 62), "aarch64": (2, 1, 183), "ppc64le": (2, 1, 21)}


def compiler_environment(machine: str, target: str, folder: Path) -> dict[str, str]:
    """What makes setuptools compile for another machine. `folder` takes headers."""
    words = [sys.executable, "-I", "-m", "ziglang", "cc", "-target", target]
    words += ["-idirafter", str(multiarch_headers(machine, folder))]
    # zig keeps what it has compiled; its own folder, so that the second build compiles again.
    return {
        "CC": shlex.join(words),
        "_PYTHON_HOST_PLATFORM": f"linux-{machine}",
        "ZIG_GLOBAL_CACHE_DIR": str(folder / "cache"),
        "ZIG_LOCAL_CACHE_DIR": str(folder / "cache"),
    }


def multiarch_headers(machine: str, folder: Path) -> Path:
    """Debian's pyconfig.h includes one of the machine's, which is not installed for others."""
    triplet = TARGETS[machine].rpartition(".2.")[0]
    version = f"python{sysconfig.get_python_version()}"
    here = Path("/usr/include") / str(sysconfig.get_config_var("MULTIARCH")) / version
    there = folder / triplet / version
    there.mkdir(parents=True, exist_ok=True)
    if (here / "pyconfig.h").exists():
        shutil.copy(here / "pyconfig.h", there)
    return folder


def check_binaries(wheel: Path) -> None:
    """Refuse a wheel that lacks a scanner, or has one that its name does not promise."""
    missing = set(SCANNERS)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".so"):
                missing.discard(Path(name).name.partition(".")[0])
                for trouble in binary_troubles(wheel.stem, archive.read(name)):
                    raise ValueError(f"{wheel.name}: {name} {trouble}")
    if missing:
        raise ValueError(f"{wheel.name} lacks {' and '.join(sorted(missing))}")


def binary_troubles(wheel_name: str, content: bytes) -> Iterator[str]:
    """Why a binary does not fit the machine, the C library and the Python in a wheel's name."""
    (machine,) = (name for name in TARGETS if wheel_name.endswith(name))
    if elf_head(content) != ELF_HEADS[machine]:
        yield "is of another machine"
    if has_run_path(content):
        yield "names a folder of the builder to look for libraries in"
    # The names of libraries and of functions are strings that end with a zero.
    names = set(content.split(b"\0"))
    library = b"libc.so" if MUSL_TAG in wheel_name else b"libc.so.6"
    if library not in names:
        yield f"does not ask for {library.decode()}"
    unknown = NEW_IN_3_11 & names
    if "-cp310-" in wheel_name and unknown:
        yield f"calls {b', '.join(sorted(unknown)).decode()}, which Python 3.10 lacks"


def elf_head(content: bytes) -> tuple[int, int, int]:
    """Class, byte order and machine of an ELF file."""
    order = "little" if content[5] == 1 else "big"
    return content[4], content[5], int.from_bytes(content[18:20], order)


def has_run_path(content: bytes) -> bool:
    """Whether the file names folders to look for libraries in (DT_RPATH, DT_RUNPATH). ELF with 64
    bits, lowest byte first.
    """
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    for at in range(table, table + size * count, size):
        kind, start, length = struct.unpack_from("<4xI16xQQ", content, at)
        if kind != DYNAMIC_SECTION:
            continue
        for entry in range(start, start + length, 16):
            if struct.unpack_from("<Q", content, entry)[0] in RUN_PATH_TAGS:
                return True
    return False
