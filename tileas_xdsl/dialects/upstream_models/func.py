"""Functions and calls of `func`."""

from __future__ import annotations

from xdsl.dialects import func

from tileas_xdsl.dialects.upstream_models import accesses, touches_anything
from tileas_xdsl.dialects.upstream_models.functions import Call, NamedFunction
from tileas_xdsl.interfaces import CallOpInterface, FunctionOpInterface

CallOpInterface.model_for(func.CallOp)(Call)
FunctionOpInterface.model_for(func.FuncOp)(NamedFunction)

accesses(func.CallOp)(touches_anything)
