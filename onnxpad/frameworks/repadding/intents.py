"""The intent of an operator's padding: SAME, VALID or causal; and its padding in a framework.

An intent is read from numbers only where they admit just one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent
from onnxpad.arithmetic.window import ODD, Window, pads_text, same_of, same_pads
from onnxpad.errors import RUNTIME
from onnxpad.frameworks.conventions.explanation import About, explained
from onnxpad.frameworks.conventions.question import Answer, Op, Question
from onnxpad.frameworks.conventions.table import INTENTS, AbsentError, Framework, Intent
from onnxpad.frameworks.conventions.writing import written
from onnxpad.frameworks.fitting.case import answer_of, case_of
from onnxpad.frameworks.reading import Site
from onnxpad.padding.padding import Padding
from onnxpad.runtimes.onnxruntime.departures import CHANGED, misreads_same
from onnxpad.semantics.layers import is_padded
from onnxpad.semantics.operators import Fill, WindowOp


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
    reach = max((sum(pair) for pair in site.padding.pads or ()), default=0)
    asked = [Question(op, each, site.windows) for each in sizes_asked(site.windows, sizes, reach)]
    answers = [(question, framework.answer(intent, question)) for question in asked]
    keeps_size = intent == "same" and framework.name != "valid" and not site.is_transposed
    for _, answer in answers:
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
    if (padding := expressed(answers)) is None:
        where = "at every size; fix the sizes with --shape or --dim" if None in sizes else "here"
        raise AbsentError(f"no attributes of {site.node.op} pad as {framework.title} does {where}")
    _require_runnable(site, padding, asked, opset, is_open=None in sizes)
    return padding


def sizes_asked(
    windows: Sequence[Window], sizes: Sequence[int | None], reach: int = 0
) -> Iterator[tuple[int, ...]]:
    """Sizes at which to ask: the one known, or a long one for each remainder by the stride."""
    longest = max(window.stride for window in windows)
    for rest in range(longest if None in sizes else 1):
        yield tuple(
            2 * (window.extent + reach) * window.stride + rest if size is None else size
            for size, window in zip(sizes, windows, strict=True)
        )


def lines_of(site: Site, padding: Padding, sizes: tuple[int, ...]) -> dict[str, str]:
    """How PyTorch, Keras and ONNX write a padding of an operator at these sizes of its data."""
    op = op_of(site)
    if op is None or not sizes:
        return {"pytorch": "", "keras": "", "onnx": ""}
    question = Question(op, sizes, site.windows, grouped=site.node.attrs.get("group", 1) != 1)
    own = answer_of(padding, question)
    return written(question, own, explained(question, About("", "", own=own)).same_as_model)


def expressed(answers: Sequence[tuple[Question, Answer]]) -> Padding | None:
    """The padding by which ONNX's operator has these answers, at each of the sizes asked for."""
    question, first = answers[0]
    pools = question.op in {"maxpool", "avgpool"}
    counted = first.counts and is_padded(first.pads)
    more = first.output_padding if question.op == "convtranspose" else ()
    tried = [
        Padding(first.pads, counted=counted, ceil=ceil, output_padding=more)
        for ceil in ((False, True) if pools else (False,))
    ]
    if question.op != "convtranspose":
        tried += [Padding(None, odd=odd, counted=first.counts) for odd in ODD.values()]
    return next((each for each in tried if all(_computes(each, *e) for e in answers)), None)


def _computes(padding: Padding, question: Question, wanted: Answer) -> bool:
    found = answer_of(padding, question)
    same = (found.pads, found.output) == (wanted.pads, wanted.output)
    return same and (padding.counted == wanted.counts or not is_padded(wanted.pads))


def _require_runnable(
    site: Site, padding: Padding, asked: Sequence[Question], opset: int, *, is_open: bool
) -> None:
    """Raises unless ONNX and the runtime compute a padding as it is meant."""
    name, row, op = site.node.op, site.row, site.op
    for attribute, wanted in (("ceil_mode", padding.ceil), (row.counts or "", padding.counted)):
        if wanted and (not attribute or opset < row.since(attribute)):
            raise AbsentError(f"{name} of opset {opset} has no {attribute}")
    if padding.is_same and is_open:
        assert isinstance(op, WindowOp)
        auto_pad, pads = same_of(padding.odd), ((0, 0),) * len(op.windows)
        if misreads_same(replace(op, auto_pad=auto_pad, pads=pads, pads_written=False).form):
            raise AbsentError(
                f"at open sizes it would be {auto_pad}, which {RUNTIME} misreads for this "
                "kernel, stride and dilation; fix the sizes with --shape or --dim"
            )
    is_own = row.inputs.zero_point is None and row.declaration is None
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
