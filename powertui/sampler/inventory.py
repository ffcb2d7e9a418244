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
# What most BMCs manage: they do not report it, and this only orders the list.
_BMC_PERIOD_S = 1.0
# between two readings of a counter: POWER renews those of its on-chip controllers every 0.1 s
_COUNTING_S = 1.0
# The first starts the counters, the second has their power; the third is for a channel that had no
# news in between. More would keep a person waiting at `powertui sensors`.
_MAX_LOOKS = 3
_MIN_SHOWN_STEP_W = 0.01  # finer steps than the tenths that are printed tell a person nothing
_MAX_HOSTS_AT_ONCE = 32  # threads; chosen: each holds one socket and waits
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
    source: Any,
    info: Info,
    counted_s: float,
) -> tuple[dict[str, float | None], dict[str, str]]:
    """The newest reading of each channel, and why there is none. Counters get a moment to count,
    and channels that tell nothing one or two to be told of, if so long may be waited.
    """
    newest_w: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    for attempt in range(_MAX_LOOKS):
        readings: list[Reading] = source.read()
        # Anew after each reading: a file names some of its channels in its rows alone.
        channels = {c.name: c for c in (*info.channels, *source.channels)}
        for reading in readings:
            reason = _why_unusable(reading, channels[reading.channel])
            if not reason:
                newest_w[reading.channel] = reading.watts
            reasons[reading.channel] = reason
        if not counted_s or attempt == _MAX_LOOKS - 1:
            break
        # A counter's power is what it counts between two readings: the first has none.
        counting = attempt == 0 and any(c.kind == "interval" for c in info.channels)
        if not counting and not _is_one_silent(info, reasons):
            break
        time.sleep(counted_s)
    for channel in info.channels:
        reasons.setdefault(channel.name, _UNMOVED if channel.kind == "interval" else _NO_NEWS)
    values = {name: newest_w.get(name) for name in channels}
    valueless = [name for name, watts in values.items() if watts is None]
    return values, {name: reasons[name] for name in valueless if reasons.get(name)}


def _why_unusable(reading: Reading, channel: Channel) -> str:
    """Why a reading is no power; "" when it is."""
    if reading.watts is None:
        return reason_of(reading.quality)
    return impossible(reading.watts, channel)


def _is_one_silent(info: Info, reasons: dict[str, str]) -> bool:
    """Whether a channel that reports power by itself has not reported any yet."""
    return any(c.kind != "interval" and c.name not in reasons for c in info.channels)


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
    announced = {channel.name for channel in info.channels}
    found_later = [channel for channel in source.channels if channel.name not in announced]
    return FoundSource(
        url=info.url,
        ok=True,
        source=info.source,
        host=info.host,
        channels=(*info.channels, *found_later),
        watts=values,
        reasons=reasons,
        facts=dict(info.facts),
        notes=info.notes,
        every_s=_update_period_s(url, source, info),
    )


def _update_period_s(url: str, source: Any, info: Info) -> float | None:
    """How often the source has a new value, at best; None where that is not known."""
    periods = [channel.period_s for channel in info.channels if channel.period_s]
    if periods:
        period_s: float = max(source.min_period, min(periods))
        return period_s
    # How often a BMC or a file may be asked does not say how often it has news.
    scheme = parse_url(url).scheme
    if is_bmc(scheme) or scheme == "csv":
        return None
    ask_period_s: float = source.min_period
    return ask_period_s


def _refused(url: str, error: SensorError) -> FoundSource:
    denied = isinstance(error, (AuthenticationFailed, EnergyNotCounted))
    return FoundSource(
        url=url,
        ok=False,
        why_not=error.message,
        hint=error.hint,
        denied=denied,
    )


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
    step_w = 0.0  # a counter's steps average out
    if samples:
        step_w = min((channel.quantum_w or 0.0 for channel in source.channels), default=0.0)
    period_s = _BMC_PERIOD_S if source.every_s is None else source.every_s
    return not source.ok, period_s, samples, step_w


