"""What a runtime does with a form, from the tables of a file; names of targets; files refused."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest

from onnxpad.errors import UsageError
from onnxpad.targets import target as targets
from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import ALIASES, every, known, load, target_in
from onnxpad.targets.target import Spelling, Target
from onnxpad.toml_file import LARGEST, parsed, read_text
from tests.support.manual import blocks, pages
from tests.support.rows import each_row

HEAD = 'title = "NPU"\nversion = "2.1"\nspell = ["no_axes"]\n'


def written(folder: Path, *cells: str) -> Target:
    """A target of cells `CONDITIONS -> VERDICT`, after which more keys may stand."""
    tables = [HEAD]
    for each in cells:
        when, _, said = each.partition("-> ")
        verdict, *keys = said.split("; ")
        given = (f"when = {{ {when} }}", f'verdict = "{verdict}"', 'source = "s"', *keys)
        tables.append("\n".join(["[[cell]]", *given]))
    (folder / "npu.toml").write_text("\n".join(tables), encoding="utf-8")
    return load(folder / "npu.toml")


LOWER = {"auto_pad": "SAME_LOWER"}
END = {"op": "Conv", "pads": "end"}
NPU = (
    "op = ['Conv', 'MaxPool'], auto_pad = 'SAME_LOWER', stride = { min = 2 } -> wrong",
    "sized = false -> rejected",
    "op = 'Conv' -> right",
    "op = 'Conv', pads = ['end'] -> fallback; measured = true",
)
EXACT = ("op = 'Conv', pads = ['none', 'end'], stride = { max = 2 } -> wrong; exact = true",)
PADDED = "op = 'Conv', pads = 'end'"


@pytest.mark.parametrize(
    ("cells", "fields", "verdict"),
    [
        (NPU, LOWER | {"op": "Conv", "stride": 2}, "wrong"),
        (NPU, LOWER | {"op": "Conv", "stride": 3}, "wrong"),
        (NPU, LOWER | {"op": "Conv"}, "right"),
        (NPU, LOWER | {"op": "MaxPool"}, "unknown"),
        (NPU, {"op": "MaxPool", "sized": False}, "rejected"),
        (NPU, {"op": "Conv", "sized": False}, "rejected"),
        pytest.param(NPU, END | {"sized": False}, "fallback", id="measured first"),
        (NPU, {"op": "Pad", "pad": "constant"}, "unknown"),
        (NPU, END | {"domain": "com.acme"}, "unknown"),
        (NPU, {"op": "Conv", "domain": "com.acme", "sized": False}, "rejected"),
        (EXACT, END, "wrong"),
        (EXACT, {"op": "Conv", "stride": 2}, "wrong"),
        (EXACT, {"op": "Conv", "sized": False, "kernel_shape": True}, "wrong"),
        *((EXACT, END | each, "right") for each in (
            {"pads": "begin"}, {"stride": 3}, {"dilated": True}, {"grouped": True}, {"rank": 2}
        )),
        (["-> right", f"{PADDED} -> rejected"], END, "rejected"),
        (["op = ['Pad', 'Conv'] -> right", f"{PADDED} -> rejected"], END, "rejected"),
        (["stride = { max = 2 } -> right", "stride = { min = 1, max = 2 } -> wrong"], END, "wrong"),
        (["stride = { max = 2 } -> right", "stride = { min = 1, max = 3 } -> wrong"], END, "right"),
        (["stride = { min = 1 } -> right", "stride = { min = 1, max = 2 } -> wrong"], END, "wrong"),
        (["stride = { min = 1 } -> right", "stride = [1, 2] -> wrong"], END, "wrong"),
        (["-> right", f"{PADDED} -> right", f"{PADDED}, stride = 1 -> wrong"], END, "wrong"),
        (["-> right", f"{PADDED}, domain = 'a' -> wrong"], END, "right"),
        (["op = 'Conv' -> right", "pads = 'end' -> rejected"], END, "right"),
        (["pads = 'end' -> rejected", "op = 'Conv' -> right"], END, "rejected"),
        (["stride = 1 -> right", "stride = { min = 1 } -> wrong"], END, "right"),
        pytest.param(["op = 'Pad' -> rejected"], END, "right", id="rejections alone"),
        (["op = 'Pad' -> rejected", "op = 'MaxPool' -> right"], END, "unknown"),
        (["op = 'Pad' -> rejected", "-> unknown"], END, "unknown"),
        ([], END, "unknown"),
    ],
)  # fmt: skip
def test_the_cell_that_answers(
    tmp_path: Path, cells: Sequence[str], fields: dict[str, object], verdict: str
) -> None:
    found = written(tmp_path, *cells)
    assert found.cell(form(**fields)).verdict == verdict
    assert (found.name, found.full_name, found.spell) == ("npu", "npu@2.1", ("no_axes",))


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
    errors = {"tensorrt@1": "; known: 10.1 and 8", "tract@0.20": "; known: 0.23.9"}
    for name, told in (errors | {path.with_suffix(""): "did you mean '.*npu.toml'"}).items():
        with pytest.raises(UsageError, match=told):
            load(name)


def test_every_alias_is_a_target() -> None:
    for alias, name in ALIASES.items():
        assert load(alias) is load(name)
        assert alias not in known()


@pytest.mark.parametrize(
    ("name", "meant"), [("trct", "'tract'"), ("a,b.toml", "--target"), ("", ".toml")]
)
def test_a_name_that_nothing_has(name: str, meant: str) -> None:
    with pytest.raises(UsageError) as error:
        load(name)
    assert repr(name) in str(error.value)
    assert meant in str(error.value)


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


# Files of users
BARE = 'title = "NPU"\n'
CELL = '[[cell]]\nverdict = "wrong"\nsource = "s"\n'


@each_row(
    ("text", "told"),
    [
        ('version = "1"\n', "title"),
        ('title = "a\n', "line 1"),
        (BARE + 'titel = "b"\n', "title"),
        (BARE + 'spell = ["axes"]\n', "no_axes"),
        (BARE + CELL, "when"),
        (BARE + CELL.replace("source", "#") + "when = {}\n", "source"),
        (BARE + CELL + "when = { sized = 1 }\n", "sized"),
        (BARE + CELL + "when = { sied = true }\n", "sized"),
        (BARE + CELL + 'when = { pads = "ends" }\n', "'end'"),
        (BARE + CELL + "when = { ceil_mode = 1 }\n", "'ceil'"),
        (BARE + CELL + 'when = { dtype = ["int8", "half"] }\n', "half"),
        (BARE + CELL + "when = { rank = [2, true] }\n", "rank"),
        (BARE + CELL + "when = { rank = { mni = 2 } }\n", "mni"),
        (BARE + CELL + "when = { rank = { min = 3, max = 2 } }\n", "no number"),
        (BARE + CELL + "when = {}\n" + CELL.replace("wrong", "right") + "when = {}\n", "differ"),
        (BARE + CELL + "when = { op = [] }\n", "op"),
        (BARE + CELL + 'when = { op = ["Pad", "Foo"] }\n', "Foo"),
        (BARE + CELL + 'when = {}\nadvice = "--shp"\n', "'--shape'"),
        (BARE + CELL + 'when = {}\nadvice = "--style"\n', "advice"),
        (BARE + CELL + 'when = {}\nspell = ["no_axes"]\n', "belongs at the top"),
        (BARE + '[cell]\nverdict = "wrong"\n', "write [[cell]]"),
        (BARE + 'cell = ["when"]\n', "cell[0]"),
        (BARE + CELL.replace("wrong", "rigth") + "when = {}\n", "'right'"),
        (BARE + CELL + "when = {}\n" + CELL + "when = 3\n", "cell[1].when"),
        (BARE + CELL + 'when = {}\nlike = ["conv_sane"]\n', "conv_sane"),
    ],
)
def test_an_error_names_the_file_and_the_key(text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        target_in(Path("npu.toml"), text)
    assert str(error.value).startswith("npu.toml: ")
    assert "\n" not in str(error.value)
    assert told in str(error.value)


def test_operators_of_other_domains_and_ranges_are_taken() -> None:
    when = (
        '{ op = ["Fft"], domain = "com.acme", rank = { min = 2, max = 2 }, stride = { max = 1 } }'
    )
    text = BARE + CELL + f'when = {when}\nadvice = "--trust spec"\n'
    assert target_in(Path("npu.toml"), text).cells


def test_the_example_of_the_manual_is_a_file() -> None:
    (block,) = blocks("toml", page="targets")
    assert target_in(Path("npu.toml"), block.text).cells
    spelled = re.findall(r"`(\w+)`", block_of_spellings())
    assert set(get_args(Spelling)) <= set(spelled)
    fields = re.findall(r"^\| (`.*?) \|", pages()["targets"], re.MULTILINE)
    assert {*Form.__struct_fields__} <= set(re.findall(r"`(\w+)`", " ".join(fields)))


def block_of_spellings() -> str:
    return pages()["targets"].partition('`spell = ["no_axes"]`')[2]


@each_row(
    "text",
    ["a = " + "[" * 20_000, "a = " + "1" * 5_000, "a = 1\n\x00", "a = 1\na = 2", "a = [1,\n\n"],
)
def test_what_is_no_toml(text: str) -> None:
    with pytest.raises(UsageError):
        parsed(Path("f.toml"), text, Target)


def long(path: Path) -> None:
    path.write_bytes(b"#" * (LARGEST + 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda path: None,
        Path.mkdir,
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(path),
        long,
        lambda path: path.write_bytes(b"a = '\xff'"),
    ],
)
def test_what_cannot_be_read(make: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    make(path)
    with pytest.raises(UsageError):
        read_text(path)


def test_the_longest_file_is_read_without_the_mark_at_its_begin(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_bytes(b"\xc3\xa4" * (LARGEST // 2))
    assert read_text(path) == "ä" * (LARGEST // 2)
    path.write_text("a = 1", encoding="utf-8-sig")
    assert read_text(path) == "a = 1"
    with pytest.raises(UsageError):
        read_text(Path("a\0.toml"))
