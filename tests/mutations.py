"""The package broken by one thing at a time, each with the model on which that shows.

A break changes one expression in the text of one function, in place, so everybody who calls it
gets it: a break in an engine misleads passes and proof alike. Next to each stands who must notice.
"""

import __future__

import ast
import inspect
import textwrap
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

import pytest
from msgspec.structs import replace

from onnxpad.arithmetic import size, window
from onnxpad.arithmetic.window import Window
from onnxpad.facts import bounds, contents, shape_rules
from onnxpad.facts.bounds import BOUNDS
from onnxpad.padding import crops, padding, write
from onnxpad.padding.crops import Crops
from onnxpad.padding.site import Sites
from onnxpad.padding.write import Judge
from onnxpad.passes.pads import DropEmptyPad, FixAmounts, MergePads
from onnxpad.proof import refine
from onnxpad.rewrite import sinking
from onnxpad.rewrite.sinking import Sinking
from onnxpad.semantics import layers, moving, numbers, pointwise, transposed
from onnxpad.semantics import rows as semantics_rows
from onnxpad.semantics import table as semantics_table
from onnxpad.semantics import window as semantics_window
from onnxpad.semantics.layers import LEAST
from onnxpad.semantics.operators import WindowOp
from onnxpad.semantics.rows import ZERO, Call
from onnxpad.semantics.table import STEPS, amounts_of, pad_of
from onnxpad.semantics.window import WINDOWS

JUDGE: Final = "judge"
CERTIFY: Final = "certify"
PROBES: Final = "probes"
VALIDATION: Final = "validation"


class _Cleared:
    """Clears a cache when a patch begins, and when it ends."""

    state = "whole"

    def __init__(self, clear: Any) -> None:
        self.__dict__["clear"] = clear

    def __setattr__(self, *_: object) -> None:
        self.__dict__["clear"]()

    __delattr__ = __setattr__


@dataclass(frozen=True, slots=True)
class Text:
    """Expressions of a function, and what stands in their place."""

    function: Any
    replaced: Mapping[str, str]

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        """Gives the function itself other code: whoever holds it calls that."""
        if clear := getattr(self.function, "cache_clear", None):
            patch.setattr(_Cleared(clear), "state", "broken")
        patch.setattr(inspect.unwrap(self.function), "__code__", self._code())

    def _code(self) -> CodeType:
        text = textwrap.dedent(inspect.getsource(self.function))
        name = self.function.__qualname__
        for old, new in self.replaced.items():
            assert text.count(old) == 1, f"{old!r} is not (once) in {name}: mend the mutant"
            text = text.replace(old, new)
        tree = ast.parse(text)
        (definition,) = tree.body
        assert isinstance(definition, ast.FunctionDef)
        definition.decorator_list.clear()
        made: dict[str, Any] = {}
        flags = __future__.annotations.compiler_flag  # as in its module
        code = compile(tree, "<mutant>", "exec", flags)
        exec(code, inspect.unwrap(self.function).__globals__, made)
        found = made[definition.name].__code__
        assert isinstance(found, CodeType)
        return found


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a table, and what stands in its place."""

    table: Any
    key: Any
    value: Any

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        """Puts it there."""
        patch.setitem(self.table, self.key, self.value)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One break.

    Attributes:
        name: What is wrong, in words.
        case: Name of the case on which it shows.
        killer: Who must notice at the latest: `judge` (the proof of what is proposed, so nothing
            wrong is written), `certify` (that of what is written), `probes` (where the proof shares
            what is broken, or the limit is onnxruntime's alone), or `validation` of the model.
        changes: What is replaced.
    """

    name: str
    case: str
    killer: str
    changes: tuple[Text | Entry, ...]

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        """Breaks the package for as long as the patch lasts."""
        for change in self.changes:
            change.apply(patch)


def _mutant(name: str, case: str, killer: str, function: Any, *texts: str) -> Mutant:
    """A break in the text of one function: old, new, and further such pairs."""
    replaced = dict(zip(texts[::2], texts[1::2], strict=True))
    return Mutant(name, case, killer, (Text(function, replaced),))


def _entry(name: str, case: str, killer: str, table: Any, key: object, value: object) -> Mutant:
    """A break of one entry of a table."""
    return Mutant(name, case, killer, (Entry(table, key, value),))


