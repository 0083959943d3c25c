"""A copy of a model whose operators take their padding as inputs of the graph.

One session of it runs every padding: a `Pad` with fed amounts stands in front of each operator (of
a transposed convolution, behind it), SAME is computed from the size that the data has in that run,
and so is what a pool that rounds up reads beyond its padding.

The amounts are computed in float32, which all opsets can do; sizes are far below 2^24, up to which
it is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from msgspec import Struct
from onnx import TensorProto, helper, numpy_helper

from onnxpad.file.proto_walk import default_opset
from onnxpad.frameworks.reading import Site
from onnxpad.padding.padding import ANY_SIZE, Padding
from onnxpad.runtimes.sessions import Array
from onnxpad.semantics.layers import onnx_order
from onnxpad.semantics.operators import MICROSOFT, Fill
from onnxpad.semantics.rows import FLOATS
from onnxpad.validation.lab import further_outputs

_PAD_AS_INPUT = 11  # the first opset whose Pad takes its amounts as an input
_CONTRIB_TYPES = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})  # of its Pad, in every opset
_CONSTANT_OF_SHAPE = 9


class WorkingCopy(Struct, frozen=True):
    """The copy, and how it is fed.

    Attributes:
        model: The model; its outputs are those of the original, then those of `probes`.
        sites: The operators that can be varied, in file order.
        left: Labels of those that cannot, with why.
        probes: For each site, the name of an output: the spatial sizes of its data.
    """

    model: onnx.ModelProto
    sites: tuple[Site, ...]
    left: tuple[tuple[str, str], ...]
    probes: tuple[str, ...]

    def feeds(self, choices: Sequence[Padding]) -> dict[str, Array]:
        """The arrays that make the operators pad as chosen."""
        fed: dict[str, Array] = {}
        for place, (site, padding) in enumerate(zip(self.sites, choices, strict=True)):
            fed.update(_fed(place, site, padding))
        return fed


def _fed(place: int, site: Site, padding: Padding) -> Iterator[tuple[str, Array]]:
    count = len(site.windows)
    pads = padding.pads or ((0, 0),) * count
    if not site.is_sized and padding.is_same:
        pads = padding.amounts((ANY_SIZE,) * count, site.windows)
    if site.is_transposed:
        output_padding = padding.output_padding or (0,) * count
        amounts = [(-b, a - e) for (b, e), a in zip(pads, output_padding, strict=True)]
        yield _name(place, "pads"), np.array(onnx_order(amounts), np.float32)
        return
    yield _name(place, "pads"), np.array(onnx_order(pads), np.float32)
    if not site.is_sized and not site.leaves_padding_out:
        return
    flags = [
        padding.is_same,
        padding.odd == "begin",
        padding.undilated,
        padding.ceil,
        padding.counted,
    ]
    yield _name(place, "how"), np.array(flags, np.float32)


def _name(place: int, what: str) -> str:
    return f"onnxpad_{what}_{place}"


def working_copy(
    model: onnx.ModelProto,
    sites: Sequence[Site],
    dtypes: Mapping[str, int],
    outputs: Sequence[str] = (),
) -> WorkingCopy:
    """Copies a model and makes the padding of its operators inputs.

    Args:
        model: The model, without external data if that is large; it is not changed.
        sites: The operators to vary.
        dtypes: Element types of the data of the operators, by name of their first output.
        outputs: Names of inner tensors that the copy gives as outputs too.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    build = _Build(copy)
    kept: list[Site] = []
    left: list[tuple[str, str]] = []
    probes: list[str] = []
    places = {node.output[0]: at for at, node in enumerate(copy.graph.node) if node.output}
    replaced: dict[int, list[onnx.NodeProto]] = {}
    for site in sites:
        name = site.node.outputs[0].name
        why = build.refusal(site, dtypes.get(name, TensorProto.UNDEFINED))
        if why or name not in places:
            left.append((site.label, why or "its node is not in the main graph"))
            continue
        node = copy.graph.node[places[name]]
        place = len(kept)
        replaced[places[name]] = build.varied(place, site, node, dtypes[name])
        probes.append(_name(place, "sizes"))
        kept.append(site)
    nodes = []
    for at, node in enumerate(copy.graph.node):
        nodes += replaced.get(at, [node])
    copied = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del copy.graph.node[:]
    copy.graph.node.extend(copied)
    copy.MergeFrom(further_outputs(copy, outputs))
    build.finish(probes)
    return WorkingCopy(copy, tuple(kept), tuple(left), tuple(probes))


