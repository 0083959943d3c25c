"""Random small models with padding of every kind, each valid as far as the generator can tell.

Everything follows from one `random.Random`, so a seed names a model. Values are small integers and
stay so (what is not whole is rounded down), so sums are exact in any order.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import Array

Pads = list[tuple[int, int]]

_TYPES: dict[str, tuple[Any, int]] = {
    "float": (np.float32, TensorProto.FLOAT),
    "half": (np.float16, TensorProto.FLOAT16),
    "double": (np.float64, TensorProto.DOUBLE),
    "int8": (np.int8, TensorProto.INT8),
    "uint8": (np.uint8, TensorProto.UINT8),
}
_SINCE = {
    "MaxPool": {"dilations": 10, "ceil_mode": 10},
    "AveragePool": {"dilations": 19, "ceil_mode": 10, "count_include_pad": 7},
    "LpPool": {"dilations": 18, "ceil_mode": 18},
    "Conv": {"dilations": 1},
}


@dataclass
class Drawn:
    """A random model.

    Attributes:
        model: The model.
        fixed: What must be fed to the inputs that are no data.
        open: Whether sizes of the data are open.
    """

    model: onnx.ModelProto
    fixed: dict[str, Array]
    open: bool

    def feeds(self, seed: int, size: int) -> dict[str, Array]:
        """Small integers for the data; open dimensions are `size` and the numbers after it."""
        numbers = np.random.default_rng([seed, size])
        data = self.model.graph.input[0]
        tensor = data.type.tensor_type
        shape = [
            dim.dim_value if dim.HasField("dim_value") else (size + axis if axis > 1 else 1 + axis)
            for axis, dim in enumerate(tensor.shape.dim)
        ]
        kind = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        low = 0 if np.dtype(kind).kind == "u" else -8
        return {data.name: numbers.integers(low, 9, shape).astype(kind), **self.fixed}


def draw_model(rng: random.Random, *, disguised: bool = False) -> Drawn:
    """A model of a few window operators and `Pad`s.

    With `disguised`, nodes without effect, which an optimiser takes away, are between them, and
    what is padded or pooled has readers beside that go.
    """
    return _Builder(rng, disguised=disguised).build()


@dataclass
class _Builder:
    rng: random.Random
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    results: dict[str, int] = field(default_factory=dict)  # output tensors and their types
    between: list[str] = field(default_factory=list)
    fixed: dict[str, Array] = field(default_factory=dict)
    known: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)
    counter: int = 0
    boundless: bool = False  # whether infinities may lie around the data
    leaked: bool = False  # whether they may be in the data: MaxPool's two forms then differ
    inferred: bool = True  # whether shape inference is right about the data
    disguised: bool = False

    def chance(self, percent: int) -> bool:
        return self.rng.randrange(100) < percent

    def build(self) -> Drawn:
        rng = self.rng
        self.opset = rng.choice([7, 8, 9, 10, 11, 11, 12, 13, 13, 15, 16, 17, 17, 18, 18, 19, 21])
        if self.chance(25):
            self.opset = rng.choice([1, 2, 4, 6, 11, 18, 19, 20, 22, 22])
        self.ir = 3 if self.opset < 9 and self.chance(70) else rng.choice([4, 7, 8, 9])
        types = ["float"] * 8
        if self.opset >= 11:
            types += ["half", "double"]
        if self.opset >= 12:
            types += ["int8", "uint8"]
        self.type = rng.choice(types)
        self.numpy, self.elem = _TYPES[self.type]
        self.rank = rng.choice([1, 2, 2, 2, 3])
        self.channels = rng.choice([1, 2, 2, 4])
        self.exact = 1 if self.type == "half" else 2  # Convs until sums may be rounded
        top = 9 if self.rank == 3 else 14
        sizes: list[Any] = [rng.randint(3, top) for _ in range(self.rank)]
        if self.chance(35):
            sizes = [rng.choice([size, "n", "m", None]) for size in sizes]
        shape = [rng.choice([1, 2, "batch"]), self.channels, *sizes]
        self.sizes = sizes
        self.inputs.append(helper.make_tensor_value_info("x", self.elem, shape))
        current = "x"
        for _ in range(rng.choice([1, 1, 2, 3])):
            current = self._step(current)
        self.results[current] = self.elem
        return Drawn(self._model(), self.fixed, any(not isinstance(size, int) for size in shape))

    def _model(self) -> onnx.ModelProto:
        listed = {value.name for value in self.inputs}
        if self.ir < 4:
            self.inputs += [
                helper.make_tensor_value_info(i.name, i.data_type, list(i.dims))
                for i in self.initializers
                if i.name not in listed
            ]
        lies = []
        for name in dict.fromkeys(self.between):
            # What bodies give is made in the shape that onnxruntime inferred from what is declared.
            if self.chance(12) and name not in self.results and "cond" not in self.fixed:
                lied = [1, self.channels, *(self.rng.randint(20, 40) for _ in range(self.rank))]
                lies.append(helper.make_tensor_value_info(name, self.elem, lied))
        graph = helper.make_graph(
            self.nodes,
            "random",
            self.inputs,
            [
                helper.make_tensor_value_info(name, elem, [None] * (self.rank + 2))
                for name, elem in self.results.items()
            ],
            self.initializers,
            value_info=lies,
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, ir_version=self.ir, opset_imports=opsets)

    # Pieces

    def fresh(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def node(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> str:
        names = [self.fresh(op.lower()) for _ in range(outputs)]
        named = "" if self.chance(30) else self.fresh(op)
        self.nodes.append(helper.make_node(op, inputs, names, name=named, **attributes))
        return names[0]

    def constant(self, array: Array, stem: str, *, override: bool = False) -> str:
        """A constant: shared or not, an initializer or a node."""
        key = (array.dtype.name, array.shape, array.tobytes())
        if key in self.known and self.chance(50):
            return self.known[key]
        if not override and self.chance(20):
            value = numpy_helper.from_array(array)
            listed = array.dtype == np.int64 and array.ndim == 1 and array.size
            if self.opset >= 12 and listed and self.chance(40):
                return self.node("Constant", [], value_ints=array.tolist())
            return self.node("Constant", [], value=value)
        name = self.fresh(stem)
        self.initializers.append(numpy_helper.from_array(array, name))
        if override:
            declared = helper.np_dtype_to_tensor_dtype(array.dtype)
            self.inputs.append(helper.make_tensor_value_info(name, declared, array.shape))
        else:
            self.known[key] = name
        return name

    def integers(self, values: Sequence[int] | Array, stem: str = "c") -> str:
        return self.constant(np.asarray(values, np.int64), stem)

    def _step(self, current: str) -> str:
        current = self._between(current)
        for _ in range(self.rng.choice([0, 0, 1, 1, 1, 2, 3])):
            if self.opset < 2:
                break
            current = self._pad(current)
            self._tee(current)
            if self.chance(12):
                current = self.node("Identity", [current])
                self._tee(current, 5)
            if self.disguised and self.chance(60):
                current = self._disguise(current)
        if self.chance(90):
            current = self._window(current)
            self._tee(current, 8)
        return current

    def _disguise(self, current: str) -> str:
        """The same tensor, behind nodes that have no effect."""
        if self.opset < 7:
            return current
        kind = self.rng.randrange(10)
        if kind == 0:
            return self.node("Cast", [current], to=self.elem)
        if kind == 1 and self.type in ("float", "half", "double"):
            return self.node("Dropout", [current])
        if kind in (2, 3) and (self.type in ("float", "half", "double") or self.opset >= 14):
            neutral = self.rng.choice(["Add", "Sub", "Mul", "Div"])
            number = np.asarray(neutral in ("Mul", "Div"), self.numpy)
            return self.node(neutral, [current, self.constant(number, "neutral")])
        if kind == 4 and self.opset >= 8:
            ones = self.integers([1] * (self.rank + 2))
            return self.node("Expand", [current, ones])
        if kind == 5 and self.opset >= 10:
            ends = [self.integers([0]), self.integers([2**63 - 1])]
            return self.node("Slice", [current, *ends])
        if kind in (6, 7):
            last = [0, *range(2, self.rank + 2), 1]
            back = [0, self.rank + 1, *range(1, self.rank + 1)]
            current = self.node("Transpose", [current], perm=last)
            if self.chance(40):
                current = self._pad_last(current)
            return self.node("Transpose", [current], perm=back)
        if kind == 8:
            copy = self.node("Identity", [current])
            self.results[copy] = self.elem
            return current
        return self.node("Identity", [self.node("Identity", [current])])

    def _pad_last(self, current: str) -> str:
        """A `Pad` of zeros where the channels are the last axis."""
        pairs = [(0, 0), *((self.rng.randint(0, 2), self.rng.randint(0, 2)),) * self.rank, (0, 0)]
        flat = [b for b, _ in pairs] + [e for _, e in pairs]
        if self.opset < 11:
            return self.node("Pad", [current], pads=flat)
        if self.opset >= 18 and self.chance(40):
            axes = self.integers(list(range(1, self.rank + 1)), "axes")
            some = [b for b, _ in pairs[1:-1]] + [e for _, e in pairs[1:-1]]
            return self.node("Pad", [current, self.integers(some), "", axes])
        return self.node("Pad", [current, self.integers(flat)])

    def _between(self, current: str) -> str:
        choice = self.rng.randrange(12)
        floats = self.type in ("float", "half", "double")
        if choice < 3 and floats and self.opset >= 6:
            current = self.node("Relu", [current])
        elif choice == 3:
            current = self.node("Identity", [current])
        elif choice == 4 and floats and self.opset >= 6:
            current = self.node("Neg", [current])
        elif choice == 5 and self.rank == 2:
            current = self.node("Transpose", [current], perm=[0, 1, 3, 2])
        elif choice == 6 and floats and self.opset >= 6:
            current = self.node("Abs", [current])
        self.between.append(current)
        return current

    def _tee(self, current: str, percent: int = 14) -> None:
        """Sometimes another reader: an output, an operator, a body."""
        if not self.chance(percent):
            return
        kind = self.rng.randrange(4)
        if kind == 0:
            self.results[current] = self.elem
        elif kind == 1:
            self.results[self.node("Identity", [current])] = self.elem
        elif kind == 2:
            kept = self.channels, self.exact, self.boundless, self.leaked, self.inferred
            self.results[self._window(current)] = self.elem
            self.channels, self.exact, self.boundless, self.leaked, self.inferred = kept
        elif self.opset >= 11 and self.inferred:
            self.results[self._captured(current)] = self.elem

    def _captured(self, current: str) -> str:
        bodies = {}
        for branch in ("then_branch", "else_branch"):
            name = self.fresh("inner")
            output = helper.make_tensor_value_info(name, self.elem, [None] * (self.rank + 2))
            node = helper.make_node("Identity", [current], [name])
            bodies[branch] = helper.make_graph([node], branch, [], [output])
        if "cond" not in self.fixed:
            self.inputs.append(helper.make_tensor_value_info("cond", TensorProto.BOOL, []))
            self.fixed["cond"] = np.asarray(self.chance(50))
        return self.node("If", ["cond"], **bodies)

    # Pad

    def _pad(self, current: str) -> str:
        mode = self.rng.choice(["constant"] * 9 + ["reflect", "edge", "wrap"])
        if mode == "wrap" and self.opset < 19:
            mode = "edge"
        most = self.rng.choice([0, 1, 2, 2, 3])
        pairs = [(0, 0), (0, 0)]
        pairs += [(self.rng.randint(0, most), self.rng.randint(0, most)) for _ in range(self.rank)]
        if self.chance(8):
            axis = self.rng.randint(2, self.rank + 1)
            pairs[axis] = (self.rng.randint(-2, 1), self.rng.randint(-2, 2))
        if self.chance(6) and mode == "constant":
            pairs[1] = (self.rng.randint(0, 1), 1)
            self.channels += sum(pairs[1])
        if self.chance(2) and mode == "constant":
            pairs[0] = (0, 1)
        attributes: dict[str, Any] = {}
        if mode != "constant" or self.chance(50):
            attributes["mode"] = mode
        if self.opset < 11:
            attributes["pads"] = [b for b, _ in pairs] + [e for _, e in pairs]
            value = self._value()
            if value is not None:
                attributes["value"] = value
            return self.node("Pad", [current], **attributes)
        axes = None
        if self.opset >= 18 and self.chance(35):
            axes = [a for a, pair in enumerate(pairs) if any(pair) or self.chance(40)]
            self.rng.shuffle(axes)
            pairs = [pairs[axis] for axis in axes]
            axes = [axis - self.chance(40) * (self.rank + 2) for axis in axes]
        inputs = [current, self._amounts(current, pairs)]
        value = self._value()
        if value is None and (axes is not None or self.chance(10)):
            inputs.append("")
        elif value is not None:
            inputs.append(self._scalar(value))
        if axes is not None:
            inputs.append(self.integers(axes, "axes"))
        return self.node("Pad", inputs, **attributes)

    def _value(self) -> float | None:
        choice = self.rng.randrange(20)
        self.boundless |= choice in range(13, 18) and self.type in ("float", "half", "double")
        if choice < 7:
            return None
        if choice < 12 or (self.type in ("int8", "uint8") and choice < 14):
            return 0.0
        if self.type == "uint8":
            return 1.0 * (choice > 17)
        if self.type == "int8":
            return {18: 1.0, 19: 0.0}.get(choice, -128.0)
        if choice == 12:
            return -0.0
        if choice < 17:
            return -np.inf
        if choice == 17:
            return float(np.finfo(self.numpy if self.opset >= 11 else np.float32).min)
        return self.rng.choice([1.0, -1.0, -9.0])

    def _scalar(self, value: float) -> str:
        array = np.asarray(value if self.chance(80) else [value], self.numpy)
        if self.chance(90) or not np.isfinite(value):
            return self.constant(array, "value")
        if self.chance(50):
            return self.node("Identity", [self.constant(array, "value")])
        name = self.fresh("fed")
        self.inputs.append(helper.make_tensor_value_info(name, self.elem, list(array.shape)))
        self.fixed[name] = array
        return name

    def _amounts(self, current: str, pairs: Pads) -> str:
        """The amounts of a `Pad`, in one of the ways in which they come."""
        flat = np.asarray([b for b, _ in pairs] + [e for _, e in pairs], np.int64)
        half = len(pairs)
        kind = self.rng.randrange(16)
        if kind == 0:
            return self.node(
                "Concat", [self.integers(flat[:half]), self.integers(flat[half:])], axis=0
            )
        if kind == 1:  # as torch's exporter writes them: last axis first, a begin and an end each
            last = [amount for pair in reversed(pairs) for amount in pair]
            table = self.node("Reshape", [self.integers(last), self.integers([-1, 2])])
            ends = [self.integers([number]) for number in (-1, -(2**63) + 1, 0, -1)]
            turned = self.node("Slice", [table, *ends])
            columns = self.node("Transpose", [turned], perm=[1, 0])
            return self.node(
                "Cast", [self.node("Reshape", [columns, self.integers([-1])])], to=TensorProto.INT64
            )
        if kind == 2:
            less = self.constant(flat.astype(np.int32), "c")
            return self.node("Cast", [less], to=TensorProto.INT64)
        if kind == 3:
            other = np.arange(len(flat), dtype=np.int64)
            return self.node("Sub", [self.integers(flat + other), self.integers(other.tolist())])
        if kind in (4, 5):
            return self._from_shape(current, flat, kind)
        if kind == 6:
            name = self.fresh("amounts")
            self.inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, [len(flat)]))
            self.fixed[name] = flat
            return name
        if kind == 7 and self.ir >= 4:
            return self.constant(flat, "default", override=True)
        if kind == 8:
            return self.node("Identity", [self.integers(flat.tolist())])
        return self.constant(flat, "pads")

    def _from_shape(self, current: str, flat: Array, kind: int) -> str:
        """Amounts by the arithmetic of sizes: always the same, or odd sizes padded once more."""
        size = self.node(
            "Gather", [self.node("Shape", [current]), self.integers([self.rank + 1])], axis=0
        )
        two = self.integers([2])
        if kind == 4:
            part = self.node("Sub", [self.node("Add", [size, two]), size])
        else:
            part = self.node("Mod", [size, two])
        where = np.zeros_like(flat)
        where[-1:] = len(flat) == 2 * (self.rank + 2)
        extra = self.node("Mul", [part, self.integers(where.tolist())])
        return self.node("Add", [self.integers(flat.tolist()), extra])

    # Window operators

    def _window(self, current: str) -> str:
        ops = {
            "float": ["Conv", "Conv", "Conv", "MaxPool", "MaxPool", "AveragePool", "LpPool"],
            "half": ["Conv", "MaxPool", "AveragePool"],
            "double": ["MaxPool"],
            "int8": ["MaxPool"],
            "uint8": ["MaxPool"],
        }[self.type]
        op = self.rng.choice(ops)
        if self.exact == 0 and (op == "Conv" or self.type == "half"):
            op = "MaxPool"
        if op == "MaxPool" and self.leaked:
            return self.node("Identity", [current])
        kernel = [self.rng.choice([1, 2, 2, 3, 3, 3, 4, 5]) for _ in range(self.rank)]
        strides = [self.rng.choice([1, 1, 1, 2, 2, 3, 5]) for _ in range(self.rank)]
        attributes: dict[str, Any] = {}
        if op != "Conv" or self.chance(60):
            attributes["kernel_shape"] = kernel
        if max(strides) > 1 or self.chance(30):
            attributes["strides"] = strides
        if self.opset >= _SINCE[op]["dilations"] and self.chance(15):
            attributes["dilations"] = [self.rng.choice([1, 2, 3]) for _ in range(self.rank)]
        if self.opset >= _SINCE[op].get("ceil_mode", 99) and self.chance(25):
            attributes["ceil_mode"] = 1
        if self.opset >= _SINCE[op].get("count_include_pad", 99) and self.chance(40):
            attributes["count_include_pad"] = self.rng.randint(0, 1)
        if self.chance(35):
            attributes["auto_pad"] = self.rng.choice(
                ["SAME_UPPER", "SAME_LOWER", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]
            )
        if attributes.get("auto_pad", "NOTSET") == "NOTSET" and self.chance(50):
            most = [2] * self.rank if op == "Conv" else [min(k - 1, 2) for k in kernel]
            attributes["pads"] = [self.rng.randint(0, top) for top in most * 2]
        elif self.chance(5):
            attributes["pads"] = [self.rng.randint(0, 1) * (k > 1) for k in kernel * 2]
        if op == "LpPool":
            attributes["p"] = float(1) if self.opset == 1 else self.rng.choice([1, 1, 2])
        self.leaked |= self.boundless and (op != "MaxPool" or min(kernel) < 4)
        self.inferred &= not {"ceil_mode", "dilations"} & attributes.keys()
        self.inferred &= not {"auto_pad", "pads"} <= attributes.keys()
        if op == "Conv":
            return self._conv(current, kernel, attributes)
        self.boundless = False
        indices = op == "MaxPool" and self.opset >= 8 and self.chance(12)
        result = self.node(op, [current], 1 + indices, **attributes)
        if indices:
            self.results[self.nodes[-1].output[1]] = TensorProto.INT64
        if op in ("AveragePool", "LpPool") and self.opset >= 6 and self.type == "float":
            self.between.append(result)
            result = self.node("Floor", [result])
        elif op != "MaxPool":
            self.exact = 0  # averages are no whole numbers
        return result

    def _conv(self, current: str, kernel: list[int], attributes: dict[str, Any]) -> str:
        self.exact -= 1
        group = self.rng.choice([g for g in (1, 1, 2, 4) if self.channels % g == 0])
        if self.chance(20):
            group = self.channels
        if group > 1:
            attributes["group"] = group
        numbers = np.random.default_rng(self.rng.randrange(1 << 30))
        filters = group * self.rng.choice([1, 2])
        shape = (filters, self.channels // group, *kernel)
        weight = numbers.integers(-2, 3, shape).astype(self.numpy)
        inputs = [current, self.constant(weight, "w")]
        if self.chance(30):
            inputs.append(self.constant(numbers.integers(-3, 4, filters).astype(self.numpy), "b"))
        self.channels = filters
        return self.node("Conv", inputs, **attributes)
