"""Users' own passes, and how all of it is registered."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import onnx
import pytest

import onnxpad
from onnxpad.declared import declaration_of, op_types
from onnxpad.reasons import Reason
from onnxpad.rewrite.registry import catalogue, every_pass
from tests.support import BORDER, W, assert_graph, one
from tests.support.manual import blocks
from tests.support.rows import each_row

EXAMPLES = [block.text for block in blocks("python", "base") if "onnxpad.register(" in block.text]

FANCY = onnxpad.Row(domain="com.acme", op_type="FancyConv", like="Conv")


def acme(body: str, inputs: str = "float[1, 2, 9, 8] x", given: str = "") -> onnx.ModelProto:
    """A model with operators of com.acme; `w` and `p` are a weight and amounts."""
    return onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17, "com.acme" : 1]>'
        f"g ({inputs}) => (float[] y) <{W}, {BORDER}{given}> {{ {body} }}"
    )


@pytest.fixture
def readme() -> Iterator[dict[str, Any]]:
    """The names that the examples of the manual define, registered."""
    added: list[Any] = []
    register = onnxpad.register

    class Noting:
        """The package, which notes what is registered."""

        def __getattr__(self, name: str) -> Any:
            return getattr(onnxpad, name)

        @staticmethod
        def register(one: Any) -> Any:
            added.append(register(one))
            return one

    names: dict[str, Any] = {"onnxpad": Noting(), "__name__": "readme"}
    for example in EXAMPLES:
        exec(example, names)
    yield names
    for each in added:
        onnxpad.unregister(each)


def test_the_row_of_the_readme(readme: object) -> None:
    result = onnxpad.fix(acme("a = Pad (x, p) y = com.acme.FancyConv (a, w)"))
    assert [node.op_type for node in result.model.graph.node] == ["FancyConv"]
    assert not onnxpad.repad(result.model, "valid").changes
    uneven = acme(
        "a = Pad (x, q) y = com.acme.FancyConv (a, w)",
        given=", int64[8] q = {0, 0, 1, 0, 0, 0, 2, 1}",
    )
    (stays,) = onnxpad.check(uneven, ignore="PAD6").findings
    assert stays.reason_code == "declared-limit"
    (change,) = onnxpad.fix(uneven, style="symmetric").changes
    assert change.after == "Pad H 0+1, W 0+1 -> FancyConv H 1+1, W 0+0, pads [1, 0, 1, 0]"


def test_the_pass_of_the_readme(readme: object) -> None:
    model = one("y = Conv <pads = [0, 0, 0, 0]> (x, w)", initializers=W)
    (finding,) = onnxpad.check(model, ignore="PAD6").findings
    assert (finding.code, finding.message, finding.fixable) == ("ACME001", "pads of zeros", True)
    result = onnxpad.fix(model)
    assert_graph(result.model, one("y = Conv (x, w)", initializers=W))
    assert result.ok
    assert not onnxpad.check(model, ignore="ACME,PAD6").findings


def test_nothing_stays_registered() -> None:
    assert not op_types()
    assert all(kind.code.startswith("PAD") for kind in every_pass())


# Passes that go wrong


class Own(onnxpad.Pass):
    """A pass of the user's own."""

    code = "ACME900"

    def find(self, context: onnxpad.Context) -> Iterator[onnxpad.Match]:
        for op in context.windows():
            if "seen" not in op.node.name:
                yield self.found(context, op.node, "an operator", plan=op.node)

    def rewrite(self, match: onnxpad.Match, context: onnxpad.Context) -> Any:
        context.graph.set_attributes(match.plan, {"dilations": [1, 1]})


Rewrite = Callable[[onnxpad.Match, onnxpad.Context], Any]


def raises(match: onnxpad.Match, context: onnxpad.Context) -> None:
    context.graph.set_attributes(match.plan, {"strides": [7, 7]})
    raise KeyError("forgotten")


