// LibTorch's own number of threads does not reach an OpenBLAS that has threads of its own (Debian's
// does), which would take all processors for every product of matrices.
#include "training/torch/library.h"

#include <algorithm>
#include <ctime>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <torch/version.h>

#include "core/values/units.h"

namespace penstock {
namespace {

// Of this thread's processor: what other programs take is no sign of a slow library.
Duration processor_time() {
  std::timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

std::string library_name() { return "LibTorch " TORCH_VERSION; }

void set_library_threads(int threads) {
  at::set_num_threads(threads);
  using SetThreads = void (*)(int);
  // Nothing where LibTorch found another BLAS.
  static const auto of_blas =
      reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (of_blas != nullptr) of_blas(threads);
}

double matmul_gigaflops() {
  constexpr long kWidth = 512;
  constexpr int kProducts = 8;
  const at::Tensor a = at::ones({kWidth, kWidth}), b = at::ones({kWidth, kWidth});
  at::Tensor product = at::empty({kWidth, kWidth});
  Duration best = Duration::max();
  for (int i = 0; i < kProducts; ++i) {
    const Duration begin = processor_time();
    at::mm_out(product, a, b);
    best = std::min(best, processor_time() - begin);
  }
  const double operations = 2.0 * kWidth * kWidth * kWidth;
  return operations / static_cast<double>(std::max<Duration::rep>(best.count(), 1));
}

}  // namespace penstock
