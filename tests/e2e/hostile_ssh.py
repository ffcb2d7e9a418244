"""A stand-in for `ssh`: a program of its own, found first on PATH, that answers powertui's
questions in as many wrong ways.

    HOSTILE_SSH=silence HOSTILE_PROFILE=vm.xplane.pb PATH=folder-with-ssh:$PATH powertui report ssh://box/logs

`HOSTILE_SSH` names the behavior, `HOSTILE_PROFILE` a file whose bytes an honest answer holds, and
`HOSTILE_NOTES` a folder where each process leaves a file named after its process id, with the
question that it was asked in it. It uses the standard library alone and no package of powertui: a
stranger's machine shares no code with us.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
import zlib
from collections.abc import Callable, Iterator

ROOT = b"/logs"
HOME = ROOT + b"/run/plugins/profile/2026_11_21_00_50_50"
FILE = HOME + b"/vm.xplane.pb"
SECRET = b"correct-horse-battery"
NAMES = 200_000
LEVELS = 3000
PIECE = 1 << 16

Behavior = Callable[["Question"], None]
BEHAVIORS: dict[str, Behavior] = {}


class Question:
    """What was asked through standard input, and the ways to answer it."""

    def __init__(self, text: bytes) -> None:
        self.number = self._value(text, b"n")
        self.path = self._value(text, b"p")
        self.start = int(self._value(text, b"a") or b"1") - 1
        self.batches = text.count(b"\nw next\n")
        self.files = text.count(b"\ncksum")
        if b"tail -c" in text:
            self.kind = "read"
        elif b"head -c" in text:
            self.kind = "heads"
        elif b"cksum" in text:
            self.kind = "sums"
        else:
            self.kind = "list"

    @staticmethod
    def _value(text: bytes, name: bytes) -> bytes:
        match = re.search(rb"^" + name + rb"=(.*)$", text, re.MULTILINE)
        return match[1].strip(b"'") if match else b""

    def word(self, words: bytes) -> None:
        """The first line of an answer, with the number that marks it."""
        write(self.number + b" " + words + b"\n")

    def listing(self, records: Iterator[bytes] | list[bytes], *, end: bool = True) -> None:
        """An answer with these records in it."""
        self.word(b"ok -")
        write(b"@root 0 0 " + ROOT + b"\0")
        gathered: list[bytes] = []
        for record in records:
            gathered.append(record)
            if len(gathered) == 1000:
                write(b"".join(gathered))
                gathered.clear()
        write(b"".join(gathered))
        if end:
            write(b"@end 0 0 .\0")

    def file(self, size: int, content: Iterator[bytes]) -> None:
        """An answer with a file in it, and the size that is promised for it."""
        self.word(b"ok %d 1700000000.5" % size)
        for piece in content:
            write(piece)


def write(data: bytes) -> None:
    """To whoever asked."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def complain(data: bytes) -> None:
    """On standard error."""
    os.write(2, data)


def forever() -> None:
    """Say nothing more."""
    while True:
        time.sleep(3600)


def profile() -> bytes:
    """The bytes of an honest answer."""
    with open(os.environ["HOSTILE_PROFILE"], "rb") as file:
        return file.read()


def record(
    path: bytes, size: bytes | int, kind: bytes = b"f", when: bytes = b"1700000000.5"
) -> bytes:
    """One name of a listing."""
    written = size if isinstance(size, bytes) else b"%d" % size
    return b" ".join((kind, written, when, path)) + b"\0"


def behavior(answer: Behavior) -> Behavior:
    """Something that a host may do, under the name of the function."""
    BEHAVIORS[answer.__name__] = answer
    return answer


def honest_list(question: Question, *more: bytes) -> None:
    """One profile, and whatever a behavior adds to it."""
    question.listing([record(FILE, len(profile())), *more])


def honest_read(question: Question) -> None:
    """The bytes of the profile from where they were asked for."""
    data = profile()
    question.file(len(data), iter([data[question.start :]]))


def others(question: Question) -> None:
    """Heads and checksums: nothing can be read of any file."""
    question.word(b"ok")
    for _ in range(question.batches):
        question.word(b"next")
    write(b"-\n" * question.files)


@behavior
def honest(question: Question) -> None:
    {"list": honest_list, "read": honest_read}.get(question.kind, others)(question)


def when_listed(answer: Callable[[Question], None]) -> Behavior:
    """A behavior that begins with the listing; all else is honest."""
    return behavior(
        _named(answer, lambda question: (answer if question.kind == "list" else honest)(question))
    )


