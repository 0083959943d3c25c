"""What a picture says of a node below its operator."""

from onnxpad.page.pictures.both_graphs import attributes, outlines
from onnxpad.page.pictures.site_graph import _computing, _lines, _slides
from tests.support import W, parsed
from tests.support.rows import each_row

GRAPH = """
g (float[1, 2, h, 8] x, int64[8] given, float v) => (float[] y)
<@W@, int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}, int64[8] c = {0, 1, 1, 2, 0, 0, 3, 4}, float f = {2.5},
 int64[4] q = {1, 2, 3, 4}, int64[2] a = {2, 3}, int64[1] few = {2}, float z = {0}, int64[6] r =
 {0, 0, 1, 0, 0, 2}> {
  [read] t = Pad (x, p)
  [reader] m = Conv <kernel_shape = [3, 3], strides = [2, 1], dilations = [1, 1]> (t, w)
  [unread] u = Pad (x, p)
  [other] o = Relu (u)
  [channels] k = Pad (x, c)
  [of_channels] l = Conv (k, w)
  [axes] d = Pad (x, q, f, a)
  [of_axes] e = Conv <dilations = [2, 2], auto_pad = "SAME_LOWER"> (d, w)
  [few_axes] i = Pad (x, q, , few)
  [edges] j = Pad <mode = "edge"> (x, p, f)
  [zero] s = Pad (x, p, z)
  [valued] n = Pad (x, p, v)
  [at_runtime] aa = Pad (x, given)
  [line] ab = Pad (x, r)
  [of_line] ac = MaxPool <kernel_shape = [3], pads = [1, 0], ceil_mode = 1> (ab)
  sh = Shape (x) ga = Gather (sh, few) ca = Concat <axis = 0> (ga, ga, sh)
  [computed] ad = Pad (x, ca)
  [turned] ae = Transpose <perm = [0, 2, 3, 1]> (x)
  [plainly] af = Transpose (x)
  [joined] ag = Concat <axis = 1> (x, x)
  [summed] ah = Add (x, x)
  [gathered] al = Gather <axis = 1> (x, few)
  [average] ai = AveragePool <kernel_shape = [2, 3], strides = [1, 1], pads = [0, 0, 0, 0],
    count_include_pad = 1, ceil_mode = 1> (x)
  [grown] aj = ConvTranspose <output_padding = [1, 0], pads = [1, 2, 3, 4]> (x, w)
  [uneven] ak = Conv <pads = [1, 2, 3]> (x, w)
  y = Identity (m)
}
""".replace("@W@", W)
LINES = {
    "read": ("H 1+3, W 2+4",),
    "unread": ("axis 2 1+3, axis 3 2+4",),
    "channels": ("axis 1 1+0, axis 2 1+3, axis 3 2+4",),
    "axes": ("axis 2 1+3, axis 3 2+4", "with 2.5"),
    "few_axes": ("axis 0 1+3, axis 1 2+4",),
    "edges": ("edge", "axis 2 1+3, axis 3 2+4"),
    "zero": ("axis 2 1+3, axis 3 2+4",),
    "valued": ("axis 2 1+3, axis 3 2+4",),
    "at_runtime": ("amounts computed",),
    "computed": ("amounts computed by 3 nodes",),
    "line": ("L 1+2",),
    "of_line": ("kernel 3", "L 1+0, pads [1, 0]", "ceil_mode"),
    "reader": ("kernel 3x3, stride 2x1", "no pads"),
    "of_axes": ("kernel 3x3, dilation 2x2", "auto_pad SAME_LOWER"),
    "of_channels": ("kernel 3x3", "no pads"),
    "turned": ("perm [0, 2, 3, 1]",),
    "plainly": (),
    "joined": ("axis 1",),
    "summed": (),
    "gathered": (),
    "average": ("kernel 2x3", "no pads", "ceil_mode, count_include_pad"),
    "grown": ("kernel 3x3", "H 1+3, W 2+4, pads [1, 2, 3, 4]", "output_padding 1x0"),
    "uneven": ("kernel 3x3", "no pads"),
}


@each_row("name", LINES)
def test_lines(name: str) -> None:
    graph = parsed(GRAPH).graph
    outline, _ = outlines(graph, graph, ())
    found = outline.find(name)
    assert found is not None
    assert _lines(*found, list(graph.node)) == LINES[name]


def test_nodes_that_compute_amounts_and_operators_that_slide() -> None:
    graph = parsed(GRAPH).graph
    outline, _ = outlines(graph, graph, ())
    found = outline.find("computed")
    assert found is not None
    assert [_computing(name, found[1]) for name in ("ca", "ga", "sh", "p", "given")] == [
        3,
        2,
        1,
        0,
        0,
    ]
    slide = {node.name for node in graph.node if _slides(node)}
    assert slide == {
        "reader", "of_channels", "of_axes", "of_line", "average", "grown", "uneven",
    }  # fmt: skip
    node = outline.find("average")
    assert node is not None
    assert attributes(node[0])["kernel_shape"] == [2, 3]


def test_constants_and_shapes_that_pictures_know() -> None:
    many, more = (", ".join(["1"] * count) for count in (64, 65))
    graph = parsed(
        f"""g (float x, bool b) => (float y)
        <float f = {{2.5}}, int64[1] i = {{3}}, float[2] ff = {{1, 2}},
         int64[2, 2] sq = {{1, 2, 3, 4}}, int64[64] many = {{{many}}}, int64[65] more = {{{more}}},
         int64 hidden = {{1}}> {{
          a = Constant <value_ints = [1, 2]> ()
          c = Constant <value_float = 0.5> ()
          d = Constant <value_int = 7> ()
          e = Constant <value_floats = [1.5]> ()
          h = Constant <value = int64[2] {{5, 6}}> ()
          k = ConstantOfShape <value = int64[1] {{9}}> (i)
          l = Add (x, f)
          m = Add (l, x)
          [n] y = If (b) <
            then_branch = t () => (float p) <float hidden = {{4}}> {{
                [inner] p = Add (x, hidden)
            }},
            else_branch = o () => (float q) {{ q = Neg (x) }}
          >
        }}"""
    ).graph
    outline, _ = outlines(graph, graph, ())
    found = outline.find("n")
    assert found is not None
    scope = found[1]
    assert dict(scope.constants) == {
        "f": [2.5], "i": [3], "many": [1] * 64, "hidden": [1], "a": [1, 2], "c": [0.5], "d": [7],
        "e": [1.5], "h": [5, 6],
    }  # fmt: skip
    assert scope.shapes["more"] == (65,)
    assert scope.shapes["sq"] == (2, 2)
    assert scope.shapes["h"] == (2,)
    assert [node.op_type for node in scope.readers["x"]] == ["Add", "Add"]
    assert scope.producers["m"].op_type == "Add"
    inner = outline.find("If 'n' > then_branch > Add 'inner'")
    assert inner is not None
    assert (inner[1].constants["hidden"], inner[1].constants["f"]) == ([4], [2.5])
    assert outline.find("inner") is None
