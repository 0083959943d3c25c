"""A verdict has evidence: outputs that tell nothing, other names, other paddings, excuses."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxpad
from onnxpad.errors import UsageError, ValidationError
from onnxpad.validation.compare import alike, is_flat
from onnxpad.validation.whole import validate_models
from tests.support import MODELS, one
from tests.support.rows import each_row, one_in

KERAS = MODELS / "mobilenet_keras.onnx"


def classifier(ending: str) -> onnx.ModelProto:
    """A MobileNet whose head was not trained, or gives the class alone."""
    model = onnx.load(KERAS)
    graph = model.graph
    del graph.output[:]
    tiny = numpy_helper.from_array(np.array(1e-9, np.float32), "tiny")
    bias = numpy_helper.from_array(np.linspace(-2, 2, 10, dtype=np.float32)[None], "bias")
    graph.initializer.extend([tiny, bias])
    kind = TensorProto.FLOAT
    if ending == "class":
        graph.node.append(helper.make_node("ArgMax", ["logits"], ["y"], axis=1))
        kind = TensorProto.INT64
    else:
        graph.node.append(helper.make_node("Mul", ["logits", "tiny"], ["small"]))
        if ending == "biased":
            graph.node.append(helper.make_node("Add", ["small", "bias"], ["sum"]))
        graph.node.append(
            helper.make_node("Softmax", ["sum" if ending == "biased" else "small"], ["y"])
        )
    graph.output.append(helper.make_tensor_value_info("y", kind, None))
    return model


def misplaced(model: onnx.ModelProto, most: int = 5) -> onnx.ModelProto:
    """The model with the padding of some convolutions all at the end."""
    wrong = onnx.ModelProto()
    wrong.CopyFrom(model)
    for node in wrong.graph.node:
        pads = next((each for each in node.attribute if each.name == "pads"), None)
        if node.op_type == "Conv" and pads is not None and any(pads.ints) and most:
            half = len(pads.ints) // 2
            total = [b + e for b, e in zip(pads.ints[:half], pads.ints[half:], strict=True)]
            pads.ints[:] = [0] * half + total
            most -= 1
    return wrong


def renamed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with other names for what is between its inputs and outputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    border = {value.name for value in (*graph.input, *graph.output)}
    made = {name for node in graph.node for name in node.output if name}
    names = {name: f"other/{name}" for name in made - border}
    nodes = list(graph.node)
    for node in nodes:  # it grows
        nodes += [inside for each in node.attribute for inside in each.g.node]
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        if node.name:
            node.name = f"other/{node.name}"
    del graph.value_info[:]
    return copy


ENDINGS = ["untrained", "biased", "class"]


class TestOutputsThatTellNothing:
    @pytest.mark.parametrize("ending", one_in(3, zip(ENDINGS)))
    def test_padding_on_the_wrong_side_upstream_is_found(self, ending: str) -> None:
        model = classifier(ending)
        found = onnxpad.validate(model, misplaced(model))
        assert found.outcome == "failed"
        assert all(each.equal for run in found.validation.runs for each in run.comparisons)
        assert found.validation.divergence is not None
        assert found.validation.divergence.tensor == "Conv__71:0"
        assert len(found.validation.padding) == 5
        with pytest.raises(ValidationError):
            found.raise_for_failure()

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_one_of_many_convolutions_is_named(self, ending: str) -> None:
        model = classifier(ending)
        wrong = misplaced(model, 4)
        right = misplaced(model, 3)
        found = validate_models(right, wrong)
        assert found.outcome == "failed"
        assert found.divergence is not None
        assert "(Conv)" in found.divergence.producers[0]
        assert found.divergence.attributes[0] != found.divergence.attributes[1]

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_what_agrees_inside_is_evidence(self, ending: str) -> None:
        model = classifier(ending)
        found = validate_models(model, onnxpad.fix(model, validate=False).model)
        assert (found.ok, found.outcome) == (True, "passed")
        if ending != "class":
            assert any("changed operators were compared" in note for note in found.notes)
            assert all("optimisation full" in line for line in found.uncompared)
            assert found.uncompared

    def test_without_a_pair_or_equal_names_inside_there_is_none(self) -> None:
        given = "float none = {0}"
        before = one("z = Abs (x) y = Mul (z, none)", initializers=given)
        for body in ("s = Neg (x) y = Sub (s, s)", "z = Neg (x) y = Sub (z, z)"):
            found = validate_models(before, one(body, initializers=given))
            assert (found.ok, found.outcome) == (False, "nothing compared")

    @pytest.mark.parametrize(
        ("window", "right", "wrong"),
        [
            ("Conv <PAD> (x, w)", "pads = [1,0,1,0]", "pads = [0,0,2,0]"),
            ("MaxPool <kernel_shape = [2,2], auto_pad = PAD> (x)", '"SAME_UPPER"', '"SAME_LOWER"'),
            ("MaxPool <kernel_shape = [2,2], strides = [2,2], PAD> (x)", "ceil_mode = 1", ""),
            ("Conv (p, w) p = Pad (x, PAD)", "a", "b"),
        ],
    )
    def test_other_padding_behind_a_small_scale_is_found(
        self, window: str, right: str, wrong: str
    ) -> None:
        def scaled(pad: str) -> Any:
            given = "float[2, 2, 3, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6}, float s = {1e-7}"
            given += ", int64[8] a = {0,0,1,0,0,0,1,0}, int64[8] b = {0,0,0,0,0,0,2,0}"
            first, _, then = window.replace("PAD", pad).replace(", >", ">").partition(") p")
            body = (
                f"p{then}" * bool(then)
                + f" z = {first}{')' * bool(then)} g = GlobalAveragePool (z)"
            )
            return one(f"{body} v = Mul (g, s) y = Add (x, v)", initializers=given)

        found = onnxpad.validate(scaled(right), scaled(wrong))
        assert found.outcome == "failed"
        assert found.validation.divergence is not None
        assert onnxpad.validate(scaled(right), scaled(right)).ok

    def test_fix_says_so_too(self) -> None:
        result = onnxpad.fix(classifier("untrained"))
        assert result.changed
        assert result.ok

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("z = Conv <pads = [1,0,1,0]> (x, w) y = Mul (z, none)", "pads = [2,0,0,0]"),
            ("z = Conv <pads = [1,0,1,0]> (x, w) y = Clip (z, none, none)", "pads = [0,0,2,0]"),
            ("z = Conv <pads = [1,0,1,0]> (x, w) y = Div (z, none)", "pads = [0,0,2,0]"),
            ("z = Conv <pads = [1,0,1,0]> (x, w) y = IsNaN (z)", "pads = [0,0,2,0]"),
        ],
    )
    def test_constant_outputs(self, before: str, after: str) -> None:
        given = "float[1, 2, 3, 1] w = {1, 2, 3, 4, 5, 6}, float none = {0}"
        outputs = "bool[] y" if "IsNaN" in before else "float[] y"
        original = one(before, initializers=given, outputs=outputs)
        wrong = one(before.replace("pads = [1,0,1,0]", after), initializers=given, outputs=outputs)
        found = validate_models(original, wrong)
        assert found.outcome == "failed"
        assert found.divergence is not None
        assert found.divergence.tensor == "z"
        assert validate_models(original, original).ok

    def test_what_depends_on_sizes_alone_is_evidence_of_itself(self) -> None:
        model = one("y = Shape (x)", outputs="int64[] y")
        assert validate_models(model, model).ok

    @each_row(
        ("values", "flat"),
        [
            ([[0.1, 0.1], [0.1, 0.1]], True),
            ([[0.1, 0.2], [0.1, 0.2]], True),
            ([[0.1, 0.2], [0.2, 0.1]], False),
            ([[0.1, 0.2]], False),
            ([[], []], True),
            ([[np.nan, np.nan]], True),
            ([[np.nan, 1.0], [1.0, 1.0]], False),
            ([[3.0], [4.0]], False),
            ([[3.0], [3.0]], True),
        ],
    )
    def test_flat(self, values: list[list[float]], flat: bool) -> None:
        assert is_flat([np.array(each, np.float32) for each in values]) == flat


KEPT = "c = Conv <pads = [1,1,1,1]> (x, w) m = Conv (x, v) s = Add (c, m)"
SHIFTED = KEPT.replace("[1,1,1,1]", "[0,0,2,2]")
BRANCHES = (
    "i = Constant <value = bool {1}> () y = If (i) <then_branch = t () => (int64[?] u) "
    "{ u = ArgMax <axis = 1> (s) }, else_branch = g () => (int64[?] j) { j = ArgMin (s) }>"
)
CHOSEN = {
    "ArgMax": ("y = ArgMax <axis = 1> (s)", "int64"),
    "of Softmax": ("p = Softmax <axis = 1> (s) y = ArgMax <axis = 1> (p)", "int64"),
    "as bytes": ("a = ArgMax <axis = 1> (s) y = Cast <to = 2> (a)", "uint8"),
    "as floats": ("a = ArgMax <axis = 1> (s) y = Cast <to = 1> (a)", "float"),
    "reshaped": ("a = ArgMax <axis = 1> (s) b = Identity (a) y = Reshape (b, r)", "int64"),
    "one-hot": ("a = ArgMax <axis = 1, keepdims = 0> (s) y = OneHot <axis = 1> (a, d, o)", "float"),
    "looked up": ("a = ArgMax <axis = 1> (s) y = Gather (t, a)", "uint8"),
    "TopK": ("n, y = TopK (s, k)", "int64"),
    "a mask": ("y = Greater (s, h)", "bool"),
    "a mask of floats": ("g = Greater (s, h) y = Where (g, h, z)", "float"),
    "a count": ("g = Greater (s, h) i = Cast <to = 7> (g) y = ReduceSum (i)", "int64"),
    "in a branch": (BRANCHES, "int64"),
    "quantised": (
        "q = QuantizeLinear (s, h, e) f = DequantizeLinear (q, h, e) y = ArgMax <axis = 1> (f)",
        "int64",
    ),
}
WEIGHTS = ", ".join(str(i * 7 % 11 / 3 - 1.6) for i in range(54))
GIVEN = (
    f"float[3,2,3,3] w = {{{WEIGHTS}}}, float[3,2,1,1] v = {{9999,0,0,9999,-9999,0}},"
    " int64[2] r = {-1,8}, int64 d = {3}, float[2] o = {0,1},"
    " uint8[3] t = {7,8,9}, int64[1] k = {2}, float h = {0.5}, float z = {0}, uint8 e = {128}"
)


class TestScores:
    """What an output of choices was chosen from is compared, if it has one name in both models."""

    def ended(self, ending: str, start: str = KEPT, **given: Any) -> onnx.ModelProto:
        """A model in which the data themselves decide nearly alone, and hide what pads change."""
        tail, kind = CHOSEN.get(ending, (ending, "int64"))
        given = {"inputs": "float[1,2,8,8] x", "initializers": GIVEN, **given}
        return one(f"{start} {tail}", outputs=given.pop("outputs", f"{kind}[] y"), **given)

    @pytest.mark.parametrize("ending", CHOSEN)
    def test_wrong_pads_fail_and_other_names_do_not(self, ending: str) -> None:
        right = self.ended(ending)
        found = validate_models(right, right)
        assert found.ok
        found = validate_models(right, renamed(right))
        assert found.outcome == "passed"
        found = validate_models(right, self.ended(ending, SHIFTED))
        assert all(each.equal for run in found.runs for each in run.comparisons)
        assert found.outcome == "failed"
        assert found.divergence is not None
        assert found.divergence.attributes[0] != found.divergence.attributes[1]

    def test_a_name_that_another_tensor_got_is_no_difference(self) -> None:
        """As peers fold a BatchNormalization: the Conv's name now stands for both."""
        given = "float two = {2}, float three = {3}, float six = {6}"
        before = one("c = Mul (x, two) b = Mul (c, three) y = ArgMax (b)", initializers=given)
        after = one("c = Mul (x, six) y = ArgMax (c)", initializers=given)
        for model in (before, after):
            model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
        for models in ((before, after), (after, before)):
            assert validate_models(*models).outcome == "nothing compared"

    @pytest.mark.parametrize(
        "ending",
        [
            "n = Neg (s) y = ArgMin <axis = 1> (n)",
            "p = Softmax <axis = 2> (s) t1 = Log (p) y = ArgMax <axis = 1> (s)",
        ],
    )
    @pytest.mark.parametrize("also", [False, True])
    def test_without_a_pair_they_count_as_not_compared(self, ending: str, also: bool) -> None:
        outputs = "int64[] y, float[] l" if also else "int64[] y"
        logits = "l = Relu (s) " if also else ""
        before = self.ended(f"{logits}y = ArgMax <axis = 1> (s)", outputs=outputs)
        after = self.ended(logits + ending, outputs=outputs)
        found = onnxpad.validate(before, after)
        if "ArgMin" not in ending:
            assert found.ok
            return
        assert (found.ok, found.outcome) == (False, "nothing compared")
        assert ("not all compared: " if also else ": nothing compared: ") in str(found)
        assert found.validation.outcome == ("passed" if also else "nothing compared")

    def test_classes_chosen_in_a_body_that_differs_are_not_compared(self) -> None:
        branch = BRANCHES.replace("{ u", f"{{ {KEPT} u")
        branch = branch.replace("ArgMin (s)", "ArgMin (x)")
        other = f"e1 = Identity (x) {KEPT.replace('(x,', '(e1,')}"
        before, after = (
            self.ended(body, start="", outputs="int64[] y")
            for body in (branch, branch.replace(KEPT, other))
        )
        assert validate_models(before, before).ok
        assert validate_models(before, after).outcome == "nothing compared"

    def test_classes_chosen_in_functions(self) -> None:
        def model(pads: str) -> onnx.ModelProto:
            return onnx.parser.parse_model(
                '<ir_version: 9, opset_import: ["" : 17, "f" : 1]> '
                "g (float[1,2,8,8] x) => (int64[?,?,?,?] y) "
                f"<float[3,2,3,3] w = {{{WEIGHTS}}}> {{ y = f.F (x, w) }} "
                '<domain: "f", opset_import: ["" : 17]> F (x, w) => (y) '
                f"{{ s = Conv <pads = {pads}> (x, w) g = GlobalAveragePool (s) "
                "y = ArgMax <axis = 1> (g) }"
            )

        right = model("[1,1,1,1]")
        assert validate_models(right, right).ok
        found = validate_models(right, model("[0,0,2,2]"))
        assert found.outcome == "failed"

    def test_integers_that_are_not_chosen_hide_nothing(self) -> None:
        given = "uint8[1,1,2,2] w = {1,2,3,4}, int64[2] r = {3,-1}"
        for body, kind in (
            ("y = ConvInteger (x, w)", "int32"),
            ("a = Cast <to = 6> (x) b = Add (a, a) y = Neg (b)", "int32"),
        ):
            model = one(body, inputs="uint8[1,1,3,3] x", outputs=f"{kind}[] y", initializers=given)
            found = validate_models(model, model)
            assert found.ok
            assert not found.uncompared


