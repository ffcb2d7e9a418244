"""The conclusions of a run as facts of its first page."""

from __future__ import annotations

from powertui.data.conclusions.conclusion import Conclusion, Conclusions, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.makers import incomplete, step_parts
from powertui.data.conclusions.ranking import ranked
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy import account
from powertui.data.energy.findings.finding import Finding
from powertui.data.table import Fact
from powertui.data.tools.registry import Question

_MAX_LISTED = 5  # conclusions on the first page: page 3 has them all. Chosen, not measured.
_LABELS = {Kind.STRAGGLER: "straggler", Kind.POWER: "found", Kind.SLOW_STEPS: "found"}


def facts(question: Question) -> list[Fact]:
    """The first conclusions in their order, how many more there are, and what could be found."""
    return conclusion_facts(_asked(question)) + _detection_limit(question)


def conclusion_facts(conclusions: Conclusions) -> list[Fact]:
    """The first conclusions in their order, and how many more there are."""
    ids: set[str] = set()
    facts = []
    for conclusion in conclusions.items[:_MAX_LISTED]:
        id = _id(conclusion, ids)
        ids.add(id)
        label = "what limits it" if id == "limit" else _LABELS.get(conclusion.kind, "also")
        badge = conclusion.finding.badge if conclusion.finding is not None else None
        facts.append(
            Fact(
                id=id,
                label=label,
                value=conclusion.sentence,
                badge=badge,
                why=conclusion.next,
            )
        )
    if not facts:
        facts.append(
            Fact(
                id="limit",
                label="what limits it",
                value=_nothing(conclusions),
            )
        )
    further = len(conclusions) - _MAX_LISTED
    if further > 0:
        facts.append(
            Fact(
                id="further_findings",
                label="further conclusions",
                value=further,
                kind="integer",
            )
        )
    return facts


def findings_of_host(question: Question) -> list[Finding]:
    """What was found in the power of the host that the page is about."""
    if question.together:
        return []
    findings = []
    for conclusion in _asked(question):
        stretch = conclusion.stretch
        is_of_host = stretch is None or stretch.host == question.host
        if conclusion.finding is not None and is_of_host:
            findings.append(conclusion.finding)
    return findings


def _asked(question: Question) -> Conclusions:
    """Those of the run; of a window, or by other rules, what its steps are made of."""
    if question.is_of_all_time and question.compat == "corrected":
        return run_conclusions(question.opened, question.aligning)
    inquiry = Inquiry(question)
    missing = incomplete.incomplete_profile(inquiry)
    if missing is not None:
        return Conclusions((missing,), "")
    return Conclusions(ranked(step_parts.step_parts(inquiry)), "")


def _id(conclusion: Conclusion, earlier_ids: set[str]) -> str:
    """What the fact is called in the JSON.

    "limit" is the first conclusion that is neither a straggler nor a finding: those have ids of
    their own, and may come before it.
    """
    if conclusion.kind is Kind.STRAGGLER:
        beginning = "straggler"
    elif conclusion.finding is not None:
        beginning = "finding"
    elif "limit" not in earlier_ids:
        return "limit"
    else:
        beginning = "conclusion"
    number = 1 + sum(id.startswith(beginning) for id in earlier_ids)
    return f"{beginning}_{number}"


def _nothing(conclusions: Conclusions) -> str:
    return conclusions.looked_at or "What limits this run is not known: no step was measured."


def _detection_limit(question: Question) -> list[Fact]:
    """What could have been found in the power, where somebody logged it."""
    if question.together or not question.opened.run.power:
        return []
    if not account.energy_account(question.profile, question.aligning).counted:
        return []
    could = account.findings(question.profile, question.aligning).could
    return [Fact(id="could_find", label="detection limit", value=could)] if could else []
