"""The soak: a planted fault is found and made small, and it stops with all that it has started."""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.passes.fold_pad import FoldPad
from tests.broken import Lost
from tests.malformed.__main__ import whole
from tests.malformed.readers import Given
from tests.random_models.draw import Drawn
from tests.soak import __main__ as soak
from tests.soak import damaged, drawn, planted
from tests.soak.planted import Planted
from tests.soak.questions import FIX, QUESTIONS, wrong
from tests.soak.turn import Turn, isolated
from tests.support import BORDER, W, one


def turn(lines: list[Any], out: Path, seed: int = 0, given: Path | None = None) -> Turn:
    """A turn of one seed, which tells a list."""
    return Turn(seed, 1, time.monotonic() + 60, set(), out, given, tell=lines.append)


def the_find(lines: list[Any]) -> tuple[str, Path]:
    """What is wrong, and the file that shows it."""
    (found,) = (line["found"] for line in lines if "found" in line)
    return found["told"], Path(found["file"])


def small() -> Drawn:
    model = one(
        "a = Pad (x, p) y = Conv (a, w) z = Tanh (x)",
        outputs="float[] y, float[] z",
        initializers=f"{BORDER}, {W}",
    )
    return Drawn(model, open=False, exact=True, fed={}, sizes=(1, 2, 9, 8))


def test_a_planted_fault_is_found_made_small_and_shown_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Folding forgets the amounts: one Pad before one Conv shows it, as long as it stands."""
    lines: list[Any] = []
    monkeypatch.setattr(drawn, "random_model", lambda _: small())
    monkeypatch.setattr(drawn, "OTHERS", [FIX])
    with monkeypatch.context() as patch:
        patch.setattr(FoldPad, "rewrite", Lost.rewrite)
        drawn.take(turn(lines, tmp_path, 30))
        told, path = the_find(lines)
        again: list[Any] = []
        drawn.take(turn(again, tmp_path / "again", 30, path))
    assert told.startswith("undone")
    assert [each for each in lines if "again" in each]
    assert [node.op_type for node in onnx.load(path).graph.node] == ["Pad", "Conv"]
    assert the_find(again)[0] == told
    reached = next(each["covered"] for each in lines if "run" in each.get("covered", ()))
    assert reached["operators Conv"] == 1


def dead(model: Given) -> bool:
    assert isinstance(model, onnx.ModelProto)
    return any(name == "z_dead" for node in model.graph.node for name in node.output)


def test_a_damaged_model_is_found_and_made_small(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A reader that stumbles over a dead node: the other mutation goes, and all that is whole."""
    seed = next(n for n in range(99) if dead(whole(small().model, [("node_dead", n)])))
    done = [("operator", 1), ("node_dead", seed)]
    lines: list[Any] = []

    def stumbles(model: onnx.ModelProto, *_: object, **__: object) -> None:
        if dead(model):
            raise KeyError("Tanh")

    monkeypatch.setattr(damaged, "parts", lambda _: (small().model, done))
    with monkeypatch.context() as patch:
        patch.setattr(onnxpad, "show", stumbles)
        damaged.take(turn(lines, tmp_path, 3))
    told, path = the_find(lines)
    assert told.startswith("KeyError")
    model = onnx.load(path)
    assert [list(node.output) for node in model.graph.node] == [["z_dead"]]


def test_what_match_does_wrong_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Found:
        def __init__(self, model: onnx.ModelProto) -> None:
            self.outcome, self.model = "matched", model

    monkeypatch.setattr(planted, "planted", lambda _: Planted("series", ("same",), ("symmetric",)))
    monkeypatch.setattr(onnxpad, "match", lambda model, *_, **__: Found(model))
    lines: list[Any] = []
    planted.take(turn(lines, tmp_path))
    told, path = the_find(lines)
    assert told == "it matches what it does not reproduce"
    assert "Planted(build='series'" in path.read_text()


def test_what_ends_the_process_is_told() -> None:
    assert isolated(lambda: "fine") == "fine"
    assert isolated(lambda: os.kill(os.getpid(), signal.SIGKILL)) == "ends the process with SIGKILL"
    assert isolated(lambda: time.sleep(9), 0.1) == "takes over 0 s"


WORKER = """#!/bin/sh
sleep 100 &
echo $! > {folder}/child
echo '{{"start": 5}}'
echo '{{"covered": {{"models": 3, "rules PAD201": 2}}}}'
echo '{{"found": {{"told": "wrong: 1", "kind": "wrong", "seed": 5, "file": "F"}}}}'
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
    assert "FOUND: wrong: 1 (F)\n  again: python -m tests.soak.turn random --seed 5 " in told
    assert "  3 models\n  1 rules: PAD201 2\n" in told
    assert "found: 1\n       2 wrong\n" in told
    assert ("interrupted" in told) == interrupted


def test_all_is_asked_of_models() -> None:
    assert not [*filter(None, (wrong(name, small(), 1) for name in QUESTIONS))]
