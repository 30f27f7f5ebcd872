// Settings of the environment that people write among the arguments.
#pragma once

#include <string_view>

namespace penstock {

// "NCCL_DEBUG=INFO": a name in capitals with an underscore, and a value.
constexpr bool is_environment_setting(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  return equals != std::string_view::npos && name.find('_') != std::string_view::npos &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

// One that libraries and launchers read: no spelling of an option, whatever it is about.
constexpr bool is_of_a_library(std::string_view word) {
  for (const std::string_view prefix :
       {"NCCL_", "CUDA_", "OMP_", "MKL_", "KMP_", "TORCH_", "PYTORCH_", "GLOO_", "UCX_", "LD_",
        "HF_", "WANDB_", "TRITON_", "TOKENIZERS_", "SLURM_", "MASTER_", "RDMA_", "FI_"}) {
    if (word.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace penstock
