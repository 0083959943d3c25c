"""Every padding of a model is a site, whatever it is and however odd the model.

All that is told of each, `sites.txt` keeps.
"""

import json
import random
from collections import Counter
from pathlib import Path

import onnx
import pytest
from onnx import helper

import onnxpad
from onnxpad.graph import Graph
from onnxpad.inventory import FIX, PaddingSite, chosen, padding_differences
from onnxpad.report.documents.show_document import command_text
from onnxpad.report.json import json_of
from onnxpad.report.layout import unmarked
from tests.random_models.draw import draw_model
from tests.support import ROOT, W, one
from tests.support.rows import each_row, one_in, rows_below

ROWS = Path(__file__).with_name("rows.txt")
GIVEN = (
    "float[1, 1, 3, 3] w = {1, 1, 1, 1, 1, 1, 1, 1, 1}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1},"
    " int64[8] crop = {0, 0, -1, -1, 0, 0, -1, -1}, int64[8] end = {0, 0, 0, 0, 0, 0, 1, 1}"
)
SQUARE = "float[1, 1, 8, 8] x"


def of(body: str, inputs: str = SQUARE, opset: int = 17) -> onnx.ModelProto:
    return one(body, inputs=inputs, initializers=GIVEN, opset=opset)


def sites(model: onnx.ModelProto) -> list[PaddingSite]:
    """The sites of a model, of which both reports can be written."""
    found = onnxpad.show(model)
    for each in (found, *([onnxpad.show(model, ("*",))] if found.sites else [])):
        text = each.text()
        assert all(letter.isprintable() or letter == "\n" for letter in text)
        assert len(text) < 10_000
        assert json.loads(json_of(each))["total"] == each.total
    return [*found.sites]


def told(site: PaddingSite) -> str:
    pads = "?" if site.pads is None else ",".join(map(str, site.pads))
    return f"{site.kind} {site.written or '-'} {pads}"


@each_row(("body", "expected"), [row[:2] for row in rows_below(ROWS, "sites")])
def test_every_padding(body: str, expected: str) -> None:
    assert ("; ".join(map(told, sites(of(body)))) or "nothing") == expected


@each_row(("body", "expected"), rows_below(ROWS, "conventions of a total"))
def test_a_convention_is_that_of_the_total(body: str, expected: str) -> None:
    found = sites(of(body, f"{SQUARE}, int64[8] fed"))
    assert (found[-1].convention or "none") == expected


@pytest.mark.parametrize("names", [("n" * 1_000_000,) * 2, ("a\n<b>\x1b[2J*?[x]", "t")])
def test_any_name_can_be_shown(names: tuple[str, str]) -> None:
    model = of("a = Pad (x, p) y = Conv (a, w)")
    pad, conv = model.graph.node
    pad.name, conv.name = names[0] + "p", names[0]
    pad.output[0] = conv.input[0] = names[1]
    assert [*map(told, sites(model))] == ["window Pad 1,1,1,1"]


def test_an_open_size_has_a_formula() -> None:
    same = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
    model = of(same, "float[1, 1, height, 9] x")
    (site,) = sites(model)
    high, wide = site.axes
    assert (site.pads, high.pair[1], site.amounts) == (None, 1, "H 0..1+1, W 1+1")
    assert (wide.pair, wide.formula) == ((1, 1), "")
    assert site.advice == ("onnxpad fix MODEL --dim height=224", "onnxpad fix MODEL --dynamic pad")
    (fixed,) = onnxpad.show(model, dims={"height": 8}).sites
    assert fixed.pads == (0, 1, 1, 1)
    told = [unmarked(command_text(FIX, name)).split() for name in ("-a b", "")]
    assert told == [["onnxpad", "fix", "'./-a", "b'"], ["onnxpad", "fix", "MODEL"]]


@pytest.mark.parametrize(("amounts", "fates"), [("p", ["", "fix"]), ("crop", ["fix", ""])])
def test_a_pad_between_a_transposed_convolution_and_a_window(
    amounts: str, fates: list[str]
) -> None:
    body = f"t = ConvTranspose <strides = [2, 2]> (x, w) [pad] u = Pad (t, {amounts})"
    found = sites(of(f"{body} y = Conv (u, w)"))
    assert ["fix" * site.fixable + "stays" * site.stays for site in found] == fates
    (behind,) = sites(of(f"{body} y = Relu (u)"))
    assert [step.node for step in behind.path[1:2]] == ["pad"]


