"""Arrays given for a model, and what is made of them: matched, parted, aligned or refused.

`arrays.txt` keeps it. A line names a model and gives arrays by name, as `x=1x2x3x4` of ascending
elements, with a type as `:int64` and a number to add as `+1`; `/` stands between sets, and `moved`
moves the channels last. Behind `align` stand a shape and the one wanted; behind `compare` a type,
and elements before and after; behind `alike` also moved ones; behind `flat` some of each output.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

from onnxpad.errors import UsageError
from onnxpad.validation.align import aligned
from onnxpad.validation.compare import alike, compare, is_flat
from onnxpad.validation.draw import outline
from onnxpad.validation.given import matched_inputs
from tests.support import parsed
from tests.support.lines import Lines

_MODELS: Final = {
    "two": "g (float[1, 2, 3, 4] x, int64[2] i) => (float[1, 2, 3, 4] y, float[2] z) "
    "{ h = Relu (x) y = Neg (h) z = Cast <to = 1> (i) }",
    "open": "g (float[N,3,H,W] x, int64[2] i) => (float[N,3,H,W] y, float[N,3,H,W] z) "
    "{ y = Relu (x) z = Gather (y, i) }",
    "square": "g (float[1, 3, 3, 3] x) => (float[1, 3, 3, 3] y) { y = Relu (x) }",
    "rankless": "g (float[1, 3, 3, 3] x) => (float[] y) { y = Relu (x) }",
    "text": "g (string[2] s) => (string[2] t) { t = Identity (s) }",
    "list": "g (float[2] x) => (seq(float[2]) q, float[2] y) "
    "{ q = SequenceConstruct (x) y = Neg (x) }",
}


def said(line: str) -> str:
    """The line with what is made of the arrays now."""
    asked = line.partition("  =>  ")[0]
    kind, _, rest = asked.partition(" | ")
    if kind in {"compare", "alike", "flat"}:
        return f"{asked}  =>  {_compared(kind, rest)}"
    if kind == "align":
        shape, _, wanted = rest.partition(" as ")
        sizes = [int(each) if each.isdigit() else each for each in wanted.split("x") if each]
        fit = aligned(_array(shape), sizes)
        return f"{asked}  =>  {'refused' if fit is None else _some('', fit.array)}"
    inputs, reference, *inner = rest.split(" | ")
    try:
        model = outline(parsed(_MODELS[kind]))
        asked_for = inner[0].split() if inner else None
        found = matched_inputs(model, _sets(inputs), _sets(reference), asked_for)
    except UsageError:
        return f"{asked}  =>  refused"
    parts = [" ".join(_some(*each) for each in draw.feeds.items()) for draw in found.draws]
    for word, given in (("expected", found.expected), ("inner", found.inner)):
        parts += [f"{word} {' '.join(_some(*each) for each in s.items())}" for s in given if s]
    parts += [f"{len(found.notes)} notes"] * bool(found.notes)
    return f"{asked}  =>  {'; '.join(parts)}"


def _compared(kind: str, text: str) -> str:
    """Two outputs compared, three, or whether several tell nothing."""
    dtype, *parts = text.split(" | ")
    arrays = [_elements(part, dtype) for part in parts]
    if kind == "flat":
        return str(is_flat(arrays))
    if kind == "alike":
        return str(alike("y", *arrays))
    found = compare("y", *arrays)
    cosine = "no cosine" if found.cosine is None else f"cosine {found.cosine:.6g}"
    words = "equal" if found.equal else "ok" if found.ok else "not"
    return f"{words}, {found.max_abs:.4g} {found.max_rel:.4g}, {cosine}, ulp {found.ulp}"


def _elements(text: str, dtype: str) -> Any:
    """Elements of a type, perhaps of another behind `as`, in a shape behind `in`."""
    text, _, shape = text.partition(" in ")
    text, _, other = text.partition(" as ")
    kind: Any = np.dtype(getattr(ml_dtypes, other or dtype, other or dtype))
    found: Any = np.array(text.split(), object)
    if kind.kind != "O":
        read = complex if kind.kind == "c" else int if kind.kind in "iub" else float
        found = np.array([read(each) for each in found], kind)
    return found.reshape([int(size) for size in shape.split("x") if size]) if shape else found


def _sets(text: str) -> Any:
    """One set of arrays, or several; None for nothing."""
    sets = [dict(_named(part)) for part in text.split(" / ")]
    return None if text == "none" else sets[0] if len(sets) == 1 else sets


def _named(text: str) -> Iterator[tuple[str, Any]]:
    for each in text.split():
        name, _, shape = each.partition("=")
        if name:
            yield name, _array(shape)


def _array(text: str) -> Any:
    asked, *kinds = text.split(":")
    shape, _, more = asked.partition("+")
    sizes = [int(size) for size in shape.split("x") if size]
    found: Any = np.arange(np.prod(sizes, dtype=int)).reshape(sizes) + float(more or 0)
    for kind in kinds or ["float32"]:
        found = np.moveaxis(found.astype("f4"), 1, -1) if kind == "moved" else found.astype(kind)
    return found


def _some(name: str, value: Any) -> str:
    """An array by type, shape and its first elements and last."""
    shape = "x".join(map(str, value.shape)) or "scalar"
    few = [*value.ravel()[:3], *value.ravel()[-1:]]
    ends = ",".join(str(each).removesuffix(".0") for each in few)
    swapped = "swapped " * (not value.dtype.isnative)
    return f"{name} {swapped}{value.dtype.kind}{value.dtype.itemsize} {shape} {ends}".strip()


LINES: Final = Lines(Path(__file__).with_name("arrays.txt"), said)
