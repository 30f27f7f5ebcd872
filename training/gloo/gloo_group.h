// Some ranks of the job as one c10d process group. Every call starts something and returns what
// c10d waits with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>  // which the next one needs, and includes too late for clang
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "training/buffer.h"
#include "training/gloo/gloo_transport.h"

namespace penstock {

using GlooDevice = std::shared_ptr<::gloo::transport::Device>;
using GlooWork = c10::intrusive_ptr<c10d::Work>;

// `address`: this rank's, at which the others reach it, unless the options name an interface.
GlooDevice open_device(const GlooOptions& options, const std::string& address);

at::Tensor tensor_of(const Buffer& buffer);
at::Tensor bytes_in(const Buffer& buffer);

class GlooGroup {
 public:
  // Returns when all `size` members have come. `store` is the group's own, or has its prefix.
  GlooGroup(const c10::intrusive_ptr<c10d::Store>& store, int position, int size,
            const GlooDevice& device, Duration limit);

  [[nodiscard]] int size() const { return size_; }
  // Members are named by their position in the group.
  GlooWork send(int to, int tag, const Buffer& buffer);
  GlooWork receive(int from, int tag, const Buffer& buffer);
  GlooWork all_reduce(const at::Tensor& tensor);
  GlooWork all_gather(const Buffer& buffer);
  GlooWork barrier();

  // Whatever is under way fails, here and, since the connections are closed, with the others.
  void close() noexcept;

 private:
  int position_, size_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace penstock
