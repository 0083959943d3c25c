"""Every command names the same padding for each operator of each model.

The commands are asked without what they do besides: `show` for its sites, which `validate` compares
too, `repad` and `match` for what they vary, `check` for the padding that it compares with
conventions, and `explain` for that of a node.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

from onnxpad.api.node_question import node_question
from onnxpad.arithmetic.size import Extent
from onnxpad.errors import UsageError
from onnxpad.frameworks.fitting.padded import padded_operators, takes_nearest
from onnxpad.frameworks.reading import Site, SiteReader, added
from onnxpad.frameworks.repadding.sites import sites_of
from onnxpad.graph import Graph
from onnxpad.inventory import sites_in
from onnxpad.padding.crops import Crops
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.scopes import contexts
from tests.support import EXPORTED, FEW
from tests.support.rows import one_in

Flat = tuple[int, ...]


def flat(amounts: Sequence[tuple[Extent, Extent]] | None) -> Flat | None:
    """Amounts in ONNX's order; None unless all are numbers."""
    found = [begin for begin, _ in amounts or ()] + [end for _, end in amounts or ()]
    known = tuple(each for each in found if isinstance(each, int))
    return known if amounts is not None and len(known) == len(found) else None


def named_by_show(context: Context) -> dict[str, tuple[Flat | None, Flat | None]]:
    """The total and the own padding of window operators and transposed convolutions."""
    found = [site for site in sites_in([context]) if site.kind in {"window", "transposed"}]
    return {site.node: (site.pads, site.own_pads) for site in found}


@pytest.mark.parametrize("path", one_in(3, zip(EXPORTED)), ids=lambda path: path.stem)
def test_commands_name_the_same_padding(path: Path) -> None:
    for context in contexts(Graph.read(path)):
        crops = (Crops(context.graph, context.analysis, op) for op in context.transposed())
        taken = {id(node) for each in crops for node in each.taking()[0].taken}
        reader = SiteReader(context.graph, context.analysis, taken)
        sites = {context.label(op.node): reader.of(op) for op in context.windows()}
        shown = named_by_show(context)
        varied = {each.label: flat(each.own) for each in sites_of(context)[0]}
        fitted = {each.site.label: each for each in padded_operators([context])[0]}
        assert shown.keys() >= sites.keys()
        for each in map(reader.of, context.transposed()):
            assert shown[each.label][1] == flat(each.own)
            if each.label in fitted:
                assert fitted[each.label].case.padding.crop == each.own
        for label, site in sites.items():
            total, own = shown[label]
            assert own == flat(site.own)
            assert total == flat(added(site.own, site.front.amounts))
            pads = site.front.pads
            assert label not in varied or varied[label] == own
            # Conventions are about what the operator's own padding could be.
            alone = not pads or (len(pads) == 1 and takes_nearest(context, site.op))
            if total is not None and label in fitted and alone:
                found = fitted[label]
                assert flat(found.pads) == total or (
                    found.pads is None and found.case.padding.is_same
                )


def of_each_form(context: Context) -> list[str]:
    """An operator of each way to be padded, by what is upstream and how it pads itself."""
    reader = SiteReader(context.graph, context.analysis)
    sites = [reader.of(op) for op in context.windows()]

    def form(site: Site) -> str:
        return repr([[node.op for node in path[1:]] for path in site.front.pads])

    sites.sort(key=form)
    return [next(group).label for _, group in groupby(sites, form)]


@pytest.mark.parametrize("path", FEW, ids=lambda path: path.stem)
def test_explain_names_the_padding_that_show_names(path: Path) -> None:
    for context in contexts(Graph.read(path))[:1]:
        shown = named_by_show(context)
        for label in of_each_form(context):
            try:
                _, about = node_question(path, "", label)
            except UsageError:  # a size is open
                continue
            if about.own is not None:
                assert flat(about.own.pads) == shown[label][0]
