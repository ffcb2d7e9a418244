"""Whose power it is: names of hosts as logs and profiles really write them, and what must never be
added to a host.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy import hostnames, owner_notes, power_owners
from powertui.data.energy.profiled_machines import HostEvidence
from powertui.data.model import Badge, PowerSeries, Run, Scope, Sensor, Trace
from powertui.errors import UsageError
from tests.synthetic import traces


def trace(host: str, *inside: str) -> Trace:
    made = traces.trace({("/host:CPU", "python"): [(0, 1000, "work")]})
    return replace(made, host=host, hostnames=inside)


def channel(host: str = "", name: str = "watts", path: str = "power.csv") -> PowerSeries:
    return PowerSeries(Sensor(name, "csv", Scope.NODE, host), np.arange(3), np.ones(3), path=path)


def owners(
    hosts: list[str], labels: list[str], said: tuple[tuple[str, str], ...] = ()
) -> list[str | None]:
    """The host of each label, as the profile writes it; None for nobody's."""
    found = power_owners.attribute_power(
        [channel(label) for label in labels], [trace(host) for host in hosts], said
    )
    return [None if one.machine is None else found.machines[one.machine] for one in found.owners]


@pytest.mark.parametrize(
    "label",
    [
        "node17",
        "NODE17",
        "Node17.",
        "node17.cluster",
        "node17.cluster.example.org",
        "bmc-node17",
        "node17-bmc",
        "node17_bmc",
        "ipmi-node17",
        "node17-ipmi",
        "node17.mgmt.cluster",
        "node17.bmc",
        "bmc.node17.cluster",
        "node17-ilo",
        "node17-idrac",
        "node17:9290",
        "node17.cluster:9100",
        "node17-bmc:623",
        "ipmi://viewer@bmc-node17:623",
        "NODE17-BMC.Mgmt.Cluster",
        "node17bmc",
    ],
)
def test_a_host_by_the_names_that_logs_give_it(label: str) -> None:
    assert owners(["node16", "node17"], [label]) == ["node17"]
    assert owners(["node17.cluster", "node18.cluster"], [label]) == ["node17.cluster"]


@pytest.mark.parametrize(
    ("hosts", "label"),
    [
        (["host-1", "host-2"], "host-10"),  # a part of a name is another name
        (["host-10", "host-2"], "host-1"),
        (["host-a", "host-b"], "bmc-17"),
        (["17", "18"], "bmc-17"),
        (["node17.dc1", "node18.dc1"], "node17.dc2"),  # the same first label in another domain
        (["node17.dc1", "node17.dc2"], "node17"),  # could be both
        (["node17.dc1", "node17.dc2"], "bmc-node17"),
        (["10.0.0.7", "10.0.0.8"], "10.0.0.70"),
        (["10.0.0.7", "10.0.0.8"], "10"),
        (["node17", "node18"], "10.0.0.7"),  # nothing is looked up
        (["node17", "node18"], ""),
        (["node17", "node18"], "localhost"),
        (["node17"], "node18"),  # one host, and a log that says another
        (["node17"], "10.0.0.9"),
        (["worker-1_6003", "worker-2_6003"], "worker"),
    ],
)
def test_what_is_not_surely_a_hosts_is_nobodys(hosts: list[str], label: str) -> None:
    assert owners(hosts, [label]) == [None]


def test_addresses_are_compared_as_addresses() -> None:
    hosts = ["34.83.195.179_6003", "34.83.195.180_6003"]
    assert owners(hosts, ["34.83.195.180", "34.83.195.179:623", "::ffff:34.83.195.180"]) == [
        hosts[1],
        hosts[0],
        hosts[1],
    ]
    assert owners(["2001:db8::7", "2001:db8::8"], ["2001:0DB8:0::7", "[2001:db8::8]:623"]) == [
        "2001:db8::7",
        "2001:db8::8",
    ]
    assert owners(["ip-10-0-0-7.ec2.internal", "ip-10-0-0-8.ec2.internal"], ["10.0.0.8"]) == [
        "ip-10-0-0-8.ec2.internal"
    ]
    assert owners(["10.0.0.7"], ["127.0.0.1"]) == [
        "10.0.0.7"
    ]  # loopback names nobody: the only host, assumed


def test_the_port_of_a_worker_is_not_its_host() -> None:
    assert owners(["worker-1_6003", "worker-2_6003"], ["worker-2", "worker-1.cluster"]) == [
        "worker-2_6003",
        "worker-1_6003",
    ]
    assert owners(["node_17", "node_18"], ["node_17", "node_18"]) == ["node_17", "node_18"]


