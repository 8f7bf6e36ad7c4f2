"""
The ops of `cuda_tile`, a row each: all of release 13.3, and what cuTile 1.7 writes of 13.4 and 13.5.

`module`, `entry` and `global` are sections of the bytecode, not ops in it: `structure.py` has them. Source: public
definitions of CUDA Tile IR, release 13.3 (NVIDIA/cuda-tile), and the bytecode writer of cuda-tile 1.7 (PyPI).
"""

from __future__ import annotations

from tileas_xdsl.dialects.cuda_tile.rows import Row as row

V2, V3, V4, V5 = (13, 2), (13, 3), (13, 4), (13, 5)

FLOAT = "| source:float -> result:float"
FLOATS = "| lhs:float rhs:float -> result:float"
ROUNDED = "[flush_to_zero] rounding_mode:rounding=nearest_even" + FLOATS
EXTREME = "[propagate_nan flush_to_zero]" + FLOATS
FLUSHED = "[flush_to_zero]" + FLOAT
INTEGER = "| source:int -> result:int"
INTEGERS = "| lhs:int rhs:int -> result:int"
WRAPPING = "overflow:overflow=none" + INTEGERS
SIGNED = "signedness:signedness" + INTEGERS

UNARY = "$source{} : type(source result)"
BINARY = "$lhs, $rhs{} : type(lhs rhs result)"
BINARY_ROUNDED = "$lhs, $rhs( rounding<$rounding_mode>)?( $flush_to_zero)?{} : type(lhs rhs result)"
BINARY_EXTREME = "$lhs, $rhs( $flush_to_zero)?( $propagate_nan)?{} : type(lhs rhs result)"
BINARY_WRAPPING = "$lhs, $rhs( overflow<$overflow> )?{} : type(lhs rhs result)"
BINARY_SIGNED = "$lhs, $rhs $signedness{} : type(lhs rhs result)"
UNARY_ROUNDED = "$source( rounding<$rounding_mode>)?{} : type(source result)"
UNARY_FLUSHED = "$source( $flush_to_zero)?{} : type(source result)"
X_AND_Y = "$x, $y{} : type(x y result)"
CONVERSION = "$source{} : type(source) -> type(result)"
TERMINATOR = "{}( $operands : type(operands))?"

STRUCTURE = (
    row("constant", 16, "value:constant | -> result:number", "$value{}"),
    row("get_tile_block_id", 48, "| -> blockId_x:int32 blockId_y:int32 blockId_z:int32",
        "{} : type(blockId_x blockId_y blockId_z)"),
    row("get_num_tile_blocks", 46, "| -> gridSize_x:int32 gridSize_y:int32 gridSize_z:int32",
        "{} : type(gridSize_x gridSize_y gridSize_z)"),
    row("get_global", 44, "name:symbol | -> result:pointer0", "$name{} : type(result)"),
    row("assume", 6, "predicate:fact | value:any -> result:any", "$predicate, $value{} : type(value result)"),
    row("assert", 5, "message:str | condition:bool", "$condition, $message{} : type(condition)", effects="memory"),
    row("print_tko", 85, "# [token@13.2] str:str | *args:tile ?token:token@13.2 -> *result_token:token@13.2", "",
        effects="memory"),
    row("if", 50, "# | condition:bool0 -> *results:any", "", regions=2, effects="regions"),
    row("for", 41, "# [unsignedCmp@13.2] | lowerBound:int0 upperBound:int0 step:int0 *initValues:any -> "
        "*resultValues:any", "", regions=1, effects="regions"),
    row("loop", 65, "# | *initValues:any -> *resultValues:any", "", regions=1, effects="regions"),
    row("continue", 17, "# | *operands:any", TERMINATOR, effects="terminator"),
    row("break", 10, "# | *operands:any", TERMINATOR, effects="terminator"),
    row("yield", 109, "# | *operands:any", TERMINATOR, effects="terminator"),
    row("return", 92, "# | *operands:any", TERMINATOR, effects="terminator"),
)  # fmt: skip

