"""The few nodes around a change, from the tensors that it reads to its operator, on each side.

Nothing in it names a node or a tensor, so that equal changes have equal graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
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

_MOST: Final = 12
_READERS: Final = 3
_JOINING: Final = {"Concat", "Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean"}


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


def change_graphs(change: Change, before: Outline, after: Outline) -> tuple[Boxes, Boxes]:
    """The nodes around a change before and after.

    Where they are not in both models, since other changes moved or removed them too, the graphs are
    the steps that the change names.
    """
    roots, was, now = _roots(change), before.find(change.node), after.find(change.node)
    if was is None or now is None or not roots:
        return _step_graphs(change)
    old, new = _path(*was, roots), _path(*now, roots)
    if not old or not new:
        return _step_graphs(change)
    lines = [
        {_key(node): _lines(node, scope, path) for node in path}
        for path, scope in ((old, was[1]), (new, now[1]))
    ]

    def state_before(node: onnx.NodeProto) -> State:
        return "box" if _key(node) in lines[1] else "removed"

    def state_after(node: onnx.NodeProto) -> State:
        known = lines[0].get(_key(node))
        if known is None:
            return "added"
        return "box" if known == lines[1][_key(node)] else "changed"

    return (
        _boxes(old, roots, lambda node: lines[0][_key(node)], state_before),
        _boxes(new, roots, lambda node: lines[1][_key(node)], state_after),
    )


def _step_graphs(change: Change) -> tuple[Boxes, Boxes]:
    """The steps that a change names before and after, one below the other."""
    old, new = ([*map(_step, form.steps)] for form in (change.was, change.now))
    left = [(box.title, box.lines) for box in new]
    marked = []
    for box in old:
        place = next((i for i, (title, _) in enumerate(left) if title == box.title), None)
        if place is not None:
            left.pop(place)
        marked.append(box if place is not None else replace(box, state="removed"))
    known = [(box.title, box.lines) for box in old]
    changed: list[Box] = []
    for box in new:
        same = next((i for i, (title, _) in enumerate(known) if title == box.title), None)
        state: State = "added"
        if same is not None:
            state = "box" if known.pop(same)[1] == box.lines else "changed"
        changed.append(replace(box, state=state))
    return _chain(marked), _chain(changed)


def _step(step: StepForm) -> Box:
    return Box(step.op, (step.details,) if step.details else ())


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
    path, roots = [node], set(node.input[:1])
    if node.op_type == "Pad" and node.output:
        known = {id(node)}
        for reader in scope.readers.get(node.output[0], ()):
            if id(reader) not in known and len(path) <= _READERS:
                known.add(id(reader))
                path.append(reader)
    return _boxes(path, roots, lambda each: _lines(each, scope, path), lambda _: "box")


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
        weight = 3 if node.op_type == "QLinearConv" else 1
        shape = scope.shapes.get(node.input[weight], ()) if len(node.input) > weight else ()
        kernel = shape[2:]
    return kernel


def _roots(change: Change) -> set[str]:
    facts = change.certificate.facts
    roots = facts.get("roots") or [facts.get("root")]
    return {root for root in roots if isinstance(root, str)} if isinstance(roots, list) else set()


def _path(node: onnx.NodeProto, scope: Scope, roots: Collection[str]) -> list[onnx.NodeProto]:
    """The nodes from the roots to this one, in running order; empty if there is no short way."""
    order: list[onnx.NodeProto] = []
    known: dict[int, bool] = {}
    pending = [(node, False)]
    while pending:
        each, is_done = pending.pop()
        feeds = [name for name in _data(each, scope) if name not in roots]
        above = [scope.producers[name] for name in feeds if name in scope.producers]
        if is_done:
            reaches = any(name in roots for name in _data(each, scope))
            known[id(each)] = reaches or any(known.get(id(one), False) for one in above)
            if known[id(each)]:
                order.append(each)
        elif id(each) not in known:
            known[id(each)] = False
            if len(known) > _MOST:
                return []
            pending.append((each, True))
            pending += ((one, False) for one in above)
    return order


def _data(node: onnx.NodeProto, scope: Scope) -> list[str]:
    """The tensors whose elements a node passes on or slides over."""
    given = node.input if node.op_type in _JOINING else node.input[:1]
    return [name for name in given if name and name not in scope.shapes]


def _boxes(
    path: Sequence[onnx.NodeProto],
    roots: Collection[str],
    lines: Callable[[onnx.NodeProto], tuple[str, ...]],
    state: Callable[[onnx.NodeProto], State],
) -> Boxes:
    read = list(dict.fromkeys(name for node in path for name in node.input if name in roots))
    titles = ["data"] if len(read) == 1 else [f"data {place + 1}" for place in range(len(read))]
    boxes = [Box(title, state="tensor") for title in titles]
    places = {name: place for place, name in enumerate(read)}
    for node in path:
        above = (places[name] for name in node.input if name in places)
        boxes.append(Box(qualified(node), lines(node), state(node), tuple(dict.fromkeys(above))))
        places.update(dict.fromkeys(filter(None, node.output), len(boxes) - 1))
    return tuple(boxes)


def _key(node: onnx.NodeProto) -> str:
    return f"n {node.name}" if node.name else f"o {next(filter(None, node.output), '')}"


def _lines(node: onnx.NodeProto, scope: Scope, path: Sequence[onnx.NodeProto]) -> tuple[str, ...]:
    """The attributes of a node that matter for padding, a line each."""
    given = attributes(node)
    if node.op_type == "Pad":
        return tuple(_pad_lines(node, given, scope, path))
    if given.keys() & {"pads", "auto_pad", "kernel_shape", "strides", "dilations"} or (
        node.op_type in {"Conv", "ConvTranspose", "ConvInteger", "QLinearConv"}
    ):
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
    seen: dict[str, onnx.NodeProto] = {}
    pending = [amounts]
    while pending:
        node = scope.producers.get(pending.pop())
        if node is None or node.op_type == "Constant" or _key(node) in seen:
            continue
        seen[_key(node)] = node
        if node.op_type != "Shape":
            pending += filter(None, node.input)
    return len(seen)


def _slides(node: onnx.NodeProto) -> bool:
    return any(item.name in {"kernel_shape", "strides", "pads"} for item in node.attribute) or (
        "Conv" in node.op_type
    )


def _window_lines(node: onnx.NodeProto, given: dict[str, Any], scope: Scope) -> Iterator[str]:
    kernel = _kernel(node, given, scope)
    parts = [f"kernel {_by(kernel)}"] if kernel else []
    for name, word in (("strides", "stride"), ("dilations", "dilation")):
        values = given.get(name) or ()
        if any(value != 1 for value in values):
            parts.append(f"{word} {_by(values)}")
    if parts:
        yield ", ".join(parts)
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


def _pairs(pads: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """ONNX order (all begins, then all ends) as one (begin, end) per axis."""
    half = len(pads) // 2
    return tuple(zip(pads[:half], pads[half : 2 * half], strict=True))


def _by(values: Sequence[object]) -> str:
    return "x".join(map(str, values))
