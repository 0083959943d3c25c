"""Copies of models, to be run, in which each operator that draws numbers has a seed.

onnxruntime seeds an operator without one by the index of its node, which a rewrite shifts, or from
the clock. With a seed each operator draws the same numbers in each fresh session, and others in the
second run of one.
"""

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeAlias

import onnx
from onnx import AttributeProto, helper

from onnxpad.arguments import InFolder
from onnxpad.engine.sessions import Source, folder_of, read_proto
from onnxpad.file.proto_walk import bodies

_Scope: TypeAlias = onnx.GraphProto | onnx.FunctionProto

_STANDARD: Mapping[tuple[str, str], int] = {
    ("", "Bernoulli"): AttributeProto.FLOAT,
    ("", "Dropout"): AttributeProto.INT,
    ("", "Multinomial"): AttributeProto.FLOAT,
    ("", "RandomNormal"): AttributeProto.FLOAT,
    ("", "RandomNormalLike"): AttributeProto.FLOAT,
    ("", "RandomUniform"): AttributeProto.FLOAT,
    ("", "RandomUniformLike"): AttributeProto.FLOAT,
}
"""The operators of ONNX that draw, with the type of their `seed`."""

_TRAINING = 2  # the input of Dropout that says whether it draws
_SEEDS = 1 << 23
"""Seeds lie from here to twice as much: a float holds them exactly, and small ones draw alike."""
_ANY_SEED = 9_999_991


def is_random(model: onnx.ModelProto) -> bool:
    """Whether some operator may draw numbers, also in a body or function, with a seed or not."""
    return next(_drawing(model), None) is not None


def seeded(sources: Iterable[Source]) -> list[Source]:
    """The models with a seed for each operator that draws and has none, the same in all of them.

    Operators are matched by the name of their output. Where not all models have a name, and in
    functions, whose names a rewrite may change, all operators have one seed. Models in which
    nothing draws are as given.
    """
    sources = list(sources)
    models = [read_proto(source) for source in sources]
    outputs = [{node.output[0] for node, inner in _drawing(model) if not inner} for model in models]
    shared = set.intersection(*outputs)
    return [
        _copy(source, model, shared) if is_random(model) else source
        for source, model in zip(sources, models, strict=True)
    ]


def with_seeds(model: onnx.ModelProto, named: Collection[str] = ()) -> onnx.ModelProto:
    """A copy of a model with seeds; those of the outputs named differ from each other."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    table = _table(copy)
    for node, inner in _drawing(copy, table):
        name = "" if inner else node.output[0]
        seed = zlib.crc32(name.encode()) % _SEEDS + _SEEDS if name in named else _ANY_SEED
        present = {attribute.name for attribute in node.attribute}
        for attribute, kind in table[_key(node)].items():
            if attribute not in present:
                value = seed if kind == AttributeProto.INT else float(seed)
                node.attribute.append(helper.make_attribute(attribute, value))
    return copy


def _copy(source: Source, model: onnx.ModelProto, named: Collection[str]) -> Source:
    copy, folder = with_seeds(model, named), folder_of(source)
    return copy if folder is None else InFolder(copy.SerializeToString(), folder)


def _key(node: onnx.NodeProto) -> tuple[str, str]:
    return "" if node.domain == "ai.onnx" else node.domain, node.op_type


def _table(model: onnx.ModelProto) -> dict[tuple[str, str], dict[str, int]]:
    """By operator its attributes that are seeds; also of functions that hand a seed on to one."""
    table = {key: {"seed": kind} for key, kind in _STANDARD.items()}
    known = 0
    while known < (known := sum(map(len, table.values()))):
        for function in model.functions:
            for node in chain.from_iterable(each.node for each in _graphs(function)):
                for item in node.attribute:
                    kind = table.get(_key(node), {}).get(item.name)
                    if kind is not None and item.ref_attr_name in function.attribute:
                        key = function.domain, function.name
                        table.setdefault(key, {})[item.ref_attr_name] = kind
    return table


def _drawing(
    model: onnx.ModelProto, table: Collection[tuple[str, str]] = _STANDARD
) -> Iterator[tuple[onnx.NodeProto, bool]]:
    """The nodes that may draw, or hand a seed on, and whether they are in a function."""
    for whole in (model.graph, *model.functions):
        graphs = list(_graphs(whole))
        found = [node for each in graphs for node in each.node if _key(node) in table]
        quiet = _false(graphs) if any(len(node.input) > _TRAINING for node in found) else set()
        for node in found:
            if node.op_type == "Dropout" and _key(node) in _STANDARD:
                mode = node.input[_TRAINING] if len(node.input) > _TRAINING else ""
                if not mode or mode in quiet:
                    continue
            yield node, whole is not model.graph


def _graphs(whole: _Scope) -> Iterator[_Scope]:
    """A graph or function, and the bodies in it."""
    pending = [whole]
    while pending:
        graph = pending.pop()
        yield graph
        pending += [body for node in graph.node for item in node.attribute for body in bodies(item)]


def _false(graphs: Iterable[_Scope]) -> set[str]:
    """The names that are constants of the value false wherever they are defined."""
    false: set[str] = set()
    others: set[str] = set()

    def note(name: str, constant: onnx.TensorProto | None) -> None:
        elements = b"" if constant is None else constant.raw_data or constant.int32_data
        (others if any(elements) or not elements else false).add(name)

    for graph in graphs:
        for value in graph.input:
            others.add(value if isinstance(value, str) else value.name)
        for tensor in () if isinstance(graph, onnx.FunctionProto) else graph.initializer:
            note(tensor.name, tensor)
        for node in graph.node:
            held = next((each.t for each in node.attribute if each.name == "value"), None)
            for name in node.output:
                note(name, held if node.op_type == "Constant" else None)
    return false - others
