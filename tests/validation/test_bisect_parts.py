"""Parts of the search for the first difference, with models whose tensors are given by hand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import onnx
import pytest

from onnxpad.runtimes.runtime import EngineError
from onnxpad.validation import bisect
from onnxpad.validation.bisect import ModelSide, _Chunks, _varying, restless
from onnxpad.validation.draw import Draw
from onnxpad.validation.names import Pairing
from tests.support import parsed
from tests.support.rows import each_row

FIRST = bisect._FIRST_CHUNK
GROWTH = bisect._GROWTH


def floats(count: int) -> Any:
    return np.zeros(count, np.float32)


@each_row(
    ("budget", "answers", "sizes"),
    [
        # Grows by a factor while what is seen fits the budget.
        (4000, [1, 1, 1], [FIRST, FIRST * GROWTH, FIRST * GROWTH**2]),
        # 10 floats are 40 bytes: 5 fit 200 bytes, and 1 at least.
        (200, [10, 10], [FIRST, 5, 5]),
        (199, [10, 10], [FIRST, 4, 4]),
        (39, [10, 10], [FIRST, 1, 1]),
        (1, [10], [FIRST, 1]),
        # What fails is tried again by halves; alone it is skipped.
        (4000, [None, 1], [FIRST, FIRST // 2, FIRST // 2 * GROWTH]),
        (4000, [None] * 4, [FIRST, FIRST // 2, FIRST // 4, FIRST // 8]),
        (4000, [0], [FIRST, FIRST * GROWTH]),
        (4000, [], [FIRST]),
    ],
)
def test_chunks_follow_what_fits(budget: int, answers: list[int | None], sizes: list[int]) -> None:
    names = [str(number) for number in range(sum(sizes) + 1)]
    chunks = _Chunks(names, budget)
    seen, begin = [], 0
    for chunk, answer in zip(chunks, [*answers, 1], strict=False):
        assert chunk == names[begin : begin + len(chunk)]
        seen.append(max(len(chunk), 1))
        if answer is None:
            chunks.failed(chunk)
            begin += len(chunk) if len(chunk) == 1 else 0
        else:
            chunks.took([floats(1), floats(answer), floats(0)])
            begin += len(chunk)
        assert chunks.done == begin
        if len(seen) == len(sizes):
            break
    assert seen == [max(size, 1) for size in sizes]


def test_chunks_end_with_the_names() -> None:
    for count in (0, 1, FIRST - 1, FIRST, FIRST + 1, 3 * FIRST):
        names = [str(number) for number in range(count)]
        chunks, found = _Chunks(names, 1 << 20), []
        for chunk in chunks:
            found += chunk
            chunks.took([])
        assert found == names
    chunks = _Chunks(["a", "b", "c"], 1 << 20)
    tried = []
    for chunk in chunks:
        tried.append("".join(chunk))
        chunks.failed(chunk)
    assert tried == ["abc", "a", "b", "c"]


class Side:
    """A model whose tensors have, in each run, the next value that is given; None fails."""

    def __init__(self, values: dict[str, Any], drawn: tuple[str, ...] = ()) -> None:
        self.given = values
        self.drawn = set(drawn)
        self.producers: Any = {
            "y": SimpleNamespace(op_type="Neg", inputs=("t",), reads={"t"}),
            "n": SimpleNamespace(op_type="Shape", inputs=("t",), reads={"t"}),
            "c": SimpleNamespace(op_type="If", inputs=(), reads={"y"}),
        }
        self.calls: list[tuple[str, int, bool]] = []
        self.runs = 0

    def values(self, names: list[str], draws: list[Draw], *, anew: bool = True) -> Any:
        self.calls.append((" ".join(names), len(draws), anew))
        found = []
        for _ in draws:
            run = {name: np.array([self.given[name][self.runs % 3]], np.float32) for name in names}
            found.append(run)
            self.runs += 1
        fails = any(self.given[name][(self.runs - 1) % 3] is None for name in names)
        if fails:
            self.runs += -self.runs % 3
        return None if fails else found


DRAW = Draw({"x": floats(1)}, "x")


@each_row(
    ("values", "drawn", "found", "calls"),
    [
        ({"t": (1, 1, 1)}, (), [], [("t", 2, False), ("t", 1, True)]),
        ({"t": (1, 2, 1)}, (), ["t"], [("t", 2, False), ("t", 1, True)]),
        ({"t": (1, 1, 2)}, (), ["t"], [("t", 2, False), ("t", 1, True)]),
        # What reads drawn numbers counts only if a fresh session draws others.
        ({"t": (1, 2, 1)}, ("t",), [], [("t", 2, False), ("t", 1, True)]),
        ({"t": (1, 1, 2)}, ("t",), ["t"], [("t", 2, False), ("t", 1, True)]),
        ({"t": (1, 2, 1), "y": (1, 2, 1)}, ("t",), [], [("t y", 2, False), ("t y", 1, True)]),
        ({"t": (1, 2, 1), "c": (1, 2, 1)}, ("t",), [], [("t c", 2, False), ("t c", 1, True)]),
        ({"t": (1, 2, 1), "n": (1, 2, 1)}, ("t",), ["n"], [("t n", 2, False), ("t n", 1, True)]),
        ({"t": (1, 1, 1), "u": (1, 2, 1), "v": (3, 3, 4)}, (), ["u", "v"],
         [("t u v", 2, False), ("t u v", 1, True)]),
        # One that fails is left out, in either kind of run.
        ({"t": (1, None, 1)}, (), [], [("t", 2, False)]),
        ({"t": (1, 1, None)}, (), [], [("t", 2, False), ("t", 1, True)]),
        ({"t": (1, 1, None), "u": (1, 2, 1)}, (), ["u"],
         [("t u", 2, False), ("t u", 1, True), ("t", 2, False), ("t", 1, True),
          ("u", 2, False), ("u", 1, True)]),
    ],
)  # fmt: skip
def test_what_two_runs_compute_otherwise(
    values: dict[str, Any], drawn: tuple[str, ...], found: list[str], calls: list[Any]
) -> None:
    side: Any = Side(values, drawn)
    seen = restless(side, [*values], DRAW)
    assert [*seen] == found
    assert side.calls == calls
    for name in found:
        assert (seen[name].output, seen[name].ok) == (name, False)


def test_what_varies_with_the_data() -> None:
    side = Side({})
    assert _varying(side.producers, {"t"}) == {"t", "y", "c"}
    assert _varying(side.producers, {"y"}) == {"y", "c"}
    assert _varying(side.producers, set()) == set()


MODEL = """g (float[1] x, bool f) => (float[1] y, float[1] z)
{
  [named] a, b = Split <axis = 0, num_outputs = 2> (x)
  s = Shape (a)
  y = If (f) <then_branch = t () => (float[1] u) { u = Neg (a) },
    else_branch = e () => (float[1] v) { v = Abs (b) }>
  z = RANDOM (x)
}"""


class Open:
    """A session that gives each tensor the number of the session."""

    opened: ClassVar[list["Open"]] = []

    def __init__(self, source: bytes, **options: Any) -> None:
        self.outputs = [each.name for each in onnx.load_from_string(source).graph.output]
        self.options = options
        self.opened.append(self)
        self.runs: list[Any] = []

    def __enter__(self) -> "Open":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def run(self, feeds: dict[str, Any], names: list[str]) -> dict[str, Any]:
        self.runs.append((sorted(feeds), names))
        if "b" in names:
            raise EngineError("no kernel")
        return dict.fromkeys(names, len(self.opened))


def test_a_side_and_its_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bisect, "open_session", Open)
    pairing = Pairing(inputs={"x": "own_x"}, outputs={"other": "y"})
    for op, draws in (("Neg", False), ("RandomNormalLike", True)):
        Open.opened.clear()
        model = parsed(MODEL.replace("RANDOM", op), opset=18)
        side = ModelSide(model, "cpu", Path("/folder"), pairing, "full")
        assert side.drawn == ({"z"} if draws else set())
        assert side.outputs == {"y", "z"}
        assert [*side.producers] == ["a", "b", "s", "other", "z"]
        split, branch = side.producers["b"], side.producers["other"]
        assert split == side.producers["a"]
        assert (split.op_type, split.inputs) == ("Split", ("x",))
        assert (branch.op_type, branch.inputs) == ("If", ("f",))
        assert [*split.reads] == ["x"]
        assert branch.reads >= {"f", "a", "b"}
        values: Any = side.values(["other", "a", "z"], [DRAW, DRAW])
        assert values == ([{"other": n, "a": n, "z": n} for n in ((1, 2) if draws else (1, 1))])
        runs = [(["own_x"], ["y", "a", "z"])]
        assert [each.runs for each in Open.opened] == ([runs, runs] if draws else [runs * 2])
        assert Open.opened[0].outputs == ["y", "z", "a"]
        assert Open.opened[0].options == {
            "provider": "cpu", "optimisation": "full", "folder": Path("/folder")
        }  # fmt: skip
        side.values(["z"], [DRAW, DRAW], anew=False)
        assert len(Open.opened[-1].runs) == 2
        assert side.values(["b"], [DRAW]) is None
