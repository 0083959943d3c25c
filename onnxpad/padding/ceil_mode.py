"""Pools with `ceil_mode`, planned as pools that round down and have end pads instead."""

from __future__ import annotations

from onnxpad.arithmetic.size import Extent
from onnxpad.arithmetic.window import Window, end_without_ceil
from onnxpad.finding import Trust
from onnxpad.messages import RUNTIME
from onnxpad.operators.amounts import Pairs, onnx_order
from onnxpad.operators.read import WindowOp
from onnxpad.padding.limits import check_declared
from onnxpad.padding.padding import Padding, padding_of, split
from onnxpad.padding.site import Sites
from onnxpad.reasons import BY_TRUST, Reason, RefusalError
from onnxpad.semantics.engines import divides_by_kernel


def floored(sites: Sites, op: WindowOp, style: str) -> tuple[Padding, RefusalError | None]:
    """The padding of a pool that rounds down with the windows of one that rounds up.

    A style then moves its pads into a `Pad`.

    Returns:
        The padding, and the disagreement of the engines that the trusted one decides, if there is
        one.

    Raises:
        RefusalError: The pool cannot round down, or not in this style.
    """
    if op.auto_pad != "NOTSET":
        return _with_auto_pad(op), None
    pads = _pads(sites, op)
    disputed = _disagreement(op, pads)
    if disputed is not None and sites.trust is None:
        raise disputed
    whole = disputed is not None and sites.trust is Trust.RUNTIME
    counts = op.count_include_pad and (whole or pads == op.pads)
    padding = Padding(pads, counted=counts)
    if pads != op.pads:
        check_declared(op, pads)
    _check_style(sites, op, padding, style)
    return padding, disputed


def _with_auto_pad(op: WindowOp) -> Padding:
    """SAME with pads that depend on a size: it rounds nothing unless it crops."""
    crops_nothing = all(
        isinstance(window, Window) and window.dilation == 1 and window.kernel >= window.stride
        for window in op.windows
    )
    same = padding_of(op)
    if same is None or not same.is_same or not crops_nothing:
        raise RefusalError(
            Reason.SAME_STAYS,
            f"auto_pad={op.auto_pad} stays, and the number of windows depends on it",
            auto_pad=op.auto_pad,
        )
    return same


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
            f"{words.sizes(left, op.data)}: rounding down may give one window where none fits",
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
        return _disagreement(op, _pads(sites, op)) is not None
    except RefusalError:
        return False


def _disagreement(op: WindowOp, pads: Pairs) -> RefusalError | None:
    """How the engines divide an average that counts its padding, where they do not divide alike."""
    if not divides_by_kernel(op.form):
        return None
    for axis, own, pair in zip(op.axes, op.pads, pads, strict=True):
        if pair == own:
            continue
        words = (
            f"{RUNTIME} and the specification disagree on the divisor where a window reaches "
            f"past the padding on axis {axis}: {RUNTIME} counts the whole kernel, the "
            "specification what lies in the padding"
        )
        return RefusalError(
            Reason.ENGINES_DISAGREE,
            words,
            axis=axis,
            pads=onnx_order(op.pads),
            disagreement=words,
            options=BY_TRUST,
        )
    return None


def _check_style(sites: Sites, op: WindowOp, padding: Padding, style: str) -> None:
    """Raises if a style had the operator's pads as it wants them, and cannot have the new ones."""
    pads, counts = padding.numbers, padding.counted
    if split(pads, style)[1] and not split(op.pads, style)[1]:
        sites.plan(op._replace(ceil_mode=False, pads=pads, count_include_pad=counts), style)
