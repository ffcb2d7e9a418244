"""Several BMCs behind one address, each on a port of its own, as `ssh -L 8443:bmc1:443 -L
8444:bmc2:443` puts them there.

What each of them was sent is read where it arrives: at the BMC.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from powertui import open as open_runs
from powertui.data.energy import scopes
from powertui.data.power import registry
from powertui.feed import ReplayFeed
from powertui.view import live_rows
from tests.bmc.redfish import RedfishServer
from tests.bmc.rmcpplus import Bmc

pytestmark = pytest.mark.e2e

WATTS = {"node-a": 300, "node-b": 700}
PASSWORDS = {"node-a": "secret-of-a", "node-b": "secret-of-b"}


class Pair:
    """Two BMCs of one kind, with what they were sent."""

    def __init__(self, scheme: str, users: dict[str, str], folder: Path) -> None:
        self.scheme, self.users = scheme, users
        self.servers: dict[str, Bmc | RedfishServer] = {}
        for name, user in users.items():
            if scheme == "ipmi":
                bmc = Bmc(users={user: (PASSWORDS[name], 4)})
                bmc.machine.watts = WATTS[name]
                self.servers[name] = bmc
            else:
                (folder / name).mkdir()
                server = RedfishServer(folder / name)
                server.user, server.password, server.watts = (
                    user,
                    PASSWORDS[name],
                    float(WATTS[name]),
                )
                self.servers[name] = server

    def url(self, name: str) -> str:
        return f"{self.scheme}://{self.users[name]}@127.0.0.1:{self.servers[name].port}"

    def each_had_its_own_alone(self) -> None:
        for name, server in self.servers.items():
            right = (self.users[name], True if self.scheme == "ipmi" else PASSWORDS[name])
            assert server.attempts, f"{name} was never asked"
            assert set(server.attempts) == {right}, name


@pytest.fixture(params=["ipmi", "redfish"])
def scheme(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["one user", "two users"])
def pair(request: pytest.FixtureRequest, scheme: str, tmp_path: Path) -> Iterator[Pair]:
    users = {"node-a": "viewer", "node-b": "viewer" if request.param == "one user" else "admin"}
    made = Pair(scheme, users, tmp_path)
    with contextlib.ExitStack() as stack:
        for server in made.servers.values():
            stack.enter_context(server)
        yield made


@pytest.fixture
def configured(pair: Pair, environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """An entry in the config file for each, with a password file of its own, and no other password
    anywhere.
    """
    lines = []
    for name in pair.servers:
        secret = tmp_path / f"{name}.password"
        secret.write_text(PASSWORDS[name] + "\n")
        secret.chmod(0o600)
        source = f'source = "{pair.url(name)}"'
        lines += [
            f"[hosts.{name}]",
            source,
            f'password_file = "{secret}"',
            "insecure = true",
            "timeout = 60.0",
        ]
    config = tmp_path / "config.toml"
    config.write_text("\n".join(lines) + "\n")
    return {
        **{k: v for k, v in environment.items() if k != "IPMI_PASSWORD"},
        "POWERTUI_CONFIG": str(config),
    }


HOSTS = ("--host", "node-a", "--host", "node-b")


def finished(powertui, *words: str, env: dict[str, str]) -> str:
    """What a run says on both of its outputs."""
    process = powertui(*words, env=env)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    return out + err


def test_each_sees_its_own_secret_and_has_its_own_name(pair, configured, powertui, tmp_path):
    said = finished(
        powertui,
        "record",
        *HOSTS,
        "-o",
        "p.csv",
        "--interval",
        "0.1",
        "--",
        "sleep",
        "1",
        env=configured,
    )
    pair.each_had_its_own_alone()
    assert "2 machines together (node-a, node-b): " in said
    assert re.search(r"^powertui:   node-a .*: .* mean 300\.0 W", said, re.MULTILINE)
    assert re.search(r"^powertui:   node-b .*: .* mean 700\.0 W", said, re.MULTILINE)
    assert "127.0.0.1" not in said
    rows = pd.read_csv(tmp_path / "p.csv", comment="#")
    assert {(row.source, row.watts) for row in rows.itertuples() if row.watts > 0} == {
        ("node-a", 300),
        ("node-b", 700),
    }
    heads = [
        line
        for line in (tmp_path / "p.csv").read_text().splitlines()
        if line.startswith("# source: ")
    ]
    told = [json.loads(line.removeprefix("# source: ")) for line in heads]
    assert {(one["name"], one["host"], one["channels"][0]["host"]) for one in told} == {
        (n, n, n) for n in WATTS
    }


def test_their_names_stand_in_every_table_that_is_made_of_the_recording(
    pair, configured, powertui, tmp_path, monkeypatch
):
    finished(
        powertui,
        "record",
        *HOSTS,
        "-o",
        "p.csv",
        "--interval",
        "0.1",
        "--",
        "sleep",
        "1",
        env=configured,
    )
    report = finished(powertui, "report", "p.csv", env=configured)
    energy = finished(powertui, "energy", "p.csv", env=configured)
    for text in (report, energy):
        assert "127.0.0.1" not in text
        assert "node-a" in text
        assert "node-b" in text
    monkeypatch.chdir(tmp_path)
    samples = open_runs("p.csv")[0].power
    assert set(zip(samples.host, samples.watts, strict=True)) == set(WATTS.items())
    feed = ReplayFeed(registry.load("p.csv").series, "p.csv")
    names = live_rows.channel_names(feed.board.histories).values()
    assert {name.split()[0] for name in names} == set(WATTS)


def test_sensors_lists_both_by_their_names(pair, configured, powertui):
    said = finished(powertui, "sensors", *HOSTS, env=configured)
    pair.each_had_its_own_alone()
    for name, server in pair.servers.items():
        assert re.search(
            rf"^yes  {name}  {pair.scheme}://{pair.users[name]}@127\.0\.0\.1:{server.port} ",
            said,
            re.MULTILINE,
        )
    told = json.loads(finished(powertui, "sensors", *HOSTS, "--json", env=configured))
    assert [(one["name"], one["host"]) for one in told["sensors"]] == [
        (name, name) for name in WATTS
    ]


def test_without_names_they_are_told_apart_by_their_ports(pair, environment, powertui, tmp_path):
    """One password for both: it is right for one of them, and the other one is told apart in what
    it says.
    """
    for name, server in pair.servers.items():
        if pair.scheme == "ipmi":
            server.users = {pair.users[name]: ("pw-viewer", 4)}
        else:
            server.password = "pw-viewer"
    sources = [word for name in pair.servers for word in ("--source", pair.url(name))]
    words = ["--insecure", "--timeout", "60", "-o", "p.csv", "--interval", "0.1"]
    said = finished(powertui, "record", *sources, *words, "--", "sleep", "1", env=environment)
    ports = [server.port for server in pair.servers.values()]
    assert f"2 machines together (127.0.0.1:{ports[0]}, 127.0.0.1:{ports[1]}): " in said
    log = registry.load(str(tmp_path / "p.csv"))
    assert {one.sensor.host for one in log.series} == {f"127.0.0.1:{port}" for port in ports}
    assert len(scopes.total(log.series).series) == 2, (
        "two machines are two, also when they are read back"
    )


def test_a_refusal_names_the_one_that_refused(pair, configured, powertui, tmp_path):
    (tmp_path / "node-b.password").write_text("another\n")
    process = powertui("record", *HOSTS, "-o", "p.csv", "--", "sleep", "1", env=configured)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "node-b refuses the" in err
    assert set(pair.servers["node-a"].attempts) <= {
        (pair.users["node-a"], True if pair.scheme == "ipmi" else PASSWORDS["node-a"])
    }
    assert "another" not in err
    assert PASSWORDS["node-a"] not in err


def test_two_protocols_of_one_machine_are_not_added_up(tmp_path, environment, powertui):
    """Ports of different protocols behind one address may lead to one machine or to two: that is
    not guessed.
    """
    (tmp_path / "r").mkdir()
    server = RedfishServer(tmp_path / "r")
    server.user, server.password = "viewer", "pw-viewer"
    with Bmc(users={"viewer": ("pw-viewer", 4)}) as bmc, server:
        sources = [
            "--source",
            f"ipmi://viewer@127.0.0.1:{bmc.port}",
            "--source",
            f"redfish://viewer@127.0.0.1:{server.port}",
        ]
        words = ["--insecure", "--timeout", "60", "-o", "p.csv", "--interval", "0.1"]
        said = finished(powertui, "record", *sources, *words, "--", "sleep", "1", env=environment)
        assert set(bmc.attempts) == {("viewer", True)}
        assert set(server.attempts) == {("viewer", "pw-viewer")}
    assert "mean 245.0 W" in said
    assert "together" not in said
