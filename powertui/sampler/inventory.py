"""What power can be read, here and on hosts, and for the rest why not and what to do."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from powertui.errors import AuthenticationFailed, SensorError
from powertui.plain import plain
from powertui.sampler.auto import CHAIN, budget
from powertui.sampler.plausible import NOT_MEASURED, impossible
from powertui.sampler.schemes import is_bmc, local
from powertui.sampler.slurm import EnergyNotCounted
from powertui.sampler.source import Channel, Info, Options, Reading, open_source, reason_of
from powertui.sampler.targets import Target
from powertui.sampler.urls import parse_url

__all__ = ["FoundSource", "as_lines", "local_targets", "look_here", "look_there"]

_PUBLISHED = "run/powertui"  # where a root daemon may lay a recording that everybody may read
_BMC_PERIOD_S = 1.0  # most of them
# between two readings of a counter: POWER renews those of its on-chip controllers every 0.1 s
_COUNTING_S = 1.0
_MAX_LOOKS = 3
_UNMOVED = "its counter has not changed yet"
_NO_NEWS = "no new value came meanwhile"


@dataclass(frozen=True)
class FoundSource:
    """One source that was tried."""

    url: str
    ok: bool
    source: str = ""
    host: str = ""
    channels: tuple[Channel, ...] = ()
    watts: dict[str, float | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)  # why a channel has no value now
    facts: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    every_s: float | None = (
        None  # how often it has a new value, at best; None where it is not known
    )
    why_not: str = ""
    hint: str = ""
    denied: bool = False  # it is there, and an administrator could open it to this user
    name: str = ""  # what the config file calls it

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _values(
    source: Any, info: Info, counted_s: float
) -> tuple[dict[str, float | None], dict[str, str]]:
    """The newest reading of each channel, and why there is none. Counters get a moment to count,
    and channels that tell nothing one or two to be told of, if so long may be waited.
    """
    values: dict[str, float | None] = {c.name: None for c in info.channels}
    reasons: dict[str, str] = {}
    for attempt in range(_MAX_LOOKS):
        readings: list[Reading] = source.read()
        channels = {
            c.name: c for c in (*info.channels, *source.channels)
        }  # a file names some in its rows alone
        for reading in readings:
            reason = (
                reason_of(reading.quality)
                if reading.watts is None
                else impossible(reading.watts, channels[reading.channel])
            )
            if not reason:
                values[reading.channel] = reading.watts
            reasons[reading.channel] = reason
        counts = attempt == 0 and any(
            c.kind == "interval" for c in info.channels
        )  # power is what it counts in that time
        waits = counts or any(c.kind != "interval" and c.name not in reasons for c in info.channels)
        if attempt == _MAX_LOOKS - 1 or not counted_s or not waits:
            break
        time.sleep(counted_s)
    for channel in info.channels:
        reasons.setdefault(channel.name, _UNMOVED if channel.kind == "interval" else _NO_NEWS)
    values = {name: values.get(name) for name in channels}
    return values, {
        name: reasons[name] for name, watts in values.items() if watts is None and reasons.get(name)
    }


def _described(url: str, source: Any, info: Info, counted_s: float = _COUNTING_S) -> FoundSource:
    """What an open source tells; it is closed after.

    One whose every channel says 0 W measures nothing.
    """
    try:
        values, reasons = _values(source, info, counted_s)
    finally:
        source.close()
    if info.channels and all(
        reasons.get(channel.name) == NOT_MEASURED for channel in info.channels
    ):
        return FoundSource(
            url,
            False,
            why_not=(
                "It reports 0 W, which nothing that is switched on draws: it does not measure "
                "power."
            ),
        )
    periods = [channel.period_s for channel in info.channels if channel.period_s]
    every = max(source.min_period, min(periods)) if periods else None
    scheme = parse_url(
        url
    ).scheme  # how often a BMC or a file may be asked does not say how often it has news
    if every is None and not is_bmc(scheme) and scheme != "csv":
        every = source.min_period
    channels = (
        *info.channels,
        *(
            one
            for one in source.channels
            if one.name not in {known.name for known in info.channels}
        ),
    )
    return FoundSource(
        info.url,
        True,
        info.source,
        info.host,
        channels,
        values,
        reasons,
        dict(info.facts),
        info.notes,
        every,
    )


def _refused(url: str, error: SensorError) -> FoundSource:
    denied = isinstance(error, (AuthenticationFailed, EnergyNotCounted))
    return FoundSource(url, False, why_not=error.message, hint=error.hint, denied=denied)


def _look(url: str, options: Options, counted_s: float = _COUNTING_S) -> FoundSource:
    """Open one source, read it once, let it go."""
    source = open_source(url, options)
    try:
        info = source.open()
    except SensorError as error:
        return _refused(url, error)
    return _described(url, source, info, counted_s)


def look_here(root: str = "/") -> list[FoundSource]:
    """Everything in-band, what resolves most first.

    Some sources are only named where they find something.
    """
    sources = [_look(url, Options(root=root)) for url in (*local(), *_published(root))]
    return sorted((f for f in sources if f.ok or _is_worth_showing(f)), key=_resolution)


def _is_worth_showing(refused: FoundSource) -> bool:
    scheme = local().get(refused.url)
    return refused.denied or scheme is None or not scheme.quiet


def _resolution(source: FoundSource) -> tuple[bool, float, bool, float]:
    """Less is better: how often, whether it counts every joule, and in which steps.

    What cannot be read comes last.
    """
    samples = not any(channel.kind == "interval" for channel in source.channels)
    step = (
        min((channel.quantum_w or 0.0 for channel in source.channels), default=0.0)
        if samples
        else 0.0
    )
    return not source.ok, _BMC_PERIOD_S if source.every_s is None else source.every_s, samples, step


def look_there(targets: Iterable[Target]) -> list[FoundSource]:
    """Every protocol of each host.

    After a refused login the next protocol is not tried: accounts lock.
    """
    with ThreadPoolExecutor(32) as pool:
        return [source for each in pool.map(_look_at_named, targets) for source in each]


def _look_at_named(target: Target) -> list[FoundSource]:
    return [replace(found, name=target.options.name) for found in _look_at(target)]


def _look_at(target: Target) -> Iterator[FoundSource]:
    address = parse_url(target.url)
    if address.scheme != "auto":
        yield _look(target.url, target.options)
        return
    for scheme in CHAIN:
        url = str(replace(address, scheme=scheme))
        options = replace(target.options, open_within=budget(target.options))
        source = open_source(url, options)
        try:
            info = source.open()
        except AuthenticationFailed as error:
            yield _refused(url, error)
            rest = CHAIN[CHAIN.index(scheme) + 1 :]
            for next_scheme in rest:
                why = "not tried after the refused login, to keep the account from being locked"
                yield FoundSource(str(replace(address, scheme=next_scheme)), False, why_not=why)
            return
        except SensorError as error:
            yield _refused(url, error)
            continue
        yield _described(url, source, info)


def local_targets(root: str = "/") -> list[Target]:
    """What to record when nothing was named: the in-band sources that work, without counting a
    joule twice.

    A figure for the whole node comes first; processors are added only where there is none. GPUs are
    their own.
    """
    chosen: list[Target] = []
    have: set[str] = set()
    tried: list[FoundSource] = []
    for url, scheme in local().items():
        if have & set(scheme.yields_to):
            continue
        found = _look(url, Options(root=root), counted_s=0.0)  # what it counts is for the recording
        tried.append(found)
        if found.ok:
            chosen.append(Target(url, Options(root=root)))
            have |= _measures(url, found)
    if "node" not in have:
        for url in _published(root):
            found = _look(url, Options(root=root))
            tried.append(found)
            covers = any(channel.scope in ("node", "plug") for channel in found.channels)
            if (covers or not chosen) and any(watts is not None for watts in found.watts.values()):
                return [
                    Target(url, Options(root=root)),
                    *(target for target in chosen if "node" not in local()[target.url].yields_to),
                ]
    if not chosen:
        shown = [f for f in tried if not f.ok and _is_worth_showing(f)]
        raise SensorError(
            "No power can be read on this machine:\n"
            + "\n".join(f"  {f.url} {f.why_not}" for f in shown),
            hint="Name its BMC with --host, or run `powertui sensors`.",
        )
    return chosen


def _published(root: str) -> list[str]:
    """Recordings that a daemon lays out for everybody."""
    return [f"csv:{path}" for path in sorted((Path(root) / _PUBLISHED).glob("*.csv"))]


def _measures(url: str, source: FoundSource) -> set[str]:
    """What need not be measured again: in the words of `Scheme.yields_to`."""
    scopes = {channel.scope for channel in source.channels}
    have = (
        {url}
        | ({"node"} if scopes & {"node", "plug"} else set())
        | ({"package"} if "package" in scopes else set())
    )
    return have | ({"hwmon amdgpu"} if url == "hwmon:" and "amdgpu" in source.source else set())


def _request(sources: Sequence[FoundSource]) -> str:
    """What to ask an administrator for, in one line: nothing where something here covers the whole
    machine.
    """
    if any(
        channel.scope in ("node", "plug")
        for item in sources
        if item.ok
        for channel in item.channels
    ):
        return ""
    closed = [item.url for item in sources if item.denied]
    wishes = ["a BMC account with privilege USER"]
    can_open = {
        url: scheme.to_open for url, scheme in local().items() if url in closed and scheme.to_open
    }
    if "rapl:" in can_open:
        can_open.pop("perf:", None)  # the same processors, and rapl: names both ways
    wishes += can_open.values()
    published = [
        f"read access to {url.removeprefix('csv:')}" for url in closed if url.startswith("csv:")
    ]
    wishes += published or [f"a recording of it in /{_PUBLISHED}"]
    wishes.append("the address of a Prometheus server that has its power")
    return (
        "Nothing here measures the whole machine. Ask its administrator for "
        f"{', or '.join(wishes)}."
    )


def as_lines(sources: Iterable[FoundSource]) -> Iterator[str]:
    """Lines for a person. What comes from sensors is made plain."""
    sources = list(sources)
    yield from _lines(sources)
    if {item.url for item in sources} & set(local()) and (text := _request(sources)):
        yield ""
        yield text


def _lines(sources: Iterable[FoundSource]) -> Iterator[str]:
    for item in sources:
        name = f"{item.name}  " if item.name else ""
        if not item.ok:
            yield f"no   {plain(name + item.url)}"
            yield f"     {plain(item.why_not)}"
            if item.hint:
                yield f"     try: {plain(item.hint)}"
            continue
        every = (
            {"every": f"{item.every_s:g} s"}
            if item.every_s and "updated every" not in item.facts
            else {}
        )
        facts = ", ".join(f"{k} {v}" for k, v in {**item.facts, **every}.items())
        yield f"yes  {plain(name + item.url)}  {plain(item.source)}" + (
            f"  ({plain(facts)})" if facts else ""
        )
        for channel in item.channels:
            watts = item.watts.get(channel.name)
            value = "no value now" if watts is None else f"{watts:.1f} W"
            why = f"  ({item.reasons[channel.name]})" if channel.name in item.reasons else ""
            where = f"{channel.host} " if channel.host and channel.host != item.host else ""
            step = (
                f"  steps of {channel.quantum_w:g} W"
                if channel.quantum_w and channel.quantum_w >= 0.01
                else ""
            )
            note = f"  {channel.note}" if channel.note else ""
            yield (
                f"     {plain(where + channel.name):<24} {value:>12}  "
                f"{channel.scope}{step}{plain(note + why)}"
            )
        for note in item.notes:
            yield f"     note: {plain(note)}"
