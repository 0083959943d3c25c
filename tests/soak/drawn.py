"""Random models: all that is asked of `fix`, and of what reads them, in all styles and levels."""

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Final

import onnx

from tests.malformed.mutate import nodes
from tests.random_models.draw import Drawn
from tests.random_models.measure import Case, Outcome
from tests.soak.questions import FIX, QUESTIONS, examined, random_model, wrong
from tests.soak.smaller import smallest
from tests.soak.turn import JOINED, Turn, kind

OTHERS: Final = [name for name in QUESTIONS if name != FIX]


def take(turn: Turn) -> None:
    """Asks all that is asked of `fix`, and one further thing a model."""
    for seed in turn.seeds():
        drawn = random_model(seed)
        if turn.given:
            drawn = with_model(drawn, onnx.load(turn.given))
        if turn.apart:
            ask(turn, FIX, drawn, seed)
        else:
            outcome = examined(drawn, seed, tell=turn.runs)
            turn.covered(reached(drawn.model, outcome, measured=seed % 9 == 0))
            if told := JOINED.join(outcome.problems):
                turn.found(seed, told, partial(of_random, turn, FIX, drawn, seed, told))
        name = OTHERS[seed % len(OTHERS)]
        turn.runs(name)
        ask(turn, name, drawn, seed)
        turn.covered({f"questions {name}": 1})


def ask(turn: Turn, name: str, drawn: Drawn, seed: int) -> None:
    if told := turn.asked(partial(wrong, name, drawn, seed)):
        turn.found(seed, told, partial(of_random, turn, name, drawn, seed, told))


def reached(model: onnx.ModelProto, outcome: Outcome, *, measured: bool) -> Counter[str]:
    """What was reached; the share of `Pad`s that go counts in style fold with open sizes kept."""
    found = Counter({"models": 1, "run": outcome.runs})
    found.update({f"operators {node.op_type}" for _, node in nodes(model)})
    if outcome.result is not None:
        found.update({f"rules {each.code}" for each in outcome.result.changes})
        found.update({f"findings {each.code}" for each in outcome.result.findings})
    if measured:
        found.update({"removed": outcome.removed, "left": outcome.left})
    return found


def with_model(drawn: Drawn, model: onnx.ModelProto) -> Drawn:
    """The same with a smaller model."""
    inputs = {value.name for value in model.graph.input}
    fed = {name: each for name, each in drawn.fed.items() if name in inputs}
    return replace(drawn, model=model, fed=fed)


def of_random(
    turn: Turn, name: str, drawn: Drawn, seed: int, told: str, seconds: float
) -> tuple[bytes, str]:
    """What is wrong with a random model as far as a question goes, made small."""
    runs = Case(drawn, seed).runs

    def asked(smaller: Drawn) -> str:
        return wrong(name, smaller, seed) if not runs or Case(smaller, seed).runs else ""

    def still(model: onnx.ModelProto) -> bool:
        return kind(turn.asked(partial(asked, with_model(drawn, model)))) == kind(told)

    return smallest(drawn.model, still, seconds).SerializeToString(), ".onnx"
