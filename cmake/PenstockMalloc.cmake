# jemalloc, since a search keeps many small vectors: with it plans of 1,024 GPUs take a tenth less time than with the C
# library's allocator. PENSTOCK_JEMALLOC=AUTO|ON|OFF; target penstock_malloc links it, or nothing. Sanitizers have
# allocators of their own, and a static program keeps the C library's.
include_guard(GLOBAL)
include(PenstockAutoOption)
penstock_auto_option(PENSTOCK_JEMALLOC "A faster allocator (jemalloc) in programs")
add_library(penstock_malloc INTERFACE)
if(PENSTOCK_JEMALLOC STREQUAL "OFF" OR PENSTOCK_STATIC OR CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  return()
endif()
find_library(PENSTOCK_JEMALLOC_LIBRARY jemalloc)
if(PENSTOCK_JEMALLOC_LIBRARY)
  target_link_libraries(penstock_malloc INTERFACE ${PENSTOCK_JEMALLOC_LIBRARY})
elseif(PENSTOCK_JEMALLOC STREQUAL "ON")
  message(FATAL_ERROR "PENSTOCK_JEMALLOC=ON, but jemalloc was not found: apt-get install libjemalloc-dev, "
                      "or set PENSTOCK_JEMALLOC=OFF")
else()
  message(STATUS "Plans will take a tenth longer: jemalloc was not found (libjemalloc-dev)")
endif()
