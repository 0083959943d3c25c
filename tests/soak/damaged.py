"""Damaged models: whatever reads one ends in findings or in one `OnnxpadError`."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import onnx

from tests.malformed.__main__ import parts, read, whole
from tests.malformed.mutate import Mutation
from tests.malformed.readers import Given, misread
from tests.soak.smaller import smallest
from tests.soak.turn import JOINED, Turn, kind


def take(turn: Turn) -> None:
    """Has all readers read damaged models; every eighth is run, too."""
    for seed in turn.seeds():
        model, done = parts(seed)
        given = read(turn.given.read_bytes()) if turn.given else whole(model, done)
        running = seed % 8 == 0
        if told := turn.asked(partial(misread, given, seed, running=running)):
            made = partial(of_damage, turn, model, done, seed, told)
            turn.found(seed, told, partial(made, running=running))
        turn.covered({"models": 1, **Counter(f"mutations {each}" for each, _ in done)})


def of_damage(
    turn: Turn,
    model: onnx.ModelProto,
    done: Sequence[Mutation],
    seed: int,
    told: str,
    seconds: float,
    *,
    running: bool,
) -> tuple[bytes, str]:
    """What a damaged model does to a reader: fewer mutations, then less of the model."""

    def still(given: Given) -> bool:
        said = turn.asked(partial(misread, given, seed, running=running))
        return kind(told) in map(kind, said.split(JOINED))

    for each in list(done):
        fewer = [other for other in done if other is not each]
        if still(whole(model, fewer)):
            done = fewer
    given = whole(model, done)
    if isinstance(given, bytes):
        return given, ".onnx"
    return smallest(given, still, seconds, damaged=True).SerializeToString(), ".onnx"
