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
    """Copies a model and makes the padding of some operators inputs.

    The element types of their data are by the name of their first output. The copy gives further
    inner tensors as outputs.
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
        types = _CONTRIB_TYPES if site.operator is not None else {TensorProto.FLOAT}
        if self._opset < _PAD_AS_INPUT and dtype not in types:
            return f"no Pad of opset {self._opset} takes its amounts as an input for its type"
        if site.leaves_padding_out and dtype not in FLOATS:
            return "its averages are quantised"
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
        self._place, self._count = place, 0
        self._nodes: list[onnx.NodeProto] = []
        count = len(site.windows)
        self._input(_name(place, "pads"), 2 * count)
        data = site.op.data.name
        self._sizes = self._cast(
            self._add("Gather", self._add("Shape", data), self._constant(np.array(site.axes))),
            TensorProto.FLOAT,
        )
        self._add("Identity", self._sizes, output=_name(place, "sizes"))
        if site.is_transposed:
            self._scatter(site, node, dtype)
            return self._nodes
        if site.is_sized or site.leaves_padding_out:
            self._input(_name(place, "how"), 5)
        pads = self._pads(site) if site.is_sized else _name(place, "pads")
        extra = self._beyond(site, pads) if site.is_pool and site.is_sized else None
        if site.operator is None:
            self._repad(site, node, pads)
        else:
            self._gather(site, node, dtype, pads, extra)
        return self._nodes

    def _pads(self, site: Site) -> str:
        """The pads of an operator, without what ceil adds: float32, in ONNX's order."""
        windows = site.windows
        stride = self._floats([window.stride for window in windows])
        far = self._floats([window.extent for window in windows])
        undilated = self._flag(2)
        near = self._floats([window.kernel - window.extent for window in windows])
        extent = self._add("Add", far, self._add("Mul", undilated, near))
        outputs = self._add("Ceil", self._add("Div", self._sizes, stride))
        reach = self._add("Mul", self._add("Sub", outputs, self._floats([1])), stride)
        total = self._add("Relu", self._add("Sub", self._add("Add", reach, extent), self._sizes))
        small = self._add("Floor", self._add("Div", total, self._floats([2])))
        more = self._add("Sub", self._add("Sub", total, small), small)
        begin = self._add("Add", small, self._add("Mul", self._flag(1), more))
        end = self._add("Sub", total, begin)
        both = self._add("Concat", begin, end, axis=0)
        fixed = _name(self._place, "pads")
        return self._add("Add", fixed, self._add("Mul", self._flag(0), both))

    def _beyond(self, site: Site, pads: str) -> str:
        """The elements that a pool that rounds up reads beyond its end padding, for each axis.

        A last window that would start in the end padding is dropped: `window.pool_output_size`.
        """
        count, windows = len(site.windows), site.windows
        stride = self._floats([window.stride for window in windows])
        extent = self._floats([window.extent for window in windows])
        one = self._floats([1])
        begin, end = self._split(pads, count)
        reached = self._add("Add", self._sizes, begin)
        span = self._add("Sub", self._add("Add", reached, end), extent)
        down = self._add("Add", self._add("Floor", self._add("Div", span, stride)), one)
        up = self._add("Add", self._add("Ceil", self._add("Div", span, stride)), one)
        most = self._add("Ceil", self._add("Div", reached, stride))
        over = self._add("Relu", self._add("Sub", up, most))  # min(up, most) is up less this
        more = self._add("Sub", self._add("Sub", up, over), down)
        return self._add("Mul", self._flag(3), self._add("Mul", more, stride))

    def _repad(self, site: Site, node: onnx.NodeProto, pads: str) -> None:
        """A `Pad` with other amounts."""
        begin, end = self._split(pads, len(site.windows))
        amounts = self._amounts(site, begin, end)
        given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        fill = node.input[2] if len(node.input) > 2 else ""
        if given.get("value"):
            fill = self._constant(np.array(given["value"], np.float32))
        mode = given.get("mode", "constant")
        self._pad(node.input[0], amounts, fill, mode=mode, output=node.output[0])

    def _gather(
        self, site: Site, node: onnx.NodeProto, dtype: int, pads: str, extra: str | None
    ) -> None:
        """An operator that reads its data through a `Pad`."""
        data, count = node.input[0], len(site.windows)
        begin, end = self._split(pads, count)
        reach = end if extra is None else self._add("Add", end, extra)
        amounts = self._amounts(site, begin, reach)
        plain = _without(node, {"auto_pad", "pads", "ceil_mode", "count_include_pad"})
        zero = site.row.inputs.zero_point
        fill = self._fill(site, dtype, node, zero)
        plain.input[0] = self._pad(data, amounts, fill)
        if not site.leaves_padding_out:
            self._nodes.append(plain)
            return
        # Sum over the padded data by that over what counts: ones, padded with 1 where it counts.
        whole = self._fresh("whole")
        output, plain.output[0] = plain.output[0], whole
        self._nodes.append(plain)
        ones = self._ones(data, dtype)
        counted = self._cast(self._add("Reshape", self._flag(4), self._ints([])), dtype)
        inner = self._pad(ones, self._amounts(site, begin, end), counted)
        if extra is not None:
            none = self._constant(np.zeros(len(site.windows), np.float32))
            beyond = self._amounts(site, none, extra)
            inner = self._pad(inner, beyond, "")
        share = onnx.NodeProto()
        share.CopyFrom(plain)
        share.name = self._fresh("share")
        share.input[0] = inner
        share.output[0] = self._fresh("share_output")
        self._nodes.append(share)
        self._add("Div", whole, share.output[0], output=output)

    def _scatter(self, site: Site, node: onnx.NodeProto, dtype: int) -> None:
        """A transposed convolution in full, cropped and extended by a `Pad`, and then its bias."""
        plain = _without(node, {"auto_pad", "pads", "output_padding", "output_shape"})
        output, bias = node.output[0], ""
        place = site.row.inputs.bias
        if place is not None and len(node.input) > place:
            bias = node.input[place]
            del plain.input[place:]
        full = plain.output[0] = self._fresh("full")
        self._nodes.append(plain)
        fed = _name(self._place, "pads")
        begin, end = self._split(fed, len(site.windows))
        cut = self._pad(full, self._amounts(site, begin, end), "")
        if bias:
            shape = self._ints([1, -1, *(1 for _ in site.windows)])
            self._add("Add", cut, self._add("Reshape", bias, shape), output=output)
        else:
            self._add("Identity", cut, output=output)

    def _amounts(self, site: Site, begin: str, end: str) -> str:
        """Amounts for all axes of the data, as int64 in ONNX's order."""
        count = len(site.axes)
        # One of begin, end and a last 0 for each amount.
        places = [2 * count] * (2 * site.rank)
        for at, axis in enumerate(site.axes):
            places[axis], places[site.rank + axis] = at, count + at
        parts = self._add("Concat", begin, end, self._floats([0]), axis=0)
        return self._cast(self._add("Gather", parts, self._ints(places)), TensorProto.INT64)

    def _fill(self, site: Site, dtype: int, node: onnx.NodeProto, zero: int | None) -> str:
        """The tensor with the value of an operator's padding; empty for 0."""
        given: str = node.input[zero] if zero is not None and len(node.input) > zero else ""
        if given:
            return given
        if site.operator is not None and site.operator.padding is Fill.LOWEST:
            kind = helper.tensor_dtype_to_np_dtype(dtype)
            is_float = np.issubdtype(kind, np.floating)
            lowest = -np.inf if is_float else np.iinfo(kind).min
            return self._constant(np.array(lowest, kind))
        return ""

    def _ones(self, data: str, dtype: int) -> str:
        """Ones of the shape of a tensor."""
        kind = helper.tensor_dtype_to_np_dtype(dtype)
        if self._opset < _CONSTANT_OF_SHAPE:
            none = self._add("Mul", data, self._constant(np.zeros(1, kind)))
            return self._add("Add", none, self._constant(np.ones(1, kind)))
        value: onnx.TensorProto = numpy_helper.from_array(np.ones(1, kind))
        return self._add("ConstantOfShape", self._add("Shape", data), value=value)

    def _pad(self, data: str, amounts: str, fill: str, **further: Any) -> str:
        """A `Pad` with computed amounts; an empty fill is 0."""
        if self._opset < _PAD_AS_INPUT:
            self._contrib = True
            further = {"mode": "constant", **further, "domain": MICROSOFT}
        return self._add("Pad", data, amounts, *([fill] if fill else []), **further)

    def _constant(self, values: Array) -> str:
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

    def _floats(self, numbers: Sequence[int]) -> str:
        """A float32 constant."""
        return self._constant(np.array(numbers, np.float32))

    def _ints(self, numbers: Sequence[int]) -> str:
        """An int64 constant."""
        return self._constant(np.array(numbers, np.int64))

    def _fresh(self, what: str) -> str:
        """A new name."""
        self._count += 1
        return f"onnxpad_{self._place}_{what}_{self._count}"

    def _add(
        self, op: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any
    ) -> str:
        """Appends a node; returns its output."""
        output, name = output or self._fresh(op), self._fresh(f"{op}_node")
        node = helper.make_node(op, inputs, [output], name=name, domain=domain, **attributes)
        self._nodes.append(node)
        return output

    def _cast(self, tensor: str, dtype: int) -> str:
        return self._add("Cast", tensor, to=dtype)

    def _flag(self, index: int) -> str:
        """One of the fed flags, as a tensor of one element."""
        return self._add("Gather", _name(self._place, "how"), self._ints([index]))

    def _split(self, tensor: str, count: int) -> tuple[str, str]:
        """The first `count` elements of a tensor, and the next `count`."""
        first = self._add("Gather", tensor, self._ints([*range(count)]))
        return first, self._add("Gather", tensor, self._ints([*range(count, 2 * count)]))

    def _input(self, name: str, length: int) -> None:
        self._graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [length]))


def _without(node: onnx.NodeProto, names: set[str]) -> onnx.NodeProto:
    """A node without some attributes."""
    plain = onnx.NodeProto()
    plain.CopyFrom(node)
    kept = [each for each in node.attribute if each.name not in names]
    del plain.attribute[:]
    plain.attribute.extend(kept)
    return plain
