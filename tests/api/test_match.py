"""`match`: padding is found where it is the difference, and never where it is not."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import onnxpad
from onnxpad.frameworks.repadding import sites
from tests.frameworks.repadding import ports
from tests.support import MODELS, Array, checked, one, parsed, run
from tests.support.rows import one_in

SIZE = 20
END, BOTH, BEGIN, NONE = [0, 0, 1, 1], [1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]


def network(
    *pads: list[int],
    opset: int = 17,
    pool: str = "",
    activation: str = "Relu",
    scale: float = 1.0,
    seed: int = 3,
    end: str = "[mean] y = GlobalAveragePool (END)",
) -> onnx.ModelProto:
    """Three strided convolutions in a row, each with its pads, then a pool and a mean."""
    source = np.random.default_rng(seed)
    body, weights, data = "", [], "x"
    for place, each in enumerate(pads):
        weight = scale * source.normal(size=(4, 4 if place else 3, 3, 3)) / 3
        weights.append(numpy_helper.from_array(weight.astype(np.float32), f"w{place}"))
        body += f"[conv{place}] c{place} = Conv <pads = {each}, strides = [2, 2]> "
        body += f"({data}, w{place}) a{place} = {activation} (c{place}) "
        data = f"a{place}"
    if pool:
        body, data = f"{body} [pool] p = {pool} ({data}) ", "p"
    body += end.replace("END", data)
    kind = "int64" if "ArgMax" in body else "float"
    output = "z" if " z = " in body else "y"
    shape = "" if "keepdims" in body else "a, b, c, d"
    text = f"net (float[1, 3, {SIZE}, {SIZE}] x) => ({kind}[{shape}] {output}) {{ {body} }}"
    model = parsed(text, opset=opset)
    model.graph.initializer.extend(weights)
    return model


def image(seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(1, 3, SIZE, SIZE)).astype(np.float32)


def recorded(model: onnx.ModelProto, *inner: str, seed: int = 0) -> dict[str, Array]:
    """Inputs, outputs and inner tensors of the network that is meant."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inner)
    names = [output.name for output in copy.graph.output]
    data = image(seed)
    return {"x": data, **dict(zip(names, run(copy, {"x": data}), strict=True))}


def pads_of(model: onnx.ModelProto) -> dict[str, list[int]]:
    """The pads of the convolutions."""
    return {
        node.name: next((list(a.ints) for a in node.attribute if a.name == "pads"), NONE)
        for node in model.graph.node
        if node.op_type == "Conv"
    }


def opened(model: onnx.ModelProto) -> onnx.ModelProto:
    for axis, name in ((2, "height"), (3, "width")):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    return model


RIGHT, WRONG = network(END, END, BOTH), network(BOTH, BOTH, BOTH)


@pytest.mark.parametrize("opset", [9, 17])
def test_one_convention_for_all(opset: int) -> None:
    right = network(END, END, BOTH, opset=opset)  # 20, 10, 5: symmetric at the odd size
    found = onnxpad.match(network(BOTH, BOTH, BOTH, opset=opset), recorded(right))
    assert (found.outcome, found.ok) == ("matched", True)
    assert found.matching.by == "tensorflow"
    assert pads_of(found.model) == {"conv0": END, "conv1": END, "conv2": BOTH}
    assert [change.node for change in found.changes] == ["conv0", "conv1"]
    assert {(change.pytorch, change.keras) for change in found.changes} == {
        ("nn.Conv2d(c, n, 3, stride=2)(F.pad(x, (0, 1, 0, 1)))",
         "Conv2D(n, 3, strides=2, padding='same')")
    }  # fmt: skip
    assert found.matching.before > 0.01
    assert found.matching.after < 1e-5
    onnxpad.validate(found.model, reference=recorded(right)).raise_for_failure()