def _row(name: str, case: str, killer: str, op_type: str, **changes: object) -> Mutant:
    """A break of how the window of one operator slides."""
    domain, _, kind = op_type.rpartition(".")
    row = WINDOWS[domain, kind]
    assert row.window is not None
    value = replace(row, window=replace(row.window, **changes))
    return _entry(name, case, killer, semantics_table._PADDING, (domain, kind), value)


_VALUES: MutableMapping[str, Any] = contents.VALUES

# fmt: off
_SITES: Final = (
    _mutant("split takes the greater side", "Conv, symmetric", JUDGE, padding.split,
            "max(min(pair), 0)", "max(max(pair), 0)"),
    _mutant("split swaps the sides of the Pad", "Pad Conv, symmetric", JUDGE, padding.split,
            "less(total, inside)", "tuple((e, b) for b, e in less(total, inside))"),
    _mutant("split leaves all in the Pad too", "Conv, symmetric", JUDGE, padding.split,
            "less(total, inside)", "total"),
    _mutant("split moves the Pad by one", "Conv, pad", JUDGE, padding.split,
            "less(total, inside)", "tuple((b + 1, e) for b, e in less(total, inside))"),
    _mutant("a sum swaps sides", "Pad Conv", JUDGE, layers.add,
            "(b0 + b1, e0 + e1)", "(b0 + e1, e0 + b1)"),
    _mutant("a sum forgets the end", "Pad Conv", JUDGE, layers.add,
            "e0 + e1", "e0"),
    _mutant("a sum forgets the begin of the operator", "Pad Conv, added", JUDGE, layers.add,
            "b0 + b1", "b1"),
    _mutant("a sum swaps axes", "Pad Conv", JUDGE, layers.add,
            "zip(one, other,", "zip(one, other[::-1],"),
    _mutant("a sum of Pads swaps axes", "Pad Pad", CERTIFY, MergePads.rewrite,
            "set_amounts(context.graph, match.node, amounts)",
            "set_amounts(context.graph, match.node, amounts[::-1])"),
    _mutant("pads are written axis by axis", "Pad Conv", CERTIFY, write.attributes,
            "onnx_order(padding.numbers)", "[n for pair in padding.numbers for n in pair]"),
    _mutant("pads are written ends first", "Pad Conv, added", CERTIFY, write.attributes,
            "onnx_order(padding.numbers)",
            "onnx_order([pair[::-1] for pair in padding.numbers])"),
    _mutant("pads are not written", "Pad Conv", CERTIFY, write.changes,
            '"pads": zeros, ', ""),
    _mutant("auto_pad is kept beside pads", "SAME_UPPER", CERTIFY, write.changes,
            '"auto_pad": "NOTSET", ', ""),
    _mutant("auto_pad is dropped without pads", "SAME_UPPER", CERTIFY, write.changes,
            "name: wanted.get(name)", "name: None"),
    _mutant("count_include_pad is not set", "Pad AveragePool", CERTIFY, write.changes,
            ', "count_include_pad": 0', ""),
    _mutant("the Pad is still read", "Pad Conv", CERTIFY, write.write,
            "if source is not op.data:", "if False:"),
    _mutant("the Pad pads the first axes", "Conv, pad", CERTIFY, write.write,
            "op.operator.layout.full(padding.outside, (0, 0))",
            "(*padding.outside, (0, 0), (0, 0))"),
    _mutant("the Pad is left out", "Conv, pad", CERTIFY, write.write,
            "elif outside or computed is not None:", "elif False:"),
    _mutant("a MaxPool's Pad writes zeros", "MaxPool, pad", JUDGE, WindowOp.fill,
            "is Fill.LOWEST", "is Fill.ZERO"),
    _mutant("a Conv's Pad writes the lowest", "Conv, pad", CERTIFY, write.write,
            "op.fill(dtype)", 'float("-inf")'),
    _mutant("a Conv's Pad writes ones, opset 9", "Conv, pad, opset 9", CERTIFY, write.write_pad,
            '"value": float(fill)', '"value": float(fill) + 1'),
    _mutant("SAME_LOWER for SAME_UPPER", "SAME_UPPER", JUDGE, Sites._proposed,
            "odd_side(op.auto_pad)", '"begin"'),
    _mutant("SAME_UPPER for SAME_LOWER", "SAME_LOWER, stride 1", JUDGE, Sites._proposed,
            "odd_side(op.auto_pad)", '"end"'),
    _mutant("SAME's axes swapped", "SAME_UPPER, sizes", JUDGE, Sites._proposed,
            "is not None)", "is not None)[::-1]"),
    _mutant("SAME of the other axis's size", "SAME_UPPER, sizes", JUDGE, Sites._proposed,
            "sizes = self.spatial(op, op.data, 1)", "sizes = self.spatial(op, op.data, 1)[::-1]"),
    _mutant("SAME as if undilated", "SAME_UPPER, dilated", JUDGE, Sites._proposed,
            "constant_in_effect(size, window,",
            "constant_in_effect(size, __import__('msgspec').structs.replace(window, dilation=1),"),
    _mutant("sizes of an image whose channels are last", "SAME_UPPER", JUDGE, Sites.spatial,
            "layout.spatial(shape)", "layout.spatial((1, *shape[:-1]))"),
    _mutant("pads win over VALID", "MaxPool, VALID with pads", JUDGE, Sites._proposed,
            'if op.auto_pad == "NOTSET":', "if op.pads_written:"),
    _mutant("onnxruntime is trusted unasked", "SAME_UPPER, kernel far below stride, as specified",
            JUDGE, Sites._proposed, "(specified, read)", "(read,)",
            "if self.trust is Trust.RUNTIME:", "if True:"),
    _mutant("the specification is trusted unasked",
            "SAME_UPPER, kernel far below stride, as onnxruntime", CERTIFY, Sites._proved,
            "then, self.trust", "then, Trust.SPEC"),
    _mutant("pads beside auto_pad are taken", "MaxPool, SAME with pads, as onnxruntime", JUDGE,
            Sites._proposed, 'if op.auto_pad == "NOTSET":', "if op.pads_written:"),
    _mutant("a crop becomes pads", "SAME_UPPER, kernel far below stride, as onnxruntime", CERTIFY,
            padding.split, "max(begin, 0), max(end, 0)", "begin, end"),
    _mutant("a begin that varies is constant", "SAME by a formula, stays", JUDGE,
            Sites._least, "not isinstance(begin, int)", "(begin := bounds(begin)[1]) is None"),
    _mutant("the least end stands for all", "end by a remainder", JUDGE,
            Sites._least, "_, last = bounds(end_read(", "last, _ = bounds(end_read(",
            " or count != count_of(size + begin + end, window, *own)", ""),
)

