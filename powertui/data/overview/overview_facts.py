"""The figures on the first page of a run: its steps, and its joules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.conclusions.makers import step_parts
from powertui.data.energy import host_energy
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.tables import joules_fact, no_joules_fact
from powertui.data.energy.trace_account import Account, EpochEnergy
from powertui.data.model import worst_badge
from powertui.data.table import Fact, if_missing
from powertui.data.tools import environment, hosts, shares, top_ops
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.registry import Question
from powertui.data.tools.shares import Shares


def performance(steps: Breakdown, step_shares: Shares | None) -> list[Fact]:
    """How long a step takes, and what share of it each kind of work takes."""
    # Steps that trace or compile would hide what all others are like.
    usual = steps.usual()
    times = shares.spread(usual.length)
    if times is None or step_shares is None:
        return [
            Fact(
                id="steps",
                label="steps",
                value=0,
                kind="integer",
            )
        ]
    deviation = None if times.deviation is None else round(times.deviation)
    why = if_missing(deviation, "one step has none")
    facts = [
        Fact("steps", "steps", len(steps), "integer", why=_left_out(len(steps) - len(usual))),
        Fact("step_time_usual_s", "median step", round(times.usual), "duration", why="the median"),
        Fact("step_time_s", "step time", round(times.mean), "duration"),
        Fact("step_time_deviation_s", "its deviation", deviation, "duration", why=why),
        Fact("step_time_min_s", "shortest", times.least, "duration"),
        Fact("step_time_max_s", "longest", times.most, "duration"),
    ]
    # A device shows its idle time itself; of a host it is what nothing explains.
    of_device = [
        ("device_compute_share", "device compute", step_shares.compute),
        ("collectives_share", "collectives", step_shares.collectives),
        ("device_idle_share", "device idle", step_shares.idle),
    ]
    of_host = [("host_idle_share", "host idle", step_shares.other)]
    on_host = step_shares.host + step_shares.python  # one category in the table of a step
    parts = [
        ("input_share", "waiting for input", step_shares.input),
        ("output_share", "output", step_shares.output),
        *(of_device if steps.has_device else of_host),
        ("host_compute_share", "host compute", on_host),
        ("other_share", "all others", step_shares.other),
    ]
    return facts + [
        Fact(
            id=id,
            label=label,
            value=share,
            kind="share",
        )
        for id, label, share in parts
    ]


def _left_out(count: int) -> str:
    """How many steps the figures below leave out."""
    if not count:
        return ""
    which = "1 that traces or compiles" if count == 1 else f"{count:,} that trace or compile"
    return f"{which} left out"


def precision(step_shares: Shares | None) -> list[Fact]:
    """How much of the devices' compute is in 16 and in 32 bit."""
    if step_shares is None or step_shares.half is None:
        return []
    half = step_shares.half
    return [
        Fact(
            id="device_compute_16bit_share",
            label="device compute in 16 bit",
            value=half,
            kind="share",
        ),
        Fact(
            id="device_compute_32bit_share",
            label="in 32 bit",
            value=1 - half,
            kind="share",
        ),
    ]


def sides(question: Question) -> list[Fact]:
    """The share of ops on the host and on devices."""
    parts = top_ops.sides(question.parts, question.compat)
    rows = (
        ("host_tf_op_share", "ops on the host", parts.host),
        ("device_tf_op_share", "ops on devices", parts.device),
        ("host_op_time_eager_share", "eager on the host", parts.host_eager),
        ("device_op_time_eager_share", "eager on devices", parts.device_eager),
    )
    return [
        Fact(
            id=id,
            label=label,
            value=share,
            kind="share",
        )
        for id, label, share in rows
        if share is not None
    ]


# ── joules ───────────────────────────────────────────────────────────────────────────────────────


def energy(question: Question, host_account: Account | None) -> list[Fact]:
    """Joules of one host; of all hosts where no account of one is given."""
    if host_account is None:
        return _energy_of_all_hosts(question)
    if not host_account.counted:
        if not host_account.elsewhere:
            return []
        why = host_account.apart
        return [
            Fact(
                id="energy",
                label="energy of the profile",
                value=None,
                kind="number",
                unit="J",
                why=why,
            )
        ]
    return [*_energy_of_host(question, host_account), *_epochs(host_account)]


def _energy_of_host(question: Question, host_account: Account) -> list[Fact]:
    """Joules of the window or profile, of a step, of a sample."""
    if question.lo is not None or question.hi is not None:
        measured = host_account.of_window(*question.window)
        facts = [_energy("energy", "energy of the window", measured)]
    else:
        measured = host_account.energy(*host_account.trace.span)
        of_profile = _energy("energy", "energy of the profile", measured)
        if _epochs_reach_beyond(host_account, of_profile):
            of_profile = replace(of_profile, why="the epochs reach beyond it")
        facts = [of_profile]
    # Energy of the whole stretch by the count of steps: edges do not add up.
    per_step = host_account.per_step(None)
    facts.append(_energy("step_joules", "energy of a step", per_step))
    batch = environment.batch_size(question.profile)
    if batch and per_step is not None and per_step.resolved:
        facts.append(_energy("sample_joules", "energy of a sample", per_step, batch))
    return facts


