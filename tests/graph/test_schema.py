"""The list of ONNX's schemas: `python -m tests.graph.test_schema` writes it, of the onnx here."""

import json
from itertools import groupby

import onnx
import pytest

from onnxpad.graph import schema
from tests.support import ROOT

NEWEST = onnx.defs.onnx_opset_version()


def listed() -> str:
    """The list as it should be."""
    every = (each for each in onnx.defs.get_all_schemas_with_history() if not each.domain)
    known = [each for each in every if each.since_version <= NEWEST]
    known.sort(key=lambda each: (each.name, -each.since_version))
    lines = [
        f"{op} {json.dumps([*map(schema.described, versions)])}\n"
        for op, versions in groupby(known, lambda each: each.name)
    ]
    return "".join([f"{NEWEST}\n", *lines])


@pytest.mark.skipif(int(schema._listed()[0]) > NEWEST, reason="the list is of a newer onnx")
def test_it_is_as_onnx_has_it() -> None:
    assert schema._listed()[1:] == listed().splitlines()[1:]


def test_what_is_newer_is_asked_of_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {op: schema.schema_of(op, 22) for op in ("Conv", "BatchNormalization", "Nothing")}
    monkeypatch.setattr(schema, "_listed", lambda: ["21"])
    schema.schema_of.cache_clear()
    found = {op: schema.schema_of(op, 22) for op in kept}
    schema.schema_of.cache_clear()
    assert json.dumps(found) == json.dumps(kept)


if __name__ == "__main__":
    (ROOT / "onnxpad" / "graph" / "schemas.txt").write_text(listed(), encoding="ascii")
