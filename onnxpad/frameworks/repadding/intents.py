"""The intent of an operator's padding: SAME, VALID or causal; and its padding in a framework.

An intent is read from numbers only where they admit just one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent
from onnxpad.arithmetic.window import (
    ODD,
    pads_text,
    same_of,
    same_pads,
)
from onnxpad.errors import RUNTIME
from onnxpad.frameworks.conventions.explanation import About, explained
from onnxpad.frameworks.conventions.question import Answer, Op, Question
from onnxpad.frameworks.conventions.table import INTENTS, AbsentError, Framework, Intent
from onnxpad.frameworks.conventions.writing import written, written_pad
from onnxpad.frameworks.fitting.case import answer_of, case_of
from onnxpad.frameworks.reading import Site
from onnxpad.padding.padding import Padding
from onnxpad.runtimes.onnxruntime.departures import CHANGED, misreads_same
from onnxpad.semantics.operators import Fill, PadOp, WindowOp


def op_of(site: Site) -> Op | None:
    """The operator for which conventions are asked; None for those that no framework has."""
    if site.is_transposed:
        return "convtranspose"
    if site.leaves_padding_out:
        return "avgpool"
    if site.row.padding is Fill.LOWEST:
        return "maxpool"
    return None if site.is_pool else "conv"


def intent_of(site: Site) -> Intent:
    """Reads the intent of an operator from its numbers.

    Raises:
        AbsentError: There is no telling; the message says why.
    """
    if site.padding.is_same:
        return "same"
    axes = ({*_fitting(site, place)} for place in range(len(site.windows)))
    fits = {*INTENTS}.intersection(*axes)
    if {"same", "valid"} <= fits:
        raise AbsentError("SAME and VALID are the same here")
    if len(fits) == 1:
        return fits.pop()
    pads = pads_text(site.padding.pads or ())
    if fits:
        raise AbsentError(f"its pads {pads} may be {' or '.join(sorted(fits))}")
    if site.is_transposed:
        raise AbsentError(f"its pads {pads} neither give size * stride nor crop nothing")
    advice = "; --shape or --dim fixes its sizes" if None in site.known_sizes else ""
    raise AbsentError(f"its pads {pads} are neither SAME's, nor half the kernel, nor none{advice}")


def _fitting(site: Site, place: int) -> Iterator[Intent]:
    """The intents that fit the numbers on one axis."""
    window, size = site.windows[place], site.known_sizes[place]
    extent, stride = window.extent, window.stride
    begin, end = pair = site.padding.numbers[place]
    if site.is_transposed:
        appended = site.padding.output_padding[place]
        if begin + end - appended == extent - stride and abs(begin - end) <= 1:
            yield "same"
        if pair == (0, 0) and appended in {0, max(stride - extent, 0)}:
            yield "valid"
        return
    total = None  # where SAME's depends on an open size
    if size is not None or extent == 1 or stride == 1:
        total = sum(same_pads(extent if size is None else size, window, odd="end"))
    is_half = begin == end and begin in {(extent - 1) // 2, extent // 2}
    if pair == (0, 0):
        yield "valid"
    if (begin + end == total and abs(begin - end) <= 1) or (is_half and begin):
        yield "same"
    is_line = not site.is_pool and sum(each.extent > 1 for each in site.windows) <= 1
    if is_line and pair == (extent - 1, 0):
        yield "causal"


def chosen(
    site: Site,
    op: Op,
    framework: Framework,
    intent: Intent,
    extents: Sequence[Extent],
    opset: int,
) -> Padding | None:
    """The padding of an operator in a framework at these sizes; None where it follows it as it is.

    Raises:
        AbsentError: The framework has no such operator, or ONNX's has no such padding.
    """
    if case_of(op, site.windows, extents, site.padding).follows(framework.name):
        return None
    sizes = tuple(size if isinstance(size, int) else None for size in extents)
    tried = [Question(op, each, site.windows) for each in _sizes(site, sizes)]
    answers = [framework.answer(intent, question) for question in tried]
    keeps_size = intent == "same" and framework.name != "valid" and not site.is_transposed
    for answer in answers:
        for window, axis in zip(site.windows, answer.axes, strict=True):
            if window != axis.window and window.kernel > 1:
                raise AbsentError(
                    f"{framework.title} slides it without its dilation, and no padding does that"
                )
            wanted = -(-axis.size // axis.window.stride)
            if keeps_size and axis.output < wanted:
                raise AbsentError(
                    f"{framework.title}'s usual padding, ({axis.begin}, {axis.end}), gives "
                    f"{axis.output} elements at size {axis.size}, not {wanted}: it pads this apart"
                )
    for padding in _expressing(site, answers[0]):
        if all(_computes(padding, *each) for each in zip(tried, answers, strict=True)):
            _require_runnable(site, padding, tried, sizes, opset)
            return padding
    where = "at every size; fix the sizes with --shape or --dim" if None in sizes else "here"
    raise AbsentError(f"no attributes of {site.node.op} pad as {framework.title} does {where}")


def _sizes(site: Site, sizes: Sequence[int | None]) -> Iterator[tuple[int, ...]]:
    """Sizes at which to ask: the one known, or one long one for each remainder by the stride."""
    reach = max((sum(pair) for pair in site.padding.pads or ()), default=0)
    longest = max(window.stride for window in site.windows)
    for rest in range(longest if None in sizes else 1):
        yield tuple(
            2 * (window.extent + reach) * window.stride + rest if size is None else size
            for size, window in zip(sizes, site.windows, strict=True)
        )


def lines_of(site: Site, padding: Padding, sizes: tuple[int, ...]) -> dict[str, str]:
    """How PyTorch, Keras and ONNX write a padding of an operator at these sizes of its data."""
    if isinstance(site.op, PadOp):
        return written_pad(padding.numbers, site.op.mode, site.op.value)
    op = op_of(site)
    if op is None or not sizes:
        return {"pytorch": "", "keras": "", "onnx": ""}
    question = Question(op, sizes, site.windows, grouped=site.node.attrs.get("group", 1) != 1)
    own = answer_of(padding, question)
    return written(question, own, explained(question, About("", "", own=own)).same_as_model)


def _expressing(site: Site, answer: Answer) -> Iterator[Padding]:
    """The choices that might pad as a framework does."""
    if site.is_transposed:
        yield Padding(answer.pads, output_padding=answer.output_padding)
        return
    counted = answer.counts and any(map(any, answer.pads))
    for ceil in (False, True) if site.is_pool else (False,):
        yield Padding(answer.pads, counted=counted, ceil=ceil)
    for odd in ODD.values():
        yield Padding(None, odd=odd, counted=answer.counts)


def _computes(padding: Padding, question: Question, wanted: Answer) -> bool:
    found = answer_of(padding, question)
    counts = wanted.counts and any(map(any, wanted.pads))
    same = (found.pads, found.output) == (wanted.pads, wanted.output)
    return same and (padding.counted == counts or not any(map(any, wanted.pads)))


def _require_runnable(
    site: Site,
    padding: Padding,
    tried: Sequence[Question],
    sizes: Sequence[int | None],
    opset: int,
) -> None:
    """Raises unless ONNX and the runtime compute a padding as it is meant."""
    name, row, since = site.node.op, site.row, CHANGED
    for attribute, wanted in (("ceil_mode", padding.ceil), (row.counts or "", padding.counted)):
        if wanted and (not attribute or opset < row.since(attribute)):
            raise AbsentError(f"{name} of opset {opset} has no {attribute}")
    if padding.is_same and None in sizes:
        auto_pad = same_of(padding.odd)
        op = site.op
        assert isinstance(op, WindowOp)
        pads = ((0, 0),) * len(op.windows)
        form = replace(op, auto_pad=auto_pad, pads=pads, pads_written=False).form
        if misreads_same(form):
            raise AbsentError(
                f"at open sizes it would be {auto_pad}, which {RUNTIME} misreads for this "
                "kernel, stride and dilation; fix the sizes with --shape or --dim"
            )
    for question in tried:
        answer = answer_of(padding, question)
        for axis in answer.axes:
            if site.is_pool and max(axis.begin, axis.end) >= axis.window.kernel:
                raise AbsentError(
                    f"its pads would be {pads_text(answer.pads)}, and a pool's are smaller than "
                    "its kernel"
                )
            last = (axis.output - 1) * axis.window.stride + axis.window.extent
            past = last > axis.begin + axis.size + axis.end
            is_own = row.inputs.zero_point is None and row.declaration is None
            if padding.counted and past and (opset < since or not is_own):
                before = f"before opset {since} " if opset < since else ""
                raise AbsentError(
                    f"{before}{name} that counts its padding divides by the whole kernel where a "
                    "window reaches past it"
                )
