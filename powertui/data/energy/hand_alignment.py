"""Where a person put a power log: by an offset, or by pins."""

from __future__ import annotations

from powertui.data.asked import Aligning
from powertui.data.energy import pins
from powertui.data.energy.log_alignment import OFFSET, PINNED, Alignment


def placed_by_hand(options: Aligning) -> Alignment | None:
    """The place that was asked for; None where none was."""
    if options.offset_s is not None:
        at = options.offset_s + options.pins.nudge_s
        words = f"--offset puts the log's zero at {options.offset_s:g} s of the trace"
        return Alignment(at, at, at, "aligned", OFFSET, (words,))
    line = pins.fit(options.pins)
    if line is None:
        return None
    count = len(options.pins.pins)
    evidence = [
        (
            f"{count} pin{'s' if count > 1 else ''} set by hand, at most {line.worst_s:.3f} s from "
            "their common line"
        )
    ]
    if line.ppm:
        evidence.append(f"the log's clock runs {line.ppm:+.0f} ppm against the trace's")
    return Alignment(
        offset_s=line.offset_s,
        lo_s=line.offset_s - line.half_s,
        hi_s=line.offset_s + line.half_s,
        status="aligned",
        source=PINNED,
        evidence=tuple(evidence),
        ppm=line.ppm,
    )
