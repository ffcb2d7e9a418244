"""Tokens and passwords in traces are found, and never shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import powertui
from powertui import cli
from powertui.data.secret_values import _HIDDEN as HIDDEN
from powertui.data.secret_values import is_secret_name, secret_names, shown_value
from powertui.view.timeline_model import Selected, TimelineModel

TOKEN = "hf_" + "aB3" * 12


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "SSH_KEY", "apiKey", "dbPassword"],
)
def test_a_name_says_that_its_value_is_a_secret(name: str) -> None:
    assert is_secret_name(name)
    assert shown_value(name, "x") == HIDDEN


@pytest.mark.parametrize(
    "name",
    ["TOKENIZERS_PARALLELISM", "key", "Seq key", "step_key", "num_tokens", "KEY", "Monkey", ""],
)
def test_other_names_are_shown(name: str) -> None:
    assert not is_secret_name(name)
    assert shown_value(name, "x") == "x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("python train.py --api-key abc --lr 1", f"python train.py --api-key {HIDDEN} --lr 1"),
        ("WANDB_TOKEN=abc python x", f"WANDB_TOKEN={HIDDEN} python x"),
        ("https://user:pass@host/x", f"https://user:{HIDDEN}@host/x"),
        (f"login {TOKEN} now", f"login {HIDDEN} now"),
        ("AKIA" + "A1B2" * 4, HIDDEN),
        ("ghp_" + "a1" * 18, HIDDEN),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", HIDDEN),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END", HIDDEN),
        ("--tokenizer gpt2 --max-tokens=12", "--tokenizer gpt2 --max-tokens=12"),
        ("tiktoken==0.9.0 tokenizers==0.21", "tiktoken==0.9.0 tokenizers==0.21"),
        ("aten::addmm", "aten::addmm"),
        ("", ""),
    ],
)
def test_the_secret_part_of_a_text_is_hidden(text: str, shown: str) -> None:
    assert shown_value("command_line", text) == shown


def test_what_is_no_text_stays_as_it_is() -> None:
    assert shown_value("password", 7) == 7
    assert shown_value("password", b"bytes") == b"bytes"


def test_secrets_are_found_in_nested_dictionaries() -> None:
    system = {"env": {"HF_TOKEN": "x", "HOME": "/root"}, "args": ["--password", "--token=y"]}
    assert secret_names("metadata", {"system": system}) == ["HF_TOKEN", "args"]


def test_a_deep_or_long_value_ends_the_search_early() -> None:
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"inner": deep}
    assert secret_names("metadata", deep) == []
    many = {f"name{number}": "x" for number in range(100_000)} | {"HF_TOKEN": "x"}
    assert secret_names("metadata", many) == []


@pytest.mark.parametrize("piece", ["://", "eyJa", "--api-key", "a:b@", "token=", "-"])
def test_a_long_text_is_read_in_one_pass(piece: str) -> None:
    text = piece * 300_000  # minutes, if any pattern began again at each place
    assert shown_value("command_line", text)


def _trace(folder: Path) -> Path:
    """A trace whose environment, and whose events, hold secrets."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10 * n, "dur": 5}
        for n in range(3)
    ]
    events[0]["args"] = {"HF_TOKEN": "quite-secret", "command": f"curl -H {TOKEN}", "Sequence": 4}
    path = folder / "host_1.1700000000.pt.trace.json"
    content = {
        "schemaVersion": 1,
        "distributedInfo": {"rank": 0, "password": "very-secret"},
        "metadata": {"system": {"env": {"HF_TOKEN": TOKEN, "[31mX_TOKEN": "y"}}},
        "traceEvents": events,
    }
    path.write_text(json.dumps(content))
    return path


def test_doctor_names_the_secrets_and_never_shows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _trace(tmp_path)
    cli.main(["doctor", str(path)])
    output = capsys.readouterr().out
    assert (
        f"{path.name} contains secrets, whose values are not shown: password, HF_TOKEN, [31mX_TOKEN"
        in re.sub(r"\s+", " ", output)
    )
    assert "remove them before you share the file" in output
    assert TOKEN not in output
    assert "very-secret" not in output


@pytest.mark.parametrize("verb", ["report", "doctor"])
def test_no_report_holds_the_value_of_a_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    cli.main([verb, str(_trace(tmp_path)), "--json"])
    output = capsys.readouterr().out
    assert json.loads(output)
    assert TOKEN not in output
    assert "very-secret" not in output


def test_the_details_of_an_event_hide_them(tmp_path: Path) -> None:
    view = powertui.open(_trace(tmp_path))[0]
    model = TimelineModel.from_run(view.opened.run)
    tracks = range(len(model.tracks))
    stats = [stat for track in tracks for stat in model.stats(Selected(track, 0))]
    shown = {stat.name: stat.value for stat in stats}
    assert shown["HF_TOKEN"] == HIDDEN
    assert shown["command"] == f"curl -H {HIDDEN}"
    assert shown["Sequence"] == 4


def test_recorded_traces_that_held_a_token_are_told(shared_data: Path) -> None:
    view = powertui.open(shared_data / "public" / "kineto_h100_bert")[0]
    assert view.opened.run.traces[0].secret_names == ("HF_TOKEN",)