def test_hosts_that_are_called_like_controllers() -> None:
    hosts = ["mgmt7", "bmc-host1", "ilo9.dc2"]
    assert owners(hosts, ["mgmt7-bmc", "bmc-mgmt7", "mgmt7.cluster"]) == ["mgmt7"] * 3
    assert owners(hosts, ["bmc-host1.mgmt", "bmc-host1-bmc", "ilo9_bmc.dc2"]) == [
        "bmc-host1",
        "bmc-host1",
        "ilo9.dc2",
    ]
    assert owners(["node17", "node17-mgmt"], ["node17-mgmt.cluster", "node17-bmc"]) == [
        "node17-mgmt",
        "node17",
    ]


def test_two_names_that_cannot_both_be_one_host_are_nobodys() -> None:
    assert owners(["node17"], ["node17.dc1", "node17.dc2"]) == [None, None]
    found = power_owners.attribute_power(
        [channel("node17.dc1"), channel("node17.dc2")], [trace("node17")]
    )
    assert "cannot all be node17" in found.owners[0].why
    # one that is written the same is the host's all the same, and so is the controller in a
    # management network
    assert owners(["node17"], ["node17", "node17.dc1", "node17.dc2"]) == ["node17", None, None]
    assert owners(["node17"], ["node17.cluster", "node17.mgmt.cluster"]) == ["node17", "node17"]


def test_a_person_says_whose_it_is() -> None:
    hosts, labels = ["host-a", "host-b"], ["bmc-17", "bmc-18", "10.0.0.7"]
    assert owners(hosts, labels, (("bmc-17", "host-a"), ("BMC-18", "HOST-B"))) == [
        "host-a",
        "host-b",
        None,
    ]
    assert owners(hosts, labels, (("10.0.0.7", "host-a.cluster"),)) == [None, None, "host-a"]
    # what was said wins over what a name says; a host of another run takes its power away
    assert owners(hosts, ["host-a"], (("host-a", "host-b"),)) == ["host-b"]
    assert owners(hosts, ["host-a"], (("host-a", "host-z"),)) == [None]
    (gone,) = power_owners.attribute_power(
        [channel("host-a")], [trace(host) for host in hosts], (("host-a", "host-z"),)
    ).owners
    assert (gone.how, gone.why) == (HostEvidence.NOBODY, "it was assigned to another host")
    # power that names nobody: by its file, or by an empty name
    unlabelled = [channel(path="/logs/left.csv"), channel(path="/logs/right.csv")]
    found = power_owners.attribute_power(
        unlabelled, [trace(host) for host in hosts], (("left.csv", "host-b"), ("", "host-a"))
    )
    assert [one.machine for one in found.owners] == [1, 0]


def test_what_was_said_and_fits_nothing_is_one_sentence() -> None:
    run = Run("r", "r", (trace("host-a"), trace("host-b")), (), (), power=(channel("bmc-17"),))
    owner_notes.check([run], (("bmc-17", "host-a"),))
    with pytest.raises(UsageError, match="this run has no host host-c") as raised:
        owner_notes.check([run], (("bmc-17", "host-c"),))
    assert "host-a, host-b" in str(raised.value.hint)
    with pytest.raises(UsageError, match="no power is named bmc-99") as raised:
        owner_notes.check([run], (("bmc-99", "host-a"),))
    assert "bmc-17" in str(raised.value.hint)
    other = replace(run, traces=(trace("host-c"),))
    owner_notes.check([run, other], (("bmc-17", "host-c"),))  # of several runs it needs to fit one


def test_the_only_host_is_assumed_and_only_for_power_without_a_name() -> None:
    found = power_owners.attribute_power([channel()], [trace("madrid")])
    assert (found.owners[0].how, found.owners[0].badge) == (HostEvidence.ALONE, Badge.ASSUMED)
    found = power_owners.attribute_power([channel("madrid")], [trace("madrid")])
    assert (found.owners[0].how, found.owners[0].badge) == (HostEvidence.EQUAL, Badge.MEASURED)
    run = Run("r", "r", (trace("madrid"),), (), (), power=(channel(),))
    assert owner_notes.share(run, 0).notes == (
        (
            "watts names no host of this run: taken for the power of madrid, the only host of this "
            "run (assumed)."
        ),
    )
    both = replace(run, power=(channel(), channel()))
    (note,) = owner_notes.share(both, 0).notes
    assert " name no host of this run" in note  # two of them


