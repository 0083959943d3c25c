"""What the optimiser is predicted to fold in and out of functions and branches.

`calls.txt` keeps them. A line gives how a graph of one input `d` and one output `e` is called, the
nodes around the call, and those inside.
"""

import re
from pathlib import Path
from typing import Final

from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.padding.site import Sites
from onnxpad.runtimes.onnxruntime.pad_fusion import Fusion
from tests.runtimes.onnxruntime.drawn import GIVEN, INPUTS, POOL
from tests.support import parsed
from tests.support.lines import Lines


def said(line: str) -> str:
    """The line with the wrong folds, the `Pad`s taken for certain, and what is fed."""
    asked = line.partition("  =>  ")[0]
    how, around, inside, *more = asked.split(" | ")
    fusion = _fusion(how, around, inside, *more)
    graph = fusion._graph
    wrong = [
        f"{each.pad.node.outputs[0].name}>{each.window.outputs[0].name}"
        for each in fusion.exposed()
    ]
    surely = [pad.node.outputs[0].name for each in graph.nodes if (pad := fusion.takes(each))]
    names = [node.outputs[0].name for node in graph.nodes]
    fed = [name for name in names if fusion.is_fed(graph.tensor(name))]
    parts = {"wrongly": "; ".join(wrong), "for certain": " ".join(surely), "fed": " ".join(fed)}
    told = ", ".join(f"{name} {some}" for name, some in parts.items() if some)
    return f"{asked}  =>  {told or 'nothing'}"


def _fusion(how: str, around: str, inside: str, more: str = "") -> Fusion:
    """The prediction for a graph with calls of functions, or with branches in their place."""
    body = _filled(how, around, inside).replace("POOL", POOL)
    body = _filled("function", body, "").replace("MORE", "local.G")
    functions = "".join(
        f'<domain: "local", opset_import: ["" : 17, "local" : 1]> {name} (d) => (e) '
        f"{{ {text.replace('POOL', POOL).replace('MORE', 'local.G')} }}"
        for name, text in (("F", inside), ("G", more))
        if text
    )
    graph = Graph.from_proto(
        parsed(
            f"""<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
            g ({INPUTS}) => (float y) <{GIVEN}> {{ {body} }} {functions}"""
        )
    )
    analysis = Analysis(graph)
    return Sites(graph, analysis).fusion


def _filled(how: str, around: str, inside: str) -> str:
    """The nodes around with each call as a node of a function, or as an If."""
    if how == "function":
        return around.replace("CALL", "local.F")

    def branch(match: re.Match[str]) -> str:
        result, given = match.groups()
        names = {"d": given, "e": f"e{result}"}
        own = re.sub(r"\b[de]\b", lambda name: names[name[0]], inside)
        own = re.sub(r"\b[ijko]\b", lambda name: f"{name[0]}{result}", own)
        return (
            f"{result} = If ({how.removeprefix('if ')}) <then_branch = t () => (float e{result}) "
            f"{{ {own} }}, else_branch = f () => (float n{result}) {{ n{result} = Neg ({given}) }}>"
        )

    return re.sub(r"(\w+) = CALL \((\w+)\)", branch, around)


LINES: Final = Lines(Path(__file__).with_name("calls.txt"), said)
BY_DAY: Final = 1
