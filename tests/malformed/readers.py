"""Has everything that reads a model read a damaged one: only an `OnnxpadError` may come of it."""

import random
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import numpy as np
import onnx

import onnxpad
from onnxpad.report import json as report_json
from tests.support import ROOT

FRAMEWORKS: Final = (
    "tensorflow",
    "pytorch",
    "keras",
    "caffe",
    "valid",
    "onnx-same-upper",
    "coreml",
)
STYLES: Final = ("fold", "fold", "pad", "symmetric")
LONG: Final = 10.0
"""Seconds after which a reader counts as one that never ends."""


class HangError(Exception):
    """A reader took too long."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Interrupts what takes longer, by a signal."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise HangError(f"over {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def readers(
    draw: random.Random, *, running: bool
) -> Mapping[str, Callable[[onnx.ModelProto], Any]]:
    """What reads a model, by name, with options as drawn.

    Args:
        draw: Draws the options.
        running: Whether models run on onnxruntime, too.
    """
    to = draw.choice(FRAMEWORKS)
    options: dict[str, Any] = {
        "style": draw.choice(STYLES),
        "dynamic": draw.choice(("keep", "keep", "auto-pad", "pad")),
        "no_ceil": draw.random() < 0.3,
        "symmetric_transpose": draw.random() < 0.3,
        "trust": draw.choice((None, None, "spec", "onnxruntime")),
        "trust_dim_names": draw.random() < 0.3,
    }

    def fix(model: onnx.ModelProto) -> None:
        result = onnxpad.fix(model, validate=False, **options)
        told(result, report_json.fix_json)
        assert result.next is None or result.next.keywords
        result.model.SerializeToString()

    def check(model: onnx.ModelProto) -> None:
        result = onnxpad.check(model, convention=draw.choice((None, to, to)), **options)
        told(result, report_json.check_json)

    def show(model: onnx.ModelProto) -> None:
        from onnxpad.report.showing.show_json import show_json

        result = onnxpad.show(model)
        texts(result)
        result.to_html()
        show_json(result, "")
        for node in list(model.graph.node)[:6]:
            if node.name or node.output:
                texts(onnxpad.show(model, node.name or node.output[0]))

    def explain(model: onnx.ModelProto) -> None:
        from onnxpad.report.explain_svg import explain_svg

        known = {n.name or next(iter(n.output), "") for n in model.graph.node}
        for name in sorted(filter(None, known), key=str)[:12]:
            try:
                answer = onnxpad.explain(model, node=name)
            except onnxpad.UsageError:
                continue
            texts(answer)
            explain_svg(answer)
            report_json.explain_json(answer)

    def validate(model: onnx.ModelProto) -> None:
        result = onnxpad.validate(model, model)
        told(result, report_json.validate_json)

    def validated(model: onnx.ModelProto) -> None:
        result = onnxpad.fix(model, **options)
        told(result, report_json.fix_json)

    def repadded(model: onnx.ModelProto) -> None:
        result = onnxpad.repad(model, to)
        texts(result)
        report_json.repad_json(result.report())

    def match(model: onnx.ModelProto) -> None:
        feeds = {value.name: np.ones((1, 2, 9, 9), np.float32) for value in model.graph.input[:1]}
        gives = {value.name: np.ones((1, 3, 5, 5), np.float32) for value in model.graph.output}
        result = onnxpad.match(model, gives, inputs=feeds, seconds=2)
        texts(result)
        report_json.match_json(result.report())

    found = {"fix": fix, "check": check, "show": show, "explain": explain}
    if running:
        found |= {"validate": validate, "fix, validated": validated, "repad": repadded}
        found |= {"match": match}
    return found


def told(result: Any, as_json: Callable[[Any], str]) -> None:
    """Writes all reports of a result."""
    texts(result)
    result.to_html()
    as_json(result.report())


def texts(result: Any) -> None:
    """Writes the reports that every result has."""
    str(result)
    repr(result)
    if hasattr(result, "_repr_html_"):
        result._repr_html_()


def failures(
    model: onnx.ModelProto, draw: random.Random, *, running: bool = False, seconds: float = LONG
) -> dict[str, str]:
    """What each reader raises that is no `OnnxpadError`, with the line of it, by name."""
    found = {}
    before = model.SerializeToString()
    for name, read in readers(draw, running=running).items():
        try:
            with limited(seconds):
                read(model)
        except onnxpad.OnnxpadError as error:
            if "\n" in str(error) or not str(error):
                found[name] = f"a message of several lines, or none: {error!r}"
        except Exception as error:
            found[name] = f"{type(error).__name__} at {place(error)}: {error}"[:300]
        if model.SerializeToString() != before:
            found[name] = "changed the model"
    return found


def place(error: Exception) -> str:
    """The innermost line of onnxpad that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if "/onnxpad/" in each.filename or "/passes/" in each.filename]
    frame = own[-1] if own else frames[-1]
    file = frame.filename.removeprefix(f"{ROOT}/")
    return f"{file}:{frame.lineno} in {frame.name}"