_JUDGED: Final = (
    *(_mutant(f"all that is proposed is taken, {case}", case, CERTIFY, Judge.check,
              "then = self._slid(_padding_so(op, padding), data)", "then = now")
      for case in ("Pad Conv, value 5", "Pad AveragePool, ceil_mode", "Pad AveragePool, wide",
                   "Pad MaxPool, 5 behind Relu", "Pad QLinearConv, one off")),
    _mutant("every Pad is taken to write 0", "Pad Conv, value 0.5", CERTIFY, Judge._behind,
            "fill_of(value)", "fill_of(0)"),
    _mutant("no crop is proved", "ConvTranspose Pad, 5", CERTIFY, Crops.check,
            "refine(self._reader.read(new), was, self._facts, at)", "pass"),
)

_DYNAMIC: Final = (
    _mutant("a formula is taken for SAME", "begin by a formula", CERTIFY, Sites.same_of,
            "self.judge.check(op, pad, padding, self.trust)", "pass"),
    _mutant("the Pad stays in front of SAME", "SAME by a formula", CERTIFY,
            write.write, "if source is not op.data:", "if False:"),
    _mutant("the wrong SAME is written", "SAME by a formula", CERTIFY,
            write.attributes, "same_of(padding.odd)", '"SAME_LOWER"'),
    _mutant("amounts are on the other side", "SAME_LOWER, kernel 4, dynamic pad", CERTIFY,
            write.write_computed, "enumerate(sides[split])",
            "enumerate(sides[split][::-1])"),
    _mutant("amounts forget the surplus", "SAME_LOWER, dynamic pad", CERTIFY,
            write.write_computed, "if any(surplus):", "if False:"),
    _mutant("amounts swap moduli", "SAME_UPPER, dynamic pad", CERTIFY,
            write.write_computed, "(moduli)", "(moduli[::-1])"),
    _mutant("amounts forget the constant ones", "SAME_LOWER, kernel 4, dynamic pad", CERTIFY,
            write.write_computed, "[pair[side] for pair in full]",
            "[0 for _ in full]"),
    _mutant("amounts start at the channels", "SAME_LOWER, dynamic pad", CERTIFY,
            write.write_computed, 'else {"start": first}', 'else {"start": 1, "end": 3}'),
)

