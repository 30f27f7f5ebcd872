#include "training/torch/library.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

namespace penstock {
namespace {

// Debian's OpenBLAS has threads of its own, which LibTorch does not set: a rank that is a thread of
// the launcher, and has no environment of its own, took all processors with them.
TEST_CASE("the threads of a rank are also those of its BLAS") {
  using Threads = int (*)();
  const auto of_blas = reinterpret_cast<Threads>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  for (const int threads : {2, 1}) {
    set_library_threads(threads);
    CHECK(at::get_num_threads() == threads);
    if (of_blas != nullptr) {
      CHECK(of_blas() == threads);
    } else {
      MESSAGE("no OpenBLAS to be seen: its threads are not checked");
    }
  }
}

}  // namespace
}  // namespace penstock
