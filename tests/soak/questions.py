"""What the soak asks of a random model or of a seed, by name, and what is wrong with the answer."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import onnx

import onnxpad
from tests.api.test_check import told_truly_so
from tests.api.test_repad import test_a_chain_becomes_what_the_framework_computes
from tests.arithmetic.test_size import (
    test_expressions_of_several_symbols_compare_as_their_values,
)
from tests.facts.test_claims import (
    arithmetic_agrees,
    float16_agrees,
    network_agrees,
    random_arithmetic,
    random_float16,
    random_network,
)
from tests.facts.test_feasible import runs_within_its_limits
from tests.graph import test_graph, test_scopes
from tests.malformed.readers import place
from tests.passes.test_round_down import rounds_down_for_good
from tests.random_models.__main__ import DYNAMICS
from tests.random_models.draw import Drawn, draw_model
from tests.random_models.measure import Case, Outcome, Tell, examine
from tests.rewrite.test_nothing_silent import nothing_is_silent
from tests.soak.turn import JOINED
from tests.support import LEVELS, STYLES
from tests.test_reasons import all_coded


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        ask: Raises if something is wrong with a model, given the seed of its options.
        draw: The model of a seed.
    """

    ask: Callable[[Drawn, int], object]
    draw: Callable[[int], Drawn]


def random_model(seed: int) -> Drawn:
    """The random model of a seed."""
    return draw_model(random.Random(seed))


def _own(
    ask: Callable[[onnx.ModelProto], object], draw: Callable[[int], onnx.ModelProto]
) -> Question:
    """Asks something of models that are drawn for it."""
    return Question(
        lambda drawn, _: ask(drawn.model),
        lambda seed: Drawn(draw(seed), open=False, exact=True, fed={}, sizes=()),
    )


def _seeded(ask: Callable[[int], object]) -> Question:
    """Asks something that draws all it needs."""
    nothing = Drawn(onnx.ModelProto(), open=False, exact=True, fed={}, sizes=())
    return Question(lambda _, seed: ask(seed), lambda _: nothing)


def _of_model(ask: Callable[[onnx.ModelProto, int], object]) -> Question:
    return Question(lambda drawn, seed: ask(drawn.model, seed), random_model)


def examined(
    drawn: Drawn, seed: int, *, missed: bool = False, tell: Tell = lambda _: None
) -> Outcome:
    """What `fix` makes of a model, with options and levels of onnxruntime that a seed says."""
    return examine(
        drawn,
        seed,
        style=STYLES[seed % 3],
        dynamic=DYNAMICS[seed // 3 % 3],
        trust=(None, None, "onnxruntime")[seed // 9 % 3],
        validate=seed // 27 % 4 == 0,
        levels=LEVELS,
        missed=missed,
        tell=tell,
    )


def _right(drawn: Drawn, seed: int) -> None:
    if problems := examined(drawn, seed).problems:
        raise WrongError(JOINED.join(problems))


class WrongError(Exception):
    """What is wrong, in words."""


FIX: Final = "fix"
QUESTIONS: Final[Mapping[str, Question]] = {
    FIX: Question(_right, random_model),
    "check": _of_model(told_truly_so),
    "silent": _of_model(nothing_is_silent),
    "reasons": _of_model(lambda model, seed: all_coded(model, style=STYLES[seed % 3])),
    "rounding": _of_model(lambda model, seed: rounds_down_for_good(model, STYLES[seed % 3])),
    "limits": Question(lambda drawn, _: runs_within_its_limits(drawn), random_model),
    "arithmetic": _own(arithmetic_agrees, random_arithmetic),
    "float16": _own(float16_agrees, random_float16),
    "network": _own(network_agrees, random_network),
    "chain": _seeded(test_a_chain_becomes_what_the_framework_computes),
    "sizes": _seeded(test_expressions_of_several_symbols_compare_as_their_values),
    "edits": _seeded(lambda seed: test_graph.TestAnyEdits().test_are_saved_and_undone(seed)),
    "scopes": _seeded(lambda seed: test_scopes.TestAnyEdits().test_are_saved_and_undone(seed)),
}


def wrong(name: str, drawn: Drawn, seed: int) -> str:
    """What is wrong with a model as far as a question goes; empty if nothing is."""
    try:
        QUESTIONS[name].ask(drawn, seed)
    except WrongError as error:
        return str(error)
    except onnxpad.OnnxpadError as error:
        return _line(error) if Case(drawn, seed).runs else ""
    except Exception as error:
        return _line(error)
    return ""


def _line(error: Exception) -> str:
    said = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__} at {place(error)}: {said}"[:300]
