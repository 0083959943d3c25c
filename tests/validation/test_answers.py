"""How often a model runs and on what, with sessions that answer as they are told."""

import math
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
import pytest
from onnx import TensorProto

from onnxpad.runtimes.onnxruntime.native import CUDA
from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError
from onnxpad.runtimes.sessions import CPU
from onnxpad.validation import answers
from onnxpad.validation.lab import Result, _apart, _noise, accepted, ask, runs_of
from onnxpad.validation.draw import Draw, Input
from onnxpad.validation.names import Pairing
from tests.support import Array

Answer = Callable[[Mapping[str, Array], int], Any]


class Told:
    """Sessions that answer as a function of the feeds and the number of the run says."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.opened: list[dict[str, Any]] = []
        self.runs: list[Any] = []

    def open(self, source: Any, **options: Any) -> Self:
        if isinstance(source, Exception):
            raise source
        self.opened.append(options)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: TracebackType | BaseException | type | None) -> None:
        return None

    def timed(self, feeds: Mapping[str, Array]) -> tuple[Any, float]:
        self.runs.append(feeds)
        return {"y": self.answer(feeds, len(self.runs))}, 0.25

    def ran_on(self) -> dict[str, str]:
        return {"node": f"after {len(self.runs)}"}


def told(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> Told:
    found = Told(answer)
    monkeypatch.setattr(answers, "open_session", found.open)
    return found


def draws(count: int) -> list[Draw]:
    return [Draw({"x": np.full(1, each, np.float32)}, str(each)) for each in range(count)]


def numbers(results: Any) -> list[Any]:
    """What each run gave: a number, or the error."""
    return [each.error or float(each.outputs["y"][0]) for each in results]


@pytest.mark.parametrize(
    ("provider", "optimisation", "anew", "runs", "sessions", "profiled"),
    [
        (CPU, "off", False, [0, 1, 2], 1, False),
        (CPU, "full", False, [0, 1, 2], 1, False),
        (CUDA, "full", False, [0, 1, 2, 0, 1, 2], 1, True),
        (CUDA, "off", False, [0, 1, 2, 0, 0, 1, 1, 2, 2], 1, True),
        (CPU, "off", True, [0, 1, 2], 3, False),
        (CUDA, "full", True, [0, 0, 1, 1, 2, 2], 3, True),
    ],
)
def test_the_runs_of_a_model(
    provider: str, optimisation: Any, anew: bool, runs: list[int], sessions: int, profiled: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    model = told(monkeypatch, lambda feeds, run: feeds["x"] + 10 + run / 16)
    made: list[None] = []
    found = ask("m", draws(3), provider, optimisation, anew=anew, ran=lambda: made.append(None))
    assert [int(feeds["x"][0]) for feeds in model.runs] == runs
    assert len(made) == len(runs) == runs_of(provider, optimisation, 3)
    assert len(model.opened) == sessions
    assert {each["profile"] for each in model.opened} == {profiled}
    assert {each["optimisation"] for each in model.opened} == {optimisation}
    assert [int(each) for each in numbers(found.results)] == [10, 11, 12]
    assert {each.seconds for each in found.results} == {0.25}
    noisy = provider != CPU and optimisation == "off"
    assert [each.noise for each in found.results] == ([{"y": 0.0625}] * 3 if noisy else [{}] * 3)
    after = {1: 3, 3: 1}[sessions]
    assert found.places == ({"node": f"after {after}"} if profiled else {})


def test_a_model_that_draws_is_opened_twice_for_its_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    model = told(monkeypatch, lambda feeds, run: feeds["x"] + run)
    found = ask("m", draws(2), CUDA, "off", anew=True)
    assert len(model.opened) == 4
    assert [each.noise for each in found.results] == [{"y": 6.0}, {"y": 6.0}]


def test_names_of_the_other_model_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    model = told(monkeypatch, lambda feeds, run: feeds["z"])
    found = ask("m", draws(1), CPU, "off", pairing=Pairing({"x": "z"}, {"w": "y"}))
    assert [*model.runs[0]] == ["z"]
    assert [*found.results[0].outputs] == ["w"]


def late(feeds: Mapping[str, Array], run: int) -> Array:
    if feeds["x"][0] == 1:
        raise LimitError("it is late")
    return feeds["x"]


@pytest.mark.parametrize(
    ("provider", "anew", "runs", "expected"),
    [
        (CPU, False, 2, [0.0, "it is late", "it is late"]),
        (CPU, True, 2, [0.0, "it is late", "it is late"]),
        (CUDA, False, 2, ["it is late"] * 3),  # it warms up
    ],
)
def test_nothing_runs_after_one_that_is_late(
    provider: str, anew: bool, runs: int, expected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = told(monkeypatch, late)
    made: list[None] = []
    found = ask("m", draws(3), provider, "full", anew=anew, ran=lambda: made.append(None))
    assert numbers(found.results) == expected
    assert (len(model.runs), len(made)) == (runs, 1)
    assert [each.late for each in found.results] == [each != 0.0 for each in expected]


@pytest.mark.parametrize(
    ("error", "crashed"), [(EngineError("no kernel"), False), (CrashError("it fell"), True)]
)
def test_a_run_that_fails(
    error: EngineError, crashed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(feeds: Mapping[str, Array], run: int) -> Array:
        if feeds["x"][0] == 1:
            raise error
        return feeds["x"]

    model = told(monkeypatch, failing)
    found = ask("m", draws(3), CUDA, "off")
    assert numbers(found.results) == [0.0, str(error), 2.0]
    assert [each.crashed for each in found.results] == [False, crashed, False]
    assert len(model.runs) == 3 + 2 + 1 + 2  # what fails is not run again
    assert math.isnan(found.results[1].seconds)
    unopened: Any = error
    found = ask(unopened, draws(2), CPU, "off")
    assert numbers(found.results) == [str(error)] * 2
    assert found.places == {}


def shapes(found: Any) -> list[tuple[int, ...]]:
    return [each.feeds["x"].shape for each in found]


IMAGE = Input("x", TensorProto.FLOAT, ("N", 1, "H"))


def none_fails(_: tuple[int, ...]) -> bool:
    return False


@pytest.mark.parametrize(
    ("samples", "fails", "expected", "runs", "first"),
    [
        (1, none_fails, [(1, 1, 63), (2, 1, 62), (1, 1, 63)], 3, ""),
        (0, none_fails, [(1, 1, 63), (2, 1, 62), (1, 1, 63)], 3, ""),
        (2, none_fails, [(1, 1, 63), (2, 1, 62), (1, 1, 63)], 3, ""),
        (3, none_fails, [(1, 1, 63), (2, 1, 62), (1, 1, 1), (1, 1, 63)], 4, ""),
        (4, none_fails, [(1, 1, 63), (2, 1, 62), (1, 1, 1), (1, 1, 64), (1, 1, 63)], 5, ""),
        # 2x1x63 and 1x1x63 are odd as well; moved by 2, a batch of 2 is taken
        (1, lambda shape: shape[2] % 2, [(1, 1, 64), (2, 1, 66), (1, 1, 64)], 6, "no (1, 1, 63)"),
        (1, lambda shape: shape[0] == 2, [(1, 1, 63), (1, 1, 62), (1, 1, 63)], 4, "no (2, 1, 62)"),
        (3, lambda shape: shape[2] < 5, [(1, 1, 63), (2, 1, 62), (5, 1, 5), (1, 1, 63)], 8,
         "no (1, 1, 1)"),
        (1, lambda shape: True, [], 21, "no (1, 1, 63)"),
    ],
)  # fmt: skip
def test_the_sizes_on_which_a_model_is_run(
    samples: int, fails: Any, expected: Any, runs: int, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(feeds: Mapping[str, Array], run: int) -> Array:
        if fails(feeds["x"].shape):
            raise EngineError(f"no {feeds['x'].shape}")
        return feeds["x"]

    model = told(monkeypatch, answer)
    made: list[None] = []
    found, results, why = accepted("m", [IMAGE], CPU, samples, 7, ran=lambda: made.append(None))
    assert (shapes(found), why) == (expected, first)
    assert len(made) == len(model.runs) == runs
    assert [each.outputs["y"].shape for each in results] == expected  # type: ignore[union-attr]
    assert [each.again for each in found] == [False] * (len(found) - 1) + [True] * bool(found)


def test_what_cannot_be_opened_and_what_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    unopened: Any = EngineError("no model")
    told(monkeypatch, late)
    assert accepted(unopened, [IMAGE], CPU, 1, 0) == ((), (), "no model")

    def at(number: int) -> Answer:
        def answer(feeds: Mapping[str, Array], run: int) -> Array:
            if run == number:
                raise LimitError("it is late")
            return feeds["x"]

        return answer

    told(monkeypatch, at(1))
    with pytest.raises(LimitError):
        accepted("m", [IMAGE], CPU, 1, 0)
    told(monkeypatch, at(2))
    found, results, why = accepted("m", [IMAGE], CPU, 1, 0)
    assert (shapes(found), len(results), why) == ([(1, 1, 63)], 1, "")
    told(monkeypatch, at(3))  # the other data
    found, results, why = accepted("m", [IMAGE], CPU, 1, 0)
    assert (shapes(found), len(results), why) == ([(1, 1, 63), (2, 1, 62)], 2, "")


def test_how_far_outputs_are_from_those_wanted() -> None:
    wanted = {"y": np.array([1.0, 3]), "z": np.array([2.0, 2])}
    assert _apart(wanted, wanted) == 0
    assert _apart(wanted, {"y": np.array([2.0, 4]), "z": np.array([2.0, 6])}) == 0.5 + 1
    assert _apart({"y": np.zeros(2)}, {"y": np.array([2.0, 4])}) == 3.0  # relative to nothing
    others: list[Any] = [{"y": wanted["y"]}, {**wanted, "z": np.ones(3)}, {**wanted, "z": [1]}]
    for other in others:
        assert _apart(wanted, other) == math.inf
    assert _apart({"y": np.array(["a"])}, {"y": np.array(["a"])}) == math.inf


def test_noise() -> None:
    found = _noise(
        Result({"y": np.array([1.0, 2]), "z": np.array([1.0])}, 1.0),
        Result({"y": np.array([1.5, 1.0]), "z": np.array([math.nan])}, 1.0),
    )
    assert found == {"y": 1.0, "z": 0.0}
