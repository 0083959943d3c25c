"""What a worker does when asked, with a runtime whose models answer as they are told."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from onnxpad.errors import RUNTIME
from onnxpad.runtimes import worker
from onnxpad.runtimes.channel import Blob
from onnxpad.runtimes.runtime import EngineError, Opening
from tests.support.rows import each_row

CPU, CUDA = "its CPU", "its CUDA"


class Told:
    """A model that gives back its feeds."""

    outputs = ("y",)

    def __init__(self, opening: Opening) -> None:
        if opening.source == "unreadable":
            raise EngineError("it does not load")
        self.factor = 2 if opening.source == "twice" else 1

    def run(self, feeds: Any, outputs: Any) -> tuple[list[Any], float]:
        if feeds["x"][0] == 0:
            raise EngineError("it does not run")
        return [self.factor * feeds["x"] for _ in outputs], 0.5

    def ran_on(self) -> dict[str, str]:
        return {"node": CPU}


ANOTHER: Any = SimpleNamespace(
    NAME="another", CPU=CPU, open_model=Told, known_providers=lambda: (CPU,)
)
"""A runtime other than onnxruntime."""


def serving(*, moves: bool = False) -> worker.RequestHandler:
    return worker.RequestHandler(moves=moves, runtime=ANOTHER)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a handler does to its process, in order."""
    found: list[Any] = []
    monkeypatch.setattr(worker, "bound_memory", lambda bounded: found.append(bounded))
    monkeypatch.setattr(worker, "_leave", lambda: found.append("leave"))
    monkeypatch.setattr(os, "chdir", lambda place: found.append(place))
    monkeypatch.setattr(worker, "spare", lambda: None)
    return found


def opening(source: str = "m", provider: str = CPU, **options: Any) -> Opening:
    return Opening(source, provider=provider, **options)


@pytest.mark.parametrize(
    ("moves", "provider", "here", "does"),
    [
        (True, CPU, "/here", [True, "/here", "leave"]),
        (True, CUDA, "/here", [False, "/here", "leave"]),  # a driver reserves what it never uses
        (True, CPU, None, [True]),
        (False, CPU, "/here", []),
    ],
)
def test_a_process_of_its_own_goes_where_the_data_is(
    moves: bool, provider: str, here: str | None, does: list[Any], noted: list[Any]
) -> None:
    handler = serving(moves=moves)
    assert handler.open(opening(provider=provider), here) == ("y",)
    assert noted == does
    noted.clear()
    with pytest.raises(EngineError):
        handler.open(opening("unreadable", provider), here)
    assert noted == does


def test_a_closed_session_answers_nothing(noted: list[Any]) -> None:
    handler = serving()
    handler.close()
    ask: Any
    for ask in (lambda: handler.run({"x": np.ones(1)}, ["y"]), handler.ran_on):
        with pytest.raises(EngineError):
            ask()
    handler.open(opening(), None)
    assert handler.run({"x": np.ones(1)}, ["y"]) == ([1.0], 0.5)
    assert handler.ran_on() == {"node": CPU}
    assert handler.about("known_providers") == (CPU,)
    handler.close()
    with pytest.raises(EngineError):
        handler.ran_on()


@pytest.mark.parametrize("keeps", [False, True])
def test_answers_that_agree_are_not_sent(keeps: bool, noted: list[Any]) -> None:
    handler = serving()
    one, twice, none = opening(), opening("twice"), opening("unreadable")
    fed = [{"x": np.array([value], np.float32)} for value in (1.0, 0.0, 3.0)]

    def told(*openings: Opening) -> list[Any]:
        found = handler.answers(openings, None, ["y"], fed, keeps=keeps)
        return [
            str(each)
            if isinstance(each, EngineError)
            else [
                None if some is None else "error" if isinstance(some, EngineError) else some[0][0]
                for some in each
            ]
            for each in found
        ]

    assert told(one, one) == [[None, "error", None]] * 2
    assert told(one, twice) == [[1, "error", 3], [2, "error", 6]]
    assert told(one) == [[1, "error", 3]]
    assert told(one, none) == [[1, "error", 3], "it does not load"]
    assert told(one, one, twice) == [[1, "error", 3]] * 2 + [[2, "error", 6]]


def test_sessions_of_the_same_small_models_are_opened_once(noted: list[Any]) -> None:
    opened: list[Any] = []

    def noting(each: Opening) -> Told:
        opened.append(each.source.data if isinstance(each.source, Blob) else each.source)
        return Told(each)

    runtime: Any = SimpleNamespace(CPU=CPU, open_model=noting)
    handler = worker.RequestHandler(moves=True, runtime=runtime)
    fed = [{"x": np.ones(1, np.float32)}]

    def asked(*sources: str | bytes, here: str = "/here", keeps: bool = True, **how: Any) -> Any:
        opened.clear()
        openings = [
            Opening(each if isinstance(each, str) else Blob(each), CPU, **how) for each in sources
        ]
        handler.answers(openings, here, ["y"], fed, keeps=keeps)
        return list(opened)

    assert asked("a", b"b") == ["a", b"b"]
    assert asked("a", b"b", b"c") == [b"c"]
    assert asked("a", b"c", keeps=False) == ["a", b"c"]  # operators that draw would go on
    assert asked(b"c", here="/elsewhere") == [b"c"]  # its data may be another
    assert asked(b"c", threads=1) == [b"c"]
    assert asked("unreadable", "unreadable") == ["unreadable"] * 2
    many = [str(number) for number in range(worker._KEPT)]
    assert asked(*many) == many
    assert asked("a", *many[2:]) == ["a"]
    assert asked(many[1], many[0]) == [many[0]]  # the one not used for longest goes first