def _epochs_reach_beyond(host_account: Account, of_profile: Fact) -> bool:
    """Whether the epochs drew more than the profile's whole time did: their ends lie outside it."""
    if of_profile.hi is None:
        return False
    joules = 0.0
    for epoch in host_account.epoch_energies:
        if epoch.energy is not None and epoch.energy.joules is not None:
            joules += epoch.energy.joules
    return joules > of_profile.hi


def _energy_of_all_hosts(question: Question) -> list[Fact]:
    """What all hosts drew over their profiles, where each is known."""
    run_energy = host_energy.run_energy(question.opened, question.aligning)
    if all(host is None for host in run_energy.energies):
        return []
    if run_energy.missing:
        why = f"not known of {', '.join(run_energy.missing)}"
        return [
            Fact(
                id="energy",
                label="energy of all hosts",
                value=None,
                kind="number",
                unit="J",
                why=why,
            )
        ]
    if run_energy.total is None:
        return [
            Fact(
                id="energy",
                label="energy of all hosts",
                value=None,
                kind="number",
                unit="J",
                why="no power",
            )
        ]
    return [_energy("energy", "energy of all hosts", run_energy.total)]


def _epochs(host_account: Account) -> list[Fact]:
    """The joules of each epoch, and by how much those of the last differ from the first's."""
    epochs = host_account.epoch_energies
    facts = [
        _energy(f"epoch_{epoch.number}_joules", f"epoch {epoch.number}", epoch.energy)
        for epoch in epochs
    ]
    resolved = [epoch for epoch in epochs if epoch.energy is not None and epoch.energy.resolved]
    if len(resolved) < 2:
        return facts
    first = resolved[0]
    last = resolved[-1]
    step_epochs = host_account.steps.epoch
    # Epochs of different lengths differ in energy without any cause.
    same_steps = (step_epochs == first.index).sum() == (step_epochs == last.index).sum()
    return facts + _epoch_difference(first, last) if same_steps else facts


def _epoch_difference(first: EpochEnergy, last: EpochEnergy) -> list[Fact]:
    """By how much the energy of two epochs differs; nothing where one has no interval."""
    before = first.energy
    after = last.energy
    assert before is not None
    assert after is not None
    if before.interval is None or after.interval is None:
        return []
    # Errors of two epochs are independent.
    half = float(np.hypot(before.interval.half, after.interval.half))
    more = float(after.interval.joules - before.interval.joules)
    return [
        Fact(
            id="epoch_difference_joules",
            label=f"epoch {last.number} less epoch {first.number}",
            value=more,
            kind="number",
            unit="J",
            badge=worst_badge((before.badge, after.badge)),
            lo=more - half,
            hi=more + half,
            why=f"{after.duration_s - before.duration_s:+.2f} s",
            signed=True,
        )
    ]


def _energy(id: str, label: str, measured: Energy | None, parts: int = 1) -> Fact:
    """The joules of one of so many equal parts of an energy; why not, where it is not resolved."""
    if measured is None:
        return no_joules_fact(id, label, "no power")
    if not measured.resolved or measured.joules is None:
        why = f"not resolved: {measured.reason.removeprefix('not resolved: ')}"
        return no_joules_fact(id, label, why)
    return joules_fact(id, label, measured, parts)


# ── all hosts ────────────────────────────────────────────────────────────────────────────────────


def step_of_all_hosts(question: Question) -> list[Fact]:
    """The run's step over all hosts."""
    common = hosts.together(question.opened, question.compat)
    if common is None:
        return []
    times = shares.spread(common.combined().length)
    assert times is not None
    why = f"{common.count:,} steps of {len(common.hosts)} hosts, each as long as the longest"
    return [
        Fact(
            id="run_step_time_s",
            label="step of all hosts",
            value=round(times.mean),
            kind="duration",
            why=why,
        )
    ]


def step_with_work(question: Question) -> list[Fact]:
    """How long a step takes with its work, where steps are dispatched ahead."""
    if not question.profile.steps.asynchronous or question.compat != "corrected":
        return []
    mean_ps, count = step_parts.step_with_work(question.profile)
    if not mean_ps:
        return []
    why = f"from the first of {count} steps to the end of their work"
    return [
        Fact(
            id="step_work_s",
            label="step with its work",
            value=round(mean_ps),
            kind="duration",
            why=why,
        )
    ]
