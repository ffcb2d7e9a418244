"""The energy that Slurm's accounting has of a job: `sacct`, or a file with its answer.

An array, and a job of several parts, has rows for each of its jobs: their counts are added up.

Slurm counts whole nodes, of whatever its plugin reads there, every 30 s or so. Which plugin that
was (IPMI, RAPL without GPUs, …) its accounting does not say. Steps overlap: that of `extern` is of
all the job's nodes, those of `srun` are of parts of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from powertui.errors import NotSupported, UnreadableFile
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.sampler import programs
from powertui.sampler.slurm import joules_by_step, leading_step

__all__ = ["SlurmEnergy", "ask_sacct", "read_sacct"]

_COLUMNS = "JobID,JobIDRaw,State,ElapsedRaw,NNodes,NodeList,ConsumedEnergyRaw"
_TIMEOUT_S = 30.0  # a database of years of jobs answers late
_POLL_S = 30  # between two readings of its plugins, where a site sets nothing else
_MIN_POLLS = 10  # in a job, for the first and the last of them not to matter much
_MAX_SUM_DIFFERENCE = 0.02  # of a sum of steps: so near is the job's own figure made of them
_MIN_NODE_W, _MAX_NODE_W = 20.0, 20_000.0  # that a node may draw; chosen, far outside of any
# What the name of a job of an array (42_7), or of a part of a job (42+1), has after the number.
_PART = re.compile(r"[_+]\d{1,10}")
_WHOLE_NUMBER = re.compile(r"\d{1,20}")


class SlurmEnergy(NamedTuple):
    """What Slurm counted for a job, and what may be wrong with it."""

    joules: int | None
    step: str  # whose count it is; "" of the whole job
    faults: tuple[str, ...]  # sentences


def ask_sacct(job: str) -> SlurmEnergy | None:
    """What this machine's `sacct` says of a job; None where there is no Slurm."""
    program = programs.find("sacct")
    if not program.path:
        return None
    command = [program.path, "--parsable2", "--jobs", job, "--format", _COLUMNS]
    done = programs.Asker().run(command, programs.environment(os.environ), _TIMEOUT_S)
    if done.code:
        words = plain(" ".join((done.err or done.out).split()), 120)
        raise NotSupported(f"sacct failed ({words or f'exit code {done.code}'}).")
    return _energy(done.out.splitlines(), job)