class TestNames:
    @each_row(
        "after",
        [
            one("z = Add (a, b)", inputs="float[1, 3] a, float[1, 3] b", outputs="float[] z"),
            one("y = Add (p, b)", inputs="float[1, 3] p, float[1, 3] b"),
            one("y = Neg (p)", inputs="float[1, 3] p"),
        ],
    )
    def test_other_names_are_refused_in_one_line(self, after: onnx.ModelProto) -> None:
        before = one("y = Add (a, b)", inputs="float[1, 3] a, float[1, 3] b")
        with pytest.raises(UsageError):
            onnxpad.validate(before, after)

    def test_sequences_are_named_and_what_changed_upstream_is_compared(self) -> None:
        kind = onnx.helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))

        def model(pads: str) -> onnx.ModelProto:
            body = f"c = Conv <pads = {pads}> (x, w) n = Neg (c) q = SequenceConstruct (c, n)"
            made = one(f"{body} y = Relu (x)", initializers="float[1, 2, 3, 1] w = {1,2,3,4,5,6}")
            made.graph.output.append(helper.make_value_info("q", kind))
            return made

        right = model("[1,0,1,0]")
        found = validate_models(right, right)
        assert (found.outcome, len(found.hidden)) == ("passed", 1)
        assert "'q' is no tensor" in found.hidden[0]
        wrong = validate_models(right, model("[2,0,0,0]"))
        assert wrong.outcome == "failed"
        assert wrong.divergence is not None
        assert wrong.divergence.tensor == "c"


