"""Shifting and pinning power by hand: what the timeline's keys and the alignment page have in
common.

The energy modules are imported by the key that needs them: the first picture does not wait for
them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.asked import Aligning, Pins
from powertui.data.model import PS_PER_S, PowerOnTrace
from powertui.data.opened import Profile
from powertui.errors import PowertuiError

if TYPE_CHECKING:
    from powertui.screens.session import Session
    from powertui.screens.shell import Shell

_UNSAVED = "Kept until you quit. Start with --pins FILE to save it."


def use(shell: Shell, chosen: Aligning, *, undoing: bool = False) -> None:
    """Align anew by these options, in a thread; the pages are told when it is done."""
    if not undoing:
        shell.session.remember_aligning()
    session = shell.session
    session.aligning = chosen
    run, index, opened = session.run, session.trace_index, session.opened
    if run is None or opened is None or not run.traces:
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

    shell.run_worker(work, thread=True, exclusive=True, group="power")


def shift(shell: Shell, by_s: float) -> str:
    """Move all power by so much, at once; the answer is a sentence."""
    session = shell.session
    if not session.power:
        return "This trace has no power to shift."
    from powertui.data.energy import align

    now = session.aligning
    session.remember_aligning(shift=True)
    session.aligning = replace(now, pins=now.pins.nudged(by_s))
    session.power = tuple(align.shifted(one, round(by_s * PS_PER_S)) for one in session.power)
    shell.tell()
    return (
        f"Power shifted by {session.aligning.pins.nudge_s:+.3f} s in total. "
        f"{pin_count(session.aligning.pins)}"
    )


def refresh_s(session: Session) -> float:
    """The refresh of the first channel: the natural measure of a shift."""
    return refresh_of(session.power[0]) if session.power else 1.0


def refresh_of(power: PowerOnTrace) -> float:
    """How often a channel changes, or is asked; a second where it is not known."""
    known = power.series.sensor.refresh_s or power.series.sensor.poll_s
    return known.value if known is not None else 1.0


def pin(shell: Shell, at_ps: int | None) -> None:
    """Tie the steepest edge of power near a moment to that moment; asks before better evidence is
    given up for it.
    """
    page = shell.current()
    if page is None:
        return
    session = shell.session
    edge = None
    if at_ps is not None:
        edge = next(
            (found for one in session.power if (found := _nearest_edge(one, at_ps)) is not None),
            None,
        )
    if at_ps is None or edge is None:
        page.say(
            "Put the timeline's cursor on the event first."
            if at_ps is None
            else "There is no power edge near the cursor."
        )
        return
    log_s, trace_s = edge, at_ps / PS_PER_S

    def do(agreed: bool | None) -> None:
        if not agreed:
            page.say("Nothing was pinned.")
            return
        now = session.aligning
        new = Pins(now.pins.pins, 0.0, now.pins.path).add(log_s, trace_s)
        use(shell, replace(now, offset_s=None, pins=new))
        page.say(
            f"Pinned: {log_s:.3f} s in the log is {trace_s:.3f} s in the trace. u undoes it. "
            f"{pin_count(new)}"
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


def _better_than_a_pin(session: Session) -> str:
    """How the power lies now, where that is worth more than an edge that a person saw; "" where it
    is not.
    """
    now = session.aligning
    if not session.power or now.pins.pins or now.offset_s is not None:
        return ""  # it was placed by hand before
    from powertui.data.energy import align, pins

    one = session.power[0]
    half = (one.offset_hi_ps - one.offset_lo_ps) / 2 / PS_PER_S
    single = pins.fit(Pins().add(0.0, 0.0))
    if (
        one.status != "aligned"
        or single is None
        or (one.source == align.SIGNAL and half > single.half_s)
    ):
        return ""
    return f"by {one.source.removeprefix('by ')}, within ±{half:.3g} s"


def undo(shell: Shell) -> str:
    """Where the power lay before the last change: a shift, a pin, or another method."""
    session = shell.session
    before = session.aligning_before()
    if before is not None:
        said = pin_count(before.pins) if before.pins.path else ""
        use(shell, before, undoing=True)
        return f"The power is back where it was. {said}".strip()
    now = session.aligning
    if not now.pins.pins:
        return "There is nothing to undo: the alignment has not been changed."
    left = now.pins.remove(len(now.pins.pins) - 1)
    use(shell, replace(now, pins=left), undoing=True)
    return f"{len(left.pins)} pin{'s' if len(left.pins) != 1 else ''} left. {pin_count(left)}"


def _nearest_edge(power: PowerOnTrace, at_ps: int) -> float | None:
    """The log's own time (s) of the steepest edge within a few refreshes of a moment, corrected for
    the sensor's lag.
    """
    sensor = power.series.sensor
    from powertui.data.energy import sensor as sensors

    late = round(sensors.centre_s(sensor) * PS_PER_S)
    refresh = sensor.refresh_s or sensor.poll_s
    reach = round(20 * (refresh.value if refresh else 1.0) * PS_PER_S)
    first, last = np.searchsorted(power.times, [at_ps + late - reach, at_ps + late + reach])
    watts, times = power.watts[first:last], power.times[first:last]
    if len(times) < 2:
        return None
    jump = np.abs(np.nan_to_num(np.diff(watts)))
    if jump.max(initial=0.0) <= 0:
        return None
    # Of edges nearly as steep as the steepest the nearest one is meant.
    steep = np.flatnonzero(jump >= 0.5 * jump.max())
    middle = (times[:-1] + times[1:]) // 2
    row = int(steep[np.argmin(np.abs(middle[steep] - late - at_ps))])
    return float(middle[row] - late - power.offset_ps) / PS_PER_S


def pin_count(now: Pins) -> str:
    """Write the sidecar file when one was named."""
    if not now.path:
        return _UNSAVED
    from powertui.data.energy import pins

    try:
        pins.write(now)
    except PowertuiError as error:
        return str(error).replace("\n", " ")
    return f"Saved to {now.path}."
