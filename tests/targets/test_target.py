"""What a runtime does with a form, from the tables of a file; and how a target is named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxpad.errors import UsageError
from onnxpad.targets import known_targets as targets
from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import ALIASES, known, load
from onnxpad.targets.target import Range, Target, admitted

NPU = """
title = "NPU"
version = "2.1"
spell = ["no_axes"]

[[cell]]
when = { op = ["Conv", "MaxPool"], auto_pad = "SAME_LOWER", stride = { min = 2 } }
verdict = "wrong"
source = "npu/npu:conv.cpp"

[[cell]]
when = { sized = false }
verdict = "rejected"
source = "npu/npu:shape.cpp"
advice = "--shape"

[[cell]]
when = { op = "Conv" }
verdict = "right"
source = "npu/npu:conv.cpp"

[[cell]]
when = { op = "Conv", pads = ["end"] }
verdict = "fallback"
source = "a run of ours"
measured = true
"""


def written(folder: Path, text: str) -> Target:
    (folder / "npu.toml").write_text(text, encoding="utf-8")
    return load(folder / "npu.toml")


@pytest.mark.parametrize(
    ("form", "verdict"),
    [
        (Form("Conv", auto_pad="SAME_LOWER", stride=2), "wrong"),
        (Form("Conv", auto_pad="SAME_LOWER", stride=3), "wrong"),
        (Form("Conv", auto_pad="SAME_LOWER"), "right"),
        (Form("MaxPool", auto_pad="SAME_LOWER"), "unknown"),
        (Form("MaxPool", sized=False), "rejected"),
        (Form("Conv", sized=False), "rejected"),
        pytest.param(Form("Conv", pads="end", sized=False), "fallback", id="measured first"),
        (Form("Pad"), "unknown"),
        (Form("Conv", domain="com.acme"), "unknown"),
        (Form("Conv", domain="com.acme", sized=False), "rejected"),
    ],
)
def test_first_cell_that_covers_a_form(tmp_path: Path, form: Form, verdict: str) -> None:
    found = written(tmp_path, NPU)
    assert found.cell(form).verdict == verdict
    assert found.cell(form).measured is (verdict == "fallback")
    assert (found.name, found.full_name, found.spell) == ("npu", "npu@2.1", ("no_axes",))


EXACT = """
title = "NPU"

[[cell]]
measured = true
exact = true
when = { op = "Conv", pads = ["none", "end"], stride = { max = 2 } }
verdict = "wrong"
source = "a run of ours"
"""


@pytest.mark.parametrize(
    ("form", "verdict"),
    [
        (Form("Conv", pads="end"), "wrong"),
        (Form("Conv", stride=2), "wrong"),
        pytest.param(Form("Conv", sized=False, kernel_shape=True), "wrong", id="seldom matters"),
        (Form("Conv", pads="begin"), "unknown"),
        (Form("Conv", pads="end", stride=3), "unknown"),
        (Form("Conv", pads="end", dilated=True), "unknown"),
        (Form("Conv", pads="end", grouped="depthwise"), "unknown"),
        (Form("Conv", pads="end", rank=2), "unknown"),
    ],
)
def test_an_exact_cell_is_about_other_fields_as_usual(
    tmp_path: Path, form: Form, verdict: str
) -> None:
    assert written(tmp_path, EXACT).cell(form).verdict == verdict


RAN = """
title = "NPU"

[[cell]]
when = { sized = false }
verdict = "rejected"
source = "npu/npu:shape.cpp"

[[measured]]
version = "2.0"
not_run = ["up:fold"]
differs = [
  { given = "wrong", note = "difference 3", forms = ["up"] },
  { given = "rejected", forms = ["both"] },
]

[[measured]]
version = "10.1"
differs = [{ given = "rejected", note = "no LOWER", forms = ["up_again"] }]

[[measured]]
version = "1.0"
variant = "fast"
raw = true
differs = [{ given = "wrong", forms = ["pad"] }]

[[measured]]
version = "1.0"
variant = "fast"
raw = false
differs = []

