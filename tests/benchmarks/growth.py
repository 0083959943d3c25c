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
from multiprocessing.connection import Connection
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import onnxpad

SIZES: Final = (300, 1_000, 3_000, 10_000)
LEAST: Final = 0.02
"""CPU seconds of a call on a model without nodes."""
AMOUNTS: Final = [0, 0, 1, 1, 0, 0, 1, 1]
node: Final = helper.make_node


class Model:
    """A model in the making, on one channel of 9 by 9."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.held = {"w": numpy_helper.from_array(np.ones((1, 1, 3, 3), np.float32), "w")}
        self.outputs: list[str] = []
        self.inputs: list[str] = ["x"]
        self.functions: list[onnx.FunctionProto] = []
        self.shape: list[Any] = [1, 1, 9, 9]
        self.values: list[onnx.ValueInfoProto] = []

    def add(self, op: str, *inputs: str, count: int = 1, **attributes: Any) -> str:
        """A node; returns the name of its first output."""
        name = f"{op}_{len(self.nodes)}"
        names = [name, *(f"{name}_{place}" for place in range(1, count))]
        self.nodes.append(node(op, inputs, names, name, **attributes))
        return name

    def constant(self, values: Any, name: str = "", dtype: type[np.generic] = np.int64) -> str:
        """An initializer; of its own without a name."""
        name = name or f"constant{len(self.held)}"
        self.held[name] = numpy_helper.from_array(np.asarray(values, dtype), name)
        return name

    def pad(self, data: str, amounts: Sequence[int] = AMOUNTS) -> str:
        """A `Pad` with amounts of its own."""
        return self.add("Pad", data, self.constant(amounts))

    def conv(self, data: str, **attributes: Any) -> str:
        """A convolution with the one weight."""
        return self.add("Conv", data, "w", **attributes)

    def proto(self) -> onnx.ModelProto:
        """The model; its last node gives its output where none was named."""
        values = helper.make_tensor_value_info
        named = self.outputs or [self.nodes[-1].output[0]]
        graph = helper.make_graph(
            self.nodes,
            "g",
            [values(each, TensorProto.FLOAT, self.shape) for each in self.inputs],
            [values(each, TensorProto.FLOAT, None) for each in named],
            list(self.held.values()),
            value_info=self.values,
        )
        imports = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
        return helper.make_model(
            graph, opset_imports=imports, functions=self.functions, ir_version=9
        )


CONSTRUCTS: Final[dict[str, Callable[[Model, int], None]]] = {}


def construct(build: Callable[[Model, int], None]) -> Callable[[Model, int], None]:
    """Registers a construct by the first line of its docstring."""
    CONSTRUCTS[(build.__doc__ or "").rstrip(".")] = build
    return build


def chained(model: Model, count: int, step: Callable[[str], str]) -> str:
    """A step applied again and again, from the input on."""
    data = "x"
    for _ in range(count):
        data = step(data)
    return data


@construct
def same(model: Model, count: int) -> None:
    """Convs with SAME_UPPER in a row."""
    chained(model, count, lambda data: model.conv(data, auto_pad="SAME_UPPER"))


@construct
def pad_and_conv(model: Model, count: int) -> None:
    """Pad and Conv in turns."""
    chained(model, count // 2, lambda data: model.conv(model.pad(data)))


@construct
def stays(model: Model, count: int) -> None:
    """Reflecting Pad and Conv in turns, which stay."""
    amounts = model.constant(AMOUNTS)
    chained(
        model,
        count // 2,
        lambda data: model.conv(model.add("Pad", data, amounts, mode="reflect")),
    )


@construct
def pads_in_a_row(model: Model, count: int) -> None:
    """Pads in a row before a Conv."""
    model.conv(chained(model, count, lambda data: model.pad(data, [0, 0, 0, 0, 0, 0, 0, 1])))


@construct
def pads_and_crops(model: Model, count: int) -> None:
    """Pads and crops in a row before a Conv."""
    crop = [-each for each in AMOUNTS]
    model.conv(chained(model, count // 2, lambda data: model.pad(model.pad(data), crop)))


def parted(model: Model, count: int) -> list[str]:
    """Pads of unlike amounts with the same totals."""
    return [
        model.pad("x", [0, 0, place % 50, place // 50, 0, 0, 50 - place % 50, 400 - place // 50])
        for place in range(count)
    ]


@construct
def into_concat(model: Model, count: int) -> None:
    """Unlike Pads into one Concat before a Conv."""
    joined = model.add("Concat", *parted(model, count), axis=1)
    model.add("Conv", joined, model.constant(np.ones((1, count, 3, 3)), "v", np.float32))


@construct
def like_into_concat(model: Model, count: int) -> None:
    """Like Pads into one Concat before a Conv."""
    joined = model.add("Concat", *(model.pad("x") for _ in range(count)), axis=1)
    model.add("Conv", joined, model.constant(np.ones((1, count, 3, 3)), "v", np.float32))


@construct
def into_adds(model: Model, count: int) -> None:
    """Unlike Pads joined by a chain of Adds before a Conv."""
    data, *others = parted(model, count // 2)
    for other in others:
        data = model.add("Add", data, other)
    model.conv(data)


@construct
def into_tree(model: Model, count: int) -> None:
    """Unlike Pads joined by a tree of Adds before a Conv."""
    tree(model, parted(model, count // 2))


@construct
def like_into_tree(model: Model, count: int) -> None:
    """Like Pads joined by a tree of Adds before a Conv."""
    tree(model, [model.pad("x") for _ in range(count // 2)])


@construct
def like_into_adds(model: Model, count: int) -> None:
    """Like Pads joined by a chain of Adds before a Conv."""
    data, *others = [model.pad("x") for _ in range(count // 2)]
    for other in others:
        data = model.add("Add", data, other)
    model.conv(data)


def tree(model: Model, found: list[str]) -> None:
    """Adds tensors two by two, and reads the sum in a Conv."""
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        found = [model.add("Add", *pair) for pair in pairs] + found[len(found) // 2 * 2 :]
    model.conv(found[0])


@construct
def residual(model: Model, count: int) -> None:
    """Padded branches added to a running sum."""
    chained(model, count // 3, lambda data: model.add("Add", data, model.conv(model.pad(data))))


@construct
def read_by_convs(model: Model, count: int) -> None:
    """One Pad read by many Convs."""
    padded = model.pad("x")
    model.outputs = [model.conv(padded) for _ in range(count)]


@construct
def read_by_others(model: Model, count: int) -> None:
    """One Pad read by a Conv and many Relus."""
    padded = model.pad("x")
    model.outputs = [model.conv(padded), *(model.add("Relu", padded) for _ in range(count))]


@construct
def read_behind_steps(model: Model, count: int) -> None:
    """One Pad read by many Relus before Convs."""
    padded = model.pad("x")
    model.outputs = [model.conv(model.add("Relu", padded)) for _ in range(count // 2)]


def between(op: str, **attributes: Any) -> Callable[[Model, int], None]:
    """Many nodes of an operator between a Pad and a Conv."""

    def build(model: Model, count: int) -> None:
        data = model.pad("x")
        for _ in range(count):
            data = model.add(op, data, **attributes)
        model.conv(data)

    build.__doc__ = f"{op}s between Pad and Conv."
    return construct(build)


between("Identity")
between("Relu")
between("Transpose", perm=[0, 1, 3, 2])
between("Cast", to=TensorProto.FLOAT)
between("Softmax")


@construct
def reshapes(model: Model, count: int) -> None:
    """Reshapes between Pad and Conv."""
    data = model.pad("x")
    shapes = [model.constant(shape) for shape in ([1, 11, 11, 1], [1, 1, 11, 11])]
    for place in range(count):
        data = model.add("Reshape", data, shapes[place % 2])
    model.conv(data if count % 2 == 0 else model.add("Reshape", data, shapes[1]))


def branch(model: Model, inner: Sequence[onnx.NodeProto], gives: str) -> onnx.GraphProto:
    """A branch of an If, which captures what it reads."""
    output = helper.make_tensor_value_info(gives, TensorProto.FLOAT, None)
    return helper.make_graph(inner, "branch", [], [output])


@construct
def sibling_ifs(model: Model, count: int) -> None:
    """Ifs in a row, with a padded Conv in each branch."""
    model.held["cond"] = numpy_helper.from_array(np.array(True), "cond")
    model.constant(AMOUNTS, "p")

    def step(data: str) -> str:
        place = len(model.nodes)
        branches = {}
        for which in ("then_branch", "else_branch"):
            inner = [
                node("Pad", [data, "p"], [f"{which}{place}_p"]),
                node("Conv", [f"{which}{place}_p", "w"], [f"{which}{place}_y"]),
            ]
            branches[which] = branch(model, inner, f"{which}{place}_y")
        return model.add("If", "cond", **branches)

    chained(model, count // 5, step)


@construct
def sibling_loops(model: Model, count: int) -> None:
    """Loops in a row, with a padded Conv in each body."""
    model.held["go"] = numpy_helper.from_array(np.array(True), "go")
    model.constant(3, "trips")
    model.constant(AMOUNTS, "p")
    value = helper.make_tensor_value_info

    def step(data: str) -> str:
        at = len(model.nodes)
        body = helper.make_graph(
            [
                node("Identity", [f"c{at}"], [f"d{at}"]),
                node("Pad", [f"s{at}", "p"], [f"q{at}"]),
                node("Conv", [f"q{at}", "w"], [f"y{at}"]),
            ],
            "body",
            [
                value(f"i{at}", TensorProto.INT64, []),
                value(f"c{at}", TensorProto.BOOL, []),
                value(f"s{at}", TensorProto.FLOAT, None),
            ],
            [value(f"d{at}", TensorProto.BOOL, []), value(f"y{at}", TensorProto.FLOAT, None)],
        )
        return model.add("Loop", "trips", "go", data, body=body)

    chained(model, count // 4, step)


@construct
def nodes_in_a_branch(model: Model, count: int) -> None:
    """Pad and Conv in turns in the branch of an If."""
    inner, data = Model(), "x"
    for _ in range(count // 2):
        data = inner.conv(inner.add("Pad", data, "p"))
    model.constant(AMOUNTS, "p")
    model.held["cond"] = numpy_helper.from_array(np.array(True), "cond")
    other = branch(model, [node("Identity", ["x"], ["same"])], "same")
    model.add("If", "cond", then_branch=branch(model, inner.nodes, data), else_branch=other)


def function(model: Model, name: str, inner: Sequence[onnx.NodeProto]) -> None:
    """A function of x and w that gives y."""
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    model.functions.append(helper.make_function("f", name, ["x", "w"], ["y"], inner, imports))


def padded(op: str = "Conv") -> list[onnx.NodeProto]:
    """The nodes of a function that pads, and perhaps convolves."""
    pads = [node("Constant", [], ["p"], value_ints=AMOUNTS), node("Pad", ["x", "p"], ["a"])]
    return [*pads, node(op, ["a", "w"] if op == "Conv" else ["a"], ["y"])]


def call(name: str, reads: str, gives: str) -> onnx.NodeProto:
    """A call of a function."""
    return node(name, [reads, "w"], [gives], domain="f")


@construct
def functions_once(model: Model, count: int) -> None:
    """Functions that pad, each called once."""
    data = "x"
    for place in range(count // 4):
        function(model, f"F{place}", padded())
        data = model.add(f"F{place}", data, "w", domain="f")


@construct
def function_alike(model: Model, count: int) -> None:
    """One function, called with equal shapes."""
    function(model, "F", padded())
    chained(model, count, lambda data: model.add("F", data, "w", domain="f"))


@construct
def function_unlike(model: Model, count: int) -> None:
    """One function, called with another shape each time."""
    function(model, "F", padded("Relu"))
    chained(model, count, lambda data: model.add("F", data, "w", domain="f"))


@construct
def nested_functions(model: Model, count: int) -> None:
    """Functions that each call the next."""
    function(model, "F0", padded())
    for place in range(1, count):
        function(model, f"F{place}", [call(f"F{place - 1}", "x", "y")])
    model.add(f"F{count - 1}", "x", "w", domain="f")


@construct
def nested_twice(model: Model, count: int) -> None:
    """Functions that each call the next twice."""
    function(model, "F0", padded())
    for place in range(1, count):
        below = f"F{place - 1}"
        function(model, f"F{place}", [call(below, "x", "a"), call(below, "a", "y")])
    model.add(f"F{count - 1}", "x", "w", domain="f")


@construct
def nested_growing(model: Model, count: int) -> None:
    """Functions that each call the next twice, with another shape each time."""
    function(model, "F0", padded("Relu"))
    for place in range(1, count):
        below = f"F{place - 1}"
        function(model, f"F{place}", [call(below, "x", "a"), call(below, "a", "y")])
    model.add(f"F{count - 1}", "x", "w", domain="f")


@construct
def nested_padding(model: Model, count: int) -> None:
    """Functions that each pad and call the next."""
    function(model, "F0", padded())
    for place in range(1, count // 4):
        function(model, f"F{place}", [*padded()[:-1], call(f"F{place - 1}", "a", "y")])
    model.add(f"F{count // 4 - 1}", "x", "w", domain="f")


def computed(model: Model, data: str, steps: int = 0) -> str:
    """A Pad whose amounts are computed from the sizes of its data, through some steps."""
    one = model.constant(1, "one")
    size = model.add("Gather", model.add("Shape", data), model.constant([2], "two"), axis=0)
    amount = model.add("Mod", size, model.constant([2], "even"))
    for _ in range(steps):
        amount = model.add("Sub", model.add("Add", amount, one), one)
    pads = model.add(
        "Concat", "none", "none", amount, amount, "none", "none", "none", "none", axis=0
    )
    return model.conv(model.add("Pad", data, pads))


@construct
def computed_amounts(model: Model, count: int) -> None:
    """Pads with computed amounts before Convs, at an open size."""
    model.shape = [1, 1, "height", 9]
    model.constant([0], "none")
    model.constant(np.ones((1, 1, 3, 1)), "w", np.float32)
    chained(model, count // 6, lambda data: computed(model, data))


@construct
def long_amounts(model: Model, count: int) -> None:
    """A Pad with amounts from a chain of Adds, at an open size."""
    model.shape = [1, 1, "height", 9]
    model.constant([0], "none")
    computed(model, "x", count // 2)


@construct
def many_outputs(model: Model, count: int) -> None:
    """Padded Convs that each give an output."""
    model.outputs = [model.conv(model.pad("x")) for _ in range(count // 2)]


@construct
def many_inputs(model: Model, count: int) -> None:
    """Padded Convs of an input each."""
    model.inputs += [f"x{place}" for place in range(count // 2)]
    model.outputs = [model.conv(model.pad(each)) for each in model.inputs]


@construct
def many_open(model: Model, count: int) -> None:
    """Inputs of open sizes, with a Conv of SAME each."""
    model.shape = [1, 1, None, None]
    model.inputs += [f"x{place}" for place in range(count)]
    model.outputs = [
        model.conv(each, auto_pad="SAME_UPPER", strides=[2, 2]) for each in model.inputs
    ]


@construct
def many_initializers(model: Model, count: int) -> None:
    """Initializers that nothing reads."""
    for _ in range(count):
        model.constant([1])
    model.conv(model.pad("x"))


@construct
def many_values(model: Model, count: int) -> None:
    """Pad and Conv in turns, with a value_info each."""
    pad_and_conv(model, count)
    for each in model.nodes:
        shape = [1, 1, 11, 11] if each.op_type == "Pad" else [1, 1, 9, 9]
        info = helper.make_tensor_value_info(each.output[0], TensorProto.FLOAT, shape)
        model.values.append(info)


@construct
def transposed(model: Model, count: int) -> None:
    """ConvTransposes with a Slice each."""
    ends = [model.constant(each) for each in ([1, 1], [10, 10], [2, 3])]
    chained(
        model,
        count // 2,
        lambda data: model.add("Slice", model.add("ConvTranspose", data, "w"), *ends),
    )


@construct
def slices(model: Model, count: int) -> None:
    """Slices of one ConvTranspose."""
    ends = [model.constant(each) for each in ([1, 1], [10, 10], [2, 3])]
    data = model.add("ConvTranspose", "x", "w")
    model.outputs = [model.add("Slice", data, *ends) for _ in range(count)]


@construct
def slices_in_a_row(model: Model, count: int) -> None:
    """Slices in a row behind a ConvTranspose."""
    model.shape = [1, 1, 9, 2 * count + 9]
    data = model.add("ConvTranspose", "x", "w")
    ends = [model.constant(each) for each in ([1], [2**31 - 1], [3])]
    for _ in range(count):
        data = model.add("Slice", data, *ends)


@construct
def split(model: Model, count: int) -> None:
    """A Split, with each part padded before a Conv."""
    model.shape = [1, count // 3, 9, 9]
    parts = count // 3
    name = model.add("Split", "x", count=parts, axis=1, num_outputs=parts)
    names = [name, *(f"{name}_{place}" for place in range(1, parts))]
    model.outputs = [model.conv(model.pad(each)) for each in names]


@construct
def padded_split(model: Model, count: int) -> None:
    """A padded Split, with each part read by a Conv."""
    parts = count // 2
    model.shape = [1, parts, 9, 9]
    name = model.add("Split", model.pad("x"), count=parts, axis=1, num_outputs=parts)
    names = [name, *(f"{name}_{place}" for place in range(1, parts))]
    model.outputs = [model.conv(each) for each in names]


@construct
def concat(model: Model, count: int) -> None:
    """A Pad of a Concat of many before a Conv."""
    model.inputs += [f"x{place}" for place in range(count)]
    joined = model.add("Concat", *model.inputs, axis=1)
    weight = model.constant(np.ones((1, count + 1, 3, 3)), "v", np.float32)
    model.add("Conv", model.pad(joined), weight)


@construct
def concats(model: Model, count: int) -> None:
    """Dense blocks: every Conv reads a Concat of all before it, padded."""
    found, width = ["x"], int(count**0.5) + 1
    for place in range(width):
        joined = model.add("Concat", *found, axis=1) if place else "x"
        weight = model.constant(np.ones((1, place + 1, 3, 3)), f"v{place}", np.float32)
        found.append(model.add("Conv", model.pad(joined), weight))


@construct
def quantised(model: Model, count: int) -> None:
    """QuantizeLinear, DequantizeLinear and padded Conv in turns."""
    scale, zero = model.constant(1.0, "scale", np.float32), model.constant(0, "zero", np.uint8)

    def step(data: str) -> str:
        data = model.add("QuantizeLinear", data, scale, zero)
        return model.conv(model.pad(model.add("DequantizeLinear", data, scale, zero)))

    chained(model, count // 4, step)


@construct
def pools(model: Model, count: int) -> None:
    """Pools with ceil_mode and padded pools in turns."""
    form: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}

    def step(data: str) -> str:
        data = model.add("MaxPool", data, ceil_mode=1, **form)
        return model.add("AveragePool", model.pad(data), kernel_shape=[3, 3])

    chained(model, count // 3, step)


@construct
def long_names(model: Model, count: int) -> None:
    """Ten Convs with Pads that stay, with names of so many characters."""
    amounts = model.constant(AMOUNTS)
    chained(model, 10, lambda data: model.conv(model.add("Pad", data, amounts, mode="reflect")))
    for each in model.nodes:
        each.name += "n" * count


@construct
def deep_ifs(model: Model, count: int) -> None:
    """Ifs inside each other, a thousandth as many as that."""
    model.held["cond"] = numpy_helper.from_array(np.array(True), "cond")
    model.constant(AMOUNTS, "p")
    inner = [node("Pad", ["x", "p"], ["a"]), node("Conv", ["a", "w"], ["y0"])]
    for place in range(1, max(count * 2 // 1000, 1) + 1):
        branches = {
            "then_branch": branch(model, inner, f"y{place - 1}"),
            "else_branch": branch(model, [node("Relu", ["x"], [f"z{place}"])], f"z{place}"),
        }
        inner = [node("If", ["cond"], [f"y{place}"], **branches)]
    model.nodes += inner


def fix(model: onnx.ModelProto) -> Any:
    """`onnxpad.fix` without validation."""
    return onnxpad.fix(model, validate=False)


CALLS: Final[dict[str, Callable[[onnx.ModelProto], Any]]] = {
    "fix": fix,
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
    for title, build in CONSTRUCTS.items():
        if not any(word.lower() in title.lower() for word in options.only):
            continue
        for name in options.calls:
            for report in ("", *options.reports):
                figures = list(measured(build, name, report, options.sizes, options.limit))
                slope = exponent(options.sizes, figures)
                steep += slope > options.most
                cells = [f"{each:.2f}" for each in figures] + ["" for _ in options.sizes]
                told = "" if math.isnan(slope) else f"{slope:.2f}"
                what = f"{name} {report}".strip()
                row = [title, what, *cells[: len(options.sizes)], told]
                print(f"| {' | '.join(row)} |", flush=True)
    sys.exit(steep > 0)


def measured(
    build: Callable[[Model, int], None], name: str, report: str, sizes: Sequence[int], limit: float
) -> Iterable[float]:
    """The CPU seconds of a call, or of the report of its result, by size; inf past the limit."""
    for size in sizes:
        mine, theirs = multiprocessing.Pipe(duplex=False)
        arguments = (theirs, build, name, report, size, limit)
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
    pipe: Connection,
    build: Callable[[Model, int], None],
    name: str,
    report: str,
    size: int,
    limit: float,
) -> None:
    """Sends the CPU seconds; the system ends the process a little past the limit."""
    model = Model()
    build(model, size)
    proto = model.proto()
    call = CALLS[name]
    begin = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(begin + limit * (2 if report else 1)) + 2,) * 2)
    try:
        result = call(proto)
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
