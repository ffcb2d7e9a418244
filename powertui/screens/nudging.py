"""Shifting and pinning power by hand, from the timeline's keys and from the alignment page.

The energy modules are imported by the key that needs them: the first picture does not wait.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.asked import Aligning, Pins
from powertui.data.model import NS_PER_S, PS_PER_S, PowerOnTrace
from powertui.data.opened import Profile
from powertui.errors import PowertuiError

if TYPE_CHECKING:
    from powertui.screens.session import Session
    from powertui.screens.shell import Shell

_PIN_REACH_REFRESHES = 20  # how far from the cursor an edge may be (chosen, not measured)
_STEEP_SHARE = 0.5  # of the steepest jump; from there on an edge is nearly as steep (chosen)
_UNSAVED = "Kept until you quit. Start with --pins FILE to save it."


def use(shell: Shell, chosen: Aligning, *, undoing: bool = False) -> None:
    """Align anew by these options, in a thread; the pages are told when it is done."""
    if not undoing:
        shell.session.remember_aligning()
    session = shell.session
    session.aligning = chosen
    run = session.run
    index = session.trace_index
    opened = session.opened
    if run is None or opened is None:
        return
    if not run.traces:
        shell.runs.power_moved()  # it is placed with the training
        return

    request = shell.placing = object()

    def work() -> None:
        from powertui.data.energy import account

        shell.from_thread(done, account.energy_account(Profile(opened, index), chosen).drawn)

    def done(power: tuple[PowerOnTrace, ...]) -> None:
        if shell.placing is not request:
            return  # it was asked to lie otherwise meanwhile
        shell.placing = None
        if run is session.run and index == session.trace_index:
            session.power = power
            shell.tell()
            shell.runs.power_moved()

    shell.run_worker(
        work,
        thread=True,
        exclusive=True,
        group="power",
    )


def shift(shell: Shell, by_s: float) -> str:
    """Move all power by so much, at once; the answer is a sentence."""
    session = shell.session
    if not session.power:
        return "This trace has no power to shift."
    from powertui.data.energy import log_alignment

    now = session.aligning
    session.remember_aligning(shift=True)
    session.aligning = replace(now, pins=now.pins.nudged(by_s))
    session.power = tuple(
        log_alignment.shifted(channel, round(by_s * PS_PER_S)) for channel in session.power
    )
    shell.tell()
    shell.runs.power_moved()
    return (
        f"Power shifted by {session.aligning.pins.nudge_s:+.3f} s in total. "
        f"{save_pins(session.aligning.pins)}"
    )


def refresh_s(session: Session) -> float:
    """The refresh of the first channel: the natural measure of a shift."""
    if session.power:
        return refresh_of(session.power[0])
    return 1.0


def refresh_of(power: PowerOnTrace) -> float:
    """How often a channel changes, or is asked; a second where it is not known."""
    interval = power.series.sensor.refresh_s or power.series.sensor.poll_s
    return interval.value if interval is not None else 1.0


def pin(shell: Shell, at_ps: int | None) -> None:
    """Tie the steepest edge of power near a moment to that moment.

    Asks first where the alignment has better evidence than a pin.
    """
    page = shell.current()
    if page is None:
        return
    session = shell.session
    if at_ps is None:
        page.say("Put the timeline's cursor on the event first.")
        return
    edges = (_nearest_edge(channel, at_ps) for channel in session.power)
    edge = next((edge for edge in edges if edge is not None), None)
    if edge is None:
        page.say("There is no power edge near the cursor.")
        return
    log_s = edge
    trace_s = _since_zero_s(shell, at_ps)

    def do(agreed: bool | None) -> None:
        if not agreed:
            page.say("Nothing was pinned.")
            return
        now = session.aligning
        new = Pins(now.pins.pins, 0.0, now.pins.path).add(log_s, trace_s)
        use(shell, replace(now, offset_s=None, pins=new))
        page.say(
            f"Pinned: {log_s:.3f} s in the log is {at_ps / PS_PER_S:.3f} s on the timeline. "
            f"u undoes it. {save_pins(new)}"
        )

    better = _better_than_a_pin(session)
    if better:
        from powertui.screens.asking import QuestionDialog

        shell.ask(
            QuestionDialog(
                f"The power is aligned already {better}. A pin replaces that.",
                "pins the edge by hand",
            ),
            do,
        )
    else:
        do(True)


def _since_zero_s(shell: Shell, at_ps: int) -> float:
    """A moment as pins count it: on the trace, of a training without one since its first record."""
    on_axis = shell.runs.late_training.on_axis
    if on_axis is None or on_axis.profile is not None:
        return at_ps / PS_PER_S
    from powertui.data.training import placing

    zero_ns = placing.zero_of_offsets(on_axis.training).ns
    return (on_axis.zero_ns - zero_ns) / NS_PER_S + at_ps / PS_PER_S


def _better_than_a_pin(session: Session) -> str:
    """How the power is aligned, where that is surer than an edge that a person saw; else ""."""
    now = session.aligning
    if not session.power or now.pins.pins or now.offset_s is not None:
        return ""  # it was aligned by hand before
    from powertui.data.energy import log_alignment, pins

    first = session.power[0]
    half = (first.offset_hi_ps - first.offset_lo_ps) / 2 / PS_PER_S
    single = pins.fit(Pins().add(0.0, 0.0))
    if first.status != "aligned" or single is None:
        return ""
    if first.source == log_alignment.SIGNAL and half > single.half_s:
        return ""
    return f"by {first.source.removeprefix('by ')}, within ±{half:.3g} s"


def undo(shell: Shell) -> str:
    """Take back the last change of the alignment: a shift, a pin, or another method."""
    session = shell.session
    before = session.aligning_before()
    if before is not None:
        saved = save_pins(before.pins) if before.pins.path else ""
        use(shell, before, undoing=True)
        return f"The power is back where it was. {saved}".strip()
    now = session.aligning
    if not now.pins.pins:
        return "There is nothing to undo: the alignment has not been changed."
    remaining = now.pins.remove(len(now.pins.pins) - 1)
    use(shell, replace(now, pins=remaining), undoing=True)
    count = len(remaining.pins)
    return f"{count} pin{'s' * (count != 1)} left. {save_pins(remaining)}"


def _nearest_edge(power: PowerOnTrace, at_ps: int) -> float | None:
    """The log's time (s) of the steepest edge near a moment, corrected for the sensor's lag."""
    from powertui.data.energy import sensor as sensors

    lag = round(sensors.centre_s(power.series.sensor) * PS_PER_S)
    reach = round(_PIN_REACH_REFRESHES * refresh_of(power) * PS_PER_S)
    center = at_ps + lag
    first, last = np.searchsorted(power.times, [center - reach, center + reach])
    watts = power.watts[first:last]
    times = power.times[first:last]
    if len(times) < 2:
        return None
    jump = np.abs(np.nan_to_num(np.diff(watts)))
    if jump.max(initial=0.0) <= 0:
        return None
    # The nearest of the edges that are nearly as steep as the steepest is meant.
    steep = np.flatnonzero(jump >= _STEEP_SHARE * jump.max())
    middle = (times[:-1] + times[1:]) // 2
    row = int(steep[np.argmin(np.abs(middle[steep] - center))])
    return float(middle[row] - lag - power.offset_ps) / PS_PER_S


def save_pins(now: Pins) -> str:
    """Write the pins to their file, where one was named. Returns a sentence that says so."""
    if not now.path:
        return _UNSAVED
    from powertui.data.energy import pins

    try:
        pins.write(now)
    except PowertuiError as error:
        return str(error).replace("\n", " ")
    return f"Saved to {now.path}."
