"""Which folds of onnxruntime's optimiser are wrong, told from two results that are given here."""

from collections.abc import Callable, Sequence
from typing import Any

import onnx
import pytest

from onnxpad.graph import Graph
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes import pool
from onnxpad.runtimes.onnxruntime import ask_optimiser
from onnxpad.runtimes.onnxruntime.ask_optimiser import misfolded
from onnxpad.runtimes.runtime import EngineError
from tests.runtimes.onnxruntime.drawn import GIVEN, INPUTS
from tests.support import one
from tests.support.rows import each_row

POOL = "MaxPool <kernel_shape = [3, 3]>"
WRONG = f"a = Pad (x, p) y = {POOL} (a)"
RIGHT = "a = Pad (x, p) y = Conv (a, w)"
COPIED = "the tensor that it reads is also an output"
UNSEEN = "the operator that it is folded into is unknown"
LOWER = "can win in a maximum whose data may be below that"


def asked(
    body: str,
    folded: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    outputs: str = "float[] y",
    fails: Callable[[Sequence[str]], bool] = lambda _: False,
    without: str = "",
    constant: str = "",
    merged: str = "",
    version: tuple[int, int] = (1, 31),
) -> tuple[list[str] | None, list[tuple[str, ...]]]:
    """The wrong folds, and what was disabled at each call, if the optimiser folds some `Pad`s.

    Args:
        body: The nodes of the graph.
        folded: The tensors whose `Pad`s are in no result with PadFusion.
        monkeypatch: For the optimiser.
        outputs: The outputs of the graph.
        fails: Whether the optimiser fails with these rules disabled.
        without: Tensors whose `Pad`s are in no result at all.
        constant: A tensor for which the optimiser finds a zero.
        merged: Tensors whose `Pad`s are in no result with equal nodes merged.
        version: What is installed.
    """
    calls: list[tuple[str, ...]] = []

    def optimised(
        model: onnx.ModelProto, *, optimisation: str, disabled: Any, folder: Any
    ) -> bytes:
        assert (optimisation, folder) == ("basic", None)
        calls.append(disabled)
        if fails(disabled):
            raise EngineError("it does not load")
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        gone = [*without.split(), *([] if "Pad_Fusion" in disabled else folded.split())]
        gone += [] if EQUALS in disabled else merged.split()
        for node in copy.graph.node:
            node.input[:] = ["zero" if each == constant else each for each in node.input]
        for node in [each for each in copy.graph.node if each.output[0] in gone]:
            copy.graph.node.remove(node)
            for other in copy.graph.node:
                other.input[:] = [node.input[0] if n == node.output[0] else n for n in other.input]
        data: bytes = copy.SerializeToString()
        return data

    monkeypatch.setattr(ask_optimiser, "optimised", optimised)
    monkeypatch.setattr(pool, "ask", lambda *_: version)
    context = Context(
        Graph.from_proto(one(body, inputs=INPUTS, outputs=outputs, initializers=GIVEN))
    )
    found = misfolded(context)
    if found is None:
        return None, calls
    told = []
    for each in found:
        value = "" if each.pad.value is None else f" of {each.pad.value:g}"
        window = each.window.outputs[0].name
        assert each.why
        why = "W" if LOWER in each.why else each.why
        told.append(f"{each.pad.node.outputs[0].name}{value} into {window}: {why}")
    return told, calls


BOTH: list[tuple[str, ...]] = [(), ("Pad_Fusion",)]
EQUALS = "CommonSubexpressionElimination"
TWO: list[tuple[str, ...]] = [(EQUALS,), ()]
"""The questions about a graph with two `Pad`s if nothing is folded."""
APART: list[tuple[str, ...]] = [(EQUALS,), ("Pad_Fusion", EQUALS)]
"""The questions if one is folded where equal nodes are not merged."""


