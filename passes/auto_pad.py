"""`auto_pad` and `ceil_mode`, written out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from onnxpad.arithmetic.window import odd_side, pads_text
from onnxpad.finding import Severity
from onnxpad.padding.padding import Padding
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Choice, Context, SitePass
from onnxpad.semantics.layers import onnx_order
from onnxpad.semantics.operators import WindowOp


class ResolveAutoPad(SitePass):
    """`auto_pad=SAME_UPPER` or `SAME_LOWER` leaves the padding to the runtime.

    ## What it does
    Writes the pads out where constant ones read the same elements at every size that the graph
    admits, as with a fixed size or a stride of 1. Else `--dynamic pad` computes them.
    ## Why it matters
    Many importers reject `auto_pad`, or put the odd pixel on the wrong side. onnxruntime refuses it
    on a dilated Conv, and stops on a pool whose kernel is below its stride: there it is an error.
    ## Example
        y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)
    becomes
        y = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)
    where
        float[1, 2, 8, 8] x, float[3, 2, 3, 3] w
    ## When it is exact
    The output has ceil(size / stride) elements. The padding for that is split evenly, an odd
    element at the end for SAME_UPPER, at the begin for SAME_LOWER. Refused: pads that depend on a
    size that is not fixed, and, unless `--trust spec` or `--trust onnxruntime` decides, what
    onnxruntime does not do as specified: a kernel more than two below its stride, a dilated pool,
    `pads` beside `auto_pad`. The result is then what both make of the one trusted. For a MaxPool
    whose kernel is below its stride, the proof assumes finite data.
    ## References
    ONNX Conv-22, MaxPool-22, AveragePool-22, LpPool-22, "auto_pad".
    """

    code = "PAD101"
    why = "they read the same"

    def applies(self, context: Context, op: WindowOp) -> bool:
        """Every operator with SAME."""
        return op.auto_pad.startswith("SAME")

    def choose(self, context: Context, op: WindowOp) -> Choice:
        """Its pads in the style, in the operator where it cannot have that, or computed."""
        style = context.wanted(op.node).style
        if style != "fold":
            with suppress(RefusalError):
                return _written(context.sites.plan(op, style))
        try:
            return _written(context.sites.plan(op, "fold"))
        except RefusalError as refusal:
            if refusal.code is not Reason.SIZE_DEPENDENT:
                raise
            return self._computed(context, op, refusal)

    def _computed(self, context: Context, op: WindowOp, refusal: RefusalError) -> Choice:
        axes: Any = refusal.facts["axes"]
        windows = {axis: op.windows[op.axes.index(axis)] for axis in axes}
        formula = context.sites.wording.same(windows, odd_side(op.auto_pad))
        dynamic, hindrance, hindered = context.wanted(op.node).dynamic, "", {}
        try:
            context.sites.check_computed(op)
        except RefusalError as other:
            hindrance, hindered = f"; no Pad can compute them: {other}", {"no_pad": other.code}
        if not hindrance and dynamic == "pad":
            return Choice(None, "a computed Pad", why=formula)
        facts = {
            **refusal.facts,
            "auto_pad": op.auto_pad,
            "pads": formula,
            "options": [*refusal.options, *["--dynamic pad"] * (not hindrance)],
            **hindered,
        }
        if dynamic == "auto-pad":
            facts["asked"] = "--dynamic auto-pad"
        said = f"{refusal}: {formula}{hindrance}"
        raise RefusalError(refusal.code, said, str(refusal), **facts)


def _written(padding: Padding) -> Choice:
    said, pads = _told(padding)
    return Choice(padding, said, {"pads": [*pads]})


@lru_cache(maxsize=256)  # networks repeat the same few
def _told(padding: Padding) -> tuple[str, Sequence[int]]:
    return padding.text, onnx_order(padding.total)


class DropValid(SitePass):
    """`auto_pad=VALID`, which pads nothing, in a form that some runtimes reject.

    ## What it does
    Drops the attribute: without it, pads are zero.
    ## Why it matters
    candle and others reject any `auto_pad`, and few tools fold a `Pad` into an operator with one.
    ## Example
        y = Conv <auto_pad = "VALID", strides = [2, 2]> (x, w)
    becomes
        y = Conv <strides = [2, 2]> (x, w)
    where
        float[1, 2, 8, 8] x, float[3, 2, 3, 3] w
    ## When it is exact
    Always, with any `ceil_mode`, but not beside `pads` other than 0, which the specification
    forbids. onnxruntime drops them for a pool, and `--trust onnxruntime` decides so.
    ## References
    ONNX Conv-22, MaxPool-22, AveragePool-22, LpPool-22, "auto_pad".
    """

    code = "PAD102"
    why = "VALID pads nothing"

    def applies(self, context: Context, op: WindowOp) -> bool:
        """Every operator with VALID."""
        return op.auto_pad == "VALID"

    def choose(self, context: Context, op: WindowOp) -> Choice:
        """No pads, where no target wants VALID to protect a `Pad` upstream."""
        if "no_empty_fill" in context.wanted(op.node).spelling:
            plain = replace(op, auto_pad="NOTSET", pads=((0, 0),) * len(op.windows))
            if context.sites.fusion.laid_open(plain):
                said = "it has onnxruntime fold no Pad into it"
                raise RefusalError(Reason.OPTIMISER_FOLDS, said, asked="--target")
        return Choice(context.sites.plan(op, "fold"), "no auto_pad")


class RoundDown(SitePass):
    """`ceil_mode` of a pool, where `--no-ceil` asks for none.

    ## What it does
    Drops it, and pads the end of each axis as far as the last window reaches. Styles `pad` and
    `symmetric` then move these pads into a `Pad`. Some targets ask for it too.
    ## Why it matters
    Runtimes and onnx's shape inference differ on the last window. Before opset 19, onnxruntime 1.21
    divides by the whole kernel in an AveragePool that counts its padding: an error.
    ## Example
        y = MaxPool <ceil_mode = 1, kernel_shape = [3, 3], strides = [2, 2]> (x)
    becomes with `--no-ceil`
        y = MaxPool <kernel_shape = [3, 3], pads = [0, 0, 1, 1], strides = [2, 2]> (x)
    where
        float[1, 2, 8, 8] x
    ## When it is exact
    The number of windows is the same at every size that the graph admits (rounding up may give none
    at the least ones: give them a range, `--dim`), and the pads are below the kernel. In style
    `pad` they can be in a `Pad`, as those of an average that leaves them out cannot.
    - MaxPool, LpPool: always; padding never wins, or is 0 like what is past the data.
    - AveragePool that leaves its padding out of the divisor, or has none: always; the new pads are
      left out.
    - AveragePool that counts its padding: where no window reaches past it.
    ## References
    ONNX MaxPool-22, AveragePool-22, LpPool-22, "ceil_mode".
    """

    code = "PAD301"
    why = "there are as many windows"

    def applies(self, context: Context, op: WindowOp) -> bool:
        """Every operator with `ceil_mode`, where none is wanted."""
        return op.ceil_mode and context.wanted(op.node).no_ceil

    def choose(self, context: Context, op: WindowOp) -> Choice:
        """The pads with which it rounds down."""
        floor, decides = context.sites.floored(op, context.wanted(op.node).style, context.trust)
        pads = floor.numbers
        becomes, facts = f"pads {pads_text(pads)} without it", {"pads": onnx_order(pads)}
        # From opset 19 on, onnxruntime 1.21 divides an average that rounds up as it should.
        wrong = pads != op.pads and op.count_include_pad and context.graph.opset < 19
        severity = Severity.ERROR if wrong else None
        return Choice(floor, becomes, facts, decided={} if decides else None, severity=severity)
