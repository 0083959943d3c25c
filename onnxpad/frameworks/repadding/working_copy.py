"""A copy of a model whose operators take their padding as inputs of the graph.

One session of it runs every padding: a `Pad` with fed amounts stands in front of each operator (of
a transposed convolution, behind it), SAME is computed from the size that the data has in that run,
and so is what a pool that rounds up reads beyond its padding. That arithmetic is text below, in
float32, which all opsets can do; sizes are far below 2^24, up to which it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from msgspec import Struct
from onnx import TensorProto, helper

from onnxpad.arithmetic.window import Window
from onnxpad.file.proto_walk import default_opset
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.sites import PADDING
from onnxpad.graph import Tensor
from onnxpad.padding.padding import Padding
from onnxpad.runtimes.sessions import Array, Value
from onnxpad.semantics.operators import MICROSOFT, Fill
from onnxpad.semantics.rows import FLOATS
from onnxpad.validation.lab import further_outputs

PAD_AS_INPUT = 11
"""The first opset whose Pad takes its amounts as an input."""
_CONTRIB_TYPES = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})  # of its Pad, in every opset
_CONSTANT_OF_SHAPE = 9

# `It` is the operator without padding. Names that no line gives are inputs, parts of the model, or
# constants. All vectors have an element for each axis of the data. A last window that would start
# in the end padding of a pool is dropped: `window.pool_output_size`.
_AMOUNTS = """
    one = Constant <value = float[1] {1}> ()
    two = Constant <value = float[1] {2}> ()
    shape = Shape (data)           sizes = Cast <to = 1> (shape)
    steps = Div (sizes, stride)    outputs = Ceil (steps)         gaps = Sub (outputs, one)
    far = Mul (gaps, stride)       stop = Add (far, extent)       lacking = Sub (stop, sizes)
    total = Relu (lacking)         half = Div (total, two)
    small = Floor (half)           large = Sub (total, small)
    begin_up = Mul (upper, small)  begin_low = Mul (lower, large)
    end_up = Mul (upper, large)    end_low = Mul (lower, small)
    begin_same = Add (begin_up, begin_low)   end_same = Add (end_up, end_low)
    first = Add (begin, begin_same)          last = Add (end, end_same)
    line = Add (sizes, first)      whole = Add (line, last)       span = Sub (whole, extent)
    moves = Div (span, stride)     least = Floor (moves)          down = Add (least, one)
    up_moves = Ceil (moves)        up = Add (up_moves, one)
    starts = Div (line, stride)    most = Ceil (starts)           kept = Min (up, most)
    further = Sub (kept, down)     elements = Mul (further, stride)
    beyond = Mul (ceil, elements)  reach = Add (last, beyond)
    ends = Concat <axis = 0> (first, reach)  all = Cast <to = 7> (ends)
"""
_GATHERED = "padded = Pad (data, all, fill) y = It (padded)"
# The mean over the padded data by that of what counts: ones, padded with 1 where that counts.
_AVERAGED = """
    padded = Pad (data, all)         mean = It (padded)
    own_ends = Concat <axis = 0> (first, last)
    own = Cast <to = 7> (own_ends)   rest_ends = Sub (ends, own_ends)
    rest = Cast <to = 7> (rest_ends) nothing = ConstantOfShape (shape)
    something = Add (nothing, one)   ones = Cast <to = KIND> (something)
    mark = Cast <to = KIND> (counted)
    inner = Pad (ones, own, mark)    outer = Pad (inner, rest)
    share = It (outer)               y = Div (mean, share)
