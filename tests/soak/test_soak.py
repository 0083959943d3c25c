"""The soak stops, says what it covered, and finds what is planted: small, as text, with a test."""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.arithmetic import window
from onnxpad.passes.fold_pad import FoldPad
from tests.broken import Lost
from tests.malformed.__main__ import whole
from tests.malformed.readers import Given
from tests.random_models.draw import Drawn
from tests.soak import __main__ as soak
from tests.soak import damaged, drawn, planted
from tests.soak.examples import of_test
from tests.soak.planted import Planted
from tests.soak.questions import FIX, QUESTIONS, Question, random_model, wrong
from tests.soak.turn import Turn, fails, isolated
from tests.steps import __main__ as steps
from tests.support import BORDER, W, one


def turn(lines: list[Any], seed: int = 0) -> Turn:
    """A turn of one seed, which tells a list."""
    return Turn(seed, 1, time.monotonic() + 60, set(), tell=lines.append)


def the_find(lines: list[Any]) -> Any:
    (found,) = (line["found"] for line in lines if "found" in line)
    assert found["fails"]
    return found


def small() -> Drawn:
    model = one(
        "a = Pad (x, p) y = Conv (a, w) z = Tanh (x)",
        outputs="float[] y, float[] z",
        initializers=f"{BORDER}, {W}",
    )
    return Drawn(model, open=False, exact=True, fed={}, sizes=(1, 2, 9, 8))


def test_a_planted_fault_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folding forgets the amounts: one Pad before one Conv shows it, as long as it stands."""
    lines: list[Any] = []
    monkeypatch.setitem(QUESTIONS, FIX, Question(QUESTIONS[FIX].ask, lambda _: small()))
    monkeypatch.setattr(drawn, "OTHERS", [FIX])
    with monkeypatch.context() as patch:
        patch.setattr(FoldPad, "rewrite", Lost.rewrite)
        drawn.take(turn(lines, 30))
        found = the_find(lines)
    assert [each for each in lines if "again" in each]
    assert found["kind"] == "undone"
    model = onnx.parser.parse_model(found["text"])
    assert [node.op_type for node in model.graph.node] == ["Pad", "Conv"]
    assert found["text"] in found["test"]
    assert not fails(found["test"])
    reached = next(each["covered"] for each in lines if "run" in each.get("covered", ()))
    assert reached["operators Conv"] == 1


def dead(model: Given) -> bool:
    assert isinstance(model, onnx.ModelProto)
    return any(name == "z_dead" for node in model.graph.node for name in node.output)


def test_a_damaged_model_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that stumbles over a dead node: the other mutation goes, and all that is whole."""
    seed = next(n for n in range(99) if dead(whole(small().model, [("node_dead", n)])))
    done = [("ir_version", 1), ("node_dead", seed)]
    lines: list[Any] = []

    def stumbles(model: onnx.ModelProto, *_: object, **__: object) -> None:
        if dead(model):
            raise KeyError("Tanh")

    monkeypatch.setattr(damaged, "parts", lambda _: (small().model, done))
    with monkeypatch.context() as patch:
        patch.setattr(onnxpad, "show", stumbles)
        damaged.take(turn(lines, 3))
    found = the_find(lines)
    model = onnx.parser.parse_model(found["text"])
    assert [list(node.output) for node in model.graph.node] == [["z_dead"]]
    assert "What is wrong: node_dead." in found["test"]
    assert not fails(found["test"])


def test_what_match_does_wrong_is_found_with_one_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    port = Planted("series", ("same",), ("symmetric",))
    assert len(port.differing) > 1
    monkeypatch.setattr(planted, "planted", lambda _: port)
    lines: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(
            onnxpad,
            "match",
            lambda model, *_, **__: SimpleNamespace(outcome="matched", model=model),
        )
        planted.take(turn(lines))
        found = the_find(lines)
    assert "only=frozenset({" in found["test"]
    assert "," not in found["test"].partition("only=frozenset({")[2].partition("}")[0]
    assert not fails(found["test"])


SAID = """
E   AssertionError: assert 9 == 8
E   Falsifying example: test_output_size_counts_the_windows_that_fit(
E       size=9,
E       window=Window(kernel=2, stride=1, dilation=1),
E       begin=0,
E       end=0,
E   )
"""


