"""`powertui compare --html`: the answer, the intervals and the causes as a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui import cli
from powertui.data.compare.causes import Cause
from powertui.data.compare.comparison import compare
from powertui.html import comparison_file, difference_bars
from powertui.html.document import MAX_BYTES
from powertui.html.result_table import rows_section
from powertui.report.compare_sides import Asked, SideReading, sides
from tests.synthetic.step_world import step_series, write_run
from tests.unit.html.pages import PageReader, check_safe

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

OPS = {"aten::mm": 0.6, "<script>&add</script>": 0.2}
_RUNS = 3


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs a side: in `new` aten::mm takes 20 % of a step longer."""
    root = tmp_path_factory.mktemp("groups")
    rng = np.random.default_rng(33)
    for number in range(_RUNS):
        for side, slower in (("base", 0.0), ("new", 0.2)):
            steps = 0.05 * rng.normal(1, 0.005) * step_series("white", 60, rng)
            shares = {**OPS, "aten::mm": OPS["aten::mm"] + slower}
            write_run(root / side / f"run{number}", steps * (1 + slower), shares, watts=200.0)
    return root


def words(groups: Path) -> list[str]:
    base = sorted(str(path) for path in (groups / "base").iterdir())
    new = sorted(str(path) for path in (groups / "new").iterdir())
    return [*base, "--", *new]


def test_the_page_of_two_groups(groups: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    assert cli.main(["compare", *words(groups), "--html", str(target)]) == 0
    page = target.read_text(encoding="utf-8")
    assert len(page.encode()) <= MAX_BYTES
    read = check_safe(page)
    split = words(groups)
    groups_named = [split[:_RUNS], split[_RUNS + 1 :]]
    comparison = compare(*sides(groups_named, Asked(), SideReading()))
    assert read.of_class("answer") == comparison.sentence
    assert "differs" in read.of_class("badge")
    assert "<script>&add</script>" in read.text
    order = ("answer", "Configuration", "Where the difference", "95 % interval", "How sure")
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    assert page.count('class="whisker"') >= 2
    assert comparison_file.comparison_page(comparison) == page


def test_two_stretches_of_one_run(groups: Path, tmp_path: Path) -> None:
    run = str(groups / "base" / "run0")
    target = tmp_path / "page.html"
    stretches = ["--steps", "0-29", "--steps", "30-59"]
    assert cli.main(["compare", run, *stretches, "--html", str(target)]) == 0
    read = check_safe(target.read_text(encoding="utf-8"))
    assert "two stretches of one run" in read.of_class("answer")
    assert "steps 0-29 →" in read.of_class("eyebrow")


def test_a_column_without_words_is_left_out() -> None:
    table = rows_section("causes", ("part", "time", "energy"), [["a", "1 s", ""], ["b", "", ""]])
    read = PageReader(table)
    assert read.texts == ["causes", "part", "time", "a", "1 s", "b"]


def test_a_file_that_is_there_is_kept(groups: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("mine")
    assert cli.main(["compare", *words(groups), "--html", str(target)]) == 2
    assert target.read_text() == "mine"


def test_causes_stand_on_each_other_and_end_where_their_sum_does() -> None:
    causes = [
        Cause("category", "a", 3.0, 0.75, None),
        Cause("category", "b", 2.0, 0.5, None),
        Cause("category", "c", -1.0, -0.25, None),
    ]
    scale = difference_bars.waterfall_scale(causes)
    starts = []
    for bar in difference_bars.waterfall_bars(causes, scale):
        (rect,) = [part for part in bar.split("<") if part.startswith("rect")]
        kind = rect.split('class="')[1].split('"')[0]
        starts.append((kind, int(rect.split(' x="')[1].split('"')[0])))
    assert starts == [
        ("more", scale.x(0.0)),
        ("more", scale.x(3.0)),
        ("less", scale.x(4.0)),
        ("more", scale.x(0.0)),
    ]
