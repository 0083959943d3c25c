"""Operators with the paddings that are tried for each, and the copy that takes them as inputs.

`copies.txt` keeps them: another candidate, or one less, shows there, and other nodes of the copy.
"""

import zlib
from pathlib import Path
from typing import Final

from onnxpad.frameworks.repadding.candidates import conventions_of, options_of
from onnxpad.frameworks.repadding.matching import type_of_data
from onnxpad.frameworks.repadding.sites import sites_of, with_pads
from onnxpad.frameworks.repadding.working_copy import working_copy
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from tests.probe.drawn_cuts import model_text
from tests.support import parsed
from tests.support.lines import Lines


def said(line: str) -> str:
    """The line with the candidates, and how many nodes and which checksum the copy has."""
    asked = line.partition("  =>  ")[0]
    opset, inputs, constants, body = asked.split(" | ")
    held = f" <{constants}>" if constants else ""
    model = parsed(f"g ({inputs}) => (y){held} {{ {body} }}", opset=int(opset))
    context = Context(Graph.from_proto(model))
    windows, left = sites_of(context)
    sites, others = with_pads(context, windows)
    dtypes = {site.node.outputs[0].name: type_of_data(context, site) for site in sites}
    copy = working_copy(model, sites, dtypes, ["h"] if "h = " in body else [])
    known = [options_of(site) for site in copy.sites]
    named = (context.label(node) for node, _ in left)
    parts = [f"{label} stays" for label in (*named, *dict((*others, *copy.left)))]
    for site, some in zip(copy.sites, known, strict=True):
        told = ", ".join(f"{each.name} {_text(each.padding)}/{each.tier}" for each in some)
        parts.append(f"{site.label}: {told}")
    fed = [
        {name: data.tolist() for name, data in copy.feeds([each[at] for each in paddings]).items()}
        for paddings in [[[each.padding for each in some] for some in known]]
        for at in range(min(map(len, paddings), default=0))
    ]
    whole = repr((model_text(copy.model), copy.probes, fed, conventions_of(copy.sites, known)))
    nodes = len(copy.model.graph.node)
    parts.append(f"{nodes} nodes [{zlib.crc32(whole.encode()):08x}]")
    return f"{asked}  =>  {'; '.join(parts)}"


def _text(padding: Padding) -> str:
    pads = "same" if padding.pads is None else " ".join(f"{b}+{e}" for b, e in padding.pads)
    marks = [str(padding.odd)] * padding.is_same
    marks += [word for word in ("undilated", "ceil", "counted") if getattr(padding, word)]
    more = [str(list(padding.output_padding))] if padding.output_padding else []
    return " ".join([pads, *marks, *more])


LINES: Final = Lines(Path(__file__).with_name("copies.txt"), said)
