"""What is left of changes that fail passes, as the lines of `heals.txt` say."""

from tests.rewrite import drawn_heals
from tests.support.rows import each_row


@each_row("line", drawn_heals.LINES.kept(), at_once=200)
def test_what_is_left_passes_and_nothing_is_taken_back_without_need(line: str) -> None:
    changes, together = drawn_heals.asked(line)
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
