"""Power of IBM's Spyre accelerators as `aiu-smi` prints it, once a second, for as long as it runs.
It needs no root.

Its lines name the card, the date, the time and then the columns that its header names; a line below
the header tells their units. It answers no single question, so it runs beside us: each of its lines
is a reading of the moment when it came.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Iterable

from powertui.errors import NotSupported
from powertui.named_tuples import NamedTuple
from powertui.sampler import programs
from powertui.sampler.source import OK, AnswerTime, Channel, Info, Options, Reading, Stamp, none
from powertui.sampler.urls import Address

__all__ = ["AiuLine", "AiuSmiSource", "make", "parsed"]

# It prints a line for each card once a second. These were chosen by that, not measured.
_FIRST_LINES_S = 10.0  # until its first lines come
_ALL_CARDS_S = 1.5  # after the first line, until each card has one
_MAX_SILENCE_S = 5.0  # without a line: then there is no value
_TERMINATION_S = 1.0  # until it ends once it was asked to
_CARD = re.compile(
    r"#\s*(\d{1,3})\s+\S*?\.?((?:[0-9A-Fa-f]{4}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*"
)
_NUMBER = re.compile(r"\d{1,7}(\.\d{1,6})?")


class AiuLine(NamedTuple):
    """What one line says of one card."""

    card: int
    watts: float | None  # None: "-"


class _Table:
    """How the lines that follow are read: the columns, and each card's PCI address."""

    def __init__(self) -> None:
        self.columns: list[str] = []
        self.in_watts = True
        self.addresses: dict[int, str] = {}

    def take(self, line: str) -> AiuLine | None:
        """The next line. Nothing for headers, and for what is not understood."""
        line = line.strip()
        text = line.lstrip("#")
        if "," in line:
            cells = [cell.strip() for cell in text.split(",")]
        else:
            cells = text.split()
        titles = [cell.split()[0].casefold() if cell else "" for cell in cells]
        if titles[:1] == ["id"] and "pwr" in titles:
            self.columns = titles
            unit = cells[titles.index("pwr")].split()[1:]  # with commas: "pwr W"
            self.in_watts = unit in ([], ["W"])
        elif line.startswith("#"):
            self._take_comment(line, cells)
        elif self.columns and len(cells) == len(self.columns):
            return self._card_line(cells)
        return None

    def _take_comment(self, line: str, cells: list[str]) -> None:
        """The address of a card, or the units of the columns."""
        if match := _CARD.fullmatch(line):
            self.addresses[int(match[1])] = match[2]
        # Units: the column of cards has none.
        elif "pwr" in self.columns and len(cells) == len(self.columns) - 1:
            self.in_watts = cells[self.columns.index("pwr") - 1] == "W"

    def _card_line(self, cells: list[str]) -> AiuLine | None:
        if not re.fullmatch(r"\d{1,4}", cells[0]):
            return None
        power = cells[self.columns.index("pwr")]
        if self.in_watts and _NUMBER.fullmatch(power):
            watts = float(power)
        else:
            watts = None
        return AiuLine(int(cells[0]), watts)


def parsed(lines: Iterable[str]) -> list[AiuLine]:
    """All readings in a text."""
    table = _Table()
    return [card for line in lines if (card := table.take(line)) is not None]


