"""Models whose weights lie in other files: read by parts, moved as asked for, never left halves."""

# mypy: disable-error-code="func-returns-value"

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onnxpad
from onnxpad.errors import ModelError, OutputError, UsageError
from onnxpad.file.proto_walk import tensors
from onnxpad.graph import Graph
from tests.support import Array, onnxpad_runs, run

How = Literal["copy", "inline"]
HOWS: list[How] = ["copy", "inline"]

PADS = numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1]), "pads")
WEIGHT = numpy_helper.from_array(np.arange(54, dtype=np.float32).reshape(3, 2, 3, 3) % 7, "w")
IMAGE = np.arange(144, dtype=np.float32).reshape(1, 2, 9, 8) % 11


def padded_conv(mode: str = "constant") -> onnx.ModelProto:
    """A Pad that a Conv can carry, all data inside."""
    model = onnx.parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 17]>
        g (float[1, 2, 9, 8] x) => (float[1, 3, 9, 8] y)
        {{ p = Pad <mode = "{mode}"> (x, pads) y = Conv (p, w) }}"""
    )
    model.graph.initializer.extend([WEIGHT, PADS])
    return model


def refer(tensor: onnx.TensorProto, location: str, *, offset: int = 0, length: int = 0) -> None:
    """Has a tensor refer to a file; what is 0 goes unsaid."""
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    for key, value in (("offset", offset), ("length", length)):
        if value:
            tensor.external_data.add(key=key, value=str(value))


def split(
    model: onnx.ModelProto, folder: Path, locations: dict[str, str], *, lengths: bool = True
) -> Path:
    """Saves a model with the tensors named in files, one after the other with a gap between."""
    folder.mkdir(parents=True, exist_ok=True)
    for tensor in tensors(model):
        if tensor.name in locations:
            file = folder / locations[tensor.name]
            file.parent.mkdir(parents=True, exist_ok=True)
            begin = file.stat().st_size + 5 if file.exists() else 0
            elements = tensor.raw_data
            with file.open("ab") as stream:
                stream.truncate(begin)
                stream.write(elements)
            refer(
                tensor, locations[tensor.name], offset=begin, length=len(elements) if lengths else 0
            )
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def computed(path: Path) -> Array:
    """What onnxruntime computes for one image."""
    return run(path, {"x": IMAGE})[0]


def everything(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def expected(tmp_path: Path) -> Array:
    path = tmp_path / "inside.onnx"
    onnx.save(padded_conv(), path)
    return computed(path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return split(padded_conv(), tmp_path / "a", {"w": "deep/er/w.bin", "pads": "pads.bin"})


@pytest.fixture
def other(tmp_path: Path) -> Path:
    folder = tmp_path / "b"
    folder.mkdir()
    return folder


class TestSaving:
    @pytest.mark.parametrize("how", HOWS)
    def test_in_another_folder(self, source: Path, other: Path, expected: Array, how: How) -> None:
        before = everything(source.parent)
        result = onnxpad.fix(source)
        assert result.validation is not None
        assert result.validation.outcome == "nothing compared"  # the original does not run
        steps: list[tuple[str, int, int]] = []
        written = result.save(
            other / "out.onnx", external_data=how, progress=lambda *step: steps.append(step)
        )
        data = other / "deep" / "er" / "w.bin"
        assert everything(source.parent) == before
        # The amounts are in the Conv now, and their file stays behind.
        inside = how == "inline"
        assert set(everything(other)) == {"out.onnx"} | (set() if inside else {"deep/er/w.bin"})
        assert written == (() if inside else (data,))
        assert np.array_equal(computed(other / "out.onnx"), expected)
        shutil.rmtree(source.parent)
        assert np.array_equal(computed(other / "out.onnx"), expected)
        onnx.checker.check_model(other / "out.onnx")
        assert steps == ([("copying w.bin (MiB)", 0, 0)] if how == "copy" else [])

    @pytest.mark.parametrize("how", HOWS)
    def test_in_the_same_folder(self, source: Path, expected: Array, how: How) -> None:
        before = everything(source.parent)
        onnxpad.fix(source).save(source.with_name("out.onnx"), external_data=how)
        after = everything(source.parent)
        del after["out.onnx"]
        assert after == before
        if how == "inline":
            shutil.rmtree(source.parent / "deep")
        assert np.array_equal(computed(source.with_name("out.onnx")), expected)

    def test_data_that_is_there_already_is_left_alone(self, source: Path, other: Path) -> None:
        result = onnxpad.fix(source, validate=False)
        result.save(other / "one.onnx")
        before = (other / "deep/er/w.bin").stat()
        for how in HOWS:
            assert result.save(other / "two.onnx", external_data=how) == ()
        after = (other / "deep/er/w.bin").stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


class TestRefusals:
    @pytest.fixture
    def result(self, source: Path) -> onnxpad.FixResult:
        return onnxpad.fix(source, validate=False)

    @pytest.mark.parametrize("same_size", [True, False])
    def test_other_data_in_its_place(
        self, result: onnxpad.FixResult, source: Path, other: Path, same_size: bool
    ) -> None:
        content = bytearray((source.parent / "deep/er/w.bin").read_bytes())
        content[-1] ^= 1
        (other / "deep/er").mkdir(parents=True)
        (other / "deep/er/w.bin").write_bytes(content if same_size else content[1:])
        before = everything(other)
        with pytest.raises(OutputError):
            result.save(other / "out.onnx")
        assert everything(other) == before

    def test_the_model_in_its_place(self, result: onnxpad.FixResult, other: Path) -> None:
        with pytest.raises(OutputError):
            result.save(other / "none" / "out.onnx")
        (other / "deep/er").mkdir(parents=True)
        with pytest.raises(OutputError):
            onnxpad.fix(
                split(padded_conv(), other / "from", {"w": "out.onnx"}), validate=False
            ).save(other / "out.onnx")

    @pytest.mark.parametrize("how", HOWS)
    def test_the_model_over_its_own_data(
        self, result: onnxpad.FixResult, source: Path, how: How
    ) -> None:
        before = everything(source.parent)
        for name in ("pads.bin", "deep/er/w.bin"):
            with pytest.raises(OutputError):
                result.save(source.parent / name, external_data=how)
        assert everything(source.parent) == before

    @pytest.mark.parametrize("there", [True, False])
    def test_a_way_out_of_the_folder(
        self, result: onnxpad.FixResult, tmp_path: Path, other: Path, there: bool
    ) -> None:
        (tmp_path / "c").mkdir()
        (other / "deep").symlink_to(tmp_path / ("c" if there else "nowhere"))
        with pytest.raises(OutputError):
            result.save(other / "out.onnx")

    def test_inside_over_2_gib(self, tmp_path: Path) -> None:
        model = padded_conv()
        refer(model.graph.initializer.add(name="huge", data_type=1, dims=[3 << 28]), "huge.bin")
        path = split(model, tmp_path, {})
        with (tmp_path / "huge.bin").open("wb") as file:
            file.truncate(3 << 30)
        with pytest.raises(OutputError):
            Graph.load(path).model.write(tmp_path / "out.onnx", external_data="inline")
        assert not (tmp_path / "out.onnx").exists()

    @pytest.mark.parametrize("how", HOWS)
    def test_data_that_went_or_was_cut_short_meanwhile(
        self, result: onnxpad.FixResult, source: Path, other: Path, how: How
    ) -> None:
        data = source.parent / "deep/er/w.bin"
        os.truncate(data, 100)
        if how == "inline":
            with pytest.raises(ModelError):
                result.save(other / "out.onnx", external_data=how)
        data.unlink()
        with pytest.raises((OutputError, ModelError), match=r"w\.bin.* cannot be"):
            result.save(other / "out.onnx", external_data=how)
        with pytest.raises(UsageError):
            result.save(other / "out.onnx", external_data="move")  # type: ignore[arg-type]
        assert list(other.iterdir()) == []

    def test_data_that_grew_meanwhile(
        self, result: onnxpad.FixResult, source: Path, other: Path
    ) -> None:
        calls: list[object] = []

        def grow(*step: object) -> None:
            calls.append(step)
            assert len(calls) < 9, "copied without end"
            with (source.parent / "deep/er/w.bin").open("ab") as file:
                file.write(b"more")

        with pytest.raises(OutputError):
            result.save(other / "out.onnx", progress=grow)
        assert list(other.iterdir()) == []


class TestConstants:
    @pytest.mark.parametrize("lengths", [True, False])
    @pytest.mark.parametrize("dtype", [1, 4, 7, 9, 10, 11, 16, 21, 22])
    def test_are_read_from_their_file(self, tmp_path: Path, dtype: int, lengths: bool) -> None:
        kind = helper.tensor_dtype_to_np_dtype(dtype)
        wanted = np.array([0, 1, 1, 0, 1], kind)
        names = ("first", "second", "third")
        model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g () => () { }')
        for name in names:
            model.graph.initializer.append(numpy_helper.from_array(wanted, name))
        node = helper.make_node("Constant", [], ["node"], value=model.graph.initializer[0])
        node.attribute[0].t.name = "inner"
        model.graph.node.append(node)
        files = {**dict.fromkeys(names, "all.bin"), "inner": "other.bin"}
        graph = Graph.load(split(model, tmp_path, files, lengths=lengths))
        for name in (*names, "node"):
            value = graph.constant(graph.tensor(name))
            assert value is not None
            assert value.dtype == kind
            assert value.tolist() == wanted.tolist()
            assert not value.flags.writeable
            assert graph.is_external(graph.tensor(name))


class TestAmounts:
    def test_fold_and_repair_the_model(self, source: Path, expected: Array) -> None:
        with pytest.raises(Exception, match="external"):
            computed(source)
        result = onnxpad.fix(source)
        (change,) = result.changes
        assert change.code == "PAD201"
        assert "equal on" in change.probe
        assert result.validation is not None
        assert result.validation.outcome == "nothing compared"  # the original does not run
        assert any("a repair" in each.note for each in result.validation.runs)
        result.save(source)
        assert np.array_equal(computed(source), expected)

    @pytest.mark.parametrize("node", [True, False])
    def test_that_stay_come_inside(self, tmp_path: Path, node: bool) -> None:
        model = padded_conv("reflect")
        onnx.save(model, tmp_path / "inside.onnx")
        if node:
            pads = model.graph.initializer.pop()
            pads.name = "inner"
            constant = helper.make_node("Constant", [], ["pads"], value=pads)
            nodes = [constant, *model.graph.node]
            del model.graph.node[:]
            model.graph.node.extend(nodes)
        path = split(model, tmp_path, {"pads": "pads.bin", "inner": "pads.bin", "w": "w.bin"})
        (finding,) = onnxpad.check(path, select=["PAD205"]).findings
        assert finding.severity is onnxpad.Severity.ERROR
        result = onnxpad.fix(path)
        (change,) = result.changes
        assert "file" not in change.after
        assert "equal on" in change.probe
        result.save(tmp_path / "out.onnx")
        (tmp_path / "pads.bin").unlink()
        assert np.array_equal(computed(tmp_path / "out.onnx"), computed(tmp_path / "inside.onnx"))
        assert not onnxpad.check(tmp_path / "out.onnx", select=["PAD205"]).findings


class TestWithoutPath:
    def test_keeps_its_references_and_is_not_validated(
        self, source: Path, other: Path, expected: Array, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = padded_conv()
        split(model, source.parent / "c", {"w": "w.bin"})
        # onnxruntime would find data here that nobody meant.
        monkeypatch.chdir(source.parent / "c")
        result = onnxpad.fix(model)
        assert result.changed
        assert result.validation is not None
        assert (result.validation.outcome, result.validation.runs) == ("nothing compared", ())
        assert not result.ok
        result.save(source.parent / "c" / "out.onnx")
        assert np.array_equal(computed(source.parent / "c" / "out.onnx"), expected)
        assert onnx.load(source.parent / "c/out.onnx", load_external_data=False) == result.model
        for how in HOWS[1:]:
            with pytest.raises(OutputError):
                result.save(other / "out.onnx", external_data=how)


class TestLinks:
    """A cache of downloads: the model and its data are links to files of another folder."""

    @pytest.fixture
    def cached(self, tmp_path: Path) -> Path:
        path = split(padded_conv(), tmp_path / "real", {"w": "w.bin"})
        shown = tmp_path / "shown"
        shown.mkdir()
        for name, real in (("net.onnx", "aaa"), ("w.bin", "bbb")):
            (path.parent / name).rename(path.parent / real)
            (shown / name).symlink_to(Path("../real") / real)
        return shown / "net.onnx"

    @pytest.mark.parametrize("how", HOWS)
    def test_are_followed(self, cached: Path, other: Path, expected: Array, how: How) -> None:
        result = onnxpad.fix(cached)
        assert result.validation is not None
        assert all(run.ok for run in result.validation.runs)
        assert result.ok
        assert all(run.comparisons for run in result.validation.runs)
        result.save(other / "out.onnx", external_data=how)
        assert np.array_equal(computed(other / "out.onnx"), expected)
        assert not (other / "w.bin").is_symlink()

    def test_are_no_data_for_another_model_beside_them(self, cached: Path) -> None:
        (cached.parent / "copy.onnx").write_bytes(cached.read_bytes())
        with pytest.raises(Exception, match="escapes"):
            computed(cached.parent / "copy.onnx")
        with pytest.raises(OutputError):
            onnxpad.fix(cached, validate=False).save(cached.parent / "out.onnx")
        assert {path.name for path in cached.parent.iterdir()} == {
            *("net.onnx", "w.bin", "copy.onnx")
        }


class Place:
    """A model whose weight lies in `w.bin`, to be put elsewhere, and a folder beside its own."""

    def __init__(self, folder: Path) -> None:
        self.path = split(padded_conv(), folder / "own", {"w": "w.bin"})
        self.data = folder / "own" / "w.bin"
        self.outside = folder / "outside"
        self.outside.mkdir()

    def becomes(self, target: Path) -> None:
        """The data lies at another place, and a link leads there."""
        self.data.rename(target)
        self.data.symlink_to(target)

    def says(self, location: str | None, **others: str) -> None:
        """The weight is said to lie elsewhere."""
        model = onnx.load(self.path, load_external_data=False)
        weight = model.graph.initializer[0]
        del weight.external_data[:]
        if location is not None:
            weight.external_data.add(key="location", value=location)
        for key, value in others.items():
            weight.external_data.add(key=key, value=value)
        self.path.write_bytes(model.SerializeToString())


Spoil = Callable[[Place], object]

REFUSED: dict[str, tuple[Spoil, str]] = {
    "a link out of the folder": (
        lambda it: it.becomes(it.outside / "w.bin"),
        "a symbolic link out of the model's folder to .*/outside/w.bin; put the file itself beside",
    ),
    "a folder that is a link out of it": (
        lambda it: (
            it.becomes(it.outside / "w.bin"),
            (it.path.parent / "sub").symlink_to(it.outside),
            it.says("sub/w.bin"),
        ),
        "a symbolic link out of the model's folder",
    ),
    "a link by way of another": (
        lambda it: (
            it.becomes(it.outside / "w.bin"),
            (it.path.parent / "v.bin").symlink_to("w.bin"),
            it.says("v.bin"),
        ),
        "a symbolic link out of the model's folder",
    ),
    "a link to a folder that begins with the same letters": (
        lambda it: (
            (it.path.parent.parent / "own2").mkdir(),
            it.becomes(it.path.parent.parent / "own2" / "w.bin"),
        ),
        "a symbolic link out of the model's folder",
    ),
    "a link to a device": (
        lambda it: (it.data.unlink(), it.data.symlink_to("/dev/zero")),
        "no regular file",
    ),
    "a link that leads nowhere": (
        lambda it: (it.data.unlink(), it.data.symlink_to("gone")),
        "which is not in ",
    ),
    "links in a circle": (
        lambda it: (it.data.unlink(), it.data.symlink_to("w.bin")),
        "which is not in ",
    ),
    "a pipe": (lambda it: (it.data.unlink(), os.mkfifo(it.data)), "no regular file"),
    "a folder": (lambda it: (it.data.unlink(), it.data.mkdir()), "which is a folder"),
    "the model itself": (lambda it: it.says("net.onnx"), "the model file itself"),
    "the model itself by a detour": (
        lambda it: ((it.path.parent / "x").mkdir(), it.says("./x/../net.onnx")),
        "the model file itself",
    ),
    "a path through a missing folder": (lambda it: it.says("x/../w.bin"), "which is not in "),
    "a link to the model": (
        lambda it: (it.data.unlink(), it.data.symlink_to("net.onnx")),
        "the model file itself",
    ),
    "another name of the model": (
        lambda it: (it.data.unlink(), it.data.hardlink_to(it.path)),
        "the model file itself",
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_paths_that_are_not_utf8_are_run_as_any(tmp_path: Path, expected: Array) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    source = split(padded_conv(), folder, {"w": "w.bin"})
    path = source.rename(folder / os.fsdecode(b"\xfe.onnx"))
    assert onnxpad_runs("fix", path, "-o", folder / "out.onnx").exit_code == 0
    assert onnxpad_runs("validate", path, folder / "out.onnx", "--format", "json").exit_code == 0
    page = folder / os.fsdecode(b"\xfd.html")
    assert onnxpad_runs("show", path, "--html", page).exit_code == 0
    assert page.exists()
    np.savez(folder / "r.npz", x=IMAGE, y=expected)
    assert onnxpad_runs("match", path, "--reference", folder / "r.npz").exit_code == 0
    path.write_bytes(path.read_bytes().replace(b"Conv", b"Conw"))
    result = onnxpad_runs("validate", path, path)
    assert result.exit_code == 5
    assert "codec" not in result.output


@pytest.mark.skipif(os.name == "nt", reason="links are made by their Unix names")
class TestDetours:
    """Locations that pass through a folder and back: what lies on disk has to load."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return Place(tmp_path)

    @pytest.mark.parametrize("how", HOWS)
    def test_lead_by_way_of_links(self, place: Place, how: How, expected: Array) -> None:
        folder = place.path.parent
        (folder / "far" / "deep").mkdir(parents=True)
        (folder / "sub").symlink_to("far/deep")
        (folder / "far" / "w.bin").write_bytes(place.data.read_bytes())
        place.data.write_bytes(bytes(place.data.stat().st_size))  # what the text alone would name
        place.says("sub/../w.bin")
        result = onnxpad.fix(place.path)
        assert result.ok
        result.save(place.outside / "out.onnx", external_data=how)
        assert np.array_equal(computed(place.outside / "out.onnx"), expected)

    def test_to_two_files_that_would_become_one_are_refused(self, place: Place) -> None:
        folder = place.path.parent
        (folder / "far" / "deep").mkdir(parents=True)
        (folder / "sub").symlink_to("far/deep")
        (folder / "far" / "w.bin").write_bytes(bytes(12))
        model = onnx.load(place.path, load_external_data=False)
        model.graph.node[1].input.append("b")
        refer(model.graph.initializer.add(name="b", data_type=1, dims=[3]), "sub/../w.bin")
        place.path.write_bytes(model.SerializeToString())
        result = onnxpad.fix(place.path, validate=False)
        with pytest.raises(OutputError):
            result.save(place.outside / "out.onnx")
        assert not [*place.outside.iterdir()]


