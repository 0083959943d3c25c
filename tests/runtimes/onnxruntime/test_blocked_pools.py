"""The pools that onnxruntime must not run in blocks, asked of the prediction: a graph a row."""

from onnxpad.graph import Graph
from onnxpad.reasons import Reason
from onnxpad.rewrite.pass_api import Context
from tests.support import one
from tests.support.rows import each_row

GIVEN = ", ".join(
    (
        "float low = {-inf}, int64[2] hw = {2, 3}, int64[1] two = {2}",
        "float[16, 16, 1, 1] w = {" + ", ".join("1" * 256) + "}",
        "int64[8] p1 = {0, 0, 1, 1, 0, 0, 1, 1}, int64[8] p2 = {0, 0, 2, 2, 0, 0, 2, 2}",
        "int64[8] end2 = {0, 0, 0, 0, 0, 0, 2, 0}, int64[8] begin2 = {0, 0, 0, 2, 0, 0, 0, 0}",
        "int64[4] q1 = {1, 1, 1, 1}, int64[4] q2 = {2, 2, 2, 2}",
    )
)
OPEN, FIXED = "float[1, 16, h, w] x", "float[1, 16, 8, 8] x"
CRASHES, INFINITE = Reason.KERNEL_CRASHES, Reason.INFINITE_DATA


def behind(body: str, given: str, tensor: str = "x") -> Reason | None:
    """The harm done if onnxruntime knew the shape of a tensor."""
    proto = one(
        body,
        inputs=f"{given}, bool[8] f, int64[1] begin, int64[1] end",
        initializers=GIVEN,
        opset=18,
    )
    context = Context(Graph.from_proto(proto))
    found = context.hidden.behind(context.graph.tensor(tensor))
    return None if found is None else found.reason


def pool(kernel: str, more: str = "", data: str = "x", op: str = "MaxPool") -> str:
    return f"y = {op} <kernel_shape = [{kernel}]{more}> ({data})"


SAME, VALID = ', auto_pad = "SAME_UPPER"', ', auto_pad = "VALID"'
LONE = [
    (pool("2, 1"), "float[1, 16, 1, 9] x", CRASHES),
    (pool("2, 1"), "float[1, 16, 2, 9] x", None),
    (pool("2, 1", op="AveragePool"), "float[1, 16, 1, 9] x", CRASHES),
    (pool("2, 1"), OPEN, CRASHES),
    (pool("1, 2"), "float[1, 16, 8, 1] x", None),
    (pool("2, 1"), "float[1, 8, 1, 9] x", CRASHES),
    (pool("2, 1"), "float[1, 12, 1, 9] x", None),
    (pool("2, 1"), "float[1, c, 1, 9] x", None),
    (pool("2, 1"), "double[1, 16, 1, 9] x", None),
    (pool("2, 1"), "float16[1, 16, 1, 9] x", CRASHES),
    (pool("2, 1").replace("y =", "y, i ="), "float[1, 16, 1, 9] x", None),
    (pool("2"), "float[1, 16, 1] x", None),
    (pool("5, 5", SAME), OPEN, None),
    (pool("3, 1", VALID), OPEN, CRASHES),
    (pool("3, 1", ", pads = [1, 0, 1, 0]"), OPEN, None),
    (pool("3, 1", ", pads = [1, 0, 0, 0]"), OPEN, CRASHES),
    (pool("3, 1", ", pads = [0, 0, 1, 0]"), OPEN, CRASHES),
    (pool("3, 1", ", pads = [0, 1, 0, 1]").replace("3, 1]", "3, 2]", 1), OPEN, CRASHES),
]


@each_row(("body", "given", "harm"), LONE)
def test_a_pool_that_may_hold_no_window(body: str, given: str, harm: Reason | None) -> None:
    declared = "a = Identity (x) "  # what is declared next to the pool is known anyway
    assert behind(declared + body.replace("(x)", "(a)"), given) is harm


@each_row(
    ("kernel", "more", "harm"),
    [("2, 1", "", CRASHES), ("1, 1", "", CRASHES), ("2, 1", ", pads = [1, 0, 1, 0]", None)],
)
def test_of_a_size_that_data_decides_nothing_is_known(
    kernel: str, more: str, harm: Reason | None
) -> None:
    for node in (
        "Compress <axis = 2> (x, f)",
        "Slice (x, begin, end, two)",
    ):  # of no rank, of no size
        assert behind(f"a = {node} {pool(kernel, more, 'a')}", FIXED, "a") is harm


PADDED = [
    ("a = Pad (x, p1, low)", "3, 3", "", None),
    ("a = Pad (x, p1, low)", "2, 2", "", None),
    ("a = Pad (x, p1, low)", "1, 2", "", INFINITE),
    ("a = Pad (x, p2, low)", "2, 2", "", INFINITE),
    ("a = Pad (x, p2, low)", "3, 3", "", None),
    ("a = Pad (x, p2)", "2, 2", "", None),
    ("a = Pad (x, end2, low)", "2, 2", "", INFINITE),
    ("a = Pad (x, end2, low)", "2, 2", ", strides = [2, 2]", INFINITE),
    ("a = Pad (x, end2, low)", "2, 2", ", strides = [3, 2]", INFINITE),
    ("a = Pad (x, begin2, low)", "2, 2", "", INFINITE),
    ("a = Pad (x, begin2, low)", "2, 3", "", None),
    ("a = Pad (x, q1, low, hw)", "2, 2", "", None),
    ("a = Pad (x, q2, low, hw)", "2, 2", "", INFINITE),
    ("a = Pad (x, p1, low)", "2, 2", ", pads = [1, 1, 1, 1]", INFINITE),
    ("a = Pad (x, p1, low)", "2, 2", ", pads = [0, 1, 0, 0]", INFINITE),
    ("a = Pad (x, p1, low)", "2, 2", ", pads = [0, 0, 1, 0]", INFINITE),
    ("a = Pad (x, p1, low)", "2, 2", SAME, INFINITE),
    ("a = Pad (x, p1, low)", "2, 2", VALID, None),
    ("a = Add (x, low)", "2, 2", "", INFINITE),
    ("b = Add (x, low) a = Pad (b, p1)", "2, 2", "", INFINITE),
]


@each_row(("nodes", "kernel", "more", "harm"), PADDED)
def test_a_window_of_infinities_alone(
    nodes: str, kernel: str, more: str, harm: Reason | None
) -> None:
    assert behind(f"{nodes} {pool(kernel, more, 'a')}", FIXED, "a") is harm
    average = pool(kernel, more, "a", "AveragePool")
    assert behind(f"{nodes} {average}", FIXED, "a") is None
    halves = "b = Cast <to = 10> (x) c = Log (b) " + pool(kernel, more, "c")
    assert behind(halves, FIXED, "c") is None


@each_row(
    ("nodes", "reached"),
    [
        ("a = Relu (x) b = Abs (a)", "x a b"),
        ("a = Conv (x, w) b = Relu (a)", "a b"),
        ("a = MaxPool <kernel_shape = [1, 1]> (x) b = Relu (a)", "x a b"),
        ("a = Relu (x) b = Conv (a, w)", "b"),
    ],
)
def test_shapes_that_its_shape_is_inferred_from(nodes: str, reached: str) -> None:
    body = f"{nodes} {pool('9, 1', data='b')}"
    assert [name for name in ("x", "a", "b") if behind(body, FIXED, name)] == reached.split()
