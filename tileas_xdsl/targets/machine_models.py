"""
The machine models: `published`, and one for each target that has a timing table.

`published` is the slot model of TileAS as it is described: 24 slots, whose latencies do not depend on the sizes of
tiles. It serves to check worked numbers. Every other model takes its footprints from the timing table of its target.
"""

from __future__ import annotations

from tileas_xdsl.targets.chips import CHIPS, TENSOR_MEMORY, Feature, can, capability_of, chip_of
from tileas_xdsl.targets.cycles import timing_table
from tileas_xdsl.targets.machine_model import MachineModel, Products, ResourceSlot, ResourceVector, SlotKind, SlotUse
from tileas_xdsl.targets.measured.h200 import H200

COARSE, FINE, TEST = SlotKind.COARSE, SlotKind.FINE, SlotKind.TEST

PUBLISHED_SLOTS = tuple(
    ResourceSlot(number, name, kind, anchor=anchor)
    for number, (name, kind, anchor) in enumerate(
        (
            ("issue", COARSE, 100),
            ("xu", COARSE, 100),
            ("xu64", COARSE, 110),
            ("fp32x2_fp16ultra", FINE, 101),
            ("alu", COARSE, 102),
            ("alu_or_fmaheavy", FINE, 102),
            ("dual_alu", FINE, 103),
            ("lsu", COARSE, 103),
            ("tmem", COARSE, 120),
            ("mma", COARSE, 104),
            ("tc_and_mma", FINE, 121),
            ("tma", COARSE, 104),
            ("tp_gnic_rd", FINE, 200),
            ("tp_gnic_wr", FINE, 400),
            ("tp_smem_rd", FINE, 800),
            ("tp_smem_wr", FINE, 900),
            ("tp_tmem_rd", FINE, 1500),
            ("tp_tmem_wr", FINE, 2000),
            ("tp_mma", FINE, 2400),
            ("unknown", FINE, 3000),
            ("omitted_simt", FINE, 50),
            ("test_simt", FINE, 100),
            ("test_mma", FINE, 200),
            ("test_dma", TEST, 360),
        ),
        start=1,
    )
)

PUBLISHED_VECTORS = {
    "tma_load": ResourceVector((SlotUse("tma", 8), SlotUse("tp_smem_wr", 8)), 8),
    # The accumulator is there after 16 cycles; only the 8 cycles of the issue occupy slots.
    "product": ResourceVector((SlotUse("tc_and_mma", 8), SlotUse("tp_mma", 8)), 16, pools=((1, 1),)),
    "shared_write": ResourceVector((SlotUse("tp_smem_wr", 7),), 7),
    "shared_read": ResourceVector((SlotUse("tp_smem_rd", 7),), 7),
    "shared_to_tensor": ResourceVector((SlotUse("tp_tmem_wr", 7),), 7),
    "tensor_read": ResourceVector((SlotUse("tp_tmem_rd", 7),), 7),
    "global_read": ResourceVector((SlotUse("tp_gnic_rd", 7),), 7),
    "global_write": ResourceVector((SlotUse("tp_gnic_wr", 7),), 7),
    "arithmetic": ResourceVector((SlotUse("alu_or_fmaheavy", 4),), 4),
    "special": ResourceVector((SlotUse("xu", 4),), 4),
    "scalar": ResourceVector((SlotUse("dual_alu", 2),), 2),
    "handshake": ResourceVector((SlotUse("issue", 1),), 1),
    "nothing": ResourceVector((), 0),
}

ALU_TAGS = {tag: (4, (6,)) for tag in (0x0B, 0x09, 0x0A, 0x15, 0x16, 0x17)}
DUAL_TAGS = {tag: (2, (7,)) for tag in (0x0C, 0x01, 0x02, 0x03)}
PAIRED_TAGS = {tag: (4, (4,)) for tag in (0x0D, 0x0E, 0x0F, 0x10)}
TRANSPORT_TAGS = {
    0x1C: (7, (15, 16)),
    0x1D: (7, (16,)),
    0x1E: (7, (17,)),
    0x1F: (7, (18,)),
    0x20: (7, (19,)),
    0x21: (7, (13,)),
    0x22: (7, (14,)),
}
TENSOR_TAGS = {0x18: (8, (11,)), 0x19: (8, (11,))}

HBM_ROUND_TRIP, ACROSS_CLUSTERS = 5000, 7000

PUBLISHED = MachineModel(
    name="published",
    slots=PUBLISHED_SLOTS,
    shared_bytes=chip_of(90).shared_bytes,
    tensor_bytes=TENSOR_MEMORY,
    vectors=PUBLISHED_VECTORS,
    pools=(37, 4, 7, 37, 5, 1, 3, 6, 2),
    ceilings=(HBM_ROUND_TRIP, ACROSS_CLUSTERS),
    tag_latencies={**ALU_TAGS, **DUAL_TAGS, **PAIRED_TAGS, **TRANSPORT_TAGS, **TENSOR_TAGS},
    products=Products.TCGEN05,
    has_tma=True,
    sources=("the slot model of TileAS, as it is described",),
)

AGENT = "agent"
"""The thread of control: a synchronous op keeps it until it is done, a handshake for its signal."""

ENGINES = ("tma", "async_copy", "sync", "copy", "tensor core", "load/store", "shared memory")
"""The engines of the timed machine, by the names under which it serves them."""

CAPABILITIES = tuple(chip.capability for chip in CHIPS.values() if chip.has_model)
"""The compute capabilities that have a model, major * 10 + minor."""
MEASURED = {90: H200}
"""Compute capability -> the figures that were measured on a device of it."""


def sm_model(capability: int) -> MachineModel:
    """
    The model of `sm_<capability>`, with the footprints of its timing table.

    Raises `ValueError`, naming the capabilities that there are, for any other.
    """
    if capability not in CAPABILITIES:
        known = ", ".join(f"sm_{number}" for number in CAPABILITIES)
        raise ValueError(f"no machine model of sm_{capability}: choose one of {known}")
    table = timing_table(f"sm_{capability}")
    slots = tuple(ResourceSlot(number, name) for number, name in enumerate((AGENT, *ENGINES), start=1))
    return MachineModel(
        name=f"sm_{capability}",
        slots=slots,
        shared_bytes=chip_of(capability).shared_bytes,
        tensor_bytes=TENSOR_MEMORY,
        timing=table,
        measured=MEASURED.get(capability),
        products=_products(capability),
        has_tma=can(capability, Feature.TMA),
        sources=table.sources,
    )


def _products(capability: int) -> Products:
    """`wgmma` is of sm_90a alone, `tcgen05` of sm_100, 101, 103 and 110 (PTX ISA, "Target ISA Notes")."""
    if can(capability, Feature.WGMMA):
        return Products.WGMMA
    return Products.TCGEN05 if can(capability, Feature.TCGEN05) else Products.NONE


def machine_model(target: str) -> MachineModel:
    """`published`, or the model of a target such as `sm_90` or `sm_100a`. Raises `ValueError` naming the choices."""
    if target == PUBLISHED.name:
        return PUBLISHED
    capability = capability_of(target)
    if capability is None:
        known = ", ".join(f"sm_{number}" for number in CAPABILITIES)
        raise ValueError(f"no machine model of '{target}': choose one of published, {known}")
    return sm_model(capability)