_PASSES: Final = (
    _mutant("the first Pad is read on", "Pad Pad", CERTIFY, MergePads.rewrite,
            "context.graph.set_input(match.node, 0, data)", "pass"),
    _mutant("merged amounts are turned round", "Pad Pad", CERTIFY, write.set_amounts,
            "flat = onnx_order(amounts)", "flat = onnx_order(amounts)[::-1]"),
    _mutant("merged amounts keep the axes", "Pad Pad, axes", CERTIFY, write.set_amounts,
            "if len(pad.inputs) > 3:", "if False:"),
    _mutant("constant amounts are written axis by axis", "computed reflect", CERTIFY,
            FixAmounts.rewrite, "onnx_order(pad.constant_amounts)",
            "[n for pair in pad.constant_amounts for n in pair]"),
    _mutant("constant amounts of a crop are written axis by axis", "computed crop", CERTIFY,
            FixAmounts.rewrite, "onnx_order(pad.constant_amounts)",
            "[n for pair in pad.constant_amounts for n in pair]"),
    _mutant("constant axes are sorted", "computed axes", CERTIFY, FixAmounts.rewrite,
            "list(pad.axes)", "sorted(pad.axes, reverse=True)"),
    _mutant("only the first axes are looked at", "Pad Relu", CERTIFY, DropEmptyPad.find,
            "is_padded(amounts)", "is_padded(amounts[:2])"),
    _mutant("a reader is rewired at its first input", "empty Pad, second input", CERTIFY,
            DropEmptyPad.rewrite, "graph.set_input(use.node, use.index, data)",
            "graph.set_input(use.node, 0, data)"),
)

_STEPS: Final = (
    _mutant("a Transpose moves no padding", "Pad Transpose Conv", PROBES, moving.transpose,
            "_moved(layers, perm)", "layers"),
    _mutant("a Transpose moves padding the other way", "Pad Transpose Conv, three axes", PROBES,
            moving.transpose, "_moved(layers, perm)",
            "_moved(layers, [perm.index(axis) for axis in range(len(perm))])"),
    _mutant("an Unsqueeze counts the axes of its input", "Pad Unsqueeze Conv", PROBES,
            moving.unsqueeze, "axes_of(written, None if rank is None else rank + len(written))",
            "[axis % rank for axis in written]"),
    _mutant("a Squeeze drops the last axis", "Pad Squeeze Conv", PROBES, moving.squeeze,
            "if axis not in axes", "if axis != rank - 1"),
    _mutant("a Reshape keeps its shape", "Pad Reshape Conv", CERTIFY, sinking._reshaped,
            "size - sum(pair) for", "size for"),
    _mutant("a Reshape keeps axes in place", "Pad Reshape Conv, one axis less", PROBES,
            moving._origins, "dict(zip(new, old, strict=True))", "dict(zip(new, new))"),
    _mutant("a Reshape may do anything", "Pad Reshape Conv, sizes exchanged", PROBES,
            moving._origins, "[before[axis] for axis in old] != [after[axis] for axis in new]",
            "False"),
    _mutant("a Reshape stays as it is", "Pad Reshape Conv", CERTIFY, sinking.behind,
            '_reshaped(call, layers[0], found) if node.op == "Reshape" else None', "None"),
    _mutant("an operand adds axes behind", "Pad Mul Conv, one axis more", PROBES,
            moving.widened, "((0, 0),) * added + each.amounts",
            "each.amounts + ((0, 0),) * added"),
    _entry("Sigmoid makes 0 of 0", "Pad Sigmoid Conv", PROBES, STEPS, "Sigmoid",
           replace(STEPS["Tanh"], op="Sigmoid")),
    _mutant("a Clip forgets its lower bound", "Pad Clip Conv", PROBES, pointwise.clip,
            "greatest(number, low)", "(number,)"),
    _mutant("a Clip forgets its upper bound", "Pad Clip Conv, below 0", PROBES, pointwise.clip,
            "[n for each in above for n in least(each, high)]", "above"),
    _mutant("Abs makes 0", "Pad Abs Conv", PROBES, pointwise.absolute, "abs(number)", "0"),
    _mutant("Neg makes 0", "Pad Neg Conv", PROBES, pointwise.negative, "-number", "0"),
    _entry("Add multiplies", "Pad Add Conv", PROBES, pointwise._OPERATIONS, "Add",
           pointwise._OPERATIONS["Mul"]),
    _mutant("the first channel stands for all", "Pad Add Conv, by channel", PROBES,
            pointwise.mapped, "set(map(fill_of, made))", "{fill_of(made[0])}"),
    _mutant("a quotient is turned round", "Pad Div Conv", PROBES, pointwise.operated,
            "if place == 0 else (each, number)", ""),
    _mutant("a constant may lie along the padding", "Pad Mul Conv, along the Pad", PROBES,
            pointwise.operated, "[axis for axis, size in sizes if size != 1]", "[]"),
    _mutant("a Cast makes 0", "Pad Cast Conv", PROBES, pointwise.cast, "(number,)", "(0,)"),
    _mutant("a zero point is forgotten", "Pad DequantizeLinear Conv", PROBES,
            pointwise.dequantize, "number - point", "number"),
    _mutant("a Concat may join padded ends", "Pad Concat Conv, along the Pad", PROBES,
            moving.concat, "check_free(layers, [axis])", "axis"),
    *(_mutant(f"a Concat joins other {what}", case, PROBES, moving.joined,
              "any(each != inner[0] for each in inner)", "False")
      for what, case in (("amounts", "Pad Pad Concat Conv"),
                         ("values", "Pad Pad Concat Conv, values"))),
    _mutant("a Split may part the padding", "Pad Split Conv, along the Pad", PROBES,
            moving.split, '[axis_of(call.attribute("axis"), rank_of(call, layers))]', "[]"),
    _mutant("a Slice crops one more at the end", "ConvTranspose Slice", PROBES, moving._cropped,
            "cut = -end", "cut = 1 - end"),
    _mutant("a Slice of padding crops data", "Pad Slice Conv, of padding", CERTIFY,
            sinking._check_slice, "if (begin and pads[0]) or (end and pads[1]) or short or not",
            "if not"),
    _mutant("no Pad is written behind steps", "Pad Transpose Conv", CERTIFY, Sinking.cut,
            "if is_padded(numbers):", "if False:"),
    _mutant("a Pad behind steps writes 0", "Pad Transpose Conv, value 5", CERTIFY,
            write.write_pad, "if not is_plain_zero(fill):", "if False:"),
)

