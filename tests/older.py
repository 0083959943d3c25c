"""What the tests need and older packages lack: names of nodes in ONNX text, which onnx 1.18 reads.

`conftest.py` calls `read_names` before any test is imported.
"""

import importlib.metadata
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

NAMED: Final = re.compile(r"([{)>\n]\s*)\[([^\[\]]+)\](\s*[^=\[\]{}()<>]*=\s*[\w.]*\w)")
"""The beginning of a statement: a node's name, its outputs, and its operator."""

MARK: Final = "__named"
"""Follows the operator of a node that has a name, before the name's position among all names."""


def read_names() -> None:
    """Has the parser of an onnx before 1.18 read the names of nodes, too."""
    major, minor = importlib.metadata.version("onnx").split(".")[:2]
    if (int(major), int(minor)) < (1, 18):
        import onnx.parser  # only here: not all that load conftest.py need onnx

        for parse in ("parse_model", "parse_graph", "parse_function"):
            setattr(onnx.parser, parse, naming(getattr(onnx.parser, parse)))


def naming(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """The parser, with names of nodes; they travel through it behind the operator."""

    @wraps(parse)
    def parsed(text: str) -> Any:
        names: list[str] = []

        def hidden(match: re.Match[str]) -> str:
            names.append(match[2].strip())
            return f"{match[1]}{match[3]}{MARK}{len(names) - 1}"

        proto = parse(NAMED.sub(hidden, text))
        for part in (proto.graph, *proto.functions) if hasattr(proto, "graph") else (proto,):
            restore(part, names)
        return proto

    return parsed


def restore(proto: Any, names: list[str]) -> None:
    """Puts the names where they belong, in a graph or function and all graphs inside."""
    for node in proto.node:
        operator, mark, position = node.op_type.rpartition(MARK)
        if mark:
            node.op_type, node.name = operator, names[int(position)]
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                restore(graph, names)
