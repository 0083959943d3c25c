"""How cost grows with size, a construct at a time: `python -m tests.benchmarks.growth`.

Makes each construct at growing sizes and prints the CPU seconds of `fix`, `check` and `show` and of
their reports, without running models, and the exponent of the growth between the two largest sizes
that were measured. A size that takes longer than the limit is the last one of its row.
"""

import argparse
import math
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

import onnx

import onnxpad

SIZES: Final = (300, 1_000, 3_000, 10_000)
LEAST: Final = 0.02
"""CPU seconds of a call on a model without nodes."""
HEAD: Final = '<ir_version: 9, opset_import: ["" : 18, "f" : 1]>'
HELD: Final = (
    "float[1, 1, 3, 3] w = {1, 1, 1, 1, 1, 1, 1, 1, 1}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1},"
    " int64[8] c = {0, 0, -1, -1, 0, 0, -1, -1}, int64[2] one = {1, 1}, int64[2] ten = {10, 10},"
    " int64[2] axes = {2, 3}, int64 two = {2}, int64[1] none = {0}, int64[1] even = {2},"
    " float scale = {1}, uint8 zero = {0}, bool yes = {1}, int64[4] flat = {1, 11, 11, 1},"
    " int64[4] usual = {1, 1, 11, 11}, int64[1] start = {1}, int64[1] far = {2147483647},"
    " int64[1] last = {3}, float[1, 1, 3, 1] line = {1, 1, 1}"
)


