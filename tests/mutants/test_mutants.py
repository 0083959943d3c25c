"""A package that is broken by one thing ships no wrong rewrite: proof, probes or validation notice.

A mutant counts when onnxruntime shows a difference between a model and what the broken passes make
of it when nobody checks them, and that comes of the mutant.
"""

from contextlib import suppress
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.errors import ModelError
from onnxpad.finding import Trust
from onnxpad.graph import Graph
from onnxpad.options import Options
from onnxpad.padding.crops import Crops
from onnxpad.padding.write import Judge
from onnxpad.passes import PASSES
from onnxpad.probe.cut import NeighbourhoodProbe
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.run import Run, RunResult
from tests.mutants.reading import Case, Mutant, read
from tests.support import canonical, feeds_of, run
from tests.support.rows import one_in

CASES, ALL = read()
MUTANTS = [each for each in ALL if each.killer != "harmless"]
HARMLESS = [each for each in ALL if each.killer == "harmless"]


def answers(model: onnx.ModelProto, size: int, trust: Trust | None = None) -> list[Any]:
    """What a model computes from small integers.

    onnxruntime says so; of a dilated SAME, which it refuses, the reference evaluator, and of all
    that is to be as specified.
    """
    feeds = feeds_of(model, size=size)
    if trust is not Trust.SPEC and not any(
        node.op_type == "Conv" and _dilated_same(node) for node in model.graph.node
    ):
        return run(model, feeds)
    from onnx.reference import ReferenceEvaluator

    return list(ReferenceEvaluator(model).run(None, feeds))


def _dilated_same(node: onnx.NodeProto) -> bool:
    given = {attribute.name: attribute for attribute in node.attribute}
    return "dilations" in given and given.get("auto_pad", onnx.AttributeProto()).s[:4] == b"SAME"


def difference(case: Case, after: onnx.ModelProto) -> str:
    """The first difference that running a case and what became of it shows; empty without any."""
    for size in case.sizes:
        expected = answers(case.model, size, case.trust)
        try:
            found = answers(after, size, case.trust)
        except Exception as error:
            return f"does not run at {size}: {error}"
        for one, other in zip(expected, found, strict=True):
            if one.shape != other.shape or not np.array_equal(one, other, equal_nan=True):
                return f"differs at {size}"
    return ""


def asked(case: Case) -> Options:
    """The options of a case."""
    return Options(style=case.style, dynamic=case.dynamic, no_ceil=case.no_ceil, trust=case.trust)


def trusted(case: Case) -> onnx.ModelProto:
    """What the passes make of a model when nobody checks them, each at most once of a node."""
    graph = Graph.from_proto(case.model)
    context = Context(graph, asked(case))
    with suppress(ModelError):  # what was made is so wrong that the next pass stops
        for kind in PASSES:
            done: set[int] = set()
            rule = kind()
            for match in rule.find(context):
                if match.plan is not None and id(match.node) not in done:
                    done.add(id(match.node))
                    rule.rewrite(match, context)
                    graph.sweep()
    return graph.model.to_proto()


def unasked(case: Case) -> onnx.ModelProto:
    """As `trusted`, where nobody proves what is proposed either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Judge, "check", lambda *_: None)
        patch.setattr(Crops, "check", lambda _, taking: taking)
        return trusted(case)


def checked(case: Case, *, probes: bool) -> tuple[onnx.ModelProto, RunResult]:
    """What comes out when every change is certified, and probed if asked for."""
    graph = Graph.from_proto(case.model)
    probe = NeighbourhoodProbe(graph) if probes else None
    outcome = Run(graph, asked(case), probe=probe).rewrite()
    return graph.model.to_proto(), outcome


@pytest.mark.parametrize("mutant", one_in(8, zip(MUTANTS)), ids=lambda mutant: mutant.name)
def test_what_is_wrong_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    case = mutant.case
    usual = canonical(unasked(case))
    mutant.apply(monkeypatch)
    broken, written = unasked(case), difference(case, trusted(case))
    assert difference(case, broken), "nothing shows: this mutant needs another case"
    assert written or canonical(broken) != usual, "it does nothing: this mutant needs another case"
    if mutant.killer == "judge":
        assert not written
    if mutant.killer in ("judge", "certify"):
        assert not difference(case, checked(case, probes=False)[0])
    if mutant.killer != "validation":
        assert not difference(case, checked(case, probes=True)[0])
        return
    asked: dict[str, Any] = {"dynamic": case.dynamic, "no_ceil": case.no_ceil}
    result = onnxpad.fix(case.model, style=case.style, trust=case.trust, **asked)
    if difference(case, result.model):
        assert result.validation is not None
        assert not result.validation.ok


def test_each_mutant_finds_what_it_breaks() -> None:
    for mutant in ALL:
        with pytest.MonkeyPatch.context() as patch:
            mutant.apply(patch)


@pytest.mark.parametrize("mutant", HARMLESS, ids=lambda mutant: mutant.name)
def test_what_changes_nothing_is_accepted(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    case = mutant.case
    usual, _ = checked(case, probes=False)
    mutant.apply(monkeypatch)
    model, outcome = checked(case, probes=True)
    assert canonical(model) != canonical(usual), "the same comes out: this mutant does nothing"
    assert not difference(case, model)
    assert not outcome.undone


@pytest.mark.parametrize("name", one_in(8, zip(CASES)))
def test_is_right_when_nothing_is_broken(name: str) -> None:
    case = CASES[name]
    assert not difference(case, checked(case, probes=True)[0])
