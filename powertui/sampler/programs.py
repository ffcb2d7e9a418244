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
from typing import IO

from powertui.named_tuples import NamedTuple
from powertui.sampler.credentials import scrub

__all__ = ["Asker", "Done", "Program", "environment", "find", "run"]

# sbin is not in everybody's PATH
_STANDARD_FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")
# An empty or relative folder in them is the working folder, or below it.
_SEARCH_PATHS = ("PATH", "LD_LIBRARY_PATH")
# A list of some hundred sensors is a few tens of KiB: more is a program that runs wild.
MAX_OUTPUT_BYTES = 1 << 20
_READ_BYTES = 1 << 16  # a pipe on Linux holds no more
_KILLED_GRACE_S = 1.0  # a killed process is gone within milliseconds, unless a driver holds it
# The exit codes that `timeout` and a shell use for the first two.
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
        if name not in made:
            continue
        folders = made.pop(name).split(os.pathsep)
        absolute = [folder for folder in folders if os.path.isabs(folder)]  # noqa: PTH117
        # An empty variable would again mean the working folder: then it is not set at all.
        if absolute:
            made[name] = os.pathsep.join(absolute)
    return made


def find(name: str, path: str | None = None, *, as_root: bool = False) -> Program:
    """The program of this name that we would run, from $PATH and the usual places.

    `as_root`: sudo will run it.
    """
    searched = (os.environ.get("PATH", "") if path is None else path).split(os.pathsep)
    first_refusal = ""
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
        # The first is the one that a shell would have run, and that the person thinks of.
        first_refusal = first_refusal or f"{file} is not run: {why}."
    return Program("", first_refusal)


def _doubts_about(file: Path) -> tuple[str, str]:
    """(why it must not run, its owner where that is worth telling).

    The link and what it leads to are both looked at.
    """
    owner = ""
    for place in dict.fromkeys((file.parent.resolve() / file.name, file.resolve())):
        try:
            info = place.lstat()
            # The mode of a link says nothing: Linux gives every link all rights.
            if not stat.S_ISLNK(info.st_mode) and info.st_mode & stat.S_IWOTH:
                return "every user can write to it", ""
            owner = owner or _other_owner(info.st_uid)
            for folder in place.parents:
                status = folder.stat()
                if _is_replaceable_in(status, is_own_folder=folder == place.parent):
                    return f"every user can write to {folder}", ""
                owner = owner or _other_owner(status.st_uid)
        except OSError as error:
            return error.strerror or "it cannot be examined", ""
    return "", owner


def _is_replaceable_in(folder: os.stat_result, *, is_own_folder: bool) -> bool:
    """Whether every user could put something else into the program's place through this folder.

    Below a sticky folder (/tmp) nobody renames what belongs to others; a program right in it may
    have been put there by anybody.
    """
    protected = folder.st_mode & stat.S_ISVTX and not is_own_folder
    return bool(folder.st_mode & stat.S_IWOTH) and not protected


def _other_owner(uid: int) -> str:
    """The name of an owner who is neither root nor us."""
    if uid in (0, os.geteuid()):
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def run(command: Sequence[str], env: Mapping[str, str], timeout: float) -> Done:
    """Run to the end, within the time, and with no more than `MAX_OUTPUT_BYTES` of output.

    Never raises for what the program does.
    """
    return _run(command, env, timeout)[0]


def _run(
    command: Sequence[str],
    env: Mapping[str, str],
    timeout: float,
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
    outputs = {process.stdout: bytearray(), process.stderr: bytearray()}
    deadline = time.monotonic() + timeout
    trouble = _collect(outputs, deadline, timeout)
    if trouble is None:
        # A program may close its output and go on.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        if process.returncode is None:
            trouble = Done(TIMED_OUT, "", f"it did not end within {timeout:g} s")
    if trouble is not None:
        # One that sudo made root's cannot be killed: it ends when nobody reads it any more.
        with contextlib.suppress(OSError):
            process.kill()
    process.stdout.close()
    process.stderr.close()
    if trouble is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_KILLED_GRACE_S)
        return trouble, process if process.returncode is None else None
    out, err = (outputs[pipe].decode(errors="replace") for pipe in (process.stdout, process.stderr))
    return Done(process.returncode, out, err), None


def _collect(
    outputs: Mapping[IO[bytes], bytearray],
    deadline: float,
    timeout: float,
) -> Done | None:
    """Read the pipes into their buffers until both are closed, or report what is wrong.

    Both at once: a program that fills one while we wait for the other would stand still.
    """
    with selectors.DefaultSelector() as selector:
        for pipe in outputs:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                return Done(TIMED_OUT, "", f"no answer within {timeout:g} s")
            for key, _ in selector.select(remaining_s):
                data = os.read(key.fd, _READ_BYTES)
                if not data:
                    selector.unregister(key.fileobj)
                outputs[key.fileobj] += data  # type: ignore[index]
            if sum(map(len, outputs.values())) > MAX_OUTPUT_BYTES:
                return Done(TOO_MUCH, "", f"more than {MAX_OUTPUT_BYTES >> 20} MiB of output")
    return None


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
