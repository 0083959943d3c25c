"""What the analysis claims of a model's tensors, held against what onnxruntime computes."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import onnx
from onnx import helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

from onnxpad.arithmetic.size import Extent, Size, Unknown, evaluate
from onnxpad.facts import Analysis, Value
from onnxpad.graph import Graph
from onnxpad.semantics.numbers import Ratio
from tests.support import Array, exposed, run, session

REFUSALS = (Fail, InvalidArgument, RuntimeException)
"""What onnxruntime raises for a model or a size that it does not run."""

Claim = tuple[int | None, tuple[Extent, ...] | None, Value | None]


def element(item: object, sizes: Mapping[str, int]) -> float | None:
    """The number that an element is at these sizes; None where that is not claimed.

    A zero whose sign is not claimed is an integer.
    """
    if isinstance(item, Unknown) or (isinstance(item, Ratio) and item.rounded):
        return None
    if isinstance(item, Ratio):
        return evaluate(item.numerator, sizes) / item.denominator or 0
    if isinstance(item, Size):
        return evaluate(item, sizes)
    assert isinstance(item, int | float), f"{item!r} is a {type(item).__name__}"
    assert type(item) in (int, float), "bool and numpy's numbers are no elements"
    return item


@dataclass
class Agreement:
    """How claims compare with what onnxruntime computes.

    Attributes:
        wrong: What is claimed and not so.
        known: Tensors whose whole content is claimed, for every run.
        shaped: Tensors whose whole shape is claimed.
        runs: How many runs there were; a size at which onnxruntime refuses is none.
    """

    wrong: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    shaped: set[str] = field(default_factory=set)
    runs: int = 0


def compare(
    model: onnx.ModelProto, sizes: Iterable[Mapping[str, int]] = ({},), *, empty: bool = True
) -> Agreement:
    """Compare all claims about a model's tensors with what onnxruntime computes.

    In each run also those made where its sizes are given.

    Args:
        model: The model.
        sizes: The value of each symbol in each run.
        empty: Whether runs with empty tensors count: onnxruntime joins them to anything.
    """
    graph = Graph.from_proto(model)
    analysis = Analysis(graph)
    agreement = Agreement()
    names = [name for node in model.graph.node for name in node.output if name]
    opened = session(exposed(model, names))
    claims = _claims(graph, analysis, names)
    for values in sizes:
        feed = {}
        for name, (dtype, _) in graph.inputs.items():
            claimed = analysis.shape(graph.tensor(name)) or ()
            shape = [evaluate(extent, values) for extent in claimed]
            feed[name] = np.ones(shape, helper.tensor_dtype_to_np_dtype(dtype))
        try:
            results = run(opened, feed)
        except REFUSALS:
            continue
        if not empty and any(array.size == 0 for array in results):
            continue
        agreement.runs += 1
        fixed = _claims(graph, Analysis(graph, dims=values), names)
        for name, array in zip(names, results, strict=True):
            for text in chain(
                differences(*claims[name], array, values), differences(*fixed[name], array, {})
            ):
                agreement.wrong.append(f"{name}: {text} at {dict(values)}")
    for name, (_, extents, value) in claims.items():
        if extents is not None and not any(isinstance(extent, Unknown) for extent in extents):
            agreement.shaped.add(name)
        if value is not None:
            items = value.data.reshape(-1).tolist()
            if not any(isinstance(item, Unknown) or getattr(item, "rounded", 0) for item in items):
                agreement.known.add(name)
    return agreement


def _claims(graph: Graph, analysis: Analysis, names: Iterable[str]) -> dict[str, Claim]:
    tensors = {name: graph.tensor(name) for name in names}
    return {
        name: (analysis.dtype(tensor), analysis.shape(tensor), analysis.value(tensor))
        for name, tensor in tensors.items()
    }


def differences(
    dtype: int | None,
    shape: tuple[Extent, ...] | None,
    value: Value | None,
    array: Array,
    sizes: Mapping[str, int],
    *,
    signed: bool = True,
) -> Iterator[str]:
    """What is claimed of a tensor and is not so; where `signed`, also of the sign of a zero."""
    if dtype not in (None, helper.np_dtype_to_tensor_dtype(array.dtype)):
        yield f"type {dtype}, not {array.dtype}"
    if shape is not None and not _holds([element(item, sizes) for item in shape], array.shape):
        yield f"shape {[element(item, sizes) for item in shape]}, not {array.shape}"
    if value is not None:
        items = [element(item, sizes) for item in value.data.reshape(-1)]
        if not signed:
            items = [0 if item == 0 else item for item in items]
        if value.data.shape != array.shape or not _holds(items, array.reshape(-1).tolist()):
            yield f"{items} of shape {value.data.shape}, not {array.tolist()}"


def _holds(claimed: Sequence[float | None], actual: Sequence[float]) -> bool:
    return len(claimed) == len(actual) and all(map(_is_so, claimed, actual))


def _is_so(claimed: float | None, actual: float) -> bool:
    """Whether a claim is true; 0.0 and -0.0 are two numbers where it is one of these."""
    if claimed is None or (claimed != claimed and actual != actual):
        return True
    has_sign = isinstance(claimed, float) and isinstance(actual, float)
    same_sign = not has_sign or math.copysign(1, claimed) == math.copysign(1, actual)
    return claimed == actual and same_sign