def look_there(targets: Iterable[Target]) -> list[FoundSource]:
    """Every protocol of each host.

    After a refused login the next protocol is not tried: accounts lock.
    """
    # A silent BMC takes its whole timeout, and a rack has dozens: almost all of it is waiting.
    with ThreadPoolExecutor(_MAX_HOSTS_AT_ONCE) as pool:
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
    measured: set[str] = set()
    tried: list[FoundSource] = []
    for url, scheme in local().items():
        if measured & set(scheme.yields_to):
            continue
        # No wait for counters: what they count is for the recording.
        found = _look(url, Options(root=root), counted_s=0.0)
        tried.append(found)
        if found.ok:
            chosen.append(Target(url, Options(root=root)))
            measured |= _measures(url, found)
    if "node" not in measured:
        for url in _published(root):
            found = _look(url, Options(root=root))
            tried.append(found)
            if _has_power(found) and (_covers_machine(found) or not chosen):
                return [Target(url, Options(root=root)), *_beside_node(chosen)]
    if not chosen:
        raise _nothing_readable(tried)
    return chosen


def _covers_machine(found: FoundSource) -> bool:
    return any(channel.scope in ("node", "plug") for channel in found.channels)


def _has_power(found: FoundSource) -> bool:
    """A published file may be one whose daemon stopped long ago."""
    return any(watts is not None for watts in found.watts.values())


def _beside_node(targets: Sequence[Target]) -> list[Target]:
    """Those whose joules a figure for the whole node does not take the place of."""
    return [target for target in targets if "node" not in local()[target.url].yields_to]


def _nothing_readable(tried: Sequence[FoundSource]) -> SensorError:
    refusals = [f"  {f.url} {f.why_not}" for f in tried if not f.ok and _is_worth_showing(f)]
    return SensorError(
        "No power can be read on this machine:\n" + "\n".join(refusals),
        hint="Name its BMC with --host, or run `powertui sensors`. A profile needs no power: "
        "`powertui capture --no-power`.",
    )


def _published(root: str) -> list[str]:
    """Recordings that a daemon lays out for everybody."""
    return [f"csv:{path}" for path in sorted((Path(root) / _PUBLISHED).glob("*.csv"))]


def _measures(url: str, source: FoundSource) -> set[str]:
    """What need not be measured again: in the words of `Scheme.yields_to`."""
    measured = {url}
    if _covers_machine(source):
        measured.add("node")
    if any(channel.scope == "package" for channel in source.channels):
        measured.add("package")
    if url == "hwmon:" and "amdgpu" in source.source:
        measured.add("hwmon amdgpu")
    return measured


def _request(sources: Sequence[FoundSource]) -> str:
    """What to ask an administrator for, in one line: nothing where something here covers the whole
    machine.
    """
    if any(item.ok and _covers_machine(item) for item in sources):
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
        if item.ok:
            yield from _working_lines(item)
        else:
            yield from _refused_lines(item)


def _shown_name(item: FoundSource) -> str:
    if item.name:
        return f"{item.name}  {item.url}"
    return item.url


def _refused_lines(item: FoundSource) -> Iterator[str]:
    yield f"no   {plain(_shown_name(item))}"
    yield f"     {plain(item.why_not)}"
    if item.hint:
        yield f"     try: {plain(item.hint)}"


def _working_lines(item: FoundSource) -> Iterator[str]:
    facts = dict(item.facts)
    # Some sources report their own "updated every": once is enough.
    if item.every_s and "updated every" not in facts:
        facts["every"] = f"{item.every_s:g} s"
    yield f"yes  {plain(_shown_name(item))}  {plain(item.source)}"
    if facts:
        listed = ", ".join(f"{name} {value}" for name, value in facts.items())
        yield f"     {plain(listed)}"
    for channel in item.channels:
        yield _channel_line(item, channel)
    for note in item.notes:
        yield f"     note: {plain(note)}"


def _channel_line(item: FoundSource, channel: Channel) -> str:
    value = "no value now"
    watts = item.watts.get(channel.name)
    if watts is not None:
        value = f"{watts:.1f} W"
    name = channel.name
    if channel.host and channel.host != item.host:
        name = f"{channel.host} {name}"
    words = [str(channel.scope)]
    if channel.quantum_w and channel.quantum_w >= _MIN_SHOWN_STEP_W:
        words.append(f"steps of {channel.quantum_w:g} W")
    if channel.note:
        words.append(channel.note)
    reason = item.reasons.get(channel.name)
    if reason is not None:
        words.append(f"({reason})")
    remarks = "  ".join(words)
    return f"     {plain(name):<24} {value:>12}  {plain(remarks)}"
