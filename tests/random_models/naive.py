"""The naive rewriting of a `Pad`: drop it, and add its amounts to the windows downstream.

It asks for nothing that makes the rewriting exact: neither for the value of the fill, nor for what
steps make of it. Whether the result computes the same is for onnxruntime to say. It shares no code
with the passes, and reads the nodes by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.support import Array, run

Layer: TypeAlias = tuple[tuple[int, int], ...]
"""How much is added at the begin and end of each axis of a tensor."""
Holder: TypeAlias = onnx.GraphProto | onnx.FunctionProto

POINTWISE: Final = frozenset(
    {"Identity", "Dropout", "Cast", "QuantizeLinear", "DequantizeLinear", "BatchNormalization"}
    | {"Relu", "LeakyRelu", "Neg", "Abs", "Tanh", "Sin", "HardSwish", "Sigmoid", "Floor", "Exp"}
    | {"Clip", "Min", "Max", "Mul", "Div", "Add", "Sub", "Expand"}
)
EVALUATED: Final = frozenset(
    {"Concat", "Reshape", "Slice", "Transpose", "Cast", "Add", "Sub", "Mul", "Mod", "Identity"}
)
"""How amounts are computed."""
WINDOWS: Final = frozenset(
    {"Conv", "FusedConv", "ConvInteger", "QLinearConv", "AveragePool", "QLinearAveragePool"}
    | {"MaxPool", "NhwcMaxPool", "LpPool"}
)


class NotFoldableError(Exception):
    """There is no naive rewriting; the argument says why."""


@dataclass(frozen=True)
class Place:
    """A `Pad` and the graph or function that holds it, by position in the order of `walk`."""

    index: int
    name: str
    within: str


def walk(model: onnx.ModelProto) -> Iterator[tuple[Holder, int, str]]:
    """Every graph, body and function with the index of each of its nodes, and where it is."""

    def inner(holder: Holder, place: str) -> Iterator[tuple[Holder, int, str]]:
        for position, node in enumerate(holder.node):
            yield holder, position, place
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    yield from inner(attribute.g, f"{place}{node.op_type} > {attribute.name} > ")

    yield from inner(model.graph, "")
    for function in model.functions:
        yield from inner(function, f"{function.name} > ")


def pads(model: onnx.ModelProto) -> list[Place]:
    """Every `Pad` of a model, in bodies and functions too."""
    return [
        Place(index, holder.node[at].name or f"<{holder.node[at].output[0]}>", place)
        for index, (holder, at, place) in enumerate(walk(model))
        if holder.node[at].op_type == "Pad" and not holder.node[at].domain
    ]


@dataclass
class Naive:
    """One naive rewriting in the making.

    Attributes:
        model: A copy of the model, which is changed.
        shapes: Shapes of tensors, where they are known, with all Pads.
        amounts: Contents of computed tensors that were seen in every run to be the same.
    """

    model: onnx.ModelProto
    shapes: Mapping[str, tuple[int, ...]]
    amounts: Mapping[str, Array]
    dropped: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        copy = onnx.ModelProto()
        copy.CopyFrom(self.model)
        self.model = copy
        overridable = {value.name for value in copy.graph.input} if copy.ir_version > 3 else set()
        self.constants: dict[str, Array] = {
            name: array for name, array in self.amounts.items() if name
        }
        self.readers: dict[str, list[tuple[onnx.NodeProto, int, Holder]]] = {}
        self.makers: dict[str, onnx.NodeProto] = {}
        self.outputs: dict[str, list[Holder]] = {}
        self.owners: dict[int, tuple[onnx.NodeProto, Holder]] = {}
        self._index(copy.graph, overridable)
        for function in copy.functions:
            self._index(function, set())

    def _index(self, holder: Holder, overridable: set[str]) -> None:
        if isinstance(holder, onnx.GraphProto):
            for held in holder.initializer:
                if held.name not in overridable:
                    self.constants[held.name] = numpy_helper.to_array(held)
            names = [value.name for value in holder.output]
        else:
            names = list(holder.output)
        for name in names:
            self.outputs.setdefault(name, []).append(holder)
        for node in holder.node:
            for index, name in enumerate(node.input):
                self.readers.setdefault(name, []).append((node, index, holder))
            for name in node.output:
                self.makers[name] = node
            if node.op_type == "Constant":
                held = node.attribute[0]
                value = helper.get_attribute_value(held)
                self.constants[node.output[0]] = (
                    numpy_helper.to_array(value) if held.name == "value" else np.asarray(value)
                )
            if node.op_type == "Identity" and node.input[0] in self.constants:
                self.constants[node.output[0]] = self.constants[node.input[0]]
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    self.owners[id(attribute.g)] = node, holder
                    self._index(attribute.g, overridable)

    # Dropping a Pad

    def drop(self, node: onnx.NodeProto) -> None:
        """Drop a `Pad` and put its amounts where they belong."""
        if attribute_of(node, "mode", b"constant") != b"constant":
            raise NotFoldableError("it copies data")
        layer = self.layer(node)
        self.dropped.add(node.output[0])
        data = node.input[0]
        del node.input[:]
        del node.attribute[:]
        node.op_type = "Identity"
        node.input.append(data)
        self.follow(node.output[0], layer)

    def layer(self, node: onnx.NodeProto) -> Layer:
        """What a `Pad` adds to each axis; amounts below 0 crop."""
        shape = self.shapes.get(node.output[0]) or self.shapes.get(node.input[0])
        listed = attribute_of(node, "pads")
        if listed is None:
            listed = self.constant(node.input[1], "its amounts are not constant").tolist()
        pairs = list(zip(listed[: len(listed) // 2], listed[len(listed) // 2 :], strict=True))
        if len(node.input) > 3 and node.input[3]:
            axes = self.constant(node.input[3], "its axes are not constant").tolist()
            if shape is None:
                raise NotFoldableError("the rank is not known")
            full = [(0, 0)] * len(shape)
            for axis, pair in zip(axes, pairs, strict=True):
                full[axis] = pair
            return tuple(full)
        return tuple(pairs)

    def constant(self, name: str, why: str) -> Array:
        """What a tensor holds, if constants alone determine it."""
        if name not in self.constants:
            maker = self.makers.get(name)
            if maker is None or maker.op_type not in EVALUATED:
                raise NotFoldableError(why)
            given = {each: self.constant(each, why) for each in maker.input if each}
            self.constants[name] = _evaluated(self.model, maker, given)
        return self.constants[name]

    def reaches_output(self, node: onnx.NodeProto) -> bool:
        """Whether an output of its graph or of a body depends on a node."""
        return any(
            name in self.outputs
            or any(self.reaches_output(reader) for reader, _, _ in self.readers.get(name, []))
            for name in filter(None, node.output)
        )

    def follow(self, name: str, layer: Layer) -> None:
        """Take a layer to all that reads a tensor."""
        if not any(map(any, layer)):
            return
        for holder in self.outputs.get(name, []):
            owner = self.owners.get(id(holder))
            if owner is None or owner[0].op_type != "If":
                raise NotFoldableError("it reaches an output")
            node, _ = owner
            position = [value.name for value in holder.output].index(name)
            self.follow(node.output[position], layer)
        for node, index, holder in self.readers.get(name, []):
            self.step(node, index, layer, holder)

    def step(self, node: onnx.NodeProto, index: int, layer: Layer, holder: Holder) -> None:
        op = node.op_type
        if op in WINDOWS and index == 0:
            self._into_window(node, layer)
        elif op == "Transpose":
            perm = attribute_of(node, "perm", list(range(len(layer)))[::-1])
            self.follow(node.output[0], tuple(layer[i] for i in perm))
        elif op in ("Unsqueeze", "Squeeze") and index == 0:
            self.follow(node.output[0], self._renumbered(node, layer))
        elif op in ("Reshape", "Flatten") and index == 0:
            self.follow(node.output[0], self._reshaped(node, layer, holder))
        elif op == "Pad" and index == 0:
            self.follow(node.output[0], layer)
        elif op == "Slice" and index == 0:
            self.follow(node.output[0], self._cropped(node, layer, holder))
        elif op == "Split" and index == 0:
            if any(layer[attribute_of(node, "axis", 0)]):
                raise NotFoldableError("a Split on its axis")
            for each in node.output:
                self.follow(each, layer)
        elif op == "Concat":
            if any(layer[attribute_of(node, "axis", 0)]):
                raise NotFoldableError("a Concat on its axis")
            self._join(node, index, layer)
        elif op in POINTWISE and (index == 0 or len(node.input) == 2):
            if len(node.input) == 2 and op in ("Mul", "Add", "Sub", "Max", "Min", "Div"):
                layer = self._broadcast(node, index, layer)
                self._join(node, index, layer)
            else:
                self.follow(node.output[0], layer)
        else:
            raise NotFoldableError(f"{op} reads it")

    def _broadcast(self, node: onnx.NodeProto, index: int, layer: Layer) -> Layer:
        other = node.input[1 - index]
        rank = self.constants[other].ndim if other in self.constants else 0
        return ((0, 0),) * (rank - len(layer)) + layer

    def _join(self, node: onnx.NodeProto, index: int, layer: Layer) -> None:
        """Drop equal `Pad`s on the other operands of a node, once."""
        if node.output[0] in self.dropped:
            return
        self.dropped.add(node.output[0])
        for other, name in enumerate(node.input):
            if other != index and name not in self.constants and name != node.input[index]:
                self._drop_upstream(name, layer)
        self.follow(node.output[0], layer)

    def _drop_upstream(self, name: str, layer: Layer) -> None:
        """Drop the `Pad` upstream of an operand whose amounts arrive as this layer."""
        found = name
        while found in self.makers:
            maker = self.makers[found]
            if maker.output[0] in self.dropped:
                return
            if maker.op_type == "Pad" and not maker.domain:
                if self.layer(maker) != layer and found == name:
                    raise NotFoldableError("another operand is padded otherwise")
                self.drop(maker)
                return
            if maker.op_type not in POINTWISE and maker.op_type not in ("Transpose", "Concat"):
                break
            found = maker.input[0]
        raise NotFoldableError("another operand is not padded")

    def _renumbered(self, node: onnx.NodeProto, layer: Layer) -> Layer:
        axes = attribute_of(node, "axes")
        if axes is None:
            if len(node.input) < 2:
                raise NotFoldableError("a Squeeze of all unit axes")
            axes = self.constant(node.input[1], "axes are not constant").tolist()
        pairs = list(layer)
        if node.op_type == "Squeeze":
            gone = {axis % len(pairs) for axis in axes}
            if any(any(pairs[axis]) for axis in gone):
                raise NotFoldableError("a Squeeze of its axis")
            return tuple(pair for i, pair in enumerate(pairs) if i not in gone)
        rank = len(pairs) + len(axes)
        for axis in sorted(axis % rank for axis in axes):
            pairs.insert(axis, (0, 0))
        return tuple(pairs)

    def _reshaped(self, node: onnx.NodeProto, layer: Layer, holder: Holder) -> Layer:
        before, after = self.shapes.get(node.input[0]), self.shapes.get(node.output[0])
        if before is None or after is None:
            raise NotFoldableError("a shape is not known")
        large = [i for i, size in enumerate(before) if size != 1 or any(layer[i])]
        places = [i for i, size in enumerate(after) if size != 1]
        if [before[i] for i in large] != [after[i] for i in places]:
            raise NotFoldableError("a Reshape of its elements")
        pairs = [(0, 0)] * len(after)
        for place, i in zip(places, large, strict=True):
            pairs[place] = layer[i]
        if node.op_type == "Reshape":
            target = self.constant(node.input[1], "a computed Reshape").copy()
            for i, pair in enumerate(pairs):
                if target[i] > 0:
                    target[i] -= sum(pair)
            name = f"{node.output[0]}_shape"
            self.constant_node(holder, node, name, target)
            node.input[1] = name
        return tuple(pairs)

    def _cropped(self, node: onnx.NodeProto, layer: Layer, holder: Holder) -> Layer:
        """The layer behind a Slice, which no longer cuts what was padded."""
        shape = self.shapes.get(node.input[0])
        names = ("starts", "ends", "axes", "steps")
        read: dict[str, list[int]] = {}
        for at, name in enumerate(names):
            value = attribute_of(node, name)
            if value is None and len(node.input) > at + 1 and node.input[at + 1]:
                value = self.constant(node.input[at + 1], "a computed Slice").tolist()
            if value is not None:
                read[name] = value
        axes = read.get("axes", list(range(len(read["starts"]))))
        axes = [axis % len(layer) for axis in axes]
        steps = read.get("steps", [1] * len(axes))
        pairs = list(layer)
        starts, ends = list(read["starts"]), list(read["ends"])
        for at, axis in enumerate(axes):
            if not any(layer[axis]):
                continue
            if shape is None or steps[at] != 1:
                raise NotFoldableError("a Slice on its axis")
            size = shape[axis]
            begin = min(max(starts[at] + size * (starts[at] < 0), 0), size)
            end = min(max(ends[at] + size * (ends[at] < 0), 0), size)
            pairs[axis] = layer[axis][0] - begin, layer[axis][1] - (size - end)
            starts[at], ends[at] = 0, 2**63 - 1
        if starts != read["starts"] or ends != read["ends"]:
            if len(node.input) > 1:
                for at, values in ((1, starts), (2, ends)):
                    name = f"{node.output[0]}_cut{at}"
                    self.constant_node(holder, node, name, np.asarray(values, np.int64))
                    node.input[at] = name
            else:
                set_attribute(node, "starts", starts)
                set_attribute(node, "ends", ends)
        return tuple(pairs)

    def constant_node(
        self, holder: Holder, before: onnx.NodeProto, name: str, array: Array
    ) -> None:
        made = helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))
        holder.node.insert([n is before or n == before for n in holder.node].index(True), made)

    def _into_window(self, node: onnx.NodeProto, layer: Layer) -> None:
        """Add a layer to the `pads` of a window operator."""
        auto = attribute_of(node, "auto_pad", b"NOTSET")
        if auto not in (b"NOTSET", b"VALID", b""):
            raise NotFoldableError("the operator is SAME")
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                raise NotFoldableError("an attribute of a function")
        last = node.op_type == "NhwcMaxPool" or attribute_of(node, "channels_last", 0) == 1
        spatial = layer[1:-1] if last else layer[2:]
        others = (layer[0], layer[-1]) if last else layer[:2]
        if any(map(any, others)):
            raise NotFoldableError("it is on batch or channels")
        old = attribute_of(node, "pads", [0] * 2 * len(spatial))
        if auto == b"VALID":
            old = [0] * 2 * len(spatial)
        added = [b for b, _ in spatial] + [e for _, e in spatial]
        if node.op_type in ("AveragePool", "QLinearAveragePool") and not any(old):
            set_attribute(node, "count_include_pad", 1)
        kept = [a for a in node.attribute if a.name != "auto_pad"]
        del node.attribute[:]
        node.attribute.extend(kept)
        set_attribute(node, "pads", [one + other for one, other in zip(old, added, strict=True)])


def fold(
    model: onnx.ModelProto,
    place: Place,
    shapes: Mapping[str, tuple[int, ...]],
    amounts: Mapping[str, Array],
) -> onnx.ModelProto:
    """The model with one `Pad` folded naively.

    Args:
        model: The model; it is not changed.
        place: The `Pad`.
        shapes: Shapes of its tensors at some size, by name.
        amounts: What computed tensors hold, by name, if always the same.

    Raises:
        NotFoldableError: There is nothing to drop, or nowhere to put it.
    """
    naive = Naive(model, shapes, amounts)
    for index, (holder, at, _) in enumerate(walk(naive.model)):
        if index == place.index:
            if not naive.reaches_output(holder.node[at]):
                raise NotFoldableError("no output depends on it")
            naive.drop(holder.node[at])
            break
    return naive.model


def _evaluated(model: onnx.ModelProto, node: onnx.NodeProto, given: Mapping[str, Array]) -> Array:
    """What a node of constants gives."""
    graph = helper.make_graph(
        [node],
        "constants",
        [],
        [onnx.ValueInfoProto(name=node.output[0])],
        [numpy_helper.from_array(array, name) for name, array in given.items()],
    )
    imported = [opset for opset in model.opset_import if opset.domain in ("", "ai.onnx")]
    alone = helper.make_model(graph, ir_version=8, opset_imports=imported)
    return np.asarray(run(alone, {}, "full")[0])


def attribute_of(node: onnx.NodeProto, name: str, default: Any = None) -> Any:
    """The value of an attribute; raises NotFoldableError where a function's caller sets it."""
    for attribute in node.attribute:
        if attribute.name == name:
            if attribute.ref_attr_name:
                raise NotFoldableError("an attribute of a function")
            return helper.get_attribute_value(attribute)
    return default


def set_attribute(node: onnx.NodeProto, name: str, value: int | Sequence[int]) -> None:
    """Set an attribute of a node."""
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(name, value)])