def test_a_controller_that_the_only_host_recorded_itself_is_assumed_to_be_its_own() -> None:
    def bmc(host: str, logged_on: str) -> PowerSeries:
        made = channel(host)
        return replace(made, sensor=replace(made.sensor, logged_on=logged_on))

    def how(power: list[PowerSeries], *hosts: str) -> list[HostEvidence]:
        return [
            one.how
            for one in power_owners.attribute_power(power, [trace(host) for host in hosts]).owners
        ]

    assert how([bmc("10.0.0.7", "madrid.cluster")], "madrid") == [HostEvidence.HERE]
    assert how([bmc("bmc-17", "madrid")], "madrid") == [HostEvidence.HERE]
    assert how([bmc("10.0.0.7", "login")], "madrid") == [
        HostEvidence.NOBODY
    ]  # from another machine it can be anybody's
    assert how([bmc("valencia", "madrid")], "madrid") == [
        HostEvidence.NOBODY
    ]  # that is a host's name
    assert (
        how([bmc("10.0.0.7", "madrid"), bmc("10.0.0.8", "madrid")], "madrid")
        == [HostEvidence.NOBODY] * 2
    )
    assert how([bmc("10.0.0.7", "madrid")], "madrid", "valencia") == [HostEvidence.NOBODY]


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("/x/power_host-1.csv", "host-1"),
        ("/x/host-10.csv", "host-10"),
        ("/x/power-HOST-10_2026.csv", "host-10"),
        ("/x/host-1/power.csv", "host-1"),
        ("/x/power_host-100.csv", None),
        ("/x/power.csv", None),
        ("/x/host-1_host-10.csv", None),
        ("/host-1/x/power.csv", None),
    ],
)
def test_a_file_of_its_own_for_each_host(path: str, host: str | None) -> None:
    found = power_owners.attribute_power([channel(path=path)], [trace("host-1"), trace("host-10")])
    assert [
        found.machines[one.machine] if one.machine is not None else None for one in found.owners
    ] == [host]


def test_a_file_is_of_the_longest_name_that_it_holds() -> None:
    found = power_owners.attribute_power(
        [channel(path="/x/power_host-1-2.csv")], [trace("host-1"), trace("host-1-2")]
    )
    assert [one.machine for one in found.owners] == [1]


def test_a_column_for_each_host() -> None:
    two = [trace("host-a"), trace("host-b")]
    names = ["host-a", "host-b Total Power", "host-c", "GPU 0"]
    found = power_owners.attribute_power([channel(name=name) for name in names], two)
    assert [one.machine for one in found.owners] == [0, 1, None, None]
    # of a run of one host: the other host's column is not the host's, only because it names no
    # other
    found = power_owners.attribute_power([channel(name="host-a"), channel(name="host-b")], two[:1])
    assert [one.machine for one in found.owners] == [0, None]


def test_a_controller_s_address_under_its_host_s_name() -> None:
    """[hosts.node17] host = "10.0.0.7" in the config file: the recording says both."""
    power = [
        channel("10.0.0.7", "node17 DCMI power"),
        channel("10.0.0.8", "bmc-node18 Total Power"),
        channel("10.0.0.9", "bmc9 power"),
    ]
    assert [
        one.machine
        for one in power_owners.attribute_power(power, [trace("node17"), trace("node18")]).owners
    ] == [0, 1, None]
    # an address that is a host's own wins over what somebody called it
    assert [
        one.machine
        for one in power_owners.attribute_power(
            power[:1], [trace("node17"), trace("10.0.0.7")]
        ).owners
    ] == [1]


def asked(host: str, address: str, name: str = "power") -> PowerSeries:
    """A channel of a recording: what its machine is called, and where its BMC was asked."""
    sensor = Sensor(
        f"{host} {name}", "redfish Power", Scope.NODE, host, asked_at=address, logged_on="login1"
    )
    return PowerSeries(sensor, np.arange(3), np.ones(3), path="power.csv")


def owners_of(
    power: list[PowerSeries], hosts: list[str], said: tuple[tuple[str, str], ...] = ()
) -> list[str | None]:
    found = power_owners.attribute_power(power, [trace(host) for host in hosts], said)
    return [None if one.machine is None else found.machines[one.machine] for one in found.owners]


def test_names_of_the_config_file_tell_bmcs_behind_one_address_apart() -> None:
    both = [asked("node7", "127.0.0.1:8443"), asked("node8", "127.0.0.1:8444")]
    assert owners_of(both, ["node7", "node8"]) == ["node7", "node8"]
    assert owners_of(both, ["node8"]) == [None, "node8"]


