"""Runs one model on several inputs, on one provider and optimisation level.

A session is open only while its model runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError, Optimisation
from onnxpad.runtimes.sessions import CPU, Array, Session, Source, Value, open_session
from onnxpad.validation.align import distance, nearest
from onnxpad.validation.arrays import MatchedInputs, settled
from onnxpad.validation.compare import compare
from onnxpad.validation.inputs import (
    Draw,
    Input,
    draw,
    other_choices,
    other_data,
    size_choices,
    small_choices,
    steered,
    steered_sizes,
    steerings,
)
from onnxpad.validation.pairing import Pairing

_SAME_NAMES = Pairing()

_OTHER = 1  # index of the sample whose sizes are other than the first's in all that matters

_SMALLEST = 2  # index of the sample that has the smallest sizes on which the model runs


class Result(Struct, frozen=True):
    """The result of one run.

    Attributes:
        outputs: Outputs by name; empty if the run failed.
        seconds: Wall time; NaN if the run failed.
        error: Why there are no outputs, in one line; else empty.
        noise: Greatest difference between two runs, by output; empty if it was not measured.
        crashed: Whether the run failed because the runtime crashed.
        late: Whether it did not end within its limit.
    """

    outputs: Mapping[str, Value]
    seconds: float
    error: str = ""
    noise: Mapping[str, float] = field(default_factory=dict)
    crashed: bool = False
    late: bool = False


class Execution(Struct, frozen=True):
    """The results of a model, and the providers on which its nodes ran.

    Attributes:
        results: One for each set of inputs, in their order.
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
    anew: bool = False,
    ran: Callable[[], None] = lambda: None,
) -> Execution:
    """Run a model on each set of inputs, up to the first on which it does not end in time.

    That one's result is also the result of those after it.

    On a provider other than the CPU's, each set runs once more first, to warm up and to record
    where nodes run. With optimisation off it also runs once more to measure the noise.

    Args:
        source: Path, serialized bytes, or model.
        draws: The sets of inputs.
        provider: The execution provider.
        optimisation: Level of the runtime's optimiser.
        folder: Folder of the external data of serialized bytes or a model.
        pairing: The model's own names of inputs and outputs, if they differ from the original's.
        anew: Whether to open a session for each set, since operators that draw numbers draw others
            whenever they run again.
        ran: Called after each run; `runs_of` says how many there are.

    Raises:
        ProviderError: The provider is not installed, or does not start.
    """
    elsewhere = provider != CPU
    measured = elsewhere and optimisation == "off"
    if anew:

        def once(inputs: Draw) -> Execution:
            given = [inputs], provider, optimisation
            return ask(source, *given, folder=folder, pairing=pairing, ran=ran)

        each: list[Execution] = []
        for inputs in draws:
            each.append(each[-1] if each and each[-1].results[0].late else once(inputs))
        results = [answers.results[0] for answers in each]
        if measured:
            results = [
                replace(one, noise=_noise(one, once(inputs).results[0]))
                for one, inputs in zip(results, draws, strict=True)
            ]
        return Execution(tuple(results), each[0].places)
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
                    if (result := _run(session, inputs, pairing)).late:
                        return Execution((result,) * len(draws))
                    ran()
                places = session.ran_on()
            for inputs in draws:
                if (result := _run(session, inputs, pairing)).late:
                    results += [result] * (len(draws) - len(results))
                    break
                ran()
                if measured and not result.error:
                    again = _run(session, inputs, pairing)
                    ran()
                    result = Result(result.outputs, result.seconds, "", _noise(result, again))
                results.append(result)
    except EngineError as error:
        return Execution((_failed(error),) * len(draws))
    return Execution(tuple(results), places)


def runs_of(provider: str, optimisation: Optimisation, draws: int) -> int:
    """How many runs `ask` makes if none fails."""
    each = 1 if provider == CPU else 3 if optimisation == "off" else 2
    return each * draws


