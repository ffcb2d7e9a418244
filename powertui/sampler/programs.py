"""Programs that help us (ipmitool, sudo): which file runs, in which environment, and for how long.

They are handed a BMC's password, so the file is looked for in absolute folders only, fixed once,
and told to the person. A file that every user of the machine could replace is never run.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import selectors
import stat
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from powertui.sampler.credentials import scrub

__all__ = ["Asker", "Done", "Program", "environment", "find", "run"]

_STANDARD_FOLDERS = (
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
)  # sbin is not in everybody's PATH
_SEARCH_PATHS = (
    "PATH",
    "LD_LIBRARY_PATH",
)  # an empty or relative folder in them is the working folder, or below it
_MAX_OUTPUT_BYTES = 1 << 20  # bytes of a program's output
TIMED_OUT, NOT_RUN, TOO_MUCH = 124, 127, 125


class Program(NamedTuple):
    """What a name stands for here. Without a path: why it is not run ("" when there is none)."""

    path: str = ""
    refused: str = ""
    owner: str = ""  # who owns it, when that is neither root nor the user


class Done(NamedTuple):
    code: int
    out: str
    err: str


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """For processes of ours: without secrets, and without search paths that lead into the working
    folder.
    """
    made = scrub(given)
    for name in _SEARCH_PATHS:
        if name in made:
            made[name] = os.pathsep.join(
                f
                for f in made[name].split(os.pathsep)
                if os.path.isabs(f)  # noqa: PTH117
            )
            if not made[name]:
                del made[name]
    return made


def find(name: str, path: str | None = None, *, as_root: bool = False) -> Program:
    """The program of this name that we would run, from $PATH and the usual places.

    `as_root`: sudo will run it.
    """
    searched = (os.environ.get("PATH", "") if path is None else path).split(os.pathsep)
    refused = ""
    for folder in dict.fromkeys([*searched, *_STANDARD_FOLDERS]):
        if not os.path.isabs(folder):  # noqa: PTH117  an empty one is the working folder
            continue
        file = Path(folder) / name
        if not (file.is_file() and os.access(file, os.X_OK)):
            continue
        why, owner = _doubts_about(file)
        if not why and owner and as_root:
            why = f"it belongs to {owner}, and sudo would run it as root"
        if not why:
            return Program(str(file), "", owner)
        refused = refused or f"{file} is not run: {why}."
    return Program("", refused)


def _doubts_about(file: Path) -> tuple[str, str]:
    """(why it must not run, its owner where that is worth telling).

    The link and what it leads to are both looked at.
    """
    owner = ""
    for place in dict.fromkeys((file.parent.resolve() / file.name, file.resolve())):
        try:
            info = place.lstat()
            if not stat.S_ISLNK(info.st_mode) and info.st_mode & stat.S_IWOTH:
                return "every user can write to it", ""
            owner = owner or _other_owner(info.st_uid)
            for folder in place.parents:
                above = folder.stat()
                sticky = above.st_mode & stat.S_ISVTX and folder != place.parent
                if above.st_mode & stat.S_IWOTH and not sticky:
                    return f"every user can write to {folder}", ""
                owner = owner or _other_owner(above.st_uid)
        except OSError as error:
            return error.strerror or "it cannot be examined", ""
    return "", owner


def _other_owner(uid: int) -> str:
    """The name of an owner who is neither root nor us."""
    if uid in (0, os.geteuid()):
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def run(command: Sequence[str], env: Mapping[str, str], timeout: float) -> Done:
    """Run to the end, within the time, and with no more than `_MOST` bytes of output.

    Never raises for what the program does.
    """
    return _run(command, env, timeout)[0]


def _run(
    command: Sequence[str], env: Mapping[str, str], timeout: float
) -> tuple[Done, subprocess.Popen[bytes] | None]:
    """And the process, where it was killed and is still there: it waits in the kernel for a driver,
    or has become root's.
    """
    try:
        process = subprocess.Popen(
            list(command),
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        return Done(NOT_RUN, "", error.strerror or "it cannot be run"), None
    assert process.stdout is not None
    assert process.stderr is not None
    texts = {process.stdout: bytearray(), process.stderr: bytearray()}
    until = time.monotonic() + timeout
    trouble: Done | None = None
    with selectors.DefaultSelector() as selector:
        for pipe in texts:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map() and trouble is None:
            remaining_s = until - time.monotonic()
            if remaining_s <= 0:
                trouble = Done(TIMED_OUT, "", f"no answer within {timeout:g} s")
                break
            for key, _ in selector.select(remaining_s):
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fileobj)
                texts[key.fileobj] += data  # type: ignore[index]
            if sum(map(len, texts.values())) > _MAX_OUTPUT_BYTES:
                trouble = Done(TOO_MUCH, "", f"more than {_MAX_OUTPUT_BYTES >> 20} MiB of output")
    if trouble is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))
        if process.returncode is None:
            trouble = Done(TIMED_OUT, "", f"it did not end within {timeout:g} s")
    if trouble is not None:
        with contextlib.suppress(
            OSError
        ):  # one that sudo made root's: it ends when nobody reads it any more
            process.kill()
    process.stdout.close()
    process.stderr.close()
    if trouble is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
        return trouble, process if process.returncode is None else None
    out, err = (texts[pipe].decode(errors="replace") for pipe in (process.stdout, process.stderr))
    return Done(process.returncode, out, err), None


class Asker:
    """For a program that is run again and again: never beside an earlier one that hangs, so that
    they do not pile up.
    """

    def __init__(self) -> None:
        self._hangs: subprocess.Popen[bytes] | None = None

    def run(self, command: Sequence[str], env: Mapping[str, str], timeout: float) -> Done:
        if self._hangs is not None and self._hangs.poll() is None:
            return Done(TIMED_OUT, "", "it has not ended since it was asked before")
        done, self._hangs = _run(command, env, timeout)
        return done
