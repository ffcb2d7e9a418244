"""The graph of a program: who reads whom, what is inside, the way out; for Graphviz; by its name."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from powertui import cli
from powertui.data.hlo import Module
from powertui.data.hlo_graph import ProgramGraph, program_dot
from powertui.data.table import Result
from powertui.data.tools import hlo_choice, registry
from powertui.data.tools.registry import Question
from powertui.data.wire import schemas
from powertui.errors import UsageError
from tests import answers
from tests.unit.tools.opened_runs import opened

JAX = "own/jax_cpu/plugins/profile/2026_11_21_00_50_50"


@pytest.fixture
def graph() -> ProgramGraph:
    """Two parameters into a fusion, whose value is read twice by an op and once by the result."""
    proto: Any = schemas.message("HloModule")()
    proto.name, proto.entry_computation_name = 'st"ep\\', "main"
    inner = proto.computations.add(name="fused", id=1)
    inner.instructions.add(name="in.0", opcode="parameter", id=1, parameter_number=0)
    inner.instructions.add(name="in.1", opcode="parameter", id=2, parameter_number=1)
    inner.instructions.add(name="sum", opcode="add", id=3, operand_ids=[1, 2])
    main = proto.computations.add(name="main", id=2, root_id=8)
    main.instructions.add(name="a", opcode="parameter", id=4, parameter_number=0)
    main.instructions.add(name="b", opcode="parameter", id=5, parameter_number=1)
    main.instructions.add(
        name="fusion", opcode="fusion", id=6, operand_ids=[4, 5], called_computation_ids=[1]
    )
    main.instructions.add(name="square", opcode="multiply", id=7, operand_ids=[6, 6])
    main.instructions.add(name="result", opcode="tuple", id=8, operand_ids=[7, 6, 99])
    return ProgramGraph(Module(proto.name, "7", proto))


def around(graph: ProgramGraph, name: str, depth: int = 2, most: int = 99) -> list[str]:
    return [
        f"{'  ' * near.level}{near.name} {near.relation}"
        for near in graph.neighbors(name, depth, most)
    ]


def test_an_op_is_shown_with_what_is_in_it_what_it_reads_and_who_reads_it(
    graph: ProgramGraph,
) -> None:
    assert around(graph, "fusion") == [
        "  sum inside",
        "  a operand 0",
        "  b operand 1",
        "  square user",
        "    result user",
        "  result user",
    ]
    assert around(graph, "result", depth=3) == [  # an op that is not there is left out
        "  square operand 0",
        "    fusion operand 0",
        "      a operand 0",
        "      b operand 1",
        "    fusion operand 1",
        "  fusion operand 1",
    ]
    assert around(graph, "result", most=2) == ["  square operand 0", "    fusion operand 0"]
    assert graph.root == "result"


def test_from_inside_a_fusion_there_is_a_way_out(graph: ProgramGraph) -> None:
    assert around(graph, "in.1") == [
        "  fusion called by",
        "    b is operand 1",
        "  sum user",
    ]


def test_names_of_a_program_are_no_code_of_graphviz(graph: ProgramGraph) -> None:
    lines = program_dot(graph, {"fusion", "square", "sum"}).splitlines()
    assert lines[0] == 'digraph "st\\"ep\\\\" {'
    assert '  "fusion" -> "square";' in lines
    assert '  "sum" -> "fusion" [style=dotted];' in lines
    assert not any('"a"' in line for line in lines)


HOSTILE = (
    '"',
    "\\",
    'a\\"',
    '\\\\"];evil [label="x',
    "<b>x</b>",
    "\\N\\G",
    "}{",
    "//x",
    "a\nb",
    "\x00\x1b[31m\u202e",
    "subgraph",
    "α",
    "y" * 20_000,
    "y" * 20_001,
)


def hostile_dot() -> str:
    """A program in which each op with a hostile name reads the one before."""
    proto: Any = schemas.message("HloModule")()
    proto.name, proto.entry_computation_name = '"g\\', "main"
    main = proto.computations.add(name='"];evil', id=1, root_id=len(HOSTILE))
    for number, name in enumerate(HOSTILE, 1):
        op = main.instructions.add(name=name, opcode=name, id=number)
        op.shape.element_type = 13
        op.shape.tuple_shapes.extend([op.shape] * 2)
        if number > 1:
            op.operand_ids.append(number - 1)
    return program_dot(ProgramGraph(Module(proto.name, "7", proto)))


def test_no_text_of_a_graph_is_longer_than_graphviz_takes() -> None:
    written = hostile_dot()
    assert max(map(len, re.findall(r'"(?:[^"\\]|\\.)*"', written))) < 16_000
    names = {line for line in written.splitlines() if line.startswith('    "yyy')}
    assert len(names) == 2


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_every_name_as_a_box_of_its_own() -> None:
    drawn = subprocess.run(["dot", "-Tplain"], input=hostile_dot().encode(), capture_output=True)
    assert (drawn.returncode, drawn.stderr) == (0, b"")
    kinds = [line.partition(b" ")[0] for line in drawn.stdout.splitlines()]
    assert kinds.count(b"node") == len(HOSTILE)
    assert kinds.count(b"edge") == len(HOSTILE) - 1


def ask(path: Path, choice: str = "") -> Result:
    return registry.get("graph_viewer").answer(Question(opened(path), choice=choice))


def test_a_real_program_opens_at_its_result_and_its_rows_lead_on(shared_data: Path) -> None:
    answer = ask(shared_data / JAX)
    assert {fact.id: fact.value for fact in answer.facts}["op"] == "tuple.3"
    table = answer["neighbors"]
    rows = answers.rows(table)
    assert [row["name"] for row in rows[:4]] == [
        "tuple.3",
        "  multiply_subtract_fusion.2",
        "    p_0_.1",
        "    dot",
    ]
    assert table.lead is not None
    assert table.lead(0) is None
    lead = table.lead(3)
    assert lead is not None
    assert lead.choice == "jit_step(28)/dot"
    rows = answers.rows(ask(shared_data / JAX, lead.choice)["neighbors"])
    assert [(row["name"].strip(), row["relation"]) for row in rows[:3]] == [
        ("dot", "this op"),
        ("x.1", "operand 0"),
        ("compare_select_fusion", "operand 1"),
    ]
    assert rows[0]["self_time_s"] == pytest.approx(8.786e-3, rel=1e-3)
    with pytest.raises(UsageError, match=r"jit_step\(28\) has no op nothing\."):
        ask(shared_data / JAX, "jit_step/nothing")


def test_every_op_that_ran_has_a_way_to_its_graph_and_back(shared_data: Path) -> None:
    run = opened(shared_data / JAX)
    profile = run.profiles[0]
    table = ask(shared_data / JAX)["ops"]
    led = 0
    for row in range(len(table)):
        place = table.place(row)
        if place is None:
            continue
        assert place.track is not None
        assert place.event is not None
        lead = hlo_choice.event_lead(profile, place.track, place.event)
        assert lead is not None
        assert lead.choice == f"jit_step(28)/{table['name'].value(row)}"
        led += 1
    ran = [time for time in table["self_time_s"].exports() if time is not None]
    assert led == len(ran) == 24


def test_dot_is_printed_and_only_of_this_tool(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["report", str(shared_data / JAX), "--choice", "jit_step/dot", "--dot", "--tool"]
    assert cli.main([*command, "graph_viewer"]) == 0
    told = capsys.readouterr().out
    assert told.startswith('digraph "jit_step" {')
    assert '  "x.1" -> "dot";' in told.splitlines()
    assert cli.main([*command, "graph"]) == 0
    assert capsys.readouterr().out == told
    assert cli.main([*command, "op_stats"]) == 2
    assert "--dot is for graph_viewer." in capsys.readouterr().err
