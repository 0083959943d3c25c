"""The library's call to show every padding of a model."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from onnxpad.api import kinds
from onnxpad.api.fix import at_targets
from onnxpad.arguments import Dims, ModelSource, Shapes
from onnxpad.errors import ModelError
from onnxpad.finding import Finding
from onnxpad.frameworks.fitting.padded import Padded, padded_operators
from onnxpad.frameworks.fitting.reports import ReportConvention
from onnxpad.graph import Graph
from onnxpad.inventory import chosen, sites_in, written_sites
from onnxpad.options import Options, suggesting
from onnxpad.passes import REPORTS
from onnxpad.process import gc_paused
from onnxpad.report import ShowResult
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.run import Run


@suggesting
def show(
    model: ModelSource,
    node: str | Sequence[str] = (),
    *,
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    trust: str | None = None,
    target: str | Sequence[str] = (),
) -> ShowResult:
    """Show every padding of a model: how it is written, how much it is, and what `fix` does to it.

    The model is only read, and does not run.

    Args:
        model: As for `fix`.
        node: Names of operators, `Pad`s or tensors, or patterns such as `*/conv1/*`; all padding of
            the model if empty.
        shapes: Sizes of inputs, as for `fix`.
        dims: Sizes of dimensions, as for `fix`.
        trust: As for `fix`.
        target: Runtimes, as for `fix`; a site has the findings about what these do not take.

    Returns:
        The sites, in the order of the graph.

    Raises:
        UsageError: Nothing has that name, or the sizes do not fit the model.
        ModelError: The model cannot be read.
    """
    names = (node,) if isinstance(node, str) else tuple(node)
    source, _ = kinds.source_of(model, "show")
    fitted: dict[int, Padded] = {}
    findings, problem = list[Finding](), ""

    def conventions(found: Sequence[Context]) -> list[Finding]:
        # Of the model as `fix` would leave it: there each operator has its padding itself.
        operators, left = padded_operators(found)
        fitted.update((id(each.site.node), each) for each in operators)
        return [*ReportConvention().find(operators, left)]

    with kinds.naming(source), gc_paused():
        graph = Graph.read(source)
        options = Options.of({"shapes": shapes, "dims": dims, "trust": trust, "target": target})
        run = Run(graph, options)
        try:
            untaken = at_targets(run)
            findings = [*run.find(conventions), *untaken]
        except ModelError as error:
            problem = str(error)
        about_padding = [each for each in findings if each.code not in REPORTS]
        try:
            sites = sites_in(run.analysed(), about_padding, fitted)
        except ModelError as error:
            sites, problem = list(written_sites(graph)), str(error)
    warning = f"check cannot read the model, so nothing is said of fix: {problem}"
    sites = [replace(each, given=options.typed, dims=options.sizes) for each in sites]
    placed = {id(finding) for site in sites for finding in site.findings}
    return ShowResult(
        sites=chosen(sites, names) if names else tuple(sites),
        total=len(sites),
        asked=names,
        conventions=tuple(each.message for each in findings if each.code in REPORTS),
        others=tuple(each for each in about_padding if id(each) not in placed),
        notes=run.notes,
        warnings=(*run.warnings, *[warning] * bool(problem)),
        is_checked=not problem,
        model=kinds.path_of(model),
        targets=options.targets,
    )
