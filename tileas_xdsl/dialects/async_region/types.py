"""The type that `async_region` adds, and the constraints that its ops use beside those of `async`."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import base, irdl_attr_definition

from tileas_xdsl.dialects.async_.support import Described
from tileas_xdsl.interfaces import HandleType


@irdl_attr_definition
class ResourceType(ParametrizedAttribute, HandleType):
    """Something that does one thing at a time: a device, a DMA engine, a queue of one."""

    name = "async_region.resource"


RESOURCE = Described(base(ResourceType), "resource type")
BUFFER = Described(base(MemRefType), "memref type")
