"""Each case of `tests/cases` comes out as its file says, and computes what it computed.

See `tests/case.py` for the files; `python -m tests.case FILE` shows what is found.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import onnxpad
from tests.case import CASES, Case, Outcome, cases, main, options_of, outcome, problems
from tests.older import gap_of
from tests.support import (
    LEVELS,
    ROOT,
    STYLES,
    Array,
    agree,
    assert_graph,
    feeds_of,
    negative,
    ran,
    session,
)

AT_ONCE: Final = 10
EVERY: Final = [case for path in sorted(CASES.rglob("*.txt")) for case in cases(path)]


def parts() -> Iterator[Any]:
    """Some cases of one file at a time: most of what a test costs is pytest's own."""
    for path in sorted(CASES.rglob("*.txt")):
        every = [case for case in EVERY if case.path == path]
        for start in range(0, len(every), AT_ONCE):
            name = path.relative_to(CASES).with_suffix("")
            yield pytest.param(every[start : start + AT_ONCE], id=f"{name}, from {start}")


@pytest.mark.parametrize("some", [*parts()])
@pytest.mark.usefixtures("run_here")
def test_each_is_as_its_file_says(some: list[Case]) -> None:
    wrong = []
    for case in some:
        if gap_of(f"{case.path.relative_to(ROOT).as_posix()}::{case.title}"):
            continue
        given, computed = case.model.SerializeToString(), Computed(case)
        for variant in case.variants:
            for text in variant.options:
                found = outcome(case, text, variant.lines)
                told = problems(case, found, variant.lines)
                if found.result and found.result.changed:
                    told += list(computed.problems(found, options_of(text)))
                wrong += [f"{case.path}: {case.title}: -> {text}", *told] if told else []
        if case.model.SerializeToString() != given:
            wrong.append(f"{case.title}: the model that was given is changed")
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_each_file_tells_its_cases_apart() -> None:
    titles = [(case.path, case.title) for case in EVERY]
    assert len(titles) == len({*titles})
    assert all(variant.lines for case in EVERY for variant in case.variants)


@pytest.mark.parametrize(
    "title", ["Conv", "MaxPool", "AveragePool that counts its padding", "LpPool"]
)
def test_each_style_finds_its_own_form_in_that_of_another(title: str) -> None:
    (model,) = (case.model for case in EVERY if (case.path.stem, case.title) == ("split", title))
    forms = {style: onnxpad.fix(model, style=style, validate=False).model for style in STYLES}
    for source, target in product(STYLES, STYLES):
        again = onnxpad.fix(forms[source], style=target, validate=False).model
        assert_graph(again, forms[target], (source, target))


