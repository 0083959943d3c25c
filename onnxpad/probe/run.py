"""Runs both sides of one change on small integers, where float sums do not round."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod
from typing import TypeAlias

import numpy as np
import onnx
from msgspec import Struct
from onnx import TensorProto

from onnxpad.errors import RUNTIME
from onnxpad.runtimes import pool
from onnxpad.runtimes.copies import drawn, with_seeds
from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError
from onnxpad.runtimes.sessions import AGREED, Answer, Array, Value, answers
from onnxpad.validation import evidence
from onnxpad.validation.compare import compare
from onnxpad.validation.inputs import Draw

REACH = 8
"""Data are the integers from minus this number to this number."""

_SMALL = 1 << 12
"""Elements up to which the data of inputs is kept: most probes have the same."""

_SEEDS = 3
_STEPS = (1, 5, 3, 7, 2)  # a ramp's step along each axis: neighbours differ along all of them

_Shapes: TypeAlias = Sequence[tuple[int, ...]]
_Runs: TypeAlias = tuple[dict[Draw, dict[str, Value]], EngineError | None]
"""The outputs for each of the inputs that a model ran on, and the first error."""
_Pattern = Callable[[str, tuple[int, ...]], Array]
_Inputs: TypeAlias = tuple[tuple[tuple[str, int], tuple[int, ...]], ...]
"""Names and element types, with shapes."""


class ProbeResult(Struct, frozen=True):
    """The result of running both sides of a change.

    Attributes:
        ok: False where a run differs or the changed side fails; True even where nothing ran.
        runs: The number of inputs on which both sides were compared; 0 where no engine runs them.
        detail: The first difference, or why nothing was run; else empty.
        repairs: Whether the runtime ran the changed side, and refused the one before.
    """

    ok: bool
    runs: int
    detail: str
    repairs: bool = False


def compare_scenes(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    scenes: Sequence[_Shapes],
    *,
    specified: bool = False,
) -> list[ProbeResult]:
    """Whether two small models give the same outputs, bit for bit, on data that shows padding.

    There is a result for each scene: the shapes of the inputs. The oracle is the runtime with
    optimisation off, or onnx's reference evaluator, for operators that this computes right, where
    the runtime cannot run `before`, or reads it otherwise than it is meant (`specified`).
    """
    names = [output.name for output in before.graph.output]
    inputs = [(each.name, each.type.tensor_type.elem_type) for each in before.graph.input]
    by_scene = [_draws(tuple(zip(inputs, shapes, strict=True))) for shapes in scenes]
    feeds = [draw.feeds for draws in by_scene for draw in draws]
    random = any(map(drawn, (before, after)))
    one, other = map(with_seeds, (before, after)) if random else (before, after)
    asked = partial(answers, outputs=names, fed=feeds, anew=random)
    if specified:
        ours: Sequence[Answer] | EngineError = EngineError(
            f"{RUNTIME} reads the original otherwise"
        )
        (theirs,) = asked([other])
    else:
        ours, theirs = asked([one, other])
    crashed = any(isinstance(each, CrashError) for each in (ours, theirs))
    if crashed and len(scenes) > 1:  # not every scene crashes
        each = partial(compare_scenes, before, after, specified=specified)
        return [result for shapes in scenes for result in each([shapes])]
    if isinstance(theirs, LimitError) and not isinstance(ours, EngineError):
        with pool.longer(3):  # a change is not blamed for a slow machine
            (theirs,) = asked([other])
    results = []
    for number, draws in enumerate(by_scene):
        part = slice(number * len(draws), (number + 1) * len(draws))
        mine, yours = (e if isinstance(e, EngineError) else e[part] for e in (ours, theirs))
        runs = _by_draw(mine, draws), _by_draw(yours, draws)
        results.append(_compared(one, other, names, draws, *runs, specified=specified))
    return results


def _compared(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    names: Sequence[str],
    draws: Sequence[Draw],
    ours: _Runs,
    theirs: _Runs,
    *,
    specified: bool,
) -> ProbeResult:
    (expected, why), (found, trouble) = ours, theirs
    repairs = bool(found) and not (specified or expected or isinstance(why, LimitError))
    if not expected:
        feeds = [draw.feeds for draw in draws]
        expected, doubt = _by_draw(evidence.answers(before, names, feeds), draws)
        if not expected:
            return ProbeResult(True, 0, f"not probed: {why} ({doubt})", repairs)
        worse = isinstance(trouble, CrashError) and not isinstance(why, CrashError)
        if not found and not worse:
            again = evidence.answers(after, names, [draw.feeds for draw in expected])
            found, _ = _by_draw(again, [*expected])
            lacks_kernel = trouble is not None and trouble.lacks_kernel
            if not found and (str(trouble) == str(why) or lacks_kernel):
                return ProbeResult(True, 0, f"not probed: {trouble}")
    for draw in expected:
        if draw not in found:
            return ProbeResult(False, len(found), f"the rewritten side does not run: {trouble}")
        if found[draw] is AGREED:
            continue
        for name in names:
            seen = compare(name, expected[draw][name], found[draw][name])
            if not seen.equal:
                detail = seen.detail or f"max abs difference {seen.max_abs:g}"
                return ProbeResult(False, len(expected), f"{name}: {detail}, on {draw.label}")
    return ProbeResult(True, len(expected), "", repairs)


def _by_draw(answers_or_error: Sequence[Answer] | EngineError, draws: Sequence[Draw]) -> _Runs:
    if isinstance(answers_or_error, EngineError):
        return {}, answers_or_error
    answered: dict[Draw, dict[str, Value]] = {}
    complaint = None
    for draw, answer in zip(draws, answers_or_error, strict=True):
        if isinstance(answer, EngineError):
            complaint = complaint or answer
        else:
            answered[draw] = answer
    return answered, complaint


def _draws(inputs: _Inputs) -> Sequence[Draw]:
    """Random data, then data that shows a fill that wins, a shift, and swapped sides or axes."""
    is_small = sum(prod(shape) for _, shape in inputs) <= _SMALL
    return (_each_draw if is_small else _each_draw.__wrapped__)(inputs)


@lru_cache(maxsize=64)
def _each_draw(inputs: _Inputs) -> Sequence[Draw]:
    patterns: dict[str, _Pattern] = {
        **{f"random integers, seed {n}": _random(n, -REACH, REACH) for n in range(_SEEDS)},
        "negative integers": _random(_SEEDS, -REACH, -1),
        "positive integers": _random(_SEEDS, 1, REACH),
        "a ramp": lambda _, shape: _ramp(shape),
        "marked borders": lambda _, shape: _borders(shape),
    }
    return [
        Draw(
            {
                name: _typed(np.asarray(pattern(name, shape)), dtype)
                for (name, dtype), shape in inputs
            },
            label,
        )
        for label, pattern in patterns.items()
    ]


def _random(seed: int, low: int, high: int) -> _Pattern:
    def pattern(name: str, shape: tuple[int, ...]) -> Array:
        generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
        return generator.integers(low, high, shape, endpoint=True)

    return pattern


def _ramp(shape: tuple[int, ...]) -> Array:
    """A ramp along every axis, with a step of its own for each, wrapped to stay small."""
    total = np.zeros(shape, np.int64)
    for axis, size in enumerate(shape):
        places = np.arange(size).reshape(-1, *[1] * (len(shape) - axis - 1))
        total += _STEPS[axis % len(_STEPS)] * places
    return total % (2 * REACH + 1) - REACH


def _borders(shape: tuple[int, ...]) -> Array:
    """Zeros inside; the first and last position of each axis have marks of their own."""
    marks = np.zeros(shape, np.int64)
    for axis, size in enumerate(shape):
        if size:
            places = marks.swapaxes(0, axis)
            places[0] += axis + 1
            places[-1] -= axis + 2
    return np.clip(marks, -REACH, REACH)


def _typed(integers: Array, elem_type: int) -> Array:
    """`integers` as an element type; for an unsigned type, shifted to begin at 0."""
    if elem_type == TensorProto.STRING:
        return integers.astype(np.str_).astype(np.object_)
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type))
    if dtype.kind == "b":
        return np.asarray(integers > 0)
    if dtype.kind == "u":
        return np.asarray(integers + REACH).astype(dtype)
    # bfloat16 and float8 convert from float32
    return integers.astype(np.float32).astype(dtype, copy=False)
