"""Additions to a random model: weights behind `Pad`s, nodes nobody reads, strings, chance.

Each addition leaves the model valid. What is drawn follows from the bytes of the model, so a seed
names a model.
"""

import random
import zlib
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.random_models.shrink import Holder, walk
from tests.random_models.writer import LOCAL
from tests.support import Array

WEIGHED: Final = ("Conv", "ConvTranspose", "FusedConv", "ConvInteger")
DUPLICATED: Final = (*WEIGHED, "Pad", "MaxPool", "AveragePool", "LpPool", "QLinearConv")
FLOAT: Final = TensorProto.FLOAT


def extend(model: onnx.ModelProto) -> frozenset[str]:
    """Add to a model here and there; returns the names of its outputs that depend on chance."""
    return _Extras(model).add()


class _Extras:
    def __init__(self, model: onnx.ModelProto) -> None:
        self.model, self.graph = model, model.graph
        self.rng = random.Random(zlib.crc32(model.SerializeToString(deterministic=True)))
        self.opset = next(each.version for each in model.opset_import if not each.domain)
        self.counter = 0
        self.by_chance: set[str] = set()

    def add(self) -> frozenset[str]:
        for holder, node in self.nodes(WEIGHED):
            if self.chance(7):
                self.pad_weight(holder, node)
        for holder, node in self.nodes(DUPLICATED):
            if self.chance(5):
                self.duplicate(holder, node)
        for addition in (self.strings, self.nested, self.drawn):
            if self.chance(5):
                addition()
        return frozenset(self.by_chance)

    def chance(self, percent: int) -> bool:
        return self.rng.randrange(100) < percent

    def fresh(self, stem: str) -> str:
        self.counter += 1
        return f"more_{stem}{self.counter}"

    def nodes(self, kinds: Sequence[str]) -> list[tuple[Holder, onnx.NodeProto]]:
        """Nodes of these operators, each with what holds it."""
        places = [(holder, holder.node[at]) for holder, at, _ in walk(self.model)]
        return [each for each in places if each[1].op_type in kinds]

    # Nodes that are there

    def pad_weight(self, holder: Holder, node: onnx.NodeProto) -> None:
        """Cut one end off a constant weight, and have a `Pad` put it back."""
        weight = self.held(holder, node.input[1])
        if weight is None or not (weight.dtype.kind == "f" or self.opset >= 11):
            return
        axes = [axis for axis, size in enumerate(weight.shape) if size > 1]
        if not axes:
            return
        axis, begin = self.rng.choice(axes), self.chance(50)
        some = np.delete(weight, 0 if begin else -1, axis)
        amounts = [0] * 2 * weight.ndim
        amounts[axis + (not begin) * weight.ndim] = 1
        padded = self.pad(holder, self.constant(holder, some), amounts, "weight")
        if self.opset >= 11 and self.chance(40):
            fill = np.asarray(self.chance(50), weight.dtype)
            padded.input.append(self.constant(holder, fill))
        node.input[1] = padded.output[0]
        self.insert(holder, node, padded)

    def pad(self, holder: Holder, name: str, amounts: list[int], stem: str) -> onnx.NodeProto:
        """A `Pad` with constant amounts."""
        made = self.fresh(stem)
        if self.opset < 11:
            return helper.make_node("Pad", [name], [made], pads=amounts)
        given = self.constant(holder, np.asarray(amounts, np.int64))
        return helper.make_node("Pad", [name, given], [made])

    def duplicate(self, holder: Holder, node: onnx.NodeProto) -> None:
        """The same node once more, and now and then a step that reads it; nothing reads these."""
        copy = deepcopy(node)
        copy.name = self.fresh(node.op_type) if self.chance(50) else ""
        del copy.output[1:]
        copy.output[0] = self.fresh("dead")
        if self.chance(30):
            step = helper.make_node("Identity", [copy.output[0]], [self.fresh("dead")])
            self.insert(holder, node, step)
        self.insert(holder, node, copy)

    def insert(self, holder: Holder, node: onnx.NodeProto, new: onnx.NodeProto) -> None:
        place = [each == node for each in holder.node].index(True)
        holder.node.insert(place, new)

    def held(self, holder: Holder, name: str) -> Array | None:
        """A constant that a node of this graph reads by name."""
        fed = {value.name for value in self.graph.input}
        graphs = [each for each in (holder, self.graph) if isinstance(each, onnx.GraphProto)]
        found = [t for graph in graphs for t in graph.initializer if t.name == name not in fed]
        nodes = [each for each in holder.node if name in each.output and each.op_type == "Constant"]
        found += [each.attribute[0].t for each in nodes if each.attribute[0].HasField("t")]
        return numpy_helper.to_array(found[0]) if found else None

    def constant(self, holder: Holder, array: Array) -> str:
        """An initializer of the graph, or a Constant in front of all its nodes."""
        name = self.fresh("c")
        tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
        if isinstance(holder, onnx.GraphProto) and self.chance(50):
            holder.initializer.append(tensor)
            if self.model.ir_version < 4 and holder is self.graph:
                value = helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims))
                holder.input.append(value)
        else:
            holder.node.insert(0, helper.make_node("Constant", [], [name], value=tensor))
        return name

    # Outputs of their own

    def output(self, name: str, elem: int) -> None:
        self.graph.output.append(helper.make_tensor_value_info(name, elem, None))

    def node(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = self.fresh(op.lower())
        self.graph.node.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def strings(self) -> None:
        """Strings that are constant, looked up by a size, or written from one."""
        words = self.fresh("words")
        self.graph.initializer.append(
            numpy_helper.from_array(np.asarray(["a", "ä"], object), words)
        )
        if self.model.ir_version < 4:
            self.graph.input.append(helper.make_tensor_value_info(words, TensorProto.STRING, [2]))
        kind = self.rng.choice(["Identity"] + ["Gather", "Cast"] * (self.opset >= 10))
        if kind == "Identity":
            name = self.node("Identity", [words])
        else:
            shape = self.node("Shape", [self.floats()[0]])
            if kind == "Cast":
                name = self.node("Cast", [shape], to=TensorProto.STRING)
            else:
                two = self.constant(self.graph, np.asarray(2, np.int64))
                name = self.node("Gather", [words, self.node("Mod", [shape, two])], axis=0)
        self.output(name, TensorProto.STRING)

    def floats(self) -> tuple[str, int]:
        """The data as float, and its rank."""
        data = self.graph.input[0]
        tensor = data.type.tensor_type
        is_float = tensor.elem_type == FLOAT
        name = data.name if is_float else self.node("Cast", [data.name], to=FLOAT)
        return name, len(tensor.shape.dim)

    def padded_pool(self, holder: Holder, name: str, rank: int) -> list[onnx.NodeProto]:
        """A `Pad` and a window that keep the shape of a tensor that is not negative."""
        pad = self.pad(holder, name, [0, 0, *[1] * (rank - 2)] * 2, "padded")
        kernel, pooled = [3] * (rank - 2), self.fresh("pooled")
        pool = helper.make_node("MaxPool", [pad.output[0]], [pooled], kernel_shape=kernel)
        return [pad, pool]

    def nested(self) -> None:
        """Functions each of which calls the one before it twice."""
        if self.model.ir_version < 8 or self.opset < 10:
            return
        name, rank = self.floats()
        if not 3 <= rank <= 5:
            return
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid(LOCAL, 1)]
        called = ""
        for _ in range(self.rng.randint(1, 4)):
            function = onnx.FunctionProto(domain=LOCAL, name=self.fresh("Nested"), input=["x"])
            function.opset_import.extend(opsets)
            if called:
                once = helper.make_node(called, ["x"], ["once"], domain=LOCAL)
                twice = helper.make_node(called, ["once"], ["twice"], domain=LOCAL)
                function.node.extend([once, twice])
            else:
                pooled = self.padded_pool(function, "relu", rank)
                function.node.extend([helper.make_node("Relu", ["x"], ["relu"]), *pooled])
            function.output.append(function.node[-1].output[0])
            self.model.functions.append(function)
            called = function.name
        if LOCAL not in {each.domain for each in self.model.opset_import}:
            self.model.opset_import.append(helper.make_opsetid(LOCAL, 1))
        self.output(self.node(called, [name], domain=LOCAL), FLOAT)

    def drawn(self) -> None:
        """Random numbers through a `Pad` and a window, seeded or not."""
        name, rank = self.floats()
        seed: dict[str, Any] = {"seed": 3.0} if self.chance(30) else {}
        kinds = ["RandomNormalLike", "RandomUniformLike"]
        kinds += ["Dropout"] * (self.opset >= 12) + ["Bernoulli"] * (self.opset >= 15)
        kind = self.rng.choice(kinds)
        if kind == "Dropout":
            given = np.asarray(0.5, np.float32), np.asarray(True)
            half, train = (self.constant(self.graph, each) for each in given)
            name = self.node("Dropout", [name, half, train], **dict.fromkeys(seed, 3))
        elif kind == "Bernoulli":
            name = self.node("Bernoulli", [self.node("Sigmoid", [name])], dtype=FLOAT, **seed)
        else:
            name = self.node(kind, [name], dtype=FLOAT, **seed)
        if 3 <= rank <= 5 and self.chance(70):
            nodes = self.padded_pool(self.graph, self.node("Relu", [name]), rank)
            self.graph.node.extend(nodes)
            name = nodes[-1].output[0]
        self.output(name, FLOAT)
        self.by_chance.add(name)  # also with a seed: it depends on how often the session ran
