"""What `fix` and the command make of a model, after the checks that every rewrite must pass."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from inspect import signature
from typing import Any, Final, TypeAlias

import onnx
import typer.testing
from typer.main import get_command
from typer.testing import CliRunner, Result

import onnxpad
from onnxpad.cli import app
from tests.support.comparing import assert_same

STYLES: Final = ("fold", "pad", "symmetric")

SLIDING = {
    *(("", name) for name in ("Conv", "MaxPool", "AveragePool", "LpPool")),
    *(("", name) for name in ("ConvInteger", "QLinearConv")),
    *(("com.microsoft", name) for name in ("QLinearConv", "QLinearAveragePool")),
    *(("com.microsoft", name) for name in ("FusedConv", "NhwcMaxPool")),
}
"""The operators that can have padding of their own, by domain and name; input 0 is the data."""

vars(typer.testing)["_get_command"] = cache(get_command)  # it takes 7 ms, at each call

# click before 8.2, which typer 0.15 needs, mixes both streams unless it is told not to.
_APART: Final[dict[str, Any]] = {"mix_stderr": False}
RUNNER: Final = CliRunner(**(_APART if "mix_stderr" in signature(CliRunner).parameters else {}))


def onnxpad_runs(*args: object) -> Result:
    """The command with these arguments, in this process."""
    return RUNNER.invoke(app, [str(arg) for arg in args])


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
    validate: bool = False,
    runs: bool = True,
    **options: Any,
) -> onnxpad.FixResult:
    """What `fix` makes of a model, after the checks that every rewrite must pass.

    Both models run here, so `fix` need not run them too, unless a test is about its validation.
    """
    kept = proto.SerializeToString()
    result = onnxpad.fix(proto, style=style, **options, validate=validate)
    assert proto.SerializeToString() == kept, "the input model was changed"
    assert not result.undone
    again = onnxpad.fix(result.model, style=style, **options, validate=False)
    assert not again.changed, [c.before + " => " + c.after for c in again.changes]
    assert result.validation is None or result.validation.outcome != "failed"
    assert _is_valid(result.model) or not _is_valid(proto)
    if runs:
        assert_same(proto, result.model)
    return result


def _is_valid(model: onnx.ModelProto) -> bool:
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError:
        return False  # a test may leave out the shape of an output
    return True
