"""`onnxpad.validate` and the command: verdicts, exit codes, references, reports that tell it."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import Result

import onnxpad
from onnxpad.api.validate import _resized
from onnxpad.errors import OnnxpadError, UsageError, ValidationError
from onnxpad.graph import Graph
from onnxpad.report.json import json_of
from tests.support import EXPORTED, MODELS, QUANTISED, one, onnxpad_runs
from tests.support.rows import each_row, one_in

KERAS = MODELS / "mobilenet_keras.onnx"
REFERENCE = MODELS / "mobilenet_keras.npz"


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fixed") / "fixed.onnx"
    onnxpad.fix(KERAS, validate=False).save(path)
    return path


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model with begin and end pads of one operator exchanged."""
    path = tmp_path_factory.mktemp("wrong") / "wrong.onnx"
    model = onnx.load(KERAS)
    node = next(n for n in model.graph.node if n.op_type == "MaxPool")
    pads = next(a for a in node.attribute if a.name == "pads")
    pads.ints[:] = [pads.ints[i] for i in (2, 3, 0, 1)]
    onnx.save(model, path)
    return path


OPEN = one(
    'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
    inputs="float[N, 1, height, ?] x",
    initializers="float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}",
)


DIFFERING = {
    "aspp_tensorflow",  # onnxruntime refuses it
    "wavenet_torchscript",  # onnxruntime refuses it
    "deconv_paddle",  # computes another shape than the framework
    "gaps_keras_open",  # pads with 0 where Keras has the bias
}
STEMS = [path.stem for path in EXPORTED if not QUANTISED.search(path.stem)]
AGREEING = [each for each in STEMS if each not in DIFFERING]  # no reference is quantised


def drawn(result: onnxpad.ValidationResult) -> list[tuple[int, ...]]:
    """The shapes of the inputs that were drawn."""
    return [
        tuple(map(int, run.inputs.split(",")[0].rpartition(" ")[2].split("x")))
        for run in result.validation.runs
        if run.optimisation == "off" and not run.inputs.endswith("all negative")
    ]


def runs(*args: object) -> Result:
    return onnxpad_runs("validate", *args)


