"""Every padding of a model is a site, whatever it is and however odd the model."""

import json
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import onnxpad
from onnxpad.inventory import FIX, PaddingSite
from onnxpad.report.documents.show_document import command_text
from onnxpad.report.json import json_of
from onnxpad.report.layout import unmarked

PADS = helper.make_tensor("p", TensorProto.INT64, [8], [0, 0, 1, 1, 0, 0, 1, 1])
WEIGHT = helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 3, 3], [1.0] * 9)
BIG = "n" * 1_000_000
EVIL = "a\n<b>\x1b[2J*?[x]"


def node(op: str, inputs: str, outputs: str, name: str = "", **attributes: Any) -> onnx.NodeProto:
    domain = str(attributes.pop("domain", ""))
    return helper.make_node(op, inputs.split(), outputs.split(), name, domain=domain, **attributes)


def of(
    *nodes: onnx.NodeProto, opset: int = 17, shape: tuple[int | str, ...] | None = (1, 1, 8, 8)
) -> onnx.ModelProto:
    """A model of some nodes, from `x` to the result of the last one."""
    ends = [nodes[-1].output[0]] if nodes else ["x"]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ends],
        [PADS, WEIGHT],
    )
    domains = {each.domain for each in nodes} - {""}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(each, 1) for each in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def sites(model: onnx.ModelProto) -> list[PaddingSite]:
    """The sites of a model, of which both reports can be written."""
    for asked in ((), ("*",)):
        try:
            found = onnxpad.show(model, asked)
        except onnxpad.UsageError:
            assert asked
        else:
            text = found.text()
            assert all(each.isprintable() or each == "\n" for each in text)
            assert len(text) < 10_000
            assert json.loads(json_of(found))["total"] == found.total
    return list(onnxpad.show(model).sites)


def forms(model: onnx.ModelProto) -> list[tuple[str, str, tuple[int, ...] | None]]:
    return [(site.kind, site.written, site.pads) for site in sites(model)]


ONES = (1, 1, 1, 1)
ALONE = (0, 0, 1, 1, 0, 0, 1, 1)
CONV = node("Conv", "t w", "y", "c")


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param([], [], id="an empty graph"),
        pytest.param([node("Relu", "x", "y")], [], id="no operator that pads"),
        pytest.param([node("Pad", "x p", "t"), CONV], [("window", "Pad", ONES)], id="a Pad"),
        pytest.param(
            [node("Pad", "x p", "t"), node("Conv", "t w", "y", pads=[1, 0, 0, 0])],
            [("window", "Pad + pads", (2, 1, 1, 1))],
            id="a Pad and own pads",
        ),
        pytest.param(
            [node("Pad", "x p", "s"), node("Relu", "s", "t"), CONV],
            [("window", "Pad upstream", ONES)],
            id="a step between",
        ),
        pytest.param(
            [node("Pad", "x p", "s"), node("Pad", "s p", "t", mode="reflect"), CONV],
            [("window", "Pad + Pad reflect", (2, 2, 2, 2))],
            id="a Pad of a Pad",
        ),
        pytest.param(
            [
                node("Pad", "x p", "a"),
                node("Pad", "x p", "b"),
                node("Sum", "a b", "s"),
                node("Concat", "a b", "t", axis=0),
                CONV,
            ],
            [("window", "Pad upstream", ONES)],
            id="a join of which all is padded",
        ),
        pytest.param(
            [
                node("Pad", "x p", "a"),
                node("Conv", "x w", "b", pads=[2, 2, 2, 2]),
                node("Concat", "a b", "t", axis=0),
                CONV,
            ],
            [("pad", "Pad", ALONE), ("window", "pads", (2, 2, 2, 2)), ("window", "", (0,) * 4)],
            id="a join of which a part is padded",
        ),
        pytest.param(
            [
                node("Pad", "x p", "a"),
                node("Neg", "a", "b"),
                node("Concat", "a b a", "t", axis=0),
                CONV,
            ],
            [("pad", "Pad", ALONE), ("window", "", (0,) * 4)],
            id="a join that one Pad reaches in several ways",
        ),
        pytest.param(
            [node("Pad", "x p", "y", mode="edge")],
            [("pad", "Pad edge", ALONE)],
            id="an output of the graph",
        ),
        pytest.param(
            [node("Pad", "x p", "s"), node("Sigmoid", "s", "t"), CONV],
            [("pad", "Pad", ALONE), ("window", "", (0, 0, 0, 0))],
            id="a step that no Pad passes",
        ),
        pytest.param(
            [node("Conv", "x w", "y", pads=[1, 1, 1])],
            [("malformed", "pads=[1, 1, 1]", None)],
            id="too few pads",
        ),
        pytest.param(
            [node("Conv", "x w", "t", pads=[1, -1, 1, 1]), node("Conv", "t w", "y", pads=[1] * 4)],
            [("malformed", "pads=[1, -1, 1, 1]", None), ("window", "pads", ONES)],
            id="negative pads, and others that can be read",
        ),
        pytest.param(
            [node("Conv", "x w", "y", auto_pad="SAME")],
            [("malformed", "auto_pad=SAME", None)],
            id="an unknown auto_pad",
        ),
        pytest.param(
            [
                node("Fancy", "x", "t", domain="acme", pads=[1, 1], auto_pad="SAME_UPPER"),
                node("Pad", "t p", "y", domain="acme"),
            ],
            [("other", "auto_pad=SAME_UPPER, pads=[1, 1]", None), ("other", "Pad", None)],
            id="operators of another domain",
        ),
        pytest.param(
            [node("DeformConv", "x w x", "y", pads=[1, 1, 1, 1])],
            [("other", "pads=[1, 1, 1, 1]", None)],
            id="an operator that is not covered",
        ),
        pytest.param(
            [
                node(
                    "ConvTranspose",
                    "x w",
                    "y",
                    pads=[0, 0, 1, 1],
                    output_padding=[1, 0],
                    strides=[2, 2],
                )
            ],
            [("transposed", "pads + output_padding", (0, 0, 0, 1))],
            id="a transposed convolution",
        ),
        pytest.param(
            [node("Pad", "x p", BIG, BIG + "p"), node("Conv", f"{BIG} w", "y", BIG)],
            [("window", "Pad", ONES)],
            id="names of a megabyte",
        ),
        pytest.param(
            [node("Pad", "x p", "t", EVIL), node("Conv", "t w", "y", EVIL + "c")],
            [("window", "Pad", ONES)],
            id="names with escape codes",
        ),
    ],
)
def test_every_padding(
    nodes: list[onnx.NodeProto], expected: list[tuple[str, str, tuple[int, ...] | None]]
) -> None:
    assert forms(of(*nodes)) == expected