def accepted(
    source: Source,
    inputs: Sequence[Input],
    provider: str,
    samples: int,
    seed: int,
    *,
    folder: Path | None = None,
    pairing: Pairing = _SAME_NAMES,
    ran: Callable[[], None] = lambda: None,
) -> tuple[tuple[Draw, ...], tuple[Result, ...], str]:
    """Draw inputs of different sizes until a model runs on them, with optimisation off.

    Where sizes are open there are two samples or more, the second with another batch and sizes of
    the other parity. The third has the smallest sizes on which the model runs. The last has the
    sizes of the first with other data, negative where the type allows. `ran` is called after each
    run. After a run that does not end in time no other sizes are drawn.

    Raises:
        LimitError: That was the first.
        UndrawableError: An input has too many elements, or elements of an unknown type.

    Returns:
        The inputs, their results, and the first error that the runtime gave for other inputs.
    """
    draws: list[Draw] = []
    results: list[Result] = []
    taken: list[Mapping[str, int]] = []
    steering: Mapping[str, Array] = {}  # without which the model does not run
    why = ""
    try:
        with open_session(source, provider=provider, folder=folder) as session:
            fresh = size_choices(inputs)
            for number in range(max(2, samples)):
                first: Iterable[Mapping[str, int]] = ()
                if number == _SMALLEST:
                    first = small_choices(inputs)
                elif number == _OTHER and taken:
                    first = other_choices(inputs, taken[0])
                again = taken[number % len(taken) :] if taken else ()
                asked = chain(first, fresh, again) if number < max(1, samples) else first
                tries = ((steering, sizes) for sizes in asked)
                for values, sizes in chain(tries, () if number else _steered(inputs, seed)):
                    fed = steered(draw(inputs, sizes, seed + number), values)
                    result = _run(session, fed, pairing)
                    if result.late:
                        if not draws:
                            raise LimitError(result.error)
                        return tuple(draws), tuple(results), why
                    ran()
                    if not result.error:
                        draws.append(fed)
                        results.append(result)
                        steering = values
                        if sizes not in taken:
                            taken.append(sizes)
                        break
                    why = why or result.error
            if draws and (other := other_data(inputs, draws[0], seed)) is not None:
                result = _run(session, other := steered(other, steering, again=True), pairing)
                ran()
                if not result.error:
                    draws.append(other)
                    results.append(result)
    except LimitError:
        raise
    except EngineError as error:
        return (), (), str(error)
    return tuple(draws), tuple(results), why


def _steered(
    inputs: Sequence[Input], seed: int
) -> Iterator[tuple[dict[str, Array], dict[str, int]]]:
    for sizes in islice(size_choices(inputs), 1):  # none where no memory holds the data
        first = draw(inputs, sizes, seed)
        yield from steered_sizes(inputs, steerings(inputs, first.feeds))


def laid_out(found: MatchedInputs, source: Source, folder: Path | None = None) -> MatchedInputs:
    """The arrays given with their inputs in the layout that the reference tells."""
    return layouts(found, source, folder)[0]


def layouts(
    found: MatchedInputs, source: Source, folder: Path | None = None
) -> list[MatchedInputs]:
    """The arrays given with their inputs in each layout that they may have, the likeliest first.

    Where sizes do not tell it, the model runs on the first sample in each layout. That is the
    likeliest whose outputs are nearest to the reference.
    """
    if not found.others or not found.expected:
        return [found]
    first = [each[0] for each in (found.draws, *found.others)]
    results = ask(source, first, CPU, "off", folder=folder).results
    apart = [_apart(found.expected[0], each.outputs) for each in results]
    ranked = sorted(range(len(apart)), key=apart.__getitem__)
    is_tied = apart[ranked[0]] == apart[ranked[1]]
    return [found if is_tied and each == 0 else settled(found, each) for each in ranked]


def _apart(wanted: Mapping[str, Array], outputs: Mapping[str, Value]) -> float:
    """How far outputs are from those wanted; infinite where they cannot be compared."""
    total = 0.0
    for name, value in wanted.items():
        output = outputs.get(name)
        if not isinstance(output, np.ndarray) or value.dtype.kind not in "iufb":
            return math.inf
        fit = nearest(value, output)
        if fit is None:
            return math.inf
        total += distance(fit.array, output) / (
            distance(fit.array, np.zeros_like(fit.array)) or 1.0
        )
    return total


def _run(session: Session, inputs: Draw, pairing: Pairing) -> Result:
    try:
        outputs, seconds = session.timed(pairing.fed(inputs).feeds)
        return Result(pairing.renamed(outputs), seconds)
    except EngineError as error:
        return _failed(error)


def _failed(error: EngineError) -> Result:
    return Result(
        {},
        math.nan,
        str(error),
        crashed=isinstance(error, CrashError),
        late=isinstance(error, LimitError),
    )


def _noise(first: Result, second: Result) -> dict[str, float]:
    """The greatest difference between two runs, by output; 0.0 where it is not finite."""
    apart = {}
    for name, value in first.outputs.items():
        found = compare(name, value, second.outputs.get(name))
        apart[name] = found.max_abs if math.isfinite(found.max_abs) else 0.0
    return apart