FLOATING = (
    row("addf", 2, ROUNDED, BINARY_ROUNDED),
    row("subf", 103, ROUNDED, BINARY_ROUNDED),
    row("mulf", 76, ROUNDED, BINARY_ROUNDED),
    row("divf", 20, ROUNDED, BINARY_ROUNDED),
    row("fma", 40, "[flush_to_zero] rounding_mode:rounding=nearest_even | lhs:float rhs:float acc:float -> "
        "result:float", "$lhs, $rhs, $acc( rounding<$rounding_mode>)?( $flush_to_zero)?{} : type(lhs rhs acc result)"),
    row("sqrt", 100, "[flush_to_zero] rounding_mode:rounding=nearest_even" + FLOAT,
        "$source( rounding<$rounding_mode>)?( $flush_to_zero)?{} : type(source result)"),
    row("rsqrt", 93, FLUSHED, UNARY_FLUSHED),
    row("exp2", 24, FLUSHED, UNARY_FLUSHED),
    row("exp", 23, "rounding_mode:rounding=full@13.3" + FLOAT, UNARY_ROUNDED),
    row("tanh", 106, "rounding_mode:rounding=full@13.2" + FLOAT, UNARY_ROUNDED),
    row("absf", 0, FLOAT, UNARY),
    row("negf", 79, FLOAT, UNARY),
    row("ceil", 13, FLOAT, UNARY),
    row("floor", 39, FLOAT, UNARY),
    row("log", 63, FLOAT, UNARY),
    row("log2", 64, FLOAT, UNARY),
    row("sin", 98, FLOAT, UNARY),
    row("cos", 18, FLOAT, UNARY),
    row("tan", 105, FLOAT, UNARY),
    row("sinh", 99, FLOAT, UNARY),
    row("cosh", 19, FLOAT, UNARY),
    row("maxf", 69, EXTREME, BINARY_EXTREME),
    row("minf", 71, EXTREME, BINARY_EXTREME),
    row("atan2", 110, "| x:float y:float -> result:float", X_AND_Y, since=V2),
    row("pow", 84, "| source:float exponent:float -> result:float",
        "$source, $exponent{} : type(source exponent result)"),
    row("fpowi", 121, "| source:float exponent:int -> result:float",
        "$source, $exponent{} : type(source), type(exponent) -> type(result)", since=V4,
        match="shape source exponent result; element source result"),
    row("remf", 89, FLOATS, BINARY),
)  # fmt: skip

INTEGRAL = (
    row("addi", 3, WRAPPING, BINARY_WRAPPING),
    row("subi", 104, WRAPPING, BINARY_WRAPPING),
    row("muli", 78, WRAPPING, BINARY_WRAPPING),
    row("shli", 96, WRAPPING, BINARY_WRAPPING),
    row("negi", 80, "overflow:overflow=none@13.2" + INTEGER, "$source( overflow<$overflow> )?{} : type(source result)"),
    row("absi", 1, INTEGER, UNARY),
    row("mulhii", 77, "| x:int y:int -> result:int", X_AND_Y),
    row("divi", 21, "signedness:signedness rounding:rounding=zero" + INTEGERS,
        "$lhs, $rhs $signedness( rounding<$rounding> )?{} : type(lhs rhs result)"),
    row("remi", 90, SIGNED, BINARY_SIGNED),
    row("maxi", 70, SIGNED, BINARY_SIGNED),
    row("mini", 72, SIGNED, BINARY_SIGNED),
    row("shri", 97, SIGNED, BINARY_SIGNED),
    row("andi", 4, INTEGERS, BINARY),
    row("ori", 82, INTEGERS, BINARY),
    row("xori", 108, INTEGERS, BINARY),
)  # fmt: skip

