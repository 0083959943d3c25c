"""What is claimed of tensors: of single operators, chains and random graphs, against onnxruntime.

`rows.txt` has them as text. What is claimed of nodes drawn over a pool of tensors, `claims.txt`
keeps; after a change that is meant: `python -m tests.drawn`, then read `git diff tests/facts`.
"""

from pathlib import Path
from random import Random
from typing import Any, Final

import onnx
import pytest

from onnxpad.arithmetic.size import Unknown
from onnxpad.facts import LARGEST_SIZE, Analysis
from onnxpad.facts.shape_rules import DTYPES, SEVERAL, SHAPES
from onnxpad.graph import Graph
from onnxpad.semantics.operators import OPERATORS
from tests.facts import drawn
from tests.facts.agreement import compare
from tests.support import parsed, run
from tests.support.rows import each_row, one_in, rows_below

ROWS: Final = Path(__file__).with_name("rows.txt")
KEPT: Final = {
    f"opset {opset}, from {start}": (opset, nodes[start : start + 60])
    for opset, nodes in drawn.kept().items()
    for start in range(0, len(nodes), 60)
}


@pytest.mark.parametrize(("opset", "lines"), one_in(4, KEPT.values()), ids=KEPT)
def test_what_is_claimed_of_drawn_nodes(opset: int, lines: list[tuple[str, str]]) -> None:
    found = drawn.claimed([node for node, _ in lines], opset)
    assert [*zip((node for node, _ in lines), found, strict=True)] == lines


# Single operators

OPERATOR_ROWS: Final = rows_below(ROWS, "operators whose contents or sizes are known, or right")


@each_row(("told", "opset", "inputs", "given", "body"), OPERATOR_ROWS)
def test_operators_agree_with_onnxruntime(
    told: str, opset: str, inputs: str, given: str, body: str
) -> None:
    model = parsed(f"g ({inputs}) => () <{given}> {{ {body} }}", opset=int(opset), ir=8)
    agreement = compare(model)
    assert (agreement.wrong, agreement.runs) == ([], 1)
    outputs = set(model.graph.node[0].output)
    assert told == "right" or outputs <= (agreement.known if told == "known" else agreement.shaped)


def test_every_operator_of_onnxruntime_has_a_row() -> None:
    named = {row[-1].split(" = ", 1)[1].split(" ")[0] for row in OPERATOR_ROWS}
    ours = {op for domain, op in OPERATORS if domain}
    assert {name for name in SHAPES if name.startswith("com.microsoft.")} - named == {
        f"com.microsoft.{op}" for op in ours if f"com.microsoft.{op}" in SHAPES
    }


def test_types_follow_the_schemas() -> None:
    """An operator without an entry in `DTYPES` gives the type of input 0, says its schema."""
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.name in SHAPES and schema.name not in DTYPES:
            known = schema.outputs if schema.name in SEVERAL else schema.outputs[:1]
            types = {output.type_str for output in known}
            assert types == {schema.inputs[0].type_str}, schema.name


# Sizes that are not known

SIZES: Final = [{"n": n, "m": 7 * n % 50 + 1} for n in (*range(1, 40), 223, 224, 225)]
((HEADER,),) = rows_below(ROWS, "nodes ahead of chains")
((FLOATS,),) = rows_below(ROWS, "nodes ahead of floats")


@each_row(("name", "body"), rows_below(ROWS, "chains of exporters over sizes n and m"), at_once=1)
def test_chain_of_exporter_agrees_with_onnxruntime(name: str, body: str) -> None:
    agreement = compare(parsed(f"g (float[n, m] x) => () {{ {HEADER} {body} }}"), SIZES)
    assert (agreement.wrong, agreement.runs) == ([], len(SIZES))
    assert "y" in agreement.known


@pytest.mark.parametrize(
    "body",
    [b for (b,) in rows_below(ROWS, "floats of a size n that are right up to the greatest one")],
)
def test_floats_are_right_up_to_the_greatest_size(body: str) -> None:
    sizes = [*range(1, 12), 2**12 + 1, 2**23 - 1, LARGEST_SIZE - 1, LARGEST_SIZE]
    model = parsed(f"g (uint8[n] x) => () {{ {FLOATS} {body} }}")
    agreement = compare(model, [{"n": n} for n in sizes])
    assert (agreement.wrong, agreement.runs) == ([], len(sizes))
    assert "y" in agreement.known


