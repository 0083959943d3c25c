"""What a runtime does with a form, from the tables of a file; and how a target is named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxpad.errors import UsageError
from onnxpad.targets import target as targets
from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import ALIASES, every, known, load
from onnxpad.targets.target import Range, Target

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
        (Form("Pad", pad="constant"), "unknown"),
        (Form("Conv", domain="com.acme", pads="end"), "unknown"),
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
        (Form("Conv", pads="begin"), "right"),
        (Form("Conv", pads="end", stride=3), "right"),
        (Form("Conv", pads="end", dilated=True), "right"),
        (Form("Conv", pads="end", grouped=True), "right"),
        (Form("Conv", pads="end", rank=2), "right"),
    ],
)
def test_an_exact_cell_is_about_other_fields_as_usual(
    tmp_path: Path, form: Form, verdict: str
) -> None:
    assert written(tmp_path, EXACT).cell(form).verdict == verdict


PADDED = 'op = "Conv", pads = "end"'


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        (["{} right", f"{{ {PADDED} }} rejected"], "rejected"),
        (['{ op = ["Pad", "Conv"] } right', f"{{ {PADDED} }} rejected"], "rejected"),
        (["{ stride = { max = 3 } } right", "{ stride = { min = 1, max = 2 } } wrong"], "wrong"),
        (["{ stride = { min = 1 } } right", "{ stride = [1, 2] } wrong"], "wrong"),
        (["{} right", "{} fallback", f"{{ {PADDED} }} rejected"], "rejected"),
        (["{} right", f"{{ {PADDED} }} right", f"{{ {PADDED}, stride = 1 }} wrong"], "wrong"),
        (["{} right", f"{{ {PADDED}, domain = 'a' }} wrong"], "right"),
        (["{ op = 'Conv' } right", "{ pads = 'end' } rejected"], "right"),
        (["{ pads = 'end' } rejected", "{ op = 'Conv' } right"], "rejected"),
        (["{ stride = 1 } right", "{ stride = { min = 1 } } wrong"], "right"),
        (["{ op = 'Pad' } rejected"], "right"),
        (["{ op = 'Pad' } rejected", "{ op = 'MaxPool' } right"], "unknown"),
        (["{ op = 'Pad' } rejected", "{} unknown"], "unknown"),
        ([], "unknown"),
    ],
)
def test_the_narrower_cell_answers_then_the_first(
    tmp_path: Path, cells: list[str], verdict: str
) -> None:
    tables = ['[[cell]]\nwhen = {}\nverdict = "{}"\nsource = "s"'.format(*each.rsplit(" ", 1))
              for each in cells]  # fmt: skip
    found = written(tmp_path, "\n".join(['title = "NPU"', *tables]))
    assert found.cell(Form("Conv", pads="end")).verdict == verdict


RAN = """
title = "NPU"

[[cell]]
measured = true
when = {}
like = ["up"]
verdict = "wrong"
source = "runs"

[[cell]]
when = { sized = false }
verdict = "rejected"
source = "npu/npu:shape.cpp"

[[cell]]
when = { op = "Conv" }
verdict = "rejected"
source = "npu/npu:conv.cpp"

[[cell]]
measured = true
when = {}
like = ["*"]
verdict = "right"
source = "runs"
"""

UP = {"op": "Conv", "rank": 2, "auto_pad": "SAME_UPPER", "pads": "end", "stride": 2}
POOL = {"op": "MaxPool", "rank": 2, "pads": "end"}
PAD = {"op": "Pad", "rank": 4, "pad": "constant"}
FORMS = {
    "up": {"about": "a", "given": [UP], "fold": [{**UP, "auto_pad": "NOTSET", "stride": 3}]},
    "up_again": {"given": [UP | {"kernel_shape": True}]},
    "pool": {"given": [POOL]},
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


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        (UP, "wrong"),
        pytest.param(UP | {"kernel_shape": True}, "right", id="another model is written just so"),
        pytest.param(UP | {"grouped": True}, "wrong", id="what seldom counts"),
        pytest.param(UP | {"sized": False}, "rejected", id="a cell speaks of just that"),
        (UP | {"stride": 4}, "rejected"),
        (POOL, "right"),
        (POOL | {"silent": True}, "right"),
        (POOL | {"rank": 3}, "unknown"),
        (PAD | {"fill": "zero"}, "unknown"),
    ],
)
def test_models_answer_for_forms_that_are_written_alike(
    ran: Path, fields: dict[str, object], verdict: str
) -> None:
    assert load(ran).cell(form(**fields)).verdict == verdict


@pytest.mark.parametrize(
    ("version", "chosen"), [("", "10.1"), ("@10", "10.1"), ("@8", "8"), ("@10.1", "10.1")]
)
def test_a_version_by_its_first_numbers(version: str, chosen: str) -> None:
    assert load(f"tensorrt{version}").version == chosen


def test_a_version_where_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text('title = "NPU"\n', encoding="utf-8-sig")
    assert load(path).version == ""
    for name, told in (("tensorrt@1", "10.1 and 8"), ("tract@0.20", "0.23.9")):
        with pytest.raises(UsageError, match=f"; known: {told}"):
            load(name)


def test_a_range() -> None:
    assert [each in Range(least=2) for each in (1, 2, 3)] == [False, True, True]
    assert [each in Range(most=2) for each in (1, 2, 3)] == [True, True, False]


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


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    (tmp_path / "npu.toml").write_bytes(b"\xff\xfe")
    for name in ("npu.toml", "none.toml"):
        with pytest.raises(UsageError):
            load(tmp_path / name)


def test_standing_counts_forms(ran: Path) -> None:
    assert load(ran).standing == targets.Standing(forms=4, given=3, best=4, models=5)
    (ran.parent / "read.toml").write_text(
        'title = "R"\n[[cell]]\nwhen = { auto_pad = "NOTSET" }\nverdict = "right"\nsource = "s"\n'
    )
    found = load(ran.parent / "read.toml").standing
    assert found == targets.Standing(forms=4, given=2, best=3, models=0)


def test_every_version_of_every_target_is_listed() -> None:
    names = [each.full_name for each in every()]
    assert len(names) == len(set(names)) >= len(known())
    assert all(load(name).full_name == name for name in names)