def test_an_example_of_hypothesis_becomes_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "test_output_size_counts_the_windows_that_fit"
    from tests.arithmetic import test_window

    with monkeypatch.context() as patch:
        patch.setattr(test_window, "output_size", lambda *_: 9)
        found = of_test(f"tests/arithmetic/test_window.py::{name}", 7, "AssertionError", SAID)
        assert fails(found.test)
    assert f"import Window, {name} as given" in found.test
    assert not fails(found.test)
    assert window.output_size(9, window.Window(2), 0, 0) == 8


def test_what_ends_the_process_is_told() -> None:
    assert isolated(lambda: "fine") == "fine"
    assert isolated(lambda: os.kill(os.getpid(), signal.SIGKILL)) == "ends the process with SIGKILL"
    assert isolated(lambda: time.sleep(9), 0.1) == "takes over 0 s"


WORKER = """#!/bin/sh
sleep 100 &
echo $! > {folder}/child
echo '{{"start": 5, "of": "fix"}}'
echo '{{"covered": {{"models": 3, "rules PAD201": 2}}}}'
echo '{{"found": {{"told": "wrong: 1", "kind": "wrong", "seed": 5,' \\
  '"test": "T", "text": "M", "fails": true}}}}'
echo '{{"again": "wrong"}}'
touch {folder}/told
wait
"""


def interrupt_when(path: Path) -> None:
    """Sends Ctrl-C to this process when a file is there, soon."""
    for _ in range(5000):
        if path.exists():
            os.kill(os.getpid(), signal.SIGINT)
            return
        time.sleep(0.01)


@pytest.mark.parametrize("interrupted", [False, True])
def test_it_stops_with_all_children_and_tells_what_came_of_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    interrupted: bool,
) -> None:
    worker = tmp_path / "worker"
    worker.write_text(WORKER.format(folder=tmp_path))
    worker.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(worker))
    monkeypatch.setattr(soak, "GRACE", 0.1)
    if interrupted:
        threading.Thread(target=interrupt_when, args=[tmp_path / "told"]).start()
    begun = time.monotonic()
    given = ["--only", "random", "--seed", "5", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert soak.main([*given, "--minutes", "1" if interrupted else "0.02"]) == 1
    assert time.monotonic() - begun < 55
    child = int((tmp_path / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"
    told = capsys.readouterr().out
    assert "seed 5, " in told
    assert "FOUND by --only random --seed 5: wrong: 1" in told
    assert "  3 models\n  1 rules: PAD201 2\n" in told
    assert "found: 1\n       2 wrong\n" in told
    assert (tmp_path / "out" / "test_found_1.py").read_text() == "T"
    assert ("interrupted" in told) == interrupted


def said_by_steps(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(steps, "warm", lambda: None)
        patch.setattr(steps, "Case", lambda *_: SimpleNamespace(steps=("write", "read")))
        patch.setattr(steps, "_try_all", lambda *_, **__: (7, ["lost a file"]))
        patch.setattr(sys, "argv", ["steps", "--only", "show --html"])
        assert steps.main() == 1
    return capsys.readouterr().out


@pytest.mark.parametrize("crashes", [False, True])
def test_what_steps_say_is_counted_and_a_crash_is_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    crashes: bool,
) -> None:
    said = "" if crashes else said_by_steps(monkeypatch, capsys)
    worker = tmp_path / "worker"
    worker.write_text(f"#!/bin/sh\ncat <<'END'\n{said}END\necho KeyError: 7 >&2\nexit 1\n")
    worker.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(worker))
    monkeypatch.setattr(soak, "COMMANDS", ["show --html", "fix"])
    assert soak.main(["--only", "steps", "--jobs", "1", "--minutes", "1"]) == 1
    told = capsys.readouterr().out
    assert ("  14 tries" in told) != crashes
    assert ("FOUND by --only steps: lost a file" in told) != crashes
    assert ("show --html ended with 1: KeyError: 7" in told) == crashes


def test_all_is_asked_of_models() -> None:
    asked = [name for name, question in QUESTIONS.items() if question.draw is random_model]
    assert len(asked) == 6
    assert [wrong(name, small(), seed) for name in asked for seed in range(2)] == [""] * 12
