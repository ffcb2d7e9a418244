"""Names of machines, and whether two of them mean the same one: case, domains, ports, and what
management controllers are called.

Names are compared whole, label by label, never by a part of one: host-1 is not host-10. Nothing is
looked up in any network.
"""

from __future__ import annotations

import functools
import ipaddress
import re

from powertui.patterns import late_pattern
from powertui.value_types import dataclass

MAX_LISTED_NAMES = 4  # of hosts, channels or places in one sentence: more are counted

# What a controller's name has beside its machine's: bmc-node17, node17-ipmi, node17.mgmt.cluster
_MARK = r"(?:i?bmc|irmc|cimc|ipmi|ilom?|i?drac|imm|xcc|oob|lom|mgmt|mgt|management|redfish)"
_MARKED = late_pattern(rf"{_MARK}\d?")
_LEADING = late_pattern(rf"(?:{_MARK}\d?[-_]|(?:bmc|ipmi)(?=[a-z]))")
_TRAILING = late_pattern(rf"(?:[-_]{_MARK}\d?|(?<=\d)(?:bmc|ipmi|ilo|idrac))$")
_EVERYWHERE = frozenset(
    {"local", "localdomain", "lan", "home", "internal"}
)  # domains that tell no two machines apart
_CLOUD = late_pattern(r"ip-(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})")
_PORT = late_pattern(r"(.+?)(?::\d{1,5}|_\d{4,5})")  # profilers write host:port as host_port


@dataclass(frozen=True)
class HostName:
    """A name taken apart.

    Two names with one `full` are written the same; `means` compares what they mean.
    """

    full: str  # lower case, without a port
    short: str  # its first label; or the address
    domain: tuple[str, ...] = ()
    address: bool = False
    # Its first label without what may only say that it is a controller's, in every way to read it.
    bare: tuple[str, ...] = ()

    @property
    def is_no_host(self) -> bool:
        """Whether it says what is asked (an address, bmc-17) and not which host that measures."""
        if self.address:
            return True
        first_label = self.full.split(".")[0]
        words = re.split(r"[-_]", first_label)
        return any(re.fullmatch(rf"{_MARK}\d*", word) for word in words)


@functools.lru_cache(maxsize=4096)
def parse(text: str, *, controller: bool = True) -> HostName | None:
    """A name as logs and profiles hold it; None when it names nobody in particular ("", localhost).

    `controller`: it may be a management controller's. A program that was profiled ran on no such
    thing.
    """
    bare = _without_address_scheme(text.strip().casefold())
    bare = bare.rstrip(".")
    if not bare:
        return None
    address = _address(bare)
    if address is not None:
        return _if_of_a_machine(address)
    with_port = _PORT.fullmatch(bare)
    if with_port is not None:
        before_port = with_port[1]
        port = bare[len(before_port) :]
        if "." not in port:
            address = _address(before_port.strip("[]"))
            if address is not None:
                return _if_of_a_machine(address)
            if ":" in bare:
                bare = before_port.rstrip(".")
    labels = [label for label in bare.split(".") if label]
    if not labels or labels[0] == "localhost":
        return None
    full = ".".join(labels)
    cloud = _CLOUD.fullmatch(labels[0])
    if cloud is not None:
        inside = _address(".".join(cloud.groups()))
        if inside is not None and inside.full:
            return HostName(full, inside.short, address=True)
    if controller and len(labels) > 1 and re.fullmatch(_MARK, labels[0]):
        labels = labels[1:]  # bmc.node17.cluster
    short = labels[0]
    domain = tuple(label for label in labels[1:] if not _is_network(label))
    return HostName(
        full=full,
        short=short,
        domain=domain,
        bare=_unmarked(short) if controller else (),
    )


def _without_address_scheme(text: str) -> str:
    """The host in an address: https://user@bmc-17:443/redfish is of bmc-17:443."""
    if "://" not in text:
        return text
    behind_scheme = text.split("://", 1)[1]
    authority = behind_scheme.split("/", 1)[0]
    return authority.rpartition("@")[2]


def _if_of_a_machine(address: HostName) -> HostName | None:
    """An address; None for those that every machine has for itself."""
    return address if address.full else None


def _address(text: str) -> HostName | None:
    """An IP address in its one form; with an empty `full` when it is the machine's own
    (loopback).
    """
    try:
        ip = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if ip.is_loopback or ip.is_unspecified:
        return HostName("", "")
    return HostName(str(ip), str(ip), address=True)


def _unmarked(label: str) -> tuple[str, ...]:
    """What a label can be without the marks of a controller: bmc-node17 is node17's, mgmt7-bmc is
    mgmt7's and not bmc's.
    """
    shortened: list[str] = []
    todo = [label]
    while todo:
        name = todo.pop()
        without_trailing = _TRAILING.sub("", name)
        without_leading = name
        if _LEADING.match(name):
            without_leading = _LEADING.sub("", name, count=1)
        for shorter in (without_trailing, without_leading):
            is_new = shorter not in (*shortened, label)
            if is_new and len(shorter) > 1 and re.search(r"[a-z]", shorter):
                shortened.append(shorter)
                todo.append(shorter)
    return tuple(name for name in shortened if not _is_mark(name))


def _is_mark(name: str) -> bool:
    """Whether a name is nothing but a controller's mark; bmc7 may be a host's."""
    return _MARKED.fullmatch(name) is not None and not re.search(r"\d", name)


def _is_network(label: str) -> bool:
    """A label of a domain that only says which of a machine's networks is meant."""
    if label in _EVERYWHERE:
        return True
    return any(_MARKED.fullmatch(word) for word in re.split(r"[-_]", label))


def without_port(name: HostName) -> HostName:
    """A name without the port that profilers add to it (worker-1_6003): another name, to be tried
    when the whole fits nobody.
    """
    match = _PORT.fullmatch(name.short)
    if name.address or match is None:
        return name
    short = match[1]
    return HostName(
        full=name.full.replace(name.short, short, 1),
        short=short,
        domain=name.domain,
        bare=name.bare,
    )


def alike(first: HostName, second: HostName) -> bool:
    """Whether two names can mean one machine as they stand: the same first label, and no domain
    that contradicts the other's.
    """
    return (
        first.short == second.short
        and first.address == second.address
        and compatible(first, second)
    )


def means(label: HostName, machine: HostName) -> bool:
    """Whether a name in a log can mean a machine: as it stands, or as its controller's."""
    if alike(label, machine):
        return True
    if label.address or machine.short not in label.bare:
        return False
    return compatible(label, machine)


def compatible(first: HostName, second: HostName) -> bool:
    """Whether the domains agree as far as both go: node17 and node17.cluster do, node17.dc1 and
    node17.dc2 do not.
    """
    return all(a == b for a, b in zip(first.domain, second.domain, strict=False))


def within(text: str, name: HostName) -> bool:
    """Whether a name stands in a text as a word of its own: host-1 in `power_host-1.csv`, not in
    `power_host-10.csv`.
    """
    words = [name.full]
    if len(name.short) > 1 and re.search(r"[a-z.:]", name.short):
        words.append(name.short)
    text = text.casefold()
    for word in words:
        alone = rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])"
        if re.search(alone, text):
            return True
    return False
