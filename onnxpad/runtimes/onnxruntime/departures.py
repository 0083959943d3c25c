"""Where onnxruntime reads SAME otherwise, and which operators its optimiser treats apart.

Measured on its CPU execution provider with 1.21 to 1.32, with optimisation off unless stated.
What is written must run in all of these, whichever is installed: a departure that the newest no
longer has is heeded until no version that has it is supported.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec.structs import replace

from onnxpad.arithmetic.size import (
    Extent,
    Unknown,
    always,
    bounds,
    evaluate,
    less_equal,
    symbol,
    where,
)
from onnxpad.arithmetic.window import AnyWindow, OpenWindow
from onnxpad.messages import counted
from onnxpad.reasons import BY_TRUST, Reason, RefusalError
from onnxpad.semantics.amounts import Pair
from onnxpad.semantics.engines import Placed, onnxruntime, specification
from onnxpad.semantics.operators import Operator
from onnxpad.semantics.window import WindowForm

if TYPE_CHECKING:
    from onnxpad.semantics.read_nodes import WindowOp

Type: TypeAlias = Callable[[], int | None]
"""The element type of data; None where unknown."""

Version: TypeAlias = tuple[int, int]
Versions: TypeAlias = tuple[Version, Version]
"""The first and the last version that was seen to depart; a later one was not seen at all."""

_OLDEST: Final = (1, 21)
_NEWEST: Final = (1, 32)

_MOST_TRIED: Final = 256  # sizes that are tried for one at which the engines differ


CHANGED: Final[Mapping[str, int]] = {"AveragePool": 19}
"""The opset in which onnxruntime begins to compute something else for the same node."""


# From 1.32 on, no `Pad` is folded into a MaxPool, and into an AveragePool only where that is right.
FOLDED: Final[Mapping[str, Versions]] = {
    "Conv": (_OLDEST, _NEWEST),
    "MaxPool": (_OLDEST, (1, 31)),
    "AveragePool": (_OLDEST, (1, 31)),
}
"""The versions in which PadFusion, of its optimiser, folds `Pad`s into operators unchecked."""

BLOCKED: Final = frozenset({"MaxPool", "AveragePool"})
"""The pools that run in blocks of channels (NCHWc) at full optimisation, over two spatial axes.

