"""The checks of `powertui doctor`: pure functions from what was found to findings.

Each finding is what was found, why it matters, and the next thing to do. The cases are the ones
that people ask about: a profile on the wrong level, no steps, no GPU kernels, tools that do not
apply, power that is not there.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from powertui import plugins
from powertui.data import elsewhere, wire
from powertui.data.asking_folder import path_as_typed
from powertui.data.logdir import Logdir, RunEntry
from powertui.named_tuples import NamedTuple
from powertui.report import facts, runs, text, ways_on

CheckState = Literal["ok", "note", "missing", "problem"]

# The folders that Keras and others write scalars to.
_TRAINING_GROUPS = {"train", "training"}
_VALIDATION_GROUPS = {"validation", "val", "valid", "eval", "test"}

_PROFILE_HOW = (
    "profile a few steps: tf.keras.callbacks.TensorBoard(log_dir, profile_batch=(10, 20)), "
    "or with jax.profiler.trace(log_dir): …, or tf.profiler.experimental.start(log_dir), "
    "or torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(log_dir))"
)


class Check(NamedTuple):
    """One finding. `do` is the next command or step; "" when nothing needs doing."""

    topic: str
    state: CheckState
    what: str
    do: str = ""


# ── the program ──────────────────────────────────────────────────────────────────────────────────


def of_program() -> Iterator[Check]:
    """What concerns powertui itself on this machine."""
    if wire.WHY_PURE:
        do = "install gcc and Python's headers (python3-dev on Debian), then powertui again"
        if os.environ.get("POWERTUI_PURE"):
            do = "unset POWERTUI_PURE"
        what = (
            f"profiles are read without the compiled scanner ({wire.WHY_PURE}): the same "
            "answers, several times more slowly"
        )
        yield Check(
            topic="program",
            state="note",
            what=what,
            do=do,
        )
    for problem in (*plugins.problems(), *plugins.failed()):
        yield Check(
            topic="program",
            state="note",
            what=problem,
            do="update the package, or uninstall it",
        )


# ── the whole path ───────────────────────────────────────────────────────────────────────────────


def of_logdir(scan: Logdir) -> Iterator[Check]:
    """What concerns the path and no run."""
    if not scan.runs:
        yield from _nothing(scan)
    yield from _inside_plugins(scan)
    for file in scan.unread:
        yield Check(
            topic="files",
            state="note",
            what=f"{path_as_typed(file.path)}: {facts.why_unread(file)}",
        )
    claimed = {log for run in scan.runs for log in run.power}
    for log in scan.power:
        if log not in claimed:
            path = path_as_typed(log.path)
            what = (
                f"{path} is a power log ({log.dialect}), but nothing shows which run it belongs to"
            )
            yield Check(
                topic="power",
                state="note",
                what=what,
                do=f"powertui RUN --power {shlex.quote(path)}",
            )
    for problem in scan.problems:
        yield Check(
            topic="access",
            state="problem",
            what=str(problem),
            do=_access_hint(problem.cause, problem.file),
        )


def _inside_plugins(scan: Logdir) -> Iterator[Check]:
    """Whether the path is below the folder that TensorBoard needs."""
    if not scan.runs or scan.path == "-" or elsewhere.is_address(scan.path):
        return
    path = Path(scan.path).absolute()
    for folder in (path, *path.parents[:3]):
        if folder.name == "plugins":
            logdir_path = shlex.quote(path_as_typed(str(folder.parent)))
            what = (
                "this is inside plugins/: powertui reads it, but TensorBoard needs the folder above"
            )
            yield Check(
                topic="level",
                state="note",
                what=what,
                do=f"tensorboard --logdir {logdir_path}",
            )


def _nothing(scan: Logdir) -> Iterator[Check]:
    scalars = [event for event in scan.tfevents if event.kind == "scalars"]
    if scalars:
        logged = text.plural(len(scalars), "tfevents file")
        what = f"the training was logged ({logged}), but no profile was taken or kept"
        yield Check(
            topic="profile",
            state="missing",
            what=what,
            do=_PROFILE_HOW,
        )
        return
    if any(event.kind == "profile-empty" for event in scan.tfevents):
        what = (
            "a profile was taken here (profile-empty shows it), but its folder "
            "plugins/profile/ is not here"
        )
        yield Check(
            topic="profile",
            state="missing",
            what=what,
            do="copy the whole logdir, folders included: rsync -a HOST:LOGDIR .",
        )
        return
    what = (
        "no profile that powertui reads is here, at any depth: no *.xplane.pb, no "
        "*.trace.json.gz, no other trace"
    )
    yield Check(
        topic="profile",
        state="missing",
        what=what,
        do="name the folder that your program was given as log_dir; or " + _PROFILE_HOW,
    )


def _access_hint(cause: str, path: str) -> str:
    if "ermission" in cause:
        return f"ls -ld {shlex.quote(path)}"
    return ""


# ── one run, as found ────────────────────────────────────────────────────────────────────────────


def of_entry(entry: RunEntry) -> Iterator[Check]:
    """What the names of files and folders show."""
    if runs.growing(entry):
        what = "a profile of this run was written to just now: what is complete was read"
        yield Check(
            topic="files",
            state="note",
            what=what,
            do="look again when its program has ended",
        )
    if entry.path != "-" and entry.profiles and ways_on.is_tensorboards(entry.profiles[0].path):
        yield from _level(entry)
    if not entry.profiles and (why := facts.why_no_timeline(entry)):
        do = "" if entry.results or entry.unread else _PROFILE_HOW
        if entry.results:
            name = "neuron_op_timeline.json" if entry.of_neuron else "HOST.xplane.pb"
            do = (
                f"copy {name} from the machine that was profiled; newer versions write "
                "it beside these files"
            )
        # Its topic says already what is missing.
        yield Check(
            topic="timeline",
            state="missing",
            what=why.removeprefix("no timeline: "),
            do=do,
        )
    for file in entry.unread:
        if entry.profiles:
            yield Check(
                topic="files",
                state="note",
                what=f"{path_as_typed(file.path)}: {facts.why_unread(file)}",
            )
    if entry.ignored:
        count = text.plural(len(entry.ignored), "cache file")
        yield Check(
            topic="files",
            state="note",
            what=f"{count} of other viewers: ignored, safe to delete",
        )
    for problem in entry.problems:
        yield Check(
            topic="files",
            state="problem",
            what=str(problem),
        )


def typed_path(entry: RunEntry) -> str:
    """The run's path as one types it in a command."""
    if entry.path == "-":
        return "PATH"
    return shlex.quote(path_as_typed(entry.path))


