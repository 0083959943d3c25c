"""The rounds in which failing changes are found are what is kept, and what is left passes.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

from tests.pipeline import drawn_heals
from tests.support.rows import each_row


@each_row("line", drawn_heals.LINES.kept(), at_once=40)
def test_what_is_taken_back(line: str) -> None:
    assert drawn_heals.said(line) == line


@each_row("line", drawn_heals.LINES.kept(), at_once=200)
def test_what_is_left_passes_and_nothing_is_taken_back_without_need(line: str) -> None:
    changes, together, _ = drawn_heals.asked(line)
    rounds, back, then = line.partition("  =>  ")[2].split("; ")
    guilty = set() if back == "nothing" else {each.split()[0] for each in back.split(", ")}
    left = set(changes) - guilty
    passes = not any(wrong <= left for wrong in together)
    fails_in_any_case = frozenset() in together
    assert passes or fails_in_any_case or not guilty
    assert (then == "then passed") == passes
    assert len(rounds.split()) <= 2 * len(set(changes)).bit_length() + 4
    if len(together) == 1 and together[0]:  # one fault: one change of it, or the two that differ
        assert guilty <= together[0]