def when_read(answer: Callable[[Question], None]) -> Behavior:
    """A behavior that begins when a file is read; the listing is honest."""
    return behavior(
        _named(answer, lambda question: (answer if question.kind == "read" else honest)(question))
    )


def _named(answer: Callable[[Question], None], chosen: Behavior) -> Behavior:
    chosen.__name__ = answer.__name__
    return chosen


# ── numbers that cannot be ──


@when_listed
def huge_size(question: Question) -> None:
    question.listing([record(FILE, 10**18)])


@when_listed
def large_size(question: Question) -> None:
    question.listing([record(FILE, 9 * 10**17)])


@when_listed
def negative_size(question: Question) -> None:
    question.listing([record(FILE, -5)])


@when_listed
def size_is_no_number(question: Question) -> None:
    question.listing(
        [
            record(FILE, b"many"),
            record(HOME + b"/b.xplane.pb", "٣".encode()),
            record(HOME + b"/c.xplane.pb", b""),
        ]
    )


@when_listed
def size_is_nan(question: Question) -> None:
    question.listing(
        [
            record(FILE, b"nan"),
            record(HOME + b"/b.xplane.pb", b"inf"),
            record(HOME + b"/c.xplane.pb", 9, when=b"nan"),
        ]
    )


@when_listed
def impossible_times(question: Question) -> None:
    times = (b"999999999999.5", b"-999999999999", b"9" * 40, b"--5", b"1.x", b"1e9")
    question.listing(
        [record(HOME + b"/%d.xplane.pb" % index, 9, when=when) for index, when in enumerate(times)]
    )


@when_read
def size_changes_to_huge(question: Question) -> None:
    question.file(9 * 10**17, endless())


@when_read
def size_changes_each_time(question: Question) -> None:
    question.file(time.time_ns() % 10**9, iter(()))


@when_read
def state_is_no_number(question: Question) -> None:
    question.word(b"ok many nan")


# ── names that cannot be ──


@when_listed
def deep_path(question: Question) -> None:
    honest_list(question, record(ROOT + b"/d" * LEVELS + b"/vm.xplane.pb", 9))


@when_listed
def deep_folders(question: Question) -> None:
    """Each of them by itself, as find names them: none is longer than a path may be."""
    honest_list(
        question, *(record(ROOT + b"/d" * level, 0, kind=b"d") for level in range(1, LEVELS))
    )


@when_listed
def deep_root(question: Question) -> None:
    question.word(b"ok -")
    root = b"/d" * LEVELS
    write(b"@root 0 0 " + root + b"\0" + record(root + b"/vm.xplane.pb", 9) + b"@end 0 0 .\0")


@when_listed
def deep_root_that_fits(question: Question) -> None:
    question.word(b"ok -")
    root = b"/d" * 1800
    write(b"@root 0 0 " + root + b"\0" + record(root + b"/vm.xplane.pb", 9) + b"@end 0 0 .\0")


@when_listed
def absolute_paths(question: Question) -> None:
    honest_list(
        question,
        record(b"/etc/vm.xplane.pb", 9),
        record(b"//etc//x.xplane.pb", 9),
        record(b"/", 0, kind=b"d"),
    )


@when_listed
def parent_paths(question: Question) -> None:
    honest_list(
        question,
        record(ROOT + b"/../../../../out.xplane.pb", 9),
        record(b"../x.xplane.pb", 9),
        record(ROOT + b"/..", 9),
    )


@when_listed
def line_breaks(question: Question) -> None:
    honest_list(
        question, record(HOME + b"/a\nb\r.xplane.pb", 9), record(ROOT + b"/\n", 0, kind=b"d")
    )


@when_listed
def nul_bytes(question: Question) -> None:
    honest_list(question, record(HOME + b"/a\0b.xplane.pb", 9), b"\0" * 100_000)


@when_listed
def escape_sequences(question: Question) -> None:
    honest_list(
        question,
        record(HOME + b"/\x1b]0;owned\x07\x1b[31m.xplane.pb", 9),
        record(ROOT + b"/\x1b[2J", 0, kind=b"u"),
    )


@when_listed
def not_utf8(question: Question) -> None:
    honest_list(question, record(HOME + b"/\xff\xfe\xc3.xplane.pb", 9))


@when_listed
def endless_name(question: Question) -> None:
    question.word(b"ok -")
    write(b"@root 0 0 " + ROOT + b"\0f 9 1 /logs/")
    while True:
        write(b"n" * PIECE)


@when_listed
def duplicate_names(question: Question) -> None:
    honest_list(
        question,
        *(record(FILE, size) for size in range(1000)),
        record(FILE, 0, kind=b"d"),
        record(FILE + b"/x.json", 9),
    )