Without a window on the first axis the process then dies of SIGFPE, and a maximum over only
-infinity is the lowest finite number.
"""


def folds_pads(row: Operator) -> bool:
    """Whether PadFusion folds `Pad`s into an operator, in some version."""
    return not row.row.domain and row.op_type in FOLDED


def runs_in_blocks(row: Operator) -> bool:
    """Whether an operator runs in blocks of channels."""
    return not row.row.domain and row.op_type in BLOCKED


_LATE: Final = 21
"""The first opset whose `Pad`s are folded only from this version on."""
_FOLDS_LATE: Final = (1, 25)


def folds_as_any(version: Version, ops: Container[str], opset: int) -> bool:
    """Whether a version folds `Pad`s into operators wherever some version does."""
    found = (_at(opset, versions) for op, versions in FOLDED.items() if op in ops)
    return all(first <= version <= last for first, last in found)


def folding_versions(row: Operator, opset: int) -> str:
    """The versions that fold `Pad`s of an opset into an operator unchecked: `1.25 to 1.31`."""
    first, last = _at(opset, FOLDED[row.op_type])
    return "{}.{} to {}.{}".format(*first, *last)


def _at(opset: int, versions: Versions) -> Versions:
    return versions if opset < _LATE else (_FOLDS_LATE, versions[1])


BLOCK: Final = 8
"""The least number of channels in a block; the NCHWc kernels take multiples of it."""


def runtime_pads(op: WindowOp, place: int, size: Extent, dtype: int | None) -> Pair | None:
    """The constant pads (begin, end) by which onnxruntime reads SAME, negative where it crops.

    None where they depend on an open size, or leave no room for a window: of the explicit pads too,
    onnxruntime then makes something else than the specification. None also where its number of
    windows is unknown.

    Args:
        op: The operator, with SAME.
        place: The axis, among those along which its window slides.
        size: The size of its data there.
        dtype: The element type of its data.
    """
    placed = onnxruntime(op.form, place, size, dtype)
    if placed is None or isinstance(placed.windows, Unknown):
        return None
    begin, end = _constant(placed.begin), _constant(placed.end)
    if begin is None or end is None:
        return None
    fits = always(less_equal(op.windows[place].extent, size + begin + end)) is True
    return (begin, end) if fits else None


def disagreement(op: WindowOp, sizes: Sequence[Extent], dtype: int | None) -> RefusalError | None:
    """How onnxruntime departs from the specification on an operator with SAME.

    Args:
        op: The operator, with SAME.
        sizes: The spatial sizes of its data.
        dtype: The data's element type; None where unknown.

    Returns:
        The refusal to choose between them, with the numbers of both; None where they agree, or
        onnxruntime does not run the operator, so that writing the pads is a repair.
    """
    notes, key = op.node.notes, (disagreement, op.form, tuple(sizes), dtype)
    if key in notes:  # networks repeat the same few windows
        return None
    found = _disagreement(op, sizes, dtype)
    if found is None:
        notes[key] = True
    return found


def _disagreement(op: WindowOp, sizes: Sequence[Extent], kind: int | None) -> RefusalError | None:
    form = replace(op.form, pads_written=False) if op.pads_written else op.form
    for place, size in enumerate(sizes):
        theirs, ours = specification(form, place, size, kind), onnxruntime(form, place, size, kind)
        if ours is None or theirs is None:
            return None
        if op.operator.pools and _is_spread(op.windows[place]):
            return _refusal(op, place, size, kind)  # windows alike may read other fills
        for said, does in ((theirs.begin, ours.begin), (theirs.windows, ours.windows)):
            one, other = (where(ours.runs, each, 0) for each in (said, does))
            if one != other or isinstance(one, Unknown):
                return _refusal(op, place, size, kind)
    return None


def misreads_same(form: WindowForm) -> bool:
    """Whether onnxruntime stops at, or computes something else of, a SAME at some size."""
    size = symbol("any size")
    for place in range(len(form.axes)):
        theirs, ours = (each(form, place, size, None) for each in (specification, onnxruntime))
        if ours is None or theirs is None or theirs[:3] != ours[:3]:
            return True
        if always(ours.runs) is not True:
            return True
    return False


def why_not_run(op: WindowOp, sizes: Callable[[], Sequence[Extent]], dtype: Type) -> str:
    """Why onnxruntime does not run an operator for its padding; empty where it may run it."""
    form, notes = op.form, op.node.notes
    key = why_not_run, form
    if key in notes:  # a convolution runs so at any size
        return ""
    kind = dtype()
    for place, size in enumerate(sizes()):
        placed = onnxruntime(form, place, size, kind)
        if placed is None and onnxruntime(replace(form, pads_written=False), place, size, kind):
            return "auto_pad beside pads"
        if placed is None:
            if op.operator.pools:
                return "pads that are not below the kernel"
            return f"{op.auto_pad} with dilation"
        if always(placed.runs) is False and always(less_equal(1, size)) is not False:
            return f"{op.auto_pad} with a kernel below the stride"
    if not op.operator.pools:
        notes[key] = True
    return ""


def _refusal(op: WindowOp, place: int, size: Extent, dtype: int | None) -> RefusalError:
    axis, window = op.axes[place], op.windows[place]
    how = f"kernel {window.kernel} below stride {window.stride}"
    if _is_spread(window):
        how = f"dilation {window.dilation}, for which onnxruntime does not pad a pool"
    facts: dict[str, object] = {
        "auto_pad": op.auto_pad,
        "axis": axis,
        "kernel": window.kernel if isinstance(window.kernel, int) else None,
        "stride": window.stride,
        "dilations": [each.dilation for each in op.windows],
    }
    words = f"onnxruntime and the specification disagree on {op.auto_pad} with {how}"
    brief = ""
    examples = list(_examples(op, place, size, dtype))
    running = (each for each in examples if always(less_equal(1, each[1].windows)))
    example = next(running, next(iter(examples), None))
    if example is not None:
        at, ours, theirs = example
        where_ = f"on axis {axis} of size {at}" if isinstance(size, int) else f"at size {at}"
        brief = words if isinstance(size, int) else ""
        words += f": {where_} {_reads('onnxruntime', ours)}, {_reads('the specification', theirs)}"
        for name, placed in (("onnxruntime", ours), ("specification", theirs)):
            facts[name] = {"pads": [placed.begin, placed.end], "windows": placed.windows}
        facts["size"] = at
    return RefusalError(
        Reason.ENGINES_DISAGREE,
        words,
        brief,
        **facts,
        disagreement=words,
        options=BY_TRUST,
    )


def _reads(engine: str, placed: Placed) -> str:
    count = placed.windows
    many = counted(max(count, 0), "element") if isinstance(count, int) else "an unknown number"
    return f"{engine} pads {placed.begin}+{placed.end} and gives {many}"


def _examples(
    op: WindowOp, place: int, size: Extent, dtype: int | None
) -> Iterator[tuple[int, Placed, Placed]]:
    """The sizes at which the two engines differ, with what each makes of them."""
    if isinstance(op.windows[place], OpenWindow):
        return
    for at in _admitted(size):
        ours, theirs = (each(op.form, place, at, dtype) for each in (onnxruntime, specification))
        if ours is not None and theirs is not None and ours[:3:2] != theirs[:3:2]:
            yield at, ours, theirs


def _admitted(size: Extent) -> Iterator[int]:
    """The values of a size, the least first; at most a few."""
    if isinstance(size, int):
        yield size
        return
    if isinstance(size, Unknown):
        yield from _admitted(symbol("any size"))
        return
    if len(size.symbols) != 1:
        yield from range(1, _MOST_TRIED)
        return
    (which,) = size.symbols
    for index in range(min(which.sizes.count, _MOST_TRIED)):
        value = evaluate(size, {which.name: which.sizes.value(index)})
        if value >= 1:
            yield value


def _is_spread(window: AnyWindow) -> bool:
    """Whether dilation makes the window longer."""
    return window.dilation != 1 and window.kernel != 1


def _constant(extent: Extent) -> int | None:
    low, high = bounds(extent)
    return low if low is not None and low == high else None
