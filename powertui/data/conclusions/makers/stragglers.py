"""Hosts, or devices of one host, that hold the others up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from powertui import units
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Evidence, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.words import percent, whole_percent
from powertui.data.tools import hosts
from powertui.data.tools.hosts import Straggler
from powertui.plain import plain

_MAX_STRAGGLERS = 3  # that have a sentence of their own


def straggling_hosts(inquiry: Inquiry) -> Iterator[Conclusion]:
    """The hosts whose steps take longer than those of the others."""
    common = hosts.together(inquiry.opened, inquiry.question.compat)
    if common is None:
        return
    comparison = common.comparison()
    slow_hosts = comparison.stragglers()
    # Of a rank that comes late to collectives, those say more: what the others waited, and why.
    from powertui.data.conclusions.makers import late_ranks  # only of several hosts

    late_hosts = set(late_ranks.late_hosts(inquiry))
    slow_hosts = [host for host in slow_hosts if common.hosts[host.member] not in late_hosts]
    for host in slow_hosts[:_MAX_STRAGGLERS]:
        names = common.steps[host.member].names
        rows = common.rows[host.member]
        worst = [names[int(rows[step])] for step in host.worst]
        yield _conclusion(
            inquiry=inquiry,
            straggler=host,
            name=common.hosts[host.member],
            count=len(comparison.steps),
            worst=worst,
        )


def late_to_collectives(inquiry: Inquiry) -> Iterator[Conclusion]:
    """The ranks that come to collectives later than the others, beyond noise."""
    if len(inquiry.profiles) < 2:
        return
    from powertui.data.conclusions.makers import late_ranks  # only of several hosts

    yield from late_ranks.late_to_collectives(inquiry)


def straggling_devices(inquiry: Inquiry) -> Iterator[Conclusion]:
    """The devices of one host that work longer than the others."""
    if len(inquiry.profiles) > 1:
        return
    steps = inquiry.profile.steps
    by_device = hosts.devices(steps)
    if by_device is None:
        return
    names, rows, work = by_device
    for device in hosts.stragglers(work)[:_MAX_STRAGGLERS]:
        worst = [steps.names[int(rows[step])] for step in device.worst]
        yield _conclusion(
            inquiry=inquiry,
            straggler=device,
            name=names[device.member],
            count=len(rows),
            worst=worst,
        )


def _conclusion(
    inquiry: Inquiry,
    straggler: Straggler,
    name: str,
    count: int,
    worst: Sequence[str],
) -> Conclusion:
    excess = units.duration(round(straggler.excess), 3)
    words = (
        f"{plain(name, 80)} takes {excess} a step longer than the others "
        f"({percent(straggler.share)}) and is the slowest in {straggler.slowest:,} of "
        f"{count:,} steps"
    )
    if any(worst):
        words += f", most of all in {', '.join(plain(step, 40) for step in worst)}"
    return Conclusion(
        kind=Kind.STRAGGLER,
        sentence=f"{words}.",
        short=f"straggler {whole_percent(straggler.share)}",
        confidence=Confidence.SURE,
        evidence=Evidence("overview_page", "the hosts side by side", (name,)),
        cost=inquiry.cost_of_time(straggler.excess * count),
        next="See what runs on it beside the training: its input, other jobs, clocks, temperature.",
    )
