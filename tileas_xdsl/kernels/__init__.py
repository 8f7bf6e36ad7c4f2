"""
Compiled kernels as objects of Python: made, kept on disk, looked at, run on the machine and launched.

    compiling   a program becomes `Compiled`: texts, code, contracts
    cache       which is kept on disk
    records     what is known of a kernel, typed
    repeated    a launch like an earlier one is not checked again
    kernel      the object that a script holds
"""