class _Build:
    """The copy while it is made."""

    def __init__(self, model: onnx.ModelProto) -> None:
        """Prepares a model, whose sizes downstream of its inputs are no longer what they were."""
        self._model = model
        self._graph = model.graph
        self._opset = default_opset(model.opset_import) or 1
        self._contrib = False
        self._constants: dict[tuple[object, ...], str] = {}
        del model.graph.value_info[:]
        for output in model.graph.output:
            if output.type.HasField("tensor_type"):
                output.type.tensor_type.ClearField("shape")

    def refusal(self, site: Site, dtype: int) -> str:
        """Why an operator cannot be varied; empty if it can."""
        if dtype == TensorProto.UNDEFINED:
            return "the type of its data is unknown"
        if self._opset < _PAD_AS_INPUT and dtype not in _CONTRIB_TYPES:
            return f"no Pad of opset {self._opset} takes its amounts as an input for its type"
        if site.leaves_padding_out and dtype not in FLOATS:
            return "its averages are quantised"
        if site.operator is None and self._opset < _PAD_AS_INPUT and dtype != TensorProto.FLOAT:
            return f"no Pad of opset {self._opset} takes its amounts as an input for its type"
        return ""

    def finish(self, probes: Sequence[str]) -> None:
        """Adds the imports and outputs that the new nodes need."""
        if self._contrib and all(each.domain != MICROSOFT for each in self._model.opset_import):
            self._model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
        for name in probes:
            self._graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))

    def varied(
        self, place: int, site: Site, node: onnx.NodeProto, dtype: int
    ) -> list[onnx.NodeProto]:
        """The nodes that take the place of an operator."""
        part = _Part(self, place)
        count = len(site.windows)
        self._input(_name(place, "pads"), 2 * count)
        data = site.op.data.name
        part.sizes = part.cast(
            part.add("Gather", part.add("Shape", data), self.constant(np.array(site.axes))),
            TensorProto.FLOAT,
        )
        part.add("Identity", part.sizes, output=_name(place, "sizes"))
        if site.is_transposed:
            self._scatter(part, site, node, dtype)
            return part.nodes
        if site.is_sized or site.leaves_padding_out:
            self._input(_name(place, "how"), 5)
        pads = self._pads(part, site) if site.is_sized else _name(place, "pads")
        extra = self._beyond(part, site, pads) if site.is_pool and site.is_sized else None
        if site.operator is None:
            self._repad(part, site, node, pads)
        else:
            self._gather(part, site, node, dtype, pads, extra)
        return part.nodes

    def _pads(self, part: _Part, site: Site) -> str:
        """The pads of an operator, without what ceil adds: float32, in ONNX's order."""
        windows = site.windows
        stride = self.floats([window.stride for window in windows])
        far = self.floats([window.extent for window in windows])
        undilated = part.flag(2)
        near = self.floats([window.kernel - window.extent for window in windows])
        extent = part.add("Add", far, part.add("Mul", undilated, near))
        outputs = part.add("Ceil", part.add("Div", part.sizes, stride))
        reach = part.add("Mul", part.add("Sub", outputs, self.floats([1])), stride)
        total = part.add("Relu", part.add("Sub", part.add("Add", reach, extent), part.sizes))
        small = part.add("Floor", part.add("Div", total, self.floats([2])))
        more = part.add("Sub", part.add("Sub", total, small), small)
        begin = part.add("Add", small, part.add("Mul", part.flag(1), more))
        end = part.add("Sub", total, begin)
        both = part.add("Concat", begin, end, axis=0)
        fixed = _name(part.place, "pads")
        return part.add("Add", fixed, part.add("Mul", part.flag(0), both))

    def _beyond(self, part: _Part, site: Site, pads: str) -> str:
        """The elements that a pool that rounds up reads beyond its end padding, for each axis.

        A last window that would start in the end padding is dropped: `window.pool_output_size`.
        """
        count, windows = len(site.windows), site.windows
        stride = self.floats([window.stride for window in windows])
        extent = self.floats([window.extent for window in windows])
        one = self.floats([1])
        begin, end = part.split(pads, count)
        reached = part.add("Add", part.sizes, begin)
        span = part.add("Sub", part.add("Add", reached, end), extent)
        down = part.add("Add", part.add("Floor", part.add("Div", span, stride)), one)
        up = part.add("Add", part.add("Ceil", part.add("Div", span, stride)), one)
        most = part.add("Ceil", part.add("Div", reached, stride))
        over = part.add("Relu", part.add("Sub", up, most))  # the smaller one: up - relu(up - most)
        more = part.add("Sub", part.add("Sub", up, over), down)
        return part.add("Mul", part.flag(3), part.add("Mul", more, stride))

    def _repad(self, part: _Part, site: Site, node: onnx.NodeProto, pads: str) -> None:
        """A `Pad` with other amounts."""
        begin, end = part.split(pads, len(site.windows))
        amounts = self._amounts(part, site, begin, end)
        given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        fill = node.input[2] if len(node.input) > 2 else ""
        if given.get("value"):
            fill = self.constant(np.array(given["value"], np.float32))
        mode = given.get("mode", "constant")
        self.pad(part, node.input[0], amounts, fill, mode=mode, output=node.output[0])

    def _gather(
        self,
        part: _Part,
        site: Site,
        node: onnx.NodeProto,
        dtype: int,
        pads: str,
        extra: str | None,
    ) -> None:
        """An operator that reads its data through a `Pad`."""
        data, count = node.input[0], len(site.windows)
        begin, end = part.split(pads, count)
        reach = end if extra is None else part.add("Add", end, extra)
        amounts = self._amounts(part, site, begin, reach)
        plain = _without(node, {"auto_pad", "pads", "ceil_mode", "count_include_pad"})
        zero = site.row.inputs.zero_point
        fill = self._fill(site, dtype, node, zero)
        plain.input[0] = self.pad(part, data, amounts, fill)
        if not site.leaves_padding_out:
            part.nodes.append(plain)
            return
        # Sum over the padded data by that over what counts: ones, padded with 1 where it counts.
        whole = part.fresh("whole")
        output, plain.output[0] = plain.output[0], whole
        part.nodes.append(plain)
        ones = self._ones(part, data, dtype)
        counted = part.cast(part.add("Reshape", part.flag(4), self.ints([])), dtype)
        inner = self.pad(part, ones, self._amounts(part, site, begin, end), counted)
        if extra is not None:
            none = self.constant(np.zeros(len(site.windows), np.float32))
            beyond = self._amounts(part, site, none, extra)
            inner = self.pad(part, inner, beyond, "")
        share = onnx.NodeProto()
        share.CopyFrom(plain)
        share.name = part.fresh("share")
        share.input[0] = inner
        share.output[0] = part.fresh("share_output")
        part.nodes.append(share)
        part.add("Div", whole, share.output[0], output=output)

    def _scatter(self, part: _Part, site: Site, node: onnx.NodeProto, dtype: int) -> None:
        """A transposed convolution in full, cropped and extended by a `Pad`, and then its bias."""
        plain = _without(node, {"auto_pad", "pads", "output_padding", "output_shape"})
        output, bias = node.output[0], ""
        place = site.row.inputs.bias
        if place is not None and len(node.input) > place:
            bias = node.input[place]
            del plain.input[place:]
        full = plain.output[0] = part.fresh("full")
        part.nodes.append(plain)
        fed = _name(part.place, "pads")
        begin, end = part.split(fed, len(site.windows))
        cut = self.pad(part, full, self._amounts(part, site, begin, end), "")
        if bias:
            shape = self.ints([1, -1, *(1 for _ in site.windows)])
            part.add("Add", cut, part.add("Reshape", bias, shape), output=output)
        else:
            part.add("Identity", cut, output=output)

    def _amounts(self, part: _Part, site: Site, begin: str, end: str) -> str:
        """Amounts for all axes of the data, as int64 in ONNX's order."""
        count = len(site.axes)
        # One of begin, end and a last 0 for each amount.
        places = [2 * count] * (2 * site.rank)
        for at, axis in enumerate(site.axes):
            places[axis], places[site.rank + axis] = at, count + at
        parts = part.add("Concat", begin, end, self.floats([0]), axis=0)
        return part.cast(part.add("Gather", parts, self.ints(places)), TensorProto.INT64)

    def _fill(self, site: Site, dtype: int, node: onnx.NodeProto, zero: int | None) -> str:
        """The tensor with the value of an operator's padding; empty for 0."""
        given: str = node.input[zero] if zero is not None and len(node.input) > zero else ""
        if given:
            return given
        if site.operator is not None and site.operator.padding is Fill.LOWEST:
            kind = helper.tensor_dtype_to_np_dtype(dtype)
            is_float = np.issubdtype(kind, np.floating)
            lowest = -np.inf if is_float else np.iinfo(kind).min
            return self.constant(np.array(lowest, kind))
        return ""

    def _ones(self, part: _Part, data: str, dtype: int) -> str:
        """Ones of the shape of a tensor."""
        kind = helper.tensor_dtype_to_np_dtype(dtype)
        if self._opset < _CONSTANT_OF_SHAPE:
            none = part.add("Mul", data, self.constant(np.zeros(1, kind)))
            return part.add("Add", none, self.constant(np.ones(1, kind)))
        value: onnx.TensorProto = numpy_helper.from_array(np.ones(1, kind))
        return part.add("ConstantOfShape", part.add("Shape", data), value=value)

    def pad(self, part: _Part, data: str, amounts: str, fill: str, **further: Any) -> str:
        """A `Pad` with computed amounts; an empty fill is 0."""
        if self._opset < _PAD_AS_INPUT:
            self._contrib = True
            further = {"mode": "constant", **further, "domain": MICROSOFT}
        return part.add("Pad", data, amounts, *([fill] if fill else []), **further)

    def constant(self, values: Array) -> str:
        """An initializer with these values; equal ones are shared."""
        key = (values.dtype.name, values.shape, values.tobytes())
        if key not in self._constants:
            name = f"onnxpad_constant_{len(self._constants)}"
            self._constants[key] = name
            self._graph.initializer.append(numpy_helper.from_array(values, name))
            if self._model.ir_version < 4:
                kind = helper.np_dtype_to_tensor_dtype(values.dtype)
                self._graph.input.append(helper.make_tensor_value_info(name, kind, values.shape))
        return self._constants[key]

    def floats(self, numbers: Sequence[int]) -> str:
        """A float32 constant."""
        return self.constant(np.array(numbers, np.float32))

    def ints(self, numbers: Sequence[int]) -> str:
        """An int64 constant."""
        return self.constant(np.array(numbers, np.int64))

    def _input(self, name: str, length: int) -> None:
        self._graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [length]))


