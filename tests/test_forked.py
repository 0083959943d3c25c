"""What the forked processes in which the tests run do to them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import unit_of
from tests.support import ROOT

CONFTEST = """
import pytest
from tests.forked import takes_over

@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    takes_over(config)
"""

OTHER = """
import os

def test_of_another_file(tmp_path):
    print("captured")
    assert os.getpid() == 0, tmp_path.name
"""

FATES = """
import os, signal, pytest

def test_passes():
    pass

def test_is_killed():
    os.kill(os.getpid(), signal.SIGKILL)

def test_behind_it():
    pass

def test_exits():
    os._exit(3)

def test_is_skipped():
    pytest.skip("why")

@pytest.mark.xfail(strict=True)
def test_is_expected_to_fail():
    assert False

@pytest.fixture(scope="session")
def session():
    yield
    raise ValueError("late")

def test_has_a_fixture_that_fails(session):
    pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_fates.py").write_text(FATES)
    (tmp_path / "test_other.py").write_text(OTHER)
    return tmp_path


def told(suite: Path, *words: str) -> tuple[int, str]:
    """The exit code and the output of pytest on it, in two processes."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-rA"]
    command += ["-p", "no:cacheprovider", f"--rootdir={suite}", *words]
    ran = subprocess.run(
        command, cwd=suite, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="pytest-xdist runs them")
def test_what_becomes_of_each_test_is_told(suite: Path) -> None:
    code, output = told(suite)
    assert code == 1
    lines = output.splitlines()
    assert "Captured stdout call" in output
    assert "captured" in lines
    for line in (
        "PASSED test_fates.py::test_passes",
        "PASSED test_fates.py::test_behind_it",
        "SKIPPED [1] test_fates.py:17: why",
        "XFAIL test_fates.py::test_is_expected_to_fail",
        "FAILED test_fates.py::test_is_killed - its process ended by SIGKILL",
        "FAILED test_fates.py::test_exits - its process ended with exit code 3",
        "ERROR test_fates.py::test_has_a_fixture_that_fails - ValueError: late",
    ):
        assert line in lines
    assert "3 failed, 3 passed, 1 skipped, 1 xfailed, 1 error" in lines[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="pytest-xdist runs them")
def test_the_first_failure_ends_all(suite: Path) -> None:
    code, output = told(suite, "-x", "--maxfail=1")
    assert code == 1
    assert "stopping after 1 failures" in output


@pytest.mark.skipif(sys.platform != "linux", reason="pytest-xdist runs them")
def test_tests_that_no_process_comes_to_are_missed(suite: Path) -> None:
    (suite / "conftest.py").write_text(f"{CONFTEST}\nimport tests.forked\ntests.forked._Sender = 0")
    code, output = told(suite)
    assert code == 2
    assert "8 tests were not run: a process ended before them" in output


@pytest.mark.skipif(sys.platform != "linux", reason="pytest-xdist runs them")
def test_no_file_is_lost_with_a_process(suite: Path) -> None:
    """The last test of each file ends its process, and one process has all files."""
    for name in "abc":
        (suite / f"test_{name}.py").write_text("import os\ndef test_it():\n    os._exit(3)\n")
    code, output = told(suite, "-n", "1")
    assert code == 1
    assert "6 failed, 3 passed" in output


def test_tests_of_one_exported_model_stay_together() -> None:
    test = "tests/exported/test_models.py::test_it[resnet-auto_pad]"
    assert unit_of(test) == "exported resnet"
    assert unit_of("tests/file/test_wire.py::test_it[resnet]") == "tests/file/test_wire.py"
