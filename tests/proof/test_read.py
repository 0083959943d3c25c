"""What is read of graphs: one term for all that computes the same, with its padding outermost."""

from itertools import pairwise

import onnx
from onnx import helper

from onnxpad.proof.refine import refine
from onnxpad.proof.term import Applied, Source, Stepped, Terms
from onnxpad.semantics.layers import NEGATIVE_ZERO, Layer, Operand
from tests.proof.bodies import model
from tests.proof.pairs import Read
from tests.support.rows import each_row

ALIKE = [
    ("y = Identity (x)", "y = Pad (x, p_0_0)", "a = Pad (x, p_1_0) y = Pad (a, p_m1_0)"),
    ("a = Pad (x, p_1_0) y = Pad (a, p_1_2)", "y = Pad (x, p_2_2)",
     "a = Pad (x, p_3_2) y = Pad (a, p_m1_0)"),
    ("a = Pad (x, p_1_2) y = Relu (a)", "a = Relu (x) y = Pad (a, p_1_2)"),
    ("a = Pad (x, p_1_2, half) y = Sub (one, a)", "a = Sub (one, x) y = Pad (a, p_1_2, half)"),
    ("a = Pad (x, p_1_2, two) y = Clip (a, zero, one)",
     "a = Clip (x, zero, one) y = Pad (a, p_1_2, one)"),
    ("a = Pad (s, p_1_0_0_2) y = Transpose <perm = [0, 1, 3, 2]> (a)",
     "a = Transpose <perm = [0, 1, 3, 2]> (s) y = Pad (a, p_0_1_2_0)"),
    ("a = Pad (x, p_1_2) b = Neg (x) c = Pad (b, p_1_2) y = Concat <axis = 1> (a, c)",
     "b = Neg (x) a = Concat <axis = 1> (x, b) y = Pad (a, p_1_2)"),
    ("a = Pad (x, p_1_2) y, z = Split <axis = 1> (a)",
     "b, z = Split <axis = 1> (x) y = Pad (b, p_1_2)"),
    ("a = Pad (x, p_1_2) b = Unsqueeze (a, i_1) c = Tanh (b) d = Sqrt (c) y = Sinh (d)",
     ("b = Unsqueeze (x, i_1) c = Tanh (b) d = Sqrt (c) e2 = Sinh (d) z = Pad (x, p_1_2) f1 ="
      " Unsqueeze (z, i_1) f2 = Tanh (f1) f3 = Sqrt (f2) y = Sinh (f3)")),
    ("a = Pad (x, p_2_1) y = Slice (a, i_2, i_m1, i_2)", "y = Identity (x)"),
    ("a = Pad (short, wide, minus) y = Conv (a, w33)", "a = Pad (short, wide) y = Conv (a, w33)"),
    ("y = Pad (x, q)", "y = Pad (x, q, )", "y = Pad (x, q, , )"),
    ("y = Conv (x, w3)", "y = Conv (x, w3, )",
     "y = Conv <kernel_shape = [3], strides = [1]> (x, w3)"),
]  # fmt: skip


@each_row("spelled", ALIKE)
def test_what_computes_the_same_is_one_term(spelled: tuple[str, ...]) -> None:
    terms = Terms()
    found = [Read(model(body), terms).term() for body in spelled]
    assert all(one is other for one, other in pairwise(found))


UNLIKE = [
    ("a = Pad (x, p_1_2, two) y = Relu (a)", "a = Relu (x) y = Pad (a, p_1_2)"),
    ("y = Pad (x, p_1_2)", "y = Pad (x, p_1_2, minus)"),
    ("y = Pad (x, p_1_2, f)", "y = Pad (x, p_1_2, g)"),
    ("a = Pad (x, p_1_1) y = Pad (a, p_m1_m1, two)",
     "a = Pad (x, p_m1_m1) y = Pad (a, p_1_1, two)"),
    ("y = Mul (x, one)", "y = Mul (x, two)"),
    ("y = Neg (x)", "y = Neg (short)"),
    ("a = Pad (x, p_1_1) y = Concat <axis = 1> (a, x)",
     "a = Concat <axis = 1> (x, x) y = Pad (a, p_1_1)"),
    ("y = MaxPool <kernel_shape = [2]> (x)", "y, z = MaxPool <kernel_shape = [2]> (x)"),
    ("a = Pad (x, p_1_2) y = Mul (a, signs)", "a = Pad (x, p_1_2, minus) y = Mul (a, signs)"),
    ("a = Pad (x, p_1_2) b = Pad (x, p_1_2, minus) y = Concat <axis = 1> (a, b)",
     "a = Pad (x, p_1_2) b = Pad (x, p_1_2, minus) y = Concat <axis = 1> (b, a)"),
    ("a = Pad (x, p_1_2, minus) b = Mul (a, signs) y = Relu (b)",
     "a = Pad (x, p_1_2) b = Mul (a, signs) y = Relu (b)"),
]  # fmt: skip