@when_listed
def link_loops(question: Question) -> None:
    """What `find -L` says of them: a link to nothing, and each folder again and again behind its
    own link.
    """
    loops = [record(ROOT + b"/loop" * level, 0, kind=b"d") for level in range(1, 41)]
    honest_list(question, record(HOME + b"/lost.xplane.pb", 0, kind=b"l"), *loops)


@when_listed
def many_names(question: Question) -> None:
    count = int(os.environ.get("HOSTILE_NAMES", NAMES))
    honest_list(
        question,
        *(record(ROOT + b"/logs_%06d/train.json" % number, 100) for number in range(count)),
    )


@when_listed
def endless_names(question: Question) -> None:
    def names() -> Iterator[bytes]:
        number = 0
        while True:
            number += 1
            yield record(ROOT + b"/%d/vm.xplane.pb" % number, 9)

    question.listing(names())


# ── too much, too little, too slowly ──


def endless(piece: bytes = b"x" * PIECE) -> Iterator[bytes]:
    while True:
        yield piece


def dripping(data: bytes) -> Iterator[bytes]:
    """A byte a second; faster where a test has no second."""
    for at in range(len(data)):
        time.sleep(float(os.environ.get("HOSTILE_DRIP", "1")))
        yield data[at : at + 1]


@when_listed
def endless_listing(question: Question) -> None:
    question.word(b"ok -")
    for piece in endless():
        write(piece)


@when_listed
def endless_zeros(question: Question) -> None:
    question.word(b"ok -")
    for piece in endless(bytes(PIECE)):
        write(piece)


@when_listed
def gzip_bomb(question: Question) -> None:
    """Each megabyte on the line is a gigabyte of zeros."""
    question.word(b"ok z")
    engine = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    for _ in range(4096):
        write(engine.compress(zeros))
    write(engine.flush())


@when_listed
def endless_gzip(question: Question) -> None:
    """One empty member after the other: bytes come without end, and nothing comes out of them."""
    question.word(b"ok z")
    engine = zlib.compressobj(9, zlib.DEFLATED, 31)
    member = engine.compress(b"") + engine.flush()
    for piece in endless(member * 3000):
        write(piece)


@when_listed
def damaged_gzip(question: Question) -> None:
    question.word(b"ok z")
    write(b"\x1f\x8b\x08\0" + b"\xff" * 1000)


@when_read
def longer_than_promised(question: Question) -> None:
    data = profile()
    question.file(
        len(data), (piece for part in ([data[question.start :]], endless()) for piece in part)
    )