def _level(entry: RunEntry) -> Iterator[Check]:
    folder = Path(entry.profiles[0].path).parent
    here = elsewhere.shown(str(folder)) == str(folder)
    if here and not (folder.parent.name == "profile" and folder.parent.parent.name == "plugins"):
        what = "outside plugins/profile/RUN/: powertui reads it here, TensorBoard would not find it"
        target = shlex.quote(path_as_typed(str(folder / "plugins" / "profile" / "run1")))
        do = f"for TensorBoard: mkdir -p {target}, and move the profile there"
        yield Check(
            topic="level",
            state="note",
            what=what,
            do=do,
        )
        return
    scalars = [event for event in entry.tfevents if event.has_scalars]
    empty = [event for event in entry.tfevents if event.kind == "profile-empty"]
    if not scalars and not empty:
        what = (
            "no tfevents beside plugins/ (not even profile-empty): powertui needs none, but "
            "TensorBoard hides the Profile tab"
        )
        do = (
            "epochs and losses come from tfevents: keep train/events.out.tfevents.* with the "
            "profile"
        )
        yield Check(
            topic="tfevents",
            state="note",
            what=what,
            do=do,
        )
    groups = {event.group for event in scalars}
    if groups & _TRAINING_GROUPS and not groups & _VALIDATION_GROUPS:
        what = (
            "only train/: there is no validation/ beside it, so validation runs cannot be "
            "recognized by name"
        )
        yield Check(topic="tfevents", state="note", what=what)
    if groups & _VALIDATION_GROUPS and not groups & {*_TRAINING_GROUPS, ""}:
        what = "only validation/: the epochs of the training are not here"
        yield Check(
            topic="tfevents",
            state="missing",
            what=what,
            do="copy train/ too",
        )
