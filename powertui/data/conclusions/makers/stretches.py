"""Stretches that are unlike the others: unexplained power, slow steps, throttling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from powertui.data.conclusions import words
from powertui.data.conclusions.conclusion import (
    Conclusion,
    Confidence,
    Cost,
    Evidence,
    Kind,
    Stretch,
)
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.makers.blame import says_little, waits_for_results
from powertui.data.energy import account
from powertui.data.energy.findings import finding_texts
from powertui.data.energy.findings.finding import EPOCHS, LIMIT, Finding, LongerOp
from powertui.data.energy.log_alignment import Alignment
from powertui.data.model import PS_PER_S, Badge
from powertui.data.opened import Profile
from powertui.data.tools.python_frames import readable_name
from powertui.plain import plain

_CONFIDENCE = {
    Badge.MEASURED: Confidence.SURE,
    Badge.ESTIMATED: Confidence.LIKELY,
    Badge.ASSUMED: Confidence.UNSURE,
    Badge.SIMULATED: Confidence.SURE,  # as sure as if its watts were real
}
_MIN_LONGER_SHARE = 0.02  # of a stretch: a smaller difference of time has no words beside watts
# A call that ran longer by less than this share of what the steps took longer explains nothing.
# Chosen, not measured.
_MIN_EXPLAINED_SHARE = 0.2
_UNEXPLAINED = ", and no recorded call took that much longer"


def unusual_stretches(inquiry: Inquiry) -> Iterator[Conclusion]:
    """Every finding of every profile."""
    for profile in inquiry.profiles:
        for finding in account.findings(profile, inquiry.question.aligning).findings:
            yield _of_finding(inquiry, profile, finding)


def smaller_differences(inquiry: Inquiry) -> Iterator[Conclusion]:
    """The findings that are too small to matter."""
    for profile in inquiry.profiles:
        for finding in account.findings(profile, inquiry.question.aligning).smaller:
            yield _of_finding(inquiry, profile, finding)


def _of_finding(inquiry: Inquiry, profile: Profile, finding: Finding) -> Conclusion:
    lo, hi = profile.trace.span
    is_outside = finding.end_ps <= lo or finding.start_ps >= hi
    where = Stretch(profile.index, finding.start_ps, finding.end_ps)
    cost = _cost(inquiry, finding, outside=is_outside)
    made = conclusion(finding, where, cost, outside=is_outside)
    alignment = account.energy_account(profile, inquiry.question.aligning).alignment
    return with_doubt(made, alignment)


def with_doubt(made: Conclusion, alignment: Alignment | None) -> Conclusion:
    """A conclusion from a log that is placed so: where that is in doubt, what rests on its readings
    is not sure.
    """
    if alignment is None or not alignment.is_doubtful:
        return made
    if made.kind not in (Kind.POWER, Kind.THROTTLING) or made.confidence is not Confidence.SURE:
        return made
    doubt = "Where the power log is on this time axis is in doubt."
    return replace(made, confidence=Confidence.LIKELY, doubt=_sentences(doubt, made.doubt))


def conclusion(finding: Finding, where: Stretch, cost: Cost, *, outside: bool) -> Conclusion:
    """One finding as a conclusion. `outside`: nothing was profiled there."""
    kind = _kind(finding)
    return Conclusion(
        kind=kind,
        sentence=_sentence(finding, kind, outside=outside),
        short=_short(finding, kind),
        confidence=_CONFIDENCE[finding.badge],
        evidence=_evidence(finding, kind),
        cost=cost,
        stretch=where,
        next=_next(kind, outside=outside),
        doubt=_doubt(finding),
        finding=finding,
    )


def _evidence(finding: Finding, kind: Kind) -> Evidence:
    """Of slow steps the ops that ran longer; of power its finding."""
    if kind is Kind.SLOW_STEPS:
        return Evidence("step_ops", rows=tuple(op.name for op in finding.ops))
    return Evidence("findings", rows=(finding.text,))


def _cost(inquiry: Inquiry, finding: Finding, *, outside: bool) -> Cost:
    """What it costs; outside the profile no share of the profile's time or energy."""
    longer_s = _longer_s(finding)
    if longer_s is not None and longer_s < 0:
        longer_s = None  # steps that were quicker cost no time
    if outside:
        return Cost(seconds=longer_s, joules=finding.delta_joules)
    return inquiry.cost(longer_s, finding.delta_joules)


def _longer_s(finding: Finding) -> float | None:
    """Seconds that its steps took longer; None where that is too little to say."""
    longer_s = finding.delta_seconds
    length_s = (finding.end_ps - finding.start_ps) / PS_PER_S
    if longer_s is None or abs(longer_s) < _MIN_LONGER_SHARE * length_s:
        return None
    return longer_s