@when_read
def shorter_than_promised(question: Question) -> None:
    data = profile()
    question.file(len(data), iter([data[question.start : len(data) // 2]]))


@when_read
def gzip_bomb_file(question: Question) -> None:
    """A profile of 4 MB that unpacks to 4 GB; it was listed with its size."""
    data = packed_zeros()
    question.file(len(data), iter([data[question.start :]]))


def packed_zeros() -> bytes:
    """Gzip of a profile and 4 GB of zeros, from members of 64 MB."""
    engine = zlib.compressobj(9, zlib.DEFLATED, 31)
    first = engine.compress(profile()) + engine.flush()
    engine = zlib.compressobj(9, zlib.DEFLATED, 31)
    member = b"".join(engine.compress(bytes(1 << 20)) for _ in range(64)) + engine.flush()
    return first + member * 64


@behavior
def gzip_bomb_profile(question: Question) -> None:
    if question.kind == "list":
        question.listing([record(FILE, len(packed_zeros()))])
    elif question.kind == "read":
        gzip_bomb_file(question)
    else:
        others(question)


del BEHAVIORS["gzip_bomb_file"]


@behavior
def endless_heads(question: Question) -> None:
    """A name that does not tell what it is: its first bytes are asked for."""
    if question.kind == "list":
        question.listing([record(ROOT + b"/train.json", 100_000)])
        return
    question.word(b"ok")
    for piece in endless():
        write(piece)


@behavior
def endless_sums(question: Question) -> None:
    """Two profiles of one size: their checksums are asked for."""
    if question.kind == "list":
        question.listing([record(FILE, 1000), record(HOME + b"/other.xplane.pb", 1000)])
    elif question.kind == "read":
        forever()
    else:
        question.word(b"ok")
        for piece in endless():
            write(piece)


@behavior
def silence(_question: Question) -> None:
    forever()


@behavior
def deaf_silence(_question: Question) -> None:
    """It does not end when it is asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    forever()


@when_listed
def silence_midway(question: Question) -> None:
    question.listing([record(FILE, len(profile()))], end=False)
    forever()


@when_read
def silence_before_a_file(_question: Question) -> None:
    forever()


@when_read
def silence_within_a_file(question: Question) -> None:
    data = profile()
    question.file(len(data), iter([data[question.start : len(data) // 2]]))
    forever()


@behavior
def dripping_words(question: Question) -> None:
    for piece in dripping(b"welcome\n" * 100_000):
        write(piece)


@when_listed
def dripping_listing(question: Question) -> None:
    question.word(b"ok -")
    for piece in dripping(b"@root 0 0 " + ROOT + b"\0" + record(FILE, 9) * 100_000):
        write(piece)


@when_read
def dripping_file(question: Question) -> None:
    data = profile()
    question.file(len(data), dripping(data[question.start :]))


@when_read
def slow_line(question: Question) -> None:
    """An honest line of 1 Mbit/s."""
    data = profile()
    rate = 125_000

    def pieces() -> Iterator[bytes]:
        for at in range(question.start, len(data), rate // 50):
            time.sleep(0.02)
            yield data[at : at + rate // 50]

    question.file(len(data), pieces())


# ── other endings ──


@behavior
def exit_255(_question: Question) -> None:
    complain(b"ssh: connect to host box port 22: Connection refused\n")
    os._exit(255)


@behavior
def exit_255_without_a_word(_question: Question) -> None:
    os._exit(255)


@behavior
def nothing_at_all(_question: Question) -> None:
    """Exit code 0, and not a byte."""


@when_listed
def killed_midway(question: Question) -> None:
    question.listing([record(FILE, len(profile()))], end=False)
    os.kill(os.getpid(), signal.SIGKILL)


@when_read
def killed_within_a_file(question: Question) -> None:
    data = profile()
    question.file(len(data), iter([data[question.start : question.start + 1000]]))
    os.kill(os.getpid(), signal.SIGKILL)


@behavior
def banner_first(question: Question) -> None:
    """A start-up file that greets, in colors."""
    write(b"\x1b[32mWelcome to box\x1b[0m\r\nLast login: never\n" + b"* news *\n" * 500)
    complain(b"\x1b[31mThis host is watched.\x1b[0m\n")
    honest(question)


@behavior
def endless_banner(_question: Question) -> None:
    for piece in endless(b"Welcome to box\n" * 1000):
        write(piece)


@behavior
def endless_errors(_question: Question) -> None:
    while True:
        complain(b"debug1: something happened\n" * 1000)


@behavior
def refusal_with_secrets(_question: Question) -> None:
    complain(
        b"\x1b]0;owned\x07login failed: password="
        + SECRET
        + b" token: "
        + SECRET
        + b" https://ann:"
        + SECRET
        + b"@box/\n"
    )
    os._exit(255)


@behavior
def host_key_question(_question: Question) -> None:
    """As ssh does it: on the terminal; without one it fails."""
    try:
        with open("/dev/tty", "r+b", buffering=0) as terminal:
            terminal.write(b"Are you sure you want to continue connecting (yes/no/[fingerprint])? ")
            if terminal.readline().strip() == b"yes":
                honest(_question)
                return
    except OSError:
        pass
    complain(b"Host key verification failed.\n")
    os._exit(255)


@behavior
def password_prompt(question: Question) -> None:
    """The same with a password, and no echo."""
    try:
        import termios

        with open("/dev/tty", "r+b", buffering=0) as terminal:
            before = termios.tcgetattr(terminal)
            quiet = termios.tcgetattr(terminal)
            quiet[3] &= ~termios.ECHO
            terminal.write(b"ann@box's password: ")
            termios.tcsetattr(terminal, termios.TCSAFLUSH, quiet)
            typed = terminal.readline().strip()
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        if typed == SECRET:
            honest(question)
            return
    except OSError:
        pass
    complain(b"ann@box: Permission denied (publickey,password).\n")
    os._exit(255)


def main() -> None:
    """Answer one question."""
    if "-O" in sys.argv:  # the end of a connection that is kept: there is none
        return
    text = sys.stdin.buffer.read()
    question = Question(text)
    notes = os.environ.get("HOSTILE_NOTES")
    if notes:
        # Whole or not there: a test reads it as soon as it sees the name.
        draft = f"{notes}/.{os.getpid()}"
        with open(draft, "wb") as file:
            file.write(question.kind.encode())
        os.rename(draft, f"{notes}/{os.getpid()}")
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        BEHAVIORS[os.environ["HOSTILE_SSH"]](question)


if __name__ == "__main__":
    main()
