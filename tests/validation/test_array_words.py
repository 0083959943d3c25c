"""What is made of arrays given in memory, in words: matched, parted, aligned, noted or refused."""

from textwrap import fill
from typing import Any

import numpy as np
import pytest

from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import UsageError
from onnxpad.validation.arrays import MatchedInputs, matched_inputs, require_within, settled
from onnxpad.validation.inputs import Draw, outline
from tests.support import parsed
from tests.support.rows import each_row


def array(*shape: int, kind: str = "float32") -> Any:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)


MODEL = parsed(
    "g (float[1, 2, 3, 4] x, int64[2] i) => (float[1, 2, 3, 4] y, float[2] z) "
    "{ h = Relu (x) y = Neg (h) z = Cast <to = 1> (i) }"
)
SQUARE = parsed("g (float[1, 3, 3, 3] x) => (float[1, 3, 3, 3] y) { y = Relu (x) }")
RANKLESS = parsed("g (float[1, 3, 3, 3] x) => (float[] y) { y = Relu (x) }")
TEXT = parsed("g (string[2] s) => (string[2] t) { t = Identity (s) }")
X, IDS, Y, Z = array(1, 2, 3, 4), array(2, kind="int64"), array(1, 2, 3, 4) + 1, array(2)
LAST, MANY = np.moveaxis(X, 1, -1), array(3, 2, 3, 4)
ALL = {"x": X, "i": IDS, "y": Y, "z": Z}

ROWS: dict[str, dict[str, Any]] = {
    "inputs": {"inputs": {"x": X, "i": IDS}},
    "inputs in two sets": {"inputs": [{"x": X, "i": IDS}, {"x": X + 1, "i": IDS}]},
    "inputs among outputs": {"inputs": ALL},
    "inputs of other names": {"inputs": {"a": X, "b": IDS}},
    "one of another name": {"inputs": {"a": X, "i": IDS}},
    "too many": {"inputs": {"a": X, "b": IDS, "c": X}},
    "too few": {"inputs": {"x": X}},
    "of another shape": {"inputs": {"x": array(1, 2, 3, 5), "i": IDS}},
    "of another shape, by order": {"inputs": {"a": array(1, 2, 3, 5), "i": IDS}},
    "of another type": {"inputs": {"x": X.astype(np.int64), "i": IDS}},
    "of the other byte order": {"inputs": {"x": X.astype(">f4"), "i": IDS}},
    "channels last": {"inputs": {"x": LAST, "i": IDS}},
    "samples": {"inputs": {"x": array(3, 3, 3, 3)}, "model": "square"},
    "samples of two inputs": {"inputs": {"x": MANY, "i": array(3, 2, kind="int64")}},
    "samples of two counts": {"inputs": {"x": MANY, "i": IDS}},
    "more samples": {"inputs": {"x": array(40, 3, 3, 3)}, "model": "square"},
    "a reference": {"reference": ALL},
    "a reference of other names": {"reference": {"a": X, "b": IDS, "c": Y, "d": Z}},
    "a reference of one output": {"reference": {"x": X, "i": IDS, "y": Y}},
    "a reference of no output": {"reference": {"x": X, "i": IDS}},
    "a reference of no input": {"reference": {"y": Y, "z": Z}},
    "a reference with an inner tensor": {"reference": {**ALL, "h": X}},
    "an inner tensor asked for": {"reference": {**ALL, "h": X}, "inner": ["h", "x"]},
    "inner tensors alone": {"reference": {"x": X, "i": IDS, "h": X}, "inner": ["h"]},
    "both": {"inputs": {"x": X, "i": IDS}, "reference": {"y": Y, "z": Z}},
    "both, with inputs in both": {"inputs": {"x": X, "i": IDS}, "reference": ALL},
    "both, of two counts": {"inputs": {"x": X, "i": IDS}, "reference": [{"y": Y}, {"y": Y}]},
    "both, of samples": {
        "inputs": {"x": array(2, 3, 3, 3)}, "reference": {"y": array(2, 3, 3, 3)},
        "model": "square",
    },
    "both, of fewer samples": {
        "inputs": {"x": array(3, 3, 3, 3)}, "reference": {"y": array(2, 3, 3, 3)},
        "model": "square",
    },
    "equal sizes": {"inputs": {"x": array(1, 3, 3, 3)}, "model": "square"},
    "equal sizes and a reference": {
        "reference": {"x": array(1, 3, 3, 3), "y": array(1, 3, 3, 3)}, "model": "square",
    },
    "an output of any rank": {
        "reference": {"x": array(1, 3, 3, 3), "y": array(2)}, "model": "rankless",
    },
    "a text": {"inputs": {"s": np.array(["a", "b"])}, "model": "text"},
    "objects": {"inputs": {"s": np.array(["a", "b"], object)}, "model": "text"},
    "no text": {"inputs": {"s": array(2)}, "model": "text"},
    "nothing": {"inputs": {}},
    "no mappings": {"inputs": [X]},
    "no sets": {"inputs": []},
}  # fmt: skip

