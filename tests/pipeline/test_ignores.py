"""What a model ignores: its metadata, what that is about, and the command that writes it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.finding import Finding
from onnxpad.graph import Graph
from onnxpad.pipeline.ignores import LONGEST, MOST, Ignore, ignores_of, write_ignores
from onnxpad.pipeline.metadata import IGNORED
from tests.support import W, one, onnxpad_runs
from tests.support.exports import exported_anew

SAME = 'auto_pad = "SAME_UPPER", kernel_shape = [3, 3]'
BODY = (
    f"[first] a = Conv <{SAME}> (x, w) b = Relu (a) [second] c = Conv <{SAME}> (b, v) "
    f"d = Relu (c) [third] y = MaxPool <{SAME}, strides = [2, 2]> (d)"
)
GIVEN = f"{W}, float[3, 3, 3, 3] v = {{{', '.join(['1'] * 81)}}}"
WIDE = [{"code": "PAD101", "reason": "as trained"}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def network(body: str = BODY, ignored: object = None) -> onnx.ModelProto:
    model = one(body, inputs="float[1, 2, 9, 8] x", initializers=GIVEN)
    if ignored is not None:
        text = ignored if isinstance(ignored, str) else json.dumps(ignored)
        model.metadata_props.add(key=IGNORED, value=text)
    return model


def saved(body: str = BODY, ignored: object = None) -> Path:
    onnx.save(network(body, ignored), "m.onnx")
    return Path("m.onnx")


def runs(*words: object, code: int = 0) -> str:
    result = onnxpad_runs(*words)
    assert result.exit_code == code, result.output
    return result.stdout + result.stderr


def ignores(*words: object, code: int = 0) -> str:
    return runs("ignore", "m.onnx", *words, code=code)


def nodes(findings: tuple[Finding, ...]) -> list[str]:
    return [each.node for each in findings]


def test_a_code_is_ignored_wherever_it_is() -> None:
    saved()
    said = ignores("PAD101", "--reason", "as\n trained")
    assert said == "m.onnx: ignores 3 findings PAD101, wherever it is found\n"
    assert runs("check", "m.onnx") == (
        "m.onnx: note: 3 ignored in the model (onnxpad.ignore): PAD101 'as trained' (3)\n"
        "1 file: nothing else, 3 ignored\n"
    )
    assert ignores("--list") == "PAD101: as trained\n"
    runs("check", "m.onnx", "--isolated", code=1)


def test_a_place_is_ignored_by_its_name_and_padding() -> None:
    saved()
    assert ignores("PAD101", "--node", "second", "--reason", "r") == (
        "m.onnx: ignores 1 finding PAD101\n"
    )
    found = onnxpad.check("m.onnx")
    assert nodes(found.findings) == ["first", "third"]
    assert [(each.node, why) for each, why in found.ignored] == [("second", "r")]
    assert len(onnxpad.check("m.onnx", isolated=True).findings) == 3
    assert ignores("--list") == "PAD101 at 'second': r\n"


def test_a_place_stays_ignored_under_another_name_but_not_with_other_padding() -> None:
    saved()
    ignores("PAD101", "--node", "second", "--reason", "r")
    model = onnx.load("m.onnx")
    text = {each.key: each.value for each in model.metadata_props}[IGNORED]
    other = exported_anew(model)
    other.metadata_props.add(key=IGNORED, value=text)
    assert len(onnxpad.check(other).ignored) == 1
    assert len(onnxpad.check(network(BODY.replace("UPPER", "LOWER", 2), text)).ignored) == 0
    moved = BODY.replace("b = Relu", "b = Sigmoid").replace("d = Relu", "d = Sigmoid")
    assert len(onnxpad.check(network(moved, text)).ignored) == 1  # by its name
    moved = moved.replace("[second]", "[other]")
    assert len(onnxpad.check(network(moved, text)).ignored) == 0


def test_an_ignored_place_counts_once_where_places_are_alike() -> None:
    pools = " ".join(
        f"[p{i}] {'y' if i == 4 else f't{i}'} = MaxPool <{SAME}> ({f't{i - 1}' if i else 'x'})"
        for i in range(5)
    )
    saved(pools)
    ignores("PAD101", "--node", "p2", "--reason", "r")
    assert nodes(onnxpad.check("m.onnx").findings) == ["p0", "p1", "p3", "p4"]
    ignores("PAD101", "--node", "p2", "--node", "p3", "--reason", "s")
    assert nodes(onnxpad.check("m.onnx").findings) == ["p0", "p1", "p4"]
    assert ignores("--list") == "PAD101 at 'p2': s\nPAD101 at 'p3': s\n"


def test_fix_leaves_it_and_keeps_the_metadata() -> None:
    saved()
    ignores("PAD101", "--node", "second", "--reason", "the runtime wants it")
    said = runs("fix", "m.onnx", "--no-validate")
    assert "note: 1 ignored in the model (onnxpad.ignore): PAD101 'the runtime wants it'" in said
    assert "the model's metadata ignores it" in said
    left = [each for each in onnx.load("m.fixed.onnx").graph.node if each.name == "second"]
    assert any(each.name == "auto_pad" for each in left[0].attribute)
    after = onnxpad.check("m.fixed.onnx")
    assert (nodes(after.findings), len(after.ignored)) == ([], 1)
    result = onnxpad.fix("m.onnx", validate=False)
    assert [each.reason_code for each in result.findings] == ["ignored"]
    assert result.next is None
    assert onnxpad.fix("m.onnx", validate=False, isolated=True).findings == ()
    assert "auto_pad 3 -> 0" in runs("fix", "m.onnx", "--no-validate", "--isolated", "--check",
                                     code=1)  # fmt: skip


def test_a_place_stays_ignored_where_fix_rewrites_what_is_next_to_it() -> None:
    body = 'z = Concat <axis = 0> (q, q) [pad] a = Pad <mode = "reflect"> (x, z) '
    body += f"[conv] y = Conv <{SAME}> (a, w)"
    given = f"{GIVEN}, int64[4] q = {{0, 0, 1, 1}}"
    onnx.save(one(body, inputs="float[1, 2, 9, 8] x", initializers=given), "m.onnx")
    ignores("PAD205", "--node", "pad", "--reason", "r")
    assert "1 change" in runs("fix", "m.onnx", "--in-place", "--no-validate")
    assert [each.node for each, _ in onnxpad.check("m.onnx").ignored] == ["pad"]
    assert "nothing to change" in runs("fix", "m.onnx", "--in-place", "--no-validate")
    assert ignores("--list") == "PAD205 at 'pad': r\n"


def test_what_rests_on_a_rewrite_that_is_not_made_stays_too() -> None:
    body = f"[pad] a = Pad (x, p) [conv] y = Conv <{SAME}> (a, w)"
    given = f"{GIVEN}, int64[8] p = {{0, 0, 1, 1, 0, 0, 1, 1}}"
    onnx.save(one(body, inputs="float[1, 2, 9, 8] x", initializers=given), "m.onnx")
    assert all(each.fixable for each in onnxpad.check("m.onnx").findings)
    ignores("PAD101", "--node", "conv", "--reason", "r")
    (found,) = onnxpad.check("m.onnx").findings
    assert (found.code, found.node, found.reason_code) == ("PAD201", "pad", "same-stays")
    result = onnxpad.fix("m.onnx", validate=False)
    assert not result.changes
    assert {each.reason_code for each in result.findings} == {"same-stays", "ignored"}


def test_repad_and_match_do_not_mind_and_keep_it() -> None:
    saved(ignored=WIDE)
    model = onnx.load("m.onnx")
    result = onnxpad.repad(model, "pytorch")
    assert {each.key for each in result.model.metadata_props} >= {IGNORED}
    plain = onnxpad.repad(network(), "pytorch")
    assert len(plain.changes) == len(result.changes) > 0


def test_show_tells_it_and_says_what_fix_leaves_for_it() -> None:
    saved(ignored=WIDE)
    said = runs("show", "m.onnx")
    assert "3 ignored in the model (onnxpad.ignore): PAD101 'as trained' (3)" in said
    assert "fix leaves 3 as they are" in said
    assert "ignored" not in (isolated := runs("show", "m.onnx", "--isolated"))
    assert "fix rewrites 3 of these" in isolated
    saved(ignored="no JSON")
    said = runs("show", "m.onnx")
    assert "warning: the metadata onnxpad.ignore is not heeded: it is no JSON" in said
    assert "fix rewrites 3 of these" in said


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_every_report_tells_it(form: str) -> None:
    saved(ignored=WIDE)
    said = runs("check", "m.onnx", "--format", form)
    assert "as trained" in said
    assert "3 ignored in the model" in said


def test_quiet_reports_tell_it_too() -> None:
    saved(ignored=WIDE)
    line = "m.onnx: note: 3 ignored in the model (onnxpad.ignore): PAD101 'as trained' (3)\n"
    for words in ((), ("--statistics",), ("--format", "github")):
        assert runs("check", "m.onnx", "--quiet", *words) == line
    assert "3 ignored in the model" in runs("fix", "m.onnx", "--no-validate", "--quiet")
    assert runs("check", saved("y = Relu (x)", WIDE), "--quiet") == ""


def test_the_json_report_has_the_findings() -> None:
    saved(ignored=WIDE)
    document = json.loads(runs("check", "m.onnx", "--format", "json"))
    (file,) = document["files"]
    assert file["findings"] == []
    assert document["summary"]["ignored"] == len(file["ignored"]) == 3
    assert {each["reason"] for each in file["ignored"]} == {"as trained"}
    log = json.loads(runs("check", "m.onnx", "--format", "sarif"))
    assert log["runs"][0]["results"] == []  # code scanning opens an alert for suppressed ones, too


def test_what_is_ignored_is_not_in_a_baseline() -> None:
    saved(ignored=[{**WIDE[0]}])
    runs("check", "m.onnx", "--baseline", "b.json", "--write-baseline")
    assert json.loads(Path("b.json").read_text())["models"] == {}


def test_of_a_target_only_that_is_ignored() -> None:
    body = 'a = Relu (x) [pad] b = Pad <mode = "wrap"> (a, p) y = Relu (b)'
    given = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"
    onnx.save(one(body, inputs="float[1, 2, 9, 8] x", initializers=given), "m.onnx")
    ignores("PAD704", "--target", "tract", "--reason", "not there")
    assert ignores("--list") == "PAD704 tract: not there\n"
    assert "PAD704 'not there'" in runs("check", "m.onnx", "--target", "tract")
    found = onnxpad.check("m.onnx", target=("tract", "opencv@4"))
    assert {each.against for each, _ in found.ignored} == {"tract"}


def test_what_is_ignored_is_not_rewritten_for_a_target_either() -> None:
    dilated = f"[first] a = Conv <{SAME}, dilations = [2, 2]> (x, w) [second] y = Relu (a)"
    saved(dilated)
    of_target = ("--target", "opencv@4")
    assert "2 fixable" in runs("check", "m.onnx", *of_target, code=1)
    ignores("PAD101", "--node", "first", "--reason", "r", *of_target)
    for said in (
        runs("check", "m.onnx", *of_target, code=1),
        runs("fix", "m.onnx", *of_target, "--no-validate"),
    ):
        assert "no writing that onnxpad knows and the model does not ignore is taken better" in said
        assert "fixable" not in said
    assert "wrong there: first" in runs("show", "m.onnx", *of_target)


ENTRY = {"code": "PAD101", "reason": "r", "fingerprint": "0" * 16, "node": "n", "against": "t"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON that can be read"),
        ("[" + "1" * 5000 + "]", "entry 1"),
        ("null", "no JSON list"),
        ('{"PAD101": "r"}', "no JSON list"),
        ("yes, please", "no JSON"),
        ('["PAD101"]', "entry 1"),
        (json.dumps([ENTRY, {"code": "PAD101"}]), "entry 2"),
        (json.dumps([{**ENTRY, "reason": " "}]), "entry 1"),
        (json.dumps([{**ENTRY, "reason": None}]), "entry 1"),
        (json.dumps([{**ENTRY, "code": 101}]), "entry 1"),
        (json.dumps([{**ENTRY, "more": "m"}]), "entry 1"),
        (json.dumps([{**ENTRY, "reason": "r" * (LONGEST + 1)}]), "the reason of entry 1 is longer"),
        ('[{"code": "PAD101", "reason": "r", "reason": "s"}]', "an entry has a key twice"),
        (json.dumps([ENTRY] * (MOST + 1)), "more than 1,000 entries"),
        (json.dumps([{**ENTRY, "reason": "r" * (1 << 20)}]), "longer than 1,048,576 characters"),
    ],
)
def test_metadata_of_others_is_told_and_not_heeded(text: str, why: str) -> None:
    model = network(ignored=text)
    onnx.save(model, "m.onnx")
    for result in (onnxpad.check(model), onnxpad.fix(model, validate=False)):
        (warning,) = result.warnings
        assert warning.startswith(f"the metadata {IGNORED} is not heeded: ")
        assert why in warning
    assert len(onnxpad.check(model).findings) == 3
    assert runs("check", "m.onnx", code=1).count("warning: the metadata") == 1
    before = Path("m.onnx").read_bytes()
    for words in (("--list",), ("PAD101", "--reason", "r"), ("PAD101", "--remove")):
        said = ignores(*words, code=2)
        assert why in said
        assert "onnxpad ignore m.onnx --remove takes it out" in said
        assert Path("m.onnx").read_bytes() == before
    assert ignores("--remove") == "m.onnx: no longer ignores it\n"
    assert ignores("--list") == "m.onnx: ignores nothing\n"


def test_metadata_that_is_there_twice_is_not_heeded() -> None:
    model = network(ignored=WIDE)
    model.metadata_props.add(key=IGNORED, value="[]")
    assert onnxpad.check(model).warnings == (
        f"the metadata {IGNORED} is not heeded: it is there twice",
    )
    onnx.save(model, "m.onnx")
    ignores("--remove")
    assert onnx.load("m.onnx").metadata_props == []


def test_odd_characters_do_no_harm() -> None:
    saved(ignored=[{"code": "PAD101", "reason": "a\x1b[2Jb\nc"}])
    said = runs("check", "m.onnx")
    assert "\x1b" not in said
    assert said.count("\n") == 2
    assert "\x1b" not in ignores("--list")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["PAD205", "--reason", "r"], "m.onnx: has no finding PAD205; it has PAD101"),
        (["PAD101", "--node", "n", "--reason", "r"],
         "has no finding PAD101 about 'n', but of 'first', 'second', 'third'"),
        (["PAD1", "--reason", "r"], "PAD1 stands for 3 codes; name one, such as PAD103"),
        (["PAD999", "--reason", "r"], "PAD999"),
        (["PAD101"], "say why PAD101 is to be ignored: --reason TEXT"),
        (["--reason", "r"], "name the CODE"),
        ([], "name the CODE"),
        (["PAD101", "--reason", " "], "--reason is empty"),
        (["PAD101", "--reason", "r" * 501], "--reason is longer than 500 characters"),
        (["PAD101", "--remove"], "m.onnx: does not ignore PAD101; it ignores nothing"),
        (["--remove"], "does not ignore anything"),
        (["PAD101", "--remove", "--reason", "r"], "--remove takes no --reason"),
        (["PAD101", "--list"], "--list takes the model alone"),
        (["--node", "first", "--remove"], "--node needs the CODE"),
        (["PAD101", "--reason", "r", "-o", "none/m.onnx"], "there is no folder none"),
        (["PAD101", "--reason", "r", "-o", "m.onnx"], "is the model itself"),
    ],
)  # fmt: skip
def test_bad_usage_writes_nothing(words: list[str], why: str) -> None:
    before = saved().read_bytes()
    said = ignores(*words, code=2)
    assert why in said
    assert said.count("\n") == 1
    assert Path("m.onnx").read_bytes() == before


def test_what_is_removed_leaves_the_file_as_it_was() -> None:
    before = saved().read_bytes()
    ignores("PAD101", "--node", "first", "--reason", "r")
    ignores("PAD101", "--node", "third", "--reason", "s")
    assert "does not ignore PAD101 at 'second'; it ignores PAD101 at 'first'" in ignores(
        "PAD101", "--node", "second", "--remove", code=2
    )
    assert ignores("PAD101", "--node", "first", "--remove") == (
        "m.onnx: no longer ignores PAD101 at 'first'\n"
    )
    assert ignores("PAD101", "--remove") == "m.onnx: no longer ignores PAD101 at 'third'\n"
    assert Path("m.onnx").read_bytes() == before


def test_a_code_everywhere_takes_the_place_of_its_places() -> None:
    saved()
    ignores("PAD101", "--node", "first", "--reason", "r")
    ignores("PAD101", "--reason", "s", "-o", "other.onnx")
    assert runs("ignore", "other.onnx", "--list") == "PAD101: s\n"
    assert ignores("--list") == "PAD101 at 'first': r\n"


def test_too_many_places_are_refused() -> None:
    graph = Graph.from_proto(network())
    write_ignores(graph, [Ignore("PAD101", "r", f"{i:016x}", f"n{i}") for i in range(MOST)])
    graph.model.write("m.onnx")
    assert len(ignores_of(Graph.load("m.onnx"))[0]) == MOST
    assert "would ignore over 1,000 places" in ignores(
        "PAD101", "--node", "first", "--reason", "r", code=2
    )


def test_weights_in_other_files_stay() -> None:
    model = network()
    for each in model.graph.initializer:
        each.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(each), each.name))
    values = [onnx.numpy_helper.to_array(each) for each in model.graph.initializer]
    onnx.save(model, "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    before = Path("w.bin").read_bytes(), Path("w.bin").stat().st_mtime_ns
    ignores("PAD101", "--reason", "r")
    assert (Path("w.bin").read_bytes(), Path("w.bin").stat().st_mtime_ns) == before
    assert sorted(each.name for each in Path().iterdir()) == ["m.onnx", "w.bin"]
    now = [onnx.numpy_helper.to_array(each) for each in onnx.load("m.onnx").graph.initializer]
    assert all(map(np.array_equal, values, now))


def test_a_result_that_ignores_something_can_be_pickled() -> None:
    import pickle

    result: Any = pickle.loads(pickle.dumps(onnxpad.fix(network(ignored=WIDE), validate=False)))
    assert [each.reason_code for each in result.findings] == ["ignored"] * 3
    found: Any = pickle.loads(pickle.dumps(onnxpad.check(network(ignored=WIDE))))
    assert len(found.ignored) == 3
