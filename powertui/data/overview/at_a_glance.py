"""What everybody asks of a run first, as a few short facts: does it wait for input, what drew more
than expected, and what its epochs, its profile and a step drew.
"""

from __future__ import annotations

from powertui.data.asked import Aligning
from powertui.data.conclusions import GLANCE_KEPT_AS
from powertui.data.conclusions.conclusion import Conclusion, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.conclusions.words import joules, percent, seconds, watts
from powertui.data.energy import account
from powertui.data.energy.findings import finding_texts
from powertui.data.energy.findings.finding import Finding
from powertui.data.opened import Opened
from powertui.data.overview import overview_facts
from powertui.data.table import Fact
from powertui.data.tools import wall_time
from powertui.data.tools.activity import ActivityKind
from powertui.value_types import dataclass

_NO_POWER = "no power log"
_CANNOT_TELL = "cannot tell"
_NOT_KNOWN = "not known: "  # before the reason in what could have been found
_NOTHING_UNEXPLAINED = "nothing unexplained"


@dataclass(frozen=True)
class Glance:
    """The facts of one host's profile, or of all hosts together where there are several."""

    input: str  # "22 % of a step"
    drew_more: tuple[str, ...]  # each in one line: how much, then where
    energy: tuple[Fact, ...]  # as page 1 has them: the profile, a step, a sample, the epochs


def at_a_glance(opened: Opened, aligning: Aligning) -> Glance | None:
    """None without a profile: the power alone is told beside its own chart."""
    if not opened.profiles:
        return None
    return opened.cached((GLANCE_KEPT_AS, aligning), lambda: _glance(opened, aligning))


def _glance(opened: Opened, aligning: Aligning) -> Glance:
    inquiry = Inquiry.of_run(opened, aligning)
    conclusions = run_conclusions(opened, aligning).items
    host_account = None
    if len(opened.profiles) == 1:
        host_account = account.energy_account(opened.profiles[0], aligning)
    energy: tuple[Fact, ...] = ()
    if opened.run.power:
        energy = tuple(overview_facts.energy(inquiry.question, host_account))
    return Glance(
        input=_input(inquiry, conclusions),
        drew_more=_drew_more(inquiry, conclusions),
        energy=energy,
    )


# ── input ────────────────────────────────────────────────────────────────────────────────────────


def _input(inquiry: Inquiry, conclusions: tuple[Conclusion, ...]) -> str:
    """How much of what the program waits for its input, by the rule of the sentences: of a step
    where its parts are told, else of the time.
    """
    for conclusion in conclusions:
        if conclusion.kind is Kind.INPUT and conclusion.stretch is None:
            cost = conclusion.cost
            if cost.step_share is not None:
                return f"{percent(cost.step_share)} of a step"
            return f"{percent(cost.share or 0.0)} of the time"
    if inquiry.steps.has_device and inquiry.shares is not None:
        return _share_or_none(inquiry.shares.input, "a step")
    account_of_time = wall_time.wall_time(inquiry.profile)
    waiting_ps = account_of_time.timeline[ActivityKind.INPUT].length
    return _share_or_none(waiting_ps / max(1, account_of_time.length), "the time")


def _share_or_none(share: float, whole: str) -> str:
    return f"{percent(share)} of {whole}" if share > 0 else "none recorded"


# ── power ────────────────────────────────────────────────────────────────────────────────────────


def _drew_more(inquiry: Inquiry, conclusions: tuple[Conclusion, ...]) -> tuple[str, ...]:
    """Each stretch that drew more or less than expected, the costliest first."""
    if not inquiry.opened.run.power:
        return (_NO_POWER,)
    lines = []
    for conclusion in conclusions:
        finding = conclusion.finding
        if conclusion.kind is Kind.POWER and finding is not None:
            lines.append(f"{_amount(finding)}: {finding_texts.short_where(finding)}")
    if lines:
        return tuple(lines)
    aligning = inquiry.question.aligning
    accounts = [account.energy_account(profile, aligning) for profile in inquiry.profiles]
    if not any(host_account.counted for host_account in accounts):
        return (f"{_CANNOT_TELL}: whose power it is is not known",)
    why = ""
    for profile in inquiry.profiles:
        findings = account.findings(profile, aligning)
        if findings.against is not None and findings.limits:
            limit = findings.limits[0]
            length = seconds(limit.seconds)
            return (f"{_NOTHING_UNEXPLAINED}; {watts(limit.watts)} for {length} would show",)
        # "What could have been found is not known: the log may be anywhere within ± 2 s; …"
        why = findings.could.partition(_NOT_KNOWN)[2].partition(";")[0] or why
    return (f"{_CANNOT_TELL}: {why}" if why else _CANNOT_TELL,)


def _amount(finding: Finding) -> str:
    amount = watts(finding.delta_watts or 0.0)
    if finding.delta_joules is not None:
        amount += f", {joules(finding.delta_joules)}"
    return amount