class AiuSmiSource:
    min_period = 1.0
    reconnects = 0

    def __init__(self, options: Options) -> None:
        self.name = "aiu-smi"
        self._options = options
        self.channels: tuple[Channel, ...] = ()
        self._command: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._listener: threading.Thread | None = None
        self._table = _Table()
        self._latest: dict[int, tuple[AiuLine, Stamp]] = {}  # that nobody has read yet
        self._heard = Stamp.now()
        self._news = threading.Condition()

    def open(self) -> Info:
        program = programs.find("aiu-smi")
        if not program.path:
            raise NotSupported(
                program.refused or "There is no aiu-smi here.",
                hint="It comes with the driver of IBM's Spyre.",
            )
        self._command = [program.path]
        self._start()
        measured = self._first_cards()
        asked = {sensor.casefold() for sensor in self._options.sensors}
        chosen = [card for card in measured if not asked or asked & {f"aiu {card}", str(card)}]
        if not chosen:
            self.close()
            raise self._nothing_chosen(measured)
        self.channels = tuple(self._channel(card) for card in chosen)
        return Info(
            source="aiu-smi",
            url="aiu-smi:",
            host="",
            channels=self.channels,
            facts={"program": program.path},
        )

    def _first_cards(self) -> list[int]:
        """The cards that report power, once each had the time for a line."""
        with self._news:
            self._news.wait_for(lambda: self._latest or self._ended(), _FIRST_LINES_S)
            # How many cards there are is known to nobody: the rest of one round is waited for.
            self._news.wait_for(lambda: self._ended(), _ALL_CARDS_S if self._latest else 0.0)
            lines = [line for line, _ in self._latest.values()]
        return sorted(line.card for line in lines if line.watts is not None)

    def _nothing_chosen(self, measured: list[int]) -> NotSupported:
        if not measured:
            return NotSupported(
                "aiu-smi reports no power.", hint="Run aiu-smi by hand: it shows what is missing."
            )
        names = ", ".join(f"AIU {card}" for card in measured)
        return NotSupported(
            f"No card is called {' or '.join(self._options.sensors)}.",
            hint=f"The cards are: {names}.",
        )

    def _channel(self, card: int) -> Channel:
        return Channel(
            name=f"AIU {card}",
            host="",
            scope="gpu",
            note="IBM Spyre",
            period_s=1.0,
            index=card,
            pci=self._table.addresses.get(card, ""),
            running=True,
        )

    def _start(self) -> None:
        # It is a Python program: it is to keep no lines back.
        environment = {**programs.environment(os.environ), "PYTHONUNBUFFERED": "1"}
        self._table = _Table()
        self._heard = Stamp.now()
        try:
            self._process = subprocess.Popen(
                self._command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise NotSupported(f"aiu-smi cannot be run: {error.strerror}.") from None
        self._listener = threading.Thread(
            target=self._listen,
            args=(self._process,),
            name="aiu-smi",
            daemon=True,
        )
        self._listener.start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process:
            while line := process.stdout.readline(4096):
                card_line = self._table.take(line)
                with self._news:
                    if card_line is not None:
                        self._heard = Stamp.now()
                        self._latest[card_line.card] = (card_line, self._heard)
                    self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def read(self) -> list[Reading]:
        """What came since the last time; one that came to an end is started again."""
        with self._news:
            latest, self._latest = self._latest, {}
        readings = []
        for channel in self.channels:
            line, stamp = latest.get(channel.index or 0, (None, None))
            if line is not None and stamp is not None:
                if line.watts is not None:
                    quality = OK
                else:
                    quality = none("it has no value right now")
                printed = AnswerTime(stamp.t, stamp.mono, 0.0)
                readings.append(printed.reading(self.name, channel.name, line.watts, quality))
        now = Stamp.now()
        if readings or now.mono - self._heard.mono <= _MAX_SILENCE_S:
            return readings
        why = self._look_after_program()
        silent = AnswerTime(now.t, now.mono, 0.0)
        return [silent.gap(self.name, channel.name, why) for channel in self.channels]

    def _look_after_program(self) -> str:
        """Why nothing comes. A program that ended is started again, as its driver may come back."""
        if not self._ended():
            return "aiu-smi prints nothing"
        self.reconnects += 1
        with contextlib.suppress(NotSupported):
            self._start()
        return "aiu-smi ended"

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None or self._listener is None:
            return
        process.terminate()
        self._listener.join(_TERMINATION_S)
        if self._listener.is_alive():
            process.kill()
            self._listener.join(_TERMINATION_S)


def make(_address: Address, options: Options) -> AiuSmiSource:
    return AiuSmiSource(options)