@each_row(
    ("name", "body"), rows_below(ROWS, "floats of a size n that round or overflow, and are unknown")
)
def test_what_rounds_or_overflows_is_unknown(name: str, body: str) -> None:
    graph = Graph.from_proto(parsed(f"g (uint8[n] x) => () {{ {FLOATS} {body} z = Identity (y) }}"))
    value = Analysis(graph).value(graph.tensor("z"))
    assert value is not None
    assert [*map(type, value.data)] == [Unknown]


# Random graphs

INTEGER_OPS: Final = "Add Sub Mul Div Mod Min Max Where Neg Clip Cast".split()  # noqa: SIM905
FLOAT_OPS: Final = "Add Sub Mul Div Min Max Where Neg Ceil Floor Clip".split()  # noqa: SIM905


def random_arithmetic(seed: int) -> onnx.ModelProto:
    """Random expressions of two sizes and constants, in four types."""
    random, lines = Random(seed), [HEADER.replace("int64[1]", "int64")]
    pools: dict[int, list[str]] = {}
    for dtype, name in ((7, "int64"), (6, "int32"), (1, "float"), (11, "double")):
        pools[dtype] = [f"n{dtype}", f"m{dtype}"]
        lines += [f"n{dtype} = Cast <to = {dtype}> (n)", f"m{dtype} = Cast <to = {dtype}> (m)"]
        for k in range(4):
            number: float = random.choice([-3, -2, 1, 2, 3, 4, 5, 7, 32])
            if dtype in (1, 11) and random.random() < 0.3:
                number = random.choice([0.5, 0.25, 1.5, 0.7, -2.5])
            pools[dtype].append(f"c{dtype}_{k}")
            lines.append(f"c{dtype}_{k} = Constant <value = {name} {{{number}}}> ()")
    for k in range(14):
        dtype = random.choice(list(pools))
        op = random.choice(FLOAT_OPS if dtype in (1, 11) else INTEGER_OPS)
        a, b, c = (random.choice(pools[dtype]) for _ in range(3))
        if op == "Cast":
            dtype = random.choice(list(pools))
            lines.append(f"v{k} = Cast <to = {dtype}> ({a})")
        elif op in ("Neg", "Ceil", "Floor"):
            lines.append(f"v{k} = {op} ({a})")
        elif op == "Where":
            test = random.choice(["Less", "Equal", "GreaterOrEqual"])
            lines += [f"b{k} = {test} ({a}, {b})", f"v{k} = Where (b{k}, {c}, {a})"]
        elif op == "Clip":
            lines.append(f"v{k} = Clip ({a}, c{dtype}_0, c{dtype}_3)")
        elif op in ("Div", "Mod") and dtype in (6, 7):
            lines.append(f"v{k} = {op} ({a}, {pools[dtype][random.randrange(2, 6)]})")
        else:
            lines.append(f"v{k} = {op} ({a}, {b})")
        pools[dtype].append(f"v{k}")
    return parsed(f"g (float[n, m] x) => () {{ {' '.join(lines)} }}")


def arithmetic_agrees(model: onnx.ModelProto) -> None:
    """Holds every claim on expressions of two sizes against onnxruntime."""
    agreement = compare(model, SIZES[::3])
    assert (agreement.wrong, agreement.runs) == ([], len(SIZES[::3]))


@pytest.mark.parametrize("seed", [3, 17, 28, 50])
def test_random_arithmetic_agrees_with_onnxruntime(seed: int) -> None:
    arithmetic_agrees(random_arithmetic(seed))


((NETWORK,),) = rows_below(ROWS, "nodes ahead of networks")


def random_nodes(random: Random, k: int) -> str:
    """Nodes that compute `v{k}` of rank 4 from `v0` to `v{k-1}`."""
    a, b = f"v{max(k - random.randint(1, 2), 0)}", f"v{random.randrange(k)}"
    kernel, strides = ([random.randint(low, low + 1) for _ in range(2)] for low in (2, 1))
    pads = [random.randrange(2) for _ in range(4)]
    window = f"kernel_shape = {kernel}, strides = {strides}, pads = {pads}"
    expanded = (
        "s{k} = Shape ({a}) h{k} = Slice (s{k}, c2, c4) d{k} = Div (h{k}, c2) m{k} = Max (d{k}, c1)"
        " e{k} = Concat <axis = 0> (c1, c2, m{k}) v{k} = Expand (one, e{k})"
    )
    return random.choice(
        [
            f"v{k} = MaxPool <{window}> ({a})",
            f"v{k} = AveragePool <{window}, ceil_mode = 1> ({a})",
            f'v{k} = Conv <auto_pad = "SAME_UPPER", strides = {strides}> ({a}, w)',
            f"v{k} = ConvTranspose <strides = {strides}> ({a}, w)",
            f"v{k} = Pad ({a}, pads)",
            f"v{k} = Add ({a}, {b})",
            f"v{k} = Concat <axis = {random.choice([2, 3])}> ({a}, {b})",
            f'v{k} = Resize <mode = "nearest"> ({a}, empty, scales)',
            f"t{k} = Transpose <perm = [0, 1, 3, 2]> ({a}) v{k} = Relu (t{k})",
            f"v{k} = Slice ({a}, c1, c8, c2)",
            f"v{k} = Slice ({a}, c1, cm1, c3, c2)",
            f"r{k} = Reshape ({a}, flat) s{k} = Shape ({a}) v{k} = Reshape (r{k}, s{k})",
            expanded.format(k=k, a=a),
            f"m{k} = ReduceMean <axes = [2]> ({a}) v{k} = Mul ({a}, m{k})",
            f"y{k} = Gather <axis = 2> ({a}, c1) v{k} = Add (y{k}, {a})",
        ]
    )


