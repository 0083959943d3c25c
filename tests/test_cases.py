"""Each case of `tests/cases` comes out as its file says, and computes what it computed.

See `tests/case.py` for the files; `python -m tests.case FILE` shows what is found.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import onnxpad
from tests.case import CASES, Case, Outcome, cases, options_of, outcome, problems
from tests.support import Array, agree, feeds_of, ran, session

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


class Computed:
    """What the model of a case computes, and whether models that come of it compute the same."""

    def __init__(self, case: Case) -> None:
        self._case, self._known = case, dict[str, list[tuple[Any, Any]]]()
        self._right: set[tuple[bytes, str]] = set()

    def problems(self, found: Outcome, options: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with a model that was made; nothing if all is well."""
        result, before = found.result, self._case.model
        assert result is not None
        after = result.model
        oracle = "spec" if options.get("trust") == "spec" else "onnxruntime"
        again = onnxpad.fix(after, validate=False, **options)
        if again.changed:
            yield f"a second fix changes it: {[each.code for each in again.changes]}"
        read = {name for node in after.graph.node for name in node.input}
        held = {each.name for each in before.graph.initializer}
        if left := {each.name for each in after.graph.initializer} - held - read:
            yield f"nothing reads what is new: {left}"
        data = after.SerializeToString(deterministic=True)
        if (data, oracle) not in self._right:
            self._right.add((data, oracle))
            if is_valid(before) and not is_valid(after):
                yield "onnx.checker refuses it"
            yield from self._differences(after, oracle)

    def _differences(self, after: onnx.ModelProto, oracle: str) -> Iterator[str]:
        before, opened = self._case.model, ran_by(after)
        runs = self._case.keys.get("runs", True)
        for feeds, expected in self._expected(oracle):
            found = opened(feeds)
            if isinstance(found, str):
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

    def _expected(self, oracle: str) -> list[tuple[dict[str, Array], Any]]:
        """What is computed of each input: outputs, or why there are none."""
        if oracle not in self._known:
            every = [*drawn(self._case)]
            if oracle == "spec" or self._case.keys.get("runs", True) is not True:
                found = [(feeds, specified(self._case.model, feeds)) for feeds in every]
            else:
                opened = ran_by(self._case.model)
                found = [(feeds, opened(feeds)) for feeds in every]
                for _, outputs in found:
                    assert not isinstance(outputs, str), f"{self._case.title}: {outputs}"
            self._known[oracle] = found
        return self._known[oracle]


def drawn(case: Case) -> Iterator[dict[str, Array]]:
    """Data of both signs, and below zero, for each size and each table of values."""
    model = case.model
    for size in case.keys.get("sizes", [9]):
        for fed in case.keys.get("feeds", [{}]):
            for seed in range(2 + bool(case.keys.get("extremes"))):
                feeds = feeds_of(model, seed, size)
                draw = np.random.default_rng(seed)
                for name, value in fed.items():
                    if isinstance(value, str):
                        shape = [int(each) for each in value.split(",")]
                        feeds[name] = draw.integers(-8, 9, shape).astype(feeds[name].dtype)
                    else:
                        feeds[name] = np.array(value, feeds[name].dtype)
                for name, data in feeds.items():
                    if seed and name not in fed and data.dtype.kind in "if":
                        feeds[name] = np.asarray(-1 - np.abs(data), data.dtype)
                    if seed == 2 and data.dtype.kind == "f":
                        for extreme in (-np.inf, np.inf, np.nan, -0.0):
                            feeds[name][draw.random(data.shape) < 0.3] = extreme
                yield feeds


def ran_by(model: onnx.ModelProto) -> Any:
    """A function from inputs to what onnxruntime computes, or says."""
    try:
        opened = session(model)
    except Exception as error:  # onnxruntime's own errors share no narrower base class
        told = str(error)
        return lambda _: told
    return lambda feeds: ran(opened, feeds)


def specified(model: onnx.ModelProto, feeds: dict[str, Array]) -> Any:
    """What onnx's evaluator computes, or nothing."""
    with suppress(Exception):
        return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, feeds)]
    return "no answer"


def same(found: list[Array], expected: list[Array], oracle: str) -> bool:
    """Whether outputs are the same; of onnx's evaluator, near."""
    if oracle == "spec":
        return agree(found, expected)
    return all(
        one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        for one, other in zip(found, expected, strict=True)
    )


def is_valid(model: onnx.ModelProto) -> bool:
    """Whether onnx's checker accepts it."""
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError:
        return False
    return True