@each_row(("one", "other"), UNLIKE)
def test_what_computes_something_else_is_another_term(one: str, other: str) -> None:
    terms = Terms()
    assert Read(model(one), terms).term() is not Read(model(other), terms).term()


def test_the_value_of_an_early_pad_counts_where_it_is_no_layer() -> None:
    """It may crop more than there is."""
    old = "y = Pad <pads = [0, 0, -2, 0, 0, 2], value = {}> (x)"
    terms = Terms()
    found = {Read(model(old.format(n), 10), terms).term() for n in ("0.0", "-0.0", "1.0", "1.0")}
    assert len(found) == 3


@each_row(
    ("body", "layers"),
    [
        ("y = Pad (x, p_1_2)", [((1, 2), 0)]),
        ("y = Pad (x, p_1_2, two)", [((1, 2), 2)]),
        ("y = Pad (x, p_1_2, minus)", [((1, 2), NEGATIVE_ZERO)]),
        ("y = Pad (x, p_m1_2, two)", [((-1, 2), 2)]),
        ("y = Pad (x, p_m2_2, two)", []),  # L may be 1
        ("y = Pad (short, p_m1_m2, two)", [((-1, -2), 0)]),
        ("y = Pad (short, p_m2_m2)", []),
        ("y = Pad (short, p_3_m3, two)", [((3, -3), 2)]),
        ("y = Pad (short, p_m3_0, f)", [((-3, 0), 0)]),
        ('y = Pad <mode = "edge"> (x, p_1_2)', []),
        ("y = Pad (x, q)", []),
        ("a = Pad (x, p_1_2) y = Pad (a, p_m1_m2)", []),
        ("a = Pad (x, p_1_2) y = Pad (a, p_m2_m2)", [((-1, 0), 0)]),
        ("a = Pad (x, p_1_2) y = Pad (a, p_m2_m3)", []),
        ("b = Reshape (flat, r) a = Pad (b, none3) y = Pad (a, p_0_1, two)", [((0, 1), 2)]),
        ("a = Pad (x, p_1_2) b = Sigmoid (a) y = Pad (b, p_0_1, half)", [((0, 1), 0.5)]),
        ("y = ConvTranspose <pads = [1, 0]> (x, t)", [((-1, 0), 0)]),
        ("y = ConvTranspose <strides = [2], output_padding = [1]> (x, t)", [((0, 1), 0)]),
        ("y = Conv <pads = [1, 1]> (x, w3)", []),
    ],
    at_once=9,
)
def test_the_layers_around_a_term(body: str, layers: list[tuple[tuple[int, int], object]]) -> None:
    """A crop must be known not to be longer than its data; what only crops has no fill."""
    found = Read(model(body)).term()
    assert [(layer.amounts[2], layer.fill) for layer in found.layers] == layers
    assert found.bare.layers == ()
    assert found.is_open == bool(layers)


def test_a_fill_that_an_operand_holds_is_its_term() -> None:
    read = Read(model("y = Pad (x, p_1_2, f)"))
    assert read.term().layers == (Layer(((0, 0), (0, 0), (1, 2)), Operand(read.term("f"))),)


def test_what_a_window_reads_is_in_it_but_not_what_others_pad() -> None:
    """Padding of the batch or the channels stays outside of a window's own; NaN is one fill."""
    terms = Terms()
    given = "int64[6] p = {1, 0, 1, 0, 0, 1}, int64[6] a = {1, 0, 0, 0, 0, 0}"
    heads = []
    for body in ("b = Pad (x, p, nan)", "c = Pad (x, a, nan) b = Pad (c, p_1_1, nan)"):
        proto = model(f"{body} y = MaxPool <kernel_shape = [2]> (b)")
        extra = onnx.parser.parse_graph(f"g () => () <{given}> {{ }}").initializer
        proto.graph.initializer.extend(extra)
        heads.append(Read(proto, terms).term().head)
    assert heads[0] == heads[1]


