#include "report/trainers/lint/megatron_flags.h"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

constexpr std::array kRenamed{
    RenamedFlag{"batch-size", "--micro-batch-size", "stops: the flag is no longer valid"},
    RenamedFlag{"model-parallel-size", "--tensor-model-parallel-size",
                "stops: the flag is no longer valid"},
    RenamedFlag{"warmup", "--lr-warmup-fraction", "stops: the flag is no longer valid"},
    RenamedFlag{"checkpoint-activations", "--recompute-granularity full",
                "stops: the flag is no longer valid"},
    RenamedFlag{"virtual-pipeline-model-parallel-size", "--num-virtual-stages-per-pipeline-rank",
                "stops: that is the name of NeMo's setting, not a flag"},
    RenamedFlag{"standalone-embedding-stage", "--account-for-embedding-in-pipeline-split",
                "stops: the flag was taken out"},
    RenamedFlag{"moe-extended-tp", "--expert-tensor-parallel-size",
                "stops: the flag was taken out"},
    RenamedFlag{"moe-layer-recompute", "--recompute-granularity selective --recompute-modules moe",
                "calls it deprecated"},
    RenamedFlag{"use-dist-ckpt", "--ckpt-format torch_dist",
                "says that it is deprecated and has no effect"},
    RenamedFlag{"dist-ckpt-format", "--ckpt-format",
                "says that it is deprecated and has no effect"},
};

std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> names;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(" \n", at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end;
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

const std::vector<std::string_view>& megatron_flags() {
  static const std::vector<std::string_view> kSorted = names_in(megatron_flag_names());
  return kSorted;
}

bool is_megatron_flag(std::string_view name) {
  return std::binary_search(megatron_flags().begin(), megatron_flags().end(), name);
}

std::vector<std::string_view> megatron_groups_with(std::string_view name) {
  std::vector<std::string_view> groups;
  for (const MegatronFlagGroup& group : megatron_flag_groups()) {
    const std::vector<std::string_view> names = names_in(group.flags);
    if (std::binary_search(names.begin(), names.end(), name)) groups.push_back(group.name);
  }
  return groups;
}

const RenamedFlag* find_renamed_megatron_flag(std::string_view name) {
  for (const RenamedFlag& flag : kRenamed) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

}  // namespace penstock
