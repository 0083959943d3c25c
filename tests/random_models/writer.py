"""Nodes, constants and scopes of a model in the making, each in a form that exporters write.

Everything follows from one `random.Random`, so a seed names a model.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import Array

Role: TypeAlias = Literal["batch", "channels", "space"]
Inverse: TypeAlias = Callable[[float], float | None]

ELEMENTS: dict[str, tuple[Any, int]] = {
    "float": (np.float32, TensorProto.FLOAT),
    "half": (np.float16, TensorProto.FLOAT16),
    "double": (np.float64, TensorProto.DOUBLE),
    "int8": (np.int8, TensorProto.INT8),
    "uint8": (np.uint8, TensorProto.UINT8),
    "int32": (np.int32, TensorProto.INT32),
    "int64": (np.int64, TensorProto.INT64),
    "bool": (np.bool_, TensorProto.BOOL),
}
FLOATS = ("float", "half", "double")
MICROSOFT = "com.microsoft"
LOCAL = "local"
"""The domain of the model's own functions."""


@dataclass(frozen=True)
class Axis:
    """One axis of a tensor: its role, and its size where open sizes are as drawn."""

    role: Role
    size: int
    open: bool = False

    @property
    def unit(self) -> bool:
        return self.size == 1 and not self.open


@dataclass(frozen=True)
class Fill:
    """The fill of a `Pad` upstream, which can still be chosen.

    Attributes:
        put: Writes another value into the model.
        back: For each step since: what must go in, given what must come out.
    """

    put: Callable[[float], None]
    back: tuple[Inverse, ...] = ()

    def settle(self, value: float) -> None:
        """Choose the fill that arrives as this value, if there is one."""
        for inverse in reversed(self.back):
            wanted = inverse(value)
            if wanted is None:
                return
            value = wanted
        self.put(value)


@dataclass(frozen=True)
class Tensor:
    """A tensor of the model and what is known of it.

    Attributes:
        name: Its name.
        kind: Its element type, a key of `ELEMENTS`.
        axes: Its axes in order.
        exact: Whether sums of it are exact in any order, as those of small integers are.
        fills: The fills of `Pad`s upstream that no window has yet read.
        infinite: Whether infinities may lie around the data.
        leaked: Whether they may be in the data: the two forms of a padded MaxPool then differ.
    """

    name: str
    kind: str
    axes: tuple[Axis, ...]
    exact: bool = True
    fills: tuple[Fill, ...] = ()
    infinite: bool = False
    leaked: bool = False

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def dtype(self) -> Any:
        return ELEMENTS[self.kind][0]

    @property
    def elem(self) -> int:
        return ELEMENTS[self.kind][1]

    @property
    def roles(self) -> tuple[Role, ...]:
        return tuple(axis.role for axis in self.axes)

    @property
    def spaces(self) -> tuple[int, ...]:
        return tuple(i for i, axis in enumerate(self.axes) if axis.role == "space")

    @property
    def channel(self) -> int | None:
        return self.roles.index("channels") if "channels" in self.roles else None

    @property
    def channels_first(self) -> bool:
        return self.roles[:2] == ("batch", "channels") and "space" in self.roles

    @property
    def channels_last(self) -> bool:
        return self.roles[:1] == ("batch",) and self.roles[-1] == "channels" and self.rank > 2

    def through(self, name: str, back: Inverse = lambda value: value, **changed: Any) -> "Tensor":
        """What a step makes of it; `back` takes what must come out to what must go in."""
        fills = tuple(Fill(fill.put, (*fill.back, back)) for fill in self.fills)
        return replace(self, name=name, fills=fills, **changed)


@dataclass
class Scope:
    """A graph, body or function in the making.

    Attributes:
        parent: What holds it.
        function: Whether it is a function, which sees nothing outside.
        arguments: For a function: names inside, and what a caller gives for them.
    """

    parent: "Scope | None" = None
    function: bool = False
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    arguments: list[tuple[str, str]] = field(default_factory=list)

    def seen_from(self, inner: "Scope") -> bool:
        """Whether names of this scope can be read in another."""
        scope: Scope | None = inner
        while scope is not None and scope is not self:
            scope = None if scope.function else scope.parent
        return scope is self


Fed: TypeAlias = Callable[[np.random.Generator], Array]
"""What to feed to an input other than the data, given random numbers."""


def always(array: Array) -> Fed:
    """An input that is fed the same in every run."""
    return lambda _: array


def about(array: Array) -> Fed:
    """Draws this array, or one with a little more in every element."""
    return lambda numbers: (array + numbers.integers(2)).astype(array.dtype)