CHOICES = (
    row("cmpi", 15, "comparison_predicate:predicate signedness:signedness | lhs:int rhs:int -> result:bool",
        "$comparison_predicate $lhs, $rhs, $signedness{} : type(lhs rhs) -> type(result)", match="shape lhs result"),
    row("cmpf", 14, "comparison_predicate:predicate comparison_ordering:ordering | lhs:float rhs:float -> result:bool",
        "$comparison_predicate $comparison_ordering $lhs, $rhs{} : type(lhs rhs) -> type(result)",
        match="shape lhs result"),
    row("select", 95, "| cond:bool val_if_true:tile val_if_false:tile -> result:tile",
        "$cond, $val_if_true, $val_if_false{} : type(cond), type(val_if_true val_if_false result)",
        match="shape cond result"),
    row("exti", 37, "signedness:signedness | from:narrow -> to:narrow", "$from $signedness{} : type(from) -> type(to)",
        match="shape from to"),
    row("trunci", 107, "overflow:overflow=none | from:narrow -> to:narrow",
        "$from( overflow<$overflow> )?{} : type(from) -> type(to)", match="shape from to"),
    row("itof", 59, "signedness:signedness rounding_mode:rounding=nearest_even | from:int -> to:anyfloat",
        "$from $signedness( rounding<$rounding_mode>)?{} : type(from) -> type(to)", match="shape from to"),
    row("ftoi", 43, "[saturating@13.4] signedness:signedness rounding_mode:rounding=nearest_int_to_zero | "
        "from:anyfloat -> to:int",
        "$from $signedness( rounding<$rounding_mode>)?( $saturating)?{} : type(from) -> type(to)",
        match="shape from to"),
    row("ftof", 42, "rounding_mode:rounding=nearest_even | from:anyfloat -> to:anyfloat",
        "$from( rounding<$rounding_mode>)?{} : type(from) -> type(to)", match="shape from to"),
    row("bitcast", 9, "| source:number -> result:number", CONVERSION, match="shape source result"),
    row("int_to_ptr", 51, "| source:int64 -> result:pointer", CONVERSION, match="shape source result"),
    row("ptr_to_int", 86, "| source:pointer -> result:int64", CONVERSION, match="shape source result"),
    row("ptr_to_ptr", 87, "| source:pointer -> result:pointer", CONVERSION, match="shape source result"),
)  # fmt: skip

SHAPES = (
    row("reshape", 91, "| source:tile -> result:tile", CONVERSION, match="element source result"),
    row("broadcast", 11, "| source:tile -> result:tile", CONVERSION, match="element source result; rank source result"),
    row("permute", 83, "permutation:i32s | source:tile -> result:tile",
        "$source $permutation{} : type(source) -> type(result)", match="element source result; rank source result"),
    row("cat", 12, "dim:i64 | lhs:tile rhs:tile -> result:tile",
        "$lhs, $rhs dim = $dim{} : type(lhs), type(rhs) -> type(result)",
        match="element lhs rhs result; rank lhs rhs result"),
    row("extract", 38, "# | source:tile *indices:int32 -> result:tile",
        "$source[$indices]{} : type(source) -> type(result)", match="element source result; rank source result"),
    row("insert", 118, "# | source:tile destination:tile *indices:int32 -> result:tile",
        "$source, $destination[$indices]{} : type(source), type(destination result)", since=V4,
        match="element source result; rank source result"),
    row("iota", 58, "| -> result:int", "{} : type(result)"),
    row("pack", 111, "| source:number -> result:int8", CONVERSION, since=V3, match="rank source result"),
    row("unpack", 112, "| source:int8 -> result:number", CONVERSION, since=V3, match="rank source result"),
)  # fmt: skip

