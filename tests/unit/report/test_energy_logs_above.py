"""Power logs above a logdir are told of and not taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui import cli
from tests.synthetic import hosts


@pytest.mark.parametrize(
    "names", [("a.csv",), ("a.csv", "b.csv"), ("a.csv", "b.csv", "c.csv", "d.csv")]
)
def test_every_log_that_may_be_the_runs_is_named(
    names: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = hosts.two(tmp_path)
    for name in names:
        made.plain_csv(tmp_path / name, "host-a")
    assert cli.main(["energy", str(made.logdir)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "no power log was found" in said
    assert all(str(tmp_path / name) in said for name in names[:3])
    assert ("and 1 more" in said) == (len(names) > 3)
    assert ("if it is this run's" if len(names) == 1 else "if one is this run's") in said
