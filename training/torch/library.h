// Which LibTorch this is, how many threads it takes, and how fast its matrix products are.
#pragma once

#include <string>

namespace penstock {

std::string library_name();  // "LibTorch 1.13.1"

// Of one operation; for the whole process.
void set_library_threads(int threads);

// In single precision, on the calling thread, the best of a few. A tenth of what a processor can do
// means that LibTorch found the reference BLAS.
double matmul_gigaflops();

}  // namespace penstock
