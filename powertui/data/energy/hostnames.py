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
    bare = text.strip().casefold()
    if "://" in bare:
        bare = bare.split("://", 1)[1].split("/", 1)[0].rpartition("@")[2]
    bare = bare.rstrip(".")
    address = _address(bare)
    if address is not None or not bare:
        return address if address is not None and address.full else None
    with_port = _PORT.fullmatch(bare)
    if with_port is not None and "." not in bare[len(with_port[1]) :]:
        address = _address(with_port[1].strip("[]"))
        if address is not None:
            return address if address.full else None
        if ":" in bare:
            bare = with_port[1].rstrip(".")
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
    domain = tuple(label for label in labels[1:] if not _is_network(label))
    return HostName(full, labels[0], domain, bare=_unmarked(labels[0]) if controller else ())


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
        without_leading = _LEADING.sub("", name, count=1) if _LEADING.match(name) else name
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
    return HostName(
        name.full.replace(name.short, match[1], 1), match[1], name.domain, bare=name.bare
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
    return alike(label, machine) or (
        not label.address and machine.short in label.bare and compatible(label, machine)
    )


def compatible(first: HostName, second: HostName) -> bool:
    """Whether the domains agree as far as both go: node17 and node17.cluster do, node17.dc1 and
    node17.dc2 do not.
    """
    return all(a == b for a, b in zip(first.domain, second.domain, strict=False))


def within(text: str, name: HostName) -> bool:
    """Whether a name stands in a text as a word of its own: host-1 in `power_host-1.csv`, not in
    `power_host-10.csv`.
    """
    words = (
        [name.full, name.short]
        if len(name.short) > 1 and re.search(r"[a-z.:]", name.short)
        else [name.full]
    )
    return any(
        re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text.casefold()) for word in words
    )