def slides_otherwise(match: onnxpad.Match, context: onnxpad.Context) -> None:
    context.graph.set_attributes(match.plan, {"strides": [2, 2]})


def malforms(match: onnxpad.Match, context: onnxpad.Context) -> None:
    context.graph.set_attributes(match.plan, {"pads": [1]})


def returns_too_much(match: onnxpad.Match, context: onnxpad.Context) -> Any:
    return (match.node.outputs[0], match.node.outputs[0])


def writes_what_is_there(match: onnxpad.Match, context: onnxpad.Context) -> None:
    context.graph.set_attributes(match.plan, dict(match.plan.attrs))


def reads_itself(match: onnxpad.Match, context: onnxpad.Context) -> None:
    context.graph.set_input(match.plan, 0, match.plan.outputs[0])


def copies_in_a_ring(match: onnxpad.Match, context: onnxpad.Context) -> None:
    graph, node = context.graph, match.plan
    copy = graph.insert("Identity", [node.outputs[0]], {}, before=node, name="copy")
    assert copy.producer is not None
    graph.set_input(copy.producer, 0, graph.insert("Identity", [copy], {}, before=node, name="i"))
    graph.set_input(node, 0, copy)


def writes(op: str, of: Any = list, **attributes: object) -> Rewrite:
    """A rewrite that inserts a node that reads the first input, and one more given as it is."""

    def rewrite(match: onnxpad.Match, context: onnxpad.Context) -> Any:
        graph, node = context.graph, match.plan
        data = graph.insert(op, [*node.inputs[:1], *of()], attributes, before=node, name="new")
        graph.set_input(node, 0, data)

    return rewrite


