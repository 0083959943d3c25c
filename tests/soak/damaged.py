"""Damaged models: whatever reads one ends in findings or in one `OnnxpadError`."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import onnx

from tests.malformed.__main__ import parts, whole
from tests.malformed.mutate import Mutation
from tests.malformed.readers import Given, misread
from tests.soak.smaller import smallest, written
from tests.soak.turn import JOINED, QUOTES, Found, Turn, kind, quoted, used


def take(turn: Turn) -> None:
    """Has all readers read damaged models; every eighth is run, too."""
    for seed in turn.seeds("readers"):
        model, done = parts(seed)
        read = partial(misread, whole(model, done), seed, running=seed % 8 == 0)
        if told := turn.asked(read):
            turn.found(told, partial(of_damage, model, done, seed, told))
        turn.covered({"models": 1, **Counter(f"mutations {each}" for each, _ in done)})


def of_damage(
    model: onnx.ModelProto,
    done: Sequence[Mutation],
    seed: int,
    told: str,
    turn: Turn,
    seconds: float,
) -> Found:
    """What a damaged model does to a reader: fewer mutations, then less of the model."""

    running = not turn.asked(partial(misread, whole(model, done), seed, running=False))

    def still(given: Given) -> bool:
        said = turn.asked(partial(misread, given, seed, running=running))
        return kind(told) in map(kind, said.split(JOINED))

    for each in list(done):
        fewer = [other for other in done if other is not each]
        if still(whole(model, fewer)):
            done = fewer
    given = whole(model, done)
    if isinstance(given, onnx.ModelProto):
        given = smallest(given, still, seconds, damaged=True)
    text, source = written(given, still)
    test = f"""
import base64

import onnx

from tests.malformed.readers import misread

def test_malformed_{seed}() -> None:
    {QUOTES}{quoted(told)}

    What is wrong: {", ".join(name for name, _ in done) or "nothing"}.
    {QUOTES}
    model = {source}
    assert misread(model, {seed}, running={running}) == ""
"""
    return Found(told, seed, used(test), text)
