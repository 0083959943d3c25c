"""The table of forms: each as a model, and what each of its styles is as a form."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import onnx
from msgspec.structs import asdict
from onnx import helper

import onnxpad
from onnxpad.graph import Graph
from onnxpad.options import OptionKeywords, Options
from onnxpad.rewrite.run import Run
from onnxpad.targets.form import Form, forms_of
from onnxpad.targets.target import DATA

PATH: Final = DATA / "forms.toml"
MODELS: Final = Path(__file__).with_name("models.toml")

STYLES: Final = ("given", "fold", "pad", "symmetric", "static", "auto-pad")
"""The writings in which each form was run."""

SIZES: Final = {"batch": 2, "height": 8, "width": 7}
"""Open sizes of the models, as runtimes were given them."""

OPTIONS: Final[Mapping[str, OptionKeywords]] = {
    "fold": {"style": "fold", "no_ceil": True},
    "pad": {"style": "pad", "no_ceil": True, "dynamic": "pad"},
    "symmetric": {"style": "symmetric", "no_ceil": True, "symmetric_transpose": True},
    "auto-pad": {"style": "fold", "dynamic": "auto-pad"},
}
"""How styles are written; `given` is the model as it is, and `static` that with fixed sizes."""

HEADER: Final = """\
# Forms of padding that were run on runtimes: what each model has, in each of its styles, beside
# what is usual. `python -m tests.targets --write` makes the lines of the styles that are there anew
# from tests/targets/models.toml.
"""

_LEFT_OUT: Final = {"domain", "raw", "wide", "count_written", "producer"}
_USUAL: Final = asdict(Form(""))
_NEWEST_BY_ATTRIBUTES: Final = 10
"""The last opset in which amounts of a `Pad` are an attribute; later ones are not written."""


def tables() -> dict[str, dict[str, Any]]:
    """The table as it is kept: the model of each form, and its sites by style if it was run."""
    kept = tomllib.loads(PATH.read_text(encoding="utf-8"))
    models = tomllib.loads(MODELS.read_text(encoding="utf-8"))
    return {name: table | kept.get(name, {}) for name, table in models.items()}


def page(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """The file of a table, each form of each style read anew."""
    ran = {name: table for name, table in kept.items() if "about" in table}
    return HEADER + "".join(f"\n[{name}]\n{_table(table)}" for name, table in ran.items())


def _table(table: Mapping[str, Any]) -> str:
    model = onnx.parser.parse_model(table["model"])
    lines = [f'about = "{table["about"]}"\n']
    for style in STYLES:
        if style in table:
            found = ",\n  ".join(map(_inline, sites(written(model, style))))
            lines.append(f"{style} = [{found}]\n")
    return "".join(lines)


def _inline(fields: Mapping[str, object]) -> str:
    return "{ " + ", ".join(f"{name} = {_value(each)}" for name, each in fields.items()) + " }"


def _value(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def written(model: onnx.ModelProto, style: str) -> onnx.ModelProto:
    """A model in one of the styles in which forms were run.

    Style `pad` crops behind a ConvTranspose, and each new `Pad` of zeros has its third input:
    so the models that were run were written.
    """
    if style == "given":
        return model
    if style == "static":
        return _with_sizes(model)
    result: onnx.ModelProto = onnxpad.fix(model, validate=False, **OPTIONS[style]).model
    if style == "pad":
        _crop(result)
    _write_fills(result)
    return result


def sites(model: onnx.ModelProto) -> list[dict[str, Any]]:
    """The fields of each form in a model that are not as usual."""
    placed = forms_of(Run(Graph.read(model), Options()).analysed())
    return [
        {
            name: each
            for name, each in asdict(found.form).items()
            if name not in _LEFT_OUT
            and each != _USUAL[name]
            and (name != "opset" or int(each) <= _NEWEST_BY_ATTRIBUTES)
        }
        for found in placed
        if not found.form.pads_nothing
    ]


def _with_sizes(model: onnx.ModelProto) -> onnx.ModelProto:
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for each in fixed.graph.input:
        for dim in each.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = SIZES[dim.dim_param]
    return fixed


def _write_fills(model: onnx.ModelProto) -> None:
    """Gives each `Pad` of zeros without a third input one."""
    graph = model.graph
    for node in graph.node:
        mode = next((each.s for each in node.attribute if each.name == "mode"), b"constant")
        if node.op_type == "Pad" and len(node.input) == 2 and mode == b"constant":
            if all(each.name != "fill" for each in graph.initializer):
                graph.initializer.append(helper.make_tensor("fill", 1, [], [0.0]))
            node.input.append("fill")


def _crop(model: onnx.ModelProto) -> None:
    """Makes pads and output_padding of each ConvTranspose a Slice behind it."""
    graph = model.graph
    for place, node in enumerate(graph.node):
        if node.op_type != "ConvTranspose":
            continue
        given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        rank = len(given["kernel_shape"])
        pads = given.get("pads", [0] * 2 * rank)
        output_padding = given.pop("output_padding", [0] * rank)
        ends = [more - pad for more, pad in zip(output_padding, pads[rank:], strict=True)]
        assert max(ends) <= 0, node
        whole = f"{node.output[0]}_whole"
        bounds = {
            "from": pads[:rank],
            "to": [end or 2**31 for end in ends],
            "axes": range(2, rank + 2),
        }
        for name, numbers in bounds.items():
            graph.initializer.append(helper.make_tensor(name, 7, [rank], list(numbers)))
        graph.node.insert(place + 1, helper.make_node("Slice", [whole, *bounds], [node.output[0]]))
        node.output[0] = whole
        node.ClearField("attribute")
        node.attribute.extend(
            helper.make_attribute(name, each)
            for name, each in {**given, "pads": [0] * 2 * rank}.items()
        )
        return
