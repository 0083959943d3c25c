"""Models with the bodies that users declared for their operators, so that a runtime runs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from onnxpad.declared import Key, functions_of, has_bodies
from onnxpad.runtimes.sessions import Source, read_proto

_IR_VERSION = 8  # the first with functions


def with_bodies(source: Source) -> Source:
    """A model with the declared bodies of its operators as functions; as given if it needs none.

    A model in memory comes without the folder of its external data, which whoever runs it must
    know.
    """
    if not has_bodies():
        return source
    proto = read_proto(source)
    opset = next((each.version for each in proto.opset_import if each.domain in ("", "ai.onnx")), 0)
    known = {(each.domain, each.name) for each in proto.functions}
    used = set(_operators(proto.graph.node))
    for function in proto.functions:
        used.update(_operators(function.node))
    added = functions_of(used - known, opset) if opset else []
    if not added:
        return source
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    model.ir_version = max(model.ir_version, _IR_VERSION)
    model.functions.extend(added)
    imported = {each.domain for each in model.opset_import}
    for function in added:
        for each in function.opset_import:
            if each.domain not in {*imported, "", "ai.onnx"}:
                imported.add(each.domain)
                model.opset_import.append(each)
    return model


def _operators(nodes: Iterable[onnx.NodeProto]) -> Iterator[Key]:
    for node in nodes:
        yield node.domain, node.op_type
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _operators(body.node)
