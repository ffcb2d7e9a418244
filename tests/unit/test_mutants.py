"""The engine behind `make mutants`: a planted fault is caught, what no test checks survives, a
quote fits however the source is formatted, and the checkout stays as it is.
"""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from scripts.mutants.changes import candidates, is_size
from scripts.mutants.listed import LIST, Mutant, parsed_list, problems_of
from scripts.mutants.matching import NoMatch, applied
from scripts.mutants.trial import Bench

SOURCE = "def half(x):\n    if x < 0:\n        return 0\n    return x / 2\n"
SPLIT_OVER_LINES = """
    import os


    def half(x):
        if (
            x  # a comment
            < 0
        ):
            return 0
        return (
            x
            / 2
        )
"""


def mutant(before: str, after: str, function: str = "half") -> Mutant:
    return Mutant("powertui/part.py", function, before, after)


def test_a_planted_mutant_is_caught_and_the_checkout_untouched(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    (root / "powertui").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "powertui/__init__.py").write_text("")
    (root / "powertui/part.py").write_text(SOURCE)
    (root / "tests/test_part.py").write_text(
        "from powertui.part import half\n\ndef test_half():\n    assert half(4) == 2\n"
    )
    (root / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\n'
        'asyncio_default_fixture_loop_scope = "function"\n'
    )
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    bench = Bench(root, tmp_path / "copy")
    assert "test_half" in bench.failure(mutant("return x / 2", "return x * 2"), ("tests",))
    assert bench.failure(mutant("x < 0", "x <= 0"), ("tests",)) == ""
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_a_statement_that_is_gone_is_named() -> None:
    with pytest.raises(NoMatch, match=r"half contains this 0 times, not once: return x / 3"):
        applied(mutant("return x / 3", "pass"), SOURCE)
    with pytest.raises(NoMatch, match="has no third any more"):
        applied(mutant("return x / 3", "pass", "third"), SOURCE)


def test_a_quote_that_occurs_twice_does_not_fit() -> None:
    with pytest.raises(NoMatch, match="2 times"):
        applied(mutant("x", "y"), SOURCE)


def test_a_change_that_changes_nothing_does_not_fit() -> None:
    with pytest.raises(NoMatch, match="changes nothing"):
        applied(mutant("x / 2", "(x) / 2"), SOURCE)


def test_line_breaks_comments_and_parentheses_do_not_matter() -> None:
    source = textwrap.dedent(SPLIT_OVER_LINES)
    for before, after in (("return x / 2", "return x * 2"), ("x / 2", "x * 2"), ("x < 0", "x > 0")):
        mutated = applied(mutant(before, after), source)
        expected = applied(mutant(before, after), SOURCE)
        assert ast.dump(ast.parse(mutated)) == ast.dump(ast.parse("import os\n" + expected))


def test_quotation_marks_and_letters_of_several_bytes_do_not_matter() -> None:
    source = "def half(x):\n    return 'µs', \"é\" + x  # µ\n"
    mutated = applied(mutant("'é' + x", "'é' - x"), source)
    assert mutated == "def half(x):\n    return 'µs', ('é' - x)  # µ\n"


def test_a_deleted_call_leaves_the_other_lines_alone() -> None:
    source = "def half(x):\n    x.close(\n        1\n    )\n    return x\n"
    assert applied(mutant("x.close(1)", "pass"), source) == "def half(x):\n    pass\n    return x\n"


def test_a_function_does_not_contain_the_functions_inside_it() -> None:
    source = "def half(x):\n    def inner():\n        return x / 2\n    return inner() + x / 2\n"
    assert "inner() + (x * 2)" in applied(mutant("x / 2", "x * 2"), source)
    assert "return (x * 2)\n" in applied(mutant("x / 2", "x * 2", "half.inner"), source)


def test_every_candidate_fits_its_file() -> None:
    mutants = list(candidates("powertui/part.py", SOURCE))
    assert {(found.before, found.after) for found in mutants} == {
        ("x < 0", "x <= 0"),
        ("x < 0", "x < 1"),
        ("return 0", "return 1"),
        ("return x / 2", "return x * 2"),
        ("return x / 2", "return x / 3"),
    }
    for candidate in mutants:
        assert applied(candidate, SOURCE) != SOURCE


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("_CHUNK_ROWS = 8192", True),
        ("_MAX_TEXT_BYTES = 20", True),
        ("_PATIENCE_S = 5.0", True),
        ("MAX_ITEM = 8 << 20", True),
        ("MAX_DEPTH = 40", False),
        ("_MAX_BRIDGED_SHARE = 0.25", False),
        ("QUIET = 1 << 6", False),
        ("chunk = 5", False),
    ],
)
def test_sizes_of_memory_and_waiting_have_no_mutants(text: str, size: bool) -> None:
    statement = ast.parse(text).body[0]
    assert isinstance(statement, ast.Assign)
    assert is_size(ast.unparse(statement.targets[0]), statement.value) == size
    assert bool(list(candidates("a.py", text))) != size


def test_the_list_is_read_as_it_is_written() -> None:
    mutants = [
        Mutant("a.py", "half", "x / 2", "x * 2", "killed"),
        Mutant("a.py", "half", "x < 0", "x <= 0", "survived", "0 / 2: the same"),
        Mutant("a.py", "half", "x / 2", "x / 3"),
    ]
    assert parsed_list("# A comment\n\n" + "\n".join(map(str, mutants))) == mutants
    with pytest.raises(NoMatch, match=r"Block 1 of the list is not a mutant: a\.py half"):
        parsed_list("a.py half\n+ x\n- y\n= killed\n")


def test_what_no_longer_fits_and_what_is_listed_twice_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCE)
    fitting = Mutant("a.py", "half", "x / 2", "x * 2")
    assert problems_of([fitting], tmp_path) == []
    assert problems_of([fitting, fitting], tmp_path) == ["Twice in the list: a.py half + x * 2"]
    (problem,) = problems_of([Mutant("a.py", "half", "x / 4", "x * 4")], tmp_path)
    assert "0 times" in problem


def test_the_list_of_the_checkout_can_be_read() -> None:
    # A block that lost its first line ended `make mutants` before the first trial.
    assert parsed_list(LIST.read_text("utf-8"))
