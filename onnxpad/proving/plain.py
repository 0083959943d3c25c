"""A model made plain: what says nothing of what it computes is gone.

Models that compute the same in the same steps, whatever wrote them, read alike afterwards:
functions stand in the place of their calls, constants are known by their content, what is computed
of constants alone is one, defaults are not spelled out, and what scales or shifts the channels of a
convolution is in its weights, computed in float64.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, NodeProto, TensorProto, numpy_helper
from onnx.helper import get_attribute_value, make_attribute

from onnxpad.errors import ModelError
from onnxpad.file.external import internal, reference
from onnxpad.file.proto_walk import normal_domain
from onnxpad.proof.read import ALIKE_BY_CHANCE
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.sessions import answers
from onnxpad.validation.draw import constant_of, inlined

Array = npt.NDArray[Any]

_SMALL = 4096  # elements of a constant that is written into the plain model
_MOST = 1 << 24  # elements of constants that are evaluated
_BITS = ("float32", "float64", "float16")
COMMUTING = frozenset({"Add", "And", "Equal", "Mean", "Mul", "Or", "Sum", "Xor"})
"""Operators of which two operands may be exchanged; of 0.0 and -0.0 a maximum takes either."""
_ALONE = frozenset({"Concat", "Max", "Mean", "Min", "Sum"})
"""Operators of any number of inputs that give back one alone."""


class Constants:
    """The constants of all models that are compared, by a name made of their content.

    Attributes:
        computed: Of weights that were computed anew, by name, how large the parts of each channel
            were: what rounding is measured by.
    """

    def __init__(self) -> None:
        """There are none at first."""
        self.computed: dict[str, Array] = {}
        self._held: dict[str, tuple[TensorProto, Callable[[], Array]]] = {}
        self._evaluated: dict[bytes, list[str]] = {}

    def of(self, tensor: TensorProto, folder: Path | None) -> str:
        """The name of a tensor of a model, whose external data lie in a folder.

        Large external ones are told by their place in a file, and read when they are asked for.
        """
        if tensor.data_location != TensorProto.EXTERNAL:
            return self.add(numpy_helper.to_array(tensor))
        if folder is None:
            raise ModelError(f"the external data of {tensor.name!r} is not known; give a path")
        read = partial(_external, tensor, folder)
        if math.prod(tensor.dims) <= _SMALL:
            return self.add(read())
        location, *span = reference(tensor)
        place = os.path.realpath(folder / location), *span, tensor.data_type, *tensor.dims
        return self._hold(repr(place).encode(), tensor.data_type, tensor.dims, read)

    def add(self, array: Array) -> str:
        """The name of an array."""
        array = np.asarray(array, order="C")
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        data = repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()
        told = f"{kind} {array.shape} ".encode() + data
        return self._hold(told, kind, array.shape, lambda: array)

    def _hold(self, told: bytes, kind: int, dims: Sequence[int], read: Callable[[], Array]) -> str:
        digest = hashlib.sha1(told, usedforsecurity=False).hexdigest()
        name = f"constant {digest}"
        if name not in self._held:
            proto = TensorProto(name=name, data_type=kind, dims=dims)
            if math.prod(dims) <= _SMALL:
                proto = numpy_helper.from_array(read(), name)
            else:
                proto.data_location = TensorProto.EXTERNAL
                proto.external_data.add(key="location", value=digest)
            self._held[name] = proto, read
        return name

    def array(self, name: str) -> Array | None:
        """The elements of a constant; None of what is none."""
        return self._held[name][1]() if name in self._held else None

    def proto(self, name: str) -> TensorProto | None:
        """A constant for the plain model: a large one without its elements."""
        return self._held[name][0] if name in self._held else None

    def evaluated(self, node: NodeProto, opsets: Sequence[Any]) -> list[str]:
        """The outputs of a node of constants alone, by onnxruntime; none if it does not run it."""
        graph = onnx.GraphProto(name="constants", node=[node])
        model = onnx.ModelProto(ir_version=10, graph=graph, opset_import=opsets)
        key = model.SerializeToString(deterministic=True)
        if key not in self._evaluated:
            wanted, self._evaluated[key] = [*filter(None, node.output)], []
            given = {each: self._held[each] for each in node.input if each}
            if sum(math.prod(proto.dims) for proto, _ in given.values()) > _MOST:
                return []
            graph = model.graph
            graph.output.extend(onnx.ValueInfoProto(name=each) for each in wanted)
            tensors = (numpy_helper.from_array(read(), name) for name, (_, read) in given.items())
            graph.initializer.extend(tensors)
            found = answers(model, wanted, [{}])
            values = {} if isinstance(found, EngineError) else found[0]
            if not isinstance(values, EngineError) and {*wanted} <= {*values}:
                arrays = [values[each] if each else np.array(0) for each in node.output]
                if all(isinstance(each, np.ndarray) for each in arrays):
                    self._evaluated[key] = [*map(self.add, arrays)]  # type: ignore[arg-type]
        return self._evaluated[key]


def _external(tensor: TensorProto, folder: Path) -> Array:
    return numpy_helper.to_array(internal(tensor, folder))


class Plain:
    """A model made plain.

    Attributes:
        model: The plain model: large constants lack their elements.
        outputs: The tensor of each output of the original; also a constant, or an input.
        dead: How many nodes nothing reads, by what each says.
        gemms: The data, the product, and the bias, if any, of each Gemm.
        folded: What was computed anew: the weights of each convolution, and all that follows it.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        constants: Constants,
        side: str,
        folder: Path | None = None,
    ) -> None:
        """Makes a model plain, whose external data lie in a folder.

        What names of tensors inside begin with is the `side`, which no other model has. Raises
        ModelError where external data is missing, or a tensor that is read.
        """
        model = inlined(model)
        if model.functions:
            raise ModelError("its functions unfold to too many nodes")
        self._constants, self._folder, self._side = constants, folder, side
        self._opsets = {normal_domain(each.domain): each.version for each in model.opset_import}
        self._imports, self._nodes, self._count = model.opset_import, list[NodeProto](), 0
        self._made: dict[str, NodeProto] = {}
        self.dead = Counter[object]()
        self.gemms: list[tuple[str, ...]] = []
        graph, names = model.graph, dict[str, str]()
        usual = {each.name: each for each in graph.initializer}
        inputs = [e for e in graph.input if model.ir_version >= 4 or e.name not in usual]
        for each in inputs:
            default = usual.get(each.name)
            told = "" if default is None else f" or {constants.of(default, folder)}"
            names[each.name] = each.name + told
        self._walk(graph, names)
        self.outputs = {each.name: _of(names, each.name) for each in graph.output}
        self.folded = set[tuple[object, ...]]()
        with np.errstate(all="ignore"):
            nodes = self._folded()
        self.model = made = onnx.ModelProto(
            ir_version=max(model.ir_version, 8),
            opset_import=model.opset_import,
            metadata_props=model.metadata_props,
        )
        made.graph.name = "plain"
        made.graph.node.extend(nodes)
        for each in inputs:
            made.graph.input.add().CopyFrom(each)
            made.graph.input[-1].name = names[each.name]
        written = {name for node in nodes for name in node.output}
        shown = dict.fromkeys(each for each in self.outputs.values() if each in written)
        made.graph.output.extend(onnx.ValueInfoProto(name=each) for each in shown)
        read = map(constants.proto, dict.fromkeys([*_reads(nodes), *self.outputs.values()]))
        made.graph.initializer.extend(filter(None, read))

    def _walk(self, graph: onnx.GraphProto, names: dict[str, str]) -> None:
        """Writes the nodes of a graph that its outputs need, and what they read."""
        for each in (each for each in graph.initializer if each.name not in names):
            names[each.name] = self._constants.of(each, self._folder)
        for sparse in graph.sparse_initializer:
            held = make_attribute("sparse_value", sparse)
            name = sparse.values.name
            self._take(NodeProto(op_type="Constant", output=[name], attribute=[held]), names)
        needed = _needed(graph)
        for node in needed:
            self._take(node, names)
        self.dead += Counter(map(_said, graph.node)) - Counter(map(_said, needed))

    def _take(self, node: NodeProto, names: dict[str, str]) -> None:
        """Writes one node, or finds another name for what it gives."""
        read = [_of(names, each) for each in node.input]
        while read and not read[-1]:
            read.pop()
        is_standard, outputs = not normal_domain(node.domain), list(node.output)
        if is_standard and node.op_type in COMMUTING and len(read) == 2 and not node.attribute:
            read.sort(key=lambda each: self._constants.proto(each) is not None)
        if is_standard and (held := constant_of(node)) is not None:
            names[outputs[0]] = self._constants.of(held, self._folder)
            return
        if is_standard and node.op_type == "If" and self._branch(node, read, names):
            return
        if is_standard and (same := self._same(node, read)):
            names[outputs[0]] = same
            return
        new = NodeProto(op_type=node.op_type, domain=normal_domain(node.domain), input=read)
        new.name = node.name or f"<{next(filter(None, outputs), node.op_type)}>"
        new.attribute.extend(self._attributes(node, names))
        if is_standard and new.op_type == "Transpose" and self._turned(new):
            names[outputs[0]] = new.input[0]
            return
        if is_standard and new.op_type == "Gemm" and self._gemm(new, names, outputs):
            return
        is_told = all(self._constants.proto(each) is not None for each in filter(None, read))
        has_bodies = any(each.type == AttributeProto.GRAPH for each in new.attribute)
        if is_told and not has_bodies and new.op_type not in ALIKE_BY_CHANCE:
            new.output.extend(f"out {place}" * bool(each) for place, each in enumerate(outputs))
            found = self._constants.evaluated(new, self._imports)
            if found:
                names.update(zip(outputs, found, strict=True))
                return
            del new.output[:]
        self._emit(new, names, outputs)

    def _emit(self, new: NodeProto, names: dict[str, str], outputs: Sequence[str]) -> str:
        while outputs and not outputs[-1]:
            outputs = outputs[:-1]
        for each in outputs:
            self._count += 1
            new.output.append(f"{self._side}{self._count}" if each else "")
            names[each] = new.output[-1]
            self._made[new.output[-1]] = new
        self._nodes.append(new)
        return next(iter(new.output), "")

    def _attributes(self, node: NodeProto, names: dict[str, str]) -> list[AttributeProto]:
        """Those that say more than the default, with plain bodies and tensors."""
        domain, found = normal_domain(node.domain), list[AttributeProto]()
        usual = _defaults(node.op_type, domain, self._opsets.get(domain, 1))
        for each in sorted(node.attribute, key=lambda each: each.name):
            if each.type == AttributeProto.GRAPH:
                found.append(make_attribute(each.name, self._body(each.g, names)))
            elif each.type == AttributeProto.TENSOR:
                value = numpy_helper.from_array(numpy_helper.to_array(each.t))
                found.append(make_attribute(each.name, value))
            else:
                kept = AttributeProto()
                kept.CopyFrom(each)
                kept.ClearField("doc_string")
                found += [kept] * (_exact(kept) != usual.get(each.name))
        return found

    def _body(self, graph: onnx.GraphProto, around: Mapping[str, str]) -> onnx.GraphProto:
        """A body, in which tensors have plain names too; each output is written by a node."""
        names, outer = _inside(graph, around), self._nodes
        made, self._nodes = onnx.GraphProto(name="body"), []
        for each in graph.input:
            self._count += 1
            made.input.add().CopyFrom(each)
            made.input[-1].name = names[each.name] = f"{self._side}{self._count}"
        self._walk(graph, names)
        for each in graph.output:
            given = NodeProto(op_type="Identity", input=[_of(names, each.name)], name=each.name)
            made.output.add(name=self._emit(given, names, [each.name]))
        made.node.extend(self._nodes)
        self._nodes = outer
        return made

    def _branch(self, node: NodeProto, read: Sequence[str], names: dict[str, str]) -> bool:
        """Puts the branch that a constant condition takes in the place of an If."""
        condition = self._constants.array(read[0]) if read else None
        if condition is None or condition.size != 1:
            return False
        wanted = "then_branch" if condition.reshape(-1)[0] else "else_branch"
        taken = next(each.g for each in node.attribute if each.name == wanted)
        inner = _inside(taken, names)
        self._walk(taken, inner)
        names.update(zip(node.output, (_of(inner, e.name) for e in taken.output), strict=True))
        return True

    def _same(self, node: NodeProto, read: Sequence[str]) -> str:
        """The tensor that a node gives back as it is; empty if it does something."""
        op, given = node.op_type, read[0] if read else ""
        if not given or any(node.output[1:]):
            return ""
        if op == "Identity" or (op in _ALONE and len(read) == 1):
            return given
        if op == "Dropout" and self._opsets.get("", 0) >= 7:
            training = self._constants.array(read[2]) if len(read) > 2 else np.array(0)
            return given if training is not None and not training.any() else ""
        return ""

    def _turned(self, new: NodeProto) -> bool:
        """Makes one of two transposes in a row; whether it does nothing."""
        perm, before = _integers(new, "perm"), self._made.get(new.input[0])
        first = [] if before is None or before.op_type != "Transpose" else _integers(before, "perm")
        if before is not None and first and len(first) == len(perm):
            perm = [first[each] for each in perm]
            new.input[0] = before.input[0]
            new.attribute[0].CopyFrom(make_attribute("perm", perm))
        return bool(perm) and perm == [*range(len(perm))]

    def _gemm(self, node: NodeProto, names: dict[str, str], outputs: Sequence[str]) -> bool:
        """Writes a Gemm without factors as MatMul and Add."""
        written = {each.name: get_attribute_value(each) for each in node.attribute}
        right = self._constants.array(node.input[1])
        if {*written} - {"transB"} or (written and right is None):
            return False
        a, b, *bias = node.input
        if written and right is not None:
            b = self._constants.add(np.ascontiguousarray(right.T))
        product = NodeProto(op_type="MatMul", input=[a, b], name=node.name)
        given = self._emit(product, names, outputs[:1])
        self.gemms.append((a, given, *bias))
        if bias:
            self._emit(
                NodeProto(op_type="Add", input=[given, *bias], name=node.name), names, outputs
            )
        return True

    def _folded(self) -> list[NodeProto]:
        """The nodes with what scales and shifts the channels of a Conv in its weights.

        Only where nothing else reads what that gives. All of a chain is computed in float64, and
        rounded once.
        """
        nodes, array, readers = self._nodes, self._constants.array, dict[str, NodeProto]()
        uses = Counter([*_reads(nodes), *self.outputs.values()])
        for node in nodes:
            readers.update((each, node) for each in node.input)
        gone, made = set[int](), dict[int, NodeProto]()
        for node in nodes:
            is_one = node.op_type == "Conv" and not node.domain
            weight, *more = (array(each) for each in node.input[1:3]) if is_one else (None,)
            if weight is None or any(each is None for each in more):
                continue
            if weight.dtype.name not in _BITS or weight.ndim < 3:
                continue
            w, last, followed = weight.astype(np.float64), node.output[0], list[object]()
            b = np.zeros(len(w)) if not more else np.asarray(more[0], np.float64)
            parts = np.abs(b)
            while uses[last] == 1 and (reader := readers.get(last)) is not None:
                moved = _affine(reader, last, w.ndim, len(w), self._constants)
                if moved is None:
                    break
                factor, *shifts = moved
                w, b = w * factor.reshape(-1, *[1] * (w.ndim - 1)), b * factor + sum(shifts)
                parts = parts * np.abs(factor) + sum(map(np.abs, shifts))
                gone.add(id(reader))
                read = (place if each == last else each for place, each in enumerate(reader.input))
                followed.append((reader.op_type, *read, *map(_exact, reader.attribute)))
                last = reader.output[0]
            if not followed and (not more or b.any()):
                continue
            new = NodeProto()
            new.CopyFrom(node)
            del new.input[1:]
            for each, size in ((w, np.abs(w).max(axis=(*range(1, w.ndim),))), (b, parts)):
                if each is w or b.any():
                    new.input.append(name := self._constants.add(each.astype(weight.dtype)))
                    self._constants.computed[name] = size
            if followed:
                self.folded.add((*node.input[1:], *followed))
            new.output[0], made[id(node)] = last, new
        return [made.get(id(node), node) for node in nodes if id(node) not in gone]


