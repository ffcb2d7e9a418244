"""Compare what powertui says first with the cause that a program has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from powertui import api
from powertui.data.conclusions.run_conclusions import run_conclusions
from scripts.causes import truth

# What the first sentence has to contain for each cause.
_WORDS = {
    "input": r"input|loading|reading",
    "callbacks": r"callback|between the steps",
    "checkpoint": r"checkpoint",
    "validation": r"validation|evaluation",
    "logging": r"logging",
    "compute": r"^Computing",
    "launch": r"small operations",
    "compile": r"compiling",
    "copies": r"copying",
    "pause": r"pause",
    "gc": r"garbage collection",
    "idle": r"between the steps.*waiting|waiting|pause",
    "host_wait": r"waiting|sleep|lock",
    "python_frames": r"augment_images|Python",
    "python_unseen": r"Python",
    "straggler": r"straggler|replica",
}


class Verdict(NamedTuple):
    """What was said of one program, and whether it is right."""

    program: str
    cause: str
    share: float  # of the time, by the program's own clock
    kind: str
    told_share: float | None
    sentence: str
    is_right: bool


def judged(folder: Path) -> Verdict:
    """The verdict on one recorded program."""
    facts: dict[str, Any] = json.loads((folder / truth.FILE).read_text(encoding="utf-8"))
    first = run_conclusions(api.open(str(folder))[0].opened).first
    sentence = "" if first is None else first.sentence
    return Verdict(
        program=facts["program"],
        cause=facts["cause"],
        share=facts["share"],
        kind="" if first is None else first.kind.value,
        told_share=None if first is None else first.cost.share,
        sentence=sentence,
        is_right=re.search(_WORDS[facts["cause"]], sentence, re.IGNORECASE) is not None,
    )
