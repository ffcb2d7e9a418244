"""Run one program with the profiler of its framework.

python -m scripts.causes.record NAME FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from scripts.causes import (
    eighth_programs,
    fifth_programs,
    fourth_programs,
    jax_programs,
    keras_programs,
    second_programs,
    seventh_programs,
    sixth_programs,
    tensorflow_programs,
    third_programs,
    torch_programs,
)
from scripts.causes.truth import CauseClock

Program = Callable[[CauseClock, Path], None]

_MODULES = (
    keras_programs,
    tensorflow_programs,
    jax_programs,
    torch_programs,
    second_programs,
    third_programs,
    fourth_programs,
    fifth_programs,
    sixth_programs,
    seventh_programs,
    eighth_programs,
)
CAUSES: dict[str, str] = {
    program.__name__: cause for module in _MODULES for program, cause in module.PROGRAMS.items()
}
PROGRAMS: dict[str, Program] = {
    program.__name__: program for module in _MODULES for program in module.PROGRAMS
}


def main() -> None:
    """Write the profile and the truth into the folder."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    clock = CauseClock()
    PROGRAMS[name](clock, folder)
    clock.write(folder, name, CAUSES[name])


if __name__ == "__main__":
    main()
