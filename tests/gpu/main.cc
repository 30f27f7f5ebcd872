// Tests that need a GPU: without one they are skipped (77), unless PENSTOCK_REQUIRE_GPU=1 says that
// there has to be one.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>
#include <iostream>
#include <string_view>

#include <doctest/doctest.h>

#include "training/cuda/cuda_devices.h"

int main(int argc, char** argv) {
  const std::string missing = penstock::why_no_cuda();
  if (!missing.empty()) {
    const char* const required = std::getenv("PENSTOCK_REQUIRE_GPU");
    std::cerr << missing << '\n';
    return required != nullptr && std::string_view(required) == "1" ? 1 : 77;
  }
  return doctest::Context(argc, argv).run();
}
