#include "training/torch/library.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

#include "training/steady_time.h"

namespace penstock {

std::string library_name() { return "LibTorch " TORCH_VERSION; }

void set_library_threads(int threads) { at::set_num_threads(threads); }

double matmul_gigaflops() {
  constexpr long kWidth = 512;
  constexpr int kProducts = 8;
  const at::Tensor a = at::ones({kWidth, kWidth}), b = at::ones({kWidth, kWidth});
  at::Tensor product = at::empty({kWidth, kWidth});
  Duration best = Duration::max();
  for (int i = 0; i < kProducts; ++i) {
    const SteadyTime begin = steady_now();
    at::mm_out(product, a, b);
    best = std::min(best, Duration(steady_now() - begin));
  }
  const double operations = 2.0 * kWidth * kWidth * kWidth;
  return operations / static_cast<double>(std::max<Duration::rep>(best.count(), 1));
}

}  // namespace penstock
