"""Models as text, models compared as wholes, and onnxruntime as an oracle, for all tests."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import numpy_helper
from typer.testing import CliRunner, Result

import onnxpad
from onnxpad.cli import app

Array = np.ndarray[Any, Any]

ROOT = Path(__file__).resolve().parents[1]
"""The checkout."""

MODELS = ROOT / "models"

EXPORTED = sorted(path for path in MODELS.glob("*.onnx") if "." not in path.stem)
"""The models that exporters wrote, without what `onnxpad fix` has left beside them."""

_KINDS = frozenset({
    "aspp_keras", "crops_torchscript", "deconv1d_open_tensorflow", "dynamic_keras",
    "functions_onnxscript", "gaps_keras_open", "inception_qoperator_nhwc", "letterbox_torchscript",
    "loop_tensorflow", "mobilenet_v1_nhwc_qdq", "nasnet_keras", "timm_same_dynamo", "unet_dynamo",
    "windows_torchscript",
})  # fmt: skip
FEW = [path for path in EXPORTED if path.stem in _KINDS]
"""One model of each kind, for tests with several cases for each model."""

QUANTISED = re.compile("_(qdq|qoperator|dynamic_int8)")
"""In the names of the models that onnxruntime quantised after training."""


W = "float[3, 2, 3, 3] w = {" + ", ".join(str(i % 5 - 2) for i in range(54)) + "}"
"""The weight of a Conv of two channels, as an initializer in ONNX text."""

PADS = "int64[8] p = {0, 0, 1, 2, 0, 0, 2, 1}"
"""Amounts of a `Pad` that differ by side and axis."""

BORDER = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"
"""Amounts of a `Pad`: one on every side."""

LOW = "float c = {-inf}"
"""What a MaxPool pads with."""

SLIDING = {
    *(("", name) for name in ("Conv", "MaxPool", "AveragePool", "LpPool")),
    *(("", name) for name in ("ConvInteger", "QLinearConv")),
    *(("com.microsoft", name) for name in ("QLinearConv", "QLinearAveragePool")),
    *(("com.microsoft", name) for name in ("FusedConv", "NhwcMaxPool")),
}
"""The operators that can have padding of their own, by domain and name; input 0 is the data."""


def model(text: str) -> onnx.ModelProto:
    """A model from ONNX text, checked."""
    proto = onnx.parser.parse_model(text)
    onnx.checker.check_model(proto)
    return proto


def parsed(text: str, *, opset: int = 17, ir: int = 9) -> onnx.ModelProto:
    """A model from the ONNX text of its graph, not checked."""
    further = ', "com.microsoft" : 1' if "com.microsoft." in text else ""
    opsets = f'["" : {opset}{further}]'
    return onnx.parser.parse_model(f"<ir_version: {ir}, opset_import: {opsets}>\n{text}")


def one(
    body: str,
    *,
    inputs: str = "float[1, 2, 9, 8] x",
    outputs: str = "float[] y",
    initializers: str = "",
    opset: int = 17,
    ir: int = 9,
) -> onnx.ModelProto:
    """A model of one graph from its nodes; `y` is its output unless said otherwise."""
    given = f"<{initializers}>" if initializers else ""
    proto = parsed(f"g ({inputs}) => ({outputs}) {given} {{ {body} }}", opset=opset, ir=ir)
    for output in proto.graph.output:  # its rank is onnxruntime's to say
        output.type.tensor_type.ClearField("shape")
    return proto


def onnxpad_runs(*args: object) -> Result:
    """The command with these arguments, in this process."""
    return CliRunner().invoke(app, [str(arg) for arg in args])


def canonical(proto: onnx.ModelProto) -> list[Any]:
    """The nodes with what they read, initializers by value, so that new names do not matter."""
    values = {i.name: numpy_helper.to_array(i) for i in proto.graph.initializer}
    names: dict[str, str] = {i.name: i.name for i in proto.graph.input}

    def told(name: str) -> Any:
        if name in values:
            return (values[name].dtype.name, values[name].tolist())
        return names.setdefault(name, f"t{len(names)}") if name else ""

    return [
        (
            node.op_type,
            sorted((a.name, str(onnx.helper.get_attribute_value(a))) for a in node.attribute),
            [told(name) for name in node.input],
            [told(name) for name in node.output],
        )
        for node in proto.graph.node
    ]


def run(
    proto: onnx.ModelProto, feeds: Mapping[str, Array], *, optimised: bool = False
) -> list[Array]:
    """What onnxruntime computes on the CPU, with graph optimisation off unless asked for."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, dict(feeds)))


def feeds_of(proto: onnx.ModelProto, seed: int = 0, size: int = 9) -> dict[str, Array]:
    """Small integers, negative ones among them, for every input; open dimensions get `size`."""
    random = np.random.default_rng(seed)
    held = {i.name for i in proto.graph.initializer}
    feeds = {}
    for value in proto.graph.input:
        if value.name in held:
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else size for d in tensor.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        low = 0 if np.dtype(kind).kind == "u" else -8
        feeds[value.name] = random.integers(low, 9, shape).astype(kind)
    return feeds


