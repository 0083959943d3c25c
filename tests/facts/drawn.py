"""Nodes drawn over a pool of tensors, with all that is claimed of their outputs, as lines of text.

`claims.txt` keeps them: what the analysis claims more, less or otherwise than before shows there.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import onnx

from onnxpad.arithmetic.size import Unknown
from onnxpad.facts import Analysis
from onnxpad.facts.bounds import infinite
from onnxpad.graph import Graph
from tests.support import parsed

CLAIMS: Final = Path(__file__).with_name("claims.txt")

INPUTS: Final = """
    float[2, n, 6, 5] x, float[n, m] v, float s, float[3, 5, 4] k, float[?] r, float16[2, n] h,
    uint8[1, 2, 6, 5] u, int64[2] t, int64[n] i, bool[n, 1] l, bool flag
"""
GIVEN: Final = """
    int64[1] one = {1}, int64[1] minus = {-1}, int64[2] two = {2, 3}, int64[2] twice = {1, 1},
    int64[2] ends = {0, -1}, int64[2] far = {1, 4}, int64 three = {3}, int64 nought = {0},
    int64[0] none = {}, int64[4] sizes = {0, -1, 3, 5}, int64[4] zero = {2, 0, 6, 5},
    int64[3] whole = {2, -1, 15}, int64[4] four = {1, 2, 1, 3}, uint8 byte = {7},
    int64[8] pads = {0, 1, 2, 0, 0, -1, 0, 3}, float half = {0.5}, bool yes = {1}, bool no = {0},
    int64[2, 2] grid = {0, 1, 1, 0}, float[2] f = {1.5, -2}, float[2, 2] g = {0, 1, -3, 2.5},
    float[2, 2, 2, 2] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}, int32[2] n32 = {2, 5},
    float[4] odd = {0.0, -0.0, 1.0, -1.5}, float[3] big = {3e38, 1e-40, 16777217.0},
    float[2, 3] m23 = {1, -2, 3, 4, 5, -6}, double[2] d2 = {2.5, -3},
    double[3] d3 = {0.5, 3.5, -0.25}, float16[3] h3 = {15360, 16640, 26624}, float16 h0 = {16896},
    int64[3] i3 = {5, -7, 2}, int64[2, 3] i23 = {1, 2, 3, -4, 5, 6},
    int64[1, 4] turn = {3, -1, 0, 2},
    int32[3] j3 = {7, -2147483648, 3}, int32 j0 = {-2}, uint8[3] u3 = {0, 200, 255},
    uint8[3] v3 = {1, 7, 3}, int8[3] s3 = {-128, 5, 127}, int8 s0 = {2},
    uint64[2] q2 = {1, 18446744073709551615}, bool[3] mask = {1, 0, 1}, bool[2] pair = {0, 1},
    float[3] scales = {0.5, 2, 0.25}, float quarter = {0.25}, float[4] twof = {1, 1, 2, 0.5},
    float[2] on = {0, 1}, int64[4] ramp = {0, 1, 2, 3}, float[0] noflo = {},
    float[1, 4, 2, 2] chan = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    int64[1, 2] ij = {1, 2}, int64[2, 1] rows = {1, 0}, float[2, 2] pos = {1, 2, 3, 4},
    float big3 = {3}, float[2] zeros = {0, 0}, float[2] ones2 = {1, 1}, float[2] less0 = {1, -0.5},
    float[2] tiny2 = {1e-40, 1}, float[2] m0 = {-0.0, 0}, int64[1] two1 = {2}, int64[1] m2 = {-2},
    int64[1] three1 = {3}, int64[1] zero1 = {0}, int64[1] e1 = {1}, int64[1] e2 = {2},
    int64[1] e3 = {3}, int64[1] e53 = {53}, int64[1] e54 = {54}, int64[1] e64 = {64},
    int64[1] e65 = {65}, float[1] f3 = {3}, float[1] h5 = {0.5}, float nought1 = {0},
    float negh = {-0.5}, float[2] scal2 = {0.5, 2}, uint8[2] u2 = {3, 200},
    uint8[2, 2] u22 = {0, 3, 200, 255}, float third1 = {0.3}, float[1, 1, 2] line = {1, 2},
    int64[1, 1, 2] iline = {0, 1}, float[1, 1, 2] wl = {1, 2}, int64[4] sizes4 = {2, 4, 3, 5},
    float[3] thirds3 = {0.3, 1.1, 1}, float[4] negs = {1, 1, -2, 0}
"""
SHARED: Final = """
    dims = Shape (x) dim = Gather (dims, three) part = Neg (dims) fdims = Cast <to = 1> (dims)
    halves = Mul (fdims, half) thirds = Div (fdims, big3) many = Greater (dims, three)
    inf1 = Div (f, zeros) nans = Div (zeros, zeros) relu = Relu (x) pool = Sigmoid (v)
"""


def kept() -> dict[int, list[tuple[str, str]]]:
    """The nodes by opset, each with what is claimed of its outputs."""
    found: dict[int, list[tuple[str, str]]] = {}
    for line in CLAIMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("# opset "):
            opset = int(line.removeprefix("# opset "))
            found[opset] = []
        else:
            node, _, claims = line.partition("  =>  ")
            found[opset].append((node, claims))
    return found


def outputs(node: str) -> list[str]:
    """The names of a node's outputs."""
    return re.split(r", ", node.partition(" = ")[0])


def model_of(nodes: Iterable[str], opset: int) -> onnx.ModelProto:
    """One graph of all nodes; the names of the outputs of the n-th begin with `n_`."""
    body = []
    for place, node in enumerate(nodes):
        names = ", ".join(f"_{place}_{name}" for name in outputs(node))
        body.append(f"{names} = {node.partition(' = ')[2]}")
    text = f"g ({INPUTS}) => () <{GIVEN}> {{ {SHARED} {' '.join(body)} }}"
    return parsed(text, opset=opset)


def claimed(nodes: list[str], opset: int) -> Iterator[str]:
    """What is claimed of the outputs of each node: type, shape, elements, and the lower bound."""
    graph = Graph.from_proto(model_of(nodes, opset))
    analysis = Analysis(graph)
    for place, node in enumerate(nodes):
        yield "; ".join(_of(graph, analysis, f"_{place}_{name}") for name in outputs(node))


def keep() -> None:
    """Keeps the claims of all nodes anew."""
    texts = []
    for opset, lines in kept().items():
        nodes = [node for node, _ in lines]
        texts.append(f"# opset {opset}\n")
        found = claimed(nodes, opset)
        texts += [f"{node}  =>  {said}\n" for node, said in zip(nodes, found, strict=True)]
    CLAIMS.write_text("".join(texts), encoding="utf-8")


def _of(graph: Graph, analysis: Analysis, name: str) -> str:
    tensor = graph.tensor(name)
    dtype, shape, value = analysis.dtype(tensor), analysis.shape(tensor), analysis.value(tensor)
    parts = [
        "no type" if dtype is None else onnx.TensorProto.DataType.Name(dtype).lower(),
        "no rank" if shape is None else f"({_listed(shape)})",
        "" if value is None else f"= {_listed(value.data.reshape(-1))}",
        f">= {analysis.bound(tensor)}",
        f"infinities from {origin.name!r}" if (origin := infinite(analysis, tensor)) else "",
    ]
    return " ".join(filter(None, parts)).replace(name, "it")


def _listed(items: Iterable[object]) -> str:
    return ", ".join("?" if isinstance(each, Unknown) else str(each) for each in items)