def test_bmcs_behind_ports_of_one_address_are_not_all_the_only_hosts() -> None:
    both = [asked("127.0.0.1:8443", "127.0.0.1:8443"), asked("127.0.0.1:8444", "127.0.0.1:8444")]
    assert owners_of(both, ["node7"]) == [None, None]
    assert owners_of(both[:1], ["node7"]) == ["node7"], (
        "one alone is the only host's, as far as anyone can tell"
    )
    assert owners_of(both, ["node7"], (("127.0.0.1:8444", "node7"),)) == [None, "node7"]
    gateway = [asked("node7:8443", "node7:8443"), asked("node7:8444", "node7:8444")]
    assert owners_of(gateway, ["node7"]) == [None, None]


def test_a_name_of_the_config_file_that_is_no_host_says_no_more_than_its_address() -> None:
    assert owners_of([asked("tunnel", "127.0.0.1:8443")], ["node7"]) == ["node7"]
    assert owners_of([asked("tunnel", "10.0.0.7:8443")], ["node7"]) == [None], (
        "another machine than node7 recorded it"
    )
    assert owners_of([asked("tunnel", "10.0.0.7:8443")], ["login1"]) == ["login1"]
    assert owners_of([asked("tunnel", "bmc-node7")], ["node6", "node7"]) == ["node7"]
    assert owners_of(
        [asked("tunnel", "10.0.0.7:8443")], ["node6", "node7"], (("10.0.0.7", "node6"),)
    ) == ["node6"]


def test_a_port_behind_a_name_is_one_where_the_profile_itself_says_so() -> None:
    workers = [
        trace("vm_37533", "vm"),
        trace("vm_42313", "vm.example.org"),
        trace("gpu_1001", "gpu_1001"),
        trace("gpu_1002"),
    ]
    found = power_owners.attribute_power([channel("vm"), channel("gpu_1001")], workers)
    assert found.of_trace == (0, 0, 1, 2), "these are two machines, whose names end in numbers"
    assert found.machines == ("vm", "gpu_1001", "gpu_1002")
    assert [owner.machine for owner in found.owners] == [0, 1]


def test_workers_of_one_machine_share_it() -> None:
    found = power_owners.attribute_power(
        [channel("10.0.0.7")],
        [trace("10.0.0.7_6003"), trace("10.0.0.7_6004"), trace("10.0.0.8_6003")],
    )
    assert found.of_trace == (0, 0, 1)
    assert found.mine(0) == found.mine(1) == (0,)
    assert found.mine(2) == ()
    assert found.machines[0] == "10.0.0.7"
    workers = tuple(trace(f"10.0.0.{host}") for host in ("7_6003", "7_6004", "8_6003"))
    run = Run("r", "r", workers, (), (), power=(channel("10.0.0.7"),))
    assert owner_notes.share(run, 1).notes == (
        "10.0.0.7 ran 2 of the profiled workers: its power is that of all of them.",
    )
    assert owner_notes.share(run, 2).notes == ()


def test_the_name_inside_a_profile_is_asked_last() -> None:
    pods = [trace("train-0", "gpu01"), trace("train-1", "gpu02")]
    assert [
        one.machine for one in power_owners.attribute_power([channel("gpu02-bmc")], pods).owners
    ] == [1]
    copied = [
        trace("34.83.195.179_6003", "34.83.195.179:6003"),
        trace("34.83.195.180_6003", "34.83.195.179:6003"),
    ]
    assert [
        one.machine
        for one in power_owners.attribute_power([channel("34.83.195.179")], copied).owners
    ] == [0]
    both = [trace("train-0", "gpu01"), trace("train-1", "gpu01")]
    assert [
        one.machine for one in power_owners.attribute_power([channel("gpu01")], both).owners
    ] == [None]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "..",
        "localhost",
        "LOCALHOST.localdomain",
        "127.0.0.1",
        "::1",
        "[::1]:623",
        "0.0.0.0",
    ],
)
def test_names_of_nobody(text: str) -> None:
    assert hostnames.parse(text) is None


@pytest.mark.parametrize(
    "text",
    [
        ":",
        "a:b:c",
        "_",
        "-bmc",
        "bmc",
        "ipmi-",
        "\x1b[31m",
        "é.ü",
        "x" * 3000,
        "://",
        "a://",
        "@:1",
        "[",
        "300.1.1.1",
    ],
)
def test_any_text_is_a_name_or_none(text: str) -> None:
    found = hostnames.parse(text)
    assert found is None or (found.full and found.short)


def test_sensors_are_called_by_host_and_name() -> None:
    assert Sensor("watts", "csv", host="host-a").label == "host-a watts"
    assert Sensor("bmc-17 DCMI power", "ipmi", host="bmc-17").label == "bmc-17 DCMI power"
    assert Sensor("", "").label == "power"