def _kind(finding: Finding) -> Kind:
    if LIMIT in finding.witnesses:
        return Kind.THROTTLING
    return Kind.POWER if finding.kind == "power" else Kind.SLOW_STEPS


def _sentence(finding: Finding, kind: Kind, *, outside: bool) -> str:
    if kind is Kind.THROTTLING:
        return words.sentence(plain(finding.text, 300))
    where = finding_texts.where(finding)
    where = where[:1].upper() + where[1:]
    if kind is Kind.SLOW_STEPS:
        cause = f": {_longest_op(finding)}" if _explains(finding) else _UNEXPLAINED
        against = "in the other epochs" if EPOCHS in finding.witnesses else "the steps around"
        extra = words.seconds(finding.delta_seconds or 0.0)
        return f"{where}: {extra} longer than {against}{cause}."
    explanation = _explanation(finding, outside=outside)
    return f"{where}: {_power(finding)}{explanation}.{_time_taken(finding)}"


def _time_taken(finding: Finding) -> str:
    """By how much the steps of a stretch with other power were longer; "" where none were."""
    longer_s = _longer_s(finding)
    if longer_s is None:
        return ""
    is_one = finding.step_lo is not None and finding.step_lo == finding.step_hi
    steps = "That step" if is_one else "Together these steps"
    more = "longer" if longer_s > 0 else "less"
    return f" {steps} took {words.seconds(abs(longer_s))} {more}."


def _power(finding: Finding) -> str:
    """How much more or less it drew, and for how long: "+60 W for 2.1 s (+124 J)"."""
    length_s = (finding.end_ps - finding.start_ps) / PS_PER_S
    amount = f"{words.watts(finding.delta_watts or 0.0)} for {words.seconds(length_s)}"
    if finding.delta_joules is not None:
        amount += f", {words.joules(finding.delta_joules)}"
    return amount


def _explanation(finding: Finding, *, outside: bool) -> str:
    if outside:
        return ", unlike the rest of the training; no profile shows what ran then"
    if finding.ops:
        # That it ran longer is no proof that it drew the power: a call that waits draws none.
        return f". Meanwhile {_longest_op(finding)}"
    if (finding.delta_watts or 0.0) < 0:
        return ", although the profile shows the same work as around"
    return " that nothing in the profile explains"


def _explains(finding: Finding) -> bool:
    """Whether some recorded call ran longer by a good part of what the steps took longer."""
    longer_s = max((op.more_s for op in finding.ops), default=0.0)
    return longer_s > _MIN_EXPLAINED_SHARE * (finding.delta_seconds or 0.0)


def _longest_op(finding: Finding) -> str:
    """The op that ran longer there more than any other, with what it usually takes."""
    op = _op_to_name(finding)
    subject = plain(readable_name(op.name), 80)
    verb = "run"
    if waits_for_results(op.name):
        subject = f"waiting for results ({subject})"
        verb = "happen"
    usual = f"which does not usually {verb}"
    if op.usual_s:
        usual = f"usually {words.seconds(op.usual_s)}"
    return f"{subject} took {words.seconds(op.here_s)}, {usual}"


def _op_to_name(finding: Finding) -> LongerOp:
    """The first op whose name says something and that is a good part of the difference."""
    longest = finding.ops[0]
    least_s = _MIN_EXPLAINED_SHARE * longest.more_s
    for op in finding.ops:
        if op.more_s > least_s and not says_little(op.name):
            return op
    return longest


def _short(finding: Finding, kind: Kind) -> str:
    if kind is Kind.POWER:
        return words.watts(finding.delta_watts or 0.0)
    if kind is Kind.THROTTLING:
        return "throttled"
    return f"slow steps +{words.seconds(finding.delta_seconds or 0.0)}".replace(" ms", "ms")


def _next(kind: Kind, *, outside: bool) -> str:
    if kind is Kind.THROTTLING:
        return "Raise the limit, cool better, or count these steps separately."
    if kind is Kind.SLOW_STEPS:
        return "See what took longer in these steps: page 6 of powertui RUN, then i on a step."
    if outside:
        return "Capture a profile of such a stretch: powertui capture."
    return "Ask what else ran on this machine then: other jobs, users, services."


def _doubt(finding: Finding) -> str:
    cut = finding_texts.cut_clause(finding)
    return _sentences(_doubt_of_badge(finding), words.sentence(cut) if cut else "")


def _sentences(*sentences: str) -> str:
    """Those that are there, one after the other."""
    return " ".join(filter(None, sentences))


def _doubt_of_badge(finding: Finding) -> str:
    if finding.badge is Badge.ASSUMED:
        return "The unit of the power, whose it is, or where it is on the profile, was assumed."
    if finding.badge is Badge.ESTIMATED and finding.kind == "power":
        return (
            "The watts are a model's, where the log is on the profile is an estimate, "
            "or a gap was filled."
        )
    return ""
