#!/bin/sh
# The texts of the CUDA beside this, by nvcc 13.0 (packages nvidia-cuda-nvcc, -crt, -runtime, -cccl, nvidia-nvvm):
# tests/readers/ptx/kernels/make_nvcc.sh NVCC INCLUDE, from the root of the checkout.
python -m tests.support.ptx_corpus "$1" "$2" "$(dirname "$0")" tests/readers/ptx/cuda/*.cu
