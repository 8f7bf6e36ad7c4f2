"""
The way out: LLVM IR text, PTX, machine code of NVIDIA's GPUs.

    llvm dialect  --llvm_ir-->  LLVM IR text  --code_generation-->  PTX  --ptxas-->  cubin

Nothing here changes IR: the passes before have done all that, and what they have left is refused by name.
"""