def read_sacct(path: str, job: str) -> SlurmEnergy:
    """The same from a file that `sacct --parsable2` wrote. Raises `UnreadableFile`."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            lines = file.read(programs.MAX_OUTPUT_BYTES).splitlines()
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from None
    energy = _energy(lines, job)
    if energy is None:
        raise UnreadableFile(
            path,
            f"holds no job {plain(job, 40)} with its energy",
            hint=f"Write it with: sacct --parsable2 --jobs {plain(job, 40)} --format {_COLUMNS}",
        )
    return energy


def _energy(lines: Sequence[str], job: str) -> SlurmEnergy | None:
    """The energy of a job among the rows of an answer; None where none is of it."""
    if not lines:
        return None
    names = [name.strip().casefold() for name in lines[0].split("|")]
    if not {"jobid", "consumedenergyraw"} <= set(names):
        return None
    rows = []
    for line in lines[1:]:
        if "|" in line:
            rows.append(dict(zip(names, line.split("|"), strict=False)))
    # Of an array several jobs go by the number that was asked for.
    parts = [_of_one_job(part, name) for name, part in _rows_by_job(rows, job).items()]
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    energy = _added_up(parts)
    # The first number of an array is that of its last job, too.
    same_number = [row["jobid"] for row in rows if row.get("jobidraw") == job != row["jobid"]]
    if same_number:
        name = plain(same_number[0], 40)
        words = f"{job} is also the number of one of them alone: --job {name}."
        energy = energy._replace(faults=(*energy.faults, words))
    return energy


def _rows_by_job(rows: Sequence[Mapping[str, str]], job: str) -> dict[str, list[Mapping[str, str]]]:
    """The rows of a job, or of each job of an array, with the rows of its steps."""
    by_job: dict[str, list[Mapping[str, str]]] = {}
    for row in rows:
        name = row["jobid"].partition(".")[0]
        raw_name = row.get("jobidraw", "").partition(".")[0]
        if name == job or raw_name == job or _PART.fullmatch(name.removeprefix(job)):
            by_job.setdefault(name, []).append(row)
    return by_job


def _of_one_job(rows: Sequence[Mapping[str, str]], job: str) -> SlurmEnergy:
    """The energy of one job from all of its rows."""
    # The row of the job itself has no step in its name; its number may be that of a step.
    of_job = _counted(row for row in rows if row["jobid"] == job).get(job)
    steps = _counted(row for row in rows if row["jobid"] != job)
    whole = next((row for row in rows if row["jobid"] == job), rows[0])
    return _judged(of_job, steps, whole)


def _added_up(parts: Sequence[SlurmEnergy]) -> SlurmEnergy:
    """The jobs of an array, or the parts of a job of several, as one; nothing where one of them
    was not counted.
    """
    counted = [part.joules for part in parts if part.joules is not None]
    faults = list(dict.fromkeys(fault for part in parts for fault in part.faults))
    if len(counted) < len(parts):
        missing = len(parts) - len(counted)
        why = f"It counted nothing for {missing} of the {len(parts)} jobs of this array or job."
        return SlurmEnergy(None, "", (why,))
    words = (
        f"That is the sum of {len(parts)} jobs: where several ran on one node at a time, the node "
        "is counted for each of them."
    )
    return SlurmEnergy(sum(counted), "", (words, *faults))


def _counted(rows: Iterable[Mapping[str, str]]) -> dict[str, int]:
    """The joules of rows that have some, by the name after the point."""
    written = (f"{row['jobid']}|{row.get('consumedenergyraw', '')}" for row in rows)
    return joules_by_step("\n".join(written))


def _judged(of_job: int | None, steps: Mapping[str, int], whole: Mapping[str, str]) -> SlurmEnergy:
    """Whose count stands for the job, and what is known to be wrong with such counts."""
    if of_job is None and not steps:
        why = "It counted nothing: AcctGatherEnergyType is not set, or its plugin read nothing."
        return SlurmEnergy(None, "", (why,))
    faults = [
        "Slurm counts whole nodes: other jobs on them are in it unless this one had them alone.",
        "Its accounting does not say what its plugin reads: RAPL lacks GPUs, fans and supplies.",
    ]
    covering = _covering_step(steps, whole)
    step = covering
    joules = steps.get(covering, of_job)
    if of_job is None and not covering:
        step = leading_step(steps)
        joules = steps[step]
        faults.append("No step covers the whole job: the largest is shown.")
    elif covering and of_job is not None and not _are_near(of_job, steps[covering]):
        faults.append(
            f"Its figure for the job, {of_job} J, is a sum of steps: those at the same time count "
            "a node twice, and what ran outside of them is missing. "
            f"The step {covering} covers the whole job and is shown."
        )
    elif not covering and _sums_steps(of_job, steps):
        faults.append(
            "That is a sum of steps: those at the same time count a node twice, and what ran "
            "outside of them is missing."
        )
    assert joules is not None
    faults += _doubts(joules, whole)
    return SlurmEnergy(joules, step, tuple(faults))


def _covering_step(steps: Mapping[str, int], whole: Mapping[str, str]) -> str:
    """The step that is of all nodes for as long as the job ran; "" where there is none."""
    if "extern" in steps:
        return "extern"
    # Where a site has no `extern` (PrologFlags without Contain), `batch` is of the first node.
    if "batch" in steps and _number(whole.get("nnodes")) == 1:
        return "batch"
    return ""


def _sums_steps(of_job: int | None, steps: Mapping[str, int]) -> bool:
    """Whether the figure of the job is made of its steps: of all, or of those of srun (22.05)."""
    of_srun = sum(joules for step, joules in steps.items() if step not in ("batch", "extern"))
    sums = (of_srun, sum(steps.values()))
    return of_job is not None and any(total and _are_near(of_job, total) for total in sums)


def _are_near(joules: int, total: int) -> bool:
    return abs(joules - total) <= _MAX_SUM_DIFFERENCE * total


def _doubts(joules: int, whole: Mapping[str, str]) -> list[str]:
    """What the length and the nodes of the job say of a count."""
    elapsed_s = _number(whole.get("elapsedraw"))
    nodes = _number(whole.get("nnodes"))
    doubts = []
    if elapsed_s is not None and elapsed_s < _MIN_POLLS * _POLL_S:
        doubts.append(
            f"The job ran {elapsed_s} s, and plugins read every {_POLL_S} s or so: what was drawn "
            "before the first and after the last reading is missing."
        )
    if elapsed_s and nodes:
        watts = joules / elapsed_s / nodes
        if not _MIN_NODE_W <= watts <= _MAX_NODE_W:
            doubts.append(
                f"That is {watts:.3g} W a node, which no node draws: its counter wrapped or was "
                "set back."
            )
    return doubts


def _number(text: str | None) -> int | None:
    """A whole number, as sacct writes it."""
    if text and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return None
