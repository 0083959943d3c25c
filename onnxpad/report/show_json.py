"""The report of `show` as JSON: every site with structured fields."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from onnxpad.inventory import PaddingSite, PathNode, known_number
from onnxpad.report import ShowReport
from onnxpad.report.json import config_fields, dumped, finding_fields, head

_FIELDS = (
    *("node", "op_type", "domain", "scope", "kind", "written", "pads", "own_pads", "axes"),
    *("kernel", "stride", "dilation", "auto_pad", "ceil_mode", "count_include_pad"),
    *("output_padding", "output_shape", "outer", "tensor", "path", "readers"),
    *("conventions", "convention", "findings", "fixable", "stays", "problem", "advice"),
)
_TEXTS = ("tensor", "convention", "problem")
"""Those that are null where they are empty."""
_READ = {
    "auto_pad": None,
    "ceil_mode": False,
    "count_include_pad": False,
    "output_padding": (),
    "output_shape": None,
}
"""The attributes of an operator as it was read, with what others have."""


def show_json(result: ShowReport, page: str = "") -> str:
    """The report of one `show` as one JSON object; with the page written, if one was."""
    document = {
        **head("show", 0),
        "model": result.model or None,
        "asked": result.asked,
        **({"targets": result.targets} if result.targets else {}),
        "total": result.total,
        "sites": [_site(site) for site in result.sites],
        "conventions": result.conventions,
        "findings": [finding_fields(finding) for finding in result.others],
        "notes": result.notes,
        "warnings": result.warnings,
        "html": page or None,
        **config_fields(result.config),
    }
    return dumped(document, PathNode)


def _site(site: PaddingSite) -> dict[str, object]:
    read = {name: site.read(name, other) for name, other in _READ.items()}
    outer = (site,) if site.kind == "pad" else site.outer
    told = {
        **read,
        "auto_pad": None if read["auto_pad"] == "NOTSET" else read["auto_pad"],
        "written": site.written or "none",
        "axes": [
            {
                "axis": axis.axis,
                "name": axis.name,
                "begin": known_number(axis.pair[0]),
                "end": known_number(axis.pair[1]),
                "size": known_number(axis.extent),
                "extent": axis.told_size,
                "formula": axis.formula or None,
            }
            for axis in site.axes
        ],
        "kernel": [known_number(window.kernel) for window in site.windows],
        "stride": [window.stride for window in site.windows],
        "dilation": [window.dilation for window in site.windows],
        "outer": [_outer(pad, () if pad is site else pad.path) for pad in outer],
        "findings": [finding_fields(finding) for finding in site.findings],
    }
    fields = {name: told[name] if name in told else getattr(site, name) for name in _FIELDS}
    fields |= {name: fields[name] or None for name in _TEXTS}
    return {**fields, **({"taken": site.taken, "known_by": site.known_by} if site.taken else {})}


def _outer(pad: PaddingSite, steps: Sequence[PathNode]) -> dict[str, object]:
    mode, amounts = pad.read("mode"), pad.read("constant_amounts")
    return {
        "node": pad.names[0],
        "mode": mode,
        "value": pad.read("value") if mode == "constant" else None,
        "pads": None if amounts is None else [*chain(*zip(*amounts, strict=True))],
        "axes": pad.read("axes"),
        "source": pad.source or pad.problem,
        "formula": pad.formula or None,
        "steps": steps,
    }
