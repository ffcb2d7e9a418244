"""The config file: what it may say, and how it is told that it says something wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui import config
from powertui.errors import UsageError

GOOD = """\
color = "16"
glyphs = "auto"
mouse = false
fps = 12

[hosts.bmc1]
host = "10.0.0.7:623"
user = "viewer"
level = "operator"
sensors = ["Total Power"]
timeout = 1
"""


def test_a_good_file() -> None:
    found = config.parse(GOOD, "c.toml")
    assert (found.color, found.glyphs, found.mouse, found.fps) == ("16", None, False, 12)
    assert found.hosts["bmc1"] == config.NamedHost(
        "bmc1", "10.0.0.7:623", user="viewer", level="operator", sensors=("Total Power",), timeout=1
    )


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ('color = "256"\ncolour = "256"\n', 2, "Did you mean color?"),
        ('\n\n[hosts.a]\nhost = "x"\nusr = "y"\n', 5, "Did you mean user?"),
        ('[hosts.a]\npassword = "hunter2"\n', 2, "password_file"),
        ('[hosts.a]\nkg = "00"\n', 2, "kg_file"),
        ('color = "pink"\n', 1, "not one of"),
        ("fps = 0\n", 1, "between 1 and 120"),
        ("fps = true\n", 1, "whole number"),
        ('mouse = "no"\n', 1, "true or false"),
        ("[hosts.a]\ntimeout = -1\n", 2, "seconds"),
        ("[hosts]\na = 3\n", 2, "table"),
        ("[hosts.a]\nsensors = [1]\n", 2, "names"),
    ],
)
def test_mistakes_name_file_line_and_remedy(text: str, line: int, part: str) -> None:
    with pytest.raises(UsageError) as error:
        config.parse(text, "c.toml")
    assert f"c.toml:{line}:" in str(error.value)
    assert part in str(error.value)
    assert "hunter2" not in str(error.value)


def test_broken_toml_says_where() -> None:
    with pytest.raises(UsageError, match="not valid TOML"):
        config.parse("color = pink", "c.toml")


def test_where_the_file_lies(tmp_path: Path) -> None:
    assert config.default_path({"XDG_CONFIG_HOME": "/x"}) == Path("/x/powertui/config.toml")
    assert config.default_path({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}) == Path(
        "/h/.config/powertui/config.toml"
    )
    assert config.load({"XDG_CONFIG_HOME": str(tmp_path)}) == config.Config()
    with pytest.raises(UsageError, match="no such config file"):
        config.load({"POWERTUI_CONFIG": str(tmp_path / "nothing.toml")})
    (tmp_path / "c.toml").write_text(GOOD)
    assert config.load({"POWERTUI_CONFIG": str(tmp_path / "c.toml")}).fps == 12
    (tmp_path / "c.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="UTF-8"):
        config.load({"POWERTUI_CONFIG": str(tmp_path / "c.toml")})
