"""The few operators of a change before and after, or around the node of a finding, as boxes.

Nothing in it names a node or a tensor, so that equal changes have equal graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from onnxpad.finding import Change
from onnxpad.records import dataclass
from onnxpad.site_form import SiteForm, StepForm

State: TypeAlias = Literal["tensor", "box", "removed", "added", "changed"]


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


def _step(step: StepForm, proved: Mapping[str, Any] = MappingProxyType({})) -> Box:
    """A step as it is written, with the one fill that was proved."""
    fills = {*proved.get("outside", ())} if step.kind == "pad" and step.fill is None else set()
    filled = f"with {next(iter(fills))}" if len(fills) == 1 and fills.isdisjoint({0, None}) else ""
    moved = step.beside if step.kind == "step" else ()
    lines = (_window_line(step.windows), step.details, filled, *moved)
    return Box(step.op, tuple(filter(None, lines)))


def _chain(boxes: Sequence[Box]) -> Boxes:
    """Boxes below the data, each fed by the one above."""
    steps = [replace(box, above=(place,)) for place, box in enumerate(boxes)]
    return (Box("data", state="tensor"), *steps)


def finding_graph(form: SiteForm) -> Boxes:
    """The node of a finding, and of a `Pad` also the nodes that read it, each fed by it."""
    boxes = _chain([_step(step) for step in form.steps])
    above = (len(boxes) - 1,)
    return (*boxes, *(replace(_step(each), above=above) for each in form.readers))


def _window_line(windows: Sequence[tuple[int | None, int, int]]) -> str:
    """Kernel, stride and dilation, as far as they are not 1: `kernel 3x3, stride 2x2`."""
    names, values = ("kernel", "stride", "dilation"), zip(*windows, strict=True)
    return ", ".join(
        f"{name} {'x'.join('?' if value is None else str(value) for value in sizes)}"
        for name, sizes in zip(names, values, strict=bool(windows))
        if name == "kernel" or any(value != 1 for value in sizes)
    )
