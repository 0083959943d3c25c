"""Padding drawn in small models, with all that `show` knows of it, as lines of text.

`sites.txt` keeps them: a site that is told otherwise than before shows there. Of two models, the
padding that differs is told instead.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import onnx
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

import onnxpad
from onnxpad.graph import Graph
from onnxpad.inventory import PaddingSite, padding_differences
from tests.support import one
from tests.support.lines import Lines, facts

_NINES: Final = ", ".join(["1"] * 9)
_GIVEN: Final = f"""
    float[1, 1, 3, 3] w = {{{_NINES}}}, int64[8] ones = {{0, 0, 1, 1, 0, 0, 1, 1}}, float z = {{0}},
    int64[8] end = {{0, 0, 0, 1, 0, 0, 0, 1}}, int64[8] crop = {{0, 0, -1, -1, 0, 0, -1, -1}},
    int64[8] batch = {{1, 0, 0, 0, 0, 0, 0, 0}}, int64[8] none = {{0, 0, 0, 0, 0, 0, 0, 0}},
    int64[4] few = {{1, 2, 1, 2}}, int64[2] at = {{2, 3}}, int64[2] back = {{-1, 1}},
    int64[2] i11 = {{1, 1}}, int64[2] i88 = {{8, 8}}, int64[4] shape = {{0, 0, -1, 9}},
    int64[2] two = {{2, 2}}, int64[2] i00 = {{0, 0}}, int64[1] i2 = {{2}}, int64[1] i3 = {{3}},
    float v = {{7}}
"""
_FED: Final = "int64[8] fed, int64[4] less, bool f"
_UNTOLD: Final = {"findings", "names", "tensors", "readers", "op"}


def model_of(shape: str, body: str) -> onnx.ModelProto:
    """The model of some nodes over `x` of a shape; without one its rank is unknown."""
    data = f"float[{shape}] x" if shape != "?" else "float[] x"
    model = one(body, inputs=f"{data}, {_FED}", initializers=_GIVEN, opset=18)
    if shape == "?":
        model.graph.input[0].type.tensor_type.ClearField("shape")
    return model


def said(line: str) -> str:
    """The line with what is told now."""
    asked = line.partition("  =>  ")[0]
    shape, dims, *bodies = asked.split(" | ")
    models = [model_of(shape, body) for body in bodies]
    if len(models) == 2:
        found = padding_differences(Graph.from_proto(models[0]), Graph.from_proto(models[1]))
        told = [f"{' and '.join(each.nodes)}: {_plain(each.totals)}" for each in found]
        return f"{asked}  =>  {' | '.join(told) or 'no difference'}"
    sizes = {name: int(size) for name, _, size in (each.partition("=") for each in dims.split())}
    shown = onnxpad.show(models[0], dims=sizes)
    return f"{asked}  =>  {' | '.join(map(_told, shown.sites)) or 'nothing'}"


def _told(site: PaddingSite) -> str:
    parts = []
    for field in fields(site):
        value = getattr(site, field.name)
        if field.name == "findings":
            parts.append(" ".join(f"{each.code} {each.node} {each.reason_code}" for each in value))
        elif field.name not in _UNTOLD and (field.default is NODEFAULT or value != field.default):
            parts.append(f"{field.name} {_plain(value)}" if [*facts([value])] else "")
    return "; ".join(filter(None, parts))


def _plain(value: Any) -> str:
    """A value in short; of a record those fields that are not empty."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_plain, value))})"
    return " ".join(_parts(value)) if isinstance(value, Struct) else str(value)


def _parts(value: Any) -> Iterator[str]:
    for field in fields(value):
        each = getattr(value, field.name)
        if field.name not in _UNTOLD and each not in ("", ()) and [*facts([each])]:
            yield f"{field.name}={_plain(each)}"


LINES: Final = Lines(Path(__file__).with_name("sites.txt"), said)