_OPERATORS: Final = (
    _row("MaxPool pads zeros", "Pad MaxPool, 0", PROBES, "MaxPool", own=ZERO),
    _row("AveragePool counts its padding", "Pad AveragePool", PROBES, "AveragePool", own=ZERO),
    _row("Conv's padding never wins", "Pad Conv, lowest", PROBES, "Conv", own=LEAST),
    _mutant("pads that are written count", "Pad AveragePool, not counted", PROBES,
            semantics_window._form, "_own(call, window, counts, zero)",
            "_own(call, window, counts or slide.pads_written, zero)"),
    _mutant("axes are read one off", "Pad Conv, axes", PROBES, semantics_table.over_axes,
            "full[place] = pair", "full[place ^ 1] = pair"),
    _mutant("axes are sorted", "Pad Conv, axes", PROBES, amounts_of,
            "axes = call.numbers(3)", "axes = tuple(sorted(call.numbers(3)))"),
    _mutant("a Pad's amounts are read axis by axis", "Pad Conv, axes", PROBES, amounts_of,
            "_pairs(flat, axes)", "tuple(zip(flat[::2], flat[1::2]))"),
    _mutant("a Pad's ends are read first", "Pad Conv", PROBES, amounts_of,
            "_pairs(flat, axes)", "tuple((end, begin) for begin, end in _pairs(flat, axes))"),
    _mutant("a Pad's value is not read", "Pad Conv, value 5", PROBES, pad_of,
            "0 if filler is None else call.element(2)", "0"),
    _mutant("a Pad's value is not read, opset 9", "Pad Conv, opset 9, value 5", PROBES,
            pad_of, 'call.attribute("value")', "0.0"),
    _mutant("a Pad's value is cut to an integer", "Pad Conv, value 0.5", PROBES, Call.element,
            "return float(found)", "return int(found)"),
    _mutant("a Pad's mode is not read", "Pad Conv, reflect", PROBES, pad_of,
            'call.attribute("mode")', '"constant"'),
    Mutant("pads are read and written axis by axis", "Pad Conv", PROBES, (
        Text(layers.pairs_of, {"zip(pads[:half], pads[half:]": "zip(pads[::2], pads[1::2]"}),
        Text(layers.onnx_order,
             {"[begin for begin, _ in pairs] + [end for _, end in pairs]":
              "[n for pair in pairs for n in pair]"}))),
    _mutant("dilations are not read", "SAME_UPPER, dilated", PROBES, semantics_window._slide,
            'integers(node, "dilations", rank, least=1) or (1,) * rank', "(1,) * rank"),
    _mutant("strides are read in reverse", "SAME_UPPER, strides", PROBES, semantics_window._slide,
            "kernel, strides, dilations)", "kernel, strides[::-1], dilations)"),
    _mutant("kernels are read in reverse", "SAME_UPPER", PROBES, semantics_window.kernel_of,
            "return sizes", "return sizes[::-1]"),
    _mutant("ceil_mode is not read", "Pad AveragePool, ceil_mode", PROBES, semantics_window._form,
            "slide.ceil", "False"),
    _mutant("no float is below 0", "Pad MaxPool, 0", PROBES, refine._least_number,
            "float(np.finfo(tensor_dtype_to_np_dtype(dtype)).min)", "0.0"),
    _mutant("the lowest float is 0", "MaxPool, pad", JUDGE, semantics_rows.lowest,
            'float("-inf")', "0.0"),
    _mutant("the lowest integer is 0", "MaxPool int8, pad", PROBES, semantics_rows.lowest,
            "INTEGERS.get(dtype, (None,))[0]", "0 if dtype in INTEGERS else None"),
)

