"""The tool that plants faults: which edits it draws, and that a planted one is noticed or not."""

import ast
import json
from pathlib import Path

import pytest

from tests.faults import __main__ as command
from tests.faults.draw import faults_of, sample
from tests.faults.plant import READ_THE_TEXT, Copy, killer, nearest
from tests.support import ROOT


def news(text: str) -> list[str]:
    """The lines that faults of a text make."""
    faults = faults_of("it.py", text.encode())
    for fault in faults:
        planted = fault.planted(text.encode())
        assert ast.dump(ast.parse(planted)) != ast.dump(ast.parse(text)), fault
        assert fault.old in " ".join(text.split())
        assert fault.new in " ".join(planted.decode().split())
    return [fault.new for fault in faults]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a >= b > c", ["a > b > c", "a < b > c", "a >= b >= c", "a >= b <= c"]),
        ("(a) == (b)", ["(a) != (b)"]),
        ("a not  in b", ["a in b"]),
        ("a in b", ["a not in b"]),
        ("a is not b", ["a is b"]),
        ("ä is b", ["ä is not b"]),
        ("a and b and c", ["a or b and c", "a and b or c"]),
        ("(a or\n b)", ["(a and"]),
        ("not a", ["a"]),
        ("not(a)", ["(a)"]),
        ("f = True", ["f = False"]),
        ("f(a=False)", ["pass", "f(a=True)"]),
        ("a[1]", ["a[2]", "a[0]"]),
        ("a[-1]", ["a[1]", "a[-2]", "a[-0]"]),
        ("def f(a=0): ...", ["def f(a=1): ...", "def f(a=-1): ..."]),
        ("a - b", ["a + b"]),
        ("a // b * c", ["a * b * c", "a // b // c"]),
        ("a | b", ["a & b"]),
        ("a ** b", ["a * b"]),
        ("for a in b: continue", ["for a in b: break", "for a in b: pass"]),
        ("for a in b: break", ["for a in b: continue", "for a in b: pass"]),
        ("if a: b", ["if True: b", "if False: b"]),
        ("a if b else c", ["a if True else c", "a if False else c"]),
        ("while a: b", ["while False: b"]),
        ("[a for a in b if a]", ["[a for a in b if True]", "[a for a in b if False]"]),
        ("a.b = c", ["pass"]),
        ("a[b] = c", ["pass"]),
        ("a += b", ["pass"]),
        ("f(\n)", ["pass"]),
        ("raise f()", ["pass"]),
        ("def f():\n yield a\n yield b", ["pass", "pass"]),
        ("def f():\n return", ["pass"]),
        ("def f() -> bool:\n return a", ["return True", "return False"]),
        ("def f() -> A | None:\n return a", ["return None"]),
        ("def f() -> list[A]:\n return a", ["return []"]),
        ("def f() -> tuple[A, ...]:\n return a", ["return ()"]),
        ("def f() -> Mapping[A, B]:\n return a", ["return {}"]),
    ],
)
def test_what_is_drawn(text: str, expected: list[str]) -> None:
    assert sorted(news(text)) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        '"""Not 1 of a < b."""',
        "def f(a: Literal[1] = b) -> Literal[True]: return c",
        "@dataclass(frozen=True)\nclass A: ...",
        "if TYPE_CHECKING:\n f()",
        'if __name__ == "__main__":\n f()',
        '__all__ = ["a"][:1]',
        "A: TypeAlias = B | C",
        "x = isinstance(a, B | int | None)",
        'x = "a" + b',
        'x = f"{1 + a}"',
        "assert a is not None",
        "zip(a, b, strict=True)[a:b]",
        "def f():\n yield a",
        "def f() -> None:\n x = a",
    ],
)
def test_what_is_not_drawn(text: str) -> None:
    assert news(text) == []


def test_a_sample_is_that_of_its_seed() -> None:
    faults = faults_of("it.py", b"a < b < c < d\nif e: f(1, 2)\n")
    assert sample(faults, 4, 1) == sample([*faults], 4, 1) != sample(faults, 4, 2)
    assert len({*sample(faults, 4, 1)}) == 4
    assert sorted(map(str, sample(faults, 99, 1))) == sorted(map(str, faults))


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("passes/fold_pad.py", ["tests/test_cases.py"]),
        ("onnxpad/proof/term.py", ["tests/proof"]),
        ("onnxpad/reasons.py", ["tests/test_reasons.py"]),
        ("onnxpad/none.py", []),
        ("onnxpad/none/none.py", []),
    ],
)
def test_the_nearest_tests_are_about_the_file(path: str, near: list[str]) -> None:
    (fault, _) = faults_of(path, b"a < b")
    assert nearest(ROOT, fault) == near


def test_what_is_left_out_is_there() -> None:
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
    told = tmp_path / "told.json"
    words = ["--jobs=1", "--limit=60", f"--json={told}", "--faults", "onnxpad/__init__.py:2:19"]
    assert command.main([*words, "--at-least=2"]) == 1
    found = [
        (each["fault"]["text"], each["ran"]["killer"]) for each in json.loads(told.read_text())
    ]
    assert found == [("<=", ""), (">=", "tests/test_it.py::test_it")]
    assert "1 of 2 faults killed by the fast tier" in capsys.readouterr().out
    assert (root / "onnxpad/__init__.py").read_text().count("a < b") == 1


@pytest.mark.parametrize(
    ("code", "told", "named", "ended"),
    [
        (0, "1 passed", True, ""),
        (5, "no tests ran", False, ""),
        (1, "FAILED t/a.py::b - AssertionError\nERROR t/c.py", True, "t/a.py::b"),
        (4, "ERROR: not found: t/a.py::gone", True, ""),
        (4, "ERROR: not found: t/a.py::gone", False, "pytest's exit code 4"),
        (4, "ERROR t/a.py - ValueError\nERROR: found no collectors for t/a.py::b", True, "t/a.py"),
        (3, "", True, "pytest's exit code 3"),
        (None, "", True, "the time limit"),
    ],
)
def test_what_ends_a_run(code: int | None, told: str, named: bool, ended: str) -> None:
    assert killer(code, told, named=named) == ended


def test_a_copy_that_is_not_imported_is_refused(tmp_path: Path) -> None:
    """All tests would run on another product, and each fault survive."""
    (tmp_path / "checkout").mkdir()
    with pytest.raises(RuntimeError, match="another product"):
        Copy(tmp_path / "checkout", tmp_path / "copy", 0)


def test_what_git_ignores_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Copy, "_holds", lambda _: None)
    root = tmp_path / "checkout"
    for path in ("tests/a.py", "tests/__pycache__/a.pyc", ".matrix/torch/lib/a.py", ".git/HEAD"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    (root / ".gitignore").write_text((ROOT / ".gitignore").read_text(encoding="utf-8"))
    copied = Copy(root, tmp_path / "copy", 0).root
    assert {path.name for path in copied.rglob("*") if path.is_file()} == {".gitignore", "a.py"}
    assert sorted(path.name for path in copied.iterdir()) == [".gitignore", "tests"]
