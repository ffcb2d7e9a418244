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
    "collective": r"straggl|replica|rank|all.?reduce|collective|communicat|gloo",
    "retracing": r"compil|retrac|tracing",
    "eager": r"small operations|tiny|launch|dispatch|eager",
    "optimizer": r"small operations|optimizer|update",
    "python_loss": r"small operations|triplet_loss|Python",
    "python_metrics": r"Python|confusion",
    "postprocessing": r"Python|postprocess|suppress",
    "layout": r"copy|copies|contiguous|layout|convert",
    "network": r"waiting|network|socket|answer|HTTP|post_metrics",
    "prefetch": r"input|loading|reading|queue|next batch",
    "shards": r"waiting|wait_for|sleep|input|reading",
    "saving": r"checkpoint|\bsav(e|ing)|orbax",
    "plots": r"plot|callback|savefig|matplotlib|on_train_batch_end",
    "summaries": r"logging|histogram|summar",
    "reshuffle": r"reshuffle|pause|slow step|one step",
    "features": r"Python|input|pandas|build_features",
    "metric": r"Python|metric|average_precision|update_state",
    "host_loss": r"Python|loss|\bwarp\b|numpy_function|PyFunc",
    "held_lock": r"waiting|\block|evaluat|validation",
    "callback_log": r"logging|log_gradients|callback|Python",
    "averages": r"small operations|averag|state_dict",
    "subprocess": r"waiting|subprocess|score_texts|command|(other|another|child) process",
    "deepcopy": r"\bcop(y|ies|ying)\b|clone|deepcopy",
    "simulation": r"Python|play_turns|simulat|outside (of )?(TensorFlow|Keras|the framework)",
    "predict_calls": r"\bpredict|small operations|overhead|dispatch|launch|per call|each call",
    "concatenation": r"\bcop(y|ies|ying)\b|\bcat\b|concat|append",
    "hooks": r"small operations|hook|note_statistics|\bitem\b|Python",
    "contention": r"contention|contend|other (process|program)|throttl|preempt|slower|slowed",
    "recall": r"validation|evaluat|recall",
    "workers": r"input|loading|reading|worker",
}

# Between two causes of nearly equal size, of which either is right.
_OR = " or "


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
        is_right=_is_named(facts["cause"], sentence),
    )


def _is_named(cause: str, sentence: str) -> bool:
    """Whether a person would say that the sentence names the cause."""
    words = [_WORDS[name] for name in cause.split(_OR)]
    return any(re.search(pattern, sentence, re.IGNORECASE) for pattern in words)
