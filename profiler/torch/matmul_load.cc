#include "profiler/torch/matmul_load.h"

#include <atomic>
#include <memory>
#include <thread>

#include <ATen/ATen.h>

namespace penstock {
namespace {

class MatmulLoad {
 public:
  MatmulLoad() = default;
  MatmulLoad(const MatmulLoad&) = delete;
  MatmulLoad& operator=(const MatmulLoad&) = delete;
  ~MatmulLoad() { stop(); }

  void start() {
    goes_on_ = true;
    thread_ = std::thread([this] {
      const at::Tensor a = at::ones({kWidth, kWidth}), b = at::ones({kWidth, kWidth});
      at::Tensor product = at::empty({kWidth, kWidth});
      while (goes_on_) at::mm_out(product, a, b);
    });
  }
  void stop() {
    goes_on_ = false;
    if (thread_.joinable()) thread_.join();
  }

 private:
  static constexpr long kWidth = 512;
  std::atomic<bool> goes_on_ = false;
  std::thread thread_;
};

}  // namespace

LinkLoad matmul_load() {
  const auto load = std::make_shared<MatmulLoad>();
  return {[load] { load->start(); }, [load] { load->stop(); }};
}

}  // namespace penstock
