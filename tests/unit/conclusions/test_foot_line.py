"""The sentences at the foot of the first screen end where a thought ends."""

from __future__ import annotations

from powertui.data.conclusions.conclusion import (
    Conclusion,
    Conclusions,
    Confidence,
    Evidence,
    Kind,
)
from powertui.view.conclusion_line import conclusion_lines

_TWO = "Computing on the host takes 85 % of the time, waiting for input 0.3 %. The largest op is a sum."


def _shown(sentence: str, cells: int) -> str:
    (pieces,) = conclusion_lines(Conclusions((), looked_at=sentence), "3", cells, rows=1)
    line = "".join(text for text, _ in pieces)
    assert len(line) <= cells
    return pieces[1][0]


def test_a_sentence_that_would_be_cut_gives_way_where_the_one_before_fills_the_line() -> None:
    assert _shown(_TWO, 100).endswith("waiting for input 0.3 %. …")
    assert _shown(_TWO, 200) == _TWO


def test_what_ends_with_a_sentence_keeps_it() -> None:
    first, _, _ = _TWO.partition(" The")
    room = len(first) + 2
    assert _shown(_TWO, room + len("  3: more") + 2).startswith(first)


def test_the_words_of_a_long_sentence_stay_where_a_short_one_is_before_it() -> None:
    text = "Twice. " + "word " * 40
    assert _shown(text, 80).count("word") > 8


def test_the_only_conclusion_goes_on_where_a_second_line_is_free() -> None:
    only = Conclusion(
        Kind.IDLE_DEVICE,
        "The devices are idle in 59 % of a step. The host meanwhile: Python 58 %.",
        "idle 59 %",
        Confidence.SURE,
        Evidence("timeline"),
    )
    lines = conclusion_lines(Conclusions((only,), looked_at=""), "3", 60, rows=2)
    texts = ["".join(text for text, _ in pieces) for pieces in lines]
    assert [len(text) <= 60 for text in texts] == [True, True]
    words = " ".join(" ".join(texts).replace("3: more", "").split())
    assert words == only.sentence
    assert len(conclusion_lines(Conclusions((only,), looked_at=""), "3", 60, rows=1)) == 1
