"""What is made of arrays given in memory, in words: matched, parted, aligned, noted or refused."""

from typing import Any

import numpy as np
import pytest

from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import UsageError
from onnxpad.validation.draw import Draw, outline
from onnxpad.validation.given import MatchedInputs, matched_inputs, require_within
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
LAST = np.moveaxis(X, 1, -1)
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
    "samples in one array": {"inputs": {"x": array(3, 3, 3, 3)}, "model": "square"},
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

XI = "x f1x2x3x4 0,1..23 i i2 0,1..1"
YZ = "expected y f1x2x3x4 1,2..24 z f2 0,1..1"
EXPECTED = {
    "inputs": XI,
    "inputs in two sets": f"{XI}\nx f1x2x3x4 1,2..24 i i2 0,1..1",
    "inputs among outputs": XI,
    "inputs of other names": f"{XI}\n2 notes",
    "one of another name": f"{XI}\n1 notes",
    "of another type": XI,
    "of the other byte order": XI,
    "channels last": f"{XI}\n1 notes",
    "a reference": f"{XI}\n{YZ}",
    "a reference of other names": f"{XI}\n{YZ}\n4 notes",
    "a reference of one output": f"{XI}\nexpected y f1x2x3x4 1,2..24\n1 notes",
    "a reference with an inner tensor": f"{XI}\n{YZ}\n1 notes",
    "an inner tensor asked for": f"{XI}\n{YZ}\ninner h f1x2x3x4 0,1..23",
    "inner tensors alone": f"{XI}\ninner h f1x2x3x4 0,1..23",
    "both": f"{XI}\n{YZ}",
    "both, with inputs in both": f"{XI}\n{YZ}",
    "equal sizes": "x f1x3x3x3 0,1..26",
    "equal sizes and a reference": "x f1x3x3x3 0,1..26\nexpected y f1x3x3x3 0,1..26",
    "an output of any rank": "x f1x3x3x3 0,1..26\nexpected y f2 0,1..1",
    "a text": "s O2 a,b..b",
    "objects": "s O2 a,b..b",
}
"""What comes of those rows that are not refused."""


def some(name: str, value: Any) -> str:
    """An array by type, shape and the elements at its ends."""
    first, second, last = (value.flat[place] for place in (0, 1, -1))
    shape = "x".join(map(str, value.shape))
    return f"{name} {value.dtype.kind}{shape} {first},{second}..{last}".replace(".0", "")


def told(found: MatchedInputs) -> str:
    parts = []
    for place, draw in enumerate(found.draws):
        if 2 <= place < len(found.draws) - 1:
            continue
        parts.append(" ".join(some(*each) for each in draw.feeds.items()))
    for word, given in (("expected", found.expected), ("inner", found.inner)):
        parts += [
            " ".join([word, *(some(*each) for each in some_of.items())])
            for some_of in given
            if some_of
        ]
    parts += [f"{len(found.notes)} notes"] * bool(found.notes)
    return "\n".join(parts)


def read(row: dict[str, Any]) -> str:
    model = {"square": SQUARE, "text": TEXT, "rankless": RANKLESS}.get(row.get("model", ""), MODEL)
    try:
        found = matched_inputs(
            outline(model), row.get("inputs"), row.get("reference"), row.get("inner")
        )
    except UsageError:
        return "refused"
    return told(found)


@each_row("name", ROWS)
def test_arrays(name: str) -> None:
    assert read(ROWS[name]) == EXPECTED.get(name, "refused")


def test_sizes_that_the_metadata_does_not_allow() -> None:
    draw = Draw({"x": X}, "given")
    require_within({("x", 3): Sizes(4, 8), ("x", 9): Sizes(1, 1), ("q", 0): Sizes(9, 9)}, [draw])
    with pytest.raises(UsageError):
        require_within({("x", 2): Sizes(3, 3), ("x", 3): Sizes(5, 8)}, [draw])