POOL = "float[1, 1, 64] x"
PADS = "int64[6] p = {0,0,1,0,0,1}, int64[6] l = {0,0,1,0,0,0}, int64[6] r = {0,0,0,0,0,1}"


class TestFullOptimisation:
    def test_negative_data_show_what_the_optimiser_breaks(self) -> None:
        apart = "q = Pad (x, l) n = Neg (q) m = Neg (n) y = MaxPool <kernel_shape = [2]> (m)"
        fused = "q = Pad (x, l) y = MaxPool <kernel_shape = [2]> (q)"
        models = [one(body, inputs=POOL, initializers=PADS) for body in (apart, fused)]
        hidden = 0  # where what is drawn of both signs does not show it
        for seed in range(9):
            found = validate_models(*models, seed=seed)
            assert found.outcome == "failed"
            first, second = (run for run in found.runs if run.optimisation == "full")
            assert not second.ok
            hidden += first.ok
        assert hidden

    def test_an_excuse_holds_for_the_same_elements_only(self) -> None:
        # Each loses what the zeros at one end are worth, and not at the same end.
        left = "o = Pad (x, r) n = Neg (o) m = Neg (n) q = Pad (m, l) "
        right = "o = Pad (x, l) n = Neg (o) m = Neg (n) q = Pad (m, r) "
        pool = "y = MaxPool <kernel_shape = [2]> (q)"
        models = [one(f"{each}{pool}", inputs=POOL, initializers=PADS) for each in (left, right)]
        found = validate_models(*models)
        assert all(run.ok for run in found.runs if run.optimisation == "off")
        assert found.outcome == "failed"
        same = validate_models(models[0], models[0])
        assert same.ok
        assert any(run.excused and not run.tells for run in same.runs)
        assert any("of the original as well" in line for line in same.uncompared)

    def test_a_wrong_result_is_not_excused_by_an_original_that_does_not_load(self) -> None:
        given = f"{PADS}, int64[6] wide = {{0,0,2,0,0,2}}"
        pool = "MaxPool <kernel_shape = [2]>"
        ends = "n = Neg (q) m = Neg (n)"
        refused, apart = (
            f"q = Pad (x, wide) a = {pool} (q)",
            f"q = Pad (x, wide) {ends} a = {pool} (m)",
        )
        right = (
            f"o = Pad (x, l) s = Neg (o) t = Neg (s) b = {pool} (t) y = Concat <axis = 2> (a, b)"
        )
        wrong = f"o = Pad (x, l) b = {pool} (o) y = Concat <axis = 2> (a, b)"
        refused, wrong = f"{refused} {right}", f"{apart} {wrong}"
        before, after = (one(body, inputs=POOL, initializers=given) for body in (refused, wrong))
        found = validate_models(before, after)
        assert all(run.ok for run in found.runs if run.optimisation == "off")
        assert found.outcome == "failed"
        assert any("the original does not run" in run.note for run in found.runs if not run.ok)
        both = validate_models(before, before)
        assert both.ok
        assert all("the original does not run" in line for line in both.uncompared)
        assert len(both.uncompared) == 2

    def test_alike(self) -> None:
        exact, moved = np.array([0.0, 1, 2, 3], np.float32), np.array([9.0, 1, 2, 9], np.float32)
        for found, same in (
            ([9, 1, 2, 9], True),
            ([9, 1, 2, 3], True),
            ([0, 1, 9, 3], False),
            ([9, 1, 9, 9], False),
            ([8, 1, 2, 3], False),
        ):
            assert alike("y", exact, moved, np.array(found, np.float32)) == same


