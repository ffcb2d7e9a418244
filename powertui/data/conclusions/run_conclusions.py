"""The conclusions of a run: every maker asked, ranked, each once. Worked out once for a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from powertui.data.asked import Aligning
from powertui.data.conclusions import KEPT_AS
from powertui.data.conclusions.conclusion import Conclusion, Conclusions
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.makers import (
    clocks,
    incomplete,
    long_epochs,
    memory,
    precision,
    shared_cores,
    slower_machine,
    stragglers,
    stretches,
    wall_time,
)
from powertui.data.conclusions.ranking import ranked
from powertui.data.conclusions.words import sentence
from powertui.data.energy import account
from powertui.data.opened import Opened
from powertui.data.training.training import Training

_Maker = Callable[[Inquiry], Iterable[Conclusion]]

# Whoever finds a further cause adds its maker here.
_MAKERS: tuple[_Maker, ...] = (
    wall_time.wall_time_causes,
    stragglers.late_to_collectives,
    stragglers.straggling_hosts,
    stragglers.straggling_devices,
    memory.memory_pressure,
    slower_machine.slower_machine,
    shared_cores.shared_cores,
    stretches.unusual_stretches,
    long_epochs.long_epochs,
    clocks.doubtful_clocks,
    precision.single_precision,
    precision.eager_ops,
)


def run_conclusions(opened: Opened, aligning: Aligning | None = None) -> Conclusions:
    """What to conclude from a run, the most important first."""
    how = aligning or Aligning()
    return opened.cached((KEPT_AS, how), lambda: _make(opened, how))


def smaller_conclusions(opened: Opened, aligning: Aligning | None) -> tuple[Conclusion, ...]:
    """The differences that are too small to matter, looked up when somebody asks."""
    inquiry = Inquiry.of_run(opened, aligning or Aligning())
    if incomplete.incomplete_profile(inquiry) is not None:
        return ()
    return tuple(stretches.smaller_differences(inquiry))


def _make(opened: Opened, aligning: Aligning) -> Conclusions:
    if not opened.profiles:
        return _without_profile(opened, aligning)
    inquiry = Inquiry.of_run(opened, aligning)
    missing = incomplete.incomplete_profile(inquiry)
    if missing is not None:  # every other maker but the clocks' goes by what was recorded
        return Conclusions((missing, *clocks.doubtful_clocks(inquiry)), "")
    made = (conclusion for maker in _MAKERS for conclusion in maker(inquiry))
    conclusions = incomplete.without_nameless(inquiry, made)
    listed = (*ranked(conclusions), *incomplete.incomplete_hosts(inquiry))
    return Conclusions(listed, _looked_at(inquiry))


def _missing_profile(opened: Opened) -> str:
    """Why there is none: it was never taken, or its file cannot be read."""
    files = {profile.path for profile in opened.entry.profiles}
    for warning in opened.run.warnings:
        if warning.file in files:
            cause = warning.cause.partition(". ")[0].rstrip(".")
            return f"No profile could be read ({Path(warning.file).name}: {cause})"
    return "There is no profile"


def _without_profile(opened: Opened, aligning: Aligning) -> Conclusions:
    """What the power of a training shows that was never profiled."""
    training = opened.around
    logs = opened.run.power
    if isinstance(training, Training):
        logs = training.logs.power
        has_records = bool(training.entry.tfevents)
    else:
        has_records = bool(opened.entry.tfevents)
    if logs and not has_records and not opened.entry.profiles:
        from powertui.data.energy import logs_alone

        return Conclusions((), logs_alone.headline(logs))
    if not isinstance(training, Training) or not logs:
        missing = _missing_profile(opened)
        return Conclusions((), f"{missing}: nothing shows what limits the run.")
    from powertui.data.conclusions.makers import unprofiled
    from powertui.data.training.training_energy import training_energy

    energy = training_energy(training.seen_from(None, aligning))
    missing = _missing_profile(opened)
    looked_at = f"Nothing unusual: looked at the power of the training. {missing}."
    if energy.findings.reason:
        looked_at = sentence(f"{missing}; the power alone: {energy.findings.reason}")
    conclusions = [
        *unprofiled.unprofiled_stretches(energy),
        *long_epochs.long_training_epochs(energy),
        *clocks.doubtful_training_clocks(energy),
    ]
    return Conclusions(ranked(conclusions), looked_at)


def _looked_at(inquiry: Inquiry) -> str:
    """What was looked at, for a run of which there is nothing to say."""
    parts = ["what a step's time is made of", "slow steps"] if len(inquiry.steps) else ["ops"]
    if len(inquiry.profiles) > 1:
        parts.append("hosts that make others wait")
    every = (account.findings(profile, inquiry.question.aligning) for profile in inquiry.profiles)
    if inquiry.opened.run.power and any(findings.against is not None for findings in every):
        parts.append("power that nothing explains")
    return f"Nothing unusual: looked at {', '.join(parts)}."
