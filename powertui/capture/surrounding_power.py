"""Power around a profile: from some seconds before to some seconds after it, and beside it as soon
as it is there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

from powertui.capture.session_files import complete_file, unwritable
from powertui.errors import CaptureError, PowertuiError
from powertui.sampler.csv_format import BEGIN, END
from powertui.sampler.process import RecorderProcess
from powertui.sampler.targets import Target

__all__ = ["NAME", "PowerAround"]

NAME = "power.csv"


class PowerAround:
    """Records from `start()` to `stop()`. Until the profile is there the file lies in the logdir
    itself: whatever ends us, it is found there.
    """

    def __init__(self, targets: Sequence[Target], logdir: str, interval: float) -> None:
        # Two captures may run at once, in one process too.
        self.path = Path(logdir) / f"power-{os.getpid()}-{threading.get_ident() % 10**6}.csv"
        self._recorder = RecorderProcess(
            [(target.url, target.options) for target in targets],
            path=str(self.path),
            interval=interval,
            stream=False,
        )
        self.notes: list[str] = []
        self._recorder.on_event(
            lambda event: self.notes.append(event.text) if event.level != "info" else None
        )
        self.began = self.ended = False  # the profile
        self._beside: Path | None = None  # the same file, in the session's folder
        self._timer: threading.Timer | None = None
        self._over = False

    def start(self) -> None:
        """Returns when the sources are open. Raises what is wrong with them."""
        self._recorder.start()

    def begin(self, name: str) -> None:
        """The profile begins now."""
        self._recorder.mark(name, BEGIN)
        self.began = True

    def end(self, name: str) -> None:
        """It has ended."""
        self._recorder.mark(name, END)
        self.ended = True

    def show(self, folder: Path) -> None:
        """Let the file, which still grows, lie in this folder too.

        A file system with one name for each has it there at the end.
        """
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            self._beside = _second_name(self.path, folder)

    @property
    def lies(self) -> str:
        """Where the file is; "" where there is none."""
        return (
            str(self._beside or self.path) if self.path.exists() or self._beside is not None else ""
        )

    def end_in(self, seconds: float) -> None:
        """Stop recording after so long, whatever is done meanwhile."""
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        before = signal.pthread_sigmask(
            signal.SIG_BLOCK, signal.valid_signals()
        )  # signals are for the main thread
        self._timer.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _end(self) -> None:
        summary = self._recorder.stop("the profile was taken")
        self._over = True
        if summary is not None and not summary["rows"]:
            self.notes.append("No reading came from the power source.")

    def stop(self, folder: Path | None) -> str:
        """End it, and put the file into this folder.

        Where that cannot be, it stays where it is; "" when there is none.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if not self._over:
            self._end()
        if self._beside is None and folder is not None and self.path.exists():
            self.show(folder)
            if self._beside is None:
                self._move(folder / NAME)
        if self._beside is not None:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
        return self.lies

    def _move(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            self._rename(path)
            self._beside = path
        except OSError as error:
            self.notes.append(unwritable(path, error).message)
        except CaptureError as error:
            self.notes.append(error.message)

    def _rename(self, path: Path) -> None:
        """Rename the recording, or copy it where the session's folder is on another file system."""
        try:
            self.path.rename(path)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with self.path.open("rb") as source, complete_file(path) as copy:
                shutil.copyfileobj(source, copy)
            self.path.unlink()


def _second_name(path: Path, folder: Path) -> Path:
    """power.csv, or the next that is free: two captures may have begun in one second."""
    number = 1
    while True:
        name = folder / (NAME if number == 1 else f"power-{number}.csv")
        try:
            name.hardlink_to(path)
        except FileExistsError:
            number += 1
        else:
            return name


def make_folder(folder: str) -> None:
    """The logdir, before anything is waited for."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(Path(folder), error) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PowertuiError(
            f"{folder} cannot be written: permission denied.", hint="Choose another --logdir."
        )