@each_row(
    ("body", "folded", "wrong", "calls"),
    [
        ("y = Relu (x)", "", [], []),
        (RIGHT, "", [], BOTH[:1]),
        (RIGHT, "a", [], BOTH),
        (WRONG, "", [], BOTH[:1]),
        (WRONG, "a", ["a of 0 into y: W"], BOTH),
        # A second Pad, which is folded rightly, or wrongly too, or not at all.
        (f"{WRONG.replace('y', 'q')} b = Pad (x, p) r = Conv (b, w) y = Add (q, r)", "a b",
         ["a of 0 into q: W"], APART),
        (f"{WRONG.replace('y', 'q')} b = Pad (z, p) r = {POOL} (b) y = Sum (q, r)", "a b",
         ["a of 0 into q: W", "b of 0 into r: W"], APART),
        (f"{WRONG.replace('y', 'q')} b = Pad (z, p) r = {POOL} (b) y = Sum (q, r)", "b",
         ["b of 0 into r: W"], APART),
        # Two readers.
        (f"a = Pad (x, p) q = {POOL} (a) r = Conv (a, w) y = Add (q, r)", "a",
         ["a of 0 into q: W", "a of 0 into r: W"], BOTH),
        # What folds it is not known.
        ("a = Pad (x, p) b = Relu (a) y = Abs (b)", "a", [f"a of 0 into a: {UNSEEN}"], BOTH),
        # A weight that is padded may be computed before.
        ("a = Pad (w, p) y = Conv (x, a)", "", [], [(), ("ConstantFolding",)]),
        ("a = Pad (w, p) y = Conv (x, a)", "a", ["a of 0 into y: it feeds the weight of Conv"],
         BOTH),
    ],
)  # fmt: skip
def test_which_folds_are_wrong(
    body: str,
    folded: str,
    wrong: list[str],
    calls: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert asked(body, folded, monkeypatch) == (wrong, calls)


def test_where_the_optimiser_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(disabled: Sequence[str]) -> bool:
        return True

    def plain(disabled: Sequence[str]) -> bool:
        return "Pad_Fusion" not in disabled

    def equals(disabled: Sequence[str]) -> bool:
        return "CommonSubexpressionElimination" in disabled

    assert asked(WRONG, "a", monkeypatch, fails=none) == (None, BOTH)
    # PadFusion alone makes it fail: any fold may be the one.
    assert asked(WRONG, "", monkeypatch, fails=plain) == (["a of 0 into y: W"], BOTH)
    assert asked(RIGHT, "a", monkeypatch, fails=plain) == ([], BOTH)
    copied = f"r = Relu (x) a = Pad (r, p) y = {POOL} (a)"
    assert asked(copied, "", monkeypatch, fails=plain) == ([], BOTH)
    some, _ = asked(copied, "", monkeypatch, fails=plain, outputs="float[] y, float[] r")
    assert some == [f"a of 0 into y: {COPIED}"]
    some, _ = asked(copied, "a", monkeypatch, outputs="float[] y, float[] r")
    assert some == []
    both = "b = Pad (z, p) q = Conv (b, w) a = Pad (x, p) y = Conv (a, w)"
    assert asked(both, "", monkeypatch, fails=equals) == (None, APART)
    some, _ = asked(WRONG, "", monkeypatch, fails=plain, without="a")
    assert some == []


def test_a_value_that_constant_folding_finds_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"v = vendor.Value () a = Pad (x, p, v) y = {POOL} (a)"
    assert asked(body, "", monkeypatch) == ([], BOTH[:1])
    some, _ = asked(body, "a", monkeypatch)
    assert "known only at run time" in str(some)
    some, _ = asked(body, "a", monkeypatch, constant="v")
    assert some == ["a of 0 into y: W"]
    # As it is in no result, nothing folds it.
    assert asked(body, "", monkeypatch, without="a") == ([], BOTH)
    # Of two, one in no result.
    two = "b = Pad (z, p) q = Relu (b) a = Pad (x, p) r = Relu (a) y = Sum (q, r)"
    some, _ = asked(two, "a b", monkeypatch, without="b")
    assert some == [f"a of 0 into a: {UNSEEN}"]


def test_merging_is_tried_both_ways_unless_it_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    two = f"b = Pad (z, p) q = {POOL} (b) a = Pad (x, p) r = {POOL} (a) y = Sum (q, r)"
    merging: list[tuple[str, ...]] = [(), ("Pad_Fusion",)]
    assert asked(two, "a", monkeypatch, merged="b") == (["a of 0 into r: W"], APART)
    assert asked(two, "", monkeypatch, merged="b") == ([], [(EQUALS,), *merging])
    # One is folded, rightly or wrongly, only once the other is merged.
    right = two.replace(f"q = {POOL} (b)", "q = Conv (b, w)")
    both = [*APART, *merging]
    assert asked(right, "b", monkeypatch, merged="a") == ([], both)
    assert asked(right, "b", monkeypatch) == ([], [*APART, ()])  # the same result as before


def test_a_version_that_folds_less_than_others_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is written with it runs elsewhere, too."""
    assert asked(WRONG, "", monkeypatch, version=(1, 32)) == (None, [])
    assert asked(RIGHT, "", monkeypatch, version=(1, 32)) == ([], [()])
    assert asked(RIGHT, "", monkeypatch, version=(1, 99)) == (None, [])


def test_functions_that_unfold_to_too_many_nodes_are_not_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ask_optimiser, "unfolds", lambda model: "too many")
    assert asked(WRONG, "a", monkeypatch) == (None, [])
