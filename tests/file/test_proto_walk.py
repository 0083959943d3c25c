"""Records of protobuf, and the nodes, names and tensors of a model as they are walked."""

import onnx
import pytest
from msgspec.structs import astuple

from onnxpad.file.proto_walk import names, operators, tensors, unfolded
from onnxpad.file.skeleton import PARTS, PAYLOAD_LIMIT, WireError, encode, header, scan, strip
from tests.support import parsed
from tests.support.rows import each_row


@each_row("kind", PARTS)
def test_every_message_that_may_hold_a_tensor_is_entered(kind: str) -> None:
    fields = getattr(onnx, kind).DESCRIPTOR.fields
    if kind == "TensorProto":  # its elements, in whichever field of their type
        names = {field.name for field in fields if field.name.endswith("_data")} - {"external_data"}
        expected = {field.number: "" for field in fields if field.name in names}
    else:
        expected = {
            field.number: field.message_type.name
            for field in fields
            if field.message_type is not None and field.message_type.name in PARTS
        }
    assert PARTS[kind] == expected


def varint(value: int) -> bytes:
    """As protobuf writes it, seven bits a byte."""
    low = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(each | 0x80 for each in low[:-1]), low[-1]])


def tagged(field: int, wire: int) -> bytes:
    return varint(field << 3 | wire)


RECORDS: dict[str, tuple[int, bytes, bytes]] = {
    "a small number": (1, tagged(1, 0), varint(5)),
    "the greatest number": (2, tagged(2, 0), varint((1 << 64) - 1)),
    "a number of 10 bytes": (2, tagged(2, 0), b"\x80" * 9 + b"\x00"),
    "8 bytes": (15, tagged(15, 1), bytes(range(8))),
    "4 bytes": (16, tagged(16, 5), bytes(range(4))),
    "an empty text": (3, tagged(3, 2) + varint(0), b""),
    "a text": (3, tagged(3, 2) + varint(200), b"a" * 200),
    "the greatest field": ((1 << 29) - 1, tagged((1 << 29) - 1, 0), varint(0)),
    "a group": (4, tagged(4, 3), tagged(1, 0) + varint(9) + tagged(4, 4)),
    "a group of all kinds": (
        4,
        tagged(4, 3),
        tagged(1, 1) + bytes(8) + tagged(2, 5) + bytes(4) + tagged(3, 2) + varint(3) + b"abc"
        + tagged(5, 3) + tagged(5, 4) + tagged(4, 4),
    ),
    "groups in groups": (9, tagged(9, 3), tagged(9, 3) * 99 + tagged(9, 4) * 100),
}  # fmt: skip


def test_records_of_every_kind_are_found_one_after_the_other() -> None:
    data, expected = b"", []
    for field, before, body in RECORDS.values():
        begin = len(data)
        data += before + body
        told = before.startswith(tagged(field, 2))
        expected.append((field, begin, begin + len(before), len(data), told))
    for around in (b"", b"\xff\xff"):
        found = scan(memoryview(around + data), len(around), len(around + data))
        shift = len(around)
        assert [astuple(each) for each in found] == [
            (field, begin + shift, body + shift, end + shift, told)
            for field, begin, body, end, told in expected
        ]
    for each in RECORDS.values():  # none is longer than what is there
        whole = each[1] + each[2]
        for length in range(1, len(whole)):
            with pytest.raises(WireError):
                list(scan(memoryview(whole), 0, length))


@each_row(
    ("data", "position"),
    [
        pytest.param(tagged(0, 0) + b"\x00", 0, id="field 0"),
        pytest.param(b"\x00" * 2 + tagged(0, 2) + b"\x00", 0, id="tag 0"),
        pytest.param(varint(1 << 32) + b"\x00", 0, id="a field too great"),
        pytest.param(tagged(1, 0) + b"\x00" + tagged(1, 4), 3, id="the end of no group"),
        pytest.param(tagged(1, 6) + bytes(9), 1, id="kind 6"),
        pytest.param(tagged(1, 7) + bytes(9), 1, id="kind 7"),
        pytest.param(tagged(1, 3) + tagged(2, 4), 2, id="the end of another group"),
        pytest.param(tagged(1, 3) * 101 + tagged(1, 4) * 101, 101, id="groups too deep"),
        pytest.param(tagged(1, 0) + b"\x80" * 10 + b"\x00", 1, id="a number of 11 bytes"),
    ],
)
def test_what_is_no_message_is_refused_at_its_place(data: bytes, position: int) -> None:
    with pytest.raises(WireError, match=f"at byte {position}$") as caught:
        list(scan(memoryview(data), 0, len(data)))
    assert caught.value.position == position


