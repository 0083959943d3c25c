"""Random models: all that is asked of `fix`, and of what reads them, in all styles and levels."""

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import onnx

from tests.malformed.mutate import nodes
from tests.malformed.readers import Given
from tests.random_models.draw import Drawn
from tests.random_models.measure import Case, Kept, Outcome
from tests.random_models.writer import always
from tests.soak.questions import FIX, QUESTIONS, examined, random_model, wrong
from tests.soak.smaller import smallest, written
from tests.soak.turn import JOINED, QUOTES, Found, Turn, kind, quoted, used

OTHERS: Final = [name for name in QUESTIONS if name != FIX]


def take(turn: Turn) -> None:
    """Asks all that is asked of `fix`, and one further thing a model."""
    for seed in turn.seeds(FIX):
        drawn = QUESTIONS[FIX].draw(seed)
        if turn.apart:
            _ask(turn, FIX, drawn, seed)
        else:
            measured = (
                seed % 9 == 0
            )  # style fold, and open sizes kept: of others `Pad`s stay on purpose
            outcome = examined(drawn, seed, missed=measured, tell=turn.runs)
            turn.covered(_reached(drawn.model, outcome, measured=measured))
            if told := JOINED.join(outcome.problems):
                turn.found(told, partial(of_random, FIX, drawn, seed, told))
        name = OTHERS[seed % len(OTHERS)]
        turn.runs(name)
        _ask(turn, name, QUESTIONS[name].draw(seed), seed)
        turn.covered({f"questions {name}": 1})


def _ask(turn: Turn, name: str, drawn: Drawn, seed: int) -> None:
    if told := turn.asked(partial(wrong, name, drawn, seed)):
        turn.found(told, partial(of_random, name, drawn, seed, told))


def _reached(model: onnx.ModelProto, outcome: Outcome, *, measured: bool) -> Counter[str]:
    reached = Counter({"models": 1, "run": outcome.runs})
    reached.update({f"operators {node.op_type}" for _, node in nodes(model)})
    if outcome.result is not None:
        reached.update({f"rules {each.code}" for each in outcome.result.changes})
        reached.update({f"findings {each.code}" for each in outcome.result.findings})

    def missed(kept: Sequence[Kept]) -> int:
        return sum(each.missed for each in kept)

    if measured:
        reached["removed"] += outcome.removed
        reached["missed"] += missed([each for each in outcome.kept if each.site is None])
        reached["resolved"] += outcome.resolved
        reached["unresolved"] += missed([each for each in outcome.kept if each.site is not None])
    return reached


def of_random(name: str, drawn: Drawn, seed: int, told: str, turn: Turn, seconds: float) -> Found:
    """What is wrong with a random model as far as a question goes, made small."""

    runs = QUESTIONS[name].draw is random_model and Case(drawn, seed).runs

    def asked(drawn: Drawn) -> str:
        return wrong(name, drawn, seed) if not runs or Case(drawn, seed).runs else ""

    def still(drawn: Drawn) -> bool:
        return kind(turn.asked(partial(asked, drawn))) == kind(told)

    def fed(model: onnx.ModelProto) -> Drawn:
        inputs = {value.name for value in model.graph.input}
        return replace(
            drawn, model=model, fed={n: each for n, each in drawn.fed.items() if n in inputs}
        )

    model = smallest(drawn.model, lambda model: still(fed(_model(model))), seconds)
    drawn, fixed = fed(model), {}
    for key, each in drawn.fed.items():
        fixed[key] = each.value(np.random.default_rng(seed))
    constant = replace(drawn, fed={key: always(each) for key, each in fixed.items()})
    given = ", ".join(
        f"{key!r}: always(np.array({each.tolist()!r}, {each.dtype.name!r}))"
        for key, each in fixed.items()
    )
    more = f", half={drawn.half}" * drawn.half + f", chance={drawn.chance!r}" * bool(drawn.chance)
    made = (
        f"Drawn(\n    model, open={drawn.open}, exact={drawn.exact},"
        f" fed={{{given}}}, sizes={drawn.sizes!r}{more}\n)"
    )
    if not still(constant):
        made = f"replace(random_model({seed}), model=model)"
    text, source = written(model, lambda given: still(replace(constant, model=_model(given))))
    test = f"""
import base64
from dataclasses import replace

import numpy as np
import onnx

from tests.random_models.draw import Drawn
from tests.random_models.writer import always
from tests.soak.questions import random_model, wrong

def test_{name}_{seed}() -> None:
    {QUOTES}{quoted(told)}{QUOTES}
    model = {source}
{textwrap.indent(f"drawn = {made}", "    ")}
    assert wrong({name!r}, drawn, {seed}) == ""
"""
    return Found(told, seed, used(test), text)


def _model(given: Given) -> onnx.ModelProto:
    assert isinstance(given, onnx.ModelProto)
    return given
