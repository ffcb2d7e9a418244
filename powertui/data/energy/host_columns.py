"""Host names in the names of columns: "nodeA_watts", "nodeA_gpu0_power", "GPU 0 nodeA",
"watts:node_12".

A column names a quantity, a part of a machine, a machine, or several of these at once. What remains
without the words for quantities and parts may be a host's name. `sensor_hosts` gives every way to
read it, the longest first: "node_12" is a host's name, and "12" is what would remain if "node" were
a general word. `host_in` gives the one name to show to a person.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator

from powertui.data.energy import hostnames
from powertui.data.energy.hostnames import HostName
from powertui.patterns import late_pattern

_MOST_WORDS = 16  # a longer name is a sentence, in which no word is a host's name for sure
_WORD = late_pattern(r"[^\s_/:.,;()\[\]{}|=\-]+")
_QUANTITY = late_pattern(
    r"(?:total|power|watts?|[mk]?w|energy|joules?|[mk]?j|input|output|draw|drawn|consumption|consumed|reading|readings|value|values|usage|"
    r"used|ac|dc|dcmi|pwr|control|avg|average|mean|inst|instant|instantaneous|current|actual|active|real|load|metered|measured|sum|all|in|out|of|the|\d+v|"
    r"(?:wirk|gesamt|schein)?leistung|summe|gesamt|verbrauch|energie|strom|puissance|totale?|somme|"
    r"pot[eê]ncia|potenza|consumo|consommation|vermogen|effekt|moc|мощность|потребление|"
    r"消?[費费耗]?[電电]力|功率|전력)"
)
_MACHINE = late_pattern(
    r"(?:system|sys|node|nodes|host|server|machine|chassis|blade|board|platform|bmc|ipmi|redfish|hmc|computer|whole|wall|meter|"
    r"motherboard|rack|pdu|plug|outlet|sensor|channel|probe|supply)s?"
)
_PART = late_pattern(
    r"(?:gpus?|cpus?|cuda|rocm|hip|nvidia|amd|intel|nvml|dcgm|rapl|dram|ram|mem|memory|hbm|package|pkg|psys|socket|cores?|uncore|soc|"
    r"vdd|vcs|device|dev|card|accelerator|aiu|tpu|npu|xpu|gcd|gfx|die|chip|module|psu|ps|phase|rail|fans?|disks?|ssd|nic|pcie|io|"
    r"cache|proc|processor|l)(\d*)"
)
_PIECE = late_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")  # of a word in camel case
_SUPPLIED = late_pattern(r"supply|psu|phase|line|inlet|feed")  # what a machine has several of
# Supplies and phases have letters, too: "node17 PSU-A" is of node17.
_LETTERED = late_pattern(r"psu|ps|phase|supply|feed|inlet")
_SUPPLY_LETTER = late_pattern(r"[a-d]")
_NUMBER = late_pattern(r"\d+")
_TAIL = late_pattern(r"(?:\d+|[a-z])")  # node_12, host-a: what tells hosts with one prefix apart
# What no machine of a run is: others, what holds many, what it holds itself, what stands beside it.
_OTHERS = late_pattern(
    r"others?|foreign|neighbou?rs?|remote|peers?|unrelated|elsewhere|cluster|racks?\d*|rooms?\d*|"
    r"aisle|facility|building|site|datacent(?:er|re)|vms?|guests?|hypervisors?|containers?|pods?|"
    r"namespaces?|process(?:es)?|cgroups?|ups\d*|busbars?|feeders?|households?|house|office|"
    r"kitchen|fridge|refrigerator|freezer|boiler|dishwasher|washing|dryer|wallbox|lamps?|lights?|"
    r"lighting|heat(?:er|ers|ing|pump)|aircon|routers?|switch(?:es)?|firewalls?|modems?|printers?|cooling|chillers?|hvac|crac|solar|pv|photovoltaics?|generators?|inverters?"
)
_OF_MANY = late_pattern(r"cluster|racks?\d*|rooms?\d*|aisle|facility|building|datacent(?:er|re)")
# What runs on a machine, and draws a share of its power.
_WORK = late_pattern(r"containers?|pods?|namespaces?|process(?:es)?|cgroups?")
# All that is plugged into a power distribution unit, or into a part of it.
_PDU = late_pattern(r"pdus?\d*")
_OF_ALL_OUTLETS = late_pattern(r"total|sum|all|banks?\d*|branch(?:es)?\d*|inlets?\d*")
# What machines are for that train nothing: node1-login is not node1.
_OTHER_ROLES = late_pattern(r"logins?|head ?nodes?|frontends?|gateways?|storage|nas|fileservers?")
# A name with its domain; the dots of "acpi-0.power1.power1" are steps into a JSON document.
_DOMAIN = late_pattern(r"(?!.*\.(?:power|energy|curr|in)\d)[a-z0-9-]+(?:\.[a-z0-9-]+){2,}")
_LOOKS_LIKE_A_HOST = late_pattern(
    r"(?:(?:node|host|server|worker|gpunode)(?:[-_.][a-z]|[a-rt-z])"
    r"|(?:node|host|server|srv|worker|compute|login|vm|nid|cn|gn|gpunode|dgx|hgx|instance|chassis|blade|machine|system|computer|bmc|esxi?|hv|pve|web|db|mail|ws|desktop|laptop)[-_.]?[a-z]?\d+[a-z0-9-]*)"
)


@functools.lru_cache(maxsize=4096)
def sensor_hosts(name: str) -> tuple[HostName, ...]:
    """Every host that a column's name may stand for, the longest name first."""
    text = name.casefold()
    words = list(_WORD.finditer(text))
    if not words or len(words) > _MOST_WORDS:
        return ()
    hosts = []
    for first, last in _ranges([word[0] for word in words]):
        begin = words[first].start()
        end = words[last].end()
        candidate = text[begin:end]
        host = hostnames.parse(candidate)
        if host is None:
            continue
        is_part = last - first + 1 < len(words)
        has_letters = re.search(r"[a-z]", candidate) is not None
        if has_letters or host.address or not is_part:
            hosts.append((candidate, host))
    hosts.sort(key=lambda pair: -len(pair[0]))
    return tuple(host for _, host in hosts)