def random_network(seed: int) -> onnx.ModelProto:
    """A network of unknown height and width, with what it computes from them."""
    random, text, k = Random(seed), f"g (float[1, 2, height, width] x) => () {{ {NETWORK} ", 1
    for _ in range(12):
        longer = text + random_nodes(random, k) + "\n"
        # Shapes that do not go together teach nothing.
        if compare(parsed(longer + "}"), [{"height": 9, "width": 14}], empty=False).runs:
            text, k = longer, k + 1
    return parsed(text + "}")


def network_agrees(model: onnx.ModelProto) -> None:
    """Holds every claim on a network of unknown height and width against onnxruntime."""
    sizes = [(9, 14), (1, 1), (2, 5), (7, 3), (8, 8), (10, 17), (31, 12)]
    named = [{"height": height, "width": width} for height, width in sizes]
    agreement = compare(model, named, empty=False)
    assert agreement.wrong == []
    assert agreement.runs


@pytest.mark.parametrize("seed", [1, 7, 30])
def test_random_network_agrees_with_onnxruntime(seed: int) -> None:
    network_agrees(random_network(seed))


HALF_OPS: Final = (
    "Add ({}, {})", "Sub ({}, {})", "Mul ({}, {})", "Div ({}, {})", "Min ({}, {})", "Max ({}, {})",
    *(f"{op} ({{}})" for op in ("Ceil", "Floor", "Sqrt", "Relu", "Neg", "Abs")),
)  # fmt: skip


def random_float16(seed: int) -> onnx.ModelProto:
    """A chain of float16 that ends in integers, of which nothing else is exposed."""
    random = Random(seed)
    lines, pool = [], []
    for k in range(3):
        given = ", ".join(str(random.randrange(1, 300)) for _ in range(3))
        lines.append(f"i{k} = Constant <value_ints = [{given}]> () h{k} = Cast <to = 10> (i{k})")
        pool.append(f"h{k}")
    for k in range(2):
        number = random.choice([0.5, 0.25, 2.0, 3.0, 7.0, 5.0, 0.1, 1.5])
        lines.append(f"f{k} = Constant <value_float = {number}> () c{k} = Cast <to = 10> (f{k})")
        pool.append(f"c{k}")
    for k in range(random.randint(1, 6)):
        text = random.choice([*HALF_OPS, ""])
        a, b = random.choices(pool[-4:], k=2)
        wide = f"w{k} = Cast <to = 1> ({a}) v{k} = Cast <to = 10> (w{k})"
        lines.append(f"v{k} = {text.format(a, b)}" if text else wide)
        pool.append(f"v{k}")
    return parsed(f"g () => (int64[3] y) {{ {' '.join(lines)} y = Cast <to = 7> ({pool[-1]}) }}")


def float16_agrees(model: onnx.ModelProto) -> None:
    """Holds what is known of `y` against what every level of onnxruntime makes of it."""
    graph = Graph.from_proto(model)
    value = Analysis(graph).value(graph.tensor("y"))
    items: list[Any] = [] if value is None else value.data.reshape(-1).tolist()
    for level in ("off", "full"):
        (actual,) = run(model, {}, level)
        for known, number in zip(items, actual.reshape(-1).tolist(), strict=value is not None):
            assert isinstance(known, Unknown) or known == number


@each_row("seed", [0, 1, 4, 11, 25, 36], at_once=8)
def test_random_float16_is_what_every_level_makes_of_it(seed: int) -> None:
    float16_agrees(random_float16(seed))
