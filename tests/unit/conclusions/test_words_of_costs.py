"""What a conclusion costs has one measure, and its advice is for what really runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from powertui import api
from powertui.data.asked import Aligning
from powertui.data.conclusions import words
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Cost, Stretch
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.makers import computing, python_time, stretches
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy.findings.finding import NEIGHBOURS, Finding, LongerOp
from powertui.data.energy.log_alignment import Alignment
from powertui.data.model import PS_PER_S, Badge
from powertui.data.tools import framework_advice
from powertui.data.tools.framework import Framework
from powertui.data.tools.top_ops import Top


@pytest.mark.parametrize("run", ["logdirs/jax_cpu", "logdirs/trace_export"])
def test_all_shares_of_a_run_are_of_one_length(data: Path, run: str) -> None:
    for opened in api.open(str(data / run)):
        for conclusion in run_conclusions(opened.opened):
            cost = conclusion.cost
            if cost.share is not None and cost.seconds is not None:
                length_s = Inquiry.of_run(opened.opened, Aligning()).length_ps / PS_PER_S
                assert cost.share * length_s == pytest.approx(cost.seconds)


@pytest.mark.parametrize(
    ("label", "framework", "advice"),
    [
        (
            "nn.Module: BertEncoder_0, called by forward in modeling_bert.py:1001",
            Framework.PYTORCH,
            framework_advice.LAUNCH_LESS,
        ),
        ("apply_primitive in dispatch.py:87", Framework.JAX, framework_advice.LAUNCH_LESS),
        ("quick_execute in execute.py:54", Framework.TENSORFLOW, framework_advice.LAUNCH_LESS),
        (
            "preprocess in image_processing_videomae.py:235",
            Framework.PYTORCH,
            framework_advice.LESS_PYTHON,
        ),
        ("bind_batches in loop.py:3", Framework.JAX, framework_advice.LESS_PYTHON),
        ("", Framework.JAX, framework_advice.LESS_PYTHON),
    ],
)
def test_python_that_calls_operators_cannot_be_moved_elsewhere(
    label: str, framework: Framework, advice: dict[Framework, str]
) -> None:
    assert python_time.advice(label, framework) == advice[framework]


def _finding(kind: str, seconds: float, *ops: LongerOp) -> Finding:
    return Finding(
        kind=kind,
        witnesses=(NEIGHBOURS,),
        start_ps=0,
        end_ps=4 * PS_PER_S,
        start_within=(0, 0),
        end_within=(0, 0),
        epoch=None,
        step_lo=3,
        step_hi=9,
        elsewhere=(),
        delta_watts=60.0,
        lo_watts=50.0,
        hi_watts=70.0,
        delta_joules=240.0,
        lo_joules=200.0,
        hi_joules=280.0,
        delta_seconds=seconds,
        p=0.001,
        badge=Badge.MEASURED,
        ops=ops,
    )


def _told(finding: Finding) -> Conclusion:
    return stretches.conclusion(finding, Stretch(0, *finding.span), Cost(), outside=False)


def test_an_op_that_ran_longer_beside_foreign_power_is_no_reason_for_it() -> None:
    waited = LongerOp("TFE_DeleteTensorHandle", 2.09, 0.002, 2.092)
    assert (
        "+240 J. Meanwhile TFE_DeleteTensorHandle took"
        in _told(_finding("power", 0, waited)).sentence
    )
    assert "nothing in the profile explains" in _told(_finding("power", 0)).sentence


@pytest.mark.parametrize(
    ("cut", "watts", "doubt"),
    [
        ((False, False), 60.0, ""),
        ((True, False), 60.0, "The log begins inside it: the load may have been longer."),
        ((False, True), 60.0, "The log ends inside it: the load may have been longer."),
        (
            (True, True),
            -60.0,
            "The log begins and ends inside it: the stretch may have been longer.",
        ),
    ],
)
def test_a_load_that_the_log_cuts_off_may_have_been_longer(
    cut: tuple[bool, bool], watts: float, doubt: str
) -> None:
    finding = replace(_finding("power", 0), cut=cut, delta_watts=watts)
    assert _told(finding).doubt == doubt
    assert _told(finding).confidence is Confidence.SURE  # how long it was is in doubt, it is not


def test_a_log_whose_place_is_in_doubt_as_well_says_both() -> None:
    finding = replace(_finding("power", 0), cut=(False, True))
    placed = Alignment(0.0, -9.0, 9.0, "ambiguous", "x", ())
    told = stretches.with_doubt(_told(finding), placed)
    assert told.doubt == (
        "Where the power log is on this time axis is in doubt. "
        "The log ends inside it: the load may have been longer."
    )
    assumed = _told(replace(finding, badge=Badge.ASSUMED)).doubt
    assert assumed.startswith("The unit of the power, whose it is, ")
    assert assumed.endswith(
        "profile, was assumed. The log ends inside it: the load may have been longer."
    )


def test_a_frame_is_told_as_a_function_and_what_never_runs_has_no_usual_time() -> None:
    waited = LongerOp("$array.py:615 _value", 0.526, 0.0, 0.526)
    sentence = _told(_finding("time", 0.5, waited)).sentence
    assert sentence.endswith(
        "waiting for results (_value in array.py:615) took 526 ms, which does not usually happen."
    )


def test_what_the_host_waited_for_is_named_before_the_wait() -> None:
    waited = LongerOp("$api.py:2479 block_until_ready", 0.691, 1.674, 2.365)
    ran = LongerOp("loop_fusion", 0.255, 0.343, 0.598)
    sentence = _told(_finding("time", 0.7, waited, ran)).sentence
    assert sentence.endswith("loop_fusion took 598 ms, usually 343 ms.")


def test_what_computes_is_no_callback_and_no_copy() -> None:
    ops = [
        _top("io_callback.1", "host", 8_000),
        _top("aten::copy_", "memory", 1_000),
        _top("dot.3", "matmul", 900),
    ]
    op = computing.notable_op(ops, 1_000.0)
    assert op is not None
    assert op.name == "dot.3"
    # Nor is it the largest op of all: that is the callback.
    sentence = computing.notable_op_sentence(op, ops)
    assert sentence == ". The largest op that computes is dot.3 (900 ps in all)"
    assert computing.notable_op_sentence(op, [op]).startswith(". The largest op is dot.3 ")


def test_a_length_of_time_has_three_digits() -> None:
    assert words.seconds(1.23456) == "1.23 s"
    assert words.seconds(0.000123456) == "123 µs"


def _top(name: str, category: str, self_time: int) -> Top:
    return Top(name, name, 1, self_time, self_time / 10_000, category)