_QUANTISED: Final = (
    _mutant("a zero point is not read", "Pad QLinearConv, value 0", PROBES,
            semantics_window.zero_of, "return number", "return 0"),
    _mutant("a zero point of run time is 0", "Pad ConvInteger, zero point fed", PROBES,
            semantics_window.zero_of, "return Operand(place)", "return ZERO"),
    _mutant("a quantised Pad writes 0", "QLinearConv, pad", JUDGE, WindowOp.fill,
            "return self.zero", "return 0"),
    _mutant("an int8 Pad writes 0", "ConvInteger int8, pad", CERTIFY, write.write,
            "op.fill(dtype)", "0"),
    _row("QLinearConv's channels are never last", "QLinearConv last, pad", VALIDATION,
         "com.microsoft.QLinearConv", last=False),
    _row("QLinearAveragePool's channels are never last", "QLinearAveragePool last, pad", VALIDATION,
         "com.microsoft.QLinearAveragePool", last=False),
    _row("NhwcMaxPool's channels come first", "NhwcMaxPool, pad", PROBES,
         "com.microsoft.NhwcMaxPool", last=False),
    _row("NhwcMaxPool pads zeros", "Pad NhwcMaxPool, 0", PROBES, "com.microsoft.NhwcMaxPool",
         own=ZERO),
    _row("QLinearAveragePool counts its padding", "Pad QLinearAveragePool", PROBES,
         "com.microsoft.QLinearAveragePool", own=ZERO),
    _row("QLinearAveragePool pads zeros", "QLinearAveragePool last, pad", VALIDATION,
         "com.microsoft.QLinearAveragePool", zero_point=None),
    _row("FusedConv's padding never wins", "Pad FusedConv, lowest", PROBES,
         "com.microsoft.FusedConv", own=LEAST),
)

_WINDOW: Final = (
    _mutant("the odd element is on the other side", "SAME_UPPER", JUDGE, window.halves,
            'if odd == "end"', 'if odd != "end"'),
    _mutant("SAME pads at least one", "MaxPool SAME, kernel 2", JUDGE, window.same_pads,
            "maximum(same_raw_total(size, window), 0)", "maximum(same_raw_total(size, window), 1)"),
    _mutant("SAME forgets dilation", "SAME_UPPER, dilated", JUDGE, window.same_raw_total,
            "return window.extent - 1", "return window.kernel - 1"),
    _mutant("SAME's total is one more", "SAME_LOWER, stride 1", JUDGE, window.same_raw_total,
            "return window.extent - 1", "return window.extent"),
    _mutant("SAME's total is one less", "SAME_UPPER", JUDGE, window.same_raw_total,
            "+ window.extent - size", "+ window.extent - size - 1"),
    _mutant("SAME rounds down", "SAME_UPPER, stride 3", JUDGE, window.same_output_size,
            "ceil_div(", "floor_div("),
    _mutant("an extent without gaps", "SAME_UPPER, dilated", JUDGE, vars(Window)["extent"].fget,
            "(self.kernel - 1) * self.dilation + 1", "self.kernel"),
    _mutant("a begin that varies is taken at its most", "SAME_UPPER, any size", JUDGE,
            window.constant_in_effect,
            "(begin, greatest) if isinstance(begin, int) and greatest is not None else None",
            "(bounds(begin)[1], greatest)"),
    _mutant("an end that varies is taken at its least", "SAME_UPPER, kernel 2, any size", JUDGE,
            window.constant_in_effect, "_, greatest", "greatest, _"),
    _mutant("no window is dropped with ceil_mode", "Conv SAME behind a MaxPool that rounds up",
            VALIDATION, window.pool_output_size,
            "minimum(ceil_div(span, window.stride) + 1, most)",
            "ceil_div(span, window.stride) + 1"),
    _mutant("one window more", "Conv SAME behind a Conv", VALIDATION, window.output_size,
            "window.stride) + 1", "window.stride) + 2"),
    _mutant("a transposed window one longer", "Conv SAME behind a ConvTranspose", VALIDATION,
            shape_rules._spread_sizes, "window.extent + begin", "window.extent + 1 + begin"),
)