class TestLibrary:
    def test_a_right_rewrite(self, fixed: Path) -> None:
        result = onnxpad.validate(KERAS, fixed, samples=2, seed=7)
        assert result.ok
        result.raise_for_failure()
        assert [run.optimisation for run in result.validation.runs] == ["off"] * 3 + ["full"] * 3
        assert all(
            c.equal and c.ulp == 0 and c.cosine == 1 for c in result.validation.runs[0].comparisons
        )
        seeds = [run.inputs.partition("seed ")[2] for run in result.validation.runs]
        assert seeds == ["7", "8", "7, all negative"] * 2
        assert all(seconds > 0 for run in result.validation.runs for seconds in run.seconds)

    def test_a_wrong_rewrite_is_named(self, wrong: Path) -> None:
        result = onnxpad.validate(KERAS, wrong)
        assert not result.ok
        with pytest.raises(ValidationError):
            result.raise_for_failure()
        found = result.validation.divergence
        assert found is not None
        assert "(MaxPool)" in found.producers[0]
        assert found.attributes[0] != found.attributes[1]
        assert len(found.comparison.worst) == 4
        assert found.comparison.max_abs > 0

    def test_fix_tells_where_models_part(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # a rewrite that slips through proof and probes is found by the whole model's validation
        from onnxpad.graph import Model

        plain = Model.to_bytes

        def spoilt(edited: Model) -> bytes:
            model = onnx.load_from_string(plain(edited))
            node = next(n for n in model.graph.node if n.op_type == "MaxPool")
            next(a for a in node.attribute if a.name == "kernel_shape").ints[:] = [2, 2]
            return bytes(model.SerializeToString())

        monkeypatch.setattr(Model, "to_bytes", spoilt)
        result = onnxpad.fix(KERAS)
        assert result.validation is not None
        assert not result.validation.ok
        assert not result.changes
        assert result.barred
        (_told,) = [each for each in result.validation.warnings if "taken back" in each]

    @pytest.mark.parametrize("name", one_in(5, zip(AGREEING)))
    def test_exported_models_agree_with_their_frameworks(self, name: str) -> None:
        onnxpad.validate(
            MODELS / f"{name}.onnx", reference=MODELS / f"{name}.npz"
        ).raise_for_failure()

    def test_quantised_models_agree_within_a_tolerance(self) -> None:
        model = MODELS / "mobilenet_qdq.onnx"
        assert not onnxpad.validate(model, reference=REFERENCE).ok
        result = onnxpad.validate(model, reference=REFERENCE, rtol=0, atol=0.15)
        result.raise_for_failure()

    def test_a_repair_is_held_against_the_specification(self) -> None:
        for name in ("aspp_tensorflow", "wavenet_torchscript"):
            model, reference = (MODELS / f"{name}.{end}" for end in ("onnx", "npz"))
            repaired = onnxpad.fix(model, validate=False).model
            alone = onnxpad.validate(model, repaired, samples=3)
            alone.raise_for_failure()
            assert all(run.against == "original evaluated by onnx" for run in alone.validation.runs)
            referred = onnxpad.validate(model, repaired, reference=reference)
            referred.raise_for_failure()
            assert any("the original does not run" in line for line in referred.warnings)

    def test_a_repair_that_nothing_can_vouch_for_is_no_success(self) -> None:
        text = """<ir_version: 9, opset_import: ["" : 17]>
            g (float[1,1,7] x) => (float[1,1,6] y) <float[1,1,3] w = {1,2,3}>
            { z = Conv <dilations = [2], PADS> (x, w) y = MaxPool <kernel_shape = [2]> (z) }"""
        same, repaired = (
            onnx.parser.parse_model(text.replace("PADS", pads))
            for pads in ('auto_pad = "SAME_UPPER"', "pads = [2, 2]")
        )
        alone = onnxpad.validate(same, repaired)
        assert not alone.ok
        assert any("nothing was compared" in line for line in alone.unproven)
        with pytest.raises(ValidationError):
            alone.raise_for_failure()

    def test_an_original_that_misses_the_reference_is_told(self, fixed: Path, wrong: Path) -> None:
        cured = onnxpad.validate(wrong, fixed, reference=REFERENCE)
        assert cured.ok
        assert any("agrees with it" in line for line in cured.warnings)
        spoilt = onnxpad.validate(KERAS, wrong, reference=REFERENCE)
        assert not spoilt.ok
        both = onnxpad.validate(wrong, wrong, reference=REFERENCE)
        assert not both.ok
        assert any("the original differs from the reference" in line for line in both.warnings)

    def test_the_layout_of_another_framework(self) -> None:
        with np.load(REFERENCE) as arrays:
            reference = {name: arrays[name] for name in arrays}
        reference["input"] = np.moveaxis(reference["input"], -1, 1)
        reference["same_average"] = np.moveaxis(reference["same_average"], -1, 1)
        reference["logits"] = reference["logits"].reshape(1, 1, 10)
        result = onnxpad.validate(KERAS, reference=reference)
        result.raise_for_failure()
        assert any("input 'input' 1x3x56x79 as 1x56x79x3" in note for note in result.notes)

    def test_open_sizes_are_also_odd_and_even(self) -> None:
        path = MODELS / "dynamic_keras.onnx"
        result = onnxpad.validate(path, path, samples=4)
        result.raise_for_failure()
        sizes = [
            tuple(map(int, run.inputs.split(",")[0].rpartition(" ")[2].split("x")[1:3]))
            for run in result.validation.runs
            if run.optimisation == "off"
        ]
        sides = {side for size in sizes for side in size}
        assert {side % 2 for side in sides} == {0, 1}
        assert len(set(sizes)) == 4

    def test_sizes_are_drawn_as_they_are_given(self) -> None:
        fixed = onnxpad.validate(OPEN, OPEN, shapes={"x": (2, 1, None, 7)}, dims={"height": 9})
        assert drawn(fixed) == [(2, 1, 9, 7)]
        result = onnxpad.validate(
            OPEN, OPEN, dims={"N": 3, "height": "64..1024:32", "x[3]": "5..8"}, samples=5
        )
        sizes = drawn(result)
        assert len(set(sizes)) == 5
        for batch, channels, height, width in sizes:
            assert (batch, channels) == (3, 1)
            assert height in range(64, 1025, 32)
            assert 5 <= width <= 8

    def test_what_was_proved_for_a_range_is_validated_in_it(self) -> None:
        sizes = {"height": "32..256:32", "x[3]": "32..256:32"}
        result = onnxpad.fix(OPEN, dims=sizes)
        assert [change.code for change in result.changes] == ["PAD101"]
        bare = result.model
        del bare.metadata_props[:]  # which has the range, too
        assert not onnxpad.validate(OPEN, bare, samples=3).ok
        assert onnxpad.validate(OPEN, bare, samples=3, dims=sizes).ok

    def test_sizes_that_the_rewritten_model_has_fixed(self) -> None:
        rewritten = onnxpad.fix(OPEN, dims={"height": 32, "x[3]": 32}).model
        for size in (32, "16..64:16"):
            result = onnxpad.validate(OPEN, rewritten, dims={"height": size})
            assert drawn(result) == [(1, 1, 32, 32), (2, 1, 32, 32)]
        for size in (33, "1..64:5"):
            with pytest.raises(UsageError):
                onnxpad.validate(OPEN, rewritten, dims={"height": size})

    @each_row(
        "options",
        [
            {"dims": {"nowhere": 3}},
            {"shapes": {"nowhere": "1,2"}},
            {"rewritten": MODELS},
            {"rewritten": MODELS / "nowhere.onnx"},
            {"rewritten": REFERENCE},
            {"reference": KERAS},
            {"reference": MODELS / "unet_dynamo.npz"},
            {"inputs": MODELS / "unet_dynamo.npz"},
            *({given: REFERENCE, option: value}  # what is about drawing, beside what is given
              for given in ("inputs", "reference") for option, value in
              {"samples": 1, "seed": 0, "shapes": {"x": "1,1"}, "dims": {"n": 3}}.items()),
        ],
    )  # fmt: skip
    def test_bad_usage_is_one_line(self, options: dict[str, Any]) -> None:
        with pytest.raises(OnnxpadError) as caught:
            onnxpad.validate(KERAS, **{"rewritten": KERAS, **options})
        assert caught.value.exit_code == 2
        assert "\n" not in str(caught.value)


UNREAD = "q = Pad (x, e) u = AveragePool <kernel_shape = [1, 1], strides = [2, 2]> (q)"
DEAD = "d = MaxPool <kernel_shape = [2, 2], pads = [{}]> (u)"


def judged(window: str, first: str = UNREAD, more: str = "", pads: str = "") -> onnx.ModelProto:
    """A pool that may drop a `Pad` it never reads, an operator nobody reads, and a Conv."""
    return one(
        f"{first} {DEAD.format(pads or '0, 0, 1, 1')} y = Conv <{window}> (u, w) {more}",
        inputs="float[1, 1, 9, 9] x",
        outputs="float[1, 1, ?, ?] y" if not more else "float[1, 1, ?, ?] z",
        initializers="float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, "
        "int64[8] e = {0, 0, 0, 0, 0, 0, 1, 1}",
    )


class TestCulprits:
    FREE = UNREAD.replace("q = Pad (x, e) ", "").replace("(q)", "(x)")

    def told(self, *models: onnx.ModelProto) -> tuple[str, list[str], onnxpad.ValidationResult]:
        """The first line of the text, before it is wrapped, and the operators of the table."""
        result = onnxpad.validate(*models)
        line = " ".join(str(result).partition("\n\n")[0].split())
        return line, [each.nodes[0] for each in result.validation.padding], result

    def test_padding_that_no_window_reads_is_no_difference(self) -> None:
        given = judged("pads = [1, 1, 0, 0]")
        line, table, _ = self.told(given, judged("pads = [1, 1, 0, 0]", self.FREE))
        assert "agree" in line
        assert table == []
        line, table, result = self.told(given, judged("pads = [0, 0, 1, 1]", self.FREE))
        assert table == ["<y> (Conv)"]
        title = result.to_html().partition("<h1>")[2].partition("</h1>")[0]
        assert "FAILED" in title
        assert title.endswith("(Conv): H 1+0, W 1+0 became H 0+1, W 0+1")

    def test_the_culprit_comes_before_what_stands_in_front_of_it(self) -> None:
        given = judged("pads = [1, 1, 0, 0]")
        _, table, result = self.told(given, judged("pads = [0, 0, 1, 1]", pads="1, 1, 0, 0"))
        assert table == ["<y> (Conv)", "<d> (MaxPool)"]
        document = json.loads(json_of(result))
        assert [each["nodes"][0] for each in document["validation"]["padding"]] == table


class TestCommand:
    @pytest.mark.parametrize("path", ["wrong", "fixed"])
    def test_the_exit_code_and_the_json_say_the_same(
        self, path: str, request: pytest.FixtureRequest
    ) -> None:
        rewritten, code = request.getfixturevalue(path), 3 if path == "wrong" else 0
        result = runs(KERAS, rewritten)
        assert (result.exit_code, len(result.stderr.splitlines())) == (code, bool(code))
        assert ("(MaxPool)" in result.stdout) is (path == "wrong")
        document = json.loads(runs(KERAS, rewritten, "--format", "json").stdout)
        assert document["exit_code"] == code
        assert document["outcome"] == ("failed" if code else "passed")
        divergence = document["validation"]["divergence"]
        assert (divergence is None) == (path == "fixed")
        if divergence:
            assert divergence["comparison"]["output"] == divergence["tensor"]

    def test_a_reference_and_tolerances(self, fixed: Path) -> None:
        assert runs(KERAS, "--reference", REFERENCE).exit_code == 0
        assert runs(KERAS, fixed, "--inputs", REFERENCE, "--rtol", "0", "--atol", 1).exit_code == 0

    def test_sizes(self, tmp_path: Path) -> None:
        path = tmp_path / "open.onnx"
        onnx.save(OPEN, path)
        options = ("--shape", "x=2,1,?,7", "--dim", "height=8..16:8", "--samples", 2)
        document = json.loads(runs(path, path, *options, "--format", "json").stdout)
        inputs = {run["inputs"] for run in document["validation"]["runs"]}
        assert {each.split(",")[0] for each in inputs} == {
            "x float32 2x1x8x7",
            "x float32 2x1x16x7",
        }

    @each_row(
        ("args", "code"),
        [
            ([], 2),
            ([KERAS, "--dim", "nowhere=3", "--dim", "nowhere=4"], 2),
            ([KERAS, "--provider", "NnapiExecutionProvider"], 4),
            (["--reference", MODELS / "README.md"], 2),
        ],
    )
    def test_bad_usage_is_one_line(self, args: list[object], code: int) -> None:
        result = runs(KERAS, *args)
        assert (result.exit_code, result.stdout) == (code, "")
        (line,) = result.stderr.splitlines()
        assert line.startswith("error: ")

    @pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="a CUDA device is here")
    def test_cuda_without_a_device_is_4_and_auto_says_what_it_used(self, fixed: Path) -> None:
        assert runs(KERAS, fixed, "--provider", "cuda").exit_code == 4
        result = runs(KERAS, fixed, "--provider", "auto")
        assert result.exit_code == 0


