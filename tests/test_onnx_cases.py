"""The models of onnx's own tests: they come back byte for byte, and fixed they give what they gave.

What the analysis claims of them, with their inputs as constants, is what the cases say comes out.
"""

import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxpad
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from tests.facts.agreement import differences
from tests.support import agree, ran

pytestmark = pytest.mark.night  # to import the cases is to compute them

SHIPPED = Path(onnx.__file__).parent / "backend" / "test" / "data"
BIG: Final = (1, 3, 32, 32, 32)
"""The input of three cases, of which onnx computes each window in Python: a second for each."""


@cache
def cases() -> list[tuple[str, onnx.ModelProto, dict[str, Any], list[Any]]]:
    """The cases of the specification, each with its model, what goes in and what comes out.

    Their import is what computes them. It is spared the text of their documentation, which it would
    read from its own source, and the size of the biggest.
    """
    randn = np.random.randn
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case import base

        patch.setattr(base, "process_snippet", lambda *_: ("", ""), raising=False)
        patch.setattr(
            np.random, "randn", lambda *of: randn(*((1, 3, 9, 9, 9) if of == BIG else of))
        )
        from onnx.backend.test.case.node import collect_testcases

        found = collect_testcases(None)
    told = []
    for case in found:
        if case.model is not None:
            inputs, outputs = (case.data_sets or [((), ())])[0]
            names = [each.name for each in case.model.graph.input]
            told.append((case.name, case.model, dict(zip(names, inputs, strict=False)), [*outputs]))
    return told


def test_no_claim_is_against_the_cases_of_the_specification() -> None:
    values = 0
    for name, case, inputs, outputs in cases():
        fed = {each: data for each, data in inputs.items() if isinstance(data, np.ndarray)}
        fed = {each: data for each, data in fed.items() if data.dtype != np.object_}
        model = onnx.ModelProto()
        model.CopyFrom(case)
        del model.graph.input[:]
        model.graph.input.extend(each for each in case.graph.input if each.name not in fed)
        constants = (numpy_helper.from_array(data, each) for each, data in fed.items())
        model.graph.initializer.extend(constants)
        graph = Graph.from_proto(model)
        analysis = Analysis(graph)
        for declared, array in zip(model.graph.output, outputs, strict=False):
            if isinstance(array, np.ndarray):
                tensor = graph.tensor(declared.name)
                claim = analysis.dtype(tensor), analysis.shape(tensor), analysis.value(tensor)
                # Of a function's body the cases do not say which zero it gives.
                assert list(differences(*claim, array, {}, signed=False)) == [], name
                values += claim[2] is not None
    assert values > 350


def test_come_back_identical() -> None:
    raws = [(name, bytes(case.SerializeToString(deterministic=True))) for name, case, *_ in cases()]
    raws += [(str(path), path.read_bytes()) for path in sorted(SHIPPED.rglob("*.onnx"))]
    for name, raw in raws:
        graph = Graph.from_bytes(raw)
        assert graph.model.to_bytes() == raw, name
        assert not graph.model.changed, name
    assert len(raws) > 1000


def test_fixed_they_give_what_the_cases_say() -> None:
    compared = 0
    for name, case, inputs, outputs in cases():
        with suppress(onnxpad.ModelError):
            result = onnxpad.fix(case, validate=False)
            assert not result.undone, name
            assert not onnxpad.fix(result.model, validate=False).changed, name
            if result.changed and not isinstance(found := ran(result.model, inputs), str):
                assert agree(found, outputs), name
                compared += 1
    assert compared > 20