_ROUNDING: Final = (
    _mutant("ceil_mode changes nothing", "MaxPool, ceil_mode", JUDGE, window.end_without_ceil,
            "max(end, most if read is None else min(read, most))", "end"),
    _mutant("the end is as far as the least reach", "MaxPool, ceil_mode, any size", JUDGE,
            window.end_without_ceil, "_, read = bounds(", "read, _ = bounds("),
    _mutant("a window at sizes that have none", "MaxPool, ceil_mode, no window", CERTIFY,
            Sites.floored, "self.check_proved(op, None, padding, trust)", "None"),
    _mutant("what is past the padding counts", "AveragePool, ceil_mode", CERTIFY, Sites.floored,
            "self.check_proved(op, None, padding, trust)", "None"),
    _mutant("rounded-down pads are written axis by axis", "MaxPool, ceil_mode", CERTIFY,
            write.attributes, "onnx_order(padding.numbers)",
            "[n for pair in padding.numbers for n in pair]"),
    _mutant("ceil_mode goes and no pads come", "MaxPool, ceil_mode", CERTIFY,
            write.changes, '"pads": zeros, ', ""),
)

_SIGNS: Final = (
    _entry("Tanh is never negative", "Pad MaxPool, 0 behind Tanh", VALIDATION, BOUNDS, "Tanh",
           BOUNDS["Exp"]),
    _mutant("a Clip below zero is never negative", "Pad MaxPool, 0 behind Clip", VALIDATION,
            bounds._clip, "return min(low, high)", "return 0"),
    _entry("a difference keeps signs", "Pad MaxPool, 0 behind Sub", VALIDATION, BOUNDS, "Sub",
           BOUNDS["Add"]),
    _mutant("a Pad keeps signs whatever its value", "Pad MaxPool, 0 behind Pad", PROBES,
            bounds._pad, "min(data, call.bound_of(2) if call.has(2) else 0)", "data"),
    _entry("a sum keeps the sign of one", "Pad MaxPool, 0 behind Add", VALIDATION, BOUNDS, "Add",
           BOUNDS["Relu"]),
    _entry("the least is never below any", "Pad MaxPool, 0 behind Min", VALIDATION, BOUNDS, "Min",
           BOUNDS["Relu"]),
    _mutant("the signs of a Concat are those of its first input",
            "Pad MaxPool, 0 behind Concat", VALIDATION, bounds._all,
            'range(call.op == "Where", len(call.node.inputs))', "[0]"),
    _mutant("zero points are 0", "Pad MaxPool, 0 behind DequantizeLinear", VALIDATION,
            bounds._dequantised, "call.bound_of(0) >= point", "call.bound_of(0) >= 0"),
    _entry("cubic weights are not negative", "Pad MaxPool, 0 behind a cubic Resize", VALIDATION,
           BOUNDS, "Resize", BOUNDS["AveragePool"]),
)

