# PENSTOCK_STATIC: a program that needs no library beside it, so that it runs on any Linux of its
# processor, also in an empty container. Without PNG pictures: cairo is a shared library.
include_guard(GLOBAL)
option(PENSTOCK_STATIC "Link the program statically; without PNG pictures (preset static)" OFF)
if(PENSTOCK_STATIC)
  if(PENSTOCK_TORCH OR PENSTOCK_GPU)
    message(FATAL_ERROR "PENSTOCK_STATIC: LibTorch and CUDA are shared libraries; leave out "
                        "PENSTOCK_TORCH and PENSTOCK_GPU, or PENSTOCK_STATIC")
  endif()
  if(PENSTOCK_PNG STREQUAL "ON")
    message(FATAL_ERROR "PENSTOCK_STATIC: cairo is a shared library; leave out PENSTOCK_PNG=ON")
  endif()
  set(PENSTOCK_PNG OFF)
  set(ZLIB_USE_STATIC_LIBS ON)
  list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}/static")
endif()
