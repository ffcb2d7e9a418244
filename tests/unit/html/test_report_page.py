"""`powertui report --html`: what the page holds, and that nothing in a file gets out of its place."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from powertui.cli import main
from powertui.data import logdir
from powertui.data.asked import Aligning
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.training.training import Trainings
from powertui.html import run_sections
from powertui.html.document import MAX_BYTES, document
from powertui.html.note_list import ShownNote
from powertui.report import facts as run_facts
from tests.synthetic.hosts import two
from tests.synthetic.long_training import long_training
from tests.synthetic.step_world import step_series, write_run
from tests.synthetic.xplane import Event, Line, Plane, encode
from tests.unit.html.pages import PageReader, check_safe

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

JAX = "logdirs/jax_cpu"
HOSTILE = (
    "<script>alert(1)</script>",
    '"onload="alert(1)',
    "]]><svg onload=alert(1)>",
    "\u202edrawkcab\u2066",
    "nul\0\x1b[2J\x9b31m\r\n",
    "</style></title>" + "long" * 30_000,
    "' onfocus=alert(1) x='&lt;b&gt;&#60;",
    "\ufdd0\uffff",
)


def page_of(path: Path, tmp_path: Path, *options: str, code: int = 0) -> tuple[str, PageReader]:
    target = tmp_path / "page.html"
    assert main(["report", str(path), "--html", str(target), "--force", *options]) == code
    written = target.read_bytes()
    assert len(written) <= MAX_BYTES
    page = written.decode()
    return page, check_safe(page)


@pytest.fixture(scope="module")
def burst(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three thousand steps with power."""
    folder = tmp_path_factory.mktemp("steps") / "run"
    rng = np.random.default_rng(5)
    steps = 0.05 * step_series("periodic", 3000, rng)
    write_run(folder, steps, {"aten::mm": 0.6, "aten::add": 0.2}, watts=200.0)
    return folder


def test_a_page_has_the_answer_first_then_figures_charts_tables_and_sources(
    burst: Path, tmp_path: Path
) -> None:
    page, read = page_of(burst, tmp_path)
    (opened,) = Trainings(logdir.scan(str(burst))).each(logdir.scan(str(burst)).runs)
    conclusions = run_conclusions(opened, Aligning())
    assert read.of_class("answer") == conclusions.headline
    for conclusion in conclusions.items[1:]:
        assert conclusion.sentence in read.of_class("conclusions")
    order = ("answer", "figures", "Step time by category", "Power over the training", "Sources")
    places = [page.index(words) for words in order]
    assert places == sorted(places)
    assert "3,000" in read.of_class("figures")
    assert "of a mean step" in read.of_class("figures"), "a share says of what it is one"
    assert "shares of a step's time" in read.text
    assert "epochs" not in read.of_class("lanes")
    assert {"c-host", "power"} <= {value for name, value in read.attributes if name == "class"}
    assert read.tags.count("h1") == 1


def test_a_long_training_with_thousands_of_steps_stays_small(burst: Path, tmp_path: Path) -> None:
    page, read = page_of(burst, tmp_path)
    assert "each column is the longest of 9 steps" in read.text
    assert len(page.encode()) < MAX_BYTES / 4


def test_the_same_run_gives_the_same_bytes(burst: Path, tmp_path: Path) -> None:
    assert page_of(burst, tmp_path)[0] == page_of(burst, tmp_path)[0]


