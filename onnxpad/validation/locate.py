"""Where two models part: the first tensor, in topological order, that they compute differently.

Tensors are matched by name; a rewrite may remove some and add others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product, zip_longest

import onnx
from onnx import numpy_helper

from onnxpad.file.proto_walk import bodies, is_external, walked
from onnxpad.runtimes.runtime import Optimisation
from onnxpad.runtimes.sessions import Array
from onnxpad.validation.compare import Tolerance, compare, is_discrete, is_flat, shape_text
from onnxpad.validation.draw import Draw, constant_of
from onnxpad.validation.lab import Lab
from onnxpad.validation.meaning import meanings
from onnxpad.validation.result import Comparison, Divergence

_BUDGET = 1 << 28  # bytes of one model's tensors held together
_FIRST_CHUNK = 8  # tensors, while their sizes are unknown
_GROWTH = 4
_ONE_LINE = 400
_PADDING = {"pads", "auto_pad", "ceil_mode", "count_include_pad"}
_SHORT = 16  # the most elements of a constant whose numbers are shown


class _Nodes:
    """The nodes of the main graph of one model, by the names of their outputs."""

    def __init__(self, lab: Lab, name: str) -> None:
        graph = lab.proto(name).graph
        self.made = {name: node for node in graph.node for name in node.output if name}
        self.held = {each.name: each for each in graph.initializer}

    def upstream(self, names: Collection[str], ends: Collection[str] = ()) -> set[str]:
        """Tensors, and all that they are computed from, also in bodies, up to some ends."""
        waiting, seen = [*names], {*names}
        while waiting:
            name = waiting.pop()
            for each in walked([self.made[name]] if name in self.made and name not in ends else []):
                ended = (output.name for body in bodies(each) for output in body.output)
                fresh = {*filter(None, each.input), *ended} - seen
                seen |= fresh
                waiting += fresh
        return seen

    def operand(self, name: str) -> tuple[str, object]:
        """An input of a node in words, and the constant that it is, else None."""
        node = self.made.get(name)
        held = self.held.get(name) if node is None else constant_of(node)
        if held is None:
            made = "an input of the model" if node is None else f"computed by {self.label(name)}"
            return made if name else "absent", None
        text = f"a constant {[*held.dims]}"
        with suppress(ValueError, TypeError, KeyError, IndexError):  # damaged
            values = None if is_external(held) else numpy_helper.to_array(held)
            if values is not None:
                is_short = values.size <= _SHORT and values.dtype.kind in "biuf"
                text = f"constant {values.tolist()}" if is_short else f"{text} of {values.dtype}"
                return text, (text, values.tobytes())
        return text, text

    def label(self, name: str) -> str:
        """The node of a tensor in words, such as `Conv_12 (Conv)`."""
        node = self.made[name]
        name = node.name or f"<{next(filter(None, node.output), '')}>"
        return f"{name} ({node.op_type})"


def first_difference(
    lab: Lab, outputs: Collection[str], draw: Draw, provider: str, tolerance: Tolerance
) -> Divergence | None:
    """The first tensor that differs and causes a difference in an output, when run again.

    Both models run with optimisation off, once for each chunk of tensors. A tensor that differs is
    ignored if it reaches `outputs` only through others that agree: its name may have been reused.
    """
    ours, theirs = _Nodes(lab, "original"), _Nodes(lab, "rewritten")
    order = [name for name in ours.made if name in theirs.made]
    found = dict[str, tuple[Comparison, tuple[str, str]]]()
    agreeing = set[str]()
    for name, ((before, after),) in _values(lab, order, [draw], provider):
        seen = compare(name, before, after, tolerance)
        if seen.equal:
            agreeing.add(name)
        elif before.shape == after.shape:
            found[name] = seen, (str(before[seen.worst]), str(after[seen.worst]))
        else:
            found[name] = seen, (shape_text(before.shape), shape_text(after.shape))
    beyond = {name for name, (seen, _) in found.items() if not seen.ok}
    close = found.keys() - beyond
    note = "no tensor compared differs beyond the tolerance"  # rounding grew on the way
    for guilty, ends, why in ((beyond, agreeing | close, ""), ({*found}, agreeing, note)):
        reached = (ours.upstream(outputs, ends) & guilty) - ends
        for name in (each for each in order if each in reached):
            if missing := len(order) - len(agreeing) - len(found):
                why = "; ".join(filter(None, (why, f"{missing} tensors could not be compared")))
            one, other, (seen, values) = ours.made[name], theirs.made[name], found[name]
            same = one.op_type == other.op_type  # the inputs of another operator do not correspond
            return Divergence(
                tensor=name,
                producers=(ours.label(name), theirs.label(name)),
                attributes=(_attributes(one), _attributes(other)),
                inputs=(tuple(one.input), tuple(other.input)),
                comparison=seen,
                values=values,
                fed=draw.label,
                compared=len(agreeing) + len(found),
                earlier=next((each for each in order[: order.index(name)] if each in close), ""),
                note=why,
                operands=tuple(_operands(ours, theirs, one.input, other.input)) if same else (),
                is_pad=one.op_type == "Pad",
            )
    return None


def of_changed_operators(
    lab: Lab, near: Mapping[str, bool], draws: Sequence[Draw], provider: str, tolerance: Tolerance
) -> tuple[Divergence | None, int, tuple[str, ...]]:
    """Compare what changed operators upstream of outputs compute, if its name is in both models.

    These are windows that compute something else, and the first of other operators that do. Of
    windows alone it is a fault to differ: other names may have been given to other tensors. Where
    outputs are `near` each other, as behind a small scale, only windows padded otherwise are asked.
    Returned are the first difference; how many operators vary with the data and agree; and the
    outputs upstream of which something differs, but no such operator is.
    """
    ours, theirs = _Nodes(lab, "original"), _Nodes(lab, "rewritten")
    own, other = (each.tensors for each in meanings(lab).values())
    changed = {name for name in ours.made if own[name] != other.get(name)}
    outputs = [name for name, is_near in near.items() if not is_near]
    shared, upstream = changed & theirs.made.keys(), ours.upstream(outputs)

    def is_window(name: str) -> bool:
        """Whether it is one in both; a ConvTranspose that took over a crop has the Slice's name."""
        before, after = ours.made[name], theirs.made[name]
        if before.op_type != after.op_type:
            return after.op_type == "ConvTranspose" and before.op_type in {"Pad", "Slice"}
        same = [own.get(e) for e in before.input[1:]] == [other.get(e) for e in after.input[1:]]
        return same and ("Conv" in after.op_type or "Pool" in after.op_type)

    def is_padded_otherwise(name: str) -> bool:
        """Whether it is a window of which padding alone is written otherwise, or a `Pad` is fed."""
        sides = [(each.made, each.made[name]) for each in (ours, theirs)]
        one, two = ({(e.name, e.SerializeToString()) for e in each.attribute} for _, each in sides)
        fed = {made[e].op_type for made, each in sides for e in each.input[:1] if e in made}
        same = {text for text, _ in one ^ two} <= _PADDING and (one != two or "Pad" in fed)
        return same and is_window(name)

    def begins(name: str) -> bool:
        return all(other.get(each, each) in own.values() for each in theirs.made[name].input)

    asked = {name for name in shared & upstream if is_window(name) or begins(name)}
    asked |= {name for name in shared & ours.upstream(near) if is_padded_otherwise(name)}
    agreeing, wrong = set[str](), list[str]()
    for name, pairs in _values(lab, [e for e in ours.made if e in asked], draws, provider):
        ok = all(compare(name, *pair, tolerance).ok for pair in pairs)
        values = [before for before, _ in pairs]
        if ok and name not in outputs and not (is_flat(values) or all(map(is_discrete, values))):
            agreeing.add(name)
        elif not ok and is_window(name):
            wrong.append(name)
    for draw, at in product(draws, range(0, len(wrong), _FIRST_CHUNK)):
        some = wrong[at : at + _FIRST_CHUNK]
        steady = set(some) - restless(lab, some, draw, tolerance, provider).keys()
        if found := first_difference(lab, steady, draw, provider, tolerance):
            return found, 0, ()
    telling = {name: ours.upstream([name]) & agreeing for name in outputs}
    lacking = tuple(name for name in outputs if name in changed and not telling[name])
    return None, len(set[str]().union(*telling.values())), lacking


