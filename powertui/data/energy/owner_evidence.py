"""What speaks for it that a channel of power is a machine's: what a person said, the host that its
log names, its column, its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from powertui.data.energy import host_columns, hostnames
from powertui.data.energy.hostnames import MAX_LISTED_NAMES, HostName
from powertui.data.energy.profiled_machines import HostEvidence, Machines
from powertui.data.model import Badge, PowerSeries
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

_NO_SUCH_HOST = "no host of this run has that name"
_OTHER_FILE = "its file is named after another host"
_PART_OF_WORK = "it is the power of a program or pod, not of the machine"
OTHER_COLUMN = "its column names another host"
OTHERS_COLUMN = "its column names more than this host, or another"
_UNIT_AT_END = late_pattern(
    r"\s*[\[(][mkuµ]?(?:w|wh|j|watts?|joules?)[\])]$|[_ ](?:[mu]?[wj]|watts?|joules?)$"
)
ASSUMPTIONS = (HostEvidence.ALONE, HostEvidence.HERE)


@dataclass(frozen=True)
class Owner:
    """Whose one channel is."""

    machine: int | None  # None: no host of this run
    how: HostEvidence
    why: str  # for a person, a clause
    is_single: bool = False  # a person gave this channel to the machine by its own name

    @property
    def is_assumed(self) -> bool:
        """Whether nothing shows it but that there is no other machine."""
        return self.machine is not None and self.how in ASSUMPTIONS

    @property
    def badge(self) -> Badge | None:
        """How far that can be trusted; None where it is nobody's."""
        if self.machine is None:
            return None
        return Badge.ASSUMED if self.is_assumed else Badge.MEASURED


def nobody(why: str) -> Owner:
    """The owner of a channel that belongs to no host of a run."""
    return Owner(None, HostEvidence.NOBODY, why)


# ── by name ──────────────────────────────────────────────────────────────────────────────────────


def owners_by_name(
    labels: Sequence[HostName],
    machines: Machines,
    inside: dict[int, list[HostName]],
) -> dict[HostName, Owner]:
    """The owner of every name in the logs.

    What could be two machines, or two names that cannot both be one, is nobody's.
    """
    found: dict[HostName, Owner] = {}
    for label in labels:
        found[label] = _candidates(label, machines)
    taken = {owner.machine for owner in found.values()}
    for label in labels:
        if found[label].how is HostEvidence.NOBODY and not found[label].why:
            own = {
                m
                for m, names in inside.items()
                if m not in taken and any(hostnames.means(label, name) for name in names)
            }
            if len(own) == 1:
                found[label] = Owner(
                    own.pop(), HostEvidence.INSIDE, f"the profile itself names {label.full}"
                )
            else:
                found[label] = nobody(_NO_SUCH_HOST)
    for machine in {owner.machine for owner in found.values()} - {None}:
        mine = [
            label
            for label in labels
            if found[label].machine == machine and found[label].how is not HostEvidence.EQUAL
        ]
        if any(not hostnames.compatible(a, b) for a in mine for b in mine):
            why = (
                f"{listed([label.full for label in mine])} cannot all be {_name(machines, machine)}"
            )
            found.update({label: nobody(why) for label in mine})
    return found


def recorded_here(
    power: Sequence[PowerSeries],
    named: dict[HostName, Owner],
    machines: Machines,
) -> dict[HostName, Owner]:
    """The one controller (10.0.0.7, bmc-17) that the only host of a run recorded itself: its own,
    as far as anyone can tell.
    """
    nobodys = [label for label, owner in named.items() if owner.machine is None]
    host = machines[0].name if len(machines) == 1 else None
    if host is None or len(named) != 1 or not nobodys or not nobodys[0].is_no_host:
        return {}
    by = {
        hostnames.parse(one.sensor.logged_on, controller=False)
        for one in power
        if hostnames.parse(one.sensor.host) is not None
    }
    if all(one is not None and hostnames.means(one, host) for one in by):
        return {nobodys[0]: Owner(0, HostEvidence.HERE, "the only host of this run recorded it")}
    return {}


def _candidates(label: HostName, machines: Machines) -> Owner:
    how, fitting = machines.called(label)
    if len(fitting) == 1:
        return Owner(fitting[0], how, f"the log names {label.full}")
    return nobody(_several(label, machines, fitting) if fitting else "")


def _several(
    label: HostName,
    machines: Machines,
    fitting: Sequence[int],
) -> str:
    return (
        f"{label.full} could be "
        f"{' or '.join(_name(machines, i) for i in fitting[:MAX_LISTED_NAMES])}"
    )


def _name(machines: Machines, machine: int | None) -> str:
    name = machines[machine].name if machine is not None else None
    return name.full if name is not None else "a host without a name"


# ── by what was said, by column and file ─────────────────────────────────────────────────────────