@each_row(
    ("body", "kind"),
    [
        ("y = Identity (x)", Source),
        ("y = own.Foo (x)", Applied),
        ("y = Sigmoid (x)", Applied),
        ("y = Pad (x, q)", Applied),
        ("b = Reshape (flat, r) y = Pad (b, none3)", Applied),
        (
            (
                "y = If (yes) <then_branch = h () => (float[] c) { c = Neg (x) },"
                " else_branch = j () => (float[] d) { d = Abs (x) }>"
            ),
            Applied,
        ),
    ],
)
def test_cuts(body: str, kind: type) -> None:
    proto = model(body)
    proto.opset_import.append(helper.make_opsetid("own", 1))
    assert isinstance(Read(proto).term().head, kind)


@each_row(
    ("body", "is_one"),
    [
        ("y = Sigmoid (x) z = Sigmoid (x)", True),
        ("y = Softmax <axis = 1> (x) z = Softmax <axis = 2> (x)", False),
        ("y = RandomNormalLike (x) z = RandomNormalLike (x)", False),
        ("y = Dropout (x, half, yes) z = Dropout (x, half, yes)", False),
        ("y = own.Foo (x) z = own.Foo (x)", False),
        ("y, a = TopK (x, i_1) b, z = TopK (x, i_1)", False),
        ("y = Constant <value_float = 1.0> () z = Constant <value_float = 1.0> ()", False),
        ("y = Constant <value_int = 1> () z = Constant <value_float = 1.0> ()", False),
        ("y = Constant <value_int = 1> () z = Constant <value_ints = [1]> ()", False),
    ],
)
def test_two_nodes_of_one_graph(body: str, is_one: bool) -> None:
    """What is written alike is one term, but where a node draws numbers or nothing is known."""
    proto = model(body)
    proto.opset_import.append(helper.make_opsetid("own", 1))
    read = Read(proto)
    assert (read.term("y") is read.term("z")) == is_one


def test_no_depth_is_too_deep() -> None:
    """Neither for reading a long chain of nodes, nor for comparing two deep terms."""
    proto = model("a = Pad (x, p_1_1) y = Conv (a, w3)")
    names = ["y", *(f"s{place}" for place in range(5_000))]
    proto.graph.node.extend(helper.make_node("Sigmoid", [a], [b]) for a, b in pairwise(names))
    terms = Terms()
    old, new = Read(proto, terms), Read(model("y = Conv <pads = [1, 1]> (x, w3)"), terms)
    sides = [old.term(names[-1]), new.term()]
    head = sides[0].head
    for _ in names[1:]:
        sides[1] = terms.make(head, (sides[1],))
    for _ in range(75_000):
        sides = [terms.make(head, (side,)) for side in sides]
    assert refine(sides[1], sides[0], new.facts, new.graph.tensor("y")).rule == "windows"


def test_a_pad_of_data_of_unknown_rank_is_told_by_what_it_says() -> None:
    terms = Terms()
    one, other, wrong = (
        Read(model(f"b = Reshape (flat, r) c = {c} y = Pad (b, c, , i_m1)", 18), terms).term()
        for c in (
            "Concat <axis = 0> (i_1, i_1)",
            "Add (none2, i_1)",
            "Concat <axis = 0> (i_1, i_2)",
        )
    )
    assert one is other
    assert one is not wrong


def test_only_so_many_layers_are_around_a_term() -> None:
    """Else each further `Pad` would cost more than the one before."""
    fills = ("half", "one") * 50
    pads = [f"a{i + 1} = Pad (a{i}, p_1_1, {fill})" for i, fill in enumerate(fills)]
    read = Read(model(f"a0 = Neg (x) {' '.join(pads)} y = Neg (a100)"))
    assert 16 < max(len(read.term(f"a{i}").layers) for i in range(100)) <= 64


def test_an_unsqueeze_of_data_of_unknown_rank_is_read() -> None:
    found = Read(model("b = Reshape (flat, r) y = Unsqueeze <axes = [2]> (b)", 11)).term()
    assert found.head == Stepped(("Unsqueeze", (2,)))
