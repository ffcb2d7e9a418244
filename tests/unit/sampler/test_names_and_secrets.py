"""URLs, hosts of the config file, and where passwords come from and do not go."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.config import NamedHost
from powertui.errors import UsageError
from powertui.sampler import credentials
from powertui.sampler.child import decode_options, encode_options
from powertui.sampler.credentials import Secret, find_password, read_secret_file, scrub
from powertui.sampler.source import Options, make_names_unique, open_source
from powertui.sampler.targets import SourceArguments, targets
from powertui.sampler.urls import Address, host_port, parse_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ipmi://bmc", Address("ipmi", "bmc")),
        ("ipmi://viewer@bmc:9623", Address("ipmi", "bmc", 9623, "viewer")),
        ("ipmi://a%40b@[fe80::1]:623", Address("ipmi", "fe80::1", 623, "a@b")),
        ("IPMITOOL:open", Address("ipmitool", path="open")),
        ("ipmitool:open?sudo=1", Address("ipmitool", path="open", query={"sudo": "1"})),
        ("hwmon:", Address("hwmon")),
        ("csv:/tmp/a?b#c.csv", Address("csv", path="/tmp/a?b#c.csv")),
        ("csv:///tmp/x.csv", Address("csv", path="/tmp/x.csv")),
        (
            "prometheus://p:9090/prom?instance=a|b",
            Address("prometheus", "p", 9090, path="/prom", query={"instance": "a|b"}),
        ),
    ],
)
def test_urls(text, expected):
    assert parse_url(text) == expected
    assert parse_url(str(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "bmc",
        "",
        "ipmi://",
        "ipmi://bmc:0",
        "ipmi://bmc:x",
        "ipmi://bmc:70000",
        "ipmi://[::1",
        "1://x",
    ],
)
def test_impossible_urls_are_wrong_usage(text):
    with pytest.raises(UsageError):
        parse_url(text)


def test_a_password_in_a_url_is_refused_and_not_repeated():
    with pytest.raises(UsageError, match="visible to every user") as caught:
        parse_url("ipmi://viewer:hunter2@bmc")
    assert "hunter2" not in str(caught.value)
    assert "ipmi://viewer@bmc" in str(caught.value)


@given(
    st.from_regex(r"[a-z0-9.-]{1,20}", fullmatch=True),
    st.none() | st.integers(1, 65535),
    st.text(max_size=12),
)
@settings(max_examples=100)
def test_any_user_and_host_survive_the_url(host, port, user):
    address = Address("ipmi", host, port, user)
    assert parse_url(str(address)) == address


def test_a_bare_ipv6_address_is_a_host():
    assert host_port("fe80::1") == ("fe80::1", None)
    assert host_port("[fe80::1]:623") == ("fe80::1", 623)


def test_an_unknown_source_names_those_that_exist():
    with pytest.raises(UsageError, match="no power source 'snmp'") as caught:
        open_source("snmp://pdu")
    assert "redfish" in caught.value.hint


# hosts


CONFIG = {
    "bmc1": NamedHost(
        "bmc1",
        host="10.0.0.7:9623",
        user="viewer",
        level="operator",
        sensors=("Total Power",),
        timeout=5.0,
    ),
    "gone": NamedHost("gone", source="redfish://10.0.0.8", user="admin"),
}


def found(**arguments):
    environment = {"IPMI_PASSWORD": "pw"}
    return targets(SourceArguments(**arguments), config=CONFIG, environment=environment, ask=False)


def test_a_host_of_the_config_file():
    (target,) = found(hosts=["bmc1"])
    assert target.url == "auto://viewer@10.0.0.7:9623"
    assert (
        target.options.name,
        target.options.level,
        target.options.sensors,
        target.options.timeout,
    ) == (
        "bmc1",
        "operator",
        ("Total Power",),
        5.0,
    )
    assert target.options.password == Secret("pw")


def test_the_command_line_wins():
    (target,) = found(hosts=["bmc1:700"], user="other", level="user", sensors=["x"], timeout=1.0)
    assert target.url == "auto://other@10.0.0.7:700"
    assert (target.options.level, target.options.sensors, target.options.timeout) == (
        "user",
        ("x",),
        1.0,
    )


def test_a_source_of_the_config_file():
    assert found(hosts=["gone"])[0].url == "redfish://admin@10.0.0.8"


def test_a_host_that_is_not_in_the_config_file():
    assert found(hosts=["[::1]:623"], user="u")[0].url == "auto://u@[::1]:623"


def asked_for(config=None, **arguments):
    """What passwords are looked for, and which of them each target has."""
    asked = []

    def find(host, user, *, shown="", file="", **_):
        asked.append((shown, host, user, file))
        return Secret(f"password {len(asked)}")

    made = targets(SourceArguments(**arguments), config=config, find=find)
    return asked, [target.options.password for target in made]


def test_the_password_is_asked_for_once_per_scheme_host_port_and_user():
    asked, secrets = asked_for(
        hosts=["a", "A.", "a:623", "b"],
        sources=["redfish://a", "redfish://A:443", "redfish://a:8443", "hwmon:", "csv:x"],
        user="u",
    )
    assert [host for _, host, *_ in asked] == ["a", "a:623", "b", "a", "a:8443"]
    assert [shown for shown, *_ in asked] == ["a", "a:623", "b", "redfish://a", "redfish://a:8443"]
    assert [s and s.reveal()[-1] for s in secrets] == [
        "1",
        "1",
        "2",
        "3",
        "4",
        "4",
        "5",
        None,
        None,
    ]


@pytest.mark.parametrize("scheme", ["ipmi", "ipmitool", "redfish", "auto"])
def test_two_ports_of_one_host_have_two_passwords(scheme):
    entries = {
        name: NamedHost(
            name, source=f"{scheme}://viewer@localhost:{port}", password_file=f"/{name}.password"
        )
        for name, port in (("a", 8443), ("b", 8444))
    }
    asked, secrets = asked_for(hosts=["a", "b"], config=entries)
    assert [(host, file) for _, host, _, file in asked] == [
        ("localhost:8443", "/a.password"),
        ("localhost:8444", "/b.password"),
    ]
    assert secrets == [Secret("password 1"), Secret("password 2")]
    assert asked[0][0] == (
        "a (localhost:8443)" if scheme == "auto" else f"a ({scheme}://localhost:8443)"
    )


def test_two_entries_for_one_place_have_each_its_own_file():
    entries = {
        name: NamedHost(name, host="bmc", user="u", password_file=f"/{name}") for name in ("a", "b")
    }
    asked, secrets = asked_for(hosts=["a", "b"], config=entries)
    assert [file for *_, file in asked] == ["/a", "/b"]
    assert secrets[0] != secrets[1]


def test_ipv6_addresses_are_one_place_however_they_are_written():
    asked, _ = asked_for(
        sources=["redfish://u@[::1]:8443", "redfish://u@[0:0::1]:8443", "redfish://u@[::1]:8444"]
    )
    assert [host for _, host, *_ in asked] == ["[::1]:8443", "[::1]:8444"]


def test_a_machine_that_is_named_twice_keeps_its_first_name():
    """IPMI and Redfish of one machine are two sources of one machine: their power is not
    added up.
    """
    entries = {
        "a": NamedHost("a", source="ipmi://u@bmc"),
        "b": NamedHost("b", source="redfish://u@BMC:443"),
    }
    named = SourceArguments(
        hosts=["a", "b"],
        sources=["ipmitool://u@bmc:623", "redfish://u@bmc:8443"],
        password=Secret("x"),
    )
    made = targets(named, config=entries)
    assert [target.options.machine for target in made] == ["a", "a", "a", ""]
    assert [target.options.name for target in made] == ["a", "b", "", ""]


def test_a_machine_that_is_named_by_its_address_has_its_name_of_the_config_file():
    config = {
        "node17": NamedHost("node17", host="10.0.0.7"),
        "node18": NamedHost("node18", source="redfish://10.0.0.8:8443"),
        "wrong": NamedHost("wrong", source="nonsense"),
    }
    named = SourceArguments(
        hosts=["10.0.0.7", "10.0.0.9"],
        sources=["redfish://10.0.0.8:8443", "redfish://10.0.0.8"],
        password=Secret("pw"),
    )
    made = targets(named, config=config, environment={}, ask=False)
    assert [target.options.machine for target in made] == ["node17", "", "node18", ""]
    assert [target.options.name for target in made] == ["node17", "", "node18", ""]


def test_a_machine_can_be_named_on_the_command_line():
    named = SourceArguments(
        hosts=["node17=10.0.0.7:700", "node18=redfish://10.0.0.8", "node19=bmc1"],
        sources=["node20=ipmi://10.0.0.9", "prometheus://p:9090?instance=a"],
        password=Secret("pw"),
    )
    config = {"bmc1": NamedHost("bmc1", host="10.0.0.19", user="viewer")}
    made = targets(named, config=config, environment={}, ask=False)
    assert [(target.options.machine, target.url) for target in made] == [
        ("node17", "auto://10.0.0.7:700"),
        ("node18", "redfish://10.0.0.8"),
        ("node19", "auto://viewer@10.0.0.19"),
        ("node20", "ipmi://10.0.0.9"),
        ("", "prometheus://p:9090?instance=a"),
    ]


def test_another_port_of_a_named_host_is_another_machine():
    named = SourceArguments(hosts=["bmc1", "bmc1:700", "bmc1:9623"], password=Secret("x"))
    made = targets(named, config=CONFIG)
    assert [target.options.machine for target in made] == ["bmc1", "bmc1:700", "bmc1"]
    assert [target.options.name for target in made] == ["bmc1", "bmc1:700", "bmc1"]


def test_the_sources_of_one_host_are_told_apart():
    sources = [open_source(url) for url in ("redfish://a", "ipmi://a", "ipmi://a", "redfish://b")]
    sources[3].name = "a#2"
    make_names_unique(sources)
    assert len({source.name for source in sources}) == 4
    assert sources[0].name == "a"
    assert sources[3].name == "a#2"


def test_in_band_sources_need_no_password():
    def find(*_, **__):
        raise AssertionError

    sources = ["hwmon:", "rapl:", "ipmitool:open", "prometheus://p", "csv:f"]
    targets(SourceArguments(sources=sources), find=find)


# secrets


def test_a_secret_does_not_print_itself():
    secret = Secret("hunter2")
    options = Options(user="u", password=secret, kg=secret)
    for text in (
        repr(secret),
        str(secret),
        f"{secret}",
        repr(options),
        f"{options!r}",
        "%s" % secret,  # noqa: UP031
    ):
        assert "hunter2" not in text
    for write in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            write(secret)


def test_options_survive_the_pipe_to_the_recorder():
    options = Options(
        "u", Secret("p"), Secret("k"), "operator", True, ("a", "b"), 3.0, "/root", "name"
    )
    assert decode_options(encode_options(options)) == options
    assert decode_options(encode_options(Options())) == Options()


def test_a_prompt_without_a_user_says_how_to_name_one(monkeypatch):
    asked = []
    monkeypatch.setattr(
        credentials.sys, "stdin", type("Terminal", (), {"isatty": lambda self: True})()
    )
    monkeypatch.setattr(credentials.getpass, "getpass", lambda words: asked.append(words) or "pw")
    for user in ("viewer", ""):
        assert find_password("bmc1", user, ask=True, environment={}).reveal() == "pw"
    assert asked == [
        "Password of viewer on bmc1: ",
        "Password on bmc1, without a user name (--user names one): ",
    ]


def test_a_mistyped_host_is_an_error_before_a_password_is_asked_for(monkeypatch):
    def no_question(words):
        raise AssertionError(words)

    monkeypatch.setattr(
        credentials.sys, "stdin", type("Terminal", (), {"isatty": lambda self: True})()
    )
    monkeypatch.setattr(credentials.getpass, "getpass", no_question)
    for name in ("bmc.invalid", "a" * 70):
        with pytest.raises(UsageError, match="cannot be resolved") as raised:
            find_password(name, "viewer", environment={}, machine=name)
        assert raised.value.hint == "Check how it is written."
    monkeypatch.setattr(credentials.getpass, "getpass", lambda words: "pw")
    assert find_password("h", "viewer", environment={}, machine="127.0.0.1").reveal() == "pw"


def test_password_file(tmp_path):
    path = tmp_path / "pw"
    path.write_text("secret with spaces \nsecond line\n")
    path.chmod(0o600)
    assert read_secret_file(str(path)).reveal() == "secret with spaces "


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_password_file_that_others_can_read_is_refused(tmp_path, mode):
    path = tmp_path / "pw"
    path.write_text("hunter2\n")
    path.chmod(mode)
    with pytest.raises(UsageError, match="can be read by others") as caught:
        read_secret_file(str(path))
    assert caught.value.hint == f"chmod 600 {path}"
    assert "hunter2" not in str(caught.value)


def test_other_faults_of_a_password_file(tmp_path):
    empty = tmp_path / "empty"
    empty.write_text("\n")
    empty.chmod(0o600)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\n")
    binary.chmod(0o600)
    for path, said in (
        (tmp_path / "no", "cannot be read"),
        (empty, "empty"),
        (binary, "UTF-8"),
        (tmp_path, "cannot be read"),
    ):
        with pytest.raises(UsageError, match=said):
            read_secret_file(str(path))


def test_the_order_of_places(tmp_path, monkeypatch):
    path = tmp_path / "pw"
    path.write_text("from file")
    path.chmod(0o600)
    environment = {"IPMI_PASSWORD": "from environment"}
    monkeypatch.setattr(
        credentials, "_from_keyring", lambda host, user: Secret(f"keyring of {user}@{host}")
    )
    assert find_password("h", "u", file=str(path), environment=environment) == Secret("from file")
    assert find_password("h", "u", environment=environment) == Secret("from environment")
    assert find_password("h", "u", environment={}) == Secret("keyring of u@h")
    monkeypatch.setattr(credentials, "_from_keyring", lambda host, user: None)
    assert find_password("h", "u", environment={}, ask=False) is None


def test_a_key_store_that_is_broken_is_no_error(monkeypatch):
    class Broken:
        def get_password(self, service, user):
            raise RuntimeError("locked")

    monkeypatch.setitem(sys.modules, "keyring", Broken())
    assert find_password("h", "u", environment={}, ask=False) is None


def test_a_key_store_is_asked_by_host_and_user(monkeypatch):
    class Store:
        def get_password(self, service, user):
            return f"{service}/{user}"

    monkeypatch.setitem(sys.modules, "keyring", Store())
    assert find_password("h", "u", environment={}, ask=False) == Secret("powertui:h/u")


def test_without_a_terminal_nobody_is_asked():
    code = (
        "from powertui.sampler.credentials import find_password; print(find_password('h', "
        "'u', environment={}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "None"


def test_scrub_takes_every_variable_that_holds_a_secret():
    given_ = {"PATH": "/bin", "IPMI_PASSWORD": "a", "IPMITOOL_PASSWORD": "b", "IPMI_KGKEY": "c"}
    assert scrub(given_) == {"PATH": "/bin"}
    assert "IPMI_PASSWORD" not in scrub(os.environ)