def test_what_is_written_reproduces_inner_tensors_too(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = recorded(RIGHT, "c0", "c1", "c2")
    del arrays["y"]
    found = onnxpad.match(WRONG, arrays)
    assert found.outcome == "matched"
    assert any("not compared" in note for note in found.matching.notes)
    monkeypatch.setattr(sites, "write", lambda *_: None)
    found = onnxpad.match(WRONG, arrays)
    assert found.outcome == "not matched"
    assert found.reason
    assert found.model == WRONG


@pytest.mark.parametrize("pads", [(END, BOTH, BEGIN), (BOTH, END, NONE)])
def test_a_mixture_is_found_operator_by_operator(pads: tuple[list[int], ...]) -> None:
    right = network(*pads)
    found = onnxpad.match(WRONG, recorded(right))
    assert found.outcome == "matched"
    for seed in range(3):
        other = {"x": image(seed)}
        np.testing.assert_allclose(run(found.model, other), run(right, other), rtol=1e-5)


@pytest.mark.parametrize(
    ("pads", "other"),
    one_in(
        2,
        [
            ((BOTH, BOTH, BOTH), {"activation": "Tanh"}),
            ((BOTH, BOTH, BOTH), {"scale": 1 / 255}),
            ((END, END, BOTH), {"scale": 1.05}),
            ((END, END, BOTH), {"seed": 4}),
        ],
    ),
)
def test_what_is_not_padding_is_never_matched(
    pads: tuple[list[int], ...], other: dict[str, Any], tmp_path: Path
) -> None:
    wrong = network(*pads)
    found = onnxpad.match(wrong, recorded(network(END, END, BOTH, **other)))
    assert found.outcome == "not matched"
    assert found.model == wrong
    for act in (lambda: found.save(tmp_path / "out.onnx"), found.raise_for_failure):
        with pytest.raises(onnxpad.ValidationError):
            act()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", one_in(4, zip(ports.CHOSEN)))
def test_ports_with_wrong_pads_are_found(name: str) -> None:
    (port,) = ports.wrong([name])
    found = onnxpad.match(port.model, port.reference)
    assert found.outcome == "matched", found.reason
    values = run(found.model, {"x": port.reference["x"]})
    for value, wanted in zip(values, [*port.reference.values()][1:], strict=True):
        assert np.allclose(value, wanted, rtol=0, atol=1e-5 * np.ptp(wanted))


@pytest.mark.night
@pytest.mark.parametrize(
    ("build", "names"),
    one_in(2, [(ports.nasnet, {"a weight scaled"}), (ports.deeplab, {"other weights", "noise"})]),
)
def test_what_is_perturbed_is_no_part(build: ports.Build, names: set[str]) -> None:
    """Single operators come near anything: nine tenths of the first difference go with eleven."""
    for port in ports.perturbed([build], names):
        found = onnxpad.match(port.model, port.reference, seconds=2)
        assert found.outcome == "not matched", port.name
        assert found.changes == ()


CLASS = "y = GlobalAveragePool (END) z = ArgMax <axis = 1> (y)"
SHARP = """factor = Constant <value_float = 1000.0> () y = GlobalAveragePool (END)
    large = Mul (y, factor) z = Softmax <axis = 1> (large)"""


@pytest.mark.parametrize(
    ("end", "seeds"), [(CLASS, (0, 1, 2, 3, 7, 8)), (SHARP, (150, 154, 159, 160, 161))]
)
def test_a_class_alone_tells_no_padding(end: str, seeds: tuple[int, ...]) -> None:
    """One of four agrees by chance, also with other weights: some padding fits."""
    further = 100 if end is CLASS else -100
    for seed in seeds:
        reference = recorded(network(END, END, BOTH, seed=seed + further, end=end))
        mine = network(BOTH, BOTH, BOTH, seed=seed, end=end)
        found = onnxpad.match(mine, reference)
        assert found.outcome in {"matches already", "not matched"}
        assert found.model == mine


def test_inner_tensors_to_record_are_named_and_find_it() -> None:
    """The greatest of four means tells no padding; the outputs of the convolutions do."""
    right, wrong = (network(each, each, BOTH, end=CLASS) for each in (END, BOTH))
    arrays = recorded(right)
    found = onnxpad.match(wrong, {**arrays, "z": (arrays["z"] + 1) % 4})
    assert (found.outcome, found.matching.record) == ("not matched", ("c0", "c1", "c2"))
    found = onnxpad.match(wrong, recorded(right, *found.matching.record))
    assert (found.outcome, found.matching.record) == ("matched", ())


def test_what_differs_by_what_the_optimiser_changes_matches_already() -> None:
    """A quantised model is off by some steps at other levels, and no padding is at fault."""
    path = MODELS / "mobilenet_qdq.onnx"
    with np.load(path.with_suffix(".npz")) as arrays:
        feeds = {"input": arrays["input"]}
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    values = dict(zip(names, session.run(names, feeds), strict=True))
    found = onnxpad.match(path, {**feeds, **values})
    assert (found.outcome, found.changes) == ("matches already", ())
    assert found.matching.runs < 9
    assert 0 < found.matching.before < 2 * found.matching.noise


def test_noise_that_hides_what_padding_does_is_no_match() -> None:
    """Not even where the output that is told apart is one of several."""
    text, data = "q = Conv<pads = [1, 1, 1, 1]>(x, w)", "x"
    for place in range(40):
        text += f" c{place} = Conv<pads = [1, 1, 1, 1]>({data}, w) t{place} = Tanh(c{place})"
        data = f"t{place}"
    shape = f"float[1, 3, {SIZE}, {SIZE}]"
    model = parsed(f"g ({shape} x) => ({shape} {data}, {shape} q) {{ {text} }}")
    weight = np.random.default_rng(1).normal(0, 5, (3, 3, 3, 3)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    loud, quiet = run(model, {"x": image()})
    for reference in ({data: image(1), "q": quiet}, {data: loud, "q": quiet + 10}):
        found = onnxpad.match(model, {"x": image(), **reference})
        assert (found.outcome, found.exit_code) == ("not matched", 3)
        assert found.matching.noise > 0.1


def test_what_is_small_or_of_one_number() -> None:
    small = network(BOTH, BOTH, BOTH, scale=1e-3)
    zeros = {"x": image(), "y": np.zeros((1, 4, 1, 1), np.float32)}
    assert onnxpad.match(small, zeros).outcome == "not matched"
    end = "y = GlobalAveragePool (END) z = ReduceMean <keepdims = 0> (y)"
    right, wrong = (network(each, each, BOTH, end=end) for each in (END, BOTH))
    assert onnxpad.match(wrong, recorded(right)).outcome == "matched"


def test_a_shape_that_fits_explains_nothing_by_itself() -> None:
    weight = np.random.default_rng(1).normal(size=(2, 3, 3, 3)).astype(np.float32)
    net = parsed("g (float[1,3,9,9] x) => (float[1,2,H,W] y) { y = Conv (x, w) }")
    net.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    source = np.random.default_rng(2)
    x = (source.normal(size=(1, 3, 9, 9)) ** 5).astype(np.float32)  # most values are near 0
    right = onnx.ModelProto()
    right.CopyFrom(net)
    right.graph.node[0].attribute.append(helper.make_attribute("pads", BOTH))
    (meant,) = run(right, {"x": x})
    unrelated = source.permutation(meant.reshape(-1)).reshape(meant.shape)
    assert onnxpad.match(net, {"x": x, "y": unrelated}).outcome == "not matched"
    assert onnxpad.match(net, {"x": x, "y": meant}).outcome == "matched"
    assert onnxpad.match(net, {"x": x, "y": meant * 1.03}).outcome == "not matched"


@pytest.mark.parametrize(
    ("wrong", "right", "opset"),
    [
        ("MaxPool <kernel_shape = [2, 2], strides = [2, 2]>", ", ceil_mode = 1>", 17),
        (
            "AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]>",
            ", count_include_pad = 1>",
            17,
        ),
        # Of 10 elements 3, or 4: the first three opsets cannot tell that by `ceil_mode`.
        ("LpPool <kernel_shape = [3, 3], strides = [3, 3], p = 2>", ", pads = [0, 0, 2, 2]>", 13),
        ("MaxPool <kernel_shape = [3, 3], strides = [3, 3]>", ", pads = [0, 0, 2, 2]>", 9),
        ("AveragePool <kernel_shape = [3, 3], strides = [3, 3]>", ", pads = [0, 0, 2, 2]>", 9),
        ("LpPool <kernel_shape = [3, 3], strides = [3, 3]>", ", pads = [0, 0, 2, 2]>", 18),
    ],
)
def test_pools_that_round_up_or_count_padding(wrong: str, right: str, opset: int) -> None:
    ours, theirs = ([BOTH, BOTH], [END, END]) if opset == 17 else ([END], [END])
    meant = network(*theirs, pool=wrong.replace(">", right), opset=opset, activation="Tanh")
    mine = network(*ours, pool=wrong, opset=opset, activation="Tanh")
    found = onnxpad.match(mine, recorded(meant))
    assert found.outcome == "matched"
    onnx.checker.check_model(found.model, full_check=True)
    changed = ["conv0", "conv1", "pool"] if opset == 17 else ["pool"]
    assert [each.node for each in found.changes] == changed
    assert opset == 17 or ("ceil_mode" in found.changes[0].attributes) is (opset == 18)


def test_inner_tensors_tell_where_it_ends() -> None:
    """The second weight is another one: the first operator is reached, the second one is not."""
    other = network(END, END, BOTH)
    weight = numpy_helper.to_array(other.graph.initializer[1]) * 1.5
    other.graph.initializer[1].CopyFrom(numpy_helper.from_array(weight, "w1"))
    found = onnxpad.match(WRONG, recorded(other, "c0", "c1", "c2"))
    assert (found.outcome, found.matching.first) == ("not matched", "Conv conv1")
    assert min(each.error for each in found.matching.tried) > 0.1  # by all, not by c0
    assert [each.node for each in found.changes] == ["conv0"]
    assert found.model == WRONG
    upstream = {name: value for name, value in recorded(other, "c0").items() if name != "y"}
    assert pads_of(onnxpad.match(WRONG, upstream).model)["conv0"] == END
    found = onnxpad.match(network(END, BOTH, BOTH), recorded(other, "c0", "c1", "c2"))
    assert (found.outcome, found.matching.first) == ("not matched", "Conv conv1")
    found = onnxpad.match(WRONG, recorded(RIGHT, "c0", "a1"))
    assert (found.outcome, found.matching.first) == ("matched", "")
    assert pads_of(found.model) == pads_of(RIGHT)
    other.graph.output.append(helper.make_tensor_value_info("w1", 1, None))
    told = {**recorded(RIGHT, "c0"), "w1": np.zeros_like(weight)}
    assert onnxpad.match(other, told).matching.first == "w1"  # which nothing computes


def test_inner_tensors_that_are_folded_are_left_out() -> None:
    """The output of a `Pad` that its Conv takes up is no tensor of the model any more."""

    def padded(amounts: list[int]) -> onnx.ModelProto:
        model = network(NONE, END, BOTH)
        model.graph.node[0].input[0] = "q"
        model.graph.node.insert(0, helper.make_node("Pad", ["x", "amounts"], ["q"], "pad"))
        whole = np.array([0, 0, *amounts[:2], 0, 0, *amounts[2:]])
        model.graph.initializer.append(numpy_helper.from_array(whole, "amounts"))
        return model

    arrays = recorded(padded(END), "q", "c1")
    found = onnxpad.match(padded(BOTH), arrays)
    assert found.outcome == "matched"
    assert any("'q'" in line for line in found.matching.notes)
    with pytest.raises(onnxpad.UsageError):
        onnxpad.match(padded(BOTH), {name: arrays[name] for name in ("x", "q")})


def test_samples_are_held_out_and_may_have_different_inner_tensors() -> None:
    samples = [recorded(RIGHT), recorded(RIGHT, "c0", seed=1), recorded(RIGHT, "c1", seed=2)]
    assert onnxpad.match(WRONG, samples).outcome == "matched"
    without = {name: value for name, value in samples[1].items() if name != "y"}
    assert onnxpad.match(WRONG, [samples[0], without]).outcome == "matched"
    assert onnxpad.match(network(NONE, END, BOTH), samples[1]).matching.worst == "c0"
    other = recorded(network(BEGIN, BOTH, BOTH, seed=9), seed=1)
    assert onnxpad.match(WRONG, [samples[0], other]).outcome == "not matched"


def test_layout_and_names_are_another_frameworks() -> None:
    arrays = recorded(RIGHT)
    reference = {"image": np.moveaxis(arrays["x"], 1, -1), "scores": arrays["y"].reshape(1, 4)}
    found = onnxpad.match(WRONG, reference)
    assert found.outcome == "matched"
    assert any("'x'" in note and "channels moved" in note for note in found.matching.notes)
    assert any("by order" in line for line in found.matching.notes)


@pytest.mark.parametrize("dilation", [1, 2])
def test_open_sizes_get_what_holds_at_every_size(dilation: int) -> None:
    """SAME is `auto_pad`, which onnxruntime refuses of a dilated convolution."""

    def dilated(pads: list[int]) -> onnx.ModelProto:
        model = network([each * dilation for each in pads], BOTH)
        if dilation == 2:
            model.graph.node[0].attribute.append(helper.make_attribute("dilations", [2, 2]))
            if pads == END:
                model.graph.node[0].attribute[0].ints[:] = [1, 1, 2, 2]
        return opened(model)

    found = onnxpad.match(dilated(BOTH), recorded(dilated(END)))
    assert found.outcome == "matched"
    written = {a.name: helper.get_attribute_value(a) for a in found.model.graph.node[0].attribute}
    if dilation == 1:
        assert written["auto_pad"] == b"SAME_UPPER"
    else:
        assert written["pads"] == [1, 1, 2, 2]


def test_conventions_that_agree_at_the_recorded_sizes_alone_are_told(tmp_path: Path) -> None:
    """A pool that rounds up is TensorFlow's SAME at an even size; another sample decides."""
    pool = "MaxPool <kernel_shape = [3, 3], strides = [2, 2], {}>"
    hows = "ceil_mode = 1", "pads = [1, 1, 1, 1]"
    right, wrong = (opened(network(pool=pool.format(how))) for how in hows)
    paths = []
    for size in (20, 19):
        x = image()[..., :size, :size]
        paths.append(tmp_path / f"{size}.npz")
        np.savez(paths[-1], x=x, y=run(right, {"x": x})[0])
    (change,) = onnxpad.match(wrong, paths[0]).changes
    assert (change.name, "caffe-ceil" in change.parting) == ("tensorflow-same", True)
    found = onnxpad.match(wrong, paths)
    assert [change.parting for change in found.changes] == [()]
    for size in (17, 18):
        x = image()[..., :size, :size]
        assert np.array_equal(run(found.model, {"x": x}), run(right, {"x": x}))
    two = "q = POOL (END) y = ReduceMax (q)"
    pools = map(pool.format, ("ceil_mode = 0", "ceil_mode = 1"))
    ours, theirs = (network(pool=each, end=two.replace("POOL", each)) for each in pools)
    found = onnxpad.match(ours, recorded(theirs, "q"))  # at sizes that are fixed
    assert [change.parting for change in found.changes] == [(), ()]


def test_a_size_is_told_that_parts_what_fits_the_recorded_ones() -> None:
    """At 17, 9 and 5 pads of 1 are TensorFlow's; whether the model changes, or matches already."""
    mine, theirs = (opened(network(each, BOTH, activation="Tanh")) for each in (BOTH, END))
    theirs.graph.node[0].attribute[0].CopyFrom(helper.make_attribute("auto_pad", "SAME_UPPER"))
    mine.graph.input.append(helper.make_tensor_value_info("w0", 1, ["O", 3, 3, 3]))
    x, y = (np.resize(image(), (1, 3, size, size)) for size in (17, 18))
    for meant, given, size in ((mine, [x], 18), (theirs, [x, y], 19), (mine, [x, y], 0)):
        found = onnxpad.match(mine, [{"x": e, "y": run(meant, {"x": e})[0]} for e in given])
        assert found.outcome == ("matched" if meant is theirs else "matches already")
        told = found.matching.rivals, {*found.matching.further.values()}
        assert told == ((("tensorflow",), {size}) if size else ((), set()))
        assert not any(each.pytorch for each in found.changes)  # of 17 and 18 alike
    flat = opened(network(BOTH, BOTH, scale=0.0))
    assert not onnxpad.match(flat, {"x": x, "y": run(flat, {"x": x})[0]}).matching.rivals
    (batched := network(BOTH)).graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    assert not onnxpad.match(batched, recorded(batched)).matching.further  # no window slides there


def test_at_open_sizes_what_has_a_name_comes_first_and_what_stays_open_is_told() -> None:
    for name, left in (("dynamic_keras", ()), ("timm_same_torchscript", ("/pool/MaxPool",))):
        port = onnxpad.repad(MODELS / f"{name}.onnx", "pytorch").model
        found = onnxpad.match(port, MODELS / f"{name}.npz")
        assert {each.name for each in found.changes} == {"tensorflow-same"}
        assert (found.matching.undecided, found.is_quiet_success) == (left, False)
        assert all(each in str(found) for each in ("not decided: ", *left))


def test_what_tells_nothing_is_not_searched() -> None:
    flat, hole, lost = network(BOTH, scale=0.0), recorded(RIGHT), recorded(RIGHT)
    hole["x"][0, 0, 0, 0] = lost["y"][0, 2] = np.nan
    rows = [(flat, recorded(flat), "nothing compared"), (WRONG, hole, "'x'"), (WRONG, lost, "'y'")]
    for e in ((1, 5, 1, 1), (2, 4, 3, 3)):
        rows += [(WRONG, {"x": image(), "y": np.ones(e, np.float32)}, "x".join(map(str, e)))]
    for model, reference, told in rows:
        found = onnxpad.match(model, reference)
        assert (found.outcome, found.exit_code, told in found.reason) == ("not matched", 3, True)
        assert found.matching.runs < 4
    # The model has NaN of its own, and elsewhere.
    right, wrong = (network(each, activation="Tanh", end="y = Sqrt (END)") for each in (END, BOTH))
    assert onnxpad.match(wrong, recorded(right)).outcome == "matched"


def test_what_is_given_comes_back_and_arguments_that_do_not_fit_are_refused() -> None:
    reference = recorded(RIGHT)
    found = onnxpad.match(WRONG.SerializeToString(), reference).as_same_kind()
    assert onnx.load_from_string(found) == onnxpad.match(WRONG, reference).model
    wrong: list[dict[str, Any]] = [
        {"rtol": -1.0},
        {"seconds": math.inf},
        {"reference": {"x": image()}},
        {"reference": {"y": np.zeros((1, 4), np.float32)}},
        {"reference": 3},
    ]
    for arguments in wrong:
        with pytest.raises(onnxpad.UsageError):
            onnxpad.match(WRONG, **{"reference": reference, **arguments})
    with pytest.raises(onnxpad.UsageError, match="and inside it 'c0', 'c1', 'c2'"):
        onnxpad.match(WRONG, {**reference, "conv1": image()})


@pytest.mark.parametrize(
    ("op", "pads", "name"),
    [
        # A causal series that was exported as 2-D.
        ("Conv <dilations = [1, 2], {}>", ("0, 4, 0, 0", "0, 2, 0, 2"), "keras-causal"),
        (
            "ConvTranspose <strides = [1, 2], {}>",
            ("0, 1, 0, 1], output_padding = [0, 1", "0, 0, 0, 1"),
            "pytorch-output-padding",
        ),
    ],
)
def test_what_is_found_is_named_as_explain_names_it(
    op: str, pads: tuple[str, str], name: str
) -> None:
    right, wrong = (
        one(
            f"y = {op.format(f'pads = [{each}]')} (x, w)",
            inputs="float[1, 1, 1, 9] x",
            initializers="float[1, 1, 1, 3] w = {1, 2, 4}",
        )
        for each in pads
    )
    data = {"x": np.array([[[[1, 2, 4, 8, 3, 5, 7, 6, 9]]]], np.float32)}
    result = onnxpad.match(wrong, {**data, "y": run(right, data)[0]})
    assert [change.name for change in result.changes] == [name]
    assert np.array_equal(run(result.model, data)[0], run(right, data)[0])


def test_an_output_of_text_is_compared_too() -> None:
    text = """g (float[1, 1, 8, 8] x, string[2] t) => (float[1, 1, a, b] y, string[2] u) {{
        y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [{}]> (x)
        u = Identity (t)
    }}"""
    x = np.random.default_rng(0).normal(size=(1, 1, 8, 8)).astype(np.float32)
    feeds = {"x": x, "t": np.array(["a", "b"], object)}
    y, u = run(checked(text.format("1, 1, 0, 0")), feeds)
    mine = checked(text.format("0, 0, 1, 1"))
    assert onnxpad.match(mine, {**feeds, "y": y, "u": u}).outcome == "matched"