def _of(names: Mapping[str, str], name: str) -> str:
    if name and name not in names:
        raise ModelError(f"tensor {name!r} is read, and nothing computes it")
    return names[name] if name else ""


def _inside(graph: onnx.GraphProto, around: Mapping[str, str]) -> dict[str, str]:
    """The names that hold in a body but for its own."""
    own = {each.name for each in (*graph.input, *graph.initializer)}
    return {name: each for name, each in around.items() if name not in own}


def _needed(graph: onnx.GraphProto) -> list[NodeProto]:
    """The nodes that the outputs of a graph need, each after what it reads: not all tools sort."""
    nodes = graph.node
    makers = {name: place for place, node in enumerate(nodes) for name in node.output if name}
    pending = [makers[each.name] for each in graph.output if each.name in makers]
    found, is_done = list[NodeProto](), dict[int, bool]()
    while pending:
        place = pending[-1]
        if place not in is_done:
            is_done[place] = False
            read = (makers.get(each) for each in _reads([nodes[place]]))
            pending += [each for each in read if each is not None and each not in is_done]
            continue
        pending.pop()
        if not is_done[place]:
            is_done[place] = True
            found.append(nodes[place])
    return found


def _said(node: NodeProto) -> tuple[object, ...]:
    return node.op_type, *sorted(map(_exact, node.attribute))


