"""Has everything that reads a model read a damaged one: only an `OnnxpadError` may come of it."""

import random
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, TypeAlias

import numpy as np
import onnx

import onnxpad
from onnxpad.report import json as report_json
from tests.support import ROOT

Given: TypeAlias = onnx.ModelProto | bytes
"""A model, or the bytes of a file where protobuf cannot parse it."""

FRAMEWORKS: Final = ("tensorflow", "pytorch", "keras", "caffe", "valid", "onnx-same-upper")
STYLES: Final = ("fold", "fold", "pad", "symmetric")
TARGETS: Final = ((), (), (), "opencv@4", ("tract", "coreml"), "wonnx")
LONG: Final = 30.0
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


def readers(draw: random.Random, *, running: bool) -> Mapping[str, Callable[[Given], Any]]:
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
        "target": draw.choice(TARGETS),
    }

    def fix(model: Given) -> None:
        result = onnxpad.fix(model, validate=False, **options)
        told(result)
        assert result.next is None or result.next.keywords
        assert isinstance(result.model, onnx.ModelProto)

    def check(model: Given) -> None:
        told(onnxpad.check(model, convention=draw.choice((None, to, to)), **options))

    def show(model: Given) -> None:
        told(onnxpad.show(model, target=options["target"]))
        for name in names(model)[:1]:
            told(onnxpad.show(model, name))

    def explain(model: Given) -> None:
        for name in draw.sample(found := names(model), min(4, len(found))):
            with suppress(onnxpad.UsageError):
                told(onnxpad.explain(model, node=name))

    def match(model: Given) -> None:
        graph = model.graph if isinstance(model, onnx.ModelProto) else onnx.GraphProto()
        feeds = {value.name: np.ones((1, 2, 9, 9), np.float32) for value in graph.input[:1]}
        gives = {value.name: np.ones((1, 3, 5, 5), np.float32) for value in graph.output}
        told(onnxpad.match(model, gives, inputs=feeds, seconds=2))

    found = {"fix": fix, "check": check, "show": show, "explain": explain}
    if running:
        found |= {
            "validate": lambda model: told(onnxpad.validate(model, model)),
            "fix, validated": lambda model: told(onnxpad.fix(model, **options)),
            "repad": lambda model: told(onnxpad.repad(model, to)),
            "match": match,
        }
    return found


def names(model: Given) -> list[str]:
    """The names by which nodes of the main graph can be asked for."""
    nodes = model.graph.node if isinstance(model, onnx.ModelProto) else ()
    known = (node.name or next(iter(node.output), "") for node in nodes)
    return sorted({name for name in known if isinstance(name, str) and name})


def told(result: Any) -> None:
    """Writes all reports of a result."""
    str(result)
    repr(result)
    for page in ("_repr_html_", "to_html"):
        getattr(result, page, str)()
    report_json.json_of(result.report() if hasattr(result, "report") else result)


def failures(
    model: Given, draw: random.Random, *, running: bool = False, seconds: float = LONG
) -> dict[str, str]:
    """Whatever a reader raises that is no `OnnxpadError`, with its line, by name of the reader."""
    found = {}
    before = _bytes(model)
    for name, read in readers(draw, running=running).items():
        try:
            with limited(seconds):
                read(model)
        except onnxpad.OnnxpadError as error:
            if "\n" in str(error) or not str(error):
                found[name] = f"a message of several lines, or none: {error!r}"
        except Exception as error:
            found[name] = f"{type(error).__name__} at {place(error)}: {error}"[:300]
        if _bytes(model) != before:
            found[name] = "changed the model"
    return found


def misread(given: Given, seed: int, *, running: bool) -> str:
    """What comes of it when everything reads a model; empty if at most an `OnnxpadError` does."""
    found = failures(given, random.Random(seed), running=running)
    return "; ".join(f"{what} ({reader})" for reader, what in found.items())


def _bytes(model: Given) -> bytes:
    return model if isinstance(model, bytes) else model.SerializeToString()


def place(error: Exception) -> str:
    """The innermost line of onnxpad that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if "/onnxpad/" in each.filename or "/passes/" in each.filename]
    frame = own[-1] if own else frames[-1]
    file = frame.filename.removeprefix(f"{ROOT}/")
    return f"{file}:{frame.lineno} in {frame.name}"
