"""`fix_all`: which models are fixed, where results go, and what a next run need not do."""

import os
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from msgspec.structs import replace

import onnxpad
from onnxpad.errors import ModelError, OutputError, UsageError
from onnxpad.folders.paths import models_in, partners
from onnxpad.folders.serving import written
from onnxpad.report import Outcome
from onnxpad.runtimes import pool
from tests.support import W, one

SAME = one('y = Conv <auto_pad = "SAME_UPPER"> (x, w)', initializers=W)
PLAIN = one("y = Relu (x)")


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models that change or not, one that is damaged, and what is no input."""
    monkeypatch.chdir(tmp_path)
    for name in ("in/a/same", "in/plain", "in/a/same.fixed", "in/.git/same"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        onnx.save(PLAIN if name == "in/plain" else SAME, f"{name}.onnx")
    Path("in/a/damaged.ONNX").write_bytes(b"damaged")
    Path("in/a/notes.txt").write_text("no model")


def files(folder: str) -> list[str]:
    return sorted(str(each) for each in Path(folder).rglob("*") if each.is_file())


def outcomes(*paths: str, **options: Any) -> dict[str, str]:
    return {each.path: each.outcome for each in onnxpad.fix_all(paths, **options)}


ALL = {"in/a/damaged.ONNX": "unreadable", "in/a/same.onnx": "fixed", "in/plain.onnx": "unchanged"}


def test_a_tree_is_mirrored() -> None:
    seen: list[Any] = []
    found = [*onnxpad.fix_all("in", output="out", progress=lambda *now: seen.append(now[1:]))]
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert {each.path: each.outcome for each in found} == ALL
    assert all(len(repr(each)) < 220 and each.line[:9] in repr(each) for each in found)
    assert files("out") == ["out/a/same.onnx", "out/plain.onnx"]
    assert Path("out/plain.onnx").read_bytes() == Path("in/plain.onnx").read_bytes()
    expected = Path("expected.onnx")
    onnxpad.fix("in/a/same.onnx").save(expected)
    assert Path("out/a/same.onnx").read_bytes() == expected.read_bytes()


def test_results_inside_the_tree_are_no_inputs() -> None:
    for _ in range(2):
        assert outcomes("in", output="in/out", validate=False) == ALL
    assert files("in/out") == ["in/out/a/same.onnx", "in/out/plain.onnx"]


def test_in_place_and_nowhere() -> None:
    before = {name: Path(name).read_bytes() for name in files("in")}
    assert outcomes("in", validate=False) == ALL
    assert {name: Path(name).read_bytes() for name in files("in")} == before
    assert outcomes("in", in_place=True, validate=False) == ALL
    changed = [name for name in files("in") if Path(name).read_bytes() != before[name]]
    assert (changed, files("in")) == (["in/a/same.onnx"], sorted(before))


def test_a_next_run_does_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"output": "out", "resume": "runs", "validate": False}
    first = sorted(onnxpad.fix_all("in", **asked), key=lambda each: each.path)

    def borrow() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(pool, "borrow", borrow)
        found = sorted(onnxpad.fix_all("in", **asked), key=lambda each: each.path)
        assert found == [replace(each, resumed=True) for each in first]
        for other in ({"style": "pad"}, {"output": "other"}, {"validate": True}):
            with pytest.raises(KeyboardInterrupt):
                list(onnxpad.fix_all("in/a", **{**asked, **other}))
    content = Path("out/a/same.onnx").read_bytes()
    for spoil in (Path.unlink, lambda path: path.write_bytes(b"cut")):
        spoil(Path("out/a/same.onnx"))
        assert outcomes("in", **asked) == ALL
        assert Path("out/a/same.onnx").read_bytes() == content


def test_sizes_are_for_the_models_that_have_the_name() -> None:
    onnx.save(one("y = Relu (x)", inputs="float[1, 2, n, n] x"), "in/open.onnx")
    found = outcomes("in", output="out", validate=False, dims={"n": 8})
    assert found == ALL | {"in/open.onnx": "fixed"}
    with pytest.raises(UsageError, match="none of 3 models"):
        outcomes("in", output="none", dims={"k": 8})
    with pytest.raises(UsageError, match="is no size"):
        onnxpad.fix_all("in", output="none", dims={"k": "x"})
    assert not Path("none").exists()


def test_external_data_decides_too() -> None:
    Path("big").mkdir()
    big = onnx.ModelProto.FromString(SAME.SerializeToString())
    (weight,) = big.graph.initializer
    weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight), "w"))
    onnx.save(big, "big/m.onnx", save_as_external_data=True, location="data", size_threshold=0)
    asked: dict[str, Any] = {"output": "out", "resume": "runs", "validate": False}
    (found,) = onnxpad.fix_all("big", **asked)
    assert found.written == ("out/m.onnx", "out/data")
    for change in (Path("out/data").unlink, lambda: Path("big/data").write_bytes(bytes(432))):
        assert [*onnxpad.fix_all("big", **asked)] == [replace(found, resumed=True)]
        change()
        (other,) = onnxpad.fix_all("big", **asked)
        assert other.seconds != found.seconds
        assert (other.outcome, other.written[0]) == ("fixed", "out/m.onnx")
        assert Path("out/data").read_bytes() == Path("big/data").read_bytes()
        found = other


def test_a_wrong_result_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    result = onnxpad.fix("in/a/same.onnx", validate=False)
    with monkeypatch.context() as patched:
        patched.setattr(onnxpad.FixResult, "outcome", Outcome.INVALID)
        assert written(result, Path("out/x.onnx"), copies=True).delivery.written == ""
        assert not Path("out").exists()
    assert written(result, Path("out/x.onnx"), copies=False).delivery.written == "out/x.onnx"


def test_check_and_validate_all() -> None:
    found = {each.path: each.outcome for each in onnxpad.check_all("in", jobs=2, ignore="PAD2")}
    assert found == {**ALL, "in/a/same.onnx": "failed", "in/plain.onnx": "passed"}
    ignored = onnxpad.check_all(["in/a/same.onnx"], fail_on=onnxpad.Severity.ERROR, resume="runs")
    assert [each.outcome for each in ignored] == ["passed"]
    list(onnxpad.fix_all("in", output="out", validate=False))
    found = {each.path: each.outcome for each in onnxpad.validate_all("in", "out", samples=2)}
    assert found == dict(zip(ALL, ("no partner", "passed", "passed"), strict=True))
    with pytest.raises(TypeError, match="stile"):
        onnxpad.check_all("in", stile="x")
    with pytest.raises(UsageError, match="rtol"):
        onnxpad.validate_all("in", "out", rtol=-1)


def test_patterns_and_repeated_names() -> None:
    same, plain = Path("in/a/same.onnx"), Path("in/plain.onnx")
    found = models_in([Path("in/**/*.onnx")])
    assert found == {same: Path("a/same.onnx"), plain: Path("plain.onnx")}
    assert len(models_in([plain, Path("in"), Path("in").absolute(), Path("in/a")])) == 3
    Path("in/a").rename("in/a.fixed.onnx")  # a folder is no result
    assert len(models_in([plain, Path("in/a.fixed.onnx")])) == 3
    Path("in/[1].onnx").write_bytes(b"")
    assert [*models_in([Path("in/[1].onnx")])] == [Path("in/[1].onnx")]


def test_several_folders_and_patterns_that_folders_fit() -> None:
    Path("in/b").mkdir()
    onnx.save(SAME, "in/b/same.onnx")
    places = [Path("a/damaged.ONNX"), Path("a/same.onnx"), Path("b/same.onnx")]
    for named in (["in/a", "in/b"], ["in/[ab]"], ["in/b/", str(Path("in/a").absolute())]):
        assert sorted(models_in(map(Path, named)).values()) == places
    assert [*models_in([Path("in/b")]).values()] == [Path("same.onnx")]
    assert Path("plain.onnx") in models_in([Path("in"), Path("in/a")]).values()


def test_links_and_other_ways_to_a_model() -> None:
    Path("in/loop").symlink_to(".")
    Path("in/link.onnx").symlink_to("plain.onnx")
    found = map(str, models_in([Path("in/**"), Path("in/../in/plain.onnx")]))
    assert sorted(found) == sorted([*ALL, "in/link.onnx"])
    assert len(outcomes("in", in_place=True, validate=False)) == 3
    Path("alias").symlink_to("in")
    Path("out").mkdir()
    Path("out/plain.onnx").symlink_to("../in/a/same.onnx")
    for output, said in (
        ("alias", "in is in --output"),
        ("out", "same.onnx: a result would replace"),
    ):
        with pytest.raises(UsageError, match=said):
            onnxpad.fix_all("in", output=output)


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes, and pipes")
def test_odd_files_are_outcomes_and_kept() -> None:
    odd = os.fsdecode(b"odd/-\xff[x]\n.onnx")
    Path(odd).parent.mkdir()
    onnx.save(SAME, odd)
    model = onnx.ModelProto.FromString(SAME.SerializeToString())
    model.graph.initializer[0].external_data.add(key="location", value="a\0b")
    model.graph.initializer[0].data_location = 1
    Path("odd/nul.onnx").write_bytes(model.SerializeToString())
    os.mkfifo("odd/pipe.onnx")
    gone = "unreadable"
    for _ in range(2):
        found = outcomes("odd", output="out", resume="runs", validate=False)
        assert found == {odd: "fixed", "odd/nul.onnx": gone, "odd/pipe.onnx": gone}


@pytest.mark.parametrize(
    ("paths", "options", "error", "said"),
    [
        (["in/*.tflite"], {}, UsageError, "in/*.tflite: there is no .onnx file"),
        (["in/a/same.fixed.onnx"], {}, UsageError, "same.fixed.onnx: there is no"),
        (["in/a/same.onnx", "in/.git/same.onnx"], {"output": "o"}, UsageError, "of two models, in"),
        (["in"], {"output": "o", "in_place": True}, UsageError, "exclude each other"),
        (["in"], {"output": "in/plain.onnx"}, OutputError, "in/plain.onnx names a file"),
        (["in"], {"style": "x"}, UsageError, "unknown style"),
        (["in"], {"select": "PAD9999"}, UsageError, "names no code"),
        (["in"], {"stile": "pad"}, TypeError, "did you mean 'style'?"),
        (["in"], {"ouput": "o"}, TypeError, "did you mean 'output'?"),
        (["nope"], {}, ModelError, "nope does not exist"),
    ],
)
def test_what_is_refused_at_once(
    paths: list[str], options: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as raised:
        onnxpad.fix_all(paths, **options)
    assert said in str(raised.value)


def test_partners_have_the_same_place() -> None:
    for name in ("new/plain.onnx", "new/more.onnx"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(b"")
    found = partners(Path("in"), Path("new"))
    assert found == {
        **{Path("in", e): Path("new", e) for e in ("a/damaged.ONNX", "a/same.onnx", "plain.onnx")},
        Path("new/more.onnx"): Path("in/more.onnx"),
    }
    assert partners(Path("in/plain.onnx"), Path("x")) == {Path("in/plain.onnx"): Path("x")}