class SilentError(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


def raises_what_cannot_be_told(match: onnxpad.Match, context: onnxpad.Context) -> None:
    raise SilentError


WRONG: list[tuple[Rewrite, Reason, str]] = [
    (writes_what_is_there, Reason.WITHOUT_END, "the rewrite changes nothing"),
    (reads_itself, Reason.NOT_CERTIFIED, "the rewrite makes a cycle"),
    (copies_in_a_ring, Reason.NOT_CERTIFIED, "the rewrite makes a cycle"),
    (raises_what_cannot_be_told, Reason.PASS_RAISED, "SilentError: <exception"),
    (raises, Reason.PASS_RAISED, "Wrong: KeyError: 'forgotten' (test_extensions.py:"),
    (slides_otherwise, Reason.NOT_CERTIFIED, "the window itself differs"),
    (malforms, Reason.NOT_CERTIFIED, "is not known to be the same; it wrote y = Conv"),
    (writes("Padd"), Reason.NOT_CERTIFIED, "Padd is no operator of opset"),
    (writes("Relu", moode=1), Reason.NOT_CERTIFIED, "Relu has no attribute moode in opset"),
    (writes("Pad"), Reason.NOT_CERTIFIED, "Pad as it is written: its number of inputs is 1"),
    (writes("Relu", lambda: ["x"]), Reason.PASS_RAISED, "inputs are tensors or None, not 'x'"),
    (lambda match, context: context.graph.add_initializer(cast("Any", [1]), "p"),
     Reason.PASS_RAISED, "add_initializer takes a numpy array, not [1]"),
    (lambda match, context: "a", Reason.PASS_RAISED, "rewrite returns 'a', not tensors or None"),
    (lambda match, context: 5, Reason.PASS_RAISED, "rewrite returns 5, not tensors or None"),
    (returns_too_much, Reason.PASS_RAISED, "Wrong: ValueError"),
]  # fmt: skip


@each_row(("rewrite", "reason", "said"), WRONG, at_once=4)
def test_a_wrong_change_is_undone_and_the_others_are_made(
    rewrite: Rewrite, reason: Reason, said: str
) -> None:
    class Wrong(Own):
        def find(self, context: onnxpad.Context) -> Iterator[onnxpad.Match]:
            return (match for match in super().find(context) if match.finding.node == "<y>")

        def rewrite(self, match: onnxpad.Match, context: onnxpad.Context) -> Any:
            return rewrite(match, context)

    model = one(
        "a = Pad (x, p) y = Conv (a, w) z = Conv <pads = [1, 1, 1, 1]> (x, w)",
        outputs="float[] y, float[] z",
        initializers=f"{W}, {BORDER}",
    )
    with onnxpad.registered(Wrong):
        result = onnxpad.fix(model)
        (checked,) = [each for each in onnxpad.check(model).findings if each.code == "ACME900"]
    assert_graph(result.model, onnxpad.fix(model).model)
    assert result.ok
    (undone,) = result.undone
    assert (undone.code, undone.reason_code) == ("ACME900", reason)
    assert said in undone.reason, undone.reason
    assert (checked.reason_code, checked.fixable) == (reason, False)


def test_what_reads_a_tensor_reads_the_one_that_takes_its_place() -> None:
    class Anew(Own):
        def rewrite(self, match: onnxpad.Match, context: onnxpad.Context) -> Any:
            graph, node = context.graph, match.plan
            for each in [each for each in graph.nodes if each.op in {"Neg", "Abs"}]:  # readers
                if each.op == "Neg":
                    graph.remove(each)
                else:
                    graph.set_input(each, 0, node.inputs[0])
            return graph.insert("Conv", node.inputs, node.attrs, before=node, name="seen")

    body = "a = Conv (x, w) n = Neg (a) m = Abs (a) o = Newest (a) y = Relu <deep = 1> (a)"
    with onnxpad.registered(Anew):
        assert "Anew" in catalogue()["ACME900"].text
        result = onnxpad.fix(one(body, initializers=W), validate=False)
        (undone,) = onnxpad.fix(one("y = Conv (x, w)", initializers=W)).undone
        body = "t () => (float[] u) { u = Relu (a) }"
        inner = one(f"a = Conv (x, w) y = If (c) <then_branch = {body}, else_branch = {body}>",
                    inputs="float[1, 2, 9, 8] x, bool c", initializers=W)  # fmt: skip
        (held,) = onnxpad.fix(inner, select="ACME", validate=False).undone
    assert [change.removed for change in result.changes] == [("<a>",)]
    assert result.model.graph.node[1].input == ["x"]
    assert "place of 'y', which is an output" in undone.reason
    assert "place of 'a', which is an output, or a body reads it" in held.reason


SHAPES = "int64[3] s = {1, 8, 8}, int64[3] t = {1, 16, 4}, int64[3] z = {1, 7, 7}"
RESHAPED: list[tuple[str, str, list[str], dict[str, object], bool]] = [
    ("Reshape (a, s)", "Reshape", ["a", "t"], {}, False),
    ("Reshape (a, s)", "Reshape", ["a", "z"], {}, False),
    ("Reshape (a, s)", "Flatten", ["a"], {}, False),
    ("Flatten (a)", "Flatten", ["a"], {"axis": 2}, False),
    ("Squeeze (a)", "Flatten", ["a"], {}, False),
    ("Squeeze (a)", "Flatten", ["a"], {"axis": 2}, True),
]


@each_row(
    ("steps", "was", "op", "inputs", "attributes", "stays"),
    [(steps, *row) for steps in ("a = Pad (x, p)", "b = Pad (x, p) a = Relu (b)")
     for row in RESHAPED],
)  # fmt: skip
def test_a_reshape_behind_a_pad_is_what_it_says_now(
    steps: str, was: str, op: str, inputs: list[str], attributes: dict[str, object], stays: bool
) -> None:
    class Turns(Own):
        def find(self, context: onnxpad.Context) -> Iterator[onnxpad.Match]:
            node = context.graph.tensors["y"].producer
            if node is not None:
                yield self.found(context, node, "a Reshape", plan=node)

        def rewrite(self, match: onnxpad.Match, context: onnxpad.Context) -> None:
            graph = context.graph
            graph.replace_op(match.plan, op, [*map(graph.tensors.get, inputs)], attributes)

    given = f"int64[6] p = {{0, 1, 1, 0, 1, 1}}, {SHAPES}"
    model = one(f"{steps} y = {was}", inputs="float[1, 6, 6] x", initializers=given)
    with onnxpad.registered(Turns):
        result = onnxpad.fix(model, select=["ACME900"], validate=False)
    assert result.changed is stays, result.undone


def find_raises(self: Own, context: onnxpad.Context) -> Iterator[onnxpad.Match]:
    yield from ()
    raise KeyError("forgotten")


def find_edits(self: Own, context: onnxpad.Context) -> Iterator[onnxpad.Match]:
    yield from ()
    for op in context.windows():
        context.graph.set_attributes(op.node, {"strides": [2, 2]})


def find_yields_anything(self: Own, context: onnxpad.Context) -> Iterator[Any]:
    yield "a finding"


def find_forgets_the_plan(self: Own, context: onnxpad.Context) -> Iterator[onnxpad.Match]:
    for op in context.windows():
        yield self.found(context, op.node, "an operator", plan=None)


@each_row("rewrites", [True, False])
@pytest.mark.parametrize(
    "find", [find_raises, find_edits, find_yields_anything, find_forgets_the_plan]
)
def test_a_wrong_find_is_one_line(find: Any, rewrites: bool) -> None:
    bad = type("Bad", (Own,), {"find": find, "rewrites": rewrites})
    with onnxpad.registered(bad), pytest.raises(onnxpad.UsageError):
        onnxpad.fix(one("y = Conv (x, w)", initializers=W), validate=False)


@each_row("anew", [False, True])
def test_a_pass_that_finds_without_end_ends(anew: bool) -> None:
    class Again(Own):
        def rewrite(self, match: onnxpad.Match, context: onnxpad.Context) -> Any:
            if not anew:
                return super().rewrite(match, context)
            node = match.plan
            return context.graph.insert("Conv", node.inputs, node.attrs, before=node, name="again")

    with onnxpad.registered(Again):
        model = one("a = Conv (x, w) y = Relu (a)", initializers=W)
        result = onnxpad.fix(model, validate=False)
    assert len(result.changes) == (102 if anew else 1)
    assert [each.reason_code for each in result.undone] == ["without-end"]


@each_row(("read", "said"), [("n", "makes a cycle"), ("y", "makes a cycle"), ("", "outside of")])
def test_a_cycle_in_a_body_or_through_one_is_undone_as_is_an_edit_around(
    read: str, said: str
) -> None:
    class Ring(Own):
        def rewrite(self, match: onnxpad.Match, context: onnxpad.Context) -> None:
            graph = context.graph
            (unread,) = (node for node in graph.nodes if node.op == "Neg")
            if read:
                graph.set_input(unread, 0, graph.capture(read))
            elif graph.parent is not None and (last := graph.parent.tensor("y").producer):
                graph.parent.replace_op(last, "Sinh", last.inputs, {})

    model = one(
        "c = If (on) <then_branch = t () => (float[] u) { "
        "u = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x) n = Neg (u) }, "
        "else_branch = e () => (float[] v) { v = Identity (x) }> y = Tanh (c)",
        inputs="float[1, 2, 9, 8] x, bool on",
    )
    with onnxpad.registered(Ring):
        result = onnxpad.fix(model, validate=False)
    assert not result.changed
    (undone,) = result.undone
    assert said in undone.reason


def test_a_change_that_reads_like_what_was_is_told_in_the_words_of_its_pass() -> None:
    class ZeroPads(Own):
        def rewrite(self, match: onnxpad.Match, context: onnxpad.Context) -> Any:
            context.graph.set_attributes(match.plan, {"pads": None})

    with onnxpad.registered(ZeroPads):
        result = onnxpad.fix(
            one("y = Conv <pads = [0, 0, 0, 0]> (x, w)", initializers=W), validate=False
        )
    (change,) = result.changes
    assert change.told() == ("an operator (ACME900)", change.after)


class WidePads(onnxpad.Pass):
    """Pads that the accelerator of ACME does not have."""

    code = "ACME301"
    rewrites = False

    def find(self, context: onnxpad.Context) -> Iterator[onnxpad.Match]:
        for op in context.windows():
            if max(map(max, op.pads)) > 2:
                message = f"{op.node.op} with pads over 2"
                yield self.reported(context, op.node, message, "2 at most", most=2, options=2)


def test_a_pass_that_only_reports() -> None:
    model = one("y = Conv <pads = [3, 0, 0, 0]> (x, w)", initializers=W)
    with onnxpad.registered(WidePads):
        result = onnxpad.check(model, ignore="PAD6")
        (finding,) = result.findings
        assert (finding.reason, finding.reason_code) == ("2 at most", "own-rule")
        assert finding.evidence == {"most": 2}
        assert result.failing(onnxpad.Severity.WARNING) == (finding,)
        fixed = onnxpad.fix(model)
        assert not fixed.changed
        assert fixed.findings == (finding,)


# Registration


def test_register_returns_what_it_takes_and_decorates() -> None:
    assert onnxpad.register(Own) is Own
    assert onnxpad.register(Own) is Own  # once more changes nothing
    other = renamed(Own.code)
    with pytest.raises(onnxpad.UsageError):
        onnxpad.register(other)
    onnxpad.register(other, replace=True)
    onnxpad.unregister(other)
    for never in (Own, FANCY, int, "a pass"):
        with pytest.raises(onnxpad.UsageError):
            onnxpad.unregister(never)  # type: ignore[arg-type]


def test_one_of_a_name_may_be_replaced() -> None:
    other = onnxpad.Row(domain="com.acme", op_type="FancyConv", like="MaxPool")
    onnxpad.register(FANCY)
    with pytest.raises(onnxpad.UsageError):
        onnxpad.register(other)
    onnxpad.register(other, replace=True)
    assert declaration_of("com.acme", "FancyConv") is other
    onnxpad.unregister(other)
    assert declaration_of("com.acme", "FancyConv") is None


def test_a_block_takes_back_what_it_registered_even_after_an_error() -> None:
    with pytest.raises(onnxpad.UsageError), onnxpad.registered(FANCY, Own, "something"):  # type: ignore[arg-type]
        pass
    test_nothing_stays_registered()


def renamed(code: object) -> type[onnxpad.Pass]:
    return type("Renamed", (Own,), {"code": code})


def row(**given: Any) -> Callable[[], object]:
    return lambda: onnxpad.Row(**{"domain": "d", "op_type": "O", "like": "Conv", **given})


@each_row(
    "make",
    [
        lambda: renamed("PAD001"),
        lambda: renamed("acme1"),
        lambda: renamed(None),
        lambda: type("Loud", (Own,), {"severity": "warning"}),
        lambda: type("Bare", (onnxpad.Pass,), {"code": "ACME001"}),
        lambda: type("Idle", (onnxpad.Pass,), {"code": "ACME001", "find": Own.find}),
        lambda: "a pass",
        row(domain=""),
        row(domain="ai.onnx"),
        lambda: type("Bare", (), {"code": "ACME001"}),
        row(domain="com.microsoft", op_type="FusedConv"),
        row(body="nonsense"),
        row(body=5),
        row(body='<domain: "d", opset_import: ["": 17]> P (x) => (y) { y = Relu (x) }'),
    ],
)
def test_what_cannot_be_registered_is_one_line(make: Callable[[], Any]) -> None:
    with pytest.raises(onnxpad.UsageError):
        onnxpad.register(make())
    test_nothing_stays_registered()
