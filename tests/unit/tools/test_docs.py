"""docs/tools.md: the tool that it shows how to write works, and its list is whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from powertui import demo
from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question, Tool

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tools.md").read_text()


def test_the_example_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "longest_of_the_docs.py").write_text(code[0])
    monkeypatch.syspath_prepend(tmp_path)
    (tool,) = eval(f"[{code[1]}]", {"Tool": Tool, "_HERE": "here"})
    assert tool.target == "here.longest:answer"
    opened = Opened(logdir.scan(str(demo.folder())).runs[0])
    table = Tool(tool.name, tool.title, tool.about, "longest_of_the_docs:answer").answer(
        Question(opened)
    )["longest"]
    trace = opened.profiles[0].trace
    tracks = [track for _, track in trace.tracks()]
    assert len(table) == sum(len(track.events) > 0 for track in tracks)
    for row in range(len(table)):
        place = table.place(row)
        assert place is not None
        assert place.track is not None
        assert place.event is not None
        events = tracks[place.track].events
        assert (
            table["duration_s"].value(row) == events.duration.max() == events.duration[place.event]
        )
        assert table["name"].value(row) == trace.names.full(int(events.name[place.event]))


def test_every_tool_is_listed() -> None:
    listed = re.findall(r"^\| `(\w+)` \| .* \| .* \|$", PAGE, re.MULTILINE)
    assert listed == [tool.name for tool in registry.TOOLS]
