"""The top of the overview: what its sentences and its figures are about."""

from __future__ import annotations

from powertui.data.model import PS_PER_S
from powertui.data.table import Fact, Result
from powertui.view import overview_lines

_OF_WHOM = "The above is about all hosts, what follows about this one."
_CONCLUSION = Fact("conclusion_0", "conclusion", "The devices are idle in 53 % of a step.")
_OF_ALL_HOSTS = Fact("run_step_time_s", "step of all hosts", PS_PER_S, "duration")
_DIFFERENCE = Fact(
    "epoch_difference_joules",
    "epoch 1 less epoch 0",
    130.8,
    "number",
    "J",
    lo=102.8,
    hi=158.7,
    signed=True,
)


def words(*facts: Fact) -> list[str]:
    lines = overview_lines.lines(Result("overview_page", "Overview", facts=facts), 100, 20)
    return ["".join(text for text, _ in line).strip() for line in lines]


def test_where_sentences_are_about_all_hosts_and_figures_about_one_it_is_said() -> None:
    assert _OF_WHOM in words(_CONCLUSION, _OF_ALL_HOSTS)
    assert _OF_WHOM not in words(_CONCLUSION)
    assert _OF_WHOM not in words(_OF_ALL_HOSTS), "there is nothing above"


def test_a_difference_of_joules_has_the_form_of_every_energy() -> None:
    assert any("epoch 1 less epoch 0 +131 J ± 28" in line for line in words(_DIFFERENCE))


def test_what_to_do_gives_way_to_the_figures_where_there_is_no_room() -> None:
    advised = Fact("conclusion_0", "conclusion", "The devices are idle.", why="Launch less.")
    result = Result("overview_page", "Overview", facts=(advised, _DIFFERENCE))
    for height, has_advice in ((1, False), (2, False), (3, True), (9, True)):
        shown = overview_lines.lines(result, 100, height)
        texts = ["".join(text for text, _ in line) for line in shown]
        assert len(texts) <= height
        assert any("Launch less" in text for text in texts) is has_advice, height
