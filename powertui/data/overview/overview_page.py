"""The first page of a run: what to conclude from it; its steps by categories, its ops, where it
ran, its joules.

TensorBoard's overview page with what a person asks besides. Every part comes from where it is
worked out: the conclusions, the breakdown of steps, the op table, the account of energy.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from powertui.data.conclusions.makers import device_copies
from powertui.data.energy import account
from powertui.data.overview import (
    input_page,
    overview_advice,
    overview_conclusions,
    overview_facts,
    overview_tables,
)
from powertui.data.table import Chart, Fact, Result
from powertui.data.tools import (
    advice,
    device_facts,
    environment,
    hosts,
    shares,
    step_time_parts,
    top_ops,
    utilisation,
)
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.registry import Question


def _charts(question: Question, steps: Breakdown) -> tuple[Chart, ...]:
    """The steps by category, and where one host is asked for its own figures by kind of work."""
    charts = overview_tables.charts(steps, overview_conclusions.findings_of_host(question))
    if question.together or not charts:
        return charts
    parts = step_time_parts.step_time_parts(question.profile, steps)
    if parts is None:
        return charts
    return (*charts, overview_tables.by_kind(charts[0], steps, parts))


def answer(question: Question) -> Result:
    """The page, of the whole profile or of the steps that touch the window."""
    profile = question.profile
    # Neither needs the other, and numpy lets both run at once.
    with ThreadPoolExecutor(1) as beside:
        top_ops_later = beside.submit(top_ops.top_ops, question.parts, question.compat)
        steps = hosts.steps_in_window(question)
        tops = top_ops_later.result()
    step_shares = shares.step_shares(steps)
    if step_shares is not None:
        step_shares = device_copies.with_copies(question, steps, step_shares).shares
    host_account = None
    if not question.together:
        host_account = account.energy_account(profile, question.aligning)
    advice_rows = overview_advice.matching_advice(question, steps, step_shares, tops)
    bound, why_bound = input_page.input_verdict(question, step_shares)
    any_device = any(device_facts.has_device(profile.trace) for profile, _, _ in question.parts)
    facts = (
        *overview_conclusions.facts(question),
        Fact(
            id="bottleneck",
            label="input",
            value=bound,
            why=why_bound,
        ),
        *overview_facts.performance(steps, step_shares),
        *overview_facts.step_of_all_hosts(question),
        *overview_facts.step_with_work(question),
        *overview_facts.energy(question, host_account),
        *utilisation.facts(utilisation.of_question(question)),
        *overview_facts.precision(step_shares),
        *overview_facts.sides(question),
        *environment.facts(question.opened, profile),
    )
    if why_bound != advice.bound_by_input(step_shares)[1]:
        facts = input_page.of_steps_alone(facts)
    tables = (
        overview_tables.summary(steps),
        # TensorBoard has no such table of the host's ops, and its own of the devices' ops.
        overview_tables.ops(
            tops if any_device else top_ops.of_all_replicas(tops), device=any_device
        ),
        overview_tables.recommendations(advice_rows),
        *overview_tables.hosts_side_by_side(question),
        *overview_tables.tpu(question),
        *overview_tables.host_threads(question),
        overview_tables.diagnostics(overview_advice.diagnostics(question, steps)),
        overview_tables.steps(question, steps, host_account),
    )
    return Result(
        id="overview_page",
        title="Overview",
        tables=tables,
        facts=facts,
        charts=_charts(question, steps),
        notes=(*steps.notes, *overview_advice.notes(question, steps)),
        mode=question.compat,
    )
