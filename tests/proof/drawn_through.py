"""Steps on padded data, drawn, with what the proof says that they hand on, or why they do not.

`through.txt` keeps them: a version, an axis or a fill read otherwise shows there.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from onnxpad.errors import ModelError
from onnxpad.proof.layers import EITHER_ZERO, Layer, Layers, fill_of, merged
from onnxpad.proof.meaning import MeaninglessError, version_of
from onnxpad.proof.step_rules.step_node import StepNode
from onnxpad.proof.steps import STEPS, crop_of, data_inputs, through
from tests.proof.test_steps import Case, step_of
from tests.support.lines import Lines

_LINE: Final = re.compile(r"opset (\d+), (\w+) ([\dx]+), (.*?): (.*)")
_SHAPES: Final = {
    "half": "{0.5}", "two": "{2}", "minus": "{-2}", "nought": "{0}", "below": "{-0.0}",
    "most": "{3}", "least": "{-3}", "each": "[3, 1, 1] {1, 2, 3}", "same": "[3, 1, 1] {2, 2, 2}",
    "row": "[5] {1, 2, 3, 4, 5}", "rows": "[1, 5] {0, 0, 0, 0, 0}", "deep": "[1, 1, 1, 1, 1] {2}",
    "zeros": "[3] {0, 0, 0}", "ones": "[3] {1, 1, 1}", "mixed": "[3] {0.5, 1, 4}",
    "signs": "[3, 1, 1] {0.0, -0.0, 0.0}", "none": "[0] {}", "huge": "{3e38}", "tiny": "{1e-40}",
}  # fmt: skip
_OTHERS: Final = {
    "flat": "int64[3] {0, 0, -1}", "split": "int64[4] {0, 3, -1, 1}",
    "unit": "int64[4] {0, 0, 1, -1}",
    "a0": "int64[1] {0}", "a1": "int64[1] {1}", "a3": "int64[1] {3}", "last": "int64[1] {-1}",
    "a13": "int64[2] {1, -1}", "a11": "int64[2] {1, 1}", "zero": "int64[1] {0}",
    "i1": "int64[1] {1}",
    "i2": "int64[1] {2}", "far": "int64[1] {9223372036854775807}", "back": "int64[1] {-2}",
    "e4": "int64[4] {1, 3, 1, 1}", "e5": "int64[5] {2, 1, 1, 1, 1}", "e1": "int64[1] {5}",
    "e0": "int64[1] {0}", "parts": "int64[2] {1, 2}", "yes": "bool {1}", "no": "bool {0}",
    "point": "uint8 {3}", "shift": "int8 {-3}", "points": "uint8[3] {1, 2, 3}", "wide": "int32 {1}",
    "plain": "int32 {0}", "scale": "float {0.25}", "thirds": "float {3}",
    "scales": "float[3] {1, 2, 4}",
    "d": "double {0.5}", "f": "float {0.5}", "i": "int64 {2}",
}  # fmt: skip


def case_of(asked: str) -> tuple[Case, tuple[Layers, Layers]]:
    """The step that a line asks about, and the layers around `x` and around `u`.

    `half_double` is the constant `half` in double precision; without a type, in that of the data.
    """
    line = _LINE.fullmatch(asked)
    assert line
    opset, dtype, shape, layers, body = line.groups()
    given = []
    for word in sorted(set(re.findall(r"\b[a-z]\w*", body.partition(" (")[2]))):
        name, _, kind = word.partition("_")
        if name in _SHAPES:
            sizes, _, values = _SHAPES[name].rpartition("{")
            given.append(f"{kind or dtype}{sizes.strip()} {word} = {{{values}")
        elif word in _OTHERS:
            kind, _, values = _OTHERS[word].partition(" ")
            given.append(f"{kind} {word} = {values}")
    around: tuple[list[Layer], list[Layer]] = ([], [])
    for text in filter(None, layers.split(" and ")):
        pairs = [pair.split("+") for pair in text.partition(" of ")[0].split()]
        amounts = tuple((int(begin), int(end)) for begin, end in pairs)
        fills = text.partition(" of ")[2].split("|")
        for found, fill in zip(around, (fills[0], fills[-1]), strict=True):
            found.append(Layer(amounts, _fill(fill)))
    cast = re.search(r"to = (\d+)", body)
    case = Case(
        body,
        ", ".join(given),
        shape=tuple(map(int, shape.split("x"))),
        pads=[layer.amounts for layer in around[0]],  # type: ignore[misc]
        fills=[layer.fill for layer in around[0]],
        dtype=dtype,
        result=None if cast is None else {"1": "float", "6": "int32", "7": "int64"}[cast[1]],
        opset=int(opset),
        inputs="x u" if re.search(r"\bu\b", body) else "x",
        outputs=body.partition(" = ")[0].replace(",", ""),
    )
    return case, (tuple(around[0]), tuple(around[1]))


def _fill(text: str) -> float | int | str:
    if text == "either":
        return EITHER_ZERO
    try:
        return int(text) if re.fullmatch(r"-?[1-9]\d*|0", text) else fill_of(float(text))
    except ValueError:
        return text


def said(line: str) -> str:
    """The line with what is said now."""
    asked = line.partition("  =>  ")[0]
    return f"{asked}  =>  {verdict(*case_of(asked))}"


def verdict(case: Case, around: tuple[Layers, Layers]) -> str:
    """What is handed on by each output of a step, or why nothing is."""
    graph, analysis, node = step_of(case.model(padded=True), case.op)
    data = data_inputs(graph, analysis, node)
    inner = [around[node.inputs[place].name == "u"] for place in data]
    found = []
    for place, _ in enumerate(case.outputs.split()):
        passed = through(graph, analysis, node, place, inner)
        if passed is not None:
            parts = [str(passed.key), _told(passed.layers), *passed.taken]
            found.append("; ".join([*parts, "with crops"] if passed.crops else parts))
            continue
        try:
            step = STEPS[node.op]
            version = version_of(node.op, graph.opset, node.attrs, step.versions)
            step.rule(StepNode(graph, analysis, node, version, place, data, tuple(inner)))
            found.append("refused before the rule")
        except (MeaninglessError, ModelError):
            found.append("refused")
    if node.op == "Slice":
        found.append(f"crops {crop_of(graph, analysis, node)}")
    if len(case.layers) > 1:
        found.append(f"merged {_told(merged(case.layers))}")
    return f"{len(data)} padded: " + " / ".join(found)


def _told(layers: Sequence[Layer] | Layers) -> str:
    said = []
    for amounts, fill in layers:
        said += [f"{' '.join(f'{begin}+{end}' for begin, end in amounts)} of {fill!r}"]
    return " and ".join(said) or "bare"


LINES: Final = Lines(Path(__file__).with_name("through.txt"), said)
