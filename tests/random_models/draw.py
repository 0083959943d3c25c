"""Random small models with padding in every form, each valid as far as the generator can tell.

A model is one or two blocks. A block pads something, takes it through steps to one or more window
operators, over branches; or it crops and pads the result of a transposed convolution. It may lie in
a body or a function. Values are small integers and mostly stay so: sums are exact in any order.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.random_models.extras import extend
from tests.random_models.shrink import pruned
from tests.random_models.steps import producer, step
from tests.random_models.transposed import amounts, crop, filled_to_scaled, scatter
from tests.random_models.windows import arrange, window
from tests.random_models.writer import (
    FLOATS,
    LOCAL,
    MICROSOFT,
    Axis,
    Fed,
    Fill,
    Tensor,
    Writer,
    about,
)
from tests.support import Array

Data: TypeAlias = Literal["integers", "below zero", "fractions", "floats", "extremes"]
Pairs: TypeAlias = list[tuple[int, int]]

NEWEST: Final = 26
"""The newest operator set that onnxruntime loads."""
OPSETS: Final = tuple(
    min(opset, onnx.defs.onnx_opset_version())  # of an older onnx; as many as with a newer one
    for opset in (*range(7, NEWEST + 1), 10, 11, 11, 12, 13, 13, 13, 15, 17, 17, 17, 18, 18, 19, 21)
)
OLD: Final = (2, 4, 6)
REFERRED: Final = ("strides", "pads", "kernel_shape", "mode", "auto_pad", "output_padding")
"""Attributes that may be those of a function."""


@dataclass
class Drawn:
    """A random model.

    Attributes:
        model: The model.
        open: Whether sizes of the data are open.
        exact: Whether all results are exact on whole numbers and on fractions.
        fed: What is fed to inputs other than the data.
        sizes: The sizes of the data as drawn.
        half: Whether anything is in half precision.
        chance: Which outputs depend on chance.
    """

    model: onnx.ModelProto
    open: bool
    exact: bool
    fed: dict[str, Fed]
    sizes: tuple[int, ...]
    half: bool = False
    chance: frozenset[str] = frozenset()

    def feeds(
        self, seed: int, size: int | None = None, data: Data = "integers"
    ) -> dict[str, Array]:
        """What to feed; open axes are `size` or a little larger, or as they were drawn."""
        numbers = np.random.default_rng([seed, size or 0])
        tensor = self.model.graph.input[0].type.tensor_type
        shape = []
        for axis, dim in enumerate(tensor.shape.dim):
            near = self.sizes[axis] if size is None else size + int(numbers.integers(3))
            if size is not None and dim.dim_param == "batch":
                near = 1 + axis
            shape.append(dim.dim_value if dim.HasField("dim_value") else near)
        kind = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        drawn = _numbers(numbers, shape, np.dtype(kind), data)
        fed = {name: each(numbers) for name, each in self.fed.items()}
        return {self.model.graph.input[0].name: drawn.astype(kind), **fed}


def _numbers(
    numbers: np.random.Generator, shape: Sequence[int], kind: np.dtype[Any], data: Data
) -> Array:
    """Small integers; or all below zero; or fractions, half of them zeros of either sign; or any
    floats; or what is far from zero, mostly below it, of integer types the whole range.
    """
    signed, whole = kind.kind != "u", kind.kind in "ui"
    if data == "extremes" and whole:
        limits = np.iinfo(kind)
        return numbers.integers(limits.min, limits.max, shape, endpoint=True)
    if data == "extremes":
        return numbers.integers(-300, 30, shape) * 1.0
    if data == "fractions" and not whole:
        drawn = numbers.integers(-24, 25, shape) / 4
        return np.where(numbers.integers(2, size=shape) > 0, drawn, np.copysign(0.0, drawn))
    if data == "floats" and not whole:
        return numbers.normal(0, 3, shape)
    small = numbers.integers(-8 if signed else 0, 9, shape) * 1.0
    return -np.abs(small) - 1 if data == "below zero" and signed else small


def draw_model(rng: random.Random) -> Drawn:
    """A random model."""
    return _Builder(rng).build()


class _Builder:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        opset = rng.choice(OPSETS) if rng.randrange(100) < 94 else rng.choice(OLD)
        ir = 3 if opset < 9 and rng.randrange(100) < 50 else rng.choice([4, 7, 8, 9, 10])
        self.writer = Writer(rng, opset, ir)
        self.forks = rng.choice([0, 0, 0, 1, 1, 2])
        self.exact = True

    def build(self) -> Drawn:
        writer, rng = self.writer, self.rng
        kinds = ["float"] * 12
        if writer.opset >= 11:
            kinds += ["half", "double"]
        if writer.opset >= 10:
            kinds += ["int8", "uint8", "uint8"]
        kind = rng.choice(kinds)
        spaces = rng.choice([1, 2, 2, 2, 2, 3])
        tensor = Tensor("x", kind, self._axes(spaces))
        sizes = tuple(axis.size for axis in tensor.axes)
        named = [rng.choice(["n", "m", None]) if axis.open else axis.size for axis in tensor.axes]
        if tensor.axes[0].open:
            named[0] = rng.choice(["batch", None])
        writer.inputs.insert(0, helper.make_tensor_value_info("x", tensor.elem, named))
        for _ in range(rng.choice([1, 1, 1, 2])):
            inside = writer.opset >= 9 and writer.chance(30)
            tensor = self.scoped(tensor, self.block) if inside else self.block(tensor)
        self.finish(tensor)
        opened = any(not isinstance(size, int) for size in named)
        half = kind == "half" or writer.half
        model = self.model()
        exact, chance = self.exact and not half, extend(model)
        return Drawn(model, opened, exact, writer.fed, sizes, half, chance)

    def _axes(self, spaces: int) -> tuple[Axis, ...]:
        rng, chance = self.rng, self.writer.chance
        top = 7 if spaces == 3 else 12
        sizes = [Axis("space", rng.randint(4, top)) for _ in range(spaces)]
        if chance(10):
            sizes[rng.randrange(spaces)] = Axis("space", 1)
        if chance(30):
            sizes = [replace(axis, open=axis.size > 1 and chance(60)) for axis in sizes]
        batch = Axis("batch", rng.choice([1, 1, 2]), open=chance(20))
        channels = Axis("channels", rng.choice([1, 2, 2, 4]))
        return (batch, *sizes, channels) if chance(30) else (batch, channels, *sizes)

    def finish(self, tensor: Tensor) -> None:
        self.exact &= tensor.exact
        self.writer.output(tensor.name, tensor.elem)

    # Blocks

    def block(self, tensor: Tensor) -> Tensor:
        """Something padded, and what reads it; or a transposed convolution, and what crops it."""
        writer = self.writer
        if writer.chance(25):
            return self.scattered(tensor)
        tensor = producer(writer, tensor)
        if writer.chance(12):
            tensor = step(writer, tensor)
        if writer.chance(20):
            joined = self.alike(tensor)
            if joined is not None:
                tensor = joined
        elif writer.chance(95):
            tensor = self.padded(tensor)
        return self.flow(tensor, self.rng.choice([0, 0, 1, 1, 1, 2, 2, 3, 4]))

    def scattered(self, tensor: Tensor) -> Tensor:
        """A transposed convolution, and what crops, pads and reads its result."""
        writer, rng = self.writer, self.rng
        tensor = producer(writer, tensor)
        if writer.chance(15):
            tensor = self.padded(tensor)
        if writer.chance(15):
            tensor = step(writer, tensor)
        made = scatter(writer, tensor)
        if made is None:
            return self.flow(tensor, rng.choice([0, 1, 2]))
        tensor = made.tensor
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4])):
            roll = rng.randrange(100)
            if roll < 40:
                tensor = crop(writer, tensor, made)
            elif roll < 60:
                pairs, fill = amounts(writer, tensor, made)
                tensor = self.pad(tensor, pairs, "constant", fill)
            elif roll < 65:
                tensor = filled_to_scaled(writer, tensor, made) or tensor
            elif roll < 67:
                tensor = self.padded(tensor)
            elif roll < 75 and self.forks:
                self.forks -= 1
                tensor = self.forked(tensor, 1)
            else:
                tensor = step(writer, tensor)
        return self.flow(tensor, rng.choice([0, 0, 1])) if writer.chance(30) else tensor

    def flow(self, tensor: Tensor, steps: int) -> Tensor:
        """Through steps, more `Pad`s and branches to a window operator."""
        writer = self.writer
        while True:
            roll = self.rng.randrange(100)
            if roll < 10:
                tensor = self.padded(tensor)
            elif roll < 14:
                tensor = self.cropped(tensor)
            elif roll < 24 and self.forks:
                self.forks -= 1
                tensor = self.forked(tensor, steps)
            elif steps:
                tensor = step(writer, tensor)
                steps -= 1
            else:
                return window(writer, tensor) or tensor

    def forked(self, tensor: Tensor, steps: int) -> Tensor:
        """Another reader; returns what the rest goes on with."""
        writer, rng = self.writer, self.rng
        kind = rng.randrange(12)
        if kind == 0:
            self.finish(tensor)
        elif kind == 1:
            self.finish(step(writer, tensor))
        elif kind == 2 and tensor.kind == "float" and len(tensor.spaces) in (1, 2, 3):
            arranged = arrange(writer, tensor)
            if arranged is not None:
                name = writer.node("GlobalAveragePool", [arranged.name])
                self.finish(replace(arranged, name=name, exact=False))
        elif kind == 3:
            shape = writer.node("Shape", [tensor.name])
            writer.output(shape)
        elif kind in (4, 5):
            return self.split(tensor, steps)
        elif kind == 6 and writer.opset >= 9:
            self.scoped(tensor, lambda inner: self.flow(inner, min(steps, 1)))
        else:
            for _ in range(rng.choice([1, 1, 2])):
                self.finish(self.flow(tensor, rng.randint(0, steps)))
        return tensor

    def split(self, tensor: Tensor, steps: int) -> Tensor:
        """Split off an axis or on one; the parts go their ways, or are joined again."""
        writer = self.writer
        places = [i for i, a in enumerate(tensor.axes) if not a.open and 1 < a.size < 9]
        off = [i for i in places if tensor.axes[i].role != "space"]
        if not places:
            return tensor
        axis = self.rng.choice(off if off and writer.chance(80) else places)
        if writer.chance(25):
            return writer.slice(tensor, {axis: (1, 0)})
        first = self.rng.randint(1, tensor.axes[axis].size - 1)
        parts = writer.split(tensor, axis, [first, tensor.axes[axis].size - first])
        if writer.chance(60):
            if writer.chance(40):
                parts = [step(writer, part) for part in parts]
            joined = self.joined(parts, axis)
            if joined is not None:
                return joined
        for part in parts[1:]:
            self.finish(self.flow(part, min(steps, 1)))
        return parts[0]

    def joined(self, parts: Sequence[Tensor], axis: int) -> Tensor | None:
        """A Concat of tensors that differ on one axis only; None if they do elsewhere."""
        if axis >= min(part.rank for part in parts) or len({part.kind for part in parts}) > 1:
            return None
        if len({part.axes[:axis] + part.axes[axis + 1 :] for part in parts}) > 1:
            return None
        axes = list(parts[0].axes)
        axes[axis] = replace(axes[axis], size=sum(part.axes[axis].size for part in parts))
        return replace(
            parts[0],
            name=self.writer.node("Concat", [part.name for part in parts], axis=axis),
            axes=tuple(axes),
            exact=all(part.exact for part in parts),
            fills=tuple(fill for part in parts for fill in part.fills),
            infinite=any(part.infinite for part in parts),
            leaked=any(part.leaked for part in parts),
        )

    def alike(self, tensor: Tensor) -> Tensor | None:
        """Two branches that are padded, alike or not, and joined."""
        writer = self.writer
        one, other = producer(writer, tensor), producer(writer, tensor)
        if one.axes != other.axes or one.kind != other.kind:
            return None
        pairs = self.pairs(one)
        mode = "constant" if writer.chance(95) else "edge"
        value = self.value(one.kind)
        one = self.pad(one, pairs, mode, value)
        if writer.chance(25):
            one = step(writer, one)
        if writer.chance(15):
            pairs = self.pairs(other)
        if writer.chance(15):
            value = self.value(other.kind)
        other = self.pad(other, pairs, mode, value)
        if one.kind != other.kind or one.roles != other.roles:
            return None
        channel = one.channel
        if writer.chance(90) and channel is not None:
            return self.joined([one, other], channel)
        if one.axes != other.axes or writer.opset < 7 or one.kind not in FLOATS:
            return None
        return replace(
            one,
            name=writer.node(self.rng.choice(["Add", "Mul", "Sub"]), [one.name, other.name]),
            exact=one.exact and other.exact,
            fills=(*one.fills, *other.fills),
            infinite=one.infinite or other.infinite,
            leaked=one.leaked or other.leaked,
        )

    # Scopes

    def scoped(self, tensor: Tensor, make: Callable[[Tensor], Tensor]) -> Tensor:
        """The same in a body or function; returns what the rest goes on with."""
        kinds = ["If", "If", "Loop", "Scan"]
        if self.writer.ir >= 8 and self.writer.opset >= 10:
            kinds += ["function"] * 3
        kind = self.rng.choice(kinds)

        def deeper(inner: Tensor) -> Tensor:
            if self.writer.chance(15):
                return self.scoped(inner, make)
            return make(inner)

        if kind == "If":
            return self.in_if(tensor, deeper)
        if kind == "Loop":
            self.in_loop(tensor, deeper)
            return tensor
        if kind == "Scan":
            self.in_scan(tensor, deeper)
            return tensor
        return self.in_function(tensor, deeper)

    def in_if(self, tensor: Tensor, make: Callable[[Tensor], Tensor]) -> Tensor:
        writer = self.writer
        condition = np.asarray(writer.chance(50))
        if writer.chance(80):
            name = writer.input(condition, "cond", lambda n: np.asarray(n.integers(2) > 0))
        else:
            name = writer.constant(condition, "cond")
        bodies: dict[str, onnx.GraphProto] = {}
        state = self.rng.getstate()
        results: list[Tensor] = []
        alike = writer.chance(60)
        for branch in ("then_branch", "else_branch"):
            if alike and results:
                self.rng.setstate(state)
            with writer.entered() as scope:
                simple = not alike and writer.chance(50)
                result = tensor if simple and results else make(tensor)
                given = writer.node("Identity", [result.name]) if result is tensor else result.name
                results.append(result)
                output = self._value(given, result)
                bodies[branch] = helper.make_graph(
                    scope.nodes, branch, [], [output], scope.initializers
                )
        name = writer.node("If", [name], **bodies)
        exact = all(result.exact for result in results)
        result = replace(results[0], name=name, exact=exact, fills=())
        if [r.axes for r in results] == [result.axes] * 2 and results[1].kind == result.kind:
            return result
        if results[1].kind == result.kind:
            self.finish(result)
        return tensor

    def _value(self, name: str, tensor: Tensor) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, tensor.elem, None)

    def in_loop(self, tensor: Tensor, make: Callable[[Tensor], Tensor]) -> None:
        writer = self.writer
        count = np.asarray(self.rng.choice([1, 2, 3]), np.int64)
        trips = writer.input(count, "trips") if writer.chance(40) else writer.constant(count)
        go = writer.constant(np.asarray(True)) if writer.chance(50) else ""
        names = [writer.fresh(stem) for stem in ("step", "go", "state")]
        carries = writer.chance(60)
        with writer.entered() as scope:
            state = replace(tensor, name=names[2], fills=())
            result = make(state if carries else tensor)
            shrinks = carries and writer.chance(30) and result.kind == tensor.kind
            passed = writer.node("Identity", [result.name if shrinks else names[2]])
            kept = writer.node("Identity", [names[1]])
            given = writer.node("Identity", [result.name])
            declared = [axis.size for axis in tensor.axes] if writer.chance(30) else None
            inputs = [
                helper.make_tensor_value_info(names[0], TensorProto.INT64, []),
                helper.make_tensor_value_info(names[1], TensorProto.BOOL, []),
                helper.make_tensor_value_info(names[2], tensor.elem, None if shrinks else declared),
            ]
            outputs = [
                helper.make_tensor_value_info(kept, TensorProto.BOOL, []),
                self._value(passed, tensor),
                *([] if shrinks else [self._value(given, result)]),
            ]
            body = helper.make_graph(scope.nodes, "body", inputs, outputs, scope.initializers)
        found = writer.nodes("Loop", [trips, go, tensor.name], len(outputs) - 1, body=body)
        for name, like in zip(found, [result if shrinks else tensor, result], strict=False):
            self.finish(replace(like, name=name))

    def in_scan(self, tensor: Tensor, make: Callable[[Tensor], Tensor]) -> None:
        """One slice of the batch after the other."""
        writer = self.writer
        if tensor.roles[0] != "batch":
            return
        item = writer.fresh("item")
        with writer.entered() as scope:
            one = replace(tensor, name=item, axes=tensor.axes[1:], fills=())
            result = make(writer.unsqueeze(one, [0], "batch"))
            given = writer.node("Identity", [result.name])
            body = helper.make_graph(
                scope.nodes,
                "body",
                [self._value(item, one)],
                [self._value(given, result)],
                scope.initializers,
            )
        name = writer.node("Scan", [tensor.name], body=body, num_scan_inputs=1)
        self.finish(replace(result, name=name))

    def in_function(self, tensor: Tensor, make: Callable[[Tensor], Tensor]) -> Tensor:
        """A function of the model, called once or more."""
        writer = self.writer
        item, called = writer.fresh("item"), writer.fresh("Block")
        with writer.entered(function=True) as scope:
            result = make(replace(tensor, name=item, fills=()))
            given = writer.node("Identity", [result.name]) if result.name == item else result.name
            domains = {"": writer.opset, MICROSOFT: 1, LOCAL: 1}
            function = helper.make_function(
                LOCAL,
                called,
                [item, *(inside for inside, _ in scope.arguments)],
                [given],
                scope.nodes,
                [helper.make_opsetid(domain, version) for domain, version in domains.items()],
            )
        attributes = self._referred(function)
        writer.functions.append(function)
        actual = [given for _, given in scope.arguments]

        def call(data: Tensor) -> Tensor:
            name = writer.node(called, [data.name, *actual], LOCAL, **attributes)
            return replace(result, name=name, fills=(), exact=result.exact and data.exact)

        if writer.chance(40):
            other = producer(writer, tensor)
            if other.kind == tensor.kind and other.rank == tensor.rank:
                self.finish(call(other))
        return call(tensor)

    def _referred(self, function: onnx.FunctionProto) -> dict[str, Any]:
        """Now and then make one attribute of a node refer to one of the function."""
        if not self.writer.chance(15):
            return {}
        places = [
            attribute
            for node in function.node
            for attribute in node.attribute
            if attribute.name in REFERRED
        ]
        if not places:
            return {}
        attribute = self.rng.choice(places)
        value = helper.get_attribute_value(attribute)
        function.attribute.append("given")
        kept = attribute.type
        name = attribute.name
        attribute.Clear()
        attribute.name, attribute.type, attribute.ref_attr_name = name, kept, "given"
        return {"given": value}

    # Pad and Slice

    def pairs(self, tensor: Tensor) -> Pairs:
        """Amounts of a `Pad` for each axis."""
        rng, chance = self.rng, self.writer.chance
        most = rng.choice([0, 1, 1, 1, 2, 2, 2, 3])
        pairs = [(0, 0)] * tensor.rank
        for i in tensor.spaces:
            if not tensor.axes[i].unit or chance(15):
                pairs[i] = (rng.randint(0, most), rng.randint(0, most))
        if chance(8) and tensor.spaces:
            axis = rng.choice(tensor.spaces)
            if tensor.axes[axis].size > 4:
                pairs[axis] = (rng.randint(-2, 1), rng.randint(-2, 2))
        if chance(5) and tensor.channel is not None:
            pairs[tensor.channel] = (rng.randint(0, 1), 1)
        if chance(2) and "batch" in tensor.roles:
            pairs[tensor.roles.index("batch")] = (0, 1)
        return pairs

    def padded(self, tensor: Tensor) -> Tensor:
        mode = self.rng.choice(["constant"] * 30 + ["reflect", "edge", "wrap"])
        if mode == "wrap" and self.writer.opset < 19:
            mode = "edge"
        return self.pad(tensor, self.pairs(tensor), mode)

    def cropped(self, tensor: Tensor) -> Tensor:
        axes = [i for i in tensor.spaces if tensor.axes[i].size > 4]
        if not axes:
            return tensor
        some = self.rng.sample(axes, self.rng.randint(1, len(axes)))
        return self.writer.slice(
            tensor, {i: (self.rng.randint(0, 2), self.rng.randint(0, 2)) for i in some}
        )

    def pad(
        self,
        tensor: Tensor,
        pairs: Pairs,
        mode: str,
        given: tuple[float | None, bool] | None = None,
    ) -> Tensor:
        """A `Pad`, with its constants in one of the forms in which they come."""
        writer, rng = self.writer, self.rng
        if mode != "constant":  # which needs data to copy
            pairs = [
                pair if axis.role == "space" and axis.size > max(pair) else (0, 0)
                for pair, axis in zip(pairs, tensor.axes, strict=True)
            ]
        axes = tuple(
            replace(axis, size=axis.size + sum(pair))
            for axis, pair in zip(tensor.axes, pairs, strict=True)
        )
        if min(axis.size for axis in axes) < 1:
            return tensor
        if tensor.kind not in FLOATS and writer.opset < 11:
            return tensor  # Pad was of floats only
        attributes: dict[str, Any] = {}
        if mode != "constant" or writer.chance(50):
            attributes["mode"] = mode
        value, choose = given if given is not None else self.value(tensor.kind)
        infinite = tensor.infinite or (value is not None and abs(value) > 1e30)
        if writer.opset < 11:
            attributes["pads"] = [b for b, _ in pairs] + [e for _, e in pairs]
            if value is not None:
                attributes["value"] = value
            name = writer.node("Pad", [tensor.name], **attributes)
            if choose and mode == "constant" and value is not None:
                node = writer.scope.nodes[-1]

                def put(wanted: float) -> None:
                    (held,) = [a for a in node.attribute if a.name == "value"]
                    held.f = wanted

                tensor = replace(tensor, fills=(*tensor.fills, Fill(put)))
            return tensor.through(name, axes=axes, infinite=infinite)
        inputs = [tensor.name, ""]
        named = None
        if writer.opset >= 18 and writer.chance(35):
            named = [i for i, pair in enumerate(pairs) if any(pair) or writer.chance(30)]
            rng.shuffle(named)
        written = pairs if named is None else [pairs[i] for i in named]
        inputs[1] = self.amounts(tensor, written, whole=named is None)
        fills = tensor.fills
        if value is not None:
            name, fill = self.scalar(tensor, value, choose=choose and mode == "constant")
            inputs.append(name)
            fills = (*fills, fill) if fill is not None else fills
        elif named is not None or writer.chance(10):
            inputs.append("")
        if named is not None:
            listed = [i - writer.chance(40) * tensor.rank for i in named]
            inputs.append(writer.integers(listed, "axes"))
        name = writer.node("Pad", inputs, **attributes)
        return replace(tensor, fills=fills).through(name, axes=axes, infinite=infinite)

    def value(self, kind: str) -> tuple[float | None, bool]:
        """A fill, None for none, and whether a window downstream may choose another."""
        choice = self.rng.randrange(20)
        if choice < 6:
            return None, False
        if choice < 13:
            return 0.0, True
        if kind == "uint8":
            return float(self.rng.choice([0, 3, 128, 1])), True
        if kind not in FLOATS:
            return float(self.rng.choice([0, -128, -3, 1])), True
        if choice == 13:
            return -0.0, False
        if choice < 16:
            return -np.inf, False
        if choice == 16 and kind == "float":
            return float(np.finfo(np.float32).min), False
        return self.rng.choice([1.0, -1.0, -9.0, 0.5]), choice == 17

    def scalar(self, tensor: Tensor, value: float, *, choose: bool) -> tuple[str, Fill | None]:
        writer = self.writer
        array = np.asarray(value if writer.chance(80) else [value]).astype(tensor.dtype)
        if choose:
            held = numpy_helper.from_array(array, writer.fresh("value"))
            if writer.scope.function or writer.chance(20):
                name = writer.node("Constant", [], value=held)
                held = writer.scope.nodes[-1].attribute[0].t
            else:
                name = held.name
                writer.scope.initializers.append(held)

            def put(wanted: float) -> None:
                integral = array.dtype.kind in "iu"
                info = np.iinfo(array.dtype) if integral else None
                if info and not (info.min <= wanted <= info.max and wanted == int(wanted)):
                    return
                changed = np.full(array.shape, wanted, array.dtype)
                held.CopyFrom(numpy_helper.from_array(changed, held.name))

            return name, Fill(put)
        if writer.chance(92) or not np.isfinite(value) or writer.ir < 4:
            return writer.constant(array, "value"), None
        if writer.chance(40):
            return writer.node("Identity", [writer.constant(array, "value")]), None
        if writer.chance(50):
            return writer.overridable(array, "value", about(array)), None
        integers = array.dtype.kind in "iu"
        low = 0 if integers else -2
        return writer.input(
            array,
            "value",
            lambda numbers: numbers.integers(low, 3, array.shape).astype(array.dtype),
        ), None

    # Amounts

    def amounts(self, tensor: Tensor, pairs: Pairs, *, whole: bool) -> str:
        """The amounts of a `Pad`, in one of the ways in which they come."""
        writer = self.writer
        flat = np.asarray([b for b, _ in pairs] + [e for _, e in pairs], np.int64)
        half = len(pairs)
        kind = self.rng.randrange(22)
        if kind == 0:
            return writer.node(
                "Concat", [writer.integers(flat[:half]), writer.integers(flat[half:])], axis=0
            )
        if kind == 1:  # as torch's exporter writes them: last axis first, a begin and an end each
            last = [amount for pair in reversed(pairs) for amount in pair]
            table = writer.node("Reshape", [writer.integers(last), writer.integers([-1, 2])])
            ends = [writer.integers([number]) for number in (-1, -(2**63) + 1, 0, -1)]
            turned = writer.node("Slice", [table, *ends])
            columns = writer.node("Transpose", [turned], perm=[1, 0])
            joined = writer.node("Reshape", [columns, writer.integers([-1])])
            return writer.node("Cast", [joined], to=TensorProto.INT64)
        if kind == 2:
            less = writer.constant(flat.astype(np.int32), "c")
            return writer.node("Cast", [less], to=TensorProto.INT64)
        if kind == 3:
            other = np.arange(len(flat), dtype=np.int64)
            return writer.node("Sub", [writer.integers(flat + other), writer.integers(other)])
        if kind in (4, 5, 20, 21) and whole:
            return self.from_shape(tensor, flat, kind)
        if kind == 7 and writer.ir >= 4:
            if writer.chance(50):
                return writer.integers(flat)
            return (writer.input if writer.chance(40) else writer.overridable)(flat, "amounts")
        if kind == 8:
            return self.from_shape(tensor, flat, 0) if whole else writer.integers(flat)
        if kind == 9:
            return writer.node("Identity", [writer.integers(flat)])
        return writer.constant(flat, "pads")

    def from_shape(self, tensor: Tensor, flat: Array, kind: int) -> str:
        """Amounts by the arithmetic of sizes.

        The same at every size; or what makes a size even, or a multiple of 4, or one as large as
        another.
        """
        writer = self.writer
        if not tensor.spaces:
            return writer.integers(flat)
        axis, other = self.rng.choice(tensor.spaces), self.rng.choice(tensor.spaces)
        shape = writer.node("Shape", [tensor.name])

        def size_of(which: int) -> str:
            return writer.node("Gather", [shape, writer.integers([which])], axis=0)

        size = size_of(axis)
        if kind == 4 and writer.opset >= 10:
            part = writer.node("Mod", [size, writer.integers([2])])
        elif kind == 20 and writer.opset >= 10:
            part = writer.node("Mod", [writer.node("Neg", [size]), writer.integers([4])])
        elif kind == 21 and writer.opset >= 12:
            part = writer.node("Sub", [writer.node("Max", [size, size_of(other)]), size])
        else:
            more = writer.node("Add", [size, writer.integers([2])])
            part = writer.node("Sub", [more, size])
        where = np.zeros_like(flat)
        where[axis + tensor.rank] = 1
        extra = writer.node("Mul", [part, writer.integers(where)])
        return writer.node("Add", [writer.integers(flat), extra])

    # The model

    def model(self) -> onnx.ModelProto:
        writer = self.writer
        listed = {value.name for value in writer.inputs}
        inputs = list(writer.inputs)
        if writer.ir < 4:
            inputs += [
                helper.make_tensor_value_info(i.name, i.data_type, list(i.dims))
                for i in writer.main.initializers
                if i.name not in listed
            ]
        graph = helper.make_graph(
            writer.main.nodes,
            "random",
            inputs,
            [
                helper.make_tensor_value_info(name, elem, None)
                for name, elem in writer.results.items()
            ],
            writer.main.initializers,
            value_info=self.lies(),
        )
        opsets = {"": writer.opset, **dict.fromkeys(sorted(writer.domains), 1)}
        model = helper.make_model(
            graph,
            ir_version=writer.ir,
            opset_imports=[helper.make_opsetid(*each) for each in opsets.items()],
            functions=writer.functions,
        )
        return model if writer.rng.randrange(200) == 0 else pruned(model)

    def lies(self) -> list[onnx.ValueInfoProto]:
        """Wrong shapes of a few inner tensors, which nobody enforces."""
        writer = self.writer
        if writer.functions or any(
            attribute.HasField("g") for node in writer.main.nodes for attribute in node.attribute
        ):
            return []  # what bodies give is made in the shape that onnxruntime inferred
        lies = []
        for name, tensor in writer.between.items():
            if name not in writer.results and writer.chance(6):
                shape: Sequence[int] = [self.rng.randint(20, 40) for _ in tensor.axes]
                lies.append(helper.make_tensor_value_info(name, tensor.elem, shape))
        return lies
