"""Rewrites the padding of a model into what a framework does for the same intent.

That is SAME, VALID or causal, read from numbers only where they admit just one. SAME at a fixed
size is written as numbers, and sizes depend on the padding upstream. So operators are written in
file order, and the sizes of the data of each are those that the graph has by then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import product

from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent
from onnxpad.arithmetic.window import ODD, pads_text, same_of
from onnxpad.errors import RUNTIME, UsageError, meant
from onnxpad.facts import Analysis
from onnxpad.facts.feasible import AnalysedDomains
from onnxpad.frameworks.conventions.explanation import About, explained
from onnxpad.frameworks.conventions.question import Answer, Op, Question
from onnxpad.frameworks.conventions.table import FRAMEWORKS, INTENTS, AbsentError, Framework, Intent
from onnxpad.frameworks.fitting.case import answer_of, case_of
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding import sites
from onnxpad.frameworks.repadding.results import Rewritten, Unchanged
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.scopes import original
from onnxpad.runtimes.onnxruntime.departures import CHANGED, misreads_same
from onnxpad.semantics.layers import is_padded
from onnxpad.semantics.operators import Fill, WindowOp


def repad_graph(
    graph: Graph, framework: Framework, only: Collection[str] = (), known: AnalysedDomains = ()
) -> tuple[tuple[Rewritten, ...], tuple[Unchanged, ...]]:
    """Writes the padding of a framework into a graph, of which sizes may be `known`.

    Returns:
        The operators that were rewritten and those that stay, only those named, if any are.

    Raises:
        UsageError: A name or pattern in `only` is no window operator's.
    """
    context, why = Context(graph, known=known), "it is in a body or function, which repad leaves"
    every, unvaried = sites.sites_of(context)
    kept = [Unchanged(context.label(node), node.op, "", reason) for node, reason in unvaried]
    kept += (Unchanged(label, op, "", why) for label, op in sites.in_bodies(graph))
    labels = {*(site.label for site in every), *(each.node for each in kept)}
    wanted = set[str]() if only else labels
    for name in only:
        fits = {name} & labels or {e for e in labels if fnmatchcase(e, name.replace("[", "[[]"))}
        if not fits:
            told = f"the model has no window operator named {name!r} in its main graph"
            raise UsageError(told + meant(name, labels))
        wanted |= fits
    kept = [each for each in kept if each.node in wanted]
    changed, analysis = list[Rewritten](), context.analysis
    with sites.redeclared(graph) as nodes:
        for site in (site for site in every if site.label in wanted):
            before, had = sites.described(site.padding, (), site.windows), site.node.attrs
            sizes, is_same = _sizes_now(site, analysis), True
            try:
                found = _repadded(context, site, framework, sizes)
            except AbsentError as error:
                found, is_same = str(error), False
            if isinstance(found, str):
                kept.append(Unchanged(site.label, site.node.op, before, found, is_same))
                continue
            intent, padding = found
            sites.write(graph, site, padding)
            nodes.append(site.node)
            analysis = Context(graph).analysis
            after = sites.described(padding, (), site.windows)
            answers = answers_of(site, sizes, site.padding, padding)
            was, now = ({n: a[n] for n in a if n in sites.PADDING} for a in (had, site.node.attrs))
            said = site.label, site.node.op, intent, before, after, was, now, answers
            changed.append(Rewritten(*said))
    return tuple(changed), tuple(kept)


def _sizes_now(site: Site, analysis: Analysis) -> tuple[Extent, ...]:
    """The spatial sizes of the data of an operator now; those that are open stay as they were."""
    shape = analysis.shape(site.op.data)
    if shape is None or len(shape) != site.rank:
        return site.sizes
    pairs = zip(site.sizes, (shape[axis] for axis in site.axes), strict=True)
    return tuple(n if isinstance(w, int) else w for w, n in pairs)


def _repadded(
    context: Context, site: Site, framework: Framework, sizes: Sequence[Extent]
) -> tuple[Intent, Padding] | str:
    """The intent and padding of an operator, or why it is that already; AbsentError if it stays."""
    op, opset, front = op_of(site), context.graph.opset, site.front
    if op is None:
        raise AbsentError(f"no framework has a convention for {site.node.op}")
    if front.amounts is None or is_padded(front.amounts):
        raise AbsentError("a Pad in front of it, which could not be folded, pads its data too")
    if site.padding.counted and not counted_at_first(context, site):
        raise AbsentError("it averages over a Pad of zeros, as it would in any framework")
    if (case := case_of(op, site.windows, sizes, site.padding)).follows(framework.name):
        if case.is_causal_apart(framework):
            return f"it stays causal, as Keras pads; {framework.title}'s SAME pads otherwise"
        return f"computes the same in {framework.title}"
    intent = intent_of(site, op, sizes)
    known = tuple(n if isinstance(n, int) else 0 for n in sizes)
    padding = chosen(site, op, framework, intent, sizes, opset)
    return intent, padding if padding.is_same else sites.settled(site, padding, known, opset)


def counted_at_first(context: Context, site: Site) -> bool:
    """Whether an average counted its padding before a `Pad` was folded into it."""
    first = original(context).graph
    node = first.tensor(site.node.outputs[0].name).producer
    assert node is not None
    return bool(node.attrs.get("count_include_pad", 0))


def op_of(site: Site) -> Op | None:
    """The operator for which conventions are asked; None for those that no framework has."""
    if site.is_transposed:
        return "convtranspose"
    if site.leaves_padding_out:
        return "avgpool"
    if site.row.padding is Fill.LOWEST:
        return "maxpool"
    return None if site.is_pool else "conv"


def intent_of(site: Site, op: Op, sizes: Sequence[Extent]) -> Intent:
    """Reads the intent of an operator from what it pads: that with which a framework pads so.

    Raises:
        AbsentError: There is no telling; the message says why.
    """
    if site.padding.is_same:
        return "same"
    asked = case_of(op, site.windows, sizes, site.padding).questions
    own, fits = (site.padding.numbers, site.padding.output_padding), set[Intent]()
    for framework, intent in product(FRAMEWORKS.values(), INTENTS):
        # Half of a short window is nothing, too: where SAME pads nothing, it is TensorFlow's.
        is_meant = framework.name == "tensorflow" or intent != "same" or is_padded(own[0])
        with suppress(AbsentError):
            answers = [framework.answer(intent, question) for question in asked]
            found = {(a.pads, a.output_padding if site.is_transposed else ()) for a in answers}
            if found == {own} and is_meant and framework.name != "valid":
                fits.add(intent)
    halves = tuple((window.extent // 2,) * 2 for window in site.windows)
    if own == (halves, ()) and is_padded(halves):  # PyTorch's, of even kernels too
        fits.add("same")
    pads = pads_text(own[0])
    if {"same", "valid"} <= fits:
        raise AbsentError("SAME and VALID are the same here")
    if len(fits) == 1:
        return fits.pop()
    if fits:
        raise AbsentError(f"its pads {pads} may be {' or '.join(sorted(fits))}")
    why = "here; onnxpad match MODEL --reference FILE finds those that recorded outputs need"
    if site.is_sized and None in site.known_sizes:
        why = "at every size; fix its sizes with --shape or --dim"
    raise AbsentError(f"its pads {pads} are no framework's SAME {why}")


def chosen(
    site: Site, op: Op, framework: Framework, intent: Intent, extents: Sequence[Extent], opset: int
) -> Padding:
    """The padding of an operator in a framework at these sizes.

    Raises:
        AbsentError: The framework has no such operator, or ONNX's has no such padding.
    """
    sizes = tuple(size if isinstance(size, int) else None for size in extents)
    asked = case_of(op, site.windows, sizes, site.padding).questions
    answers = [framework.answer(intent, question) for question in asked]
    keeps_size = intent == "same" and framework.name != "valid" and not site.is_transposed
    for axis in (axis for answer in answers for axis in answer.axes if keeps_size):
        if axis.output < (wanted := -(-axis.size // axis.window.stride)):
            raise AbsentError(
                f"{framework.title}'s usual padding, ({axis.begin}, {axis.end}), gives "
                f"{axis.output} elements at size {axis.size}, not {wanted}: it pads this apart"
            )
    if (padding := expressed(asked, answers)) is None:
        where = "at every size; fix the sizes with --shape or --dim" if None in sizes else "here"
        raise AbsentError(f"no attributes of {site.node.op} pad as {framework.title} does {where}")
    _require_runnable(site, padding, asked, opset)
    return padding


def answers_of(site: Site, extents: Sequence[Extent], *paddings: Padding) -> tuple[Answer, ...]:
    """The windows of an operator with each padding; where a size is open, at a long one."""
    asked, *_ = case_of(op_of(site) or "conv", site.windows, extents, site.padding).questions
    return tuple(answer_of(each, asked) for each in paddings)


def alike(padding: Padding, asked: Sequence[Question]) -> tuple[str, ...]:
    """The conventions that compute at all sizes asked about what a padding computes."""
    abouts = (About("", "", own=answer_of(padding, each)) for each in asked)
    first, *others = (explained(*each).same_as_model for each in zip(asked, abouts, strict=True))
    return tuple(name for name in first if all(name in each for each in others))


def expressed(asked: Sequence[Question], answers: Sequence[Answer]) -> Padding | None:
    """The padding by which ONNX's operator gives all answers; None if none does."""
    op, first = asked[0].op, answers[0]
    counted = first.counts and is_padded(first.pads)
    if op == "convtranspose":
        tried = [Padding(first.pads, output_padding=first.output_padding)]
    else:
        ceils = (False,) if op == "conv" else (False, True)
        tried = [Padding(first.pads, counted=counted, ceil=ceil) for ceil in ceils]
        tried += [Padding(None, odd=odd, counted=first.counts) for odd in ODD.values()]

    def computes(padding: Padding, question: Question, wanted: Answer) -> bool:
        found = answer_of(padding, question)
        return (found.pads, found.output) == (wanted.pads, wanted.output)

    pairs = [*zip(asked, answers, strict=True)]
    return next((each for each in tried if all(computes(each, *pair) for pair in pairs)), None)