PRODUCTS = (
    row("mmaf", 73, "[fast_acc@13.3] | lhs:anyfloat rhs:anyfloat acc:float -> result:float",
        "$lhs, $rhs, $acc( $fast_acc)?{} : type(lhs), type(rhs), type(acc result)",
        match="element lhs rhs; rank lhs rhs acc"),
    row("mmai", 74, "signedness_lhs:signedness signedness_rhs:signedness | lhs:int8 rhs:int8 acc:int32s -> "
        "result:int32s", "$lhs, $rhs, $acc $signedness_lhs $signedness_rhs{} : type(lhs), type(rhs), type(acc result)",
        match="rank lhs rhs acc"),
    row("mmaf_scaled", 114, "| lhs:anyfloat rhs:anyfloat acc:float lhs_scale:anyfloat rhs_scale:anyfloat -> "
        "result:float", "$lhs, $rhs, $acc, $lhs_scale, $rhs_scale{} : type(lhs), type(rhs), type(acc result), "
        "type(lhs_scale), type(rhs_scale)", since=V3,
        match="element lhs rhs; element lhs_scale rhs_scale; rank lhs rhs acc lhs_scale rhs_scale"),
    row("reduce", 88, "# dim:i32 identities:array | *operands:tile -> *results:tile", "", regions=1,
        effects="regions"),
    row("scan", 94, "# dim:i32 reverse:bool identities:array | *operands:tile -> *results:tile", "", regions=1,
        effects="regions"),
)  # fmt: skip

VIEWS = (
    row("make_tensor_view", 67, "# | base:pointer0 *dynamicShape:int0 *dynamicStrides:int0 -> result:array", ""),
    row("make_partition_view", 66, "| tensor_view:array -> result:partition", "$tensor_view{} : type(result)"),
    row("make_strided_view", 116, "| tensor_view:array -> result:strided", "$tensor_view{} : type(result)", since=V3),
    row("make_gather_scatter_view", 115, "| tensor_view:array -> result:gather", "$tensor_view{} : type(result)",
        since=V3),
    row("get_index_space_shape", 45, "# | src:view -> *result:int0", ""),
    row("get_tensor_shape", 47, "# | src:array -> *result:int0", ""),
    row("offset", 81, "| ptr:pointer offset:int -> result:pointer",
        "$ptr, $offset{} : type(ptr), type(offset) -> type(result)", match="shape ptr offset; type ptr result"),
    row("alloca", 113, "[global] num_elem:i64 alignment:i64 | -> result:pointer0",
        "num_elem = $num_elem, alignment = $alignment( $global)?{} : type(result)", since=V3, effects="allocates"),
)  # fmt: skip

ACCESS = "memory_ordering_semantics:semantics ?memory_scope:scope ?optimization_hints:hints"
ORDER = "$memory_ordering_semantics( $memory_scope)?"
TAIL = "( token=$token)?( optimization_hints = $optimization_hints)?{}"
VIEW_TAIL = "( token = $token)?( optimization_hints = $optimization_hints)?( inbounds = $inbounds)?{}"

