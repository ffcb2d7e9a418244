"""What powertui writes is never taken for a power log; what it records is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui import cli
from powertui.data.asked import LogColumns
from powertui.data.power import own_tables, registry
from powertui.data.power.source import LogFile
from powertui.data.tools.registry import TOOLS
from powertui.errors import UnreadableFile
from tests.synthetic import Plan, build

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

DATA = Path(__file__).parents[2] / "data" / "power"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory) -> Path:
    work = build(1, Plan(seconds=12, step_s=0.5, epochs=2))
    folder = tmp_path_factory.mktemp("run") / "logs"
    profile = folder / "plugins" / "profile" / "2024_01_01_00_00_00" / "host.xplane.pb"
    profile.parent.mkdir(parents=True)
    profile.write_bytes(work.xplane())
    rows = "".join(
        f"{1_700_000_000 + t / 4},{float(work.power(t / 4)) + t % 3}\n" for t in range(-20, 80)
    )
    (folder / "power.csv").write_text("time_unix_s,watts\n" + rows)
    return folder


@pytest.mark.parametrize("comments", [(), ("--comments",), ("--format", "json")])
@pytest.mark.parametrize("what", ["samples", "steps", "ops", "events"])
def test_an_export_is_no_power_log(logdir: Path, tmp_path: Path, what: str, comments) -> None:
    path = tmp_path / "out.csv"
    assert cli.main(["export", str(logdir), "--what", what, "-o", str(path), *comments]) == 0
    assert registry.sniff(str(path)) == ("", 0)
    with pytest.raises(UnreadableFile, match="powertui"):
        registry.load(str(path))


@pytest.mark.parametrize("form", ["--csv", "--json", "--markdown", ""])
@pytest.mark.parametrize(
    "name", [*(f"--tool {tool.name}" for tool in TOOLS), "energy", "report", "doctor"]
)
def test_an_answer_is_no_power_log(
    logdir: Path, tmp_path: Path, name: str, form: str, capsys
) -> None:
    verb = name if not name.startswith("--") else "report"
    cli.main([verb, str(logdir), *(name.split() if verb != name else ()), *form.split()])
    told = capsys.readouterr().out
    path = tmp_path / "answer.txt"
    path.write_text(told)
    assert told or name == "--tool kernel_stats"
    assert registry.sniff(str(path))[1] < registry.IS_POWER


def test_the_next_answer_is_not_destroyed_by_an_export_in_the_folder(
    logdir: Path, tmp_path: Path, capsys
) -> None:
    assert cli.main(["energy", str(logdir)]) == 0
    before = capsys.readouterr().out
    path = logdir / "samples.csv"
    try:
        assert cli.main(["export", str(logdir), "-o", str(path)]) == 0
        capsys.readouterr()
        assert cli.main(["energy", str(logdir)]) == 0
        assert capsys.readouterr().out == before
    finally:
        for left in logdir.glob("samples.csv*"):
            left.unlink()


def test_columns_that_are_named_are_read_all_the_same(logdir: Path, tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    assert cli.main(["export", str(logdir), "-o", str(path)]) == 0
    log = registry.load(str(path), LogColumns(time_col="unix_s", watts_col="watts: watts"))
    assert len(log.series[0]) > 10


def test_no_log_that_others_write_is_taken_for_ours() -> None:
    known = [path for path in DATA.iterdir() if path.is_file() and path.suffix != ".db"]
    assert len(known) > 20
    assert [
        path.name for path in known if own_tables.own_export(LogFile(str(path)).head_text)
    ] == []
