"""powertui's own words, with the pages on which they appear. The help page and docs/glossary.md are
both made from this table.

Words that users of TensorBoard or Perfetto know (process, thread, stream, counter) are not
explained here.
"""

from __future__ import annotations

from powertui.data.energy import badges
from powertui.data.model import Badge
from powertui.value_types import dataclass

EVERYWHERE = "*"


@dataclass(frozen=True)
class Term:
    """A word and what it means here."""

    word: str
    meaning: str
    pages: tuple[str, ...]  # names of screens, or EVERYWHERE

    def appears_on(self, page: str) -> bool:
        return page in self.pages or EVERYWHERE in self.pages


# Screens with words of their own. Pages of one tool (Ops, Steps, Tools) share those of "tool".
PAGES = ("overview", "timeline", "symmetry", "alignment", "open", "live", "tool")
_POWER = PAGES

TERMS: tuple[Term, ...] = (
    Term(
        "aligned",
        "of a power log: its place on the time axis is known to within its interval; ambiguous: it "
        "fits at several places, and joules are computed over all of them",
        ("timeline", "alignment", "open"),
    ),
    Term("assumed", badges.MEANING[Badge.ASSUMED], _POWER),
    Term(
        "averaging window",
        "the stretch of time of which one reading is the mean",
        ("alignment", "tool"),
    ),
    Term(
        "busy",
        "the share of time in which a device or thread runs an event",
        ("overview", "timeline", "tool"),
    ),
    Term(
        "cannot tell",
        "readings do not say whether the log's clock is right, and it is believed as far as its "
        "kind; of a comparison: the difference may be chance",
        ("timeline", "alignment", "open", "compare"),
    ),
    Term(
        "channel",
        "one column of a power log: one sensor of one machine or device",
        ("timeline", "alignment", "live"),
    ),
    Term(
        "clock",
        "what ties the profile's own time, or the log's, to the time of day, and how well; "
        "corrected: readings show by how much the log's is wrong, and its times were moved",
        ("timeline", "alignment", "open"),
    ),
    Term(
        "conclusion",
        "a sentence on what costs the run time or energy, with how sure it is and what to do",
        ("overview", "timeline", "symmetry", "open"),
    ),
    Term(
        "counter",
        "a sensor that counts joules; the energy between two readings is exact",
        ("timeline", "alignment", "live"),
    ),
    Term(
        "coverage",
        "the share of a window for which readings exist; over a gap, a stretch without readings, "
        "nothing is drawn",
        ("overview", "timeline", "alignment", "live", "tool"),
    ),
    Term(
        "epoch",
        "one pass over the training data, as the scalars or the steps show it",
        ("overview", "timeline", "symmetry", "tool"),
    ),
    Term("estimated", badges.MEANING[Badge.ESTIMATED], _POWER),
    Term(
        "finding",
        "a stretch that drew more or less power than the trace or other epochs explain; a smaller "
        "difference is too small or too unsure to be one",
        ("overview", "timeline", "symmetry"),
    ),
    Term(
        "foreign load",
        "power drawn by something that is not in the profile",
        ("overview", "timeline", "symmetry"),
    ),
    Term(
        "gain",
        "how far a sensor's scale may be off, in percent; it shifts all joules alike",
        ("alignment", "tool"),
    ),
    Term(
        "in turns",
        "of a comparison: runs of A and B recorded one after the other, A B A B, so that a slow "
        "drift of the machine affects both alike",
        ("compare",),
    ),
    Term(
        "interval", "the range that holds the true value in 95 of 100 cases, written as ±", _POWER
    ),
    Term(
        "kind of work",
        "what an event does: compute, copy, collective, input, compile, wait and others",
        ("overview", "timeline", "tool"),
    ),
    Term(
        "launch delay",
        "the time from the dispatch of a kernel, where the host hands it to a device, to its start "
        "there",
        ("timeline", "tool"),
    ),
    Term(
        "main log",
        "the power log that is shown and added up first when a run has several",
        ("timeline", "alignment"),
    ),
    Term(
        "mark",
        "a moment with a name in a recording, a power log that powertui wrote",
        ("timeline", "live", "open"),
    ),
    Term("measured", badges.MEANING[Badge.MEASURED], _POWER),
    Term("not resolved", badges.NOT_RESOLVED, _POWER),
    Term(
        "pause",
        "a stretch of the training without steps, such as saving a checkpoint",
        ("overview", "timeline", "symmetry"),
    ),
    Term(
        "pin",
        "a point at which a person fixed the power log on the timeline",
        ("timeline", "alignment"),
    ),
    Term("reading", "one value of one channel, with its time", _POWER),
    Term(
        "refresh",
        "how often a sensor has a new value, however often it is asked (polled)",
        ("alignment", "live", "tool"),
    ),
    Term("relative log", "a power log with elapsed time and no time of day", ("alignment", "open")),
    Term(
        "run",
        "one row of the list: a training, a profile session, or a power log alone",
        (EVERYWHERE,),
    ),
    Term(
        "run to run",
        "of a comparison: an interval made of how much the runs of one side differ; within-run "
        "only: made of the drift of one run a side, which says nothing of further runs",
        ("compare",),
    ),
    Term(
        "scope",
        "what a channel measures: the whole machine, a processor, memory or a GPU",
        ("timeline", "alignment", "live"),
    ),
    Term(
        "self time",
        "the time of an event without the events inside it",
        ("overview", "timeline", "tool"),
    ),
    Term("simulated", badges.MEANING[Badge.SIMULATED], _POWER),
    Term(
        "step",
        "one batch of the training, from its mark to the next; median step: the middle one, by "
        "length, of those like it; undisturbed step: one that nothing slowed",
        ("overview", "timeline", "symmetry", "tool", "compare"),
    ),
    Term(
        "straggler", "the host whose steps take longest when several train together", ("overview",)
    ),
    Term(
        "strip",
        "a row of the timeline that shows a value over time: power, a loss, the step rate",
        ("timeline",),
    ),
    Term(
        "training",
        "all that one program did, on one axis: scalars, power and its sessions, one for each time "
        "that it was profiled; in between it is not profiled",
        ("timeline", "open"),
    ),
    Term(
        "window",
        "the marked stretch; tables, joules and exports are of exactly this",
        ("timeline", "tool"),
    ),
    Term(
        "within noise",
        "of a comparison: no difference shows, and one of 5 % would have shown",
        ("compare",),
    ),
    Term(
        "wrapper",
        "an event that only contains or waits for other events; it is hidden until x",
        ("overview", "timeline", "tool"),
    ),
)


def terms_of(page: str) -> list[Term]:
    """The words of one page, those of every page included."""
    return [term for term in TERMS if term.appears_on(page)]


def markdown() -> str:
    """The table of docs/glossary.md."""
    lines = ["| word | meaning |", "| --- | --- |"]
    lines += [f"| **{term.word}** | {term.meaning} |" for term in TERMS]
    return "\n".join(lines)
