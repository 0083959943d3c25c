"""Where two models part: the first tensor, in topological order, that both compute differently.

May import `onnxpad.verdict`. Tensors are matched by name; a rewrite may drop some and add some.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto

from onnxpad.validation.compare import Tolerance, compare, shape_text
from onnxpad.validation.inputs import Draw
from onnxpad.validation.sessions import (
    CPU,
    EngineError,
    Source,
    Value,
    open_session,
    payload,
    read_proto,
)
from onnxpad.verdict import Comparison, Divergence

_BUDGET = 1 << 28  # bytes of one model's tensors held together
_FIRST_CHUNK = 8  # tensors, before anything is known of their sizes
_GROWTH = 4
_ONE_LINE = 400


@dataclass(frozen=True, slots=True)
class _Producer:
    """The node that computes a tensor, as a report shows it."""

    label: str
    attributes: str
    inputs: tuple[str, ...]
    captured: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Difference:
    """A tensor that is not equal in both models, and its worst element in each."""

    comparison: Comparison
    values: tuple[str, str]


def first_divergence(
    original: Source,
    rewritten: Source,
    inputs: Draw,
    outputs: Collection[str],
    *,
    provider: str = CPU,
    folder: Path | None = None,
    tolerance: Tolerance | None = None,
    budget: int = _BUDGET,
    progress: Callable[[str], None] | None = None,
) -> Divergence | None:
    """The first tensor that differs and leads to a difference in one of `outputs`.

    Both models run with optimisation off, never at once, as often as their tensors need
    chunks. A tensor that differs but has no influence on `outputs` but through tensors that agree
    is passed over: a rewrite may mean another thing by an old name.

    Args:
        original: Path, serialized bytes, or model.
        rewritten: The same for the rewritten model.
        inputs: What to run both on.
        outputs: The outputs that differ.
        provider: The execution provider they differ on.
        folder: Where the external data of bytes lies.
        tolerance: What difference is allowed.
        budget: Bytes of one model's tensors to hold together; one tensor may be larger.
        progress: Called with a few words before each chunk.

    Returns:
        None where the difference does not show again.
    """
    ours, theirs = (_Side(each, provider, folder) for each in (original, rewritten))
    shared = [name for name in ours.producers if name in theirs.producers]
    found: dict[str, _Difference] = {}
    agreeing: set[str] = set()
    chunks = _Chunks(shared, budget)
    for chunk in chunks:
        if progress:
            progress(f"looking for the first difference, {chunks.done} of {len(shared)} tensors")
        before = ours.values(chunk, inputs)
        after = None if before is None else theirs.values(chunk, inputs)
        if before is None or after is None:
            chunks.failed(chunk)
            continue
        chunks.took(before.values())
        for name in chunk:
            seen = compare(name, before[name], after[name], tolerance or Tolerance())
            if seen.equal:
                agreeing.add(name)
            else:
                found[name] = _Difference(seen, _at_worst(seen, before[name], after[name]))
    told = _Told(ours.producers, theirs.producers, found, agreeing)
    return _report(told, outputs, inputs.label)


@dataclass(frozen=True, slots=True)
class _Told:
    """What comparing all tensors has told."""

    ours: Mapping[str, _Producer]
    theirs: Mapping[str, _Producer]
    found: Mapping[str, _Difference]
    agreeing: Collection[str]


def _report(told: _Told, outputs: Collection[str], fed: str) -> Divergence | None:
    order = {name: index for index, name in enumerate(told.ours)}
    beyond = {name for name, each in told.found.items() if not each.comparison.ok}
    rounding = told.found.keys() - beyond
    guilty = _influence(told.ours, outputs, beyond, {*told.agreeing, *rounding})
    note = ""
    if not guilty:  # the outputs differ by rounding that grew on its way
        guilty = _influence(told.ours, outputs, told.found, told.agreeing)
        note = "no tensor differs beyond the tolerance when it is looked at"
    if not guilty:
        return None
    name = min(guilty, key=order.__getitem__)
    compared = len(told.agreeing) + len(told.found)
    if missing := len(told.ours.keys() & told.theirs.keys()) - compared:
        note = "; ".join(filter(None, (note, f"{missing} tensors could not be looked at")))
    drift = [each for each in rounding if order[each] < order[name]]
    pair = told.ours[name], told.theirs[name]
    return Divergence(
        tensor=name,
        producers=(pair[0].label, pair[1].label),
        attributes=(pair[0].attributes, pair[1].attributes),
        inputs=(pair[0].inputs, pair[1].inputs),
        comparison=told.found[name].comparison,
        values=told.found[name].values,
        fed=fed,
        compared=compared,
        earlier=min(drift, key=order.__getitem__, default=""),
        note=note,
    )


def _influence(
    producers: Mapping[str, _Producer],
    outputs: Collection[str],
    differing: Collection[str],
    agreeing: Collection[str],
) -> set[str]:
    """Those of `differing` that reach `outputs` without passing through one that agrees."""
    waiting, seen = list(outputs), set(outputs)
    reached = set()
    while waiting:
        name = waiting.pop()
        if name in agreeing or name not in producers:
            continue
        if name in differing:
            reached.add(name)
        producer = producers[name]
        fresh = {*producer.inputs, *producer.captured} - seen
        seen |= fresh
        waiting.extend(fresh)
    return reached


class _Chunks:
    """Names in order, as many at a time as their values seem to fit the budget."""

    def __init__(self, names: Sequence[str], budget: int) -> None:
        self.done = 0
        self._names = list(names)
        self._budget = budget
        self._size = _FIRST_CHUNK

    def __iter__(self) -> Iterator[list[str]]:
        """Chunks; `took` or `failed` is to be called after each."""
        while self.done < len(self._names):
            chunk = self._names[self.done : self.done + self._size]
            self.done += len(chunk)
            yield chunk

    def took(self, values: Collection[Value]) -> None:
        """Choose the next size, as if all tensors were like the largest of these."""
        largest = max(map(_bytes, values), default=0)
        self._size = max(1, min(self._budget // max(largest, 1), _GROWTH * self._size))

    def failed(self, chunk: Sequence[str]) -> None:
        """Take the tensors of a chunk one by one; give up one that is alone."""
        if len(chunk) > 1:
            self.done -= len(chunk)
            self._size = max(1, len(chunk) // 2)


class _Side:
    """One of both models: its nodes, and what its tensors are on some inputs."""

    def __init__(self, source: Source, provider: str, folder: Path | None) -> None:
        graph = read_proto(source).graph
        self.producers: dict[str, _Producer] = {}
        for node in graph.node:
            name = node.name or f"<{next(filter(None, node.output), '')}>"
            producer = _Producer(
                f"{name} ({node.op_type})",
                _attributes(node),
                tuple(node.input),
                tuple(_captured(node)),
            )
            self.producers.update((output, producer) for output in node.output if output)
        self._outputs = {output.name for output in graph.output}
        self._source = source
        self._provider = provider
        self._folder = folder

    def values(self, names: Sequence[str], inputs: Draw) -> dict[str, Value] | None:
        """Tensors of one run, also inner ones; None where onnxruntime cannot give them."""
        asked = [onnx.ValueInfoProto(name=name) for name in names if name not in self._outputs]
        addition = onnx.ModelProto(graph=onnx.GraphProto(output=asked)).SerializeToString()
        data, folder = payload(self._source), self._folder
        if isinstance(data, str):
            folder = Path(data).parent
            data = Path(data).read_bytes()
        try:
            # Serialized messages one after the other are merged: their lists are joined.
            with open_session(data + addition, provider=self._provider, folder=folder) as session:
                del data
                return session.run(inputs.feeds, names)
        except EngineError:
            return None


def _captured(node: onnx.NodeProto) -> Iterator[str]:
    """Names that the graphs inside a node read."""
    for attribute in node.attribute:
        graphs = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
        for graph in graphs:
            yield from (output.name for output in graph.output)
            for inner in graph.node:
                yield from inner.input
                yield from _captured(inner)


def _attributes(node: onnx.NodeProto) -> str:
    """Attributes sorted by name, as `pads=[0, 0, 1, 1], strides=[2, 2]`."""
    texts = []
    for attribute in sorted(node.attribute, key=lambda each: each.name):
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif isinstance(value, onnx.TensorProto):
            kind = onnx.TensorProto.DataType.Name(value.data_type).lower()
            value = f"{kind} {shape_text(value.dims)}"
        elif attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
            value = "(graph)"
        elif not isinstance(value, int | float):
            value = [each.decode() if isinstance(each, bytes) else each for each in value]
        texts.append(f"{attribute.name}={value}")
    text = ", ".join(texts)
    return text if len(text) <= _ONE_LINE else f"{text[: _ONE_LINE - 3]}..."


def _at_worst(seen: Comparison, before: Value, after: Value) -> tuple[str, str]:
    """The element that differs most, in both; shapes or kinds where they do not fit."""
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        if before.shape == after.shape:
            return str(before[seen.worst]), str(after[seen.worst])
        return shape_text(before.shape), shape_text(after.shape)
    return type(before).__name__, type(after).__name__


def _bytes(value: Value) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Mapping) or value is None:
        return 0
    return sum(map(_bytes, value))
