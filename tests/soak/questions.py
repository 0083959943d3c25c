"""What the soak asks of a random model or of a seed, by name, and what is wrong with the answer."""

import random
from collections.abc import Callable, Mapping
from typing import Final

import onnx

import onnxpad
from onnxpad.reasons import Reason
from tests.api.test_check import told_truly_so
from tests.facts.test_feasible import runs_within_its_limits
from tests.graph.test_edits import edits_hold
from tests.malformed.readers import place
from tests.random_models.__main__ import DYNAMICS
from tests.random_models.draw import Drawn, draw_model
from tests.random_models.measure import Case, Outcome, Tell, examine
from tests.rewrite.test_nothing_silent import nothing_is_silent
from tests.soak.turn import JOINED
from tests.support import LEVELS, STYLES


def all_coded(model: onnx.ModelProto, **options: str) -> None:
    """Each reason has a code, and each code a reason."""
    result = onnxpad.fix(model, validate=False, **options)  # type: ignore[arg-type]
    for finding in (*result.findings, *result.undone):
        assert bool(finding.reason_code) == bool(finding.reason)
        assert not finding.reason_code or finding.reason_code in set(Reason)


def rounds_down_for_good(model: onnx.ModelProto, style: str) -> int:
    """How many pools of a model round down now; none of these changes is taken back."""
    if not any(a.name == "ceil_mode" for node in model.graph.node for a in node.attribute):
        return 0
    result = onnxpad.fix(model, style=style, no_ceil=True)
    assert not {"PAD301"} & {each.code for each in (*result.undone, *result.barred)}
    assert result.validation is None or result.validation.outcome != "failed"
    return sum(change.code == "PAD301" for change in result.changes)


def random_model(seed: int) -> Drawn:
    """The random model of a seed."""
    return draw_model(random.Random(seed))


def examined(drawn: Drawn, seed: int, *, tell: Tell = lambda _: None) -> Outcome:
    """What `fix` makes of a model, with options and levels of onnxruntime that a seed says."""
    return examine(
        drawn,
        seed,
        style=STYLES[seed % 3],
        dynamic=DYNAMICS[seed // 3 % 3],
        trust=(None, None, "onnxruntime")[seed // 9 % 3],
        validate=seed // 27 % 4 == 0,
        levels=LEVELS,
        tell=tell,
    )


def _right(drawn: Drawn, seed: int) -> None:
    if problems := examined(drawn, seed).problems:
        raise WrongError(JOINED.join(problems))


class WrongError(Exception):
    """What is wrong, in words."""


FIX: Final = "fix"
QUESTIONS: Final[Mapping[str, Callable[[Drawn, int], object]]] = {
    FIX: _right,
    "check": lambda drawn, seed: told_truly_so(drawn.model, seed),
    "silent": lambda drawn, seed: nothing_is_silent(drawn.model, seed),
    "reasons": lambda drawn, seed: all_coded(drawn.model, style=STYLES[seed % 3]),
    "rounding": lambda drawn, seed: rounds_down_for_good(drawn.model, STYLES[seed % 3]),
    "limits": lambda drawn, _: runs_within_its_limits(drawn),
    "edits": lambda _, seed: edits_hold(seed),
}
"""Each raises if something is wrong with a model, given the seed of its options."""


def wrong(name: str, drawn: Drawn, seed: int) -> str:
    """What is wrong with a model as far as a question goes; empty if nothing is."""
    try:
        QUESTIONS[name](drawn, seed)
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
