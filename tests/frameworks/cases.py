"""What is said of the padding of frameworks, as lines of text.

`cases.txt` has cases chosen by hand, one for each kind, which are asked in every run; `drawn.txt`
has others, by the hundred. What is asked stands behind:

- `explain`: an operator as the command takes it; what each convention pads there.
- `fits`: inputs, and the nodes of a graph; what `show` says of its last operator that pads, what
  `check --convention` warns of, and what `repad` leaves since it is a framework's already.
- `repad`: the sizes of `x`, and an operator; the intent that is read, and what is written, by
  framework. A weight `w3` has 3 elements on each axis.
- `repads`: the same of an opset and an operator on one of the tensors of `_INPUTS`.
- `match`: a small model and a reference of another padding, as `repadding/matches.py` has it.
- `front`: the nodes of a graph; of the operator that gives `y` its own padding, that of `Pad`s in
  front, and the whole in numbers.
- `gap`: a type, an output wanted and one found, by elements or shape, and what is allowed; whether
  it is reproduced, how far shape and values are off, and the bits that tell them apart.
- `settled`: an opset, an operator, a padding and sizes; the padding that the opset can tell.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx

import onnxpad
from onnxpad.facts import Analysis
from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.reading import SiteReader
from onnxpad.frameworks.repadding.comparing import Closeness, bits, gap
from onnxpad.frameworks.repadding.sites import settled, sites_of
from onnxpad.frameworks.repadding.towards import repad_graph
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.report.json import json_of
from onnxpad.rewrite.pass_api import Context
from onnxpad.semantics.operators import read_window
from tests.frameworks.repadding.matches import matched
from tests.support import BORDER, W, one
from tests.support.lines import Lines, facts

_ASKED: Final = ("tensorflow", "keras", "pytorch", "caffe", "cudnn")


def ones(name: str, *shape: int) -> str:
    """An initializer full of ones."""
    return f"float[{', '.join(map(str, shape))}] {name} = {{{', '.join(['1'] * math.prod(shape))}}}"


_GIVEN: Final = ", ".join(
    (
        *(W, BORDER, ones("r", 4, 2, 3), ones("b", 2, 3, 3, 3), ones("k", 1, 1, 3)),
        *(ones("v", 2, 2, 3, 3), ones("u", 3, 4, 3, 3), "bool yes = {1}", "int64[2] axes = {0, 1}"),
        "int64[8] q = {0, 0, 0, 0, 0, 0, 1, 1}, int64[8] deep = {0, 0, 2, 0, 0, 0, 0, 2}",
    )
)


def said(line: str) -> str:
    """The line with what is said now."""
    asked = line.partition("  =>  ")[0]
    kind, _, question = asked.partition(": ")
    told = _ASKS[kind](*question.split(" | "))
    return f"{asked}  =>  {told}"


def _explain(operator: str) -> str:
    """What `explain` says."""
    words = (each.split("=") for each in operator.split())
    given: dict[str, Any] = {name.replace("-", "_"): value for name, value in words}
    found = onnxpad.explain(**given)
    assert str(found)
    return " | ".join(_explained(json.loads(json_of(found))))


def _explained(found: dict[str, Any]) -> Iterator[str]:
    """Amounts by convention, who agrees, who cannot, where they part, and how each is written."""
    for name, form in found["conventions"].items():
        if form is not None:
            pads = " ".join(f"{begin}+{end}" for begin, end in form["pads"])
            counts = " counted" * found["about"][name]["counts_padding"]
            yield f"{name} {pads} to {'x'.join(map(str, form['output']))}{counts}"
    yield from (f"agree {' '.join(names)}" for names in found["agree"])
    yield f"not {' '.join(found['refused'])}"
    if reach := found["reach"]:
        ways = {**reach["conventions"], "any": [reach["explicit"]] * reach["possible"]}
        told = {n: [(e["pads"], e["output_padding"]) for e in some] for n, some in ways.items()}
        yield f"reach {json.dumps(reach['axes'])} {told} {facts(reach['refused'])}"
    for each in found["periods"]:
        groups = ", ".join(" ".join(names) for names in each["agree"] if len(names) > 1)
        yield f"from {found['since']} at {each['remainders']} of {found['period']}: {groups}"
    for names in found["agree"]:
        about = found["about"][names[0]]
        yield from (f"{kind}: {about[kind]}" for kind in ("pytorch", "keras", "onnx"))


def _fits(inputs: str, body: str) -> str:
    """What `show` says, then each framework with what `check` finds and whether `repad` stays."""
    model = one(body, inputs=inputs, initializers=_GIVEN, opset=19)
    sites = onnxpad.show(model).sites[-1:]
    told = [f"{e.amounts} {e.convention or 'none'}: {' '.join(e.conventions)}" for e in sites]
    told += [str(facts(e.evidence)) for e in onnxpad.check(model, select="PAD6").findings]
    for name in _ASKED:
        found = onnxpad.check(model, convention=name, select="PAD6").findings
        _, stays = repad_graph(Graph.from_proto(model), FRAMEWORKS[name])
        same = sum(each.is_same for each in stays)
        parts = [
            f"{each.node} {each.evidence['would_be']} {each.evidence['same_at']}"
            if "would_be" in each.evidence
            else f"{'causal' if 'causal' in each.message else 'unknown'} {each.node}"
            for each in found
        ]
        told.append(f"{name} {', '.join(parts) or 'fits'}, {same} the same of {len(stays)} left")
    return "; ".join(told)


def _repads(sizes: str, body: str) -> str:
    """The intent and the attributes by framework."""
    axes = sizes.count(",") + 1
    kernels = re.findall(r"\bw(\d+)\b", body)
    weights = [ones(f"w{kernel}", 1, 1, *[int(kernel)] * axes) for kernel in kernels]
    model = one(f"y = {body}", inputs=f"float[1, 1, {sizes}] x", initializers=", ".join(weights))
    return _repadded(model)


_INPUTS: Final = "float[1, 2, 9, 8] x, float[1, 2, h, w] o, float[1, 2, 7] s, float[1, 2, n] r"
_WEIGHTS: Final = ", ".join(
    ones(f"w{kernel}x{axes}", 2, 2, *[kernel] * axes) for kernel in (1, 2, 3, 4) for axes in (1, 2)
)


def _repads_of(opset: str, body: str) -> str:
    """The same of an operator on one of several inputs."""
    model = one(f"y = {body}", inputs=_INPUTS, initializers=_WEIGHTS, opset=int(opset))
    return _repadded(model)


def _repadded(model: onnx.ModelProto) -> str:
    """What is written of a model's one operator: frameworks that agree stand together."""
    by_text: dict[str, list[str]] = {}
    for name, framework in FRAMEWORKS.items():
        changes, unchanged = repad_graph(Graph.from_proto(model), framework)
        texts = ["stays same" if each.is_same else "stays" for each in unchanged]
        texts += [f"{e.intent}, {dict(sorted(e.attributes_after.items()))}" for e in changes]
        (text,) = texts
        by_text.setdefault(text, []).append(name)
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in by_text.items())