@functools.lru_cache(maxsize=4096)
def host_in(name: str) -> str:
    """What a column's name holds beside quantities and parts of a machine, as it is written; "" for
    nothing.

    It is a host's name only where something else says so: "lamp" of "lamp_watts" is no machine.
    """
    words = list(_WORD.finditer(name))
    if not words or len(words) > _MOST_WORDS:
        return ""
    texts = [word[0].casefold() for word in words]
    first, last = 0, len(words) - 1
    is_general = [
        _general(texts, at) or _MACHINE.fullmatch(texts[at]) or _is_compound(word[0])
        for at, word in enumerate(words)
    ]
    while first <= last and is_general[first]:
        first += 1
    while last >= first and is_general[last]:
        last -= 1
    if first > last:
        return ""
    if (
        first == last
        and first
        and _TAIL.fullmatch(texts[first])
        and _MACHINE.fullmatch(texts[first - 1])
    ):
        first -= 1
    rest = name[words[first].start() : words[last].end()]
    return (
        rest
        if re.search(r"[^\W\d_]", rest)
        or (hostnames.parse(rest.strip("[]")) is not None and "." in rest)
        else ""
    )


def looks_like_a_host(text: str) -> bool:
    """Whether a name has the form of a machine's: node17, host-a, dgx-04,
    node17.cluster.example.org, 10.0.0.7.
    """
    name = hostnames.parse(text)
    if name is None:
        return False
    return (
        name.address
        or _DOMAIN.fullmatch(name.full) is not None
        or _LOOKS_LIKE_A_HOST.fullmatch(name.short) is not None
    )


def names_others(column: str) -> bool:
    """Whether a column says that it is of another machine, or of more than one."""
    words = _words(column)
    if _is_any(_PDU, words) and _is_any(_OF_ALL_OUTLETS, words):
        return True
    return names_other_role(column) or _is_any(_OTHERS, words)


def names_work(column: str) -> bool:
    """Whether a column says that it is of something that runs on a machine."""
    return _is_any(_WORK, _words(column))


def names_many(text: str) -> bool:
    """Whether a name says that it is of many machines together."""
    return _is_any(_OF_MANY, _words(text))


def names_other_role(text: str) -> bool:
    """Whether a name says what a machine is for, and that is no training."""
    return _is_any(_OTHER_ROLES, _words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _is_any(pattern: re.Pattern[str], words: Iterable[str]) -> bool:
    """Whether one of these words is of a kind."""
    return any(pattern.fullmatch(word) for word in words)


@functools.lru_cache(maxsize=65536)
def likenesses(short: str) -> frozenset[str]:
    """The forms that hosts named in one way share: rank-0 and rank-12 differ in a number, nodeA and
    nodeB in the last letter.
    """
    forms = []
    if re.search(r"\d", short) and re.match(r"[a-z]{2}", short):
        forms.append(re.sub(r"\d+", "0", short))
    if re.fullmatch(r"[a-z].*[a-z0-9-][a-z]", short) and len(short) > 3:
        forms.append(f"{short[:-1]}?")
    return frozenset(forms)


def words_in(text: str) -> Iterator[str]:
    """The parts of a file's name that may be a host's, each alone and with its neighbors: nodeA and
    power_nodeA of power_nodeA.
    """
    folded = text.casefold()
    words = list(_WORD.finditer(folded))[:_MOST_WORDS]
    for first, word in enumerate(words):
        begin = word.start()
        for last in words[first:]:
            yield folded[begin : last.end()]


def _general(texts: list[str], at: int) -> bool:
    """A quantity or a part of a machine; a number counts as a part's where it follows one
    (gpu_0), a letter where it follows a supply (PSU-A).
    """
    if _QUANTITY.fullmatch(texts[at]) or _PART.fullmatch(texts[at]):
        return True
    if at == 0:
        return False
    if _SUPPLY_LETTER.fullmatch(texts[at]) and _LETTERED.fullmatch(texts[at - 1]):
        return True
    if not _NUMBER.fullmatch(texts[at]):
        return False
    part = _PART.fullmatch(texts[at - 1])
    return part is not None and not part[1]


def _is_compound(word: str) -> bool:
    """Whether a word is put together of general ones alone: PowerSupply1, InputWatts. A machine's
    word with a number is a name: chassis7.
    """
    pieces = [piece.casefold() for piece in _PIECE.findall(word)]
    numbered = {before for before, number in itertools.pairwise(pieces) if number.isdigit()}
    if len(pieces) < 2 or not all(_SUPPLIED.fullmatch(piece) for piece in numbered):
        return False
    return all(
        _QUANTITY.fullmatch(piece) or _PART.fullmatch(piece) or _MACHINE.fullmatch(piece)
        for piece in pieces
        if not piece.isdigit()
    )


def _ranges(texts: list[str]) -> Iterator[tuple[int, int]]:
    """(first, last) of every run of words with nothing but general words around it."""
    removable = [
        _general(texts, at) or _MACHINE.fullmatch(texts[at]) is not None for at in range(len(texts))
    ]
    for first in range(len(texts)):
        if not all(removable[:first]):
            return
        for last in range(len(texts) - 1, first - 1, -1):
            if not all(removable[last + 1 :]):
                break
            yield first, last
