"""Models of all kinds: a result is of the kind that was given, and `validate` takes any two."""

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest

import onnxpad
from onnxpad.api.kinds import limited
from onnxpad.errors import ModelError, UsageError
from onnxpad.graph import Graph
from onnxpad.runtimes import pool
from tests.support import one

PADDED = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 17]>
g (float[1, 1, 9, 9] x) => (float[1, 1, 5, 5] y)
<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}>
{ q = Pad (x, p) y = Conv <strides = [2, 2]> (q, w) }""")
RAW = PADDED.SerializeToString()


def in_ir() -> Any:
    """The same as an onnx_ir.Model; its import takes sympy, which is not to burden a collection."""
    import onnx_ir

    return onnx_ir.from_proto(PADDED)


KINDS: dict[str, Any] = {
    "proto": lambda: PADDED,
    "bytes": lambda: RAW,
    "bytearray": lambda: bytearray(RAW),
    "memoryview": lambda: memoryview(RAW),
    "graphsurgeon": lambda: gs.import_onnx(PADDED),
    "onnx_ir": in_ir,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_of_the_kind_given(kind: str) -> None:
    given = KINDS[kind]()
    result = onnxpad.fix(given)
    assert result.ok
    assert [change.code for change in result.changes] == ["PAD201"]
    fixed = result.as_same_kind()
    assert type(fixed) is type(given)
    assert fixed is not given
    assert not onnxpad.check(fixed, ignore="PAD6").findings
    assert len(onnxpad.check(given, ignore="PAD6").findings) == 1  # it is as it was
    assert [node.op_type for node in result.model.graph.node] == ["Conv"]


def test_what_needs_no_change_comes_back_and_a_path_is_saved(tmp_path: Path) -> None:
    for kind in KINDS:
        again = onnxpad.fix(onnxpad.fix(KINDS[kind](), validate=False).as_same_kind())
        assert not again.changed
        assert not onnxpad.check(again.as_same_kind(), ignore="PAD6").findings
    odd = onnx.ModelProto.FromString(RAW.replace(b"\x12\x01g", b"\x12\x01\xff"))
    assert onnxpad.fix(odd, validate=False).name == r"\xff"
    fixed = onnxpad.fix(RAW, validate=False).as_same_kind()
    assert onnxpad.fix(fixed).as_same_kind() == fixed
    path = tmp_path / "net.onnx"
    path.write_bytes(RAW)
    with pytest.raises(UsageError):
        onnxpad.fix(path, validate=False).as_same_kind()


@pytest.mark.parametrize(("one", "other"), [*itertools.pairwise([*KINDS, next(iter(KINDS))])])
def test_validate_takes_any_two_kinds(one: str, other: str, tmp_path: Path) -> None:
    fixed = onnxpad.fix(KINDS[other](), validate=False).as_same_kind()
    assert onnxpad.validate(KINDS[one](), fixed).ok
    path = tmp_path / "net.onnx"
    path.write_bytes(RAW)
    assert onnxpad.validate(path, fixed).ok


@pytest.mark.parametrize(
    "given",
    [lambda: in_ir().graph, lambda: gs.Function("f", "d"), lambda: gs.import_onnx(PADDED).nodes[0]],
)
def test_a_part_of_a_model_is_refused(given: Any) -> None:
    for call in (onnxpad.fix, onnxpad.check, lambda each: onnxpad.validate(each, each)):
        with pytest.raises(UsageError):
            call(given())


def test_no_package_is_imported_unless_it_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(RAW)
    code = f"""if True:
        import sys, onnxpad
        onnxpad.fix({str(path)!r})
        print([name for name in ("onnx_ir", "torch", "sympy") if name in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]"]


def test_a_new_graph_of_graphsurgeon_gets_a_version_that_runs() -> None:
    x, y = (gs.Variable(name, np.float32, [2]) for name in "xy")
    graph = gs.Graph([gs.Node("Relu", inputs=[x], outputs=[y])], [x], [y], opset=13)
    result = onnxpad.fix(graph)
    assert result.model.ir_version == 8
    assert result.as_same_kind().opset == 13
    assert onnxpad.validate(graph, graph).ok


def test_a_graph_of_graphsurgeon_that_cannot_be_exported_is_one_error() -> None:
    without, wrong = gs.import_onnx(PADDED), gs.import_onnx(PADDED)
    without.inputs[0].dtype = None
    wrong.nodes[1].attrs["group"] = None
    for graph in (without, wrong):
        with pytest.raises(ModelError):
            onnxpad.fix(graph)


NONE = '""'  # an input that is left out


@pytest.mark.parametrize(
    ("given", "loops", "limit"),
    [
        (None, (), None),
        (None, ("n",), None),
        (None, ("huge",), 60.0),
        (None, ("n", NONE), 60.0),  # one of several models is enough
        (5.0, ("n",), 5.0),
        (5.0, (NONE,), 5.0),
    ],
)
def test_runs_are_limited_where_a_loop_need_not_end(
    given: float | None, loops: tuple[str, ...], limit: float | None
) -> None:
    body = "body = b (int64 i, bool d, float e) => (bool f, float h) { f = Not (d) h = Neg (e) }"
    models = (
        one(
            f"y = Loop ({count}, c, x) <{body}>",
            inputs="float x, bool c",
            initializers=f"int64 n = {{3}}, int64 huge = {{{2**63 - 1}}}",
        )
        for count in loops
    )
    with limited(given, *map(Graph.from_proto, models)):
        assert pool._limit.get() == limit
    assert pool._limit.get() is None