[[measured]]
version = "0.9"
"""

UP = {"op": "Conv", "rank": 2, "auto_pad": "SAME_UPPER", "pads": "end", "stride": 2}
POOL = {"op": "MaxPool", "rank": 2, "pads": "end"}
PAD = {"op": "Pad", "rank": 4, "pad": "constant"}
FORMS = {
    "up": {"given": [UP], "fold": [{"op": "Conv", "rank": 2, "pads": "end", "stride": 2}]},
    "up_again": {"given": [UP | {"kernel_shape": True}]},
    "both": {"given": [UP, POOL]},
    "pad": {"given": [PAD]},
}


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file above, whose models are those above."""
    monkeypatch.setattr(targets, "forms", lambda: FORMS)
    targets.sites.cache_clear()
    (tmp_path / "npu.toml").write_text(RAN, encoding="utf-8")
    yield tmp_path / "npu.toml"
    targets.sites.cache_clear()


def form(**fields: object) -> Form:
    return Form(**fields)  # type: ignore[arg-type]


def test_models_answer_for_forms_that_are_written_alike(ran: Path) -> None:
    found = load(f"{ran}@2.0")
    given = found.cell(form(**UP))
    assert (given.verdict, given.measured, given.version) == ("wrong", True, "2.0")
    assert given.forms == ("up",)
    beside = found.cell(form(**UP, kernel_shape=True))
    assert (beside.verdict, beside.forms) == ("right", ("up_again",))
    grouped = found.cell(form(**UP, grouped="depthwise"))
    assert (grouped.verdict, grouped.forms) == ("wrong", ("up", "up_again"))


def test_no_model_answers_for_what_it_does_not_have(ran: Path) -> None:
    found = load(f"{ran}@2.0")
    assert found.cell(form(**UP | {"stride": 3})).verdict == "unknown"
    assert found.cell(form(**UP | {"rank": 3})).verdict == "unknown"
    unknown = found.cell(form(op="Conv", rank=2, pads="end", stride=2))
    assert (unknown.verdict, unknown.measured) == ("unknown", False)  # not run


def test_a_model_with_two_sites_answers_for_each_that_none_has_alone(ran: Path) -> None:
    found = load(f"{ran}@2.0")
    assert found.cell(form(**POOL)).verdict == "rejected"
    assert "both" not in found.cell(form(**UP)).forms


def test_a_cell_that_speaks_of_the_rest_comes_before_models_that_differ_in_it(ran: Path) -> None:
    found = load(f"{ran}@2.0")
    cell = found.cell(form(**UP, sized=False))
    assert (cell.verdict, cell.source) == ("rejected", "npu/npu:shape.cpp")


def test_of_a_model_and_a_cell_that_were_both_measured_the_worse_counts(ran: Path) -> None:
    cell = '[[cell]]\nmeasured = true\nverdict = "%s"\nsource = "runs"\nwhen = { op = "Conv" }\n'
    for told, sites, expected in (
        ("wrong", {"kernel_shape": True}, "wrong"),
        ("right", {}, "wrong"),
        ("rejected", {}, "wrong"),
        ("right", {"kernel_shape": True}, "right"),
    ):
        ran.write_text(RAN.replace("[[cell]]", f"{cell % told}\n[[cell]]", 1), encoding="utf-8")
        assert load(f"{ran}@2.0").cell(form(**UP, **sites)).verdict == expected


@pytest.mark.parametrize(("raw", "verdict"), [(True, "wrong"), (False, "right")])
def test_models_with_amounts_in_bytes(ran: Path, raw: bool, verdict: str) -> None:
    said = targets.checked(ran, ran.read_text())
    (found, *_) = (each for each in targets.targets_in("npu", said) if each.name == "npu-fast")
    assert found.full_name == "npu-fast@1.0"
    assert found.cell(form(**PAD, raw=raw)).verdict == verdict


