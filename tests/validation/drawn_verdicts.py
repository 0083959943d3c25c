"""Pairs of small models that onnx's evaluator runs in place of onnxruntime, with the verdicts.

`verdicts.txt` keeps them: runs, reasons, warnings and first differences that are others than before
show there. Words behind a pair say what else goes on: that a model fails, moves or is late at a
level of optimisation, that another provider runs it, or that there is a reference.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from onnxpad.errors import OnnxpadError
from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError
from onnxpad.runtimes.sessions import CPU, read_proto
from onnxpad.validation import lab
from onnxpad.validation.compare import Tolerance
from onnxpad.validation.result import Comparison, Divergence, Run, Validation
from onnxpad.validation.whole import validate_models
from tests.support import Array, parsed
from tests.support.lines import Lines

_GIVEN: Final = (
    "float[4] w = {1, 2, -3, 0.5}, float two = {2}, float zero = {0}, float near = {2.00001},"
    " float tiny = {0.0000001}, float big = {1000}, int64[1] k = {2}, int64[1] one = {1},"
    " int64[2] p = {1, 2}, int64[2] q = {2, 1}, float inf = {inf}"
)
_FAR: Final = "CUDAExecutionProvider"


def said(line: str) -> str:
    """The line with the verdict."""
    asked = line.partition("  =>  ")[0]
    inputs, before, after, further = asked.split(" | ")
    words = dict(word.partition(":")[::2] for word in further.split())
    original, rewritten = _model(inputs, before, "original"), _model(inputs, after, "rewritten")
    reference = None
    if "reference" in words:
        fed = {
            value.name: np.linspace(-1, 2, 4).astype(np.float32) for value in original.graph.input
        }
        names = [value.name for value in original.graph.output]
        factor = np.float32(words["reference"] or 1)
        values = ReferenceEvaluator(original).run(names, fed)
        reference = {**fed, **{n: v * factor for n, v in zip(names, values, strict=True)}}
    steps: list[tuple[str, int, int]] = []
    try:
        with _evaluated(words):
            found = validate_models(
                original,
                None if "alone" in words else rewritten,
                samples=int(words.get("samples", 1)),
                providers=[CPU, _FAR] if "cuda" in words else [CPU],
                reference=reference,
                tolerance=Tolerance(*map(float, words["tolerance"].split(",")))
                if "tolerance" in words
                else None,
                repairs="repairs" in words,
                progress=lambda *step: steps.append(step),
            )
    except OnnxpadError as error:
        return f"{asked}  =>  {type(error).__name__}"
    _, done, planned = steps[-1] if steps else ("none", 0, 0)
    told = f"{len(steps)} steps, {done} of {planned}"
    return f"{asked}  =>  {_told(found)}; {told}"


def _model(inputs: str, body: str, name: str) -> onnx.ModelProto:
    """A model of the outputs that its body begins with, as in `y, z: y = Neg (x) z = Abs (y)`."""
    outputs, colon, nodes = body.partition(": ")
    names = outputs.split(", ") if colon else ["y"]
    known = nodes if colon else body
    ends = ", ".join(f"float[] {each}" for each in names)
    model = parsed(f"g ({inputs}) => ({ends}) <{_GIVEN}> {{ {known} }}", opset=17)
    for output in model.graph.output:
        output.ClearField("type")
    inferred = {each.name: each for each in onnx.shape_inference.infer_shapes(model).graph.output}
    for output in model.graph.output:
        output.type.CopyFrom(inferred[output.name].type)
    model.producer_name = name
    return model


@contextmanager
def _evaluated(words: Mapping[str, str]) -> Iterator[None]:
    """All sessions are of onnx's reference evaluator."""

    def opened(source: Any, *, optimisation: str = "off", provider: str = CPU, **_: Any) -> Any:
        return _Session(source, optimisation, provider, words)

    with ExitStack() as patched:
        patched.enter_context(patch.object(lab, "open_session", opened))
        yield


