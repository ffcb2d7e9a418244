"""The whole table, and one row held against what powertui tells of its profile."""

from __future__ import annotations

from pathlib import Path

from tests.adversarial import (
    crossings,
    devices,
    dispatch,
    makers,
    mixtures,
    names,
    observed,
    phases,
    random_programs,
    random_unmarked,
    series,
    threads,
)
from tests.adversarial.rows import ROWS, Row

__all__ = ["ROWS", "SUBJECTS", "wrong"]

SUBJECTS = (
    devices,
    dispatch,
    threads,
    phases,
    names,
    makers,
    mixtures,
    crossings,
    series,
    random_programs,
    random_unmarked,
)


def wrong(row: Row, folder: Path, *, json: bool = False) -> list[str]:
    """Every way in which what is told of this row's profile differs from how it ran.

    `json`: of its trace as JSON.
    """
    programs = row.programs()
    for program in programs:
        if json:
            program.write_json(folder)
        else:
            program.write(folder)
    told = {profile["host"]: profile for profile in observed.profiles(folder)}
    if row.cannot:
        (only,) = told.values()
        if observed.says_unsure(only):
            return []
        steps = only["steps"]
        return [
            (
                f"nobody can tell ({row.cannot}); told as sure: {steps['count']} steps, "
                f"{steps['source']!r}"
            )
        ]
    out = []
    for program in programs:
        prefix = f"{program.host}: " if len(programs) > 1 else ""
        out += [prefix + one for one in observed.differences(program, told[program.host])]
    return out