EXPECTED = """

== inputs ==
draw: x float32 1x2x3x4, i int64 2, from the inputs given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
== inputs in two sets ==
draw: x float32 1x2x3x4, i int64 2, from the inputs given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
draw: x float32 1x2x3x4, i int64 2, from the inputs given
  x: 1x2x3x4 float32 1.0, 2.0..24.0
  i: 2 int64 0, 1..1
== inputs among outputs ==
draw: x float32 1x2x3x4, i int64 2, from the inputs given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
== inputs of other names ==
draw: x float32 1x2x3x4, i int64 2, from the inputs given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
note: the inputs given: 'a' taken as input 'x', by order
note: the inputs given: 'b' taken as input 'i', by order
== one of another name ==
draw: x float32 1x2x3x4, i int64 2, from the inputs given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
note: the inputs given: 'a' taken as input 'x', by order
== too many ==
refused: the inputs given has 'a', 'b', 'c', which are not in the model: it has inputs 'x', 'i';
    give the arrays these names
== too few ==
refused: the inputs given has no array for input 'i'; the model needs 'x', 'i'
== of another shape ==
refused: the inputs given: input 'x' has shape 1x2x3x5, but the model declares 1x2x3x4
== of another shape, by order ==
refused: the inputs given: input 'x' has shape 1x2x3x5, but the model declares 1x2x3x4 ('a'
    taken as input 'x', by order; give the arrays the model's names)
== of another type ==
refused: the inputs given: input 'x' has type int64, but the model's is float32; convert the
    array
== of the other byte order ==
draw: x float32 1x2x3x4, i int64 2, from the inputs given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
== channels last ==
draw: x float32 1x2x3x4, i int64 2, from the inputs given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
note: the inputs given: input 'x' 1x3x4x2 as 1x2x3x4: channels moved from last to axis 1
== samples ==
draw: x float32 1x3x3x3, from the inputs given, sample 0
  x: 1x3x3x3 float32 0.0, 1.0..26.0
draw: x float32 1x3x3x3, from the inputs given, sample 1
  x: 1x3x3x3 float32 27.0, 28.0..53.0
draw: x float32 1x3x3x3, from the inputs given, sample 2
  x: 1x3x3x3 float32 54.0, 55.0..80.0
note: the inputs given: 3 samples, one at a time as the model takes them
== samples of two inputs ==
refused: the inputs given: input 'x' has shape 3x2x3x4, but the model declares 1x2x3x4
== samples of two counts ==
refused: the inputs given: input 'x' has shape 3x2x3x4, but the model declares 1x2x3x4
== more samples ==
draw: x float32 1x3x3x3, from the inputs given, sample 0
  x: 1x3x3x3 float32 0.0, 1.0..26.0
draw: x float32 1x3x3x3, from the inputs given, sample 1
  x: 1x3x3x3 float32 27.0, 28.0..53.0
draw: x float32 1x3x3x3, from the inputs given, sample 15
  x: 1x3x3x3 float32 405.0, 406.0..431.0
note: the inputs given: 16 samples, one at a time as the model takes them; the other 24 are not
    used
== a reference ==
draw: x float32 1x2x3x4, i int64 2, from the reference given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
expected: y 1x2x3x4 float32 1.0, 2.0..24.0, z 2 float32 0.0, 1.0..1.0
== a reference of other names ==
draw: x float32 1x2x3x4, i int64 2, from the reference given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
expected: y 1x2x3x4 float32 1.0, 2.0..24.0, z 2 float32 0.0, 1.0..1.0
note: the reference given: 'a' taken as input 'x', by order
note: the reference given: 'b' taken as input 'i', by order
note: the reference given: 'c' taken as output 'y', by order
note: the reference given: 'd' taken as output 'z', by order
== a reference of one output ==
draw: x float32 1x2x3x4, i int64 2, from the reference given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
expected: y 1x2x3x4 float32 1.0, 2.0..24.0
note: the reference given has no array for output 'z', which is not compared
== a reference of no output ==
refused: the reference given has no array for an output; the model gives 'y', 'z'
== a reference of no input ==
refused: the reference given has no array for input 'x'; the model needs 'x', 'i'
== a reference with an inner tensor ==
draw: x float32 1x2x3x4, i int64 2, from the reference given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
expected: y 1x2x3x4 float32 1.0, 2.0..24.0, z 2 float32 0.0, 1.0..1.0
note: the reference given: inner tensors 'h' are not compared
== an inner tensor asked for ==
draw: x float32 1x2x3x4, i int64 2, from the reference given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
expected: y 1x2x3x4 float32 1.0, 2.0..24.0, z 2 float32 0.0, 1.0..1.0
inner: h 1x2x3x4 float32 0.0, 1.0..23.0
== inner tensors alone ==
draw: x float32 1x2x3x4, i int64 2, from the reference given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
inner: h 1x2x3x4 float32 0.0, 1.0..23.0
== both ==
draw: x float32 1x2x3x4, i int64 2, from the inputs given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
expected: y 1x2x3x4 float32 1.0, 2.0..24.0, z 2 float32 0.0, 1.0..1.0
== both, with inputs in both ==
draw: x float32 1x2x3x4, i int64 2, from the inputs given
  x: 1x2x3x4 float32 0.0, 1.0..23.0
  i: 2 int64 0, 1..1
expected: y 1x2x3x4 float32 1.0, 2.0..24.0, z 2 float32 0.0, 1.0..1.0
== both, of two counts ==
refused: the reference given has 2 sets of arrays, but 1 sets of inputs are given
== both, of samples ==
draw: x float32 1x3x3x3, from the inputs given, sample 0
  x: 1x3x3x3 float32 0.0, 1.0..26.0
  or x: 1x3x3x3 float32 0.0, 3.0..26.0
draw: x float32 1x3x3x3, from the inputs given, sample 1
  x: 1x3x3x3 float32 27.0, 28.0..53.0
  or x: 1x3x3x3 float32 27.0, 30.0..53.0
expected: y 1x3x3x3 float32 0.0, 1.0..26.0
expected: y 1x3x3x3 float32 27.0, 28.0..53.0
note: the inputs given: 2 samples, one at a time as the model takes them
note: the inputs given: input 'x' taken as it is: sizes do not tell its layout; give it
    transposed if channels are last
== both, of fewer samples ==
refused: the reference given: 'y' has shape 2x3x3x3, but there are 3 samples of the inputs
    given; give as many of each
== equal sizes ==
draw: x float32 1x3x3x3, from the inputs given
  x: 1x3x3x3 float32 0.0, 1.0..26.0
== equal sizes and a reference ==
draw: x float32 1x3x3x3, from the reference given
  x: 1x3x3x3 float32 0.0, 1.0..26.0
  or x: 1x3x3x3 float32 0.0, 3.0..26.0
expected: y 1x3x3x3 float32 0.0, 1.0..26.0
note: the reference given: input 'x' taken as it is: sizes do not tell its layout; give it
    transposed if channels are last
== an output of any rank ==
draw: x float32 1x3x3x3, from the reference given
  x: 1x3x3x3 float32 0.0, 1.0..26.0
  or x: 1x3x3x3 float32 0.0, 3.0..26.0
expected: y 2 float32 0.0, 1.0..1.0
note: the reference given: input 'x' taken as it is: sizes do not tell its layout; give it
    transposed if channels are last
== a text ==
draw: s string 2, from the inputs given
  s: 2 object a, b..b
== objects ==
draw: s string 2, from the inputs given
  s: 2 object a, b..b
== no text ==
refused: the inputs given: input 's' has type float32, but the model's is string; convert the
    array
== nothing ==
refused: the inputs given has no array for input 'x'; the model needs 'x', 'i'
== no mappings ==
refused: the inputs given: neither a path nor arrays by name
== no sets ==
refused: the inputs given: neither a path nor arrays by name
"""