@dataclass(frozen=True)
class Construct:
    """Nodes again and again, as ONNX text.

    In all texts `{i}` is the number of a repetition, `{n}` how many there are, `{y}` what this one
    gives and `{x}` what the one before gave; `{all}` is what all gave, `{call}` the next function.

    Attributes:
        step: What is repeated.
        size: How many nodes it counts for.
        first: What comes before; it gives `{x}` of the first repetition, which is else the input.
        last: What comes behind, and gives `y`.
        many: Whether each repetition is an output.
        inputs: What is fed.
        held: Further constants.
        functions: A function that is repeated.
    """

    step: str
    size: int = 1
    first: str = ""
    last: str = ""
    many: bool = False
    inputs: str = "float[1, 1, 9, 9] x"
    held: str = ""
    functions: str = ""

    def model(self, size: int) -> onnx.ModelProto:
        """The construct with about so many nodes."""
        count = max(size // self.size, 1)
        names = [f"y{place}" for place in range(count)]
        root = "first" if self.first else "x"

        def told(text: str, place: int = 0) -> str:
            before = names[place - 1] if place else root
            given = {"i": str(place), "n": str(count), "x": before, "y": names[place]}
            given["all"] = ", ".join(names) if "{all}" in text else ""
            given["call"] = f"f.F{place + 1}" if place + 1 < count else "Conv"
            for key, value in given.items():
                text = text.replace(f"{{{key}}}", value)
            return text

        nodes = [told(self.first), *(told(self.step, place) for place in range(count))]
        nodes.append(told(self.last, count - 1).replace("{x}", names[-1]))
        gives = names if self.many else ["y" if self.last else names[-1]]
        listed = ", ".join(f"float[] {name}" for name in gives)
        inputs = [told(text, place) for text in [self.inputs] for place in range(count)]
        inputs = inputs if "{i}" in self.inputs else inputs[:1]
        held = f"{HELD}{told(self.held)}"
        graph = f"g ({', '.join(inputs)}) => ({listed}) <{held}> {{ {' '.join(nodes)} }}"
        functions = [told(self.functions, place) for place in range(count)]
        functions = functions if "{i}" in self.functions else functions[:1]
        model = onnx.parser.parse_model(" ".join([HEAD, graph, *functions]))
        for output in model.graph.output:
            output.type.tensor_type.ClearField("shape")
        return model


PAD: Final = "a{i} = Pad ({x}, p) "
CONV: Final = "y = Conv ({x}, w)"
SAME: Final = '{y} = Conv <auto_pad = "SAME_UPPER"> ({x}, w)'
FUNCTION: Final = '<domain: "f", opset_import: ["" : 18, "f" : 1]> '
PADDED: Final = "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () a = Pad (x, p) "
COMPUTED: Final = (
    "s{i} = Shape ({x}) g{i} = Gather (s{i}, even) m{i} = Mod (g{i}, even) q{i} = Concat <axis = 0>"
    " (none, none, m{i}, m{i}, none, none, none, none) a{i} = Pad ({x}, q{i})"
    " {y} = Conv (a{i}, line)"
)
OPEN: Final = "float[1, 1, height, 9] x"
FIRST: Final = "first = Pad (x, p)"


def between(op: str, attributes: str = "") -> Construct:
    """Many nodes of an operator between a Pad and a Conv."""
    return Construct(f"{{y}} = {op} {attributes} ({{x}})", first=FIRST, last=CONV)


def called(body: str, calls: str, size: int = 1, **more: Any) -> Construct:
    """Functions, and what calls them."""
    return Construct(calls, size, functions=f"{FUNCTION}{body}", **more)


CONSTRUCTS: Final[dict[str, Construct]] = {
    "Convs with SAME_UPPER in a row": Construct(SAME),
    "Pad and Conv in turns": Construct(f"{PAD}{{y}} = Conv (a{{i}}, w)", 2),
    "Reflecting Pad and Conv in turns, which stay": Construct(
        'a{i} = Pad <mode = "reflect"> ({x}, p) {y} = Conv (a{i}, w)', 2
    ),
    "Pads in a row before a Conv": Construct("{y} = Pad ({x}, p)", last=CONV),
    "Pads and crops in a row before a Conv": Construct(
        f"{PAD}{{y}} = Pad (a{{i}}, c)", 2, last=CONV
    ),
    "Like Pads joined by a chain of Adds before a Conv": Construct(
        "a{i} = Pad (x, p) {y} = Add ({x}, a{i})", 2, first=FIRST, last=CONV
    ),
    "Unlike Pads joined by a chain of Adds before a Conv": Construct(
        "k{i} = Constant <value_ints = [0, 0, {i}, 0, 0, 0, 0, {i}]> () a{i} = Pad (x, k{i})"
        " {y} = Add ({x}, a{i})",
        3,
        first=FIRST,
        last=CONV,
    ),
    "Like Pads into one Concat before a Conv": Construct(
        "{y} = Pad (x, p)", last="j = Concat <axis = 2> ({all}) y = Conv (j, w)"
    ),
    "Padded branches added to a running sum": Construct(
        f"{PAD}b{{i}} = Conv (a{{i}}, w) {{y}} = Add ({{x}}, b{{i}})", 3
    ),
    "One Pad read by many Convs": Construct("{y} = Conv (first, w)", first=FIRST, many=True),
    "One Pad read by many Relus before Convs": Construct(
        "r{i} = Relu (first) {y} = Conv (r{i}, w)", 2, first=FIRST, many=True
    ),
    **{f"{op}s between Pad and Conv": between(op) for op in ("Identity", "Relu", "Softmax")},
    "Transposes between Pad and Conv": between("Transpose", "<perm = [0, 1, 3, 2]>"),
    "Casts between Pad and Conv": between("Cast", "<to = 1>"),
    "Reshapes between Pad and Conv": Construct(
        "r{i} = Reshape ({x}, flat) {y} = Reshape (r{i}, usual)", 2, first=FIRST, last=CONV
    ),
    "Ifs in a row, with a padded Conv in each branch": Construct(
        "{y} = If (yes) <then_branch = t () => (float[] u{i}) { a{i} = Pad ({x}, p) u{i} = Conv"
        " (a{i}, w) }, else_branch = e () => (float[] v{i}) { b{i} = Pad ({x}, p) v{i} = Conv"
        " (b{i}, w) }>",
        5,
    ),
    "Loops in a row, with a padded Conv in each body": Construct(
        "{y} = Loop (two, yes, {x}) <body = b (int64 i{i}, bool o{i}, float[] s{i}) => (bool d{i},"
        " float[] t{i}) { d{i} = Identity (o{i}) a{i} = Pad (s{i}, p) t{i} = Conv (a{i}, w) }>",
        4,
    ),
    "Functions that pad, each called once": called(
        f"F{{i}} (x, w) => (y) {{ {PADDED} y = Conv (a, w) }}", "{y} = f.F{i} ({x}, w)", 4
    ),
    "One function, called with equal shapes": called(
        f"F (x, w) => (y) {{ {PADDED} y = Conv (a, w) }}", "{y} = f.F ({x}, w)"
    ),
    "One function, called with another shape each time": called(
        f"F (x, w) => (y) {{ {PADDED} y = Relu (a) }}", "{y} = f.F ({x}, w)"
    ),
    "Functions that each call the next": called(
        "F{i} (x, w) => (y) { y = {call} (x, w) }", "", last="y = f.F0 (x, w)"
    ),
    "Functions that each call the next twice": called(
        "F{i} (x, w) => (y) { a = {call} (x, w) y = {call} (a, w) }", "", last="y = f.F0 (x, w)"
    ),
    "Functions that each pad and call the next": called(
        f"F{{i}} (x, w) => (y) {{ {PADDED} y = {{call}} (a, w) }}", "", 4, last="y = f.F0 (x, w)"
    ),
    "Pads with computed amounts before Convs, at an open size": Construct(COMPUTED, 6, inputs=OPEN),
    "A Pad with amounts from a chain of Adds, at an open size": Construct(
        "b{i} = Add ({x}, start) {y} = Sub (b{i}, start)",
        2,
        first="s = Shape (x) g = Gather (s, even) first = Mod (g, even)",
        last="q = Concat <axis = 0> (none, none, {x}, {x}, none, none, none, none)"
        " a = Pad (x, q) y = Conv (a, line)",
        inputs=OPEN,
    ),
    "Padded Convs that each give an output": Construct(
        "a{i} = Pad (x, p) {y} = Conv (a{i}, w)", 2, many=True
    ),
    "Padded Convs of an input each": Construct(
        "a{i} = Pad (x{i}, p) {y} = Conv (a{i}, w)",
        2,
        many=True,
        inputs="float[1, 1, 9, 9] x{i}",
    ),
    "Inputs of open sizes, with a Conv of SAME each": Construct(
        '{y} = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x{i}, w)',
        many=True,
        inputs="float[1, 1, h{i}, w{i}] x{i}",
    ),
    "ConvTransposes with a Slice each": Construct(
        "t{i} = ConvTranspose ({x}, w) {y} = Slice (t{i}, one, ten, axes)", 2
    ),
    "Slices of one ConvTranspose": Construct(
        "{y} = Slice (first, one, ten, axes)", first="first = ConvTranspose (x, w)", many=True
    ),
    "Slices in a row behind a ConvTranspose": Construct(
        "{y} = Slice ({x}, start, far, last)",
        first="first = ConvTranspose (x, w)",
        inputs="float[1, 1, 9, 30000] x",
    ),
    "Dense blocks: a padded Conv reads what a Concat joins": Construct(
        "a{i} = Pad ({x}, p) b{i} = Conv (a{i}, w) c{i} = Concat <axis = 1> ({x}, b{i})"
        " {y} = ReduceMax (c{i}, start)",
        4,
    ),
    "QuantizeLinear, DequantizeLinear and padded Conv in turns": Construct(
        "q{i} = QuantizeLinear ({x}, scale, zero) d{i} = DequantizeLinear (q{i}, scale, zero)"
        " a{i} = Pad (d{i}, p) {y} = Conv (a{i}, w)",
        4,
    ),
    "Pools with ceil_mode and padded pools in turns": Construct(
        "m{i} = MaxPool <ceil_mode = 1, kernel_shape = [3, 3], pads = [1, 1, 1, 1]> ({x})"
        " a{i} = Pad (m{i}, p) {y} = AveragePool <kernel_shape = [3, 3]> (a{i})",
        3,
    ),
}

CALLS: Final[dict[str, Callable[[onnx.ModelProto], Any]]] = {
    "fix": lambda model: onnxpad.fix(model, validate=False),
    "check": onnxpad.check,
    "show": onnxpad.show,
}
REPORTS: Final[dict[str, Callable[[Any], object]]] = {
    "text": str,
    "html": lambda result: result.to_html(),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a table; exits with 1 if a construct grows faster than the exponent allowed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.growth", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--limit", type=float, default=20, help="CPU seconds of a call  [20]")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="constructs with one of these words"
    )
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=list(CALLS))
    parser.add_argument("--reports", nargs="*", choices=REPORTS, default=[])
    parser.add_argument("--most", type=float, default=1.3, help="greatest exponent allowed  [1.3]")
    options = parser.parse_args(arguments)
    print(f"| CPU s by size | | {' | '.join(f'{size:,}' for size in options.sizes)} | exponent |")
    print(f"| --- | --- |{' ---: |' * (len(options.sizes) + 1)}")
    steep = 0
    for title, each in CONSTRUCTS.items():
        if not any(word.lower() in title.lower() for word in options.only):
            continue
        for name in options.calls:
            for report in ("", *options.reports):
                figures = list(measured(each, name, report, options.sizes, options.limit))
                slope = exponent(options.sizes, figures)
                steep += slope > options.most
                cells = [f"{figure:.2f}" for figure in figures] + ["" for _ in options.sizes]
                told = "" if math.isnan(slope) else f"{slope:.2f}"
                row = [title, f"{name} {report}".strip(), *cells[: len(options.sizes)], told]
                print(f"| {' | '.join(row)} |", flush=True)
    sys.exit(steep > 0)


