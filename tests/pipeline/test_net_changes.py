"""A `Pad` that was moved and then folded is one change."""

import json

import onnxpad
from onnxpad.finding import Change
from onnxpad.report.documents.fix_document import fix_text
from onnxpad.report.json import fix_json
from tests.support import W, one
from tests.support.rows import each_row

GIVEN = f"{W}, int64[8] p = {{0, 0, 1, 1, 0, 0, 1, 1}}, int64[8] q = {{0, 0, 0, 1, 0, 0, 1, 0}}"
BOTH = "float[] y, float[] z"
PAD, SAME = "Pad axis 2 1+1, axis 3 1+1", "Conv auto_pad=SAME_UPPER"
CONV = "Conv H 1+1, W 1+1, pads [1, 1, 1, 1]"
MOVED = (f"{PAD} -> Relu -> Conv without pads", f"Relu -> {CONV}")


def fixed(body: str, outputs: str = "float[] y", **options: object) -> onnxpad.FixResult:
    proto = one(body, outputs=outputs, initializers=GIVEN)
    return onnxpad.fix(proto, validate=False, **options)  # type: ignore[arg-type]


@each_row(
    ("body", "outputs", "codes", "net"),
    [
        (
            "t = Pad (x, p) y = Conv (t, w)",
            "",
            "PAD201",
            [("Pad H 1+1, W 1+1 -> Conv without pads", CONV)],
        ),
        ("t = Pad (x, p) r = Relu (t) y = Conv (r, w)", "", "(PAD207) PAD201", [MOVED]),
        (
            "t = Pad (x, p) r = Relu (t) y = Conv (r, w) z = Conv (r, w)",
            BOTH,
            "(PAD207) PAD201 PAD201",
            [MOVED, MOVED],
        ),
        (
            "a = Pad (x, p) b = Pad (a, q) y = Conv (b, w)",
            "",
            "(PAD201) PAD201",
            [
                (
                    "Pad H 1+1, W 1+1 -> Pad H 0+1, W 1+0 -> Conv without pads",
                    "Conv H 1+2, W 2+1, pads [1, 2, 2, 1]",
                )
            ],
        ),
        (
            'r = Relu (x) t = Pad (r, p) s = Relu (t) y = Conv <auto_pad = "SAME_UPPER"> (s, w)',
            "",
            "(PAD101) (PAD207) PAD201",
            [(f"{PAD} -> Relu -> {SAME}", "Relu -> Conv H 2+2, W 2+2, pads [2, 2, 2, 2]")],
        ),
    ],
)
def test_net_changes(body: str, outputs: str, codes: str, net: list[tuple[str, str]]) -> None:
    result = fixed(body, outputs or "float[] y")
    told = (f"({each.code})" if each.interim else each.code for each in result.changes)
    assert " ".join(told) == codes
    assert [(each.before, each.after) for each in result.net_changes] == net


def test_an_operator_twice() -> None:
    body = 'y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
    first, last = fixed(body, symmetric_transpose=True).changes
    assert (first.code, first.interim, last.code, last.interim) == ("PAD401", True, "PAD404", False)
    assert last.net is not None
    assert last.before == first.after
    assert last.net.before == "ConvTranspose auto_pad=SAME_UPPER"
    assert last.net.after == last.after


def test_where_a_pad_stays_its_move_is_a_change_of_its_own() -> None:
    body = "t = Pad (x, p) r = Relu (t) y = Conv (r, w) z = MaxPool <kernel_shape = [3, 3]> (r)"
    result = fixed(body, BOTH, strict=True)  # the pool would assume finite data
    moved, folded = result.changes
    assert not moved.interim
    assert (folded.interim, folded.net) == (False, None)
    assert result.net_changes == result.changes


def test_what_led_to_a_change_counts_for_it() -> None:
    def rests(change: Change) -> set[str]:
        return {*change.certificate.assumptions}

    body = "t = Pad (x, p) r = Relu (t) y = MaxPool <kernel_shape = [3, 3]> (r)"
    result = fixed(body)
    (net,) = result.net_changes
    assert rests(net) == {taken for each in result.changes for taken in rests(each)}
    assert net.removed == (*result.changes[0].removed, *result.changes[1].removed)


def test_reports_have_one_line_and_json_has_the_steps() -> None:
    result = fixed("t = Pad (x, p) r = Relu (t) y = Conv (r, w)")
    text = fix_text(result)
    assert "g: 1 change in 2 steps\n" in text
    assert "Pad before Conv, past 1 operator" in " ".join(text.split())
    changes = json.loads(fix_json(result))["changes"]
    assert [(each["code"], each["interim"]) for each in changes] == [
        ("PAD207", True),
        ("PAD201", False),
    ]
    assert changes[1]["before"] == "Pad H 1+1, W 1+1 -> Conv without pads"
