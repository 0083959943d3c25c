"""The options that findings name, with the sizes and ranges they are told with, part by part."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from onnxpad.arithmetic.size import Sizes
from onnxpad.finding import Counts, Finding, Severity
from onnxpad.options import Options
from onnxpad.pipeline.next_option import (
    _beside,
    _by_range,
    _by_shape,
    _candidates,
    _gains,
    _near,
    _options,
)
from tests.support.rows import each_row


@each_row(("pads", "auto_pads", "nodes"), [*product((-1, 0, 1), repeat=3)])
def test_what_is_a_gain(pads: int, auto_pads: int, nodes: int) -> None:
    before = Counts(pads=5, auto_pads=5, nodes=5)
    after = Counts(pads=5 + pads, auto_pads=5 + auto_pads, nodes=5 + nodes)
    fewer = min(pads, auto_pads, nodes) < 0
    assert _gains(before, after, to_pads=False) is (fewer and max(pads, nodes) <= 0)
    assert _gains(before, after, to_pads=True) is (
        auto_pads < 0 or (fewer and max(pads, nodes) <= 0)
    )


def found(**evidence: Any) -> Finding:
    return Finding("PAD501", Severity.INFO, "n", "Pad", "m", evidence=evidence)


@each_row(
    ("multiples", "option", "most"),
    [
        ([], None, 0),
        ([None, {}, 5], None, 0),
        ([{"h": 8}], "--dim h=8..1024:8", 1),
        ([{"h": 1}], "--dim h=32..1024", 1),
        ([{"h": 3}], "--dim h=3..1023:3", 1),
        ([{"h": 128}], "--dim h=128..1024:128", 1),
        ([{"h": 129}], "--dim h=129..1032:129", 1),
        ([{"h": 512}], "--dim h=512..4096:512", 1),
        ([{"h": 513}], None, 0),
        ([{"h": 513}, {"h": 4}], "--dim h=4..1024:4", 1),
        ([{"h": 4}, {"h": 6}], "--dim h=12..1020:12", 2),
        ([{"h": 4}, None, {"w": 6}], "--dim h=4..1024:4 --dim w=6..1020:6", 2),
        ([{"h": 512}, {"h": 3}, {"h": 256}], "--dim h=512..4096:512", 2),
        ([{"h": 4, "w": 513}], None, 0),
        ([{"a b": 2}], "--dim 'a b=2..1024:2'", 1),
    ],
)
def test_ranges_of_multiples(multiples: list[Any], option: str | None, most: int) -> None:
    told = [*_by_range([found(multiples=each) for each in multiples])]
    if option is None:
        assert told == []
        return
    ((typed, keywords, hint, count),) = told
    steps = ", in the same steps" * (":" in option)
    assert (typed, hint, count) == (option, f"give your own range{steps}", most)
    dims = dict(each.strip("'").split("=") for each in option.split("--dim ")[1:])
    assert keywords == {"dims": {name: text.strip(" '") for name, text in dims.items()}}


@each_row(
    ("sizes", "size"),
    [
        (None, 224),
        (Sizes(1), 224),
        (Sizes(1, 100), 100),
        (Sizes(300, 400), 300),
        (Sizes(224, 224), 224),
        (Sizes(1, 1 << 40, 32), 225),
        (Sizes(32, 1024, 32), 224),
        (Sizes(30, 1024, 32), 254),
        (Sizes(5, 200, 5), 200),
    ],
)
def test_the_admitted_size_next_to_the_usual_one(sizes: Sizes | None, size: int) -> None:

    assert _near(sizes) == size


def graph(**declared: Any) -> Any:
    defaults = {name for name in declared if name.startswith("d")}
    return SimpleNamespace(
        inputs={name: (1, shape) for name, shape in declared.items()},
        has_default=lambda name: name in defaults,
    )


def axis(tensor: str, number: int, label: str) -> Any:
    return SimpleNamespace(tensor=tensor, axis=number, label=label)


X = {"x": ("n", 3, "h", "w")}
LISTED = [axis("x", 0, "n"), axis("x", 2, "h"), axis("x", 3, "w")]


def at(*places: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"input": name, "axis": number} for name, number in places]


@each_row(
    ("inputs", "sizes", "option", "shapes"),
    [
        (X, [at(("x", 2), ("x", 3))], "--shape '?,3,224,96'", {"x": (None, 3, 224, 96)}),
        (X, [at(("x", 2))], "--shape '?,3,224,?'", {"x": (None, 3, 224, None)}),
        (X, [at(("x", 2)), at(("x", 0))], "--shape '224,3,224,?'", {"x": (224, 3, 224, None)}),
        (X, [None], "--shape 224,3,224,96", {"x": (224, 3, 224, 96)}),
        (X, [[]], "--shape 224,3,224,96", {"x": (224, 3, 224, 96)}),
        ({**X, "z": (1,)}, [at(("x", 3))], "--shape 'x=?,3,?,96'", {"x": (None, 3, None, 96)}),
        ({**X, "d": (1,)}, [at(("x", 3))], "--shape '?,3,?,96'", {"x": (None, 3, None, 96)}),
        ({**X, "z": ("k",)}, [at(("x", 3), ("z", 0))], "--shape 'x=?,3,?,96' --shape z=224",
         {"x": (None, 3, None, 96), "z": (224,)}),
        ({**X, "r": None}, [at(("r", 0))], "--shape r=", {"r": ()}),
    ],
)  # fmt: skip
def test_shapes_that_fix_sizes(
    inputs: dict[str, Any], sizes: list[Any], option: str, shapes: dict[str, Any]
) -> None:
    limits = {"w": Sizes(32, 96, 32), "other": Sizes(1, 2)}
    findings = [found(sizes=each) for each in sizes]
    told = _by_shape(graph(**inputs), findings, LISTED, limits)
    assert told == (option, {"shapes": shapes}, "give your own sizes", len(sizes))


def test_options_of_a_finding() -> None:
    assert _options(found(options=("--a", "--b"))) == ("--a", "--b")
    assert _options(found(options=["--a"])) == ("--a",)
    assert _options(found()) == _options(found(options="--a")) == _options(found(options=7)) == ()


def test_sizes_are_added_to_those_given() -> None:
    options = Options(shapes={"x": (1, 2)}, dims={"h": 3})
    assert _beside(options, {"dynamic": "pad"}) == {"dynamic": "pad"}
    assert _beside(options, {"shapes": {"z": (4,)}}) == {"shapes": {"x": (1, 2), "z": (4,)}}
    assert _beside(options, {"dims": {"h": "4..8"}}) == {"dims": {"h": "4..8"}}


@pytest.mark.parametrize("to_pads", [False, True])
def test_the_options_that_findings_name(to_pads: bool) -> None:
    def told(*named: tuple[str, ...]) -> list[tuple[str, Any, int]]:
        findings = [found(options=each, multiples={"h": 8}) for each in named]
        asked = _candidates(graph(x=(1, 2)), findings, {}, to_pads=to_pads)
        return [(each.option, each.keywords, each.most) for each in asked]

    auto, pad = "--dynamic auto-pad", "--dynamic pad"
    found_pad = [(pad, {"dynamic": "pad"}, 1)] if to_pads else []
    assert told() == told(("--strict",), ()) == []
    assert told((auto,), (pad, auto)) == [(auto, {"dynamic": "auto-pad"}, 2), *found_pad]
    assert told((pad,)) == found_pad
    assert told(("--trust spec",), ("--trust onnxruntime", "--trust spec")) == [
        ("--trust spec", {"trust": "spec"}, 2),
        ("--trust onnxruntime", {"trust": "onnxruntime"}, 1),
    ]
    assert told(("--dim",)) == [("--dim h=8..1024:8", {"dims": {"h": "8..1024:8"}}, 1)]
    assert [option for option, _, _ in told(("--shape", "--dim"), (auto,))] == [
        auto, "--dim h=8..1024:8", ""
    ]  # fmt: skip