@dataclass
class Writer:
    """A model in the making."""

    rng: random.Random
    opset: int
    ir: int
    main: Scope = field(default_factory=Scope)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    fed: dict[str, Fed] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)  # output tensors and their types
    functions: list[onnx.FunctionProto] = field(default_factory=list)
    domains: set[str] = field(default_factory=set)
    between: dict[str, Tensor] = field(default_factory=dict)  # of the main graph
    known: dict[tuple[str, tuple[int, ...], bytes], tuple[str, Scope]] = field(default_factory=dict)
    half: bool = False
    scope: Scope = field(init=False)
    counter: int = 0

    def __post_init__(self) -> None:
        self.scope = self.main

    def chance(self, percent: int) -> bool:
        return self.rng.randrange(100) < percent

    def fresh(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    @contextmanager
    def entered(self, *, function: bool = False) -> Iterator[Scope]:
        """A scope inside the present one."""
        outer = self.scope
        self.scope = Scope(outer, function)
        try:
            yield self.scope
        finally:
            self.scope = outer

    # Nodes

    def nodes(
        self, op: str, inputs: Sequence[str], outputs: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """A node; returns the names of its outputs."""
        names = [self.fresh(op.lower()) for _ in range(outputs)]
        named = "" if self.chance(20) else self.fresh(op)
        node = helper.make_node(op, inputs, names, name=named, domain=domain, **attributes)
        self.scope.nodes.append(node)
        if domain:
            self.domains.add(domain)
        return names

    def node(self, op: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        """A node of one output; returns its name."""
        return self.nodes(op, inputs, 1, domain, **attributes)[0]

    # Constants

    def visible(self, name: str) -> str:
        """The name by which something of the main graph is known in the present scope."""
        return self._visible(name, self.scope)

    def _visible(self, name: str, scope: Scope) -> str:
        holder: Scope | None = scope
        while holder is not None and not holder.function:
            holder = holder.parent
        if holder is None or holder.parent is None:
            return name
        given = self._visible(name, holder.parent)
        for inside, actual in holder.arguments:
            if actual == given:
                return inside
        inside = self.fresh("given")
        holder.arguments.append((inside, given))
        return inside

    def initializer(self, array: Array, stem: str) -> str:
        """An initializer of the main graph or of a body; in a function, a Constant."""
        home = self.scope
        if not home.function:
            while home.parent is not None and self.chance(50) and not home.function:
                home = home.parent
        if home.function:
            return self.node("Constant", [], value=numpy_helper.from_array(array))
        name = self.fresh(stem)
        home.initializers.append(numpy_helper.from_array(array, name))
        return name

    def constant(self, array: Array, stem: str = "c") -> str:
        """A constant: shared or not, an initializer or a node."""
        key = (array.dtype.name, array.shape, array.tobytes())
        name, home = self.known.get(key, ("", self.main))
        if name and home.seen_from(self.scope) and self.chance(50):
            return name
        if self.chance(20):
            listed = array.dtype == np.int64 and array.ndim == 1 and array.size
            if self.opset >= 12 and listed and self.chance(40):
                return self.node("Constant", [], value_ints=array.tolist())
            return self.node("Constant", [], value=numpy_helper.from_array(array))
        name = self.initializer(array, stem)
        if any(each.name == name for each in self.main.initializers):
            self.known[key] = name, self.main
        return name

    def integers(self, values: Sequence[int] | Array, stem: str = "c") -> str:
        return self.constant(np.asarray(values, np.int64), stem)

    def input(self, array: Array, stem: str, draw: Fed | None = None) -> str:
        """A graph input that is fed this array, or what `draw` makes of random numbers."""
        name = self.fresh(stem)
        elem = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, elem, array.shape))
        self.fed[name] = draw or always(array)
        return self.visible(name)

    def overridable(self, array: Array, stem: str, draw: Fed | None = None) -> str:
        """An initializer that is an input too, which `draw` overrides."""
        name = self.fresh(stem)
        if draw is not None:
            self.fed[name] = draw
        elem = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, elem, array.shape))
        self.main.initializers.append(numpy_helper.from_array(array, name))
        return self.visible(name)

    def operand(self, array: Array, stem: str, *, divides: bool = False) -> str:
        """A constant, or now and then what only the run decides, unless 0 must not be drawn."""
        if self.chance(4) and self.ir >= 4 and not divides:
            return self.overridable(array, stem, about(array))
        if self.chance(2) and not divides:
            return self.input(array, stem, about(array))
        return self.constant(array, stem)

    # Operators whose form depends on the opset

    def transpose(self, tensor: Tensor, order: Sequence[int]) -> Tensor:
        name = self.node("Transpose", [tensor.name], perm=list(order))
        return tensor.through(name, axes=tuple(tensor.axes[i] for i in order))

    def unsqueeze(self, tensor: Tensor, at: Sequence[int], role: Role = "space") -> Tensor:
        """Unit axes put in at these positions of the result."""
        axes = list(tensor.axes)
        for position in sorted(at):
            axes.insert(position, Axis(role, 1))
        if self.opset < 13:
            name = self.node("Unsqueeze", [tensor.name], axes=sorted(at))
        else:
            written = [p - self.chance(30) * len(axes) for p in sorted(at)]
            name = self.node("Unsqueeze", [tensor.name, self.integers(written, "axes")])
        return tensor.through(name, axes=tuple(axes))

    def squeeze(self, tensor: Tensor, at: Sequence[int]) -> Tensor:
        axes = tuple(axis for i, axis in enumerate(tensor.axes) if i not in at)
        if self.opset < 13:
            name = self.node("Squeeze", [tensor.name], axes=list(at))
        else:
            written = [p - self.chance(30) * tensor.rank for p in at]
            name = self.node("Squeeze", [tensor.name, self.integers(written, "axes")])
        return tensor.through(name, axes=axes)

    def reshape(self, tensor: Tensor, axes: Sequence[Axis]) -> Tensor | None:
        """A Reshape to axes of the same elements; None where too many of them are open."""
        before = [axis for axis in tensor.axes if not axis.unit]
        assert before == [axis for axis in axes if not axis.unit]
        target = [axis.size for axis in axes]
        open_axes = [i for i, axis in enumerate(axes) if axis.open]
        kept = [
            i
            for i in range(min(len(axes), tensor.rank))
            if axes[i] is tensor.axes[i] or (axes[i].unit and tensor.axes[i].unit)
        ]
        for i in open_axes:
            if i in kept:
                target[i] = 0
        left = [i for i in open_axes if i not in kept]
        if len(left) > 1:
            return None
        if left:
            target[left[0]] = -1
        else:
            for i in kept:
                if self.chance(25):
                    target[i] = 0
            if self.chance(40):
                some = [i for i, axis in enumerate(axes) if target[i] > 0 or axis.open]
                if some:
                    target[self.rng.choice(some)] = -1
        name = self.node("Reshape", [tensor.name, self.integers(target, "shape")])
        return tensor.through(name, axes=tuple(axes))

    def slice(self, tensor: Tensor, cuts: dict[int, tuple[int, int]]) -> Tensor:
        """Cut this much off the begin and end of axes."""
        axes = list(tensor.axes)
        starts, ends = [], []
        for axis, (begin, end) in cuts.items():
            axes[axis] = replace(axes[axis], size=axes[axis].size - begin - end)
            starts.append(begin)
            far = self.rng.choice([2**63 - 1, 2**31 - 1, 2**63 - 1])
            known = not tensor.axes[axis].open and self.chance(50)
            ends.append((tensor.axes[axis].size - end if known else -end) if end else far)
        written = [axis - self.chance(20) * tensor.rank for axis in cuts]
        if self.opset < 10:
            name = self.node("Slice", [tensor.name], starts=starts, ends=ends, axes=list(cuts))
        else:
            given = [self.integers(each) for each in (starts, ends, written)]
            if self.chance(30):
                given.append(self.integers([1] * len(cuts)))
            name = self.node("Slice", [tensor.name, *given])
        return tensor.through(name, axes=tuple(axes))

    def split(self, tensor: Tensor, axis: int, sizes: Sequence[int]) -> list[Tensor]:
        attributes: dict[str, Any] = {"axis": axis}
        inputs = [tensor.name]
        if self.opset < 13:
            attributes["split"] = list(sizes)
        else:
            inputs.append(self.integers(sizes, "split"))
        names = self.nodes("Split", inputs, len(sizes), **attributes)
        parts = []
        for name, size in zip(names, sizes, strict=True):
            axes = list(tensor.axes)
            axes[axis] = Axis(axes[axis].role, size)
            parts.append(tensor.through(name, axes=tuple(axes)))
        return parts

    def output(self, name: str, elem: int = TensorProto.INT64) -> None:
        """Make a tensor of the present scope an output of the model, if the scope is the graph."""
        if self.scope is self.main:
            self.results[name] = elem