NHWC = (
    "t = Transpose <perm = [0,2,3,1]> (x) q = Pad (t, h) "
    "v = Transpose <perm = [0,3,1,2]> (q) y = Conv (v, w)"
)
TURNED = "k = Transpose <perm = [1,0,2,3]> (w)"
TWOS = "strides = [2,2]"
MORE = f"output_padding = [1,0], {TWOS}"


class TestPadding:
    def listed(self, before: str, after: str, **options: str) -> list[tuple[str, str]]:
        given = "int64[8] p = {0,0,1,1,0,0,1,1}, int64[8] u = {0,0,1,0,0,0,1,2}"
        given += ", int64[8] h = {0,1,1,0,0,1,1,0}, int64[8] n = {0,0,-1,0,0,0,-1,0}"
        inputs = options.pop("inputs", "float[1, 2, 9, 8] x") + ", float[3, 2, 3, 3] w"
        models = [one(body, inputs=inputs, initializers=given) for body in (before, after)]
        return [each.pads for each in onnxpad.validate(*models).validation.padding]

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("q = Pad (x, p) y = Conv (q, w)", "y = Conv <pads = [1,1,1,1]> (x, w)"),
            ("q = Pad (x, u) y = Conv (q, w)", "y = Conv <pads = [1,0,1,2]> (x, w)"),
            (
                "q = Pad (x, p) y = Conv <pads = [1,1,1,1]> (q, w)",
                "q = Pad (x, p) r = Pad (q, p) y = Conv (r, w)",
            ),
            ('y = Conv <auto_pad = "SAME_UPPER"> (x, w)', "y = Conv <pads = [1,1,1,1]> (x, w)"),
            ('y = Conv <auto_pad = "VALID"> (x, w)', "y = Conv (x, w)"),
            (NHWC, "y = Conv <pads = [1,1,1,1]> (x, w)"),
            (
                f"{TURNED} y = ConvTranspose <pads = [1,1,1,1], {MORE}> (x, k)",
                f"{TURNED} y = ConvTranspose <pads = [1,1,0,1], {TWOS}> (x, k)",
            ),
            (
                f"{TURNED} z = ConvTranspose (x, k) y = Pad (z, n)",
                f"{TURNED} y = ConvTranspose <pads = [1,0,1,0]> (x, k)",
            ),
        ],
    )
    def test_equal_totals_are_not_listed(self, before: str, after: str) -> None:
        assert self.listed(before, after) == []

    @pytest.mark.parametrize(
        ("before", "after", "pads"),
        [
            (
                "q = Pad (x, u) y = Conv (q, w)",
                "y = Conv <pads = [1,1,1,1]> (x, w)",
                ("[1, 0, 1, 2]", "[1, 1, 1, 1]"),
            ),
            (
                'y = Conv <auto_pad = "SAME_UPPER", strides = [2,2]> (x, w)',
                'y = Conv <auto_pad = "SAME_LOWER", strides = [2,2]> (x, w)',
                ("[1, 0, 1, 1]", "[1, 1, 1, 0]"),
            ),
            (
                "z = Conv (x, w) y = AveragePool <kernel_shape = [3,3], pads = [0,0,1,1]> (z)",
                "z = Conv (x, w) y = AveragePool <kernel_shape = [3,3], pads = [1,1,0,0]> (z)",
                ("[0, 0, 1, 1]", "[1, 1, 0, 0]"),
            ),
            (
                "y = ConvTranspose <pads = [0,0,1,1]> (x, k)",
                "y = ConvTranspose <pads = [1,1,0,0]> (x, k)",
                ("[0, 0, 1, 1]", "[1, 1, 0, 0]"),
            ),
        ],
    )
    def test_others_are(self, before: str, after: str, pads: tuple[str, str]) -> None:
        before, after = (
            f"k = Transpose <perm = [1,0,2,3]> (w) {body}" if "(x, k)" in body else body
            for body in (before, after)
        )
        assert self.listed(before, after) == [pads]

    @pytest.mark.parametrize("given", [{"shapes": (1, 2, 8, 8)}, {"dims": {"h": 8, "v": 8}}])
    def test_sizes_given_decide_the_padding(self, given: dict[str, Any]) -> None:
        values = ", ".join(str(n % 5 - 2) for n in range(54))
        body = "y = Conv <{}, strides = [2,2]> (x, w)"
        models = [
            one(
                body.format(pads),
                inputs="float[1, 2, h, v] x",
                initializers=f"float[3, 2, 3, 3] w = {{{values}}}",
            )
            for pads in ('auto_pad = "SAME_UPPER"', "pads = [0,0,1,1]")
        ]
        found = onnxpad.validate(*models, **given)
        assert found.ok
        assert not found.validation.padding

    def test_sites_are_listed_though_the_numbers_agree(self) -> None:
        # which end the windows pass does not change the greatest element of all
        body = "m = MaxPool <kernel_shape = [2,2], pads = [{}]> (x) y = GlobalMaxPool (m)"
        models = [
            one(body.format(pads), inputs="float[1, 2, 9, 9] x") for pads in ("0,0,1,1", "1,1,0,0")
        ]
        found = onnxpad.validate(*models)
        assert found.ok
        assert [each.pads for each in found.validation.padding] == [
            ("[0, 0, 1, 1]", "[1, 1, 0, 0]")
        ]

    def test_open_sizes(self) -> None:
        same = 'y = Conv <auto_pad = "{}", strides = [2,2]> (x, w)'
        open_sizes = {"inputs": "float[1, 2, height, width] x"}
        upper, lower = (same.format(f"SAME_{side}") for side in ("UPPER", "LOWER"))
        assert len(self.listed(upper, lower, **open_sizes)) == 1
        assert self.listed(upper, upper, **open_sizes) == []
        assert len(self.listed(upper, "y = Conv <strides = [2,2]> (x, w)", **open_sizes)) == 1