def some(value: Any) -> str:
    """An array by shape, type and the elements at its ends."""
    ends = f"{value.flat[0]}, {value.flat[1]}..{value.flat[-1]}"
    return f"{'x'.join(map(str, value.shape))} {value.dtype} {ends}"


def told(found: MatchedInputs) -> str:
    lines = []
    for place, draw in enumerate(found.draws):
        if 2 <= place < len(found.draws) - 1:
            continue
        lines.append(f"draw: {draw.label}")
        lines += [f"  {name}: {some(each)}" for name, each in draw.feeds.items()]
        if found.others and found.others[place] is not draw:
            other = found.others[place].feeds
            lines += [f"  or {name}: {some(each)}" for name, each in other.items()]
    for word, parts in (("expected", found.expected), ("inner", found.inner)):
        for part in filter(None, parts):
            lines.append(f"{word}: {', '.join(f'{name} {some(part[name])}' for name in part)}")
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(fill(line, 96, subsequent_indent="    ").rstrip() for line in lines)


def read(row: dict[str, Any]) -> str:
    model = {"square": SQUARE, "text": TEXT, "rankless": RANKLESS}.get(row.get("model", ""), MODEL)
    try:
        found = matched_inputs(
            outline(model), row.get("inputs"), row.get("reference"), row.get("inner")
        )
    except UsageError as error:
        return fill(f"refused: {error}", 96, subsequent_indent="    ")
    return told(found)


