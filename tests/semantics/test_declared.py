"""Operators that users declare: read, analysed, rewritten, proved and probed by the declaration."""

from typing import Any, Final

import onnx
import pytest

import onnxpad
from onnxpad.declared import Row, functions_of
from onnxpad.errors import UsageError
from onnxpad.facts import Analysis
from onnxpad.finding import Assumption, Change
from onnxpad.graph import Graph
from onnxpad.runtimes.copies import with_bodies
from tests.support import BORDER, W
from tests.support.rows import each_row

DECLARED: Final = (Assumption.DECLARED,)


def own(like: Any = "Conv", **given: Any) -> Row:
    return Row(**{"domain": "com.acme", "op_type": "Own", "like": like, **given})


# What a declaration is


@each_row(
    "given",
    [
        {"like": "Pool"}, {"fill": "lowest"}, {"like": "MaxPool", "weight": 1}, {"weight": 0},
        {"weight": -1}, {"weight": 2, "zero_point": 2}, {"zero_point": 1}, {"zero_point": 0},
        {"like": "MaxPool", "zero_point": 1}, {"versions": "12"}, {"versions": ["1"]},
        {"domain": ""}, {"op_type": 5}, {"domain": "ai.onnx"},
    ],
)  # fmt: skip
def test_a_row_that_contradicts_itself(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        own(**given)


def test_a_body_that_runs_itself_is_added_once() -> None:
    head = '<domain: "com.acme", opset_import: ["" : 17, "com.acme" : 3]>'
    body = onnx.parser.parse_function(f"{head} Own (x) => (y) {{ y = com.acme.Own (x) }}")
    with onnxpad.registered(own(body=body)):
        (found,) = functions_of([("com.acme", "Own")], 18)
    assert [each.version for each in found.opset_import] == [18, 3]


def test_the_limit_of_a_row_is_asked_with_plain_attributes() -> None:
    asked: list[Any] = []

    def limit(pads: Any, attributes: Any) -> str:
        asked.append((pads, attributes))
        return "too wide" if pads[0][0] > 1 else ""

    given = {
        "group": 2, "pads": [1, 1], "names": ["a"], "body": object(), "auto_pad": "SAME_UPPER",
        "many": [1.5], "text": "t", "data": b"t", "all": [b"t"], "none": (),
    }  # fmt: skip
    assert [bool(own(limit=limit).refuses([(n, 0)], given)) for n in (1, 2)] == [False, True]
    plain = {"group": 2, "names": ("a",), "many": (1.5,), "text": "t", "none": ()}
    assert asked == [(((n, 0),), plain) for n in (1, 2)]
    assert own().refuses([(2, 0)], given) == ""


# What is made of it

LOW: Final = "float low = {-inf}"
POOL: Final = "<kernel_shape = [3, 3], strides = [2, 2]>"


def acme(
    body: str,
    inputs: str = "float[1, 2, 9, 8] x",
    given: str = "",
    *,
    outputs: str = "float[] y",
    version: int = 1,
    functions: str = "",
) -> onnx.ModelProto:
    """A model with operators of com.acme; `w` and `p` are a weight and amounts."""
    held = ", ".join(filter(None, (W, BORDER, given)))
    proto = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17, "com.acme" : {version}]>'
        f"g ({inputs}) => ({outputs}) <{held}> {{ {body} }} {functions}"
    )
    for output in proto.graph.output:
        output.type.tensor_type.ClearField("shape")
    return proto


def wrapped(op: str, inputs: str, *attributes: str) -> str:
    """A function that calls an operator of ONNX with its own attributes."""
    attributes = (
        "auto_pad: string",
        "kernel_shape: ints",
        "pads: ints",
        "strides: ints",
        *attributes,
    )
    referred = ", ".join(f"{each} = @{each.split(':')[0]}" for each in attributes)
    names = ", ".join(each.split(":")[0] for each in attributes)
    return (
        f'<domain: "com.acme", opset_import: ["" : 17]>'
        f"Own <{names}> ({inputs}) => (y) {{ y = {op} <{referred}> ({inputs}) }}"
    )


CONV: Final = wrapped("Conv", "x, w", "dilations: ints", "group: int")
MAXIMUM: Final = wrapped("MaxPool", "x", "ceil_mode: int", "dilations: ints")
AVERAGE: Final = wrapped("AveragePool", "x", "ceil_mode: int", "count_include_pad: int")
FOLDED: Final = "a = Pad (x, p) y = com.acme.Own (a, w)"