def measured(
    construct: Construct, name: str, report: str, sizes: Sequence[int], limit: float
) -> Iterable[float]:
    """The CPU seconds of a call, or of the report of its result, by size; inf past the limit."""
    for size in sizes:
        mine, theirs = multiprocessing.Pipe(duplex=False)
        arguments = (theirs, construct, name, report, size, limit)
        process = multiprocessing.get_context("fork").Process(target=_measure, args=arguments)
        process.start()
        theirs.close()
        try:
            figure = mine.recv()
        except EOFError:
            figure = math.inf
        process.join()
        yield figure
        if figure > limit:
            return


def _measure(
    pipe: Connection, construct: Construct, name: str, report: str, size: int, limit: float
) -> None:
    """Sends the CPU seconds; the system ends the process a little past the limit."""
    proto = construct.model(size)
    begin = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(begin + limit * (2 if report else 1)) + 2,) * 2)
    try:
        result = CALLS[name](proto)
        if report:
            begin = time.process_time()
            REPORTS[report](result)
    except Exception as error:
        print(f"{type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    else:
        pipe.send(time.process_time() - begin)


def exponent(sizes: Sequence[int], figures: Sequence[float]) -> float:
    """The exponent of the growth between the two largest sizes, above what any call takes."""
    known = [(size, each) for size, each in zip(sizes, figures, strict=False)]
    if len(known) < 2 or (math.isinf(known[-1][1]) and len(known) < 3):
        return math.inf if known and math.isinf(known[-1][1]) else math.nan
    if math.isinf(known[-1][1]):
        known.pop()
    (less, first), (more, second) = known[-2:]
    if second < 0.5:
        return math.nan  # too short to tell
    return math.log((second - LEAST) / max(first - LEAST, 1e-3)) / math.log(more / less)


if __name__ == "__main__":
    main()
