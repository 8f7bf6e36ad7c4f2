"""lit configuration: the `xdsl-opt`, `tileas` and `filecheck` are those of the interpreter that runs lit."""

import os
import sys
from pathlib import Path

import lit.formats

sys.path.insert(0, str(Path(__file__).parents[2]))

config.name = "tileas"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]  # A program is `.mlir`, also for other tests; commands alone are `.test`.
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(Path(__file__).parents[2] / "build" / "lit")
config.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
for variable in ("TILEAS_CASES", "TILEAS_LLVM_BIN", "TILEAS_REQUIRE_ORACLES"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

llvm_bin = os.environ.get("TILEAS_LLVM_BIN", "/usr/lib/llvm-22/bin")
if (Path(llvm_bin) / "mlir-opt").is_file():
    config.available_features.add("mlir")
elif os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
    lit_config.fatal("mlir-opt of LLVM 22 is required here and was not found")
config.substitutions.append(("%mlir-opt", f"{llvm_bin}/mlir-opt"))
config.substitutions.append(("%mlir-translate", f"{llvm_bin}/mlir-translate"))
config.substitutions.append(("%examples", str(Path(__file__).parents[2] / "examples")))
config.substitutions.append(("%kernels", str(Path(__file__).parents[1] / "kernels")))
config.substitutions.append(("%kernels", str(Path(__file__).parents[1] / "kernels")))