def _front(body: str) -> str:
    """The padding of the operator that gives `y`."""
    inputs = "float[1, 2, 9, 8] x, float[1, 2, h, v] open, int64[8] r"
    given = f"{W}, int64[1] i = {{2}}, int64[1] e = {{7}}, int64[8] p = {{0, 0, 1, 2, 0, 0, 3, 4}}"
    given += ", int64[8] q = {0, 9, 5, 0, 0, 0, 0, 7}, int64[8] none = {0, 0, 0, 0, 0, 0, 0, 0}"
    graph = Graph.from_proto(one(body, inputs=inputs, initializers=given))
    analysis, node = Analysis(graph), graph.tensor("y").producer
    assert node is not None
    site = SiteReader(graph, analysis).of(read_window(graph, analysis, node))
    whole = site.whole and (site.whole.numbers, site.whole.counted)
    return f"own {site.own}, front {site.front.amounts}, whole {whole}"


def _gap(wanted: str, found: str, allowed: str) -> str:
    """How far one output is from another, and what tells them apart."""
    kind, _, wanted = wanted.partition(" ")
    one, other = (_array(each, kind) for each in (wanted, found))
    closeness = Closeness(**{k: float(v) for k, v in (e.split("=") for e in allowed.split())})
    seen = gap(one, other, closeness)
    far = f"{seen.gap:.4g} in shape, {seen.greatest:.4g} at most, {seen.error:.4g}"
    told = bits({(0, "y"): one}, {(0, "y"): other}, 0)
    return f"{'solved' if seen.solved else 'not'}, {far}, {told:.4g} bits"


def _array(text: str, kind: str) -> Any:
    if "x" in text:
        return np.ones([int(size) for size in text.split("x")], kind)
    return np.array([each if kind == "object" else float(each) for each in text.split()]).astype(
        kind
    )


def _settled(opset: str, body: str, padding: str, sizes: str) -> str:
    """A padding as the opset can tell it, of an operator with two open sizes."""
    begin, end, *marks = padding.split()
    pairs = None if begin == "same" else ((int(begin), int(end)),) * 2
    asked = Padding(pairs, ceil="up" in marks, counted="counted" in marks)
    inputs = "float[1, 1, h, k] x, float[1, 1, 3, 3] w"
    (site,), _ = sites_of(Context(Graph.from_proto(one(body, inputs=inputs, opset=int(opset)))))
    now = settled(site, asked, tuple(map(int, sizes.split())), int(opset))
    return f"{now.pads}{' up' * now.ceil}{' counted' * now.counted}"


_ASKS: Final[dict[str, Callable[..., str]]] = {
    "explain": _explain,
    "fits": _fits,
    "repad": _repads,
    "repads": _repads_of,
    "match": matched,
    "front": _front,
    "gap": _gap,
    "settled": _settled,
}
CASES: Final = Lines(Path(__file__).with_name("cases.txt"), said)
LINES: Final = Lines(Path(__file__).with_name("drawn.txt"), said)
