"""The type that `async_region` adds, and the constraints of its ops beside those of `async`."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import base, irdl_attr_definition

from tileas_xdsl.dialects.async_.support import Described
from tileas_xdsl.interfaces import HandleType


@irdl_attr_definition
class ResourceType(ParametrizedAttribute, HandleType):
    """A device, a DMA engine or the like: it runs one operation at a time."""

    name = "async_region.resource"


RESOURCE = Described(base(ResourceType), "resource type")
BUFFER = Described(base(MemRefType), "memref type")
