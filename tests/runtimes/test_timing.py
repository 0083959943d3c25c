"""`validate --time`: how the times are taken, the interval of their ratio, and how it is told."""

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import onnx
import pytest

import onnxpad
from onnxpad.errors import UsageError
from onnxpad.report import ValidateReport
from onnxpad.report.documents.validation_document import validate_text
from onnxpad.report.layout import UNBROKEN
from onnxpad.runtimes import sessions, timing
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.sessions import CPU
from onnxpad.runtimes.timing import Timing, evaluated, timed
from onnxpad.validation.result import Validation
from tests.support import one, onnxpad_runs

SHORT = one("y = Conv (x, w)", inputs="float[1, 8, 64, 64] x, float[8, 8, 3, 3] w")
LONG = one(
    "a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Conv <pads = [1, 1, 1, 1]> (a, w) "
    "c = Conv <pads = [1, 1, 1, 1]> (b, w) d = Conv <pads = [1, 1, 1, 1]> (c, w) y = Conv (d, w)",
    inputs="float[1, 8, 64, 64] x, float[8, 8, 3, 3] w",
)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer rounds and seconds."""
    monkeypatch.setattr(timing, "_ROUNDS", 6)
    for name, seconds in (("_SECONDS", 0.0), ("_BLOCK", 0.01), ("_WARM_UP", 0.0)):
        monkeypatch.setattr(timing, name, seconds)


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    found = tmp_path / "short.onnx", tmp_path / "long.onnx"
    for path, model in zip(found, (SHORT, LONG), strict=True):
        onnx.save(model, path)
    return found


class Clock:
    """A stand-in for sessions: it notes what is open, and takes the time it is told."""

    def __init__(self, seconds: dict[object, float]) -> None:
        self.seconds = seconds
        self.events: list[object] = []

    def __call__(self, source: object, **options: object) -> "Clock":
        assert options["optimisation"] == "full"
        assert options["deployed"]
        self.events.append(source)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self.events.append("closed")

    def times(self, feeds: object, warm_up: float, seconds: float) -> list[float]:
        assert feeds == {"x": self.events[-1]}
        assert warm_up > 0
        return [self.seconds[self.events[-1]]] * 3


FEEDS = [{"x": b"one"}, {"x": b"two"}]


def test_the_models_take_turns_and_are_never_open_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock({b"one": 2.0, b"two": 1.0})
    monkeypatch.setattr(timing, "open_session", clock)
    monkeypatch.setattr(timing, "_SECONDS", 0.0)
    told: list[tuple[str, int, int]] = []
    found = timed(
        [b"one", b"two"],
        FEEDS,  # type: ignore[arg-type]
        CPU,
        progress=lambda *step: told.append(step),
    )
    assert (
        clock.events == [b"one", "closed", b"two", "closed", b"two", "closed", b"one", "closed"] * 5
    )
    assert (found.rounds, found.runs, found.seconds) == (10, (30, 30), (2.0, 1.0))
    assert (found.ratio, found.low, found.high, found.differs) == (0.5, 0.5, 0.5, True)
    assert told == [("measuring time", done, 20) for done in range(20)]


def test_rounds_go_on_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "open_session", Clock({b"one": 1.0, b"two": 1.0}))
    found = timed([b"one", b"two"], FEEDS, CPU)  # type: ignore[arg-type]
    assert found.rounds == 60
    assert not found.differs


def test_the_interval_holds_the_ratio_as_often_as_it_says() -> None:
    chance = random.Random(1)

    def rounds(count: int, factor: float) -> list[list[float]]:
        return [[factor * math.exp(chance.gauss(0, 0.2))] for _ in range(count)]

    for count in (10, 25):
        inside = [
            found.low <= 0.9 <= found.high
            for found in (
                evaluated(CPU, rounds(count, 1.0), rounds(count, 0.9)) for _ in range(2000)
            )
        ]
        assert 0.94 < sum(inside) / len(inside) < 0.99


def test_a_ratio_is_that_of_each_round() -> None:
    """A machine that becomes slower all the time slows both."""
    before = [[1.0 + each, 9.0, 0.5 + each] for each in range(10)]
    after = [[2.0 * value for value in values] for values in before]
    found = evaluated(CPU, before, after)
    assert (found.ratio, found.low, found.high) == (2.0, 2.0, 2.0)


def test_two_models_are_timed(quick: None, paths: tuple[Path, Path]) -> None:
    short, long = paths
    result = onnxpad.validate(short, long, time=True)
    assert result.times is not None
    (found,) = result.times
    assert (found.provider, found.rounds, found.note) == (CPU, 6, "")
    assert min(found.runs) >= 6
    assert found.low <= found.ratio <= found.high
    assert min(found.seconds) > 0
    assert found.low > 0


def test_the_session_is_that_of_a_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    from onnxpad.runtimes.onnxruntime import native
    from onnxpad.runtimes.runtime import Opening

    def entries(*, deployed: bool) -> str:
        opening = Opening("model", CPU, optimisation="full", deployed=deployed)
        options, _ = native._options(onnxruntime, opening)
        try:
            found: str = options.get_session_config_entry("session.intra_op.allow_spinning")
        except RuntimeError:
            return ""
        return found

    assert (entries(deployed=False), entries(deployed=True)) == ("0", "")
    session = sessions.open_session(SHORT, deployed=True, optimisation="full")
    with session, pytest.raises(EngineError):
        session.times({}, 0.0, 0.0)


def test_without_being_asked_nothing_is_timed(paths: tuple[Path, Path]) -> None:
    result = onnxpad_runs("validate", paths[0], paths[0], "--format", "json")
    assert json.loads(result.stdout)["validation"]["times"] is None
    assert "time on" not in onnxpad_runs("validate", paths[0], paths[0]).stdout


def test_the_command_reports_it(quick: None, paths: tuple[Path, Path]) -> None:
    result = onnxpad_runs("validate", *paths, "--time", "--format", "json")
    assert result.exit_code == 3  # the outputs differ in shape
    (found,) = json.loads(result.stdout)["validation"]["times"]
    assert found["provider"] == CPU
    assert found["low"] <= found["ratio"] <= found["high"]
    assert len(found["seconds"]) == len(found["runs"]) == 2
    assert "time on CPU: " in onnxpad_runs("validate", *paths, "--time").stdout


@pytest.mark.parametrize("reference", [None, {"y": 0}])
def test_one_model_alone_has_no_ratio(paths: tuple[Path, Path], reference: object) -> None:
    with pytest.raises(
        UsageError, match="one model alone" if reference is None else "time compares"
    ):
        onnxpad.validate(paths[0], reference=reference, time=True)  # type: ignore[arg-type]


def test_a_model_that_does_not_run_is_said_not_to_be_timed(
    monkeypatch: pytest.MonkeyPatch, paths: tuple[Path, Path]
) -> None:
    def failing(*_: object, **__: object) -> Iterator[None]:
        raise EngineError("no kernel")

    monkeypatch.setattr(timing, "open_session", failing)
    result = onnxpad.validate(paths[0], paths[0], time=True)
    assert result.ok
    assert result.times is not None
    assert result.times[0].note == "not timed: no kernel"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        pytest.param(
            Timing(CPU, (0.0033, 0.00291), (40, 40), 10, 0.8812, 0.853, 0.9123),
            "time on CPU: 3.30 ms -> 2.91 ms median of 40 runs each; "
            "the rewritten model takes 0.88 of the time (0.85 to 0.91, 95 %)",
            id="faster",
        ),
        pytest.param(
            Timing("X", (1.5, 0.00002), (1, 1200), 10, 1.001, 0.9, 1.1),
            "time on X: 1.50 s -> 20.0 us median of 1 and 1,200 runs; no difference: "
            "the rewritten model takes 1.00 of the time (0.90 to 1.10, 95 %)",
            id="no difference",
        ),
        pytest.param(
            Timing(CPU, (1.0, 1.0), (9, 9), 10, 1.002, 1.001, 1.003),
            "time on CPU: 1.00 s -> 1.00 s median of 9 runs each; no difference: "
            "the rewritten model takes 1.00 of the time (1.00 to 1.00, 95 %)",
            id="none that is printed",
        ),
        pytest.param(
            Timing(CPU, note="not timed: no kernel\n"),
            "time on CPU: not timed: no kernel\\n",
            id="not timed",
        ),
    ],
)
def test_the_line_of_the_report(found: Timing, said: str) -> None:
    validation = Validation(ok=True, runs=(), times=(found,))
    report = ValidateReport("a", "b", "", "", (CPU,), validation, (), 1.0)
    assert said in validate_text(report, UNBROKEN).splitlines()
