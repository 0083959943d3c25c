"""The report of `show` as JSON: every site with structured fields."""

from __future__ import annotations

from typing import Final

from onnxpad.inventory import OuterPad, PaddingSite, PathNode, known_number
from onnxpad.report import ShowReport
from onnxpad.report.json import config_fields, dumped, finding_fields, head

_FIELDS: Final = (
    *("node", "op_type", "domain", "scope", "kind", "written", "pads", "own_pads", "axes"),
    *("kernel", "stride", "dilation", "auto_pad", "ceil_mode", "count_include_pad"),
    *("output_padding", "output_shape", "outer", "downstream", "tensor", "path", "readers"),
    *("origin", "conventions", "convention", "findings", "fixable", "stays", "problem", "advice"),
)
_TEXTS: Final = ("auto_pad", "tensor", "convention", "problem")
"""Those that are null where they are empty."""


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
    told = {
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
        "outer": [_outer(pad) for pad in site.outer],
        "origin": site.outer[0].source if site.outer else None,
        "findings": [finding_fields(finding) for finding in site.findings],
    }
    fields = {name: told[name] if name in told else getattr(site, name) for name in _FIELDS}
    fields |= {name: fields[name] or None for name in _TEXTS}
    return {**fields, **({"taken": site.taken, "known_by": site.known_by} if site.taken else {})}


def _outer(pad: OuterPad) -> dict[str, object]:
    return {
        "node": pad.node,
        "mode": pad.mode or None,
        "value": pad.value,
        "pads": pad.pads,
        "axes": pad.axes,
        "source": pad.source,
        "formula": pad.formula or None,
        "steps": pad.steps,
    }