def ops(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def pads_of(model: onnx.ModelProto) -> list[int]:
    found: list[int] = onnx.helper.get_node_attr_value(model.graph.node[-1], "pads")
    return found


def is_probed(change: Change) -> bool:
    return change.probe.startswith("equal on")


@pytest.mark.parametrize(
    ("row", "operator", "fill"),
    [
        (own(body=CONV), "com.acme.Own <strides = [2, 2]{}> ({}, w)", ""),
        (own("MaxPool", body=MAXIMUM), f"com.acme.Own {POOL[:-1]}{{}}> ({{}})", ", low"),
        (own("AveragePool", body=AVERAGE), f"com.acme.Own {POOL[:-1]}{{}}> ({{}})", ""),
    ],
)
def test_padding_is_folded_split_and_resolved(row: Row, operator: str, fill: str) -> None:
    finite = (Assumption.FINITE_DATA,) if fill else ()
    before = acme(f"a = Pad (x, p{fill}) y = {operator.format('', 'a')}", given=LOW)
    with onnxpad.registered(row):
        folded = onnxpad.fix(before, strict=not fill)
        back = onnxpad.fix(folded.model, style="pad")
        same = onnxpad.fix(acme("y = " + operator.format(', auto_pad = "SAME_LOWER"', "x")))
    assert (ops(folded.model), pads_of(folded.model)) == (["Own"], [1, 1, 1, 1])
    (change,) = folded.changes
    assert change.certificate.assumptions == (*finite, *DECLARED)
    assert change.certificate.facts["declared"] == ["com.acme.Own"]
    assert ops(back.model) == ["Pad", "Own"]
    assert [each.code for each in same.changes] == ["PAD101"]
    assert pads_of(same.model) == [1, 1, 1, 0]
    assert all(map(is_probed, (change, *back.changes, *same.changes)))


WIDE: Final = "y = com.acme.Own <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)"
NO: Final[Any] = {"limit": lambda pads, attributes: "no"}


@each_row(
    ("row", "body", "code"),
    [
        (own("MaxPool"), f"a = Pad (x, p) y = com.acme.Own {POOL} (a)", "fill-wins"),
        (own("MaxPool", fill="zero"), f"a = Pad (x, p, low) y = com.acme.Own {POOL} (a)",
         "fill-differs"),
        (own("MaxPool", fill="zero"), f"a = Pad (x, p, minus) y = com.acme.Own {POOL} (a)",
         "fill-differs"),
        (own("AveragePool"), f"a = Pad (x, p) {WIDE}", "own-padding-uncounted"),
        (own(), "a = Pad (x, p, low) y = com.acme.Own (a, w)", "fill-differs"),
        (own(), "a = Pad (x, p) y, mask = com.acme.Own (a, w)", None),
        (own(**NO), FOLDED, "declared-limit"),
        (own(limit=lambda pads, attributes: 1 / 0), FOLDED, "declared-limit"),
        (own(**NO), 'y = com.acme.Own <auto_pad = "SAME_UPPER"> (x, w)', "declared-limit"),
    ], at_once=3)  # fmt: skip
def test_padding_stays(row: Row, body: str, code: str | None) -> None:
    with onnxpad.registered(row):
        result = onnxpad.fix(acme(body, given=f"{LOW}, float minus = {{-0.0}}"))
    assert not result.changed
    assert code is None or code in {each.reason_code for each in result.findings}


def test_a_zero_point_channels_and_versions() -> None:
    point = "uint8 z = {9}, uint8[3, 2, 3, 3] u = {" + ", ".join("1" * 54) + "}, uint8 nine = {%d}"
    body = "a = Pad (x, p, nine) y = com.acme.Own <more = 1.5> (a, u, z)"
    with onnxpad.registered(own(weight=1, zero_point=2)):
        models = [acme(body, "uint8[1, 2, 9, 8] x", point % n, outputs="uint8[] y") for n in (9, 0)]
        assert [onnxpad.fix(model).changed for model in models] == [True, False]
    amounts = "int64[8] q = {0, 1, 2, 0, 0, 0, 1, 0}"
    with onnxpad.registered(own(channels_last=True)):
        model = acme("a = Pad (x, q) y = com.acme.Own (a, w)", "float[1, 9, 8, 2] x", amounts)
        assert pads_of(onnxpad.fix(model).model) == [1, 2, 0, 1]
    with onnxpad.registered(own(versions={2, 3})):
        changed = [onnxpad.fix(acme(FOLDED, version=version)).changed for version in (3, 1)]
        assert changed == [True, False]
    with onnxpad.registered(own()):  # a function of the model is not what is declared
        assert not onnxpad.fix(acme(FOLDED, functions=CONV)).changed


def test_a_limit_is_part_of_the_proof() -> None:
    """A pass of the user's own that does not ask is taken back."""

    class Careless(onnxpad.Pass):
        code = "ACME001"

        def find(self, context: onnxpad.Context) -> Any:
            for op in context.windows():
                pad = context.sites.pad_before(op)
                if pad is not None:
                    yield self.found(context, op.node, "a Pad", (op, pad))

        def rewrite(self, match: onnxpad.Match, context: onnxpad.Context) -> None:
            op, pad = match.plan
            context.graph.set_attributes(op.node, {"pads": [1, 1, 1, 1]})
            context.graph.set_input(op.node, 0, pad.data)

    with onnxpad.registered(own(limit=lambda pads, attributes: "never"), Careless):
        (undone,) = onnxpad.fix(acme(FOLDED)).undone
    assert (undone.code, undone.reason_code) == ("ACME001", "not-certified")


def test_no_same_of_a_limited_operator_stands_for_a_computed_pad() -> None:
    body = "s = Shape <start = 2> (x) m = Mod (s, two) c = Concat <axis = 0> (none, m, none, one)"
    open_ = acme(f"{body} a = Pad (x, c) y = com.acme.Own <strides = [2, 2]> (a, w)",
                 "float[1, 2, h, v] x",
                 "int64[1] two = {2}, int64[2] one = {1, 1}, int64[2] none = {0, 0}")  # fmt: skip
    for limit, code in ((None, "PAD501"), (lambda pads, attributes: "", "PAD205")):
        with onnxpad.registered(own(limit=limit)):
            found = onnxpad.check(open_, dynamic="auto-pad").findings
        assert code in {each.code for each in found}


def test_the_probe_of_a_body_finds_a_wrong_declaration() -> None:
    """Also of one that calls another, which a validation runs with it."""
    inner = MAXIMUM.replace("com.acme", "com.other")
    outer = MAXIMUM.replace("MaxPool", "com.other.Own").replace("17", '17, "com.other" : 1')
    model = acme("a = Pad (x, p) y = com.acme.Own <kernel_shape = [3, 3]> (a)")
    plain = acme("y = Relu (x)")
    with onnxpad.registered(own("MaxPool", body=inner, domain="com.other")):
        assert with_bodies(plain) is plain
        for body in (MAXIMUM, outer):
            with onnxpad.registered(own("AveragePool", body=body)):
                result = onnxpad.fix(model)
                assert onnxpad.validate(model, model).ok
            assert not result.changed
            assert [each.reason_code for each in result.undone] == ["probe-differs"]


def test_sizes_behind_it_follow_and_what_is_proved_of_them_rests_on_it() -> None:
    """The size that a SAME reads is known by the declaration, in a branch too."""
    conv = 'Conv <auto_pad = "SAME_UPPER", strides = [2, 2]>'
    v = "float[2, 3, 3, 3] v = {" + ", ".join(str(i % 5 - 2) for i in range(54)) + "}"
    model = acme(
        f"f = com.acme.Own <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) z = {conv} (f, v)"
        f" y = If (which) <then_branch = t () => (float[] i) {{ i = {conv} (f, v) }}, "
        "else_branch = e () => (float[] j) { j = Identity (v) }>",
        "float[1, 2, 9, 8] x, bool which",
        v,
        outputs="float[] y, float[] z",
    )
    with onnxpad.registered(own()):
        result = onnxpad.fix(model)
        graph = Graph.read(model)
        analysis = Analysis(graph)
        assert analysis.shape(graph.tensor("f")) == (1, 3, 5, 4)
        assert analysis.dtype(graph.tensor("f")) == onnx.TensorProto.FLOAT
    assumed = [change.certificate.assumptions for change in result.changes]
    assert [Assumption.DECLARED in each for each in assumed] == [True, True]