@pytest.mark.parametrize(("free", "runs"), [(None, True), (64 << 20, True), (60 << 20, False)])
def test_outputs_take_a_sixteenth_of_the_memory_at_most(
    free: int | None, runs: bool, noted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "spare", lambda: free)
    handler = serving()
    handler.open(opening(), None)
    handler.run({"x": np.ones(1 << 20, np.uint8)}, ["y"])  # never too much
    data = {"x": np.ones(4 << 20, np.uint8)}
    if runs:
        assert handler.run(data, ["y"])[1] == 0.5
    else:
        with pytest.raises(EngineError):
            handler.run(data, ["y"])


def test_folders_of_a_session_that_is_forsaken_go(noted: list[Any], tmp_path: Path) -> None:
    places = [tmp_path / "record", tmp_path / "target"]
    for place in places:
        place.mkdir()
    handler = serving()
    handler.open(opening(record=str(places[0]), target=str(places[1] / "m.onnx")), None)
    handler.forsake()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
@pytest.mark.parametrize(
    ("bounded", "most", "limited"),
    [(True, -1, True), (False, -1, False), (True, 5, False), (False, 5, False)],
)
def test_memory_is_bounded_beyond_what_is_in_use(
    bounded: bool, most: int, limited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    said: list[Any] = []
    monkeypatch.setattr(worker, "spare", lambda: 1 << 30)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (3, most))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: said.append((kind, *pair)))
    worker.bound_memory(bounded)
    ((kind, limit, hard),) = said
    assert (kind, hard) == (resource.RLIMIT_DATA, most)
    if limited:
        assert int((1 << 30) * worker._SHARE) < limit < int((1 << 30) * worker._SHARE) + (1 << 40)
    else:
        assert limit == most
    monkeypatch.setattr(worker, "spare", lambda: None)
    worker.bound_memory(bounded)
    assert len(said) == 1


@pytest.mark.parametrize("moves", [False, True])
def test_the_evaluator_goes_on_after_an_error(
    moves: bool, noted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluator(data: bytes, outputs: Any) -> Any:
        assert (data, outputs) == (b"model", ["y"])

        def run(feeds: Any) -> list[Any]:
            if feeds["x"] == 0:
                raise EngineError("it does not run")
            return [feeds["x"]]

        return run

    monkeypatch.setattr(worker, "evaluator", evaluator)
    model: Any = SimpleNamespace(data=b"model")
    fed: list[Any] = [{"x": 1}, {"x": 0}, {"x": 3}]
    found = serving(moves=moves).evaluate(model, ["y"], fed)
    assert [str(each) for each in found] == ["[1]", "it does not run", "[3]"]
    assert noted == [True] * moves


def test_words_name_the_runtime_that_workers_run() -> None:
    assert worker.DEPLOYED.NAME == RUNTIME


@each_row(
    ("text", "spared"),
    [
        ("MemTotal:  9 kB\nMemAvailable:   5 kB\nSwapFree: 3 kB\nHugePages_Total: 0\n", 8192),
        ("MemAvailable: 5 kB\nSwapTotal: 7 kB\n", 5120),
        ("MemAvailable: 1000000 kB\nSwapFree: 0 kB\n", 1_024_000_000),
        (None, None),
    ],
)
def test_what_the_system_can_give(
    text: str | None, spared: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(encoding: str) -> str:
        if text is None:
            raise FileNotFoundError
        return text

    monkeypatch.setattr(worker, "Path", lambda path: SimpleNamespace(read_text=read))
    assert worker.spare() == spared


def test_the_bytes_of_answers() -> None:
    some = np.zeros((3, 2), np.float32)
    for value, size in (
        (some, 24), ([some], 24), ((some, [some, some]), 72), ([], 0), ("text", 0),
        ([None, some], 24),
    ):  # fmt: skip
        assert worker._size(value) == size


@each_row(
    ("one", "other", "same"),
    [
        *(([np.array([1, 2], kind)], [np.array([1, 2], kind)], True)
          for kind in ("i1", "f2", "u2", "f4", "i8", "f8", "c8", "?")),
        *(([np.array([1, 2], kind)], [np.array([1, 3], kind)], False)
          for kind in ("i1", "f2", "u2", "f4", "i8", "f8", "c8")),
        ([np.array([1], "c16")], [np.array([1], "c16")], False),
        ([np.array([1], object)], [np.array([1], object)], False),
        ([np.array([np.nan])], [np.array([np.nan])], True),
        ([np.array([0.0])], [np.array([-0.0])], False),
        ([np.array([1], "i4")], [np.array([1], "u4")], False),
        ([np.array([1, 2])], [np.array([[1, 2]])], False),
        ([np.array(1)], [np.array(1)], True),
        ([np.array([1]), np.array([2])], [np.array([1]), np.array([3])], False),
        ([[np.array([1])]], [[np.array([1])]], False),
        ([np.array([1])], EngineError("no"), False),
        (EngineError("no"), [np.array([1])], False),
    ],
)  # fmt: skip
def test_answers_that_are_the_same_bit_for_bit(one: Any, other: Any, same: bool) -> None:
    assert worker._agree([one, other]) is same
    assert worker._agree([one, other, one]) is same
