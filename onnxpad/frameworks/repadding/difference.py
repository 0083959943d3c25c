"""How much the outputs of a model change with another padding: both models on the same inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from onnxpad.arguments import Progress
from onnxpad.frameworks.repadding.changes import Difference, OutputChange
from onnxpad.frameworks.repadding.references import spread
from onnxpad.runtimes.copies import seeded, with_bodies
from onnxpad.runtimes.runtime import LimitError
from onnxpad.runtimes.sessions import CPU, Source, Value, read_proto
from onnxpad.validation.compare import compare
from onnxpad.validation.draw import UndrawableError, outline
from onnxpad.validation.given import Arrays, matched_inputs
from onnxpad.validation.lab import Lab, Result


def difference(
    original: Source,
    changed: bytes,
    inputs: Arrays | None = None,
    reference: Arrays | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Difference:
    """Runs both models on the same inputs, with optimisation off.

    Without inputs they are those of the reference, or drawn. The folder is that of the external
    data of the changed model.

    Raises:
        UsageError: Arrays do not fit the model.
        ModelError: A model cannot be read.
    """
    sources = {"original": with_bodies(original), "rewritten": with_bodies(changed)}
    try:
        model = outline(read_proto(sources["rewritten"]))
        if model.random:
            sources = {name: seeded(each) for name, each in sources.items()}
        lab, runs, why = Lab(sources, model, folder, progress), "original", ""
        if inputs is not None or reference is not None:
            given = matched_inputs(model, inputs, None if inputs is not None else reference)
            lab.draws = given.draws
        else:
            runs, why = lab.prepare((CPU,), 1, 0)
    except LimitError as error:
        return Difference(uncompared=f"the original {error}")
    except UndrawableError as error:
        return Difference(uncompared=str(error))
    if runs != "original":
        return Difference(uncompared=f"the original does not run: {why}")
    results, draws = lab.results("original", CPU, "off"), lab.draws
    labels = tuple(draw.label for draw in draws)
    for result in results:
        if result.error:
            said = result.error if result.late else f"does not run: {result.error}"
            return Difference((), labels, f"the original {said}")
    answers = lab.results("rewritten", CPU, "off")
    for answer in answers:
        if answer.error:
            return Difference((), labels, fails=answer.error)
    return Difference(tuple(_changes(results, answers)), labels)


def _changes(before: Sequence[Result], after: Sequence[Result]) -> Iterator[OutputChange]:
    for name in before[0].outputs:
        pairs = zip(before, after, strict=True)
        found = [_change(name, one.outputs, other.outputs) for one, other in pairs]
        yield max(found, key=lambda each: (each.before != each.after, each.relative))


def _change(name: str, before: Mapping[str, Value], after: Mapping[str, Value]) -> OutputChange:
    one, other = before[name], after.get(name)
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return OutputChange(name, (), (), math.inf, math.inf)
    if one.shape != other.shape:
        return OutputChange(name, one.shape, other.shape, math.inf, math.inf)
    if one.dtype == other.dtype == np.bool_:
        one, other = one.astype(np.uint8), other.astype(np.uint8)
    greatest = compare(name, one, other).max_abs
    greatest = math.inf if math.isnan(greatest) else greatest
    relative = greatest / spread(one) if 0 < greatest < math.inf else greatest
    return OutputChange(name, one.shape, other.shape, greatest, relative)
