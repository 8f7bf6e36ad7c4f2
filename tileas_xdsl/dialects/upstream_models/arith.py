"""Ops of `arith` to which xDSL gives no trait of effects."""

from __future__ import annotations

from xdsl.dialects import arith

from tileas_xdsl.dialects.upstream_models import accesses, touches_nothing

accesses(arith.ExtSIOp, arith.RemUIOp)(touches_nothing)