MEMORY = (
    row("load_view_tko", 62, f"# [memory_scope optimization_hints token] {ACCESS} inbounds:bools@13.4 | view:view "
        "*index:index ?token:token -> tile:tile result_token:token",
        f"{ORDER} $view[$index]{VIEW_TAIL} : type(view), each(index) -> type(tile), type(result_token)",
        effects="reads"),
    row("store_view_tko", 102, f"# [memory_scope optimization_hints token] {ACCESS} inbounds:bools@13.4 | tile:tile "
        "view:view *index:index ?token:token -> result_token:token",
        f"{ORDER} $tile, $view[$index]{VIEW_TAIL} : type(tile), type(view), each(index) -> type(result_token)",
        effects="writes"),
    row("load_ptr_tko", 61, f"[memory_scope optimization_hints mask paddingValue token] {ACCESS} | source:pointer "
        "?mask:bool ?paddingValue:number ?token:token -> result:tile result_token:token",
        f"{ORDER} $source(, $mask)?(, $paddingValue)?{TAIL} : type(source)(, type(mask))?(, type(paddingValue))? -> "
        "type(result), type(result_token)", effects="reads", match="shape source mask paddingValue result"),
    row("store_ptr_tko", 101, f"[memory_scope optimization_hints mask token] {ACCESS} | destination:pointer "
        "value:tile ?mask:bool ?token:token -> result_token:token",
        f"{ORDER} $destination, $value(, $mask)?{TAIL} : type(destination), type(value)(, type(mask))? -> "
        "type(result_token)", effects="writes", match="shape destination value mask"),
    row("atomic_rmw_tko", 8, "[mask token] memory_ordering_semantics:semantics memory_scope:scope mode:mode | "
        "pointers:pointer arg:number ?mask:bool ?token:token -> result:number result_token:token",
        "$memory_ordering_semantics $memory_scope $pointers, $mode, $arg(, $mask)?( token=$token)?{} : "
        "type(pointers), type(arg)(, type(mask))? -> type(result), type(result_token)", effects="memory",
        match="shape pointers arg mask result; element arg result"),
    row("atomic_cas_tko", 7, "[mask token] memory_ordering_semantics:semantics memory_scope:scope | "
        "pointers:pointer cmp:number val:number ?mask:bool ?token:token -> result:number result_token:token",
        "$memory_ordering_semantics $memory_scope $pointers, $cmp, $val(, $mask)?( token=$token)?{} : "
        "type(pointers), type(cmp val)(, type(mask))? -> type(result), type(result_token)", effects="memory",
        match="shape pointers cmp val mask result; element cmp val result"),
    row("atomic_red_view_tko", 117, "# [token] memory_ordering_semantics:semantics memory_scope:scope mode:mode "
        "inbounds:bools@13.5 | view:view *index:index value:tile ?token:token -> result_token:token",
        "$memory_ordering_semantics $memory_scope $view[$index], $mode, $value( token = $token)?"
        "( inbounds = $inbounds)?{} : type(value), type(view), each(index) -> type(result_token)", since=V3,
        effects="memory"),
    row("make_token", 68, "| -> result:token", "{} : type(result)"),
    row("join_tokens", 60, "# | *tokens:token -> result:token", "$tokens{} : type(result)"),
    row("memory_fence_alias_tko", 122, "| token:token -> result_token:token", "token = $token{} -> type(result_token)",
        since=V4, effects="memory"),
    row("gdc_launch_dependents_tko", 119, "| ?token:token -> result_token:token",
        "( token = $token)?{} -> type(result_token)", since=V4, effects="memory"),
    row("gdc_wait_tko", 120, "| ?token:token -> result_token:token", "( token = $token)?{} -> type(result_token)",
        since=V4, effects="memory"),
    row("multimem_load_reduce_view_tko", 123, "# [memory_scope token] memory_ordering_semantics:semantics "
        "?memory_scope:scope reduction:reduction inbounds:bools | view:view *index:index ?token:token -> tile:tile "
        "result_token:token", "", since=V5, effects="memory"),
    row("multimem_reduce_view_tko", 124, "# [token] memory_ordering_semantics:semantics memory_scope:scope "
        "reduction:reduction inbounds:bools | view:view tile:tile *index:index ?token:token -> result_token:token",
        "", since=V5, effects="memory"),
    row("multimem_store_view_tko", 125, "# [memory_scope token] memory_ordering_semantics:semantics "
        "?memory_scope:scope inbounds:bools | view:view tile:tile *index:index ?token:token -> result_token:token",
        "", since=V5, effects="memory"),
    row("preview_call", 16386, "# [arg_attrs res_attrs] callee:str const_args:array ?arg_attrs:array "
        "?res_attrs:array | *operands:any -> *results:any", "", since=V5, effects="memory"),
)  # fmt: skip

ROWS = (*STRUCTURE, *FLOATING, *INTEGRAL, *CHOICES, *SHAPES, *PRODUCTS, *VIEWS, *MEMORY)
BY_NAME = {one.name: one for one in ROWS}
BY_OPCODE = {one.opcode: one for one in ROWS}