@pytest.mark.parametrize(
    ("version", "chosen"), [("", "10.1"), ("10", "10.1"), ("2", "2.0"), ("2.0", "2.0")]
)
def test_a_version_by_its_first_numbers(ran: Path, version: str, chosen: str) -> None:
    found = load(f"{ran}@{version}")
    assert (found.version, found.measured) == (chosen, True)


def test_a_version_of_which_no_run_is_told(ran: Path) -> None:
    found = load(f"{ran}@0.9")
    assert (found.version, found.runs, found.measured) == ("0.9", (), False)


def test_a_cell_of_some_versions(tmp_path: Path) -> None:
    text = NPU + '[[measured]]\nversion = "1.2"\n[[measured]]\nversion = "2.0"\n'
    text += '[[cell]]\nof = ["1"]\nwhen = { op = "LpPool" }\nverdict = "wrong"\nsource = "s"\n'
    (tmp_path / "npu.toml").write_text(text, encoding="utf-8")
    found = [load(f"{tmp_path}/npu.toml@{each}").cell(Form("LpPool")).verdict for each in (1, 2)]
    assert found == ["wrong", "unknown"]


def test_a_version_where_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text('title = "NPU"\n', encoding="utf-8-sig")
    assert load(path).version == ""
    for name, told in (
        (f"{path}@9", "none"),
        ("tensorrt@9", "10.1 and 8"),
        ("tract@0.20", "0.23.9"),
    ):
        with pytest.raises(UsageError, match=f"; known: {told}"):
            load(name)


def test_a_range_and_a_list() -> None:
    assert [each in Range(least=2) for each in (1, 2, 3)] == [False, True, True]
    assert [each in Range(most=2) for each in (1, 2, 3)] == [True, True, False]
    assert [each in admitted((1, 3)) for each in (1, 2, 3)] == [True, False, True]


def test_every_alias_is_a_target() -> None:
    for alias, name in ALIASES.items():
        assert load(alias) is load(name)
        assert alias not in known()


@pytest.mark.parametrize(
    ("name", "meant"), [("trct", "'tract'"), ("qqqqqq", "onnxpad targets"), ("", ".toml")]
)
def test_a_name_that_nothing_has(name: str, meant: str) -> None:
    with pytest.raises(UsageError) as error:
        load(name)
    assert repr(name) in str(error.value)
    assert meant in str(error.value)


@pytest.mark.parametrize(
    ("head", "of"),
    [
        ('version = "1.2"\n', "9"),
        ("", "9"),
        (
            '[[measured]]\nversion = "4"\n[[measured]]\nversion = "5"\nvariant = "fast"\n',
            "fast@4",
        ),
    ],
)
def test_a_cell_of_a_version_that_the_file_has_none_of(head: str, of: str, tmp_path: Path) -> None:
    cell = f'[[cell]]\nwhen = {{}}\nverdict = "unknown"\nof = ["{of}"]\n'
    text = f'title = "NPU"\n{head}{cell}'
    path = tmp_path / "npu.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError):
        load(path)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    (tmp_path / "npu.toml").write_bytes(b"\xff\xfe")
    for name in ("npu.toml", "none.toml"):
        with pytest.raises(UsageError):
            load(tmp_path / name)


def test_standing_counts_forms_of_runs(ran: Path) -> None:
    forms = targets.standing(load(f"{ran}@2.0"))
    assert forms == targets.Standing(forms=4, given=2, best=2, models=4)
    assert targets.standing(load(f"{ran}@10.1")).given == 3


def test_standing_of_what_was_read_asks_its_cells(ran: Path) -> None:
    (ran.parent / "read.toml").write_text(
        'title = "R"\n[[cell]]\nwhen = { auto_pad = "NOTSET" }\nverdict = "right"\nsource = "s"\n'
    )
    found = targets.standing(load(ran.parent / "read.toml"))
    assert found == targets.Standing(forms=4, given=1, best=2, models=0)


def test_every_version_of_every_target_is_listed() -> None:
    names = [each.full_name for each in targets.every()]
    assert len(names) == len(set(names)) >= len(known())
    assert all(load(name).full_name == name for name in names)
