"""Pools with `ceil_mode`, planned as pools that round down and have end pads instead."""

from __future__ import annotations

from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent
from onnxpad.arithmetic.window import Window, end_without_ceil
from onnxpad.finding import Trust
from onnxpad.padding.padding import Padding, padding_of, split
from onnxpad.padding.site import Sites
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.amounts import Pairs, less
from onnxpad.semantics.read_nodes import WindowOp


def floored(
    sites: Sites, op: WindowOp, style: str, trust: Trust | None
) -> tuple[Padding, Trust | None]:
    """The padding of a pool that rounds down with the windows of one that rounds up.

    A style then moves its pads into a `Pad`.

    Args:
        sites: The sites of the graph.
        op: The pool, which rounds up.
        style: The style.
        trust: Whose reading of it counts where the engines disagree.

    Returns:
        The padding; and who is trusted, if the engines disagree.

    Raises:
        RefusalError: The pool cannot round down, or not in this style.
    """
    same = padding_of(op)
    if same is not None and same.is_same:
        sites.judge.check(op, None, same, trust)
        return same, None
    pads = op.pads if op.auto_pad == "VALID" else _pads(sites, op)
    refused: RefusalError | None = None
    proposed = [Padding(pads, counted=op.count_include_pad)]
    if op.count_include_pad:
        proposed.append(Padding(pads))
        if style == "pad":  # a `Pad` counts; what windows read past it does not
            proposed.append(Padding(less(pads, op.pads), outside=op.pads))
    for padding in proposed:
        try:
            decides = sites.judge.check(op, None, padding, trust)
            numbers, counts = padding.numbers, padding.counted
            if split(numbers, style)[1] and not split(op.pads, style)[1]:
                plain = replace(op, ceil_mode=False, pads=numbers, count_include_pad=counts)
                sites.plan(plain, style)
        except RefusalError as refusal:
            refused = refused or refusal
        else:
            return padding, decides
    assert refused is not None
    raise refused


def _pads(sites: Sites, op: WindowOp) -> Pairs:
    """The pads with which a pool that rounds down has as many windows."""
    found, left = [], dict[int, Extent]()
    each = zip(op.axes, op.windows, sites.spatial(op, op.data, 1), op.pads, strict=True)
    for axis, window, size, (begin, end) in each:
        chosen = end_without_ceil(size, window, begin, end) if isinstance(window, Window) else None
        if chosen is None:
            left[axis] = size
        else:
            found.append((begin, chosen))
    if left:
        words = sites.wording
        raise RefusalError(
            Reason.SIZE_DEPENDENT,
            "no end padding gives the same number of windows at every value of "
            f"{words.sizes(left)}: rounding down may give one window where none fits",
            axes=[*left],
            sizes=words.places([*left.values()]),
            ceil_mode=1,
            options=words.options(left, op.data),
        )
    return tuple(found)


def is_disputed(sites: Sites, op: WindowOp) -> bool:
    """Whether the engines are known to divide an average that rounds up otherwise."""
    if not op.ceil_mode or op.auto_pad != "NOTSET":
        return False
    try:
        floored(sites, op, "fold", None)
    except RefusalError as refusal:
        return refusal.code is Reason.ENGINES_DISAGREE
    return False
