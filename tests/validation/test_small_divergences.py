"""Where small models part, which tensors are not computed twice alike, and what a choice was by."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from onnxpad.runtimes.sessions import Session
from onnxpad.validation.bisect import ModelSide, first_divergence, restless
from onnxpad.validation.draw import Draw
from tests.support import one

FED = Draw({"x": np.arange(1, 7, dtype=np.float32).reshape(2, 3)}, "x")
INPUTS = "float[2, 3] x"


def test_inputs_of_the_node_that_differs_are_told_of_both_models() -> None:
    before, after = (
        one(f"a = Neg (x) b = Abs (x) y = Sub ({reads})", inputs=INPUTS)
        for reads in ("a, b", "b, a")
    )
    found = first_divergence(ModelSide(before), ModelSide(after), FED, ["y"])
    assert found is not None
    assert found.tensor == "y"
    assert found.inputs == (("a", "b"), ("b", "a"))
    assert found.compared == 3


@pytest.mark.parametrize(
    "drawn",
    ["RandomUniform <shape = [2, 3]> ()", "RandomUniform <shape = [2, 3], seed = 3.0> ()",
     "RandomNormalLike (x)"],
)  # fmt: skip
def test_numbers_drawn_again_count_only_where_a_fresh_session_draws_others(drawn: str) -> None:
    model = one(f"r = {drawn} y = Add (x, r) n = Neg (x)", inputs=INPUTS)
    assert restless(ModelSide(model), ["y", "r", "n"], FED) == {}


def test_what_a_second_run_of_a_session_computes_otherwise_is_restless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, runs = Session.run, Counter[Session]()

    def unsteady(session: Session, feeds: Any, outputs: Any = None) -> Any:
        """An engine whose second run of a session gives another `y`."""
        runs[session] += 1
        found: dict[str, Any] = dict(plain(session, feeds, outputs))
        return {name: each + (name == "y") * runs[session] for name, each in found.items()}

    monkeypatch.setattr(Session, "run", unsteady)
    model = one("n = Neg (x) y = Exp (n)", inputs=INPUTS)
    assert restless(ModelSide(model), ["y", "n"], FED).keys() == {"y"}
