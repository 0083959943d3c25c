"""`onnxpad.show`: every padding of a model, in plain values."""

import onnx
import pytest

import onnxpad
from onnxpad.inventory import PaddingSite
from tests.support import one, parsed

STEM = """stem (float[1, 3, 224, 224] image, float[16, 3, 3, 3] w, float[16, 16, 1, 1] v)
    => (float[] y, float[] z)
{
  sizes = Constant <value_ints = [1, 16, 30, 30]> ()
  pads = Constant <value_ints = [0, 0, 0, 0, 0, 0, 1, 1]> ()
  around = Constant <value_ints = [0, 0, 2, 2, 0, 0, 2, 2]> ()
  padded = Pad (image, pads)
  hidden = Conv <strides = [2, 2]> (padded, w)
  pooled = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (hidden)
  plain = Conv (pooled, v)
  own = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (plain)
  mirrored = Pad <mode = "reflect"> (own, around)
  y = Resize (mirrored, , , sizes)
  z = Conv (mirrored, v)
}
"""


def sites(text: str, **asked: object) -> dict[str, PaddingSite]:
    """The sites of a model by label."""
    found = onnxpad.show(parsed(text), **asked)  # type: ignore[arg-type]
    return {site.node: site for site in found.sites}


def test_every_padding_is_a_site() -> None:
    found = sites(STEM)
    assert [(site.op_type, site.written, site.pads) for site in found.values()] == [
        ("Conv", "Pad", (0, 0, 1, 1)),
        ("MaxPool", "auto_pad=SAME_UPPER", (0, 0, 1, 1)),
        ("Conv", "", (0, 0, 0, 0)),
        ("AveragePool", "pads", (1, 1, 1, 1)),
        ("Conv", "Pad reflect", (2, 2, 2, 2)),
    ]


def test_a_site_says_what_fix_does() -> None:
    found = sites(STEM)
    assert found["<hidden>"].fixable
    assert found["<hidden>"].advice == ("onnxpad fix MODEL",)
    assert not found["<own>"].findings
    mirrored = found["<z>"]
    assert mirrored.stays
    assert not mirrored.fixable
    assert mirrored.findings[0].reason_code == "copies-data"


def test_own_outer_and_total() -> None:
    text = STEM.replace("Conv <strides = [2, 2]>", "Conv <strides = [2, 2], pads = [1, 0, 0, 0]>")
    site = sites(text)["<hidden>"]
    assert (site.own_pads, site.pads) == ((1, 0, 0, 0), (1, 0, 1, 1))
    assert [(pad.node, pad.pads) for pad in site.outer] == [("<padded>", (0, 0, 0, 0, 0, 0, 1, 1))]
    assert [(step.op_type, step.node) for step in site.path] == [
        ("Pad", "<padded>"),
        ("Conv", "<hidden>"),
    ]
    assert site.tensor == "image"
    assert [(axis.name, axis.pair, axis.extent) for axis in site.axes] == [
        ("H", (1, 1), 224),
        ("W", (0, 1), 224),
    ]


@pytest.mark.parametrize("name", ["<hidden>", "<padded>", "hidden", "padded", "image", "<hid*"])
def test_a_site_is_named_by_its_nodes_and_tensors(name: str) -> None:
    assert "<hidden>" in sites(STEM, node=name)


def test_a_name_that_nothing_has() -> None:
    with pytest.raises(onnxpad.UsageError):
        onnxpad.show(parsed(STEM), "hiden")


CROPPED_LATER = one(
    "a = Pad (x, p) b = Pad (a, q) y = Conv (b, w)",
    inputs="float[1, 1, 8, 8] x",
    initializers=f"float[1, 1, 3, 3] w = {{{', '.join('1' * 9)}}},"
    " int64[8] p = {0, 0, 1, 0, 0, 0, 0, 0}, int64[8] q = {0, 0, -1, 0, 0, 0, 1, 0}",
)
MOVED_LATER = one(
    "t = Unsqueeze (x, last) a = Pad (t, p) s = Squeeze (a, last) b = Pad (s, q) y = Conv (b, w)",
    inputs="float[1, 1, 8] x",
    initializers="float[1, 1, 3] w = {1, 2, 3}, int64[1] last = {3},"
    " int64[8] p = {0, 0, 1, 0, 0, 0, 0, 0}, int64[6] q = {0, 0, -1, 0, 0, 1}",
)


@pytest.mark.parametrize("model", [CROPPED_LATER, MOVED_LATER])
def test_what_fix_rewrites_after_another_change_does_not_stay(model: onnx.ModelProto) -> None:
    assert not onnxpad.fix(model, validate=False).findings
    shown = onnxpad.show(model)
    assert shown.sites
    assert not any(site.stays for site in shown.sites)
    assert "leaves" not in str(shown)


def test_a_page_counts_the_operators_that_pad_as_the_text_does() -> None:
    """One of SAME_UPPER or of zeros that pads by nothing is no operator that pads."""
    same = 'auto_pad = "SAME_UPPER"'
    body = f"a = MaxPool <{same}, kernel_shape = [1, 1]> (x) "
    body += f'b = MaxPool <{same}, kernel_shape = [3, 3]> (a) c = Pad <mode = "reflect"> (b, p) '
    nothing = f"int64[8] p = {{{', '.join('0' * 8)}}}"
    inputs = "float[1, 2, 8, 8] x"
    found = onnxpad.show(one(body + "y = Relu (c)", inputs=inputs, initializers=nothing))
    assert "3 operators that can pad; padded: 1" in repr(found)
    assert "padded: 1" in found.to_html()
