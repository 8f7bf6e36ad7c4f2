"""lit configuration: `lit tests/filecheck`, with the `xdsl-opt`, `tileas` and `filecheck` of the interpreter that runs lit."""

import os
import sys
from pathlib import Path

import lit.formats

sys.path.insert(0, str(Path(__file__).parents[2]))

config.name = "tileas"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.test_source_root = str(Path(__file__).parent)  # noqa: F821
config.test_exec_root = str(Path(__file__).parents[2] / "build" / "lit")  # noqa: F821
config.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # noqa: F821
for variable in ("TILEAS_CASES", "TILEAS_LLVM_BIN", "TILEAS_REQUIRE_ORACLES"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]  # noqa: F821

llvm_bin = os.environ.get("TILEAS_LLVM_BIN", "/usr/lib/llvm-22/bin")
if (Path(llvm_bin) / "mlir-opt").is_file():
    config.available_features.add("mlir")  # noqa: F821
elif os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
    lit_config.fatal("mlir-opt of LLVM 22 is required here and was not found")  # noqa: F821
config.substitutions.append(("%mlir-opt", f"{llvm_bin}/mlir-opt"))  # noqa: F821
config.substitutions.append(("%mlir-translate", f"{llvm_bin}/mlir-translate"))  # noqa: F821
config.substitutions.append(("%examples", str(Path(__file__).parents[2] / "examples")))  # noqa: F821