def restless(
    lab: Lab,
    names: Sequence[str],
    draw: Draw,
    tolerance: Tolerance,
    provider: str,
    level: Optimisation = "off",
) -> dict[str, Comparison]:
    """How tensors differ that the original does not compute twice alike, in one session or two."""
    where, times = (provider, level), 1 if lab.model.random else 2
    runs = lab.values("original", names, [draw] * times, *where)
    others = runs and [*runs[1:], *lab.values("original", names, [draw], *where)]
    seen = [compare(name, runs[0][name], e[name], tolerance) for e in others for name in names]
    return {each.output: each for each in seen if not each.ok}


def _values(
    lab: Lab, names: Sequence[str], draws: Sequence[Draw], provider: str
) -> Iterator[tuple[str, list[tuple[Array, Array]]]]:
    """The values of tensors in both models for each set of inputs, as many at a time as fit.

    Where a run fails its tensors are tried again, fewer at a time; one that fails alone is missing.
    """
    done, size, budget = 0, _FIRST_CHUNK, _BUDGET // len(draws)
    while some := names[done : done + size]:
        lab.progress("looking for the first difference", done, len(names))
        ours = lab.values("original", some, draws, provider)
        theirs = ours and lab.values("rewritten", some, draws, provider)
        if not theirs:
            done, size = done + (len(some) == 1), max(1, len(some) // 2)
            continue
        done += len(some)
        largest = max((each.nbytes for each in ours[0].values()), default=0)
        size = max(1, min(budget // max(largest, 1), _GROWTH * size))
        for name in (each for each in some if each in ours[0].keys() & theirs[0].keys()):
            yield name, [(one[name], two[name]) for one, two in zip(ours, theirs, strict=True)]


def _operands(
    ours: _Nodes, theirs: _Nodes, before: Sequence[str], after: Sequence[str]
) -> Iterator[str]:
    """A line for each input of a node that is a constant in one model alone, or another one."""
    for one, other in zip_longest(before, after, fillvalue=""):
        (first, held), (second, others) = ours.operand(one), theirs.operand(other)
        if held != others:
            name = one if one == other else f"{one or 'none'}, rewritten {other or 'none'}"
            more = " (other numbers)" if first == second else ""
            yield f"{name}: {first} in the original, {second} rewritten{more}"


def _attributes(node: onnx.NodeProto) -> str:
    """Attributes sorted by name, such as `pads=[0, 0, 1, 1], strides=[2, 2]`."""
    every = sorted(node.attribute, key=lambda each: each.name)
    shown = (str(onnx.helper.printable_attribute(each)) for each in every)
    text = ", ".join(each.replace(" = ", "=", 1) for each in shown)
    return text if len(text) <= _ONE_LINE else f"{text[: _ONE_LINE - 3]}..."
