"""The tool that plants faults: which edits it draws, and that a planted one is noticed or not."""

import ast
from pathlib import Path

import pytest

from tests.faults import __main__ as command
from tests.faults.__main__ import NEAR, READ_THE_TEXT, Copy, nearest
from tests.faults.draw import faults_of, sample
from tests.support import ROOT


def news(text: str) -> list[str]:
    """What faults of a text put in."""
    faults = faults_of("it.py", text.encode())
    for fault in faults:
        planted = fault.planted(text.encode())
        assert ast.dump(ast.parse(planted)) != ast.dump(ast.parse(text)), fault
        assert fault.old in " ".join(text.split())
    return [fault.text for fault in faults]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", ["(a <= b)", "(a >= b)"]),
        ("a not  in b", ["(a in b)"]),
        ("ä is b", ["(ä is not b)"]),
        ("a and b and c", ["(a and b)", "(a and c)", "(b and c)"]),
        ("(a or\n b)", ["(a)", "(b)"]),
        ("not a", ["(a)"]),
        ("f(a=False)", ["pass", "True"]),
        ("_A: Final = 1 << 9", ["0"]),
        ("A = 2 * 4", ["(2 // 4)", "3", "1", "5", "3"]),
        ("a[-1]", ["(1)", "2", "0"]),
        ("a // b", ["(a * b)"]),
        ("for a in b: continue", ["break", "pass"]),
        ("a if b else c", ["True", "False"]),
        ("while a: b", ["False"]),
        ("[a for a in b if a]", ["True", "False"]),
        ("a.b = c", ["pass"]),
        ("raise f()", ["pass"]),
        ("def f():\n yield a\n yield b", ["pass", "pass"]),
        ("def f() -> bool:\n return a", ["True", "False"]),
        ("def f() -> A | None:\n return a", ["None"]),
        ("def f() -> tuple[A, ...]:\n return a", ["()"]),
        ("def f() -> A | None:\n return None", []),
        ("class A(Struct, frozen=True, cache_hash=True): ...", ["False"]),
        ('"""Not 1 of a < b."""', []),
        ("def f(a: Literal[1] = b) -> Literal[True]: return c", []),
        ("@dataclass(frozen=True)\nclass A: ...", []),
        ("if TYPE_CHECKING:\n f()", []),
        ("A: TypeAlias = B | C", []),
        ("x = isinstance(a, B | int | None)", []),
        ('x = "a" + b', []),
        ("assert a is not None", []),
        ("zip(a, b, strict=True)[a:b]", []),
    ],
)
def test_what_is_drawn(text: str, expected: list[str]) -> None:
    assert sorted(news(text)) == sorted(expected)


def test_a_sample_is_that_of_its_seed() -> None:
    faults = faults_of("it.py", b"a < b < c < d\nif e: f(1, 2)\n")
    assert sample(faults, 4, 1) == sample([*faults], 4, 1) != sample(faults, 4, 2)
    assert len({*sample(faults, 4, 1)}) == 4
    assert sorted(map(str, sample(faults, 99, 1))) == sorted(map(str, faults))


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("passes/fold_pad.py", ["tests/test_cases.py"]),
        ("onnxpad/doctor/examine.py", ["tests/doctor/test_examine.py", "tests/doctor"]),
        ("onnxpad/reasons.py", ["tests/test_reasons.py"]),
        ("onnxpad/report/documents/fix_document.py", ["tests/report", "tests/test_drawn.py"]),
        ("onnxpad/none.py", []),
    ],
)
def test_the_nearest_tests_are_about_the_file(path: str, near: list[str]) -> None:
    (fault, _) = faults_of(path, b"a < b")
    found = nearest(ROOT, fault)
    assert (found[: len(near)], bool(found)) == (near, bool(near))


def test_what_is_left_out_or_beside_is_there() -> None:
    for line in NEAR.read_text(encoding="utf-8").splitlines():
        start, *beside = line.split()
        assert [*ROOT.glob(f"{start}*")], line
        assert all((ROOT / each).exists() for each in beside), line
    for test in READ_THE_TEXT:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.night
def test_a_fault_is_killed_and_another_survives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "checkout"
    for path, text in {
        "passes/__init__.py": "",
        "onnxpad/__init__.py": "def least(a, b):\n    return a if a < b else b\n",
        "tests/test_it.py": "from onnxpad import least\ndef test_it(): assert least(1, 2) == 1\n",
    }.items():
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(text)
    (root / "onnxpad" / "passes").symlink_to("../passes")
    monkeypatch.setattr(command, "ROOT", root)
    words = ["--jobs=1", "--limit=60", "--faults", "onnxpad/__init__.py:2"]
    assert command.main(words) == 0
    said = capsys.readouterr().out
    assert "a < b  ->  (a <= b)\n    SURVIVED" in said
    assert "a < b  ->  (a >= b)\n    killed by tests/test_it.py::test_it" in said
    assert "2 of 4 faults killed" in said
    assert (root / "onnxpad/__init__.py").read_text().count("a < b") == 1


def test_a_copy_that_is_not_imported_is_refused(tmp_path: Path) -> None:
    """All tests would run on another product, and each fault survive."""
    (tmp_path / "checkout").mkdir()
    with pytest.raises(RuntimeError, match="another product"):
        Copy(tmp_path / "checkout", tmp_path / "copy", 0, 9)