def as_assigned(
    series: PowerSeries,
    label: HostName | None,
    assigned: Sequence[tuple[str, int | None]],
    *,
    is_only_of_file: bool = False,
) -> Owner | None:
    """The machine that a person gave this channel to.

    A machine that this run has not is another run's: its power is not ours. The only channel of a
    log may be called by the log's name (`is_only_of_file`).
    """
    for fits in (is_called, can_be):
        fitting = [(left, machine) for left, machine in assigned if fits(left, series, label)]
        if not fitting:
            continue
        left, machine = fitting[0]
        same_words = {other for words, other in fitting if words == left}
        if len(same_words) > 1:
            return nobody("it was assigned to several hosts")
        if machine is None:
            return nobody("it was assigned to another host")
        why = f"{left or 'power without a name'} was assigned to this host"
        words = left.strip().casefold()
        is_single = _without_unit(words) == _without_unit(series.sensor.name.casefold())
        is_single = is_single or (
            is_only_of_file and f"/{series.path.casefold()}".endswith(f"/{words}")
        )
        return Owner(machine, HostEvidence.SAID, why, is_single)
    return None


def is_called(left: str, series: PowerSeries, label: HostName | None) -> bool:
    """Whether a person's words are a channel's host, source, sensor or file, letter by letter."""
    words = left.strip().casefold()
    path = PurePath(series.path)
    name = series.sensor.name.casefold()
    if not words:
        return label is None
    if _without_unit(words) == _without_unit(name):
        return True
    address = series.sensor.asked_at.casefold()
    known = (
        series.sensor.host.casefold(),
        address,
        address.rpartition(":")[0],
        name,
        series.path.casefold(),
        path.name.casefold(),
        path.stem.casefold(),
    )
    if "/" in words and f"/{series.path.casefold()}".endswith(f"/{words}"):
        return True
    return words in known or name.startswith(
        words + " "
    )  # a recording's channel is its source and its sensor


def _without_unit(name: str) -> str:
    """A column's name without its unit, as readers name its channel."""
    return _UNIT_AT_END.sub("", name).strip()


def can_be(left: str, series: PowerSeries, label: HostName | None) -> bool:
    """Whether a person's words mean the host that a channel names, or that its column does."""
    name = hostnames.parse(left)
    if name is None:
        return False
    if label is None:
        return host_columns.host_in(series.sensor.name).casefold() == left.strip().casefold()
    return name.full == label.full or hostnames.means(name, label)


def all_gpus(power: Sequence[PowerSeries], machines: Machines) -> frozenset[int]:
    """The channels of logs that number their GPUs from 0 to the last: gpu0 to gpu7 are parts, also
    where the host is called gpu17. Where a host is called gpu3, they may be hosts.
    """
    files: dict[str, dict[int, int]] = {}
    for row, series in enumerate(power):
        device = series.sensor.device
        if device is None or device.index is None or series.sensor.host:
            continue
        files.setdefault(series.path, {})[row] = device.index
    gpus: set[int] = set()
    for numbers in files.values():
        all_numbers = set(range(len(numbers)))
        is_complete = len(numbers) > 1 and set(numbers.values()) == all_numbers
        columns = [power[row].sensor.name for row in numbers]
        if is_complete and not any(_is_called_like_a_host(name, machines) for name in columns):
            gpus.update(numbers)
    return frozenset(gpus)


def _is_called_like_a_host(column: str, machines: Machines) -> bool:
    """Whether a column's name may be that of a host of the run, in any way to read it."""
    return any(_machines_called(host, machines) for host in host_columns.sensor_hosts(column))


def _machines_called(name: HostName, machines: Machines) -> list[int]:
    _, fitting = machines.called(name)
    return fitting


def unlabeled_owner(
    series: PowerSeries,
    machines: Machines,
    *,
    is_gpu: bool,
) -> Owner:
    """The owner of a channel whose log says no host beside it: by its column, its file, or because
    there is only one host.

    `is_gpu`: its column is known to be named after a GPU.
    """
    named = None if is_gpu else _by_column(series.sensor.name, machines)
    owner = named or _by_file(series.path, machines)
    if owner is not None:
        return owner
    if len(machines) == 1:
        return Owner(0, HostEvidence.ALONE, "it names no host, and this run has one")
    return nobody(f"it names no host, and this run has {len(machines)}")


def _by_column(column: str, machines: Machines) -> Owner | None:
    """By the name of a column; None where that names no host."""
    named = host_columns.host_in(column)
    if not named:
        others = _not_this_machine(column)
        if others is not None:
            return others
        longest = host_columns.sensor_hosts(column)[:1]
        is_called_so = any(_machines_called(host, machines) for host in longest)
        if is_called_so or machines.are_named_like(column):
            return nobody("its column may be named after a host or after a part of a machine")
        return None
    owner = _by_words(column, machines) or _not_this_machine(column)
    if owner is not None:
        return owner
    if host_columns.looks_like_a_host(named) or machines.are_named_like(named):
        return nobody(OTHER_COLUMN)
    return None


