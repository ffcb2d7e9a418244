"""Power logs of a whole cluster: text stays short and says what it left out, JSON has
everything.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from powertui.cli import main
from tests.adversarial import sizes

_MAX_BYTES = 32 << 10  # of text that somebody reads
_CHANNELS = 250


def _log(name: str, folder: Path) -> str:
    shape = next(shape for shape in sizes.POWER if shape.name == name)
    return str(shape.write(folder, _CHANNELS))


@pytest.mark.parametrize(
    "verb",
    [["report"], ["report", "--markdown"], ["energy"], ["energy", "--markdown"]],
    ids=" ".join,
)
@pytest.mark.parametrize("name", ["power: columns", "power: influx series"])
def test_text_about_hundreds_of_channels_is_short(
    name: str, verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*verb, _log(name, tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert len(printed.encode()) < _MAX_BYTES
    if verb == ["report", "--markdown"]:  # of a log alone what it comes to, without its channels
        assert "kJ ± " in printed or "joules of this log are not known" in printed
        assert "\n- \n" not in printed
    else:
        assert "more (--json lists them)" in printed


@pytest.mark.parametrize("name", ["power: columns", "power: influx series"])
def test_json_lists_every_channel(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _log(name, tmp_path)
    assert main(["report", "--json", path]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert len(facts["runs"][0]["power"]) == _CHANNELS
    assert [channel["status"] for channel in facts["trainings"][0]["channels"]] == [
        "aligned"
    ] * _CHANNELS
    assert main(["energy", "--json", path]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"][0]["sensors"]) == _CHANNELS
