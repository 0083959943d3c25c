"""What is read of graphs and proved of pairs of them: `rows.txt` has the pairs, by what is so.

onnxruntime says of each pair whether it is equal, so nothing here is refused that need not be, and
nothing accepted that must not.
"""

from itertools import pairwise
from pathlib import Path
from typing import Final

import onnx
import pytest
from onnx import helper

from onnxpad.finding import Trust
from onnxpad.proof import refine as refining
from onnxpad.proof.refine import refine
from onnxpad.proof.term import DiffersError, Stepped, Terms
from tests.proof import pairs
from tests.proof.bodies import model
from tests.proof.pairs import Read, codes, refined
from tests.support import feeds_of, ran, run
from tests.support.rows import each_row, rows_below

ROWS: Final = Path(__file__).with_name("rows.txt")
PAIR: Final = ("before", "after")


def differences(before: onnx.ModelProto, after: onnx.ModelProto) -> list[int]:
    """Sizes of the open axes at which the first has an answer, and the second another."""
    different = []
    for size in range(1, 13):
        feeds = feeds_of(before, seed=size, size=size)
        wanted, found = ran(before, feeds), ran(after, feeds)
        if isinstance(wanted, str):
            continue
        if isinstance(found, str) or any(
            one.shape != other.shape or one.tolist() != other.tolist()
            for one, other in zip(wanted, found, strict=True)
        ):
            different.append(size)
    return different


@each_row(PAIR, rows_below(ROWS, "equal, both ways"))
def test_equal_ones_are_proved_both_ways(before: str, after: str) -> None:
    one, other = model(before), model(after)
    assert not differences(one, other)
    assert not refined(one, other).assumptions
    assert not refined(other, one).assumptions


@each_row(PAIR, rows_below(ROWS, "equal, for finite data"))
def test_finite_data_is_named(before: str, after: str) -> None:
    one, other = model(before), model(after)
    assert not differences(one, other)
    assert codes(refined(one, other).assumptions) == ["finite-data"]


WRONG: Final = [pytest.param(*pair, id=name) for name, *pair in rows_below(ROWS, "one thing wrong")]


@each_row(PAIR, WRONG)
def test_one_thing_wrong_is_refused(before: str, after: str) -> None:
    one, other = model(before), model(after)
    assert differences(one, other)
    with pytest.raises(DiffersError):
        refined(one, other)


@each_row(PAIR, rows_below(ROWS, "what may differ, though onnxruntime shows it at no size"))
def test_what_may_differ_is_not_proved(before: str, after: str) -> None:
    with pytest.raises(DiffersError):
        refined(model(before), model(after))


PROVED: Final = [
    line for line in pairs.LINES.kept() if "  =>  proved" in line and "trusts" not in line
]


@pytest.mark.night
@each_row("line", PROVED)
def test_what_is_proved_of_drawn_pairs_is_so(line: str) -> None:
    """At each size of a residue and the least ones; the signs of zeros that are lost may differ."""
    assert not differences(*pairs.models(line))


@each_row(
    ("told", "readers"), rows_below(ROWS, "whether the sign of a zero that fills `a` is lost")
)
def test_the_sign_of_a_zero_that_is_filled_in(told: str, readers: str) -> None:
    before, after = (model(f"a = Pad (x, p_1_2{fill}) {readers}") for fill in (", minus", ""))
    if told == "kept":
        with pytest.raises(DiffersError):
            refined(before, after, "a")
        return
    assert refined(before, after, "a").rule == refining.LOST_SIGN
    for size in (2, 3, 8):
        feeds = feeds_of(before, size=size)
        (one,), (other,) = run(before, feeds), run(after, feeds)
        assert one.tobytes() == other.tobytes()


@each_row(("rule", *PAIR), rows_below(ROWS, "which rule decides"))
def test_the_rule_that_decides(rule: str, before: str, after: str) -> None:
    """Where operands differ, it is the one that decides there."""
    equal = refined(model(before), model(after))
    assert equal.rule == rule
    assert equal.facts.get("repair", False) == (rule == "scattered")


@pytest.mark.parametrize("step", ["Transpose <perm = [0, 1, 2]> (c)", "ConvTranspose (c, t22)"])
def test_steps_over_equal_operands_may_lose_a_sign(step: str) -> None:
    """Both the operand and the padding around the step differ, each in a way that is proved."""
    behind = f"n = {step} y = Pad (n, p_1_1, {{}}) z = Conv (y, w2)"
    first, other = "c = Conv <pads = [1, 1]> (x, t22)", "a = Pad (x, p_1_1) c = Conv (a, t22)"
    before = model(f"{first} {behind.format('minus')}", output="z")
    after, wrong = (model(f"{other} {behind.format(n)}", output="z") for n in ("zero", "one"))
    assert refined(before, after).rule == refining.LOST_SIGN
    with pytest.raises(DiffersError):
        refined(before, wrong)