def assert_same(before: onnx.ModelProto, after: onnx.ModelProto, size: int = 9) -> None:
    """Both models give the same bits on small integers."""
    for seed in range(2):
        feeds = feeds_of(before, seed, size)
        for one, other in zip(run(before, feeds), run(after, feeds), strict=True):
            np.testing.assert_array_equal(one, other)


def silent(
    model: onnx.ModelProto, findings: Iterable[onnxpad.Finding], style: str = "fold"
) -> Iterator[str]:
    """The nodes that pad, or may, and that no finding names, those in bodies and functions too.

    In another style than `fold` a constant `Pad` is as asked if only operators that can pad by
    themselves read it.
    """
    about = {finding.node for finding in findings}
    for place, nodes, outputs in inner_graphs(model):
        for node in nodes:
            label = node.name or f"<{next(filter(None, node.output), node.op_type)}>"
            same = [a for a in node.attribute if a.name == "auto_pad" and a.s != b"NOTSET"]
            pads = node.op_type == "Pad" and not _is_asked(nodes, outputs, node, style)
            pads &= not (place and node.domain)
            named = f"{place} > {node.op_type} {label!r}" if place else label
            if named not in about and (pads or any(a.s or a.ref_attr_name for a in same)):
                yield f"{named} ({node.op_type})"


Inner: TypeAlias = tuple[str, Sequence[onnx.NodeProto], Collection[str]]
"""Where a graph of a model is, empty for the main graph; its nodes; and its outputs."""


def inner_graphs(model: onnx.ModelProto) -> Iterator[Inner]:
    """The main graph of a model, then its bodies and functions."""

    def inside(place: str, nodes: Sequence[onnx.NodeProto], outputs: Collection[str]) -> Any:
        yield place, nodes, outputs
        for node in nodes:
            label = repr(node.name or f"<{next(filter(None, node.output), node.op_type)}>")
            here = f"{place} > {node.op_type} {label}" if place else f"{node.op_type} {label}"
            for attribute in node.attribute:
                held = [(attribute.name, attribute.g)] if attribute.HasField("g") else []
                held += [(f"{attribute.name}[{i}]", g) for i, g in enumerate(attribute.graphs)]
                for name, body in held:
                    yield from inside(f"{here} > {name}", body.node, named(body.output))

    def named(values: Iterable[onnx.ValueInfoProto]) -> Collection[str]:
        return {value.name for value in values}

    yield from inside("", model.graph.node, named(model.graph.output))
    for function in model.functions:
        name = f"{function.domain}::{function.name}" if function.domain else function.name
        yield from inside(name, function.node, function.output)


def _is_asked(
    nodes: Sequence[onnx.NodeProto], outputs: Collection[str], node: onnx.NodeProto, style: str
) -> bool:
    mode = {a.name: a.s for a in node.attribute}.get("mode", b"constant")
    if style == "fold" or mode != b"constant" or node.domain:
        return False
    pending = list(node.output)
    read = 0
    while pending:
        name = pending.pop()
        if name in outputs:
            return False
        for other in nodes:
            for index, given in enumerate(other.input):
                if given == name and other.op_type == "Identity":
                    pending += other.output
                elif given == name:
                    domain = "" if other.domain == "ai.onnx" else other.domain
                    if index or (domain, other.op_type) not in SLIDING:
                        return False
                    read += 1
            for attribute in other.attribute:
                for body in [
                    *attribute.graphs,
                    *([attribute.g] if attribute.HasField("g") else []),
                ]:
                    if any(name in inner.input for inner in body.node):
                        return False
    return read > 0


def decided(findings: Iterable[onnxpad.Finding]) -> list[onnxpad.Finding]:
    """The findings of rules that decide something, without those that name what is left."""
    return [
        finding
        for finding in findings
        if finding.code not in {"PAD103", "PAD206", "PAD207"} or finding.fixable
    ]


def fixed(
    proto: onnx.ModelProto,
    style: str = "fold",
    *,
    dynamic: str = "keep",
    no_ceil: bool = False,
    symmetric_transpose: bool = False,
    runs: bool = True,
) -> onnxpad.FixResult:
    """What `fix` makes of a model, after the checks that every rewrite must pass."""
    kept = proto.SerializeToString()
    asked: dict[str, Any] = {"style": style, "dynamic": dynamic, "no_ceil": no_ceil}
    asked["symmetric_transpose"] = symmetric_transpose
    result = onnxpad.fix(proto, **asked)
    assert proto.SerializeToString() == kept, "the input model was changed"
    assert not result.undone
    again = onnxpad.fix(result.model, **asked, validate=False)
    assert not again.changed, [c.before + " => " + c.after for c in again.changes]
    assert result.validation is None or result.validation.outcome != "failed"
    if runs:
        assert_same(proto, result.model)
    return result
