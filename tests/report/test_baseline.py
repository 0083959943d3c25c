"""The baseline of `check`: what is known again, what is new, and what the file may be."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx
import pytest

from onnxpad.report import BaselineUse
from onnxpad.report.baseline import Baseline
from tests.support import MODELS, W, one, onnxpad_runs
from tests.support.exports import exported_anew

SAME = 'auto_pad = "SAME_UPPER", kernel_shape = [3, 3]'
POOL = f"MaxPool <{SAME}, strides = [2, 2]>"
NETWORK = (
    f"a = Conv <{SAME}> (x, w) b = Relu (a) c = {POOL} (b) d = Conv <{SAME}> (c, v) y = Relu (d)"
)
GIVEN = f"{W}, float[3, 3, 3, 3] v = {{{', '.join(['1'] * 81)}}}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def save(body: str, name: str = "m.onnx", size: str = "9, 8") -> onnx.ModelProto:
    model = one(body, inputs=f"float[1, 2, {size}] x", initializers=GIVEN)
    Path(name).parent.mkdir(exist_ok=True)
    onnx.save(model, name)
    return model


def checks(*words: object, code: int = 0) -> str:
    """What `check` with the baseline prints."""
    result = onnxpad_runs("check", *(words or ["m.onnx"]), "--baseline", "b.json")
    assert result.exit_code == code, result.output
    return result.stdout + result.stderr


def writes(*words: object) -> str:
    return checks(*(words or ["m.onnx"]), "--write-baseline")


def entries(path: str = "b.json") -> dict[str, list[dict[str, Any]]]:
    models: dict[str, list[dict[str, Any]]] = json.loads(Path(path).read_text())["models"]
    return models


def test_what_is_known_neither_fails_nor_is_listed() -> None:
    save(NETWORK)
    assert onnxpad_runs("check", "m.onnx").exit_code == 1
    assert writes() == "1 file: nothing new, 3 known; b.json written (3 added)\n"
    assert checks() == "1 file: nothing new, 3 known\n"
    assert onnxpad_runs("check", "m.onnx").exit_code == 1


@pytest.mark.parametrize("name", ["inception_dynamo", "branches_torchscript"])
def test_another_export_has_nothing_new_and_leaves_the_file_as_it_is(name: str) -> None:
    model = onnx.load(MODELS / f"{name}.onnx")
    onnx.save(model, "m.onnx")
    writes()
    before = Path("b.json").read_bytes()
    onnx.save(exported_anew(model), "m.onnx")
    assert re.fullmatch(r"1 file: nothing new, \d+ known\n", checks())
    assert "written" not in writes()
    assert Path("b.json").read_bytes() == before


NEW = 'AveragePool <auto_pad = "SAME_LOWER", kernel_shape = [2, 2]>'


@pytest.mark.parametrize(
    ("place", "data"),
    [
        pytest.param("a = Conv", "x", id="at the input"),
        pytest.param("b = Relu", "a", id="behind the first"),
        pytest.param("c = MaxPool", "b", id="in between"),
        pytest.param("d = Conv", "c", id="before the last"),
    ],
)
def test_of_a_site_put_in_front_only_that_one_is_new(place: str, data: str) -> None:
    save(NETWORK)
    writes()
    before, after = NETWORK.split(place)
    save(f"{before} [new] n = {NEW} ({data}) {place}{after.replace(f'({data}', '(n', 1)}")
    said = checks(code=1)
    assert re.findall(r"warning PAD\d+ (\S+) ", said) == ["new"]
    assert "1 file: 1 warning, 3 known; " in said


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("[2, 2]", "[3, 3]"), "MaxPool"),
        (("UPPER", "LOWER"), "Conv"),
        (("strides", "ceil_mode = 1, strides"), "MaxPool"),
    ],
)
def test_padding_that_changed_is_new(change: tuple[str, str], found: str) -> None:
    save(NETWORK)
    writes()
    save(NETWORK.replace(*change, 1))
    said = checks(code=1)
    assert f"({found})" in said
    assert "1 file: 1 warning, 2 known; 1 of the baseline gone, which --write-base" in said


def test_a_place_between_other_operators_is_another_one() -> None:
    save(f"a = Relu (x) c = {POOL} (a) y = Relu (c)")
    writes()
    save(f"a = Neg (x) c = {POOL} (a) y = Relu (c)")
    assert "nothing new, 1 known\n" in checks()
    save(f"a = Neg (x) c = {POOL} (a) y = Neg (c)")
    assert "1 file: 1 warning; 1 of the baseline gone" in checks(code=1)


def pools(count: int) -> str:
    """Pools one behind the other; all but the first and the last are alike."""
    names = ["x", *(f"t{index}" for index in range(1, count)), "y"]
    return " ".join(f"{name} = {POOL} ({names[i]})" for i, name in enumerate(names[1:]))


def test_amounts_that_are_known_may_be_computed_or_constants() -> None:
    conv = "b = Pad (x, a) y = Conv (b, w)"
    for body, given, ask in (
        (f"a = Concat <axis = 0> (p, p) {conv}", "int64[4] p = {0, 0, 1, 1}", writes),
        (conv, "int64[8] a = {0, 0, 1, 1, 0, 0, 1, 1}", checks),
    ):
        onnx.save(one(body, inputs="float[1, 2, 9, 8] x", initializers=f"{W}, {given}"), "m.onnx")
        assert "1 file: nothing new, 1 known" in ask()


def test_like_places_are_counted() -> None:
    save(pools(4), size="99, 98")
    writes()
    assert sorted(each["count"] for each in entries()["m.onnx"]) == [1, 1, 2]
    save(pools(5), size="99, 98")
    assert "1 file: 1 warning, 4 known" in checks(code=1)
    save(pools(3), size="99, 98")
    assert "nothing new, 3 known; 1 of the baseline gone" in checks()
    assert "written (1 dropped)" in writes()


def test_a_finding_that_became_more_severe_is_new() -> None:
    save(NETWORK, size="h, w")
    writes()
    assert {each["severity"] for each in entries()["m.onnx"]} == {"info", "warning"}
    save(NETWORK)
    said = checks(code=1)
    assert "c (MaxPool)" in said or "<c> (MaxPool)" in said
    writes()
    save(NETWORK, size="h, w")
    assert "nothing new, 3 known" in checks()


def test_a_model_is_known_by_its_path_from_the_folder_of_the_baseline(folder: Path) -> None:
    save(NETWORK, "sub/m.onnx")
    writes("sub")
    assert [*entries()] == ["sub/m.onnx"]
    Path("other").mkdir()
    words = ["--baseline", folder / "b.json"]
    assert onnxpad_runs("check", folder / "sub" / ".." / "sub", *words).exit_code == 0
    Path("sub/m.onnx").rename("other/m.onnx")
    assert onnxpad_runs("check", "other", *words).exit_code == 1
    assert "3 warnings; 3 of the baseline gone" in checks(".", code=1)
    assert "gone" not in checks("sub", "other", code=2)  # a folder without a model
    words[-1] = "other/c.json"
    assert onnxpad_runs("check", ".", *words, "--write-baseline").exit_code == 0
    assert [*entries("other/c.json")] == ["m.onnx"]


def test_a_folder_that_is_a_link_goes_by_its_own_name(folder: Path) -> None:
    for place in ("one", "two"):
        save(NETWORK, f"{place}/m.onnx")
    Path("repo").mkdir()
    link = Path("repo/exported")
    link.symlink_to(folder / "one")
    words = ["--baseline", "repo/b.json"]
    onnxpad_runs("check", link, *words, "--write-baseline")
    assert [*entries("repo/b.json")] == ["exported/m.onnx"]
    link.unlink()
    link.symlink_to(folder / "two")  # as on another machine
    assert onnxpad_runs("check", link.absolute(), *words).exit_code == 0
    Path("two/deep").mkdir()
    for words in (["./one/../repo/exported", "--baseline", "./one/../repo/b.json"],
                  ["repo/exported/deep/..", "--baseline", "repo/b.json"]):  # fmt: skip
        assert onnxpad_runs("check", *words).exit_code == 0
    Path("far").symlink_to(folder / "two/deep")
    result = onnxpad_runs("check", "far/..", "--baseline", "repo/b.json")  # not this folder
    assert "3 warnings" in result.stdout
    Path("here").symlink_to("repo")
    assert onnxpad_runs("check", "here/exported", "--baseline", "here/b.json").exit_code == 0


def test_codes_of_passes_that_are_not_here_stay() -> None:
    save(NETWORK)
    writes()
    Path("b.json").write_text(Path("b.json").read_text().replace("PAD101", "ACME001", 1))
    before = entries()["m.onnx"]
    assert "gone" not in checks(code=1)
    assert "written (1 added)" in writes()
    assert [each for each in before if each not in entries()["m.onnx"]] == []


def test_models_that_were_not_checked_stay_and_those_that_are_gone_go() -> None:
    for name in ("one/a.onnx", "one/b.onnx", "two/c.onnx"):
        save(NETWORK, name)
    writes("one", "two")
    Path("one/b.onnx").unlink()
    Path("two/c.onnx").unlink()
    assert "3 of the baseline gone" in checks("one")
    assert checks("one/a.onnx") == "1 file: nothing new, 3 known\n"
    assert "written" not in writes("one/a.onnx")
    assert "written (3 dropped)" in writes("one")
    assert [*entries()] == ["one/a.onnx", "two/c.onnx"]
    assert "written (3 dropped)" in writes(".")
    assert [*entries()] == ["one/a.onnx"]


def test_what_was_not_asked_for_stays() -> None:
    save(NETWORK.replace("y = Relu (d)", f"e = Relu (d) y = {NEW} (e)"))
    writes()
    before = entries()
    for words in (("--select", "PAD2"), ("--ignore", "PAD1"), ("--select", "PAD101")):
        assert "gone" not in checks("m.onnx", *words)
        assert "written" not in writes("m.onnx", *words)
    save(NETWORK)
    assert "gone" not in checks("m.onnx", "--select", "PAD2")
    assert "1 of the baseline gone" in checks("m.onnx", "--select", "PAD1")
    assert entries() == before


def test_targets_and_conventions_have_findings_of_their_own() -> None:
    save(f"a = Conv <{SAME}, strides = [2, 2]> (x, w) y = Relu (a)")
    writes()
    (plain,) = entries()["m.onnx"]
    writes("m.onnx", "--convention", "pytorch")
    both = entries()["m.onnx"]
    assert plain in both
    assert {each.get("against") for each in both} == {None, "pytorch"}
    assert "gone" not in checks()
    assert "written" not in writes()
    assert "gone" not in checks("m.onnx", "--convention", "keras")
    assert "gone" not in checks("m.onnx", "--select", "PAD6", code=0)
    assert "nothing new, 2 known\n" in checks("m.onnx", "--convention", "pytorch")


def test_those_of_one_target_stay_when_another_is_asked() -> None:
    save('a = Pad <mode = "wrap"> (x, p) y = Relu (a)'.replace("(x, p)", "(x, q)"))
    model = one(
        'a = Relu (x) b = Pad <mode = "wrap"> (a, p) y = Relu (b)',
        inputs="float[1, 2, 9, 8] x",
        initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}",
    )
    onnx.save(model, "m.onnx")
    writes()
    writes("m.onnx", "--target", "tract")
    assert "tract" in {each.get("against") for each in entries()["m.onnx"]}
    before = entries()
    for words in ((), ("--target", "opencv@4"), ("--target", "tract")):
        assert "gone" not in checks("m.onnx", *words, code=1 if "opencv@4" in words else 0)
    writes("m.onnx", "--target", "opencv@4")
    writes()
    now = entries()["m.onnx"]
    assert all(each in now for each in before["m.onnx"])


def test_the_file_has_a_line_for_each_kind_and_no_name() -> None:
    save(NETWORK.replace("c =", "[a_name] c ="))
    writes()
    text = Path("b.json").read_text()
    assert "a_name" not in text
    (line,) = (each for each in text.splitlines() if "MaxPool auto" in each)
    assert json.loads(line.strip(" ,")) == {
        "code": "PAD101",
        "fingerprint": json.loads(line.strip(" ,"))["fingerprint"],
        "severity": "warning",
        "count": 1,
        "note": "MaxPool auto_pad=SAME_UPPER, kernel 3x3, stride 2x2, after Relu, before Conv",
    }
    codes = [each["code"] + each["fingerprint"] for each in entries()["m.onnx"]]
    assert codes == sorted(codes)


def test_the_json_report_has_them_apart() -> None:
    save(NETWORK)
    writes()
    save(f"n = AveragePool <{SAME}> (x) {NETWORK.replace('(x', '(n')}")
    document = json.loads(checks("m.onnx", "--format", "json", code=1))
    (file,) = document["files"]
    assert (len(file["findings"]), len(file["known"]), file["failing"]) == (1, 3, 1)
    assert document["summary"]["known"] == 3
    assert document["baseline"] == {"path": "b.json", "gone": 0, "added": 1, "written": False}
    plain = json.loads(onnxpad_runs("check", "m.onnx", "--format", "json").stdout)
    assert plain["baseline"] is None
    assert plain["files"][0]["known"] == []


def test_a_page_counts_them() -> None:
    save(NETWORK)
    writes()
    checks("m.onnx", "--html", "page.html")
    page = Path("page.html").read_text()
    assert "nothing new, 3 known" in re.sub(r"<[^>]*>", "", page)


def test_a_model_that_cannot_be_read_keeps_its_findings() -> None:
    for name in ("a.onnx", "b.onnx"):
        save(NETWORK, name)
    writes(".")
    before = entries()
    Path("a.onnx").write_bytes(b"no model")
    save("y = Relu (x)", "b.onnx")
    result = onnxpad_runs("check", ".", "--baseline", "b.json", "--write-baseline")
    assert result.exit_code == 2
    assert entries() == {"a.onnx": before["a.onnx"]}


def with_entry(**changes: object) -> str:
    entry = {
        "code": "PAD101",
        "fingerprint": "0123456789abcdef",
        "severity": "info",
        "count": 1,
        "note": "",
    }
    return json.dumps({"version": 1, "models": {"m.onnx": [{**entry, **changes}]}})


def test_what_another_job_wrote_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    save(NETWORK, "one/m.onnx")
    save(NETWORK, "two/m.onnx")
    end = Baseline.end

    def late(self: Baseline, arguments: Iterable[Path]) -> BaselineUse:
        monkeypatch.setattr(Baseline, "end", end)
        writes("two")
        return self.end(arguments)

    monkeypatch.setattr(Baseline, "end", late)
    writes("one")
    assert [*entries()] == ["one/m.onnx", "two/m.onnx"]


DAMAGED = [
    ("", "line 1 is no JSON"),
    ("{", "line 1 is no JSON"),
    ("[" * 100_000, "no JSON that can be read"),
    ("1" * 5000, "no JSON that can be read"),
    ("[]", "no JSON object"),
    ("{}", "has no version"),
    ('{"version": "1", "models": {}}', "has no version"),
    ('{"version": true, "models": {}}', "has no version"),
    ('{"version": 2, "models": {}}', "a baseline of version 2, and this onnxpad reads version 1"),
    ('{"version": 1}', "has no object of models"),
    ('{"version": 1, "models": []}', "has no object of models"),
    ('{"version": 1, "models": {}, "modles": {}}', "unknown key 'modles'; did you mean 'models'?"),
    ('{"version": 1, "models": {"m": {}}}', "'m' has no list of findings"),
    ('{"version": 1, "models": {"m": [], "m": []}}', "has the key 'm' twice"),
    ('{"version": 1, "models": {"m": [1]}}', "finding 1 of 'm' is no object"),
    (with_entry(count=0), "finding 1 of 'm.onnx' has no right count"),
    (with_entry(count=True), "no right count"),
    (with_entry(count="1"), "no right count"),
    (with_entry(count=1.5), "no right count"),
    (with_entry(fingerprint="x"), "no right fingerprint"),
    (with_entry(fingerprint=None), "no right fingerprint"),
    (with_entry(severity="bad"), "no right severity"),
    (with_entry(severity=["info"]), "no right severity"),
    (with_entry(code=""), "no right code"),
    (with_entry(note=1), "no right note"),
    (with_entry(nodes=1), "unknown key 'nodes'"),
    (with_entry().replace("}]", "}, " + with_entry().split("[")[1].split("]")[0] + "]"),
     "finding 2 of 'm.onnx' is there twice"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), DAMAGED)
def test_a_damaged_file_is_refused_in_one_line_and_stays(text: str, why: str) -> None:
    save(NETWORK)
    Path("b.json").write_text(text)
    for words in ((), ("--write-baseline",)):
        said = checks("m.onnx", *words, code=2)
        assert said.startswith("error: b.json: ")
        assert why in said
        assert said.count("\n") == 1
        assert Path("b.json").read_text() == text


def test_bytes_of_other_encodings() -> None:
    save(NETWORK)
    writes()
    text = Path("b.json").read_text()
    Path("b.json").write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))  # of Windows
    assert "written" not in writes()
    Path("b.json").write_bytes(text.encode("utf-16"))
    assert "no text in UTF-8" in checks(code=2)
    result = onnxpad_runs("check", "m.onnx", "--baseline", f"{'b' * 300}/b.json")
    assert result.exit_code == 2
    assert "name too long" in result.stderr.lower()
    assert "no such baseline" not in result.stderr


def test_the_marks_of_a_merge_are_known() -> None:
    save(NETWORK)
    writes()
    text = Path("b.json").read_text()
    Path("b.json").write_text(f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> night\n")
    said = checks(code=2)
    assert "b.json: has the marks of a merge; take the file of one side" in said
    assert said.count("\n") == 1


def test_files_that_cannot_be_read_or_written(folder: Path) -> None:
    save(NETWORK)
    assert "there is no such baseline; --write-baseline writes it" in checks(code=2)
    result = onnxpad_runs("check", "m.onnx", "--write-baseline")
    assert result.exit_code == 2
    assert "--write-baseline needs the file to write: --baseline FILE" in result.stderr
    for name, why in {
        "sub": "is a folder",
        "none/b.json": "there is no folder none",
    }.items():
        Path("sub").mkdir(exist_ok=True)
        words = ["check", "m.onnx", "--baseline", name]
        result = onnxpad_runs(*words, "--write-baseline")
        assert (result.exit_code, why in result.stderr) == (2, True), result.stderr
        result = onnxpad_runs(*words)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    words = ["check", "m.onnx", "--baseline", "b.json", "--html", "b.json"]
    assert "--html would replace b.json" in onnxpad_runs(*words, "--write-baseline").stderr
    Path("pipe").symlink_to("/dev/zero")
    assert "is no file" in onnxpad_runs("check", "m.onnx", "--baseline", "pipe").stderr
    assert sorted(each.name for each in folder.iterdir()) == ["m.onnx", "pipe", "sub"]


def test_a_failed_write_leaves_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    save(NETWORK)
    writes()
    before = Path("b.json").read_bytes()
    save("y = Relu (x)")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("onnxpad.file.atomic_write.os.fsync", full)
    result = onnxpad_runs("check", "m.onnx", "--baseline", "b.json", "--write-baseline")
    assert result.exit_code == 2
    assert "No space left" in result.stderr
    assert Path("b.json").read_bytes() == before
    assert sorted(each.name for each in Path().iterdir()) == ["b.json", "m.onnx"]
