"""The comparison behind `make parity`: what is equal, what differs and why, and the page."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.parity import comparison, page, profiles
from scripts.parity.comparison import Agreement
from scripts.parity.page import ComparedProfile
from scripts.parity.reasons import EMPTY, UNKNOWN, reason_of
from scripts.parity.tables import EXACT, NS_IN_US, TABLES, ComparedTable, Row

ROOT = Path(__file__).resolve().parents[2]
OPS = ComparedTable("tool", "ops", ("op",), {"op": EXACT, "count": EXACT, "time_us": NS_IN_US})
STEPS = ComparedTable("tool", "steps", ("name",), {"name": EXACT, "time_us": NS_IN_US}, True)
MATMUL: Row = {"op": "MatMul", "count": 3, "time_us": 12.345}
RELU: Row = {"op": "Relu", "count": 3, "time_us": 1.5}
# Where `make parity` puts the profiler.
PEER = ROOT / ".parity-venv/bin/python"


def cells(agreement: Agreement) -> list[tuple[object, ...]]:
    return [(*cell.key, cell.column, cell.ours, cell.theirs) for cell in agreement.differences]


def test_equal_rows_have_no_difference_in_any_order() -> None:
    agreement = comparison.compare(OPS, [RELU, MATMUL], [MATMUL, RELU])
    assert (agreement.cells, agreement.equal, agreement.differences) == (6, 6, [])


def test_a_cell_that_differs_is_named_with_both_values() -> None:
    agreement = comparison.compare(OPS, [{**MATMUL, "count": 2}], [MATMUL])
    assert (agreement.cells, agreement.equal) == (3, 2)
    assert cells(agreement) == [("MatMul", "count", 2, 3)]


def test_times_are_equal_to_the_nanoseconds_that_the_converter_rounds_to() -> None:
    assert comparison.is_equal(12.3456, 12.345, NS_IN_US)
    assert not comparison.is_equal(12.348, 12.345, NS_IN_US)
    assert not comparison.is_equal(3, 4, EXACT)


def test_nothing_equals_nothing_and_is_not_zero() -> None:
    assert comparison.is_equal(None, "", EXACT)
    assert comparison.is_equal(None, float("nan"), EXACT)
    assert not comparison.is_equal(None, 0, EXACT)
    assert not comparison.is_equal("", "Unknown", EXACT)


@pytest.mark.parametrize(
    ("ours", "theirs", "side"), [([MATMUL, RELU], [MATMUL], "ours"), ([], [RELU], "theirs")]
)
def test_every_cell_of_a_row_on_one_side_alone_differs(
    ours: list[Row], theirs: list[Row], side: str
) -> None:
    agreement = comparison.compare(OPS, ours, theirs)
    assert [(cell.key, cell.column, cell.only) for cell in agreement.differences] == [
        (("Relu",), column, side) for column in ("op", "count", "time_us")
    ]


def test_a_column_that_the_converter_does_not_have_is_not_compared() -> None:
    agreement = comparison.compare(OPS, [MATMUL], [{"op": "MatMul", "count": 3}])
    assert (agreement.cells, agreement.equal) == (2, 2)


def test_rows_of_one_key_are_paired_in_their_order() -> None:
    twice = [MATMUL, {**MATMUL, "count": 1}]
    assert comparison.compare(OPS, twice, twice).differences == []
    assert len(comparison.compare(OPS, twice, twice[::-1]).differences) == 2


def test_steps_of_other_names_are_paired_in_their_order() -> None:
    ours: list[Row] = [{"name": "step 0", "time_us": 5.0}, {"name": "1", "time_us": 6.0}]
    theirs: list[Row] = [{"name": "0", "time_us": 5.0}, {"name": "1", "time_us": 6.0}]
    assert cells(comparison.compare(STEPS, ours, theirs)) == [("0", "name", "step 0", "0")]
    assert len(comparison.compare(STEPS, ours[:1], theirs).differences) == 6


def test_a_difference_has_a_known_reason_or_is_said_to_have_none() -> None:
    framework_ops = next(table for table in TABLES if table.id == "framework_op_stats/with_idle")
    row: Row = {
        "host_or_device": "Host",
        "type": "Range",
        "operation": "range",
        "occurrences": 2,
        "measured_flop_rate": None,
        "total_time": None,
        "eager": "Function",
    }
    theirs: Row = {
        **row,
        "occurrences": 1,
        "measured_flop_rate": 0.0,
        "total_time": 0.0,
        "eager": "Eager",
    }
    agreement = comparison.compare(framework_ops, [row], [theirs])
    assert {cell.column: reason_of(cell) for cell in agreement.differences} == {
        "occurrences": UNKNOWN,
        "measured_flop_rate": EMPTY,
        "total_time": UNKNOWN,
        "eager": "eager elsewhere",
    }


def test_the_page_counts_cells_and_names_reasons() -> None:
    ours: list[Row] = [{**MATMUL, "bound_by": None}, {**RELU, "bound_by": None, "count": 2}]
    theirs: list[Row] = [{**MATMUL, "bound_by": "Unknown"}, {**RELU, "bound_by": "HBM"}]
    table = ComparedTable("tool", "ops", ("op",), {**OPS.tolerance, "bound_by": EXACT})
    agreement = comparison.compare(table, ours, theirs)
    compared = [
        ComparedProfile("own/run", {"tool": agreement, "silent_tool": Agreement()}),
        ComparedProfile("own/broken", unreadable="not a profile."),
    ]
    block = page.block(compared, "2026-11-23", "xprof 2.24.2")
    assert "8 cells of 1 profiles were compared: 5 are equal, 1 are empty in powertui" in block
    assert "0 differ for another known reason and 2 for one that is not known." in block
    assert "| `own/run` | `tool` | 8 | 5 | 1 | 2 | not known 2 |" in block
    assert "silent_tool" not in block
    assert "`own/broken` could not be compared: not a profile." in block


def test_the_page_keeps_all_that_stands_around_the_block() -> None:
    text = f"# Parity\n\n{page.BEGIN}\nold\n{page.END}\n\nThe rest.\n"
    assert page.written_into(text, "new") == (
        f"# Parity\n\n{page.BEGIN}\nnew\n{page.END}\n\nThe rest.\n"
    )
    with pytest.raises(SystemExit, match=r"parity\.md has no"):
        page.written_into("# Parity\n", "new")
    assert page.written_into(page.PAGE.read_text(encoding="utf-8"), "new")


def test_profiles_have_the_shortest_name_that_is_theirs_alone(tmp_path: Path) -> None:
    paths = [
        tmp_path / "own/loop/plugins/profile/1/vm.xplane.pb",
        tmp_path / "own/twice/logs/train/plugins/profile/1/vm.xplane.pb",
        tmp_path / "own/twice/logs/train/plugins/profile/2/vm.xplane.pb",
        tmp_path / "public/hosts/plugins/profile/1/a.xplane.pb",
        tmp_path / "public/hosts/plugins/profile/1/b.xplane.pb",
        tmp_path / "public/alone/host.xplane.pb",
    ]
    assert [profile.name for profile in profiles.named_profiles(tmp_path, paths)] == [
        "own/loop",
        "own/twice/1",
        "own/twice/2",
        "public/hosts/1/a",
        "public/hosts/1/b",
        "public/alone",
    ]


@pytest.mark.skipif(not PEER.exists(), reason="no .parity-venv: `make parity` makes it")
def test_every_difference_from_the_real_converter_has_a_reason() -> None:
    """Of the two XPlane profiles in tests/data."""
    command = [str(PEER), "-m", "scripts.parity", "--only", str(profiles.TESTS)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count(" cells") == 2


@pytest.mark.parametrize("column", ["hbm_bw", "measured_memory_bw", "bound_by", "occurrences"])
def test_no_reason_excuses_another_figure_of_an_op(column: str) -> None:
    """Rates of products and convolutions of libraries were excused until their rule was known."""
    table = next(table for table in TABLES if table.id == "hlo_stats/hlo_stats")
    for op in ("custom-call.1", "cudnn-conv.1.0", "fusion.1"):
        row: Row = dict.fromkeys(table.key, "49") | {table.key[-1]: op}
        ours, theirs = {**row, column: 3502.3}, {**row, column: 42.6}
        agreement = comparison.compare(table, [ours], [theirs])
        assert [reason_of(cell) for cell in agreement.differences] == [UNKNOWN]