def test_a_model_that_check_cannot_read() -> None:
    body = "t = Conv <pads = [1, 1, 1]> (x, w) y = Conv <pads = [1, 1, 1, 1]> (x, w)"
    assert not onnxpad.show(of(body)).is_checked
    model = of("[c] y = Conv <pads = [1, 1, 1, 1]> (x, w)")
    twice = [helper.make_node(op, ["a"], ["z"]) for op in ("Neg", "Relu")]
    body_of = helper.make_function("f", "twice", ["a"], ["z"], twice, model.opset_import[:1])
    model.functions.append(body_of)
    with pytest.raises(onnxpad.ModelError, match="function f::twice: tensor 'z' is defined twice"):
        sites(model)


# The sites that a user names


@each_row(
    ("patterns", "places"),
    [
        ([], []), (["first"], [0]), (["f?rst"], [0, 1]), (["f*"], [0, 1]), (["?????"], [0, 1]),
        (["la[s]*"], [2]), (["y", "x"], [0, 2]), (["first", "first", "f*"], [0, 1]),
        (["*"], [0, 1, 2]), (["frist"], None), (["first", "F*"], None), (["q"], None),
        (["?"], None), ([""], None),
    ],
)  # fmt: skip
def test_sites_by_name_and_pattern_in_file_order(
    patterns: list[str], places: list[int] | None
) -> None:
    """Names that look like patterns; None where one that is asked for is no site's."""
    pool = "MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]>"
    model = of(f'a, "" = {pool} (x) b = {pool} (a) y = {pool} (b)')
    for each, name in zip(model.graph.node, ("first", "f?rst", "la[s]t"), strict=True):
        each.name = name
    found = onnxpad.show(model).sites
    if places is None:
        with pytest.raises(onnxpad.UsageError):
            chosen(found, patterns)
    else:
        assert chosen(found, patterns) == tuple(found[place] for place in places)


# What differs between two models

PADDING = {
    "upper": 'auto_pad = "SAME_UPPER"',
    "lower": 'auto_pad = "SAME_LOWER"',
    "ones": "pads = [1, 1, 1, 1]",
    "more": "pads = [2, 1, 1, 1]",
}


@each_row(("before", "after", "expected"), rows_below(ROWS, "what differs"), at_once=3)
def test_what_is_hidden_is_not_held_against_an_operator(
    before: str, after: str, expected: str
) -> None:
    def graph(padding: str, upstream: str) -> Graph:
        conv = f"r = {upstream} (x) y = Conv <{PADDING[padding]}, strides = [2, 2]> (r, w)"
        return Graph.from_proto(one(conv, initializers=W))

    known, hidden = "Relu", "vendor.Odd"
    asked = {"known": (known, known), "after": (known, hidden), "before": (hidden, known)}
    found = [
        name
        for name, (ours, theirs) in asked.items()
        if padding_differences(graph(before, ours), graph(after, theirs))
    ]
    assert (", ".join(found) or "no") == expected


# The total padding of a site is what `fix` keeps, however it was written before


EXPORTED = ("channels_last_dynamo", "unet_keras", "conv1d_keras", "zeropad_dynamo", "crops_dynamo")
SEVERAL_PADS = (4, 7, 8, 26, 32, 33, 35, 38, 40, 53, 69)


@pytest.mark.parametrize(
    "which", [*EXPORTED, *one_in(4, [(seed,) for seed in SEVERAL_PADS])], ids=str
)
def test_totals_are_kept(which: str | int) -> None:
    """Of exported models, and of random ones with several `Pad`s upstream and steps between."""

    def totals(model: Path | onnx.ModelProto) -> dict[object, tuple[int, ...] | None]:
        found = [e for e in onnxpad.show(model).sites if e.kind in {"window", "transposed"}]
        names = Counter((site.node, site.op_type) for site in found)
        return {key: each.pads for each in found if names[key := (each.node, each.op_type)] == 1}

    model = (
        ROOT / "models" / f"{which}.onnx"
        if isinstance(which, str)
        else draw_model(random.Random(which)).model
    )
    before, after = totals(model), totals(onnxpad.fix(model, validate=False).model)
    assert before
    both = before.keys() & after.keys()
    assert {key: before[key] for key in both} == {key: after[key] for key in both}
