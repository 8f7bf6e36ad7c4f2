// expect: safe; the kinds of proxies are spelled in full
llvm.func @f(%addr : !llvm.ptr, %size : i32) {
  %c128 = llvm.mlir.constant(128) : i32
  nvvm.fence.proxy.release #nvvm.mem_scope<cta> from_proxy = #nvvm.proxy_kind<generic> to_proxy = #nvvm.proxy_kind<tensormap>
  llvm.return
}