_ENGINES: Final = (
    _mutant("Transpose does nothing", "Transpose", PROBES, contents._transposed,
            "perm_of(call, data.ndim)", "range(data.ndim)"),
    _mutant("Slice forgets which way it goes", "torch", PROBES, contents._sliced,
            "first + step * np.arange(call.sizes[axis])", "np.arange(call.sizes[axis])"),
    _mutant("Concat turns round", "torch", PROBES, contents._joined,
            "np.concatenate(parts,", "np.concatenate(parts[::-1],"),
    _mutant("Gather counts from the wrong end", "Gather from the end", PROBES,
            contents._gathered, "axis_of(index, data.shape[axis]) for", "abs(index) for"),
    _mutant("Split starts at the begin", "Split", PROBES, contents._part,
            "begin = sum(sizes[: call.output])", "begin = 0"),
    _entry("Div rounds down", "Div of negatives", PROBES, _VALUES, "Div",
           contents._computed(contents._by(size.floor_div), numbers.divide)),
    _mutant("Mod takes the sign of the dividend", "Mod of negatives", PROBES,
            contents._mod, "_by(size.modulo)", "_by(lambda a, b: a - size.trunc_div(a, b) * b)"),
    _entry("Sub adds", "Sub", PROBES, _VALUES, "Sub", _VALUES["Add"]),
    _mutant("Where is turned round", "Where", PROBES, contents._where,
            "condition, chosen = call.elements_of(0, BOOL), (1, 2)",
            "condition, chosen = call.elements_of(0, BOOL), (2, 1)"),
    _mutant("Cast rounds to the nearest", "Cast of floats", PROBES, numbers.to_integer,
            "return size", "return round(a) if isinstance(a, float) else size"),
    _mutant("Cast never wraps around", "Cast that wraps around", PROBES, contents._conversion,
            "fit(numbers.to_integer(a) if is_real else a, target)",
            "numbers.to_integer(a) if is_real else a"),
    _mutant("Ceil rounds down", "Ceil of a size", PROBES, numbers.ceil,
            "size.ceil_div", "size.floor_div"),
    _mutant("Shape forgets where to start", "Shape", PROBES, shape_rules.dimensions,
            "shape[begin:end]", "shape[: end - begin]"),
)

_TRANSPOSED: Final = (
    _mutant("the odd element goes to the other end", "ConvTranspose SAME_UPPER", PROBES,
            transposed.ends_of, 'auto_pad == "SAME_UPPER"', 'auto_pad != "SAME_UPPER"'),
    _mutant("SAME forgets output_padding", "ConvTranspose SAME_LOWER, output_padding", PROBES,
            transposed.ends_of, "more - (total - first)", "first - total"),
    _mutant("output_padding is not read", "ConvTranspose SAME_LOWER, output_padding", PROBES,
            transposed.spread_form,
            'integers(call.node, "output_padding", axes, least=0) or (0,) * axes', "(0,) * axes"),
    _mutant("output_shape crops the other end", "ConvTranspose output_shape", CERTIFY,
            crops.crop_of, "(-begin, -end)", "(-end, -begin)"),
    _mutant("nothing is appended", "ConvTranspose Pad", JUDGE, crops.form_of,
            "begin, max(-end, 0)", "begin, 0"),
    _mutant("a Slice crops the other end", "ConvTranspose Slice", JUDGE, layers.less,
            "(b0 - b1, e0 - e1)", "(b0 - e1, e0 - b1)"),
    _mutant("a Slice keeps what output_padding appends",
            "ConvTranspose output_padding Tanh Slice", JUDGE, layers.less,
            "e0 - e1", "e0"),
    _mutant("the form before is written", "ConvTranspose Slice", JUDGE, Crops.take,
            ", **changes(op, taking.form)", ""),
)

MUTANTS: Final = (
    *_SITES, *_JUDGED, *_DYNAMIC, *_PASSES, *_STEPS, *_OPERATORS, *_QUANTISED, *_WINDOW, *_ROUNDING,
    *_SIGNS, *_ENGINES, *_TRANSPOSED,
)

# Breaks that change what comes out, and nothing of what it computes: all must be accepted.
HARMLESS: Final = (
    _mutant("an end that no window reads", "SAME_UPPER", "", window.constant_in_effect,
            "return begin, end", "return begin, end + 1"),
    _mutant("zeros written out", "Conv, VALID", "", write.changes,
            '"pads": zeros, ', '"pads": None, ', "if op.pads_written:", "if True:"),
    _mutant("a value of 0 written out", "Conv, pad", "", write.write_pad,
            "if not is_plain_zero(fill):", "if True:"),
    _mutant("the least finite number for -inf", "MaxPool, pad", "", write.write,
            "op.fill(dtype)", "float(np.finfo(np.float32).min)"),
    _mutant("a Pad merged and kept for another", "Pad Pad for two", "", MergePads._sum,
            "if graph.is_output(between) or len(graph.uses(between)) != 1:", "if False:"),
)
# fmt: on