class _Session:
    """A session, which may fail or compute something else where words say so."""

    seconds = 1.0

    def __init__(self, source: Any, level: str, provider: str, words: Mapping[str, str]) -> None:
        self._model = read_proto(source)
        name = self._model.producer_name
        wheres = (name, f"{name}-{level}", f"{name}-{level}-{provider[:-17].lower()}")
        self._does = " ".join(words.get(where, "") for where in wheres).split()
        if "refused" in self._does:
            raise EngineError(f"no kernel at level {level}")
        self._evaluator = ReferenceEvaluator(self._model)
        self._runs = itertools.count()

    def __enter__(self) -> "_Session":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(
        self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None
    ) -> dict[str, Any]:
        every = [output.name for output in self._model.graph.output]
        names = every if outputs is None else outputs
        if "crashes" in self._does:
            raise CrashError("onnxruntime crashed (SIGSEGV)")
        run = next(self._runs)
        if "late" in self._does or ("later" in self._does and run):
            raise LimitError("did not end within 1 s (run_timeout)")
        if "odd" in self._does and any(value.size % 2 for value in feeds.values()):
            raise EngineError("it takes even sizes alone")
        try:
            with np.errstate(all="ignore"):
                found: list[Any] = [*self._evaluator.run([*names], dict(feeds))]
        except Exception as error:
            raise EngineError(str(error)) from None
        for does in self._does:
            found = [_moved(value, does, run) for value in found]
        return dict(zip(names, map(np.asarray, found), strict=True))

    def ran_on(self) -> dict[str, str]:
        nodes = self._model.graph.node
        return {
            f"{node.output[0]} ({node.op_type})": (CPU, _FAR)[place % 2]
            for place, node in enumerate(nodes)
        }


def _moved(value: Any, does: str, run: int) -> Any:
    """A value that is another, as a word says, which may depend on the number of the run."""
    if does in {"cut", "cuts"}:
        return value[: len(value) - 1 - run * (does == "cuts")]
    if does == "turned":
        return value[::-1]
    if does[0] in "*+":  # in its own type
        number = value.dtype.type(does[1:])
        return value * number if does[0] == "*" else value + number
    if does[0] == "x":
        return value * np.float32(does[1:])
    return value + np.float32(run) if does == "restless" else value


def _told(found: Validation) -> str:
    """A verdict in a line."""
    parts = [f"{found.outcome}"]
    parts += map(_run, found.runs)
    parts += ["warning"] * len(found.warnings)
    parts += ["note"] * len(found.notes)
    parts += ["hidden"] * len(found.hidden)
    parts += ["skipped"] * len(found.uncompared)
    parts += [str(each) for each in found.placements]
    if found.divergence is not None:
        parts.append(_difference(found.divergence))
    return "; ".join(parts)


def _run(run: Run) -> str:
    marks = [word for word in ("ok", "excused", "flat") if getattr(run, word)]
    against = run.against.partition(" ")[0]
    where = f"{run.provider[:-17]} {run.optimisation} {run.subject}/{against}"
    compared = [_comparison(each) for each in run.comparisons]
    return ": ".join(filter(None, (" ".join((where, *marks)), ", ".join(compared))))


def _comparison(seen: Comparison) -> str:
    far = "equal" if seen.equal else f"{seen.max_abs:.3g} {seen.max_rel:.3g} at {seen.worst}"
    return " ".join(filter(None, (seen.output, "" if seen.ok else "not", far)))


def _difference(found: Divergence) -> str:
    fields = (
        found.tensor,
        *found.producers,
        *found.attributes,
        " ".join(found.inputs[0]),
        " ".join(found.inputs[1]),
        *found.values,
        f"of {found.compared}",
        f"behind {found.earlier}" if found.earlier else "",
        "a Pad" if found.is_pad else "",
        f"{len(found.operands)} operands" if found.operands else "",
    )
    return f"first difference: {', '.join(filter(None, fields))}"


LINES: Final = Lines(Path(__file__).with_name("verdicts.txt"), said)