@each_row(("trust", "told", *PAIR), rows_below(ROWS, "whose reading counts"))
def test_whose_reading_counts(trust: str, told: str, before: str, after: str) -> None:
    trusted = None if trust == "neither" else Trust(trust)
    if told == "refused":
        with pytest.raises(DiffersError):
            refined(model(before), model(after), trust=trusted)
        return
    found = refined(model(before), model(after), trust=trusted).assumptions
    assert codes(found) == ([] if told == "proved" else [told])


# What is read: one term for all that computes the same, with its padding outermost.


@each_row("spelled", rows_below(ROWS, "one term"))
def test_what_computes_the_same_is_one_term(spelled: tuple[str, ...]) -> None:
    terms = Terms()
    found = [Read(model(body), terms).term() for body in spelled]
    assert all(one is other for one, other in pairwise(found))


@each_row(PAIR, rows_below(ROWS, "other terms"))
def test_what_computes_something_else_is_another_term(before: str, after: str) -> None:
    terms = Terms()
    assert Read(model(before), terms).term() is not Read(model(after), terms).term()


@each_row(("told", "body"), rows_below(ROWS, "the layers around a term"), at_once=9)
def test_the_layers_around_a_term(told: str, body: str) -> None:
    """What only crops has no fill."""
    found = Read(model(body)).term()
    fills = [str(each.fill).removesuffix(".0") for each in found.layers]
    pairs_of = ["{}+{}".format(*each.amounts[2]) for each in found.layers]
    layers = [f"{pair} {fill}" for pair, fill in zip(pairs_of, fills, strict=True)]
    assert " ".join(layers or ["none"]) == told
    assert found.bare.layers == ()
    assert found.is_open == bool(layers)


@each_row(("told", "body"), rows_below(ROWS, "whether two nodes of one graph are one term"))
def test_two_nodes_of_one_graph(told: str, body: str) -> None:
    """What is written alike is one term, but where a node draws numbers or nothing is known."""
    proto = model(body)
    proto.opset_import.append(helper.make_opsetid("own", 1))
    read = Read(proto)
    assert (read.term("y") is read.term("z")) == (told == "one")


def test_data_of_unknown_rank() -> None:
    terms = Terms()
    amounts = "Concat <axis = 0> (i_1, i_1)", "Add (none2, i_1)", "Concat <axis = 0> (i_1, i_2)"
    one, other, wrong = (
        Read(model(f"b = Reshape (flat, r) c = {c} y = Pad (b, c, , i_m1)", 18), terms).term()
        for c in amounts
    )
    assert one is other
    assert one is not wrong
    found = Read(model("b = Reshape (flat, r) y = Unsqueeze <axes = [2]> (b)", 11)).term()
    assert found.head == Stepped(("Unsqueeze", (2,)))


def test_no_depth_is_too_deep() -> None:
    """Neither for reading a long chain of nodes, nor for comparing two deep terms."""
    proto = model("a = Pad (x, p_1_1) y = Conv (a, w3)")
    names = ["y", *(f"s{place}" for place in range(5_000))]
    proto.graph.node.extend(helper.make_node("Sigmoid", [a], [b]) for a, b in pairwise(names))
    terms = Terms()
    old, new = Read(proto, terms), Read(model("y = Conv <pads = [1, 1]> (x, w3)"), terms)
    sides = [old.term(names[-1]), new.term()]
    head = sides[0].head
    for _ in names[1:]:
        sides[1] = terms.make(head, (sides[1],))
    for _ in range(75_000):
        sides = [terms.make(head, (side,)) for side in sides]
    assert refine(sides[1], sides[0], new.facts, new.graph.tensor("y")).rule == "windows"


def test_only_so_many_layers_are_around_a_term() -> None:
    """Else each further `Pad` would cost more than the one before."""
    fills = ("half", "one") * 50
    pads = [f"a{i + 1} = Pad (a{i}, p_1_1, {fill})" for i, fill in enumerate(fills)]
    read = Read(model(f"a0 = Neg (x) {' '.join(pads)} y = Neg (a100)"))
    assert 16 < max(len(read.term(f"a{i}").layers) for i in range(100)) <= 64