@each_row("length", [0, 1, 127, 128, 16383, 16384, 1 << 21])
@pytest.mark.parametrize("field", [1, 15, 16, 2047, 2048])
def test_headers(field: int, length: int) -> None:
    assert header(field, length) == tagged(field, 2) + varint(length)


def test_only_elements_of_long_tensors_are_left_out() -> None:
    def stripped(size: int, depth: int) -> tuple[bytes, bytes]:
        """A tensor of as many bytes, in a list of nested graphs, without its elements."""
        tensor = onnx.TensorProto(name="t", dims=[3], data_type=1, raw_data=b"r" * size)
        graph = onnx.GraphProto(name="g", initializer=[tensor])
        for _ in range(depth):
            body = onnx.AttributeProto(name="b", g=graph)
            graph = onnx.GraphProto(node=[onnx.NodeProto(attribute=[body])])
        data = memoryview(onnx.ModelProto(ir_version=9, graph=graph).SerializeToString())
        return bytes(data), strip(data, scan(data, 0, len(data)), "ModelProto")

    beside = len(onnx.TensorProto(name="t", dims=[3], data_type=1).SerializeToString()) + 3
    for depth in (0, 2):
        for size, kept in ((PAYLOAD_LIMIT - beside, True), (PAYLOAD_LIMIT - beside + 1, False)):
            data, found = stripped(size, depth)
            assert (found == data) == kept
            model = onnx.ModelProto.FromString(found)
            graph = model.graph
            for _ in range(depth):
                graph = graph.node[0].attribute[0].g
            (tensor,) = graph.initializer
            assert (tensor.name, [*tensor.dims], tensor.data_type) == ("t", [3], 1)
            assert tensor.raw_data == (b"r" * size if kept else b"")


@pytest.mark.parametrize("depth", [100, 101])
def test_messages_are_entered_as_deep_as_protobuf_does(depth: int) -> None:
    """Graphs in attributes in nodes, and the elements of a tensor in the innermost of them."""
    data = b"x" * 2000
    kinds = [(6, "AttributeProto"), (5, "NodeProto"), (1, "GraphProto")]
    data, kind = encode(9, data), "TensorProto"
    data, kind = encode(5, data), "GraphProto"
    for level in range(depth - 1):
        field, kind = kinds[level % 3]
        data = encode(field, data)
    view = memoryview(data)
    if depth == 100:
        assert len(strip(view, scan(view, 0, len(view)), kind)) < 1000
    else:
        with pytest.raises(WireError):
            strip(view, scan(view, 0, len(view)), kind)


@each_row(
    ("nodes", "functions", "count"),
    [
        ("y = Neg (x)", {"F": "y = Neg (x)"}, 1),
        ("y = local.F (x)", {"F": "a = Neg (x) b = Neg (a) y = Neg (b)"}, 3),
        ("a = local.F (x) y = local.F (a)", {"F": "a = Neg (x) y = Neg (a)"}, 4),
        ("y = local.F (x)", {"F": "y = Identity (x)", "G": "a = Neg (x) y = Neg (a)"}, 1),
        ("y = local.F (x)", {"F": ""}, 1),
        ("y = local.F (x)", {"F": "a = local.G (x) y = local.G (a)", "G": "y = Abs (x)"}, 2),
        ("y = local.F (x)", {"G": "a = Abs (x) y = Abs (a)", "F": "a = local.G (x) y = Neg (a)"},
         3),
        ("y = other.F (x)", {"F": "a = Neg (x) y = Neg (a)"}, 1),
        ("y = F (x)", {"F": "a = Neg (x) y = Neg (a)"}, 1),
        # In a circle, without an end.
        ("y = local.F (x)", {"F": "a = Neg (x) y = local.F (a)"}, 0),
        ("y = local.F (x)", {"F": "a = Neg (x) y = local.G (a)", "G": "y = local.F (x)"}, 0),
        # Bodies count, those of functions too.
        (("y = If (c) <then_branch = t () => (float[1] u) { u = local.F (x) }, "
         "else_branch = e () => (float[1] v) { v = Neg (x) }>"),
         {"F": "a = Neg (x) b = Neg (a) y = Neg (b)"}, 5),
        ("y = local.F (x)",
         {"F": "y = If (x) <then_branch = t () => (float[1] u) { u = local.G (x) }, "
               "else_branch = e () => (float[1] v) { v = Neg (x) }>",
          "G": "a = Neg (x) b = Neg (a) y = Neg (b)"}, 5),
        # Three ways to one function: its size is found once.
        ("a = local.F (x) b = local.G (a) y = local.H (b)",
         {"F": "a = local.G (x) y = local.H (a)", "G": "a = local.H (x) y = local.H (a)",
          "H": "a = Neg (x) y = Neg (a)"}, 12),
    ],
)  # fmt: skip
def test_how_many_nodes_run(nodes: str, functions: dict[str, str], count: int) -> None:
    inner = "".join(
        f"""<domain: "local", opset_import: ["" : 17, "local" : 1]>
        {name} (x) => (y) {{ {body} }}"""
        for name, body in functions.items()
    )
    model = parsed(f"g (float[1] x, bool c) => (float[1] y) {{ {nodes} }} {inner}")
    assert unfolded(model) == count