"""
_SCATTERED = "full = It (data) y = Pad (full, all)"
_BIASED = "full = It (data) cut = Pad (full, all) row = Reshape (bias, channels) y = Add (cut, row)"


class WorkingCopy(Struct, frozen=True):
    """The copy, whose last outputs are `probes`: the sizes of the data of each site.

    The sites are the operators that can be varied, in file order; `left` are labels of others, with
    why.
    """

    model: onnx.ModelProto
    sites: tuple[Site, ...]
    left: tuple[tuple[str, str], ...]
    probes: tuple[str, ...]

    def feeds(self, choices: Sequence[Padding]) -> dict[str, Array]:
        """The arrays that make the operators pad as chosen."""
        return {
            _name(place, what): array
            for place, (site, padding) in enumerate(zip(self.sites, choices, strict=True))
            for what, array in _fed(site, padding).items()
        }

    def sizes(self, found: Mapping[str, Value]) -> list[tuple[int, ...]]:
        """The spatial sizes of the data of each site in a run."""
        every = [np.asarray(found[name]).tolist() for name in self.probes]
        pairs = zip(self.sites, every, strict=True)
        return [tuple(int(sizes[axis]) for axis in site.axes) for site, sizes in pairs]


def _fed(site: Site, padding: Padding) -> dict[str, Array]:
    """Amounts, of a transposed convolution without what it appends; then flags of 0 or 1."""
    pads, same = padding.pads or ((0, 0),) * len(site.windows), padding.is_same
    if site.is_transposed:
        pads = tuple((-begin, -end) for begin, end in padding.crop)
    of_axis = dict(zip(site.axes, pads, strict=True))
    begin, end = zip(*(of_axis.get(axis, (0, 0)) for axis in range(site.rank)), strict=True)
    flags = same and padding.odd == "end", same and padding.odd == "begin"
    names = ("begin", "end", "upper", "lower", "ceil", "counted")
    values: Any = begin, end, *flags, padding.ceil, padding.counted
    return {name: np.array(v, np.float32) for name, v in zip(names, values, strict=True)}


def _name(place: int, what: str) -> str:
    return f"onnxpad_{what}_{place}"


def working_copy(
    model: onnx.ModelProto,
    sites: Sequence[Site],
    dtype_of: Callable[[Tensor], int | None],
    outputs: Sequence[str] = (),
) -> WorkingCopy:
    """Copies a model and makes the padding of some operators inputs.

    The copy gives further inner tensors as outputs. Sizes downstream of its inputs are no longer
    declared. Element types of tensors are asked for.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.value_info[:]
    for output in copy.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    opset = default_opset(copy.opset_import)
    kept, left = list[Site](), list[tuple[str, str]]()
    places = {name: at for at, node in enumerate(model.graph.node) for name in node.output[:1]}
    replaced = dict[int, list[onnx.NodeProto]]()
    for site in sites:
        name, dtype = site.node.outputs[0].name, dtype_of(site.op.data) or TensorProto.UNDEFINED
        if why := _refusal(site, dtype, opset):
            left.append((site.label, why))
            continue
        node = model.graph.node[places[name]]
        replaced[places[name]] = [*_varied(len(kept), site, node, dtype, opset)]
        for what, array in _fed(site, site.padding).items():
            given = _name(len(kept), what), TensorProto.FLOAT, array.shape
            copy.graph.input.append(helper.make_tensor_value_info(*given))
        kept.append(site)
    del copy.graph.node[:]
    for at, node in enumerate(model.graph.node):
        copy.graph.node.extend(replaced.get(at, [node]))
    if opset < PAD_AS_INPUT and all(each.domain != MICROSOFT for each in copy.opset_import):
        copy.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    copy.MergeFrom(further_outputs(copy, outputs))
    probes = tuple(_name(place, "sizes") for place in range(len(kept)))
    for name in probes:
        copy.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    return WorkingCopy(copy, tuple(kept), tuple(left), probes)


def _refusal(site: Site, dtype: int, opset: int) -> str:
    if dtype == TensorProto.UNDEFINED:
        return "the type of its data is unknown"
    if opset < PAD_AS_INPUT and dtype not in _CONTRIB_TYPES:
        return f"no Pad of opset {opset} takes its amounts as an input for its type"
    if site.leaves_padding_out and opset < _CONSTANT_OF_SHAPE:
        return f"no operator of opset {opset} gives ones of the shape of its data"
    if site.leaves_padding_out and dtype not in FLOATS:
        return "its averages are quantised"
    return ""


def _varied(
    place: int, site: Site, node: onnx.NodeProto, dtype: int, opset: int
) -> Iterator[onnx.NodeProto]:
    given, names = list(node.input), {"data": node.input[0], "y": node.output[0], "fill": ""}
    inputs_of, window = site.row.inputs, dict(zip(site.axes, site.windows, strict=True))
    windows = [window.get(axis, Window(1)) for axis in range(site.rank)]
    text = _vector("stride", [each.stride for each in windows])
    text += _vector("extent", [each.extent for each in windows]) + _AMOUNTS
    if (zero := inputs_of.zero_point) is not None and given[zero:]:
        names["fill"] = given[zero]
    elif site.row.padding is Fill.LOWEST:
        kind = helper.tensor_dtype_to_np_dtype(dtype)
        lowest = "-inf" if dtype in FLOATS else np.iinfo(kind).min
        text += f"low = Constant <value = float {{{lowest}}}> () fill = Cast <to = {dtype}> (low) "
        del names["fill"]
    if site.leaves_padding_out:
        text += _AVERAGED.replace("KIND", str(dtype))
    elif site.is_transposed and given[2:]:
        names["bias"] = given.pop()
        text += _vector("channels", [1, -1, *[1] * len(site.windows)], "int64") + _BIASED
    else:
        text += _SCATTERED if site.is_transposed else _GATHERED
    nodes = onnx.parser.parse_graph(f"g () => () {{ {text} }}").node
    for each in nodes:
        made = onnx.NodeProto()
        inputs, outputs = (
            [names.get(name, _name(place, name)) for name in some]
            for some in (each.input, each.output)
        )
        if each.op_type == "It":
            made.CopyFrom(node)
            del made.attribute[:]
            made.attribute.extend(a for a in node.attribute if a.name not in PADDING)
            inputs += given[1:]
        else:
            made.CopyFrom(each)
        if each.op_type == "Pad" and opset < PAD_AS_INPUT:
            made.domain = MICROSOFT
            made.attribute.append(helper.make_attribute("mode", "constant"))
        while inputs and not inputs[-1]:
            inputs.pop()
        made.input[:], made.output[:] = inputs, outputs
        made.name = _name(place, f"node_of_{each.output[0]}")
        yield made


def _vector(name: str, values: Sequence[int], kind: str = "float") -> str:
    numbers = ", ".join(map(str, values))
    return f"{name} = Constant <value = {kind}[{len(values)}] {{{numbers}}}> () "
