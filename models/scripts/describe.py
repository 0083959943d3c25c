"""The facts of models/README.md, measured: exporter, padding forms, distance to the framework.

Environment: that of the package itself (onnx, onnxruntime).
Run: python describe.py [name ...]
"""

import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np
import onnx
import onnxruntime as ort
import record
from onnx.reference import ReferenceEvaluator

HEADER = (
    "model",
    "exporter",
    "opset, IR",
    "KiB, nodes",
    "padding as written",
    "onnxruntime, unoptimised; optimised",
)


def every_graph(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """This graph, the bodies of its nodes and theirs."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from every_graph(attribute.g)


def forms(model: onnx.ModelProto) -> str:
    """Count the ways in which padding is written, in bodies and functions too."""
    count: Counter[str] = Counter()
    bodies = [onnx.GraphProto(node=function.node) for function in model.functions]
    for owner in (model.graph, *bodies):
        graphs = list(every_graph(owner))
        nodes = [node for graph in graphs for node in graph.node]
        known = {tensor.name for graph in graphs for tensor in graph.initializer}
        known |= {node.output[0] for node in nodes if node.op_type == "Constant"}
        for node in nodes:
            count.update(padding(node, known))
    return ", ".join(f"{number} {form}" for form, number in sorted(count.items())) or "none"


def padding(node: onnx.NodeProto, known: set[str]) -> Iterator[str]:
    """The ways in which a node writes padding, with the names of the constants."""
    own = [attribute for attribute in node.attribute if not attribute.ref_attr_name]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in own}
    if node.op_type == "Pad":
        mode = attributes.get("mode", b"constant").decode()
        amounts = "attribute" if "pads" in attributes else "computed"
        if len(node.input) > 1 and node.input[1] in known:
            amounts = "initializer"
        yield f"Pad {mode} {amounts}"
    elif node.op_type.endswith(("Conv", "ConvTranspose", "MaxPool", "AveragePool")):
        if "Global" in node.op_type:
            return
        kind = node.op_type.removeprefix("QLinear")
        auto_pad = attributes.get("auto_pad", b"NOTSET").decode()
        pads = attributes.get("pads", [])
        half = len(pads) // 2
        if auto_pad != "NOTSET":
            dilated = any(d > 1 for d in attributes.get("dilations", []))
            yield f"{kind} {auto_pad}" + " with dilations" * dilated
        elif any(pads):
            equal = pads[:half] == pads[half:]
            yield f"{kind} pads" + " (unequal)" * (not equal)
        if attributes.get("ceil_mode"):
            yield f"{kind} ceil_mode"
        for form in ("output_padding", "output_shape"):
            if any(attributes.get(form, [])):
                yield f"{kind} {form}"


def distance(results: list[np.ndarray], expected: list[np.ndarray]) -> str:
    """The largest absolute difference over all outputs."""
    for result, value in zip(results, expected, strict=True):
        if result.shape != value.shape:
            return f"shape {list(result.shape)}, framework {list(value.shape)}"
    pairs = zip(results, expected, strict=True)
    return f"{max(float(np.abs(r - v).max()) for r, v in pairs):.1e}"


def run(name: str, level: ort.GraphOptimizationLevel) -> str:
    """What onnxruntime answers on the framework's inputs, against the framework's outputs."""
    arrays = dict(np.load(record.path(name).with_suffix(".npz")))
    expected = [arrays.pop(output) for output in record.outputs(name)]
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(
            record.path(name), options, providers=["CPUExecutionProvider"]
        )
        return distance(session.run(None, arrays), expected)
    except Exception as error:  # whatever it says is the fact to record
        message = str(error).split("Status Message: ")[-1].split(" : ")[-1].strip()
        reference = ReferenceEvaluator(str(record.path(name))).run(None, arrays)
        return f"refused: {message} onnx's reference evaluator: {distance(reference, expected)}"


def row(name: str) -> tuple[str, ...]:
    """One line of the table."""
    model = onnx.load(record.path(name))
    opset = next(entry.version for entry in model.opset_import if entry.domain in {"", "ai.onnx"})
    size = record.path(name).stat().st_size / 1024
    plain = run(name, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    optimised = run(name, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    exporter = f"{model.producer_name} {model.producer_version}".strip() or "(unnamed)"
    return (
        f"`{name}`",
        exporter.removesuffix(" None"),
        f"{opset}, {model.ir_version}",
        f"{size:.0f}, {len(model.graph.node)}",
        forms(model),
        plain if optimised == plain else f"{plain}; {optimised}",
    )


if __name__ == "__main__":
    names = sys.argv[1:] or sorted(file.stem for file in record.MODELS.glob("*.onnx"))
    for cells in (HEADER, ("---",) * len(HEADER), *map(row, names)):
        print("| " + " | ".join(cells) + " |", flush=True)
