"""The whole report of `doctor`, of installations made by hand."""

from dataclasses import replace
from typing import Final

import pytest

from onnxpad.doctor.diagnosis import Diagnosis, Driver, Library, Package, Problem, Provider
from onnxpad.report.documents.rule_documents import doctor_document
from onnxpad.report.layout import UNBROKEN, text_of

CPU: Final = Provider("CPUExecutionProvider", True)
CUDA: Final = Provider("CUDAExecutionProvider", False, "no library")
BROKEN: Final = Problem("a", "", True)
NONE: Final = Driver("", (), False)
BARE: Final = Diagnosis(
    "3.11", "Linux x86_64", (Package("onnxpad", "1.0"), Package("onnx", "")), (CPU,), "", (), NONE,
    (),
)  # fmt: skip
HEAD: Final = "onnxpad 1.0, Python 3.11, Linux x86_64\n  onnx  not installed\n\n"
TRIED: Final = "Providers of onnxruntime, tried with a model of one node\n  CPU   works\n"
ALONE: Final = TRIED.replace("CPU   ", "CPU  ")
GPU: Final = replace(
    BARE, providers=(CPU, CUDA), cuda="13.0", driver=Driver("580.1", ("H100", "T4"), True),
    libraries=(Library("cublas", "libcublas.so.13", ""), Library("c", "libc.so", "system")),
    problems=(Problem("it is old", "pip install", False), Problem("it is odd", "", True)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            BARE,
            (
                f"{HEAD}{ALONE}\n"
                "NVIDIA driver: none, so CUDA cannot run here\n\n"
                "This onnxruntime is built without CUDA\n\n"
                "onnxpad works; it can validate on CPU\n"
            ),
        ),
        (
            replace(BARE, providers=(CPU, replace(CUDA, usable=True)), cuda="14.0"),
            (
                f"{HEAD}{TRIED}  CUDA  works\n\n"
                "NVIDIA driver: none, so CUDA cannot run here\n\n"
                "This onnxruntime is built for CUDA 14.0, whose libraries are not known here\n\n"
                "onnxpad works; it can validate on CPU and CUDA\n"
            ),
        ),
        (
            replace(BARE, providers=(), driver=Driver("", ("H100",), False), problems=(BROKEN,)),
            (
                f"{HEAD}NVIDIA driver: version unknown, H100, its library does not load\n\n"
                "error: a\n"
            ),
        ),
        (
            replace(BARE, driver=Driver("5", (), True), problems=(BROKEN,)),
            (
                f"{HEAD}{ALONE}\nNVIDIA driver: 5, no device seen\n\n"
                "This onnxruntime is built without CUDA\n\nerror: a\n"
            ),
        ),
        (
            GPU,
            (
                f"{HEAD}{TRIED}  CUDA  no: no library\n\nNVIDIA driver: 580.1, H100, T4\n\n"
                "Libraries for CUDA 13.0, for which onnxruntime is built\n"
                "  libcublas.so.13  missing\n  libc.so          system\n\n"
                "warning: it is old\n  cure: pip install\nerror: it is odd\n"
            ),
        ),
    ],
)
def test_a_diagnosis(found: Diagnosis, text: str) -> None:
    assert text_of(doctor_document(found), UNBROKEN) == text