def _not_this_machine(column: str) -> Owner | None:
    """For a column that says itself that it is of something else, or of more than one machine."""
    if host_columns.names_others(column):
        return nobody(OTHERS_COLUMN)
    return None


def _by_words(text: str, machines: Machines) -> Owner | None:
    """The machine that a name of a column or source holds beside quantities and parts, by its
    longest reading.
    """
    for host in host_columns.sensor_hosts(text):
        how, fitting = machines.called(host)
        if len(fitting) == 1:
            how = how if how is HostEvidence.PROFILE_FILE else HostEvidence.COLUMN
            return Owner(fitting[0], how, "its column is named like this host")
        if fitting:
            return nobody(_several(host, machines, fitting))
    return None


def owner_by_source(
    series: PowerSeries,
    label: HostName,
    owner: Owner,
    machines: Machines,
) -> Owner:
    """The owner of a channel whose log names a host beside it.

    Of a controller's address it is the host that its source is named after ("node17 DCMI power" of
    `--host node17`, at 10.0.0.7). A log may name the machine that wrote it, and its columns others.
    """
    if owner.machine is not None:
        if host_columns.names_work(series.sensor.channel):
            return nobody(_PART_OF_WORK)
        if label.is_no_host:
            return owner
        named = host_columns.host_in(series.sensor.channel)
        other = hostnames.parse(named) if host_columns.looks_like_a_host(named) else None
        if other is not None and other != label and not _is_machine(other, owner, machines):
            return nobody(OTHER_COLUMN)
        return owner
    if not label.is_no_host:
        return owner
    by_source = _by_words(series.sensor.channel, machines)
    if by_source is None or by_source.machine is None:
        return owner
    return Owner(by_source.machine, HostEvidence.COLUMN, "its source is named like this host")


def _is_machine(name: HostName, owner: Owner, machines: Machines) -> bool:
    return owner.machine in _machines_called(name, machines)


def _by_file(path: str, machines: Machines) -> Owner | None:
    """By the name of the file, else of the folder it lies in.

    Of names that hold one another the longest is meant.
    """
    place = PurePath(path)
    fitting = _named_in_file(place.name, machines)
    if len(fitting) == 1:
        name = machines[fitting[0]].name
        # node1-login.csv is of the login node, unless the host itself is called so.
        is_called_so = name is not None and host_columns.names_other_role(name.full)
        if host_columns.names_other_role(place.stem) and not is_called_so:
            return nobody(_OTHER_FILE)
        return Owner(fitting[0], HostEvidence.FILE, f"its file is {place.name}")
    if fitting or _is_of_gpu(place.name):
        return None
    of_folder = _named_like_folder(place.parent.name, machines)
    if len(of_folder) == 1:
        return Owner(of_folder[0], HostEvidence.FILE, f"its file is in {place.parent.name}")
    if host_columns.names_many(place.stem):
        return nobody("its file is named after many machines")
    words = {*host_columns.words_in(place.stem), place.parent.name}
    for word in words:
        if machines.are_named_like(word) or host_columns.looks_like_a_host(word):
            return nobody(_OTHER_FILE)
    return None


def _named_in_file(file_name: str, machines: Machines) -> list[int]:
    """The machines whose names are in a file's name, without those whose name another one holds."""
    fitting = []
    for row, machine in enumerate(machines):
        if any(hostnames.within(file_name, name) for name in machine.names):
            fitting.append(row)
    longest = []
    for row in fitting:
        name = machines[row].name
        others = [machines[other].name for other in fitting if other != row]
        if not any(_holds(other, name) for other in others):
            longest.append(row)
    return longest


def _named_like_folder(folder_name: str, machines: Machines) -> list[int]:
    """The machines that a folder's name can mean."""
    folder = hostnames.parse(folder_name)
    if folder is None:
        return []
    fitting = []
    for row, machine in enumerate(machines):
        if any(hostnames.means(folder, name) for name in machine.names):
            fitting.append(row)
    return fitting


def _is_of_gpu(name: str) -> bool:
    """Whether a file is called after a GPU, also where hosts are called gpu17."""
    if not name.endswith(".power.csv"):
        return False
    from powertui.data.power.devices import device_of_file

    return device_of_file(name) is not None


def _holds(longer: HostName | None, shorter: HostName | None) -> bool:
    if longer is None or shorter is None or longer.short == shorter.short:
        return False
    return hostnames.within(longer.full, shorter)


def listed(names: Sequence[str]) -> str:
    """The first of some names, each once, and how many more there are."""
    names = list(dict.fromkeys(names))
    words = ", ".join(names[:MAX_LISTED_NAMES])
    if len(names) > MAX_LISTED_NAMES:
        words += f" and {len(names) - MAX_LISTED_NAMES} more"
    return words
