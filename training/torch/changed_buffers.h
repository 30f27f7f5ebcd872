// Which buffers of an archive forward changes. The running means of a batch norm are only written
// in training; a result that depends on such a buffer depends on the samples that its replica has
// seen.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <torch/script.h>

namespace penstock {

class BuffersBefore {
 public:
  explicit BuffersBefore(const torch::jit::Module& module);
  [[nodiscard]] bool empty() const { return values_.empty(); }
  // The names of those that have other values now.
  [[nodiscard]] std::vector<std::string> changed() const;

 private:
  torch::jit::Module module_;
  std::map<std::string, at::Tensor> values_;
};

// For people, of a model whose result is another one once forward has changed these buffers.
std::string losses_depend_on_replicas(const std::vector<std::string>& buffers);

}  // namespace penstock