@pytest.mark.parametrize("opset", [1, 2, 7, 10])
def test_pads_as_attributes(opset: int) -> None:
    amounts: dict[str, Any] = {"paddings" if opset == 1 else "pads": list(ALONE)}
    model = of(node("Pad", "x", "t", **amounts), CONV, opset=opset)
    assert forms(model) == [("window", "Pad", ONES)]


def test_axes_of_channels_last() -> None:
    (site,) = sites(
        of(
            node(
                "NhwcMaxPool", "x", "y", domain="com.microsoft", kernel_shape=[3, 3], pads=[1] * 4
            ),
            shape=(1, 8, 9, 1),
        )
    )
    assert [(axis.axis, axis.name, axis.extent) for axis in site.axes] == [(1, "H", 8), (2, "W", 9)]


def test_an_open_size_has_a_formula() -> None:
    nodes = node("Conv", "x w", "y", auto_pad="SAME_UPPER", strides=[2, 2])
    (site,) = sites(of(nodes, shape=(1, 1, "height", 9)))
    high, wide = site.axes
    assert (site.pads, high.pair[1], site.amounts) == (None, 1, "H 0..1+1, W 1+1")
    assert (wide.pair, wide.formula) == ((1, 1), "")
    assert site.advice == (
        "onnxpad fix MODEL --dim height=N",
        "onnxpad fix MODEL --dynamic pad",
    )
    (fixed,) = onnxpad.show(of(nodes, shape=(1, 1, "height", 9)), dims={"height": 8}).sites
    assert fixed.pads == (0, 1, 1, 1)


def test_a_shared_pad_is_told_for_each_reader() -> None:
    model = of(
        node("Pad", "x p", "t", "pad"),
        node("MaxPool", "t", "m", "m", kernel_shape=[3, 3]),
        node("Conv", "t w", "c", "c"),
        node("Sum", "m c", "y"),
    )
    pool, conv = sites(model)
    assert (pool.fixable, pool.stays) == (False, True)
    assert (conv.fixable, conv.stays) == (True, False)


def test_padding_in_bodies_that_are_not_looked_into() -> None:
    inner = helper.make_graph(
        [node("Pad", "x p", "s", "bp"), node("Conv", "s w", "z", "bc")],
        "b",
        [],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
    )
    model = of(node("Run", "x", "y", "run", domain="acme", body=inner))
    found = {site.node: site for site in sites(model)}
    assert list(found) == ["Run 'run' > body > Pad 'bp'", "Run 'run' > body > Conv 'bc'"]
    assert {site.scope for site in found.values()} == {"Run 'run' > body"}
    assert [each.code for each in found["Run 'run' > body > Pad 'bp'"].findings] == ["PAD903"]


def test_a_function_that_cannot_be_opened_is_told() -> None:
    model = of(node("Conv", "x w", "y", "c", pads=[1, 1, 1, 1]))
    known, unknown = (helper.make_opsetid("", version) for version in (17, 99))
    twice = [node("Pad", "a p", "z"), node("Relu", "a", "z")]
    pad = [node("Pad", "a p", "z", "fp")]
    model.functions.extend(
        [
            helper.make_function("f", "twice", ["a", "p"], ["z"], twice, [known]),
            helper.make_function("f", "unknown", ["a", "p"], ["z"], pad, [unknown]),
        ]
    )
    with pytest.raises(onnxpad.ModelError, match="function f::twice: tensor 'z' is defined twice"):
        sites(model)