def _require_runnable(site: Site, padding: Padding, asked: Sequence[Question], opset: int) -> None:
    """Raises unless ONNX and the runtime compute a padding as it is meant."""
    name, row, op = site.node.op, site.row, site.op
    for attribute, wanted in (("ceil_mode", padding.ceil), ("count_include_pad", padding.counted)):
        if wanted and opset < row.since(attribute):
            raise AbsentError(f"{name} of opset {opset} has no {attribute}")
    if padding.is_same:  # at an open size
        assert isinstance(op, WindowOp)
        auto_pad, pads = same_of(padding.odd), ((0, 0),) * len(op.windows)
        if misreads_same(replace(op, auto_pad=auto_pad, pads=pads, pads_written=False).form):
            raise AbsentError(
                f"at open sizes it would be {auto_pad}, which {RUNTIME} misreads for this "
                "kernel, stride and dilation; fix the sizes with --shape or --dim"
            )
    is_own = row.inputs.zero_point is None
    for answer in (answer_of(padding, question) for question in asked):
        for axis in answer.axes:
            if site.is_pool and max(axis.begin, axis.end) >= axis.window.kernel:
                raise AbsentError(
                    f"its pads would be {pads_text(answer.pads)}, and a pool's are smaller than "
                    "its kernel"
                )
            last = (axis.output - 1) * axis.window.stride + axis.window.extent
            past = last > axis.begin + axis.size + axis.end
            if padding.counted and past and (opset < CHANGED or not is_own):
                raise AbsentError(
                    f"{name} of opset {opset} that counts its padding divides by the whole kernel "
                    "where a window reaches past it"
                )
