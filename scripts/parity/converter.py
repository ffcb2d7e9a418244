"""The answers of TensorBoard's converter about one profile.

    python -m scripts.parity.converter PROFILE ANSWERS.json

It is asked in a process of its own: of a damaged profile the converter may end the process.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.parity import memory_tables
from scripts.parity.tables import TABLES, TOOLS, Cell, Row, Tables

# The trees of op_profile: how the converter is asked for them, and what it calls them.
_TREES = {"by_program": ("program", "byProgram"), "by_category": ("category", "byCategory")}
# Tools that are asked for each of their trees or programs.
_ASKED_IN_PARTS = ("op_profile", "memory_viewer")
# What the converter writes beside a profile without programs.
_NO_PROGRAM = "NO_MODULE"
# A node that holds the ops of one text in all programs. powertui lists them without it.
_DUPLICATES = " and its duplicate(s)"
_TAG = re.compile(r"<[^>]*>")
# The tables of a tool are told apart by a column that only they have.
_MARKS = {
    "overview_page/steps": "stepnum",
    "overview_page/top_ops": "selfTimePercent",
    "input_pipeline_analyzer/steps": "stepnum",
    "input_pipeline_analyzer/host_ops": "opName",
    "kernel_stats/kernels": "kernel_name",
    "hlo_stats/hlo_stats": "hlo_op_name",
}


class NoAnswer(Exception):
    """The converter could not read the profile."""


def answers(profile: Path) -> Tables:
    """All compared tables of a profile, as the converter answers. Raises `NoAnswer`.

    Its answers are kept in the environment: it takes seconds for large profiles.
    """
    version = importlib.metadata.version("xprof")
    digest = hashlib.sha256(profile.read_bytes()).hexdigest()
    asked = hashlib.sha256(" ".join(TOOLS).encode()).hexdigest()[:8]
    stored = Path(sys.prefix) / "parity-answers" / version / asked / f"{digest}.json"
    if not stored.exists():
        stored.parent.mkdir(parents=True, exist_ok=True)
        _ask_in_a_process(profile, stored)
    return _tables(json.loads(stored.read_text()))


def _ask_in_a_process(profile: Path, stored: Path) -> None:
    command = [sys.executable, "-m", "scripts.parity.converter", str(profile), str(stored)]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if ended.returncode:
        lines = ended.stderr.decode(errors="replace").strip().splitlines()
        raise NoAnswer(lines[-1] if lines else f"exit code {ended.returncode}")


def _ask(profile: Path) -> dict[str, Any]:
    """What the converter answers about each tool, and each tree of op_profile."""
    from xprof.convert import raw_to_tool_data

    def ask(tool: str, **options: object) -> Any:
        # Without a look at what an earlier run stored beside the profile.
        asked = {"use_saved_result": False, **options}
        data, _ = raw_to_tool_data.xspace_to_tool_data([str(profile)], tool, asked)
        if not data:
            raise SystemExit(f"{tool}: no answer")
        return json.loads(data)

    answers = {tool: ask(tool) for tool in TOOLS if tool not in _ASKED_IN_PARTS}
    for name, (group_by, _) in _TREES.items():
        answers[f"op_profile/{name}"] = ask("op_profile", group_by=group_by)
    answers["memory_viewer"] = {
        program: ask("memory_viewer", module_name=program) for program in _programs(profile)
    }
    return answers


def _programs(profile: Path) -> list[str]:
    """The programs of a profile: asked for its tools, the converter writes each beside it."""
    from xprof.convert import raw_to_tool_data

    raw_to_tool_data.xspace_to_tool_names([str(profile)])
    suffix = ".hlo_proto.pb"
    names = [path.name.removesuffix(suffix) for path in profile.parent.glob(f"*{suffix}")]
    return sorted(name for name in names if name != _NO_PROGRAM)


def _tables(answers: Mapping[str, Any]) -> Tables:
    tables: Tables = {}
    for name, (_, key) in _TREES.items():
        tree = answers[f"op_profile/{name}"]
        tables[f"op_profile/{name}"] = list(_tree_rows(tree[key]))
    tables |= memory_tables.memory_profile(answers["memory_profile"])
    tables |= memory_tables.memory_viewer(answers["memory_viewer"])
    for tool in TOOLS:
        if tool in answers and not tool.startswith("memory_"):
            answer = answers[tool]
            tables |= _tables_of(tool, answer if isinstance(answer, list) else [answer])
    return tables


def _tables_of(tool: str, answer: list[dict[str, Any]]) -> Tables:
    if tool == "framework_op_stats":
        names = (f"{tool}/with_idle", f"{tool}/without_idle")
        return {name: _rows(table) for name, table in zip(names, answer, strict=True)}
    tables: Tables = {}
    for table in TABLES:
        if table.tool != tool:
            continue
        if table.name == "figures":
            tables[table.id] = list(_figures(answer))
            continue
        for part in answer:
            if any(column["id"] == _MARKS[table.id] for column in part.get("cols", ())):
                tables[table.id] = _rows(part)
    return tables


def _rows(table: Mapping[str, Any]) -> list[Row]:
    ids = [column["id"] for column in table["cols"]]
    rows: list[Row] = []
    for row in table["rows"]:
        cells = dict(zip(ids, (cell.get("v") for cell in row["c"]), strict=True))
        if "source_info" in cells:  # HTML, with all callers as a tooltip
            cells["source_info"] = _TAG.sub("", cells["source_info"])
        rows.append(cells)
    return rows


def _figures(answer: list[dict[str, Any]]) -> Iterator[Row]:
    """The properties of the tables: figures as texts, such as "84.6%" and "-nan"."""
    values: dict[str, Cell] = {}
    for table in answer:
        for figure, text in (table.get("p") or {}).items():
            values.setdefault(figure, _number(text))
    for figure, value in values.items():
        yield {"figure": figure, "value": value}


def _number(text: str) -> Cell:
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return text
    return None if number != number else number


def _tree_rows(node: Mapping[str, Any], path: str = "") -> Iterator[Row]:
    """The nodes below the root. A device that did nothing has a root that is IDLE itself."""
    if not path and node["name"] == "IDLE":
        yield _tree_row(node, "IDLE")
    for child in node["children"]:
        if child["name"].endswith(_DUPLICATES):
            yield from _tree_rows(child, path)
            continue
        child_path = f"{path} > {child['name']}" if path else child["name"]
        yield _tree_row(child, child_path)
        yield from _tree_rows(child, child_path)


def _tree_row(node: Mapping[str, Any], path: str) -> Row:
    metrics = node["metrics"]
    return {"path": path, "time_ps": metrics["rawTime"], "occurrences": metrics["occurrences"]}


if __name__ == "__main__":
    answer = json.dumps(_ask(Path(sys.argv[1])))
    Path(sys.argv[2]).write_text(answer)