class TestPointsToMatch:
    """A reference that is not reproduced, where padding may be why."""

    PORT = MODELS / "misconverted" / "strided_conv2d.onnx"

    def test_the_last_line_is_the_command(self, tmp_path: Path) -> None:
        port = Path(shutil.copy(self.PORT, tmp_path / "a net.onnx"))
        reference = self.PORT.with_suffix(".npz")
        result = runs(port, "--reference", reference)
        assert result.exit_code == 3
        command = result.stdout.splitlines()[-1]
        matched = onnxpad_runs(*shlex.split(command)[1:])
        assert matched.exit_code == 0
        found = json.loads(runs(port, "--reference", reference, "--format", "json").stdout)
        assert found["next"] == command

    def test_only_where_the_reference_is_not_reproduced_and_padding_may_be_why(
        self, wrong: Path
    ) -> None:
        with np.load(self.PORT.with_suffix(".npz")) as arrays:
            reference = dict(arrays)
        told = onnxpad.validate(onnx.load(self.PORT), reference=reference).next
        assert told == "onnxpad.match(model, reference)"  # what is in memory is given to the call
        assert onnxpad.validate(KERAS, reference=REFERENCE).next == ""
        assert onnxpad.validate(KERAS, wrong, reference=REFERENCE).next == ""

    @pytest.mark.parametrize(
        ("node", "weight"),
        [("Relu (x)", ""), ("Conv <strides = [2, 2]> (x, w)", "float[1, 1, 1, 1] w = {2}")],
    )
    def test_not_where_no_padding_could_differ(self, node: str, weight: str) -> None:
        model = one(f"y = {node}", inputs="float[1, 1, 4, 4] x", initializers=weight)
        x = np.ones((1, 1, 4, 4), np.float32)
        y = np.ones((1, 1, 2, 2) if weight else x.shape, np.float32) * 7
        result = onnxpad.validate(model, reference={"x": x, "y": y})
        assert result.outcome == "failed"
        assert result.next == ""