@pytest.mark.skipif(os.name == "nt", reason="links and pipes are made by their Unix names")
class TestRefuses:
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return Place(tmp_path)

    @pytest.mark.parametrize(("spoil", "why"), REFUSED.values(), ids=REFUSED)
    def test_what_is_no_data_beside_the_model(self, place: Place, spoil: Spoil, why: str) -> None:
        spoil(place)
        for read in (onnxpad.fix, onnxpad.check, onnxpad.show):
            with pytest.raises(ModelError, match=why) as caught:
                read(place.path)
            assert "\n" not in str(caught.value)

    def test_no_link_that_stays_inside(self, place: Place, other: Path, expected: Array) -> None:
        (place.path.parent / "sub").mkdir()
        place.becomes(place.path.parent / "sub" / "real.bin")
        for how in HOWS:
            target = other / how / "out.onnx"
            target.parent.mkdir()
            onnxpad.fix(place.path).save(target, external_data=how)
            assert np.array_equal(computed(target), expected)

    def test_no_path_by_way_of_a_link(self, place: Place, expected: Array, tmp_path: Path) -> None:
        (tmp_path / "way").symlink_to(place.path.parent)
        result = onnxpad.fix(tmp_path / "way" / "net.onnx")
        result.save(tmp_path / "way" / "out.onnx")
        assert np.array_equal(computed(place.path.parent / "out.onnx"), expected)


def heavy(folder: Path, mebibytes: int) -> Path:
    """A model with a Pad to fold and much data that no node reads."""
    model = padded_conv()
    values = np.arange(mebibytes << 18, dtype=np.int32)
    model.graph.initializer.append(numpy_helper.from_array(values, "heavy"))
    return split(model, folder, {"heavy": "heavy.bin", "w": "w.bin"})


class TestInterruptions:
    def test_by_a_signal(self, tmp_path: Path, other: Path) -> None:
        source = heavy(tmp_path / "a", 0)
        model = onnx.load(source, load_external_data=False)
        model.graph.initializer[-1].dims[:] = [1 << 28]
        model.graph.initializer[-1].data_type = onnx.TensorProto.UINT8
        source.write_bytes(model.SerializeToString())
        os.truncate(source.with_name("heavy.bin"), 1 << 28)
        options = ["--no-validate", "-o", str(other / "out.onnx")]
        process = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTIBLE, "fix", str(source), *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 60
        while not any(other.iterdir()) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert (process.returncode, stderr) == (130, "error: interrupted\n")
        assert list(other.iterdir()) == []


# A job in the background has interrupts ignored, and so have its children.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from onnxpad.__main__ import main
main()
"""
