#include "profiler/torch/matmul_load.h"

#include <atomic>
#include <memory>
#include <thread>

#include <ATen/ATen.h>

namespace penstock {
namespace {

class MatmulLoad {
 public:
  explicit MatmulLoad(const std::string& device) : device_(device) {}
  MatmulLoad(const MatmulLoad&) = delete;
  MatmulLoad& operator=(const MatmulLoad&) = delete;
  ~MatmulLoad() { stop(); }

  void start() {
    goes_on_ = true;
    const long width = device_.is_cpu() ? kWidth : kWidthOnGpu;
    const at::TensorOptions options(device_);
    const at::Tensor a = at::ones({width, width}, options), b = at::ones({width, width}, options);
    at::Tensor product = at::empty({width, width}, options);
    thread_ = std::thread([this, a, b, product]() mutable {
      while (goes_on_) {
        at::mm_out(product, a, b);
        // A GPU is given the next one when this one is done: what is queued would outlast stop().
        if (!device_.is_cpu()) static_cast<void>(product[0][0].item<float>());
      }
    });
  }
  void stop() {
    goes_on_ = false;
    if (thread_.joinable()) thread_.join();
  }

 private:
  static constexpr long kWidth = 512, kWidthOnGpu = 4096;
  at::Device device_;
  std::atomic<bool> goes_on_ = false;
  std::thread thread_;
};

}  // namespace

LinkLoad matmul_load(const std::string& device) {
  const auto load = std::make_shared<MatmulLoad>(device);
  return {[load] { load->start(); }, [load] { load->stop(); }};
}

}  // namespace penstock
