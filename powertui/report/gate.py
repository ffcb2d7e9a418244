"""`powertui check`: the answer in the form that was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from powertui.report import text
from powertui.report.compare_sides import SideReading
from powertui.report.gate_json import GATE_COLUMNS, gate_as_json, json_row
from powertui.report.gate_page import gate_page
from powertui.report.gate_runs import GateRequest, run_gate


def tell(
    paths: Sequence[str],
    request: GateRequest,
    reading: SideReading,
    form: str,
    junit_path: str | None,
) -> int:
    """Print it, and write the JUnit file. The exit code is the answer: 0, 1 or 3."""
    gate = run_gate(paths, request, reading)
    text.write_reader_warnings(reading.options.hosts)
    if junit_path is not None:
        from powertui.report.junit import write_junit

        write_junit(junit_path, gate)
    if form == "json":
        text.out(text.to_json(gate_as_json(gate)))
    elif form == "csv":
        shown = [json_row(row) for row in gate.rows]
        rows = [[row[column] for column in GATE_COLUMNS] for row in shown]
        text.emit_csv(text.to_csv(GATE_COLUMNS, rows))
    else:
        text.out("\n".join(gate_page(gate, form)))
    return gate.exit_code