class _Part:
    """The nodes that take the place of one operator."""

    def __init__(self, build: _Build, place: int) -> None:
        self.place = place
        self.nodes: list[onnx.NodeProto] = []
        self.sizes = ""
        self._build = build
        self._count = 0

    def fresh(self, what: str) -> str:
        """A new name."""
        self._count += 1
        return f"onnxpad_{self.place}_{what}_{self._count}"

    def add(
        self, op: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any
    ) -> str:
        """Appends a node; returns its output."""
        output = output or self.fresh(op)
        name = self.fresh(f"{op}_node")
        self.nodes.append(
            helper.make_node(op, inputs, [output], name=name, domain=domain, **attributes)
        )
        return output

    def cast(self, tensor: str, dtype: int) -> str:
        """A tensor in another type."""
        return self.add("Cast", tensor, to=dtype)

    def flag(self, index: int) -> str:
        """One of the fed flags, as a tensor of one element."""
        return self.add("Gather", _name(self.place, "how"), self._build.ints([index]))

    def split(self, tensor: str, count: int) -> tuple[str, str]:
        """The first `count` elements of a tensor, and the next `count`."""
        first = self._build.ints([*range(count)])
        second = self._build.ints([*range(count, 2 * count)])
        return self.add("Gather", tensor, first), self.add("Gather", tensor, second)


def _without(node: onnx.NodeProto, names: set[str]) -> onnx.NodeProto:
    """A node without some attributes."""
    plain = onnx.NodeProto()
    plain.CopyFrom(node)
    kept = [each for each in node.attribute if each.name not in names]
    del plain.attribute[:]
    plain.attribute.extend(kept)
    return plain


__all__ = ["WorkingCopy", "working_copy"]
