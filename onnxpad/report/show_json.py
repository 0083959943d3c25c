"""The report of `show` as JSON: every site with structured fields."""

from __future__ import annotations

from onnxpad.inventory.padding_site import OuterPad, PaddingSite, PathNode, known_number
from onnxpad.report import ShowReport
from onnxpad.report.json import config_fields, dumped, finding_fields, head


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
    return {
        "node": site.node,
        "op_type": site.op_type,
        "domain": site.domain,
        "scope": site.scope,
        "kind": site.kind,
        "written": site.written or "none",
        "pads": site.pads,
        "own_pads": site.own_pads,
        "axes": [
            {
                "axis": axis.axis,
                "name": axis.name,
                "begin": axis.begin,
                "end": axis.end,
                "size": axis.size,
                "extent": axis.told_size,
                "formula": axis.formula or None,
            }
            for axis in site.axes
        ],
        "kernel": [known_number(window.kernel) for window in site.windows],
        "stride": [window.stride for window in site.windows],
        "dilation": [window.dilation for window in site.windows],
        "auto_pad": site.auto_pad or None,
        "ceil_mode": site.ceil_mode,
        "count_include_pad": site.count_include_pad,
        "output_padding": site.output_padding,
        "output_shape": site.output_shape,
        "outer": [_outer(pad) for pad in site.outer],
        "downstream": site.downstream,
        "tensor": site.tensor or None,
        "path": site.path,
        "readers": site.readers,
        "origin": site.outer[0].source if site.outer else None,
        "conventions": site.conventions,
        "convention": site.convention or None,
        "findings": [finding_fields(finding) for finding in site.findings],
        "fixable": site.fixable,
        "stays": site.stays,
        "problem": site.problem or None,
        "advice": site.advice,
        **({"taken": site.taken, "known_by": site.known_by} if site.taken else {}),
    }


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
