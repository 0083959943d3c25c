"""What tensors and bodies of models are computed from, as numbers: equal ones mean the same."""

from __future__ import annotations

from collections import ChainMap
from hashlib import sha256
from pathlib import Path

import onnx

from onnxpad.file.external import internal
from onnxpad.file.proto_walk import is_external, named_bodies
from onnxpad.runtimes.sessions import folder_of
from onnxpad.validation.lab import Lab

Place = tuple[tuple[int, str], ...]
"""The way down to a body: the number of each node that holds one, and the attribute."""


def meanings(lab: Lab) -> dict[str, Meanings]:
    """Those of the models of a lab; the data of constants in files of two folders are looked at."""
    folders = {name: folder_of(lab.sources[name], lab.folder) or Path() for name in lab.sources}
    here = len({*folders.values()}) == 1  # so that data at one place in a file is the same
    numbers = dict[object, int]()
    return {
        name: Meanings(lab, name, None if here else folder, numbers)
        for name, folder in folders.items()
    }


class Meanings:
    """The numbers of the tensors of a main graph, and of bodies with their names.

    A body has that of all it is computed from: nodes, what it reads, what decides whether it runs.
    """

    def __init__(
        self, lab: Lab, name: str, folder: Path | None, numbers: dict[object, int]
    ) -> None:
        """Read a model; `numbers` are those of the other ones too."""
        model, self._folder, self._numbers = lab.proto(name), folder, numbers
        self.tensors = ChainMap[str, int]()
        self.bodies: dict[Place, tuple[str, int]] = {}
        context = (*model.opset_import, *model.functions)
        self._context = self._of(*(each.SerializeToString() for each in context))
        self._read(model.graph, self.tensors)

    def _of(self, *parts: object) -> int:
        """The number of what consists of some parts."""
        return self._numbers.setdefault(parts, len(self._numbers))

    def _held(self, tensor: onnx.TensorProto) -> int:
        """That of a constant, whatever its name."""
        plain = onnx.TensorProto()
        outside = self._folder is not None and is_external(tensor)
        plain.CopyFrom(internal(tensor, self._folder) if self._folder and outside else tensor)
        plain.ClearField("name")
        plain.ClearField("doc_string")
        return self._of(sha256(plain.SerializeToString()).digest())

    def _read(
        self, graph: onnx.GraphProto, known: ChainMap[str, int], place: Place = (), text: str = ""
    ) -> int:
        """Number the tensors of a graph that knows some; that of its outputs."""
        known |= {each.name: self._held(each) for each in graph.initializer}
        known |= {e.values.name: self._of(e.SerializeToString()) for e in graph.sparse_initializer}
        for number, node in enumerate(graph.node):
            plain = [each for each in node.attribute if not any(named_bodies([each]))]
            own = sorted(each.SerializeToString() for each in plain)
            read = [known.get(name, name) for name in node.input]
            made = steers = self._of(self._context, node.op_type, node.domain, *own, *read)
            for name, body in named_bodies(node.attribute):
                below, inner = (*place, (number, name)), 0
                said = f"{name} of {node.op_type} {node.name or ''.join(node.output[:1])!r}"
                said += f", in {text}" if text else ""
                for _ in range(2):  # what an iteration hands on is known after the first time
                    handed = {
                        each.name: self._of(steers, inner, at) for at, each in enumerate(body.input)
                    }
                    inner = self._read(body, ChainMap(handed, *known.maps), below, said)
                self.bodies[below] = said, self._of(steers, name, inner)
                made = self._of(made, inner)
            known |= {name: self._of(made, at) for at, name in enumerate(node.output) if name}
        return self._of(*(known.get(each.name, each.name) for each in graph.output))