def test_no_name_gets_out_of_its_place(tmp_path: Path) -> None:
    """Hosts, devices, lines and ops of hostile names."""
    events = []
    for number in range(160):
        name = HOSTILE[number % len(HOSTILE)]
        events.append(Event(name, number * 10**9, 10**9 // 2, {"step_num": number, "hlo_op": name}))
    planes = [
        Plane(f"/device:GPU:{n}{name}", [Line(name, events)]) for n, name in enumerate(HOSTILE)
    ]
    planes.append(Plane("/host:CPU", [Line(name, events) for name in HOSTILE]))
    folder = tmp_path / "lo<i>gs&" / "plugins" / "profile" / "<b>run"
    folder.mkdir(parents=True)
    (folder / '<img src="x" onerror=alert(1)>.xplane.pb').write_bytes(encode(planes))
    (tmp_path / "lo<i>gs&" / "power.csv").write_text(
        "time_unix_s,<script>x</script> watts\n"
        + "".join(f"{1_700_000_000 + i},{200 + i % 7}\n" for i in range(50))
    )
    page, read = page_of(tmp_path / "lo<i>gs&", tmp_path)
    assert "<script>alert(1)</script>" in read.text
    assert "\\u202edrawkcab\\u2066" in read.text
    assert "<b>run" in read.of_class("eyebrow")
    assert "long" * 110 not in page  # the longest line has 400 letters


def test_the_title_of_a_page_is_text(tmp_path: Path) -> None:
    folder = tmp_path / "<title><script>x"
    folder.mkdir()
    _, read = page_of(folder, tmp_path, code=3)
    assert "<title><script>x" in read.text


@pytest.mark.parametrize("content", [b"", b"\x0a\x01", b"\xff" * 3000])
def test_a_damaged_profile_is_named_and_the_code_is_that_of_the_report(
    content: bytes, tmp_path: Path
) -> None:
    folder = tmp_path / "logs" / "plugins" / "profile" / "r"
    folder.mkdir(parents=True)
    (folder / "h.xplane.pb").write_bytes(content)
    code = main(["report", str(tmp_path / "logs")])
    _, read = page_of(tmp_path / "logs", tmp_path, code=code)
    assert "h.xplane.pb" in read.of_class("sources")


def test_a_run_without_steps_has_no_chart_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "profile" / "r"
    folder.mkdir(parents=True)
    plane = Plane("/host:CPU", [Line("main", [Event("work", 0, 10**12)])])
    (folder / "h.xplane.pb").write_bytes(encode([plane]))
    _, read = page_of(tmp_path, tmp_path)
    assert "Step time by category" not in read.text
    assert "figure" not in read.tags


def test_a_run_without_power_has_no_chart_of_it(data: Path, tmp_path: Path) -> None:
    _, read = page_of(data / JAX, tmp_path)
    assert "Power over the training" not in read.text
    assert "Step time by category" in read.text


def test_several_hosts_are_one_run_with_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    two(tmp_path / "logs")
    _, read = page_of(tmp_path / "logs", tmp_path)
    assert "host-a" in read.of_class("sources")
    assert "host-b" in read.of_class("sources")


@pytest.mark.parametrize(("runs", "sections"), [(21, 21), (61, 0)])
def test_each_of_many_runs_has_its_section(tmp_path: Path, runs: int, sections: int) -> None:
    rng = np.random.default_rng(5)
    for number in range(runs):
        steps = 0.05 * step_series("white", 20, rng)
        write_run(tmp_path / "logs" / f"run{number}", steps, {"aten::mm": 0.6})
    page, read = page_of(tmp_path / "logs", tmp_path)
    anchors = {value for name, value in read.attributes if name == "id"}
    assert len(anchors & {f"run-{number + 1}" for number in range(runs)}) == sections
    assert page.count("aten::mm") >= sections


def test_sessions_of_a_training_share_the_chart_of_its_power(tmp_path: Path) -> None:
    folder = tmp_path / "training"
    folder.mkdir()
    long_training(folder)
    page, read = page_of(folder, tmp_path)
    runs = len(logdir.scan(str(folder)).runs)
    assert runs > 1
    assert page.count("Power over the training") == 1
    links = [value for name, value in read.attributes if name == "href"]
    anchors = {value for name, value in read.attributes if name == "id"}
    assert len(links) == runs
    assert {link.removeprefix("#") for link in links} <= anchors


def test_power_alone_is_a_page(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "power.csv").write_text(
        "time_unix_s,watts\n" + "".join(f"{1_700_000_000 + i},{200 + i % 7}\n" for i in range(50))
    )
    _, read = page_of(tmp_path / "logs", tmp_path)
    assert "Power over the training" in read.text
    assert "energy" in read.of_class("figures")


def test_a_note_is_below_the_tables(burst: Path) -> None:
    (opened,) = Trainings(logdir.scan(str(burst))).each(logdir.scan(str(burst)).runs)
    known = run_facts.of_run(opened.entry, opened.run, "", opened.profiles, Aligning())
    place = run_sections.PageRun(Aligning(), "run-1", notes=[ShownNote("step 4", "<b>here</b>")])
    read = check_safe(document("run", run_sections.run_blocks(opened, known, place)))
    assert "<b>here</b>" in read.of_class("notes")


def test_a_file_that_is_there_is_kept(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "page.html"
    target.write_text("mine")
    assert main(["report", str(data / JAX), "--html", str(target)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert target.read_text() == "mine"
    assert main(["report", str(data / JAX), "--html", str(target), "--force"]) == 0
    assert target.read_text().startswith("<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_dash_is_standard_output(data: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["report", str(data / JAX), "--html", "-"]) == 0
    written = capfdbinary.readouterr()
    assert written.out.startswith(b"<!DOCTYPE html>")
    assert written.out.endswith(b"</html>\n")
    assert written.err.startswith(b"Wrote standard output: ")


@pytest.mark.parametrize("others", [["--json"], ["--tool", "op_stats"], ["--brief"]])
def test_one_form_at_a_time(others: list[str], data: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    try:
        code = main(["report", str(data / JAX), "--html", str(target), *others])
    except SystemExit as error:
        code = int(error.code or 0)
    assert code == 2
    assert not target.exists()


@pytest.mark.parametrize(
    "name",
    [
        "own/two_epochs_with_burst",
        "public/kineto_two_ranks",
        "public/ibm_aiu",
        "public/e4040_hd2551",
        "public/powerboard_tf22_run195247",
        "public/xplane_utf8_mangled_corrupt",
    ],
)
def test_recordings_of_all_formats(name: str, shared_data: Path, tmp_path: Path) -> None:
    code = main(["report", str(shared_data / name)])
    _, read = page_of(shared_data / name, tmp_path, code=code)
    assert "Sources" in read.text


def test_the_page_of_the_recorded_burst(shared_data: Path, tmp_path: Path) -> None:
    """The finding is the headline, is shaded, and its energy is among the figures."""
    page, read = page_of(shared_data / "own/two_epochs_with_burst", tmp_path)
    assert read.of_class("answer").startswith("Epoch 1, steps 46-71: +59 W")
    assert read.of_class("finding-label") == "+59 W for 2.5 s"
    assert 'class="finding"' in page
    assert "idle 180 W" in read.of_class("level")
    # Each by itself: where both have no room, the energy is left out and never cut.
    assert "<i>epoch 1</i><i>2,748 J ± 22</i>" in page
    # An energy has as many digits as its error lets it have.
    assert "<dt>epoch 1 less epoch 0</dt><dd><b>+131 J</b></dd><dd>± 27<" in page
    assert "measured" in read.of_class("badge")


def test_steps_that_are_only_asked_for_are_not_listed_as_slow(data: Path, tmp_path: Path) -> None:
    """The chart has steps of 3 ms, and their list had 14 µs."""
    _, read = page_of(data / JAX, tmp_path)
    assert "Step time by category" in read.text
    assert "Slowest steps" not in read.text


def test_the_validator_of_the_w3c_has_nothing_to_say(data: Path, tmp_path: Path) -> None:
    """Where its program is installed."""
    import subprocess

    program = shutil.which("vnu")
    if program is None:
        pytest.skip("no vnu")
    page_of(data / JAX, tmp_path)
    said = subprocess.run([program, str(tmp_path / "page.html")], capture_output=True, text=True)
    assert said.stderr + said.stdout == ""
