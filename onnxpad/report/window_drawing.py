"""Windows over padded axes: which are drawn, and laid out in cells.

A long axis loses its middle: conventions differ at the ends only. The axis of a transposed
convolution is its output, which pads crop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxpad.arithmetic.size import Size, evaluate
from onnxpad.arithmetic.window import Window, axis_names, pool_output_size, transposed_output_size
from onnxpad.errors import and_list
from onnxpad.finding import Change
from onnxpad.frameworks.conventions.question import Answer, AxisAnswer
from onnxpad.report.documents import Picture
from onnxpad.report.layout import PIPED_WIDTH, marked
from onnxpad.report.text import grouped, shown

if TYPE_CHECKING:
    from onnxpad.inventory import PaddingSite

Columns = tuple[int | None, ...]
"""The position in each column; None for the column that stands for the middle."""
Windows = tuple[tuple[int, range], ...]
"""Windows over an axis: the line below it, from 0 on, and the positions read or written."""
Figure = tuple[str, Sequence[tuple[str, AxisAnswer]], bool]
"""The words on an axis, its paddings with their labels, and whether these are cropped."""

_LEGENDS = (
    "o data, . padding, x-x a window",
    "o kept, . cropped, + appended, x-x what an input writes",
)
_LINES = 18
_SIZES, _EXAMPLES = 256, 2
"""Open sizes that are looked at, and those that are drawn, for example."""
_Axes = Iterator[tuple[str, str, AxisAnswer]]  # by name, with the size if that is an open one


def figures(picture: Picture) -> Iterator[Figure]:
    """What is drawn of each axis; like ones once."""
    axes: dict[str, dict[str, AxisAnswer]] = {}
    crops = picture.transposed
    for label, given in picture.subject.items():
        subject = given() if callable(given) else given
        crops |= getattr(subject, "kind", "") == "transposed"
        for name, size, axis in _axes(subject):
            axes.setdefault(name, {})[", ".join(filter(None, (label, size)))] = axis
    for alike in grouped(axes.items(), lambda each: (*each[1].items(),)):
        names, (_, ways) = and_list(name for name, _ in alike), alike[0]
        same = grouped(ways.items(), lambda each: each[1])
        rows = [(", ".join(label for label, _ in some), some[0][1]) for some in same]
        sizes = " or ".join(dict.fromkeys(str(axis.size) for _, axis in rows))
        window = rows[0][1].window
        slides = f"kernel {window.kernel}, stride {window.stride}, dilation {window.dilation}"
        yield f"{names}: size {sizes}, {slides}", rows, crops


def drawing_lines(figure: Figure) -> Iterator[str]:
    """The caption of an axis, and the axis in characters, if it is not too long."""
    caption, rows, transposed = figure
    axes, lanes = [axis for _, axis in rows], min(max(_LINES // len(rows) - 1, 1), 4)
    drawn = drawn_axes(axes, PIPED_WIDTH // 2, lanes, transposed=transposed)
    yield f"{caption} ({_LEGENDS[transposed] if drawn else 'too long to draw here'})"
    columns, slides = drawn or ((), ((),) * len(axes))
    for (label, axis), windows in zip(rows, slides, strict=True):
        said = f"{shown(label)}: " * (len(rows) > 1) + ("cropped" if transposed else "padded")
        said += f" {axis.begin} before and {axis.end} after, output {axis.output}"
        yield marked(said, "strong")
        cells = {at: kind(axis, at, transposed=transposed) for at in columns}
        yield from [_line(columns, cells)] * bool(columns)
        for lane in sorted({lane for lane, _ in windows}):
            reads = [read for at, read in windows if at == lane]
            dashed = {at: "--" for read in reads for at in range(read[0], read[-1])}
            tapped = {at: f"x{dashed.get(at, ' ')[1:]}" for read in reads for at in read}
            yield _line(columns, dashed | tapped)


def _line(columns: Columns, marks: Mapping[Any, str]) -> str:
    return "".join(f"{marks.get(at, ' '):2}" for at in columns).rstrip()


def _axes(subject: Any) -> _Axes:
    if isinstance(subject, Change):
        return _proved(subject)
    if isinstance(subject, Answer):
        names = axis_names(len(subject.axes))
        return ((name, "", axis) for name, axis in zip(names, subject.axes, strict=True))
    return _of_site(subject) if subject is not None else iter(())


def _proved(change: Change) -> _Axes:
    axes: Any = change.certificate.facts.get("axes") or ()
    for axis in axes:
        cases = axis.get("cases")
        rows = cases["rows"][:_EXAMPLES] if isinstance(cases, Mapping) else [axis]
        for row in rows:
            told = axis.get("kernel"), row["size"], row["start"], row["windows"]
            if all(isinstance(each, int) for each in told):
                window = Window(axis["kernel"], axis["stride"], axis["dilation"])
                size, start, windows = told[1:]
                end = start + (windows - 1) * window.stride + window.extent - size
                answer = AxisAnswer(size, window, -start, max(end, 0), windows)
                yield f"axis {axis['axis']}", f"size {size}" * (row is not axis), answer


def _of_site(site: PaddingSite) -> _Axes:
    for axis, window in zip(site.axes, site.windows, strict=False):
        numbers = axis.extent, *axis.pair
        symbols = {each for e in numbers if isinstance(e, Size) for each in e.symbols}
        known = all(isinstance(each, int | Size) for each in numbers)
        found: dict[tuple[int, int], int] = {}
        for step in range(_SIZES if symbols else 1) if known else ():
            at = {each.name: each.sizes.value(min(step, each.sizes.count - 1)) for each in symbols}
            size, begin, end = (evaluate(each, at) for each in numbers)
            if size >= 2 * window.extent or not symbols:
                found.setdefault((begin, end), size)
        for (begin, end), size in [*found.items()][:_EXAMPLES]:
            if site.kind == "transposed":
                output = transposed_output_size(size, window, begin, end)
            else:
                ceil = site.read("ceil_mode", False)
                output = pool_output_size(size, window, begin, end, ceil_mode=ceil)
            answer = AxisAnswer(size, window, begin, end, output)
            yield axis.name, f"size {size}" * bool(symbols), answer


def kind(axis: AxisAnswer, position: int | None, *, transposed: bool = False) -> str:
    """The mark of an element at a position; those of the data count from 0, None is the middle."""
    if position is None:
        return "~"
    line, real = range(-axis.begin, axis.size + axis.end), range(axis.size)
    if transposed:
        line = range(transposed_output_size(axis.size, axis.window, 0, 0))
        real = range(axis.begin, axis.begin + axis.output)
    if position in real:
        return "+" if transposed and position >= line.stop else "o"
    return "." if position in line else " "


def drawn_axes(
    axes: Sequence[AxisAnswer], cells: int, lanes: int = 4, *, transposed: bool = False
) -> tuple[Columns, tuple[Windows, ...]] | None:
    """The columns and the windows of axes; None if a window is too long for the cells."""
    slides = [(0, each.size) if transposed else (-each.begin, each.output) for each in axes]
    pairs = [*zip(axes, slides, strict=True)]
    inner = 0, axes[0].size
    ends = [axes[0].size, *(each.size + each.end for each in axes)]
    if transposed:
        ends = [each.begin + each.output for each in axes]
        inner = max(each.begin for each in axes), min(ends)
    reach = (at + (n - 1) * a.window.stride + a.window.extent for a, (at, n) in pairs)
    first, last = min(0, *(start for start, _ in slides)), max(*ends, *reach)
    columns: Columns = tuple(range(first, min(last, first + cells)))
    if last - first > cells:
        half = (cells - 1) // 2
        longest = max(each.window.extent for each in axes)
        if max(inner[0] - first, last - inner[1]) + longest > half:
            return None
        columns = (*range(first, first + half), None, *range(last - half, last))
    return columns, tuple((*_windows(axis, *slide, columns, lanes),) for axis, slide in pairs)


def _windows(
    axis: AxisAnswer, first: int, count: int, columns: Columns, lanes: int
) -> Iterator[tuple[int, range]]:
    """The windows that are wholly among the columns, each in a line where it overlaps no other."""
    window = axis.window
    near = len(columns) // window.stride + 2
    indices = sorted({*range(min(count, near)), *range(max(count - near, 0), count)})
    if lanes < min(-(-window.extent // window.stride), count):  # not all: the ends come first
        indices.sort(key=lambda index: min(index, count - 1 - index))
    taken: list[set[int]] = [set() for _ in range(lanes)]
    for index in indices:
        start = index * window.stride + first
        span = range(start, start + window.extent)
        free = (lane for lane, line in enumerate(taken) if line.isdisjoint(span))
        lane = next(free, None) if {*columns}.issuperset(span) else None
        if lane is not None:
            taken[lane].update(span)
            yield lane, span[:: window.dilation]
