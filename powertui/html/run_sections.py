"""The parts of a page that are about one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from powertui.data.asked import Aligning
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy import host_energy, tables
from powertui.data.opened import Opened
from powertui.data.overview.overview_advice import RULES
from powertui.data.run.steps import dispatched_step_ps
from powertui.data.table import Chart, Result, Table
from powertui.data.tools import device_facts, registry
from powertui.data.tools.registry import Question
from powertui.data.training import training_overview
from powertui.data.training.training import Training
from powertui.html import key_figures, power_chart, step_chart
from powertui.html.conclusion_list import further_conclusions, headline
from powertui.html.document import Block, block
from powertui.html.markup import Markup, element, optional
from powertui.html.note_list import ShownNote, note_list
from powertui.html.provenance import provenance, run_provenance
from powertui.html.result_table import table_section
from powertui.report import run_page, training_page
from powertui.report.facts import Facts
from powertui.value_types import dataclass
from powertui.view import power_course

_MAX_CHARTED_HOSTS = 4  # whose power has a chart; chosen by looking at pages
_SLOWEST_STEPS = 10
_OVERVIEW_TABLES = ("summary", "top_ops", "hosts", "tpu_steps", "recommendations")


@dataclass(frozen=True)
class PageRun:
    """Which place a run has on its page."""

    aligning: Aligning
    anchor: str  # of its heading, where a list above leads to it
    title_level: str = "h2"  # of its name: "h1" where it is the only one
    notes: Sequence[ShownNote] = ()
    # trainings whose power is drawn already, by an earlier session: they are added to it
    charted: set[int] = field(default_factory=set)


def run_blocks(opened: Opened, facts: Facts, place: PageRun) -> list[Block]:
    """Everything of a run that has a profile."""
    conclusions = run_conclusions(opened, place.aligning)
    together = len(opened.profiles) > 1
    question = Question(opened, aligning=place.aligning, together=together)
    overview = registry.get("overview_page").answer(question)
    head = [title(facts["name"], _subtitle(facts), place), headline(conclusions, "h2")]
    figures = key_figures.key_figures(overview.facts)
    name = facts["name"]
    return [
        Block(element("header", *head, figures), name, essential=True),
        *block(further_conclusions(conclusions), "findings"),
        *block(_steps(overview), "steps"),
        *_power(opened, place),
        *_tables(question, overview),
        *block(note_list(place.notes), "notes"),
        *block(provenance(run_provenance(facts), _notes(overview)), "sources"),
    ]


def unread_blocks(facts: Facts, place: PageRun) -> list[Block]:
    """What is known of a run that could not be read, or holds no profile."""
    return [
        Block(title(facts["name"], "", place), facts["name"], essential=True),
        *block(provenance(run_provenance(facts), level=_below(place)), "sources"),
    ]


def _below(place: PageRun) -> str:
    """The level of a heading right below the name of a run."""
    return "h2" if place.title_level == "h1" else "h3"


def title(name: str, subtitle: str, place: PageRun) -> Markup:
    """The name of what follows."""
    small = optional("small", subtitle)
    return element(
        place.title_level,
        name,
        small,
        class_="eyebrow",
        id=place.anchor,
    )


def _subtitle(facts: Facts) -> str:
    """Where and when it ran."""
    hosts = facts["hosts"]
    parts = [", ".join(hosts[:3])]
    if len(hosts) > 3:
        parts[0] += f" and {len(hosts) - 3} more"
    start = run_page.start_time(facts)
    if start != "unknown":
        parts.append(start)
    return " · ".join(filter(None, parts))


def _steps(overview: Result) -> Markup | None:
    chart: Chart | None = next((row for row in overview.charts if row.id == "step_time"), None)
    if chart is None:
        return None
    return step_chart.step_chart(chart)


def _power(opened: Opened, place: PageRun) -> Iterator[Block]:
    """A chart for each machine whose power is known; of a training only with its first session."""
    if not opened.run.power:
        return
    training = opened.around
    if isinstance(training, Training):
        if id(training) in place.charted:
            return
        place.charted.add(id(training))
    for course in power_course.of_run(opened, place.aligning, _MAX_CHARTED_HOSTS):
        yield from block(power_chart.power_chart(course), "power")


def _tables(question: Question, overview: Result) -> Iterator[Block]:
    opened = question.opened
    for table in overview.tables:
        if table.id in _OVERVIEW_TABLES:
            yield from block(table_section(table, without=("page",)), table.title)
    if any(device_facts.has_device(profile.trace) for profile in opened.profiles):
        kernels = registry.get("kernel_stats").answer(question).table
        if kernels is not None:
            yield from block(table_section(kernels), kernels.title)
    yield from block(_slowest_steps(question), "slowest steps")
    for table in _energy_tables(question):
        yield from block(table_section(table, max_rows=24), table.title)


def _slowest_steps(question: Question) -> Markup | None:
    """The steps of the first host that took longest."""
    first_host = Question(question.opened, aligning=question.aligning)
    profile = first_host.profile
    # Their marks show how long asking took: the chart above has their work.
    if dispatched_step_ps(profile.trace, profile.steps) is not None:
        return None
    table = registry.get("steps").answer(first_host).table
    if table is None or len(table) < 2:
        return None
    by = "duration_s" if table["step_s"].unknown else "step_s"
    rows = table.rows_by(by, True).tolist()
    heading = "Slowest steps"
    if len(question.opened.profiles) > 1:
        heading += f", {first_host.profile.host}"
    return table_section(
        table,
        rows=rows,
        max_rows=_SLOWEST_STEPS,
        without=("end_s",),
        title=heading,
    )


def _energy_tables(question: Question) -> Iterator[Table]:
    """Joules of hosts where there are several, else of the epochs."""
    opened = question.opened
    if not opened.run.power:
        return
    if len(opened.profiles) > 1:
        energies = host_energy.run_energy(opened, question.aligning)
        yield host_energy.table(opened, energies)
        return
    training = opened.around
    if isinstance(training, Training) and training_page.deserves_page(training):
        yield training_overview.answer(training.seen_from(None, question.aligning))["windows"]
        return
    yield tables.energies(question.profile, question.aligning)


def _notes(overview: Result) -> list[str]:
    """By which rules figures are counted comes last: it is the same for every run."""
    return sorted(overview.notes, key=lambda note: note in RULES)
