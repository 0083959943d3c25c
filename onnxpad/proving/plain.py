"""A model made plain: models that compute the same in the same steps read alike afterwards.

Functions stand in the place of their calls, constants are known by their content, what is computed
of constants alone is one, defaults are not spelled out, and what scales or shifts the channels of a
convolution is in its weights, computed in float64.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from graphlib import TopologicalSorter
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, NodeProto, TensorProto
from onnx.helper import get_attribute_value, make_attribute
from onnx.numpy_helper import from_array, to_array

from onnxpad.errors import ModelError
from onnxpad.file.external import internal, reference
from onnxpad.file.proto_walk import bodies, normal_domain, walked
from onnxpad.proof.read import ALIKE_BY_CHANCE
from onnxpad.runtimes.sessions import answers
from onnxpad.validation.draw import constant_of, inlined

Array = npt.NDArray[Any]
Names = Mapping[str, str]

_SMALL = 4096  # elements of a constant that is written into the plain model
_MOST = 1 << 24  # elements of constants that are evaluated
_FLOATS = ("float32", "float64", "float16")
COMMUTING = frozenset({"Add", "And", "Equal", "Mean", "Mul", "Or", "Sum", "Xor"})
"""Operators of which two operands may be exchanged; of 0.0 and -0.0 a maximum takes either."""


class Constants:
    """The constants of all models that are compared, by a name; those of one content share it.

    Attributes:
        fresh: Names for other tensors, which no other has.
        computed: The names of what was computed anew, with how large the parts of each channel
            were, by which rounding is measured.
    """

    def __init__(self) -> None:
        """There are none at first."""
        self.computed: dict[str, Array] = {}
        self.fresh = (f"tensor {number}" for number in count(1))
        self._names: dict[object, str] = {}
        self._held: dict[str, tuple[TensorProto, Callable[[], Array]]] = {}
        self._evaluated: dict[bytes, list[str]] = {}

    def of(self, tensor: TensorProto, folder: Path | None) -> str:
        """The name of a tensor of a model, whose external data lie in a folder.

        Large external ones are told by their place in a file, and read when they are asked for.
        """
        if tensor.data_location != TensorProto.EXTERNAL:
            return self.add(to_array(tensor))
        if folder is None:
            raise ModelError(f"the external data of {tensor.name!r} is not known; give a path")
        location, *span = reference(tensor)
        place = os.path.realpath(folder / location), *span, tensor.data_type, *tensor.dims

        def read() -> Array:
            return to_array(internal(tensor, folder))

        is_small = math.prod(tensor.dims) <= _SMALL
        return self.add(read()) if is_small else self._hold(place, tensor, read)

    def add(self, array: Array, recipe: tuple[object, ...] = ()) -> str:
        """The name of an array; a recipe has told those apart that were computed anew."""
        kind, content = onnx.helper.np_dtype_to_tensor_dtype(array.dtype), recipe
        if not recipe:
            data = repr(array.tolist()) if array.dtype.kind == "O" else array.tobytes()
            if isinstance(data, bytes):
                array = np.frombuffer(data, array.dtype).reshape(array.shape)
            content = kind, array.shape, data
        return self._hold(content, TensorProto(data_type=kind, dims=array.shape), lambda: array)

    def _hold(self, content: object, like: TensorProto, read: Callable[[], Array]) -> str:
        """The name of what has the type and the shape of a tensor, and is read when asked for."""
        name = self._names.setdefault(content, f"constant {len(self._names)}")
        if name not in self._held:
            proto = TensorProto(name=name, data_type=like.data_type, dims=like.dims)
            if math.prod(like.dims) <= _SMALL:
                proto = from_array(read(), name)
            else:
                proto.data_location = TensorProto.EXTERNAL
                proto.external_data.add(key="location", value=name)
            self._held[name] = proto, read
        return name

    def array(self, name: str) -> Array | None:
        """The elements of a constant; None of what is none."""
        return self._held[name][1]() if name in self._held else None

    def proto(self, name: str) -> TensorProto | None:
        """A constant for the plain model: a large one without its elements."""
        return self._held[name][0] if name in self._held else None

    def evaluated(self, node: NodeProto, outputs: list[str], opsets: list[Any]) -> dict[str, str]:
        """What a node of constants alone gives by onnxruntime, by name; empty if that fails."""
        wanted = [f"out {place}" for place in range(len(outputs))]
        graph = onnx.GraphProto(name="constants", node=[node])
        graph.node[0].output.extend(wanted)
        graph.output.extend(onnx.ValueInfoProto(name=each) for each in wanted)
        model = onnx.ModelProto(ir_version=10, graph=graph, opset_import=opsets)
        key: bytes = model.SerializeToString(deterministic=True)
        given = {each: self._held[each] for each in node.input if each}
        is_small = sum(math.prod(proto.dims) for proto, _ in given.values()) <= _MOST
        if key not in self._evaluated and is_small:
            model.graph.initializer.extend(from_array(e[1](), name) for name, e in given.items())
            found = answers(model, wanted, [{}])
            values = found[0] if isinstance(found, list) and isinstance(found[0], dict) else {}
            arrays = [each for each in values.values() if isinstance(each, np.ndarray)]
            self._evaluated[key] = [*map(self.add, arrays)] * (len(arrays) == len(wanted))
        return dict(zip(outputs, self._evaluated.get(key, ()), strict=False))


class Plain:
    """A model made plain.

    Attributes:
        model: The plain model: large constants lack their elements.
        outputs: The tensor of each output, or an input or a constant, by its name in the original.
        dead: How many nodes nothing reads, by what each says.
    """

    def __init__(
        self, model: onnx.ModelProto, constants: Constants, folder: Path | None, original: Names
    ) -> None:
        """Makes a model plain, whose external data lie in a folder.

        Inputs and outputs get the names of the `original`, where these are others. Raises
        ModelError where external data is missing, KeyError where nothing computes what is read.
        """
        model = inlined(model)
        if model.functions:
            raise ModelError("its functions unfold to too many nodes")
        self._constants, self._folder, self._nodes = constants, folder, list[NodeProto]()
        self._imports = model.opset_import
        self._opsets = {normal_domain(each.domain): each.version for each in self._imports}
        self.dead, self._made = Counter[object](), dict[str, NodeProto]()
        graph, names, given = model.graph, dict[str, str](), dict[str, str]()
        usual = {each.name: each for each in graph.initializer}
        inputs = [e for e in graph.input if model.ir_version >= 4 or e.name not in usual]
        for name in (each.name for each in inputs):
            told = f" or {constants.of(usual[name], folder)}" if name in usual else ""
            given[name] = original.get(name, name) + told
        self._walk(graph, names, given)
        self.outputs = {original.get(e.name, e.name): _of(names, e.name) for e in graph.output}
        with np.errstate(all="ignore"):
            nodes = self._folded()
        shown = dict.fromkeys(self.outputs.values())
        read = map(constants.proto, dict.fromkeys([*_reads(nodes), *shown]))
        made = onnx.GraphProto(
            name="plain",
            node=nodes,
            input=[onnx.ValueInfoProto(name=given[e.name], type=e.type) for e in inputs],
            output=[onnx.ValueInfoProto(name=each) for each in shown],
            initializer=filter(None, read),
        )
        self.model = onnx.ModelProto(
            ir_version=max(model.ir_version, 8), opset_import=self._imports, graph=made
        )

    def _walk(self, graph: onnx.GraphProto, names: dict[str, str], given: Names) -> None:
        """Writes the nodes of a graph that its outputs need, and what they read; or it is given."""
        names |= {each.name: self._constants.of(each, self._folder) for each in graph.initializer}
        for sparse in graph.sparse_initializer:
            places, values = to_array(sparse.indices), to_array(sparse.values)
            if places.ndim > 1:
                places = np.ravel_multi_index(tuple(places.T), tuple(sparse.dims))
            dense = np.zeros([*sparse.dims], values.dtype)
            dense.put(places, values)
            names[sparse.values.name] = self._constants.add(dense)
        names |= given
        needed = _needed(graph)
        for place in needed:
            self._take(graph.node[place], names)
        for place in {*range(len(graph.node))}.difference(needed):
            node = graph.node[place]
            self.dead[node.op_type, *sorted(map(_exact, node.attribute))] += 1

    def _take(self, node: NodeProto, names: dict[str, str]) -> None:
        """Writes one node, or finds another name for what it gives."""
        read, outputs = [_of(names, each) for each in node.input], [*node.output]
        for each in (read, outputs):  # an empty name at the end means what its absence means
            while each and not each[-1]:
                each.pop()
        domain, held = normal_domain(node.domain), constant_of(node)
        if held is not None:  # of any domain, as onnxruntime has it
            names[outputs[0]] = self._constants.of(held, self._folder)
            return
        is_if = not domain and node.op_type == "If"
        if is_if and (told := self._constants.array(read[0])) is not None:
            wanted, inside = "then_branch" if told.any() else "else_branch", dict(names)
            taken = next(each.g for each in node.attribute if each.name == wanted)
            self._walk(taken, inside, {})
            given = (_of(inside, each.name) for each in taken.output)
            names |= zip(outputs, given, strict=False)
            return
        if not domain and node.op_type in COMMUTING and len(read) == 2 and not node.attribute:
            read.sort(key=lambda each: self._constants.proto(each) is not None)
        new = NodeProto(op_type=node.op_type, domain=domain, input=read)
        new.name = node.name or f"<{next(filter(None, outputs), node.op_type)}>"
        new.attribute.extend(self._attributes(node, names))
        if not domain and (same := self._same(new)):
            names[outputs[0]] = same
            return
        is_told = all(map(self._constants.proto, filter(None, read)))
        if is_told and not [*bodies(new)] and new.op_type not in ALIKE_BY_CHANCE:
            names |= (found := self._constants.evaluated(new, outputs, self._imports))
            if found:
                return
        if domain or new.op_type != "Gemm" or not self._multiplied(new, names, outputs):
            self._emit(new, names, outputs)

    def _emit(self, new: NodeProto, names: dict[str, str], outputs: Sequence[str]) -> str:
        """Writes a new node that gives some tensors; returns the new name of the first."""
        for each in outputs:
            new.output.append(next(self._constants.fresh))
            names[each] = new.output[-1]
            self._made[new.output[-1]] = new
        self._nodes.append(new)
        return next(iter(new.output), "")

    def _attributes(self, node: NodeProto, names: dict[str, str]) -> list[AttributeProto]:
        """Those that say more than the default, with plain bodies and tensors."""
        domain, found = normal_domain(node.domain), list[AttributeProto]()
        usual = _defaults(node.op_type, domain, self._opsets.get(domain, 1))
        for each in sorted(node.attribute, key=lambda each: each.name):
            kept = each
            if each.type == AttributeProto.GRAPH:
                kept = make_attribute(each.name, self._body(each.g, names))
            elif each.type == AttributeProto.TENSOR:
                kept = make_attribute(each.name, from_array(to_array(each.t)))
            found += [kept] * (_exact(kept) != usual.get(each.name))
        return found

    def _body(self, graph: onnx.GraphProto, around: Names) -> onnx.GraphProto:
        """A body, in which tensors have plain names too; each output is written by a node."""
        names, outer = dict(around), self._nodes
        made, self._nodes = onnx.GraphProto(name="body"), []
        given = {each.name: next(self._constants.fresh) for each in graph.input}
        for each in graph.input:
            made.input.add(name=given[each.name], type=each.type)
        self._walk(graph, names, given)
        for each in graph.output:
            copy = NodeProto(op_type="Identity", input=[_of(names, each.name)], name=each.name)
            made.output.add(name=self._emit(copy, names, [each.name]))
        made.node.extend(self._nodes)
        self._nodes = outer
        return made

    def _same(self, new: NodeProto) -> str:
        """What a node of one output gives back as it is; of two transposes it makes one."""
        op, given = new.op_type, next(iter(new.input), "")
        if op == "Transpose" and new.attribute:
            perm, before = new.attribute[0].ints, self._made.get(given, NodeProto())
            if (before.op_type, before.domain) == (op, "") and before.attribute:
                new.input[0] = before.input[0]
                perm[:] = [before.attribute[0].ints[each] for each in perm]
            return new.input[0] if [*perm] == [*range(len(perm))] else ""
        if op == "Dropout" and self._opsets.get("", 0) >= 7:
            training = self._constants.array(new.input[2]) if len(new.input) > 2 else np.array(0)
            return given if training is not None and not training.any() else ""
        return given if op == "Identity" else ""

    def _multiplied(self, gemm: NodeProto, names: dict[str, str], outputs: Sequence[str]) -> bool:
        """Writes a Gemm with constants as MatMul and Add, behind a Flatten that keeps matrices."""
        matrix, *bias = map(self._constants.array, gemm.input[1:])
        is_plain = [each.name for each in gemm.attribute] in ([], ["transB"])
        if matrix is None or matrix.ndim != 2 or not is_plain:
            return False
        matrix = matrix.T if gemm.attribute else matrix
        row, data = (1, matrix.shape[1]), ""
        if any(each is None or np.broadcast_shapes(each.shape, row) != row for each in bias):
            return False
        read = gemm.input[0], self._constants.add(matrix), *gemm.input[2:]
        for op, operand in zip(("Flatten", "MatMul", "Add"), read, strict=False):
            new = NodeProto(op_type=op, name=gemm.name, input=filter(None, (data, operand)))
            data = self._emit(new, names, outputs)
        return True

    def _folded(self) -> list[NodeProto]:
        """The nodes with what scales and shifts the channels of a Conv in its weights.

        Only where nothing else reads more of that than its shape. All of a chain is computed in
        float64, and rounded once.
        """
        constants, gone = self._constants, set[int]()
        shapes = [e for e in self._nodes if (e.op_type, e.domain) == ("Shape", "")]  # stay alike
        uses = Counter([*_reads(self._nodes), *self.outputs.values()]) - Counter(_reads(shapes))
        readers = {e: node for node in self._nodes if node.op_type != "Shape" for e in node.input}
        for node in (e for e in self._nodes if (e.op_type, e.domain) == ("Conv", "")):
            weights, bias, *_ = *map(constants.array, node.input[1:]), np.zeros(1)
            if weights is None or bias is None or weights.dtype.name not in _FLOATS:
                continue
            factor, b = np.ones(len(weights)), np.broadcast_to(bias, len(weights)).astype(float)
            parts, recipe = np.abs(b), list[object](node.input[1:])
            while uses[last := node.output[0]] == 1 and (reader := readers.get(last)) is not None:
                moved = _affine(reader, last, weights, constants)
                if moved is None:
                    break
                by, *shifts = moved
                factor, b = factor * by, b * by + sum(shifts)
                parts = parts * np.abs(by) + sum(map(np.abs, shifts))
                read = (place if each == last else each for place, each in enumerate(reader.input))
                recipe.append((reader.op_type, *read, *map(_exact, reader.attribute)))
                gone.add(id(reader))
                node.output[0] = reader.output[0]
                for shape in (each for each in shapes if each.input[0] == last):
                    shape.input[0] = node.output[0]
            if len(recipe) > len(node.input) - 1:
                w = weights * factor.reshape(-1, *[1] * (weights.ndim - 1))
                del node.input[1:]
                for each, size in ((w, greatest(w)), *[(b, parts)] * bool(b.any())):
                    name = constants.add(each.astype(weights.dtype), (each is w, *recipe))
                    constants.computed[name] = size
                    node.input.append(name)
            elif not b.any():
                del node.input[2:]
        return [node for node in self._nodes if id(node) not in gone]


def greatest(weights: Array) -> Array:
    """The greatest magnitude in each channel of weights."""
    return np.asarray(np.abs(weights).max(axis=(*range(1, weights.ndim),), initial=0))


def _of(names: Names, name: str) -> str:
    return names[name] if name else ""


def _needed(graph: onnx.GraphProto) -> list[int]:
    """The places of nodes that the outputs need, each after what it reads: not all tools sort."""
    nodes, needed = graph.node, dict[int, list[int]]()
    makers = {name: place for place, node in enumerate(nodes) for name in node.output if name}
    pending = [makers[each.name] for each in graph.output if each.name in makers]
    while pending:
        if (place := pending.pop()) not in needed:
            needed[place] = [makers[each] for each in _reads([nodes[place]]) if each in makers]
            pending += needed[place]
    return [*TopologicalSorter(needed).static_order()]


def _reads(nodes: Iterable[NodeProto]) -> Iterator[str]:
    """What nodes and their bodies read and give."""
    for node in walked(nodes):
        yield from node.input
        yield from (each.name for body in bodies(node) for each in body.output)


def _exact(attribute: AttributeProto) -> bytes:
    """All that an attribute says: 0.0 and -0.0 differ, and NaN is itself."""
    return bytes(attribute.SerializeToString(deterministic=True))


@cache
def _defaults(op: str, domain: str, opset: int) -> dict[str, bytes]:
    """The attributes of an operator that have a default, as they are spelled out."""
    if not onnx.defs.has(op, opset, domain):
        return {}
    attributes = onnx.defs.get_schema(op, opset, domain).attributes
    usual = {name: each.default_value for name, each in attributes.items()}
    return {name: _exact(each) for name, each in usual.items() if each.type}


def _affine(
    node: NodeProto, data: str, weights: Array, constants: Constants
) -> tuple[Array, ...] | None:
    """The factor and the shifts by which a node alters channels of a Conv; None of others."""
    others = [constants.array(each) for each in node.input if each != data]
    known = [each for each in others if each is not None and each.dtype.name in _FLOATS]
    if node.domain or len(known) < len(others) or len(node.output) > 1:
        return None
    arrays, is_first = [each.astype(np.float64) for each in known], node.input[0] == data
    written = {each.name: get_attribute_value(each) for each in node.attribute}
    if node.op_type == "BatchNormalization" and is_first:
        scale, shift, mean, variance = arrays
        epsilon = np.float64(np.float32(written.get("epsilon", 1e-5)))
        factor = scale / np.sqrt(variance + epsilon)
        is_plain = {*written} <= {"epsilon", "momentum"}
        return (factor, shift, -mean * factor) if is_plain else None
    if node.op_type not in ("Add", "Mul") or len(arrays) != 1 or written:
        return None
    shape = (*[1] * (weights.ndim - arrays[0].ndim), *arrays[0].shape)
    if len(shape) != weights.ndim or not arrays[0].size == shape[1] in (1, len(weights)):
        return None
    by = np.broadcast_to(arrays[0].ravel(), len(weights))
    return (by, np.zeros(1)) if node.op_type == "Mul" else (np.ones(1), by)
