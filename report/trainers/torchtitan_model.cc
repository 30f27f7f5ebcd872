#include "report/trainers/torchtitan_model.h"

#include <array>

namespace penstock {
namespace {

struct Sizes {
  std::string_view family;
  int layers, hidden, heads, key_value_heads, feed_forward;
  TorchtitanModel model;
};

// torchtitan/models/{llama3,qwen3}/__init__.py of v0.1.0 to v0.2.2, config_registry.py of b5bcd76c.
constexpr std::array kModels{
    Sizes{"Llama", 32, 4096, 32, 8, 14336, {"llama3", "8B", "llama3_8b", false}},
    Sizes{"Llama", 80, 8192, 64, 8, 28672, {"llama3", "70B", "llama3_70b", false}},
    Sizes{"Llama", 126, 16384, 128, 8, 53248, {"llama3", "405B", "llama3_405b", false}},
    Sizes{"Qwen3", 28, 1024, 16, 8, 3072, {"qwen3", "0.6B", "qwen3_0_6b", true}},
    Sizes{"Qwen3", 28, 2048, 16, 8, 6144, {"qwen3", "1.7B", "qwen3_1_7b", true}},
    Sizes{"Qwen3", 36, 2560, 32, 8, 9728, {"qwen3", "4B", "", true}},
    Sizes{"Qwen3", 36, 4096, 32, 8, 12288, {"qwen3", "8B", "", true}},
    Sizes{"Qwen3", 40, 5120, 40, 8, 17408, {"qwen3", "14B", "qwen3_14b", true}},
    Sizes{"Qwen3", 64, 5120, 64, 8, 25600, {"qwen3", "32B", "qwen3_32b", true}},
};

}  // namespace

const TorchtitanModel* torchtitan_model(const Architecture& model) {
  if (model.experts || model.latent) return nullptr;
  for (const Sizes& one : kModels) {
    const bool same = model.family == one.family && model.layers == one.layers &&
                      model.hidden == one.hidden && model.heads == one.heads &&
                      model.key_value_heads == one.key_value_heads &&
                      model.feed_forward == one.feed_forward;
    if (same) return &one.model;
  }
  return nullptr;
}

}  // namespace penstock