def value(name: str, number: float = 0) -> onnx.TensorProto:
    return onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [1], [number])


def sparse(name: str) -> onnx.SparseTensorProto:
    index = onnx.helper.make_tensor(f"{name}_at", onnx.TensorProto.INT64, [1], [0])
    return onnx.helper.make_sparse_tensor(value(name), index, [1])


def crowded() -> onnx.ModelProto:
    """A model with a tensor in every place that can have one, each with a name of its own."""
    model = parsed(
        """<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[1] in, bool c) => (float[1] out) {
            [first] a = Neg (in)
            [if] b = If (c) <
                then_branch = t () => (float[1] u) { [deep] u = Scan (a, w, e, k) <
                    body = s (float[1] v) => (float[1] z, float[1] h) { z = Abs (e) },
                    num_scan_inputs = 1> },
                else_branch = f () => (float[1] q) { q = Add (k, in) r = local.F (q) }>
            [last] out = local.F (b)
        }
        <domain: "local", opset_import: ["" : 17, "local" : 1]> F (d) => (o)
        { l = Constant <value = float[1] held {1}> () o = Sub (d, l) }"""
    )
    graph = model.graph
    graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [1]))
    graph.value_info[0].name = "told"
    graph.quantization_annotation.add(tensor_name="scaled")
    graph.initializer.append(value("k"))
    graph.sparse_initializer.append(sparse("e"))
    branch = graph.node[1].attribute[0].g
    branch.initializer.append(value("w"))
    branch.sparse_initializer.append(sparse("x"))
    odd = graph.node[0].attribute
    odd.append(onnx.helper.make_attribute("sparse", sparse("y")))
    odd.add(name="tensors").tensors.extend([value("i"), value("j")])
    odd.add(name="sparse_tensors").sparse_tensors.append(sparse("m"))
    odd.add(name="graphs").graphs.add(name="g").node.add(op_type="Exp", output=["n"])
    training = model.training_info.add()
    training.initialization.initializer.append(value("begun"))
    training.algorithm.initializer.append(value("learned"))
    model.functions[0].attribute_proto.append(onnx.helper.make_attribute("p", value("usual")))
    return model


def test_the_names_in_a_graph() -> None:
    assert [*names(crowded().graph)] == [
        "in", "c", "out", "told", "k", "e", "scaled",
        "first", "in", "a", "", "n",
        "if", "c", "b",
        "u", "w", "x", "deep", "a", "w", "e", "k", "u", "v", "z", "h", "", "e", "z",
        "q", "", "k", "in", "q", "", "q", "r",
        "last", "b", "out",
    ]  # fmt: skip


def test_the_tensors_of_a_model() -> None:
    assert [each.name for each in tensors(crowded())] == [
        "y", "y_at", "i", "j", "m", "m_at", "w", "x", "x_at",
        "k", "e", "e_at", "begun", "learned", "held", "usual",
    ]  # fmt: skip


def test_the_operators_that_run() -> None:
    model = crowded()
    assert {*operators(model.graph.node, model.functions)} == {
        "Neg", "If", "F", "Constant", "Sub", "Add", "Scan", "Abs", "Exp",
    }  # fmt: skip
    assert [*operators(model.graph.node[2:], ())] == ["F"]