ONE = """# one
(float[1,2,9,8] x) => (float[] y)
<float[3,2,3,3] w = seeded, int64[8] p = {0, 0, -1, 2, 0, 0, 2, 1}>
{
  a = Pad (x, p)
  b = Pad <mode = "edge"> (a, p)
  y = Conv <auto_pad = "SAME_UPPER"> (b, w)
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1, 1, 1, 1", "1, 1, 1, 2"),
        ("made PAD101:", "made PAD101 finite-data:"),
        ("info PAD206", "warning PAD206"),
        ("PAD101: <y>", "PAD101: <y>\nwarns"),
        ('<mode = "edge"> ', ""),
        ("copies-data: <b>", 'copies-data: <b> | {"mode": "wrap"}'),
    ],
)
def test_what_is_recorded_holds_and_nothing_else(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text(ONE, encoding="utf-8")
    assert main([str(path)]) == 1
    assert main([str(path), "--write"]) == main([str(path)]) == 0
    head, _, told = path.read_text(encoding="utf-8").partition("->")
    assert old in told
    path.write_text(f"{head}->{told.replace(old, new, 1)}", encoding="utf-8")
    assert main([str(path)]) == 1
    (case,) = cases(path)
    wrong = onnx.ModelProto.FromString(case.model.SerializeToString())
    wrong.graph.node[0].input[0], wrong.graph.node[1].input[0] = "a0", "x"
    wrong.graph.node[1].output[0], wrong.graph.node[0].output[0] = "a0", "b"
    wrong.graph.node.insert(0, wrong.graph.node.pop(1))
    assert list(Computed(case).differences(wrong, "onnxruntime", {}))


class Computed:
    """What the model of a case computes, and whether models that come of it compute the same."""

    def __init__(self, case: Case) -> None:
        self._case, self._known = case, dict[str, list[tuple[dict[str, Array], Any]]]()
        self._right: set[tuple[bytes, str, str]] = set()

    def problems(self, found: Outcome, options: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with a model that was made; nothing if all is well."""
        result, before = found.result, self._case.model
        assert result is not None
        after = result.model
        oracle = "spec" if options.get("trust") == "spec" else "onnxruntime"
        # The result keeps sizes that were given, and may no longer have the dimension.
        kept = {key: value for key, value in options.items() if key not in {"dims", "shapes"}}
        again = onnxpad.fix(after, validate=False, **kept)
        if again.changed:
            yield f"a second fix changes it: {[each.code for each in again.changes]}"
        if failing := onnxpad.check(after, **kept).failing():
            yield f"a check of it fails: {[each.code for each in failing]}"
        read = {name for node in after.graph.node for name in node.input}
        held = {each.name for each in before.graph.initializer}
        if left := {each.name for each in after.graph.initializer} - held - read:
            yield f"nothing reads what is new: {left}"
        dims = options.get("dims", {})
        told = after.SerializeToString(deterministic=True), oracle, str(dims)
        if told not in self._right:
            self._right.add(told)
            if is_valid(before) and not is_valid(after):
                yield "onnx.checker refuses it"
            yield from self.differences(after, oracle, dims)
            if any(change.code == "PAD701" for change in result.changes):
                yield from self._folded(after)

    def differences(
        self, after: onnx.ModelProto, oracle: str, dims: Mapping[str, Any]
    ) -> Iterator[str]:
        """Where another model does not compute what the model of the case does."""
        before, opened = self._case.model, ran_by(after)
        runs = self._case.keys.get("runs", True)
        for feeds, expected in self._expected(oracle, dims):
            found = opened(feeds)
            if isinstance(found, str):
                if runs is True and isinstance(expected, str):
                    continue
                yield from [f"does not run: {found}"] * bool(runs)
                return
            if not runs:
                yield 'runs: say so with `runs = "afterwards"`'
            if not isinstance(expected, str) and not same(found, expected, oracle):
                yield f"differs from what {oracle} computes"
                return
        if runs is True and oracle == "onnxruntime" and agree(ran(before, feeds, "full"), expected):
            optimised = ran(after, feeds, "full")
            if not agree(optimised, expected):
                yield f"with onnxruntime's optimiser on: {optimised}"

    def _folded(self, after: onnx.ModelProto) -> Iterator[str]:
        """Where onnxruntime's optimiser still folds what it should not: negative data tell."""
        feeds = negative(self._case.model)
        expected = ran(self._case.model, feeds)
        for level in LEVELS:
            if not isinstance(expected, str) and not agree(ran(after, feeds, level), expected):
                yield f"not guarded at level {level}"

    def _expected(self, oracle: str, dims: Mapping[str, Any]) -> list[tuple[dict[str, Array], Any]]:
        """What is computed of each input: outputs, or why there are none."""
        key = f"{oracle} {dims}"
        if key not in self._known:
            every = [*drawn(self._case, dims)]
            if oracle == "spec" or self._case.keys.get("runs", True) is not True:
                found = [(feeds, specified(self._case.model, feeds)) for feeds in every]
            else:
                opened = ran_by(self._case.model)
                found = [(feeds, opened(feeds)) for feeds in every]
                told = [outputs for _, outputs in found if isinstance(outputs, str)]
                few = "sizes" in self._case.keys and len(told) < len(found)
                assert few or not told, f"{self._case.title}: {told}"
            self._known[key] = found
        return self._known[key]