def test_an_output_of_equal_sizes_is_compared_in_the_layout_of_the_reference() -> None:
    net = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[1,2,4,4] x) => (float[1,4,4,4] y) '
        "{ half = Softplus (x) y = Concat <axis = 1> (x, half) }"
    )
    x = np.random.default_rng(0).normal(size=(1, 4, 4, 2)).astype(np.float32)
    last = {"x": x, "y": np.concatenate([x, np.log1p(np.exp(x))], axis=-1)}
    result = onnxpad.validate(net, reference=last)
    assert result.ok
    assert not onnxpad.validate(net, reference={**last, "y": last["y"][:, ::-1]}).ok
    for kind in ("f2", "f4", "f8"):
        other = {**last, "y": last["y"].astype(kind)}
        assert onnxpad.validate(net, reference=other).ok
        assert onnxpad.match(net, other).outcome == "matches already"


@each_row(
    ("before", "after", "told"),
    [
        ("float[n, 8] x", "float[1, 8] x", ""),
        ("float[n, 8] x", "float[1, 9] x", "input 'x' nx8 became 1x9"),
        ("float[2] a, float[1, 8] x", "float[3, 8] x", "input 'x' 1x8 became 3x8"),
        ("float[8] x", "float[1, 8] x", "input 'x' 8 became 1x8"),
        ("float[1, 8] x", "float[1, 9] z", ""),
    ],
)
def test_inputs_of_other_sizes_are_named(before: str, after: str, told: str) -> None:
    models = (
        one("y = Relu (y0)", inputs=inputs, initializers="float[1] y0 = {1}")
        for inputs in (before, after)
    )
    assert _resized(*map(Graph.from_proto, models)) == told