def test_a_model_that_check_cannot_read() -> None:
    found = onnxpad.show(
        of(node("Conv", "x w", "t", pads=[1, 1, 1]), node("Conv", "x w", "y", pads=[1] * 4))
    )
    assert not found.is_checked
    assert [site.kind for site in found.sites] == ["malformed", "window"]


def test_a_pad_that_changes_a_crop_pads_no_window() -> None:
    model = of(
        node("ConvTranspose", "x w", "u", "up", strides=[2, 2], output_padding=[0, 0]),
        node("Pad", "u ends", "t", "pad"),
        CONV,
    )
    ends = [0, 0, 0, 0, 0, 0, 1, 1]
    model.graph.initializer.append(helper.make_tensor("ends", TensorProto.INT64, [8], ends))
    up, conv = sites(model)
    assert ([each.node for each in up.path[1:]], up.pads) == (["pad"], (0, 0, -1, -1))
    assert (conv.written, conv.pads) == ("", (0, 0, 0, 0))


def test_a_convention_is_that_of_the_total() -> None:
    half = node("Conv", "t w", "y", "c", pads=[1, 1, 1, 1])
    assert sites(of(node("Relu", "x", "t"), half))[0].convention == "TensorFlow, PyTorch"
    copied = sites(of(node("Pad", "x p", "t", mode="reflect"), half))[0]
    assert (copied.pads, copied.convention, copied.conventions) == ((2, 2, 2, 2), "", ())


def test_the_convention_of_an_operator_is_not_that_of_a_pad_and_it() -> None:
    pad, conv = node("Pad", "x p", "t"), node("Conv", "t w", "y", auto_pad="SAME_UPPER")
    conv.attribute.append(helper.make_attribute("strides", [2, 2]))
    (site,) = sites(of(pad, conv, shape=None))
    assert (site.conventions, site.convention) == ((), "")


@pytest.mark.parametrize(("amount", "fates"), [(1, ["", "fix"]), (-1, ["fix", ""])])
def test_a_pad_between_a_transposed_convolution_and_a_window(amount: int, fates: list[str]) -> None:
    model = of(
        node("ConvTranspose", "x w", "t", strides=[2, 2]),
        node("Pad", "t q", "u", "pad"),
        node("Conv", "u w", "y"),
    )
    amounts = [0, 0, amount, amount] * 2
    model.graph.initializer.append(helper.make_tensor("q", TensorProto.INT64, [8], amounts))
    found = sites(model)
    assert ["fix" * site.fixable + "stays" * site.stays for site in found] == fates


def test_a_malformed_output_shape_is_shown_as_written() -> None:
    (site,) = sites(of(node("ConvTranspose", "x w", "y", output_shape=[1, 1, 16, 16])))
    assert (site.kind, site.written) == ("malformed", "output_shape=[1, 1, 16, 16]")


def test_a_path_that_reads_as_an_option() -> None:
    told = [unmarked(command_text(FIX, name)).split() for name in ("-a b", "")]
    assert told == [["onnxpad", "fix", "'./-a", "b'"], ["onnxpad", "fix", "MODEL"]]


def test_a_long_chain_of_pads() -> None:
    q = helper.make_tensor("q", TensorProto.INT64, [8], [0, 0, 0, 0, 0, 0, 0, 1])
    chain = [node("Pad", f"{f't{i - 1}' if i else 'x'} q", f"t{i}", f"pad{i}") for i in range(300)]
    model = of(*chain, node("Conv", "t299 w", "y", "conv"))
    model.graph.initializer.append(q)
    found = onnxpad.show(model).sites
    assert sum(max(len(site.outer), 1) for site in found) == 300
    conv = found[-1]
    assert conv.pads == (0, 0, 0, len(conv.outer))
    assert conv.axes[1].extent == 8 + 300 - len(conv.outer)


def test_a_crop_that_is_not_in_the_total() -> None:
    model = of(node("ConvTranspose", "x w", "t"), node("Pad", "t p", "y", "pad"))
    (site,) = sites(model)
    assert (site.amounts, site.written) == ("none", "Pad downstream")
    assert [step.node for step in site.path[1:]] == ["pad"]


def test_what_fits_a_rarer_framework_is_not_said_to_fit_none() -> None:
    """The table, the page of one operator and the line of conventions say the same."""
    model = of(
        node("MaxPool", "x", "y", "pool", kernel_shape=[2, 2], strides=[2, 2], pads=[2, 2, 1, 1]),
        shape=(1, 1, 9, 9),
    )
    (site,) = sites(model)
    assert (site.conventions, site.convention) == (("cudnn",), "cuDNN")
    shown = onnxpad.show(model)
    assert shown.conventions == ("1 operator fits cuDNN",)
    assert "fits cuDNN " in " ".join(str(onnxpad.show(model, "pool")).split())