def drawn(case: Case, dims: Mapping[str, Any]) -> Iterator[dict[str, Array]]:
    """Data of both signs, and below zero, for each size and each table of values.

    Args:
        case: The case.
        dims: Sizes and ranges of open dimensions, as `fix` takes them.
    """
    for model, size in sized(case.model, dims) if dims else all_sizes(case):
        for fed in case.keys.get("feeds", [{}]):
            for seed in range(2 + bool(case.keys.get("extremes"))):
                feeds, draw = feeds_of(model, seed, size), np.random.default_rng(seed)
                for name, data in feeds.items():
                    feeds[name] = fed_with(data, fed.get(name), seed, draw)
                yield feeds


def fed_with(data: Array, given: Any, seed: int, draw: np.random.Generator) -> Array:
    """What is given, or drawn in the shape that is given; else the data, as the seed has it."""
    if isinstance(given, str):
        shape = [int(each) for each in given.split(",")]
        return np.asarray(draw.integers(-8, 9, shape), data.dtype)
    if given is not None:
        return np.array(given, data.dtype)
    if seed and data.dtype.kind in "if":
        data = np.asarray(-1 - np.abs(data), data.dtype)
    for extreme in (-np.inf, np.inf, np.nan, -0.0) if seed == 2 and data.dtype.kind == "f" else ():
        data[draw.random(data.shape) < 0.3] = extreme
    return data


def all_sizes(case: Case) -> Iterator[tuple[onnx.ModelProto, int]]:
    """The model with each size of its open dimensions."""
    yield from ((case.model, size) for size in case.keys.get("sizes", [9]))


def sized(model: onnx.ModelProto, dims: Mapping[str, Any]) -> Iterator[tuple[onnx.ModelProto, int]]:
    """The model with the first sizes of each range, and 9 for other open dimensions."""
    for place in range(3):
        fixed = onnx.ModelProto.FromString(model.SerializeToString())
        for value in fixed.graph.input:
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param in dims:
                    limits, _, step = str(dims[dim.dim_param]).partition(":")
                    first, _, last = limits.partition("..")
                    dim.dim_value = min(int(first) + place * int(step or 1), int(last or first))
        yield fixed, 9


def ran_by(model: onnx.ModelProto) -> Any:
    """A function from inputs to what onnxruntime computes, or says."""
    try:
        opened = session(model)
    except Exception as error:  # onnxruntime's own errors share no narrower base class
        told = str(error)
        return lambda _: told
    return lambda feeds: ran(opened, feeds)


def specified(model: onnx.ModelProto, feeds: dict[str, Array]) -> Any:
    """What onnx's evaluator computes; nothing of pools, of which it has readings of its own."""
    with suppress(Exception):
        if any(node.op_type.endswith("Pool") for node in model.graph.node):
            return "no answer"
        return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, feeds)]
    return "no answer"


def same(found: list[Array], expected: list[Array], oracle: str) -> bool:
    """Whether outputs are the same bits; of onnx's evaluator, near."""
    if oracle == "spec":
        return agree(found, expected)
    pairs = [(bits(one), bits(other)) for one, other in zip(found, expected, strict=True)]
    return all(one.shape == other.shape and (one == other).all() for one, other in pairs)


def bits(of: Array) -> Array:
    """The elements as integers of the same bits, NaNs of all kinds alike."""
    if of.dtype.kind != "f":
        return of
    return np.where(np.isnan(of), of.dtype.type(np.nan), of).view(f"u{of.dtype.itemsize}")


def is_valid(model: onnx.ModelProto) -> bool:
    """Whether onnx's checker accepts it."""
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError:
        return False
    return True