@each_row("name", ROWS)
def test_arrays(name: str) -> None:
    parts = (part.partition(" ==\n") for part in EXPECTED.split("\n== ")[1:])
    expected = {title: text.rstrip("\n") for title, _, text in parts}
    assert read(ROWS[name]) == expected[name]


def test_the_layout_that_a_run_told() -> None:
    draws, others = (Draw({}, "one"),), (Draw({}, "other"),)
    moved, kept = "with its channels moved from last to axis 1", "as it is"
    remarks = {"x": (kept, moved), "y": (moved, kept), "z": ()}
    found = MatchedInputs(draws, remarks=remarks, others=others)
    one, other = settled(found, other=False), settled(found, other=True)
    assert (one.draws, one.others, other.draws, other.others) == (draws, (), others, ())
    assert list(one.notes) == [kept, moved, "z"]
    assert list(other.notes) == [moved, kept, "z"]


def test_sizes_that_the_metadata_does_not_allow() -> None:
    draw = Draw({"x": X}, "given")
    require_within({("x", 3): Sizes(4, 8), ("x", 9): Sizes(1, 1), ("q", 0): Sizes(9, 9)}, [draw])
    with pytest.raises(UsageError):
        require_within({("x", 2): Sizes(3, 3), ("x", 3): Sizes(5, 8)}, [draw])
