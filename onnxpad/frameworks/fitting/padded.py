"""The window operators of a model with their total padding, that of `Pad`s in front included."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent
from onnxpad.arithmetic.window import same_of
from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.fitting.case import Case, case_of
from onnxpad.frameworks.reading import Site, SiteReader
from onnxpad.frameworks.repadding.sites import sites_of
from onnxpad.frameworks.repadding.towards import counted_at_first, op_of
from onnxpad.graph import Node
from onnxpad.reasons import RefusalError
from onnxpad.rewrite.pass_api import Context
from onnxpad.semantics.layers import Pairs, is_padded
from onnxpad.semantics.operators import WindowOp

_MOST = 64
"""The greatest stride of which each remainder is looked at."""

Left = tuple[Context, Node, str]
"""An operator whose padding is not known, the graph that it is in, and why."""


class Padded(Struct, frozen=True, eq=False):
    """A window operator with all padding that its own could be, as conventions are about that.

    The sizes are the spatial ones of the data that is padded. The case has how it pads in total,
    and which conventions that fits.
    """

    site: Site
    context: Context
    sizes: tuple[Extent, ...]
    case: Case

    @property
    def pads(self) -> Pairs | None:
        """(begin, end) for each axis; None where they depend on an open size."""
        padding, sizes = self.case.padding, tuple(s for s in self.sizes if isinstance(s, int))
        known = len(sizes) == len(self.sizes)
        return padding.amounts(sizes, self.site.windows) if known else padding.pads

    @property
    def short(self) -> str:
        """What it fits, of what most models follow at first."""
        case = self.case
        if not case.is_padded:
            return "unread" if is_padded(case.padding.pads or ()) else ""
        if case.intent == "causal":
            return "causal"
        usual = [name for name in ("tensorflow", "pytorch") if name in case.fits]
        other = [name for name in ("onnx-same-lower", *case.fits) if name in case.fits]
        if found := usual or other[:1]:
            return ", ".join(FRAMEWORKS[name].title.removeprefix("ONNX's ") for name in found)
        if "sometimes" in {case.fit[name].holds for name in ("tensorflow", "pytorch")}:
            return "at some sizes"
        # Zeros in front of what pads nothing, which any framework has: Keras' ZeroPadding2D, F.pad.
        pads, ceil = case.padding.pads, case.padding.ceil
        by_zeros = case.op == "conv" or (case.op == "avgpool" and case.padding.counted)
        if pads is None or ceil or case.op == "convtranspose":
            return "none"
        is_own = not by_zeros and is_padded(self.site.padding.pads or ((1, 1),))
        return "none" if is_own else "explicit"

    def facts(self, **further: object) -> dict[str, object]:
        """The facts that decide which conventions it fits, as data, and some further ones."""
        windows, padding = self.site.windows, self.case.padding
        return {
            "kernel": [window.kernel for window in windows],
            "stride": [window.stride for window in windows],
            "dilation": [window.dilation for window in windows],
            "size": [size if isinstance(size, int) else str(size) for size in self.sizes],
            "pads": self.pads or same_of(padding.odd),
            "output_padding": padding.output_padding,
            "ceil_mode": padding.ceil,
            "count_include_pad": padding.counted,
            **further,
        }


def padded_operators(contexts: Iterable[Context]) -> tuple[list[Padded], list[Left]]:
    """The window operators of all graphs of a model, and those not understood, with why."""
    found, left = list[Padded](), list[Left]()
    for context in contexts:
        sites, unread = sites_of(context)
        totals = [(site, total_of(context, site)) for site in sites]
        found += [each for _, each in totals if isinstance(each, Padded)]
        left += [(context, site.node, why) for site, why in totals if isinstance(why, str)]
        left += [(context, node, why) for node, why in unread]
    return found, left


def total_of(context: Context, site: Site) -> Padded | str:
    """An operator with its total padding, or why that is not known."""
    sizes, padding, kind, op = site.sizes, site.padding, op_of(site), site.op
    if kind is None:
        return f"no framework has a convention for {site.node.op}"
    if any(isinstance(size, int) and size < 1 for size in sizes):
        return "its data is empty"
    if None in site.known_sizes and max(window.stride for window in site.windows) > _MOST:
        return f"a stride above {_MOST} at an open size"
    if isinstance(op, WindowOp) and takes_nearest(context, op, sized=None not in site.known_sizes):
        others = {id(path[0]) for path in site.front.pads[1:]}
        alike = SiteReader(context.graph, context.analysis, others).of(op) if others else site
        sizes = context.sites.spatial(op, alike.source)
        total = alike.whole
        if total is None:
            with suppress(RefusalError):  # a `Pad` in front may compute SAME
                total = context.sites.same_of(op)
        if total is None:
            return "a Pad in front computes its amounts"
        padding = total
    is_counted = site.padding.counted and counted_at_first(context, site)
    over_pad = kind == "avgpool" and padding.counted and context.graph.is_main and not is_counted
    case = case_of(kind, site.windows, sizes, padding, over_pad=over_pad)
    return Padded(site, context, sizes, case)


def takes_nearest(context: Context, op: WindowOp, *, sized: bool) -> bool:
    """Whether an operator's own padding could be that of the `Pad` directly in front, if any."""
    if (pad := context.sites.pad_before(op)) is None:
        return False
    with suppress(RefusalError):
        context.sites.check_mergeable(replace(op, auto_pad="NOTSET") if sized else op, pad)
        return True
    return False
