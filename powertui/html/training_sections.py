"""The parts of a page about a training that was never profiled: its power, its scalars."""

from __future__ import annotations

from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.logdir import RunEntry
from powertui.data.opened import Opened
from powertui.data.training import training_overview
from powertui.data.training.training import Training
from powertui.html import key_figures, power_chart
from powertui.html.conclusion_list import further_conclusions, headline
from powertui.html.document import Block, block
from powertui.html.markup import Markup, element
from powertui.html.note_list import note_list
from powertui.html.provenance import provenance
from powertui.html.result_table import table_section
from powertui.html.run_sections import PageRun, title
from powertui.report import training_page
from powertui.view import power_course


def training_blocks(training: Training, place: PageRun) -> list[Block]:
    """Everything of a training that has no session."""
    entry = training.entry
    axis = training.seen_from()
    overview = training_overview.answer(axis)
    # It has no profile, so that a run of no files stands for it.
    opened = Opened(
        RunEntry(entry.name, entry.path),
        training.options,
        around=training,
    )
    conclusions = run_conclusions(opened, place.aligning)
    figures = key_figures.key_figures(overview.facts)
    begin = next((str(fact.value) for fact in overview.facts if fact.id == "from"), "")
    head = element(
        "header",
        title(entry.name, begin, place),
        headline(conclusions, "h2"),
        figures,
    )
    rows = [("training", line) for line in training_page.description(training, axis)]
    blocks = [
        Block(head, entry.name, essential=True),
        *block(further_conclusions(conclusions), "findings"),
        *block(_power(training), "power"),
    ]
    for table in overview.tables:
        blocks += block(table_section(table, max_rows=24), table.title)
    blocks += block(note_list(place.notes), "notes")
    return blocks + block(provenance(rows, overview.notes), "sources")


def _power(training: Training) -> Markup | None:
    course = power_course.of_training(training)
    if course is None:
        return None
    return power_chart.power_chart(course)
