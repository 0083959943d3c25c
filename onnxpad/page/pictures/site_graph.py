"""The few operators of a change before and after, or around the node of a finding, as boxes.

Nothing in it names a node or a tensor, so that equal changes have equal graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

import onnx

from onnxpad.arithmetic.notation import attribute_text, axes_text, pads_text
from onnxpad.file.proto_walk import qualified
from onnxpad.finding import Change, Finding
from onnxpad.page.pictures.both_graphs import Outline, Scope, attributes
from onnxpad.records import dataclass
from onnxpad.report.text import counted
from onnxpad.site_form import StepForm

State: TypeAlias = Literal["tensor", "box", "removed", "added", "changed"]

_READERS: Final = 3


@dataclass(frozen=True, slots=True)
class Box:
    """A node, or a tensor at the edge, as it is drawn.

    Attributes:
        title: The operator, or a word for the tensor.
        lines: The attributes that matter for padding.
        state: How it is drawn.
        above: The boxes that feed it, by index.
    """

    title: str
    lines: tuple[str, ...] = ()
    state: State = "box"
    above: tuple[int, ...] = ()


Boxes: TypeAlias = tuple[Box, ...]


def change_graphs(change: Change) -> tuple[Boxes, Boxes]:
    """How a change found the padding, and how it is written now: operators below the data."""
    old, new = (
        [_step(step, change.certificate.facts) for step in form.steps]
        for form in (change.was, change.now)
    )
    left = [box.title for box in new]
    marked = []
    for box in old:
        stays = box.title in left
        if stays:
            left.remove(box.title)
        marked.append(box if stays else replace(box, state="removed"))
    known = [(box.title, box.lines) for box in old]
    changed: list[Box] = []
    for box in new:
        same = next((i for i, (title, _) in enumerate(known) if title == box.title), None)
        state: State = "added"
        if same is not None:
            state = "box" if known.pop(same)[1] == box.lines else "changed"
        changed.append(replace(box, state=state))
    return _chain(marked), _chain(changed)


def _step(step: StepForm, proved: Mapping[str, Any]) -> Box:
    """A step of a change, with the window and the one fill that were proved."""
    axes = proved.get("axes", ()) if step.kind == "window" else ()
    sizes = ([axis[name] for axis in axes] for name in ("kernel", "stride", "dilation"))
    fills = {*proved.get("outside", ())} if step.kind == "pad" and step.fill is None else set()
    filled = f"with {next(iter(fills))}" if len(fills) == 1 and fills.isdisjoint({0, None}) else ""
    return Box(step.op, tuple(filter(None, (_window_line(*sizes), step.details, filled))))


def _chain(boxes: Sequence[Box]) -> Boxes:
    """Boxes below the data, each fed by the one above."""
    steps = [replace(box, above=(place,)) for place, box in enumerate(boxes)]
    return (Box("data", state="tensor"), *steps)


def finding_graph(finding: Finding, outline: Outline) -> Boxes:
    """The node of a finding with what it reads, and of a `Pad` also the nodes that read it."""
    found = outline.find(finding.node)
    if found is None:
        return ()
    node, scope = found
    path = [node]
    if node.op_type == "Pad" and node.output:
        known = {id(node)}
        for reader in scope.readers.get(node.output[0], ()):
            if id(reader) not in known and len(path) <= _READERS:
                known.add(id(reader))
                path.append(reader)
    boxes = [Box("data", state="tensor")] if node.input else []
    places = dict.fromkeys(node.input[:1], 0)
    for each in path:
        above = (places[name] for name in each.input if name in places)
        fed = tuple(dict.fromkeys(above))
        boxes.append(Box(qualified(each), _lines(each, scope, path), above=fed))
        places.update(dict.fromkeys(filter(None, each.output), len(boxes) - 1))
    return tuple(boxes)


def auto_padded(finding: Finding, outline: Outline) -> tuple[str, list[tuple[int, int, int]]]:
    """The `auto_pad` of a node, and kernel, stride and dilation of its axes if they are known."""
    found = outline.find(finding.node)
    if found is None:
        return "", []
    node, scope = found
    given = attributes(node)
    kernel = _kernel(node, given, scope)
    ones = [1] * len(kernel)
    strides, dilations = (given.get(name) or ones for name in ("strides", "dilations"))
    known = len(kernel) == len(strides) == len(dilations)
    windows = list(zip(kernel, strides, dilations, strict=True)) if known else []
    return str(given.get("auto_pad", "")), windows


def _kernel(node: onnx.NodeProto, given: dict[str, Any], scope: Scope) -> Sequence[int]:
    """Sizes of the window, by the attribute or by the weight; empty if they are not known."""
    kernel: Sequence[int] = given.get("kernel_shape") or ()
    if not kernel and "Conv" in node.op_type:
        shapes = (scope.shapes.get(name, ()) for name in node.input[1:])
        kernel = next((shape[2:] for shape in shapes if len(shape) > 2), ())  # its weight's
    return kernel


def _lines(node: onnx.NodeProto, scope: Scope, path: Sequence[onnx.NodeProto]) -> tuple[str, ...]:
    """The attributes of a node that matter for padding, a line each."""
    given = attributes(node)
    if node.op_type == "Pad":
        return tuple(_pad_lines(node, given, scope, path))
    if _slides(node):
        return tuple(_window_lines(node, given, scope))
    if node.op_type == "Transpose" and "perm" in given:
        return (f"perm {given['perm']}",)
    return (f"axis {given['axis']}",) if node.op_type == "Concat" and "axis" in given else ()


def _pad_lines(
    node: onnx.NodeProto,
    given: dict[str, Any],
    scope: Scope,
    path: Sequence[onnx.NodeProto],
) -> Iterator[str]:
    mode = given.get("mode", "constant")
    if mode != "constant":
        yield str(mode)
    amounts = given.get("pads", given.get("paddings"))
    if amounts is None and len(node.input) > 1:
        amounts = scope.constants.get(node.input[1])
    axes = scope.constants.get(node.input[3]) if len(node.input) > 3 else None
    if amounts is None:
        computing = _computing(node.input[1], scope) if len(node.input) > 1 else 0
        by = f" by {counted(computing, 'node')}" if computing else ""
        yield f"amounts computed{by}"
    else:
        pairs = _pairs([int(each) for each in amounts])
        is_read = any(_slides(each) and each.input[:1] == node.output[:1] for each in path)
        is_spatial = axes is None and len(pairs) > 2 and pairs[:2] == ((0, 0), (0, 0))
        if is_read and is_spatial:
            yield pads_text(pairs[2:])
        else:
            fits = axes is not None and len(axes) == len(pairs)
            yield axes_text(pairs, [int(each) for each in axes] if axes and fits else None)
    fill = scope.constants.get(node.input[2]) if len(node.input) > 2 else [given.get("value", 0.0)]
    if mode == "constant" and fill and fill[0]:
        yield f"with {fill[0]:g}"


def _computing(amounts: str, scope: Scope) -> int:
    """The number of nodes that compute a tensor from shapes and constants, as `show` counts them.

    Constants, and what is upstream of a Shape, are not counted.
    """
    seen: set[int] = set()
    pending = [amounts]
    while pending:
        node = scope.producers.get(pending.pop())
        if node is None or node.op_type == "Constant" or id(node) in seen:
            continue
        seen.add(id(node))
        if node.op_type != "Shape":
            pending += filter(None, node.input)
    return len(seen)


def _slides(node: onnx.NodeProto) -> bool:
    names = {"auto_pad", "dilations", "kernel_shape", "pads", "strides"}
    return "Conv" in node.op_type or any(item.name in names for item in node.attribute)


def _window_lines(node: onnx.NodeProto, given: dict[str, Any], scope: Scope) -> Iterator[str]:
    steps = (given.get(name) or () for name in ("strides", "dilations"))
    if line := _window_line(_kernel(node, given, scope), *steps):
        yield line
    pads = given.get("pads") or ()
    auto_pad = given.get("auto_pad", "NOTSET")
    if auto_pad != "NOTSET":
        yield f"auto_pad {auto_pad}"
    elif any(pads) and len(pads) % 2 == 0:
        yield attribute_text(_pairs([int(each) for each in pads]))
    else:
        yield "no pads"
    if any(given.get("output_padding") or ()):
        yield f"output_padding {_by(given['output_padding'])}"
    flags = [name for name in ("ceil_mode", "count_include_pad") if given.get(name)]
    if flags:
        yield ", ".join(flags)


def _window_line(
    kernel: Sequence[object], stride: Sequence[object], dilation: Sequence[object]
) -> str:
    """Kernel, stride and dilation, as far as they are not 1: `kernel 3x3, stride 2x2`."""
    parts = [f"kernel {_by(kernel)}"] if kernel else []
    for word, values in (("stride", stride), ("dilation", dilation)):
        if any(value != 1 for value in values):
            parts.append(f"{word} {_by(values)}")
    return ", ".join(parts)


def _pairs(pads: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """ONNX order (all begins, then all ends) as one (begin, end) per axis."""
    half = len(pads) // 2
    return tuple(zip(pads[:half], pads[half : 2 * half], strict=True))


def _by(values: Sequence[object]) -> str:
    return "x".join(map(str, values))
