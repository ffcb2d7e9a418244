"""The conclusions of a run as JSON, and as lines of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from powertui.data.conclusions.conclusion import Conclusion
from powertui.data.model import PS_PER_S
from powertui.data.opened import Opened
from powertui.plain import plain


def json_conclusions(opened: Opened, conclusions: Iterable[Conclusion]) -> list[dict[str, Any]]:
    """One dict for each, the most important first. What is not known is None."""
    hosts = [profile.host for profile in opened.profiles]
    return [_json(conclusion, hosts) for conclusion in conclusions]


def _json(conclusion: Conclusion, hosts: list[str]) -> dict[str, Any]:
    stretch = conclusion.stretch
    return {
        "kind": conclusion.kind.value,
        "sentence": plain(conclusion.sentence),
        "share": conclusion.cost.share,
        "seconds": conclusion.cost.seconds,
        "joules": conclusion.cost.joules,
        "start_s": None if stretch is None else stretch.start_ps / PS_PER_S,
        "end_s": None if stretch is None else stretch.end_ps / PS_PER_S,
        "host": None if stretch is None else stretch.host_among(hosts),
        "confidence": conclusion.confidence.value,
        "evidence": {
            "tool": conclusion.evidence.tool,
            "rows": [plain(row) for row in conclusion.evidence.rows],
            "text": plain(conclusion.evidence.text),
        },
        "next": plain(conclusion.next),
        "doubt": plain(conclusion.doubt),
        "short": plain(conclusion.short),
    }
