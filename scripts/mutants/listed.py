"""The list of mutants, tests/mutants.txt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.mutants.matching import NoMatch, applied

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "mutants.txt"


@dataclass(frozen=True)
class Mutant:
    """A statement or expression of a function, before and after.

    `outcome` is "killed", "survived", or "" if the mutant was never tried.
    """

    file: str
    function: str
    before: str
    after: str
    outcome: str = ""
    why: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.function, self.before, self.after

    def __str__(self) -> str:
        outcome = f"= {self.outcome or 'unknown'}" + (f": {self.why}" if self.why else "")
        return f"{self.file} {self.function}\n- {self.before}\n+ {self.after}\n{outcome}\n"


def parsed_list(text: str) -> list[Mutant]:
    """The mutants of a list. Lines that begin with # are comments."""
    mutants = []
    for number, block in enumerate(text.split("\n\n"), 1):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if not lines:
            continue
        if [line[:2] for line in lines[1:]] != ["- ", "+ ", "= "] or len(lines[0].split()) != 2:
            raise NoMatch(f"Block {number} of the list is not a mutant: {lines[0]}")
        file, function = lines[0].split()
        before, after, result = (line[2:] for line in lines[1:])
        outcome, _, why = result.partition(": ")
        if outcome == "unknown":
            outcome = ""
        mutants.append(Mutant(file, function, before, after, outcome, why))
    return mutants


def problems_of(mutants: Sequence[Mutant], root: Path = ROOT) -> list[str]:
    """A sentence for each mutant that does not fit the source or is listed twice."""
    problems = []
    for mutant in mutants:
        try:
            applied(mutant, (root / mutant.file).read_text("utf-8"))
        except (NoMatch, OSError, SyntaxError) as error:
            problems.append(str(error))
    counts = Counter(mutant.key for mutant in mutants)
    for (file, function, _, after), count in counts.items():
        if count > 1:
            problems.append(f"Twice in the list: {file} {function} + {after}")
    return problems