def _reads(nodes: Iterable[NodeProto]) -> Iterable[str]:
    """What nodes and their bodies read and give."""
    for node in nodes:
        yield from node.input
        for each in node.attribute:
            if each.type == AttributeProto.GRAPH:
                yield from _reads(each.g.node)
                yield from (value.name for value in each.g.output)


def _integers(node: NodeProto, name: str) -> list[int]:
    return next(([*each.ints] for each in node.attribute if each.name == name), [])


def _exact(attribute: AttributeProto) -> bytes:
    """All that an attribute says: 0.0 and -0.0 differ, and NaN is itself."""
    found: bytes = attribute.SerializeToString(deterministic=True)
    return found


@cache
def _defaults(op: str, domain: str, opset: int) -> dict[str, bytes]:
    """The attributes of an operator that have a default, as they are spelled out."""
    try:
        schema = onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError:
        return {}
    usual = {name: each.default_value for name, each in schema.attributes.items()}
    return {name: _exact(each) for name, each in usual.items() if each.type}


def _affine(
    node: NodeProto, data: str, rank: int, channels: int, constants: Constants
) -> tuple[Array, ...] | None:
    """The factor and the shifts of each channel by which a node alters data; None of others."""
    others = [constants.array(each) for each in node.input if each != data]
    known = [each for each in others if each is not None and each.dtype.name in _BITS]
    if node.domain or len(known) < len(others) or len([*filter(None, node.output)]) > 1:
        return None
    arrays = [each.astype(np.float64) for each in known]
    zero, one = np.zeros(channels), np.ones(channels)
    if node.op_type == "BatchNormalization" and len(arrays) == 4 and node.input[0] == data:
        if any(each.name in ("training_mode", "is_test", "spatial") for each in node.attribute):
            return None
        epsilon = next((each.f for each in node.attribute if each.name == "epsilon"), 1e-5)
        scale, shift, mean, variance = arrays
        factor = scale / np.sqrt(variance + np.float64(np.float32(epsilon)))
        return factor, shift, -mean * factor
    if node.op_type not in ("Add", "Sub", "Mul", "Div") or len(arrays) != 1 or node.attribute:
        return None
    (by,) = arrays
    shape = (*[1] * (rank - by.ndim), *by.shape)
    if by.ndim > rank or any(size != 1 for axis, size in enumerate(shape) if axis != 1):
        return None
    if shape[1] not in (1, channels):
        return None
    by, is_first = np.broadcast_to(by.reshape(-1), channels), node.input[0] == data
    match node.op_type:
        case "Add":
            return one, by
        case "Mul":
            return by, zero
        case "Sub":
            return (one, -by) if is_first else (-one, by)
        case "Div" if is_first:
            return 1 / by, zero
    return None
