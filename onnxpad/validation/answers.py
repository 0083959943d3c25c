"""What one model answers to a number of inputs, on one provider and optimisation level.

A session is open only while its model is being asked.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from onnxpad.engine.sessions import (
    CPU,
    CrashError,
    EngineError,
    Optimisation,
    Session,
    Source,
    Value,
    open_session,
)
from onnxpad.validation.compare import compare
from onnxpad.validation.inputs import (
    Draw,
    Input,
    UndrawableError,
    draw,
    other_data,
    size_choices,
    small_choices,
)
from onnxpad.validation.pairing import Pairing

_SAME_NAMES = Pairing()

_SMALLEST = 2  # the number of the sample, from 0, that is as small as the model takes it


@dataclass(frozen=True, slots=True)
class Result:
    """What one run gave.

    Attributes:
        outputs: By name; empty where it failed.
        seconds: Wall time; NaN where it failed.
        error: Why there are no outputs, in one line; else empty.
        noise: How far a second run was from the first, an output; 0.0 where not measured.
        crashed: Whether it failed since onnxruntime crashed.
    """

    outputs: Mapping[str, Value]
    seconds: float
    error: str = ""
    noise: Mapping[str, float] = field(default_factory=dict)
    crashed: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """What a model gave for each of the inputs, and where its nodes ran.

    Attributes:
        results: One a set of inputs, in their order.
        places: Provider by node, in running order; empty on the CPU.
    """

    results: tuple[Result, ...]
    places: Mapping[str, str] = field(default_factory=dict)


def ask(
    source: Source,
    draws: Sequence[Draw],
    provider: str,
    optimisation: Optimisation,
    *,
    folder: Path | None = None,
    pairing: Pairing = _SAME_NAMES,
) -> Answers:
    """What a model answers to each of the inputs.

    Where the model has other names for its inputs and outputs, `pairing` has them.

    On another provider than the CPU's each input runs twice more: once to warm up, in which is
    seen where nodes run, and with optimisation off once to see how far two runs are apart.

    Raises:
        ProviderError: The provider is not installed, or does not start.
    """
    elsewhere = provider != CPU
    places: Mapping[str, str] = {}
    results = []
    try:
        with open_session(
            source,
            provider=provider,
            optimisation=optimisation,
            folder=folder,
            profile=elsewhere,
        ) as session:
            if elsewhere:
                for inputs in draws:
                    _run(session, inputs, pairing)
                places = session.ran_on()
            for inputs in draws:
                result = _run(session, inputs, pairing)
                if elsewhere and optimisation == "off" and not result.error:
                    again = _run(session, inputs, pairing)
                    result = Result(result.outputs, result.seconds, "", _noise(result, again))
                results.append(result)
    except EngineError as error:
        return Answers((_failed(error),) * len(draws))
    return Answers(tuple(results), places)


def accepted(
    source: Source,
    inputs: Sequence[Input],
    provider: str,
    samples: int,
    seed: int,
    *,
    folder: Path | None = None,
    pairing: Pairing = _SAME_NAMES,
) -> tuple[tuple[Draw, ...], tuple[Result, ...], str]:
    """Inputs that a model runs on, drawn at different sizes, its answers, and the first complaint.

    With optimisation off. The third sample is the smallest that the model takes. The last is the
    first again with other data, negative where it can be.
    """
    draws: list[Draw] = []
    results: list[Result] = []
    taken: list[Mapping[str, int]] = []
    why = ""
    try:
        with open_session(source, provider=provider, folder=folder) as session:
            fresh = size_choices(inputs)
            for number in range(max(1, samples)):
                small = small_choices(inputs) if number == _SMALLEST else ()
                again = taken[number % len(taken) :] if taken else ()
                for sizes in chain(small, fresh, again):
                    fed = draw(inputs, sizes, seed + number)
                    result = _run(session, fed, pairing)
                    if not result.error:
                        draws.append(fed)
                        results.append(result)
                        if sizes not in taken:
                            taken.append(sizes)
                        break
                    why = why or result.error
            if draws and (other := other_data(inputs, draws[0], seed)) is not None:
                result = _run(session, other, pairing)
                if not result.error:
                    draws.append(other)
                    results.append(result)
    except (EngineError, UndrawableError) as error:
        return (), (), str(error)
    return tuple(draws), tuple(results), why


def _run(session: Session, inputs: Draw, pairing: Pairing) -> Result:
    try:
        outputs, seconds = session.timed(pairing.fed(inputs).feeds)
        return Result(pairing.told(outputs), seconds)
    except EngineError as error:
        return _failed(error)


def _failed(error: EngineError) -> Result:
    return Result({}, math.nan, str(error), crashed=isinstance(error, CrashError))


def _noise(first: Result, second: Result) -> dict[str, float]:
    """How far a second run was from the first, where both are finite: NaN allows for nothing."""
    apart = {}
    for name, value in first.outputs.items():
        found = compare(name, value, second.outputs.get(name))
        apart[name] = found.max_abs if math.isfinite(found.max_abs) else 0.0
    return apart
