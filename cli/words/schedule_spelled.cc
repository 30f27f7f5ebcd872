// Names of schedules: PyTorch's classes, Megatron's and the papers' words are compared in lower
// case and without hyphens with one table.
#include "cli/words/schedule_spelled.h"

#include <array>
#include <cctype>

#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

// Other people's names. PyTorch: torch/distributed/pipelining/schedules.py, get_schedule_class();
// Megatron-LM: "1F1B", "interleaved 1F1B"; zero bubble: the papers arXiv 2401.10241 and 2405.15362
// and their fork of Megatron-LM; breadth first: arXiv 2211.05953; PipeDream-Flush: arXiv
// 2006.09503.
struct Alias {
  std::string_view typed, name;
};
constexpr std::array kAliases{
    Alias{"interleaved1f1b", "interleaved"},
    Alias{"1f1binterleaved", "interleaved"},
    Alias{"1f1binterleaving", "interleaved"},
    Alias{"interleaving", "interleaved"},
    Alias{"vpp", "interleaved"},
    Alias{"virtualpipeline", "interleaved"},
    Alias{"noninterleaved", "1f1b"},
    Alias{"noninterleaved1f1b", "1f1b"},
    Alias{"onef1b", "1f1b"},
    Alias{"oneforwardonebackward", "1f1b"},
    Alias{"pipedreamflush", "1f1b"},
    Alias{"dapple", "1f1b"},
    Alias{"fillanddrain", "gpipe"},
    Alias{"filldrain", "gpipe"},
    Alias{"afab", "gpipe"},
    Alias{"bfs", "looped-bfs"},
    Alias{"breadthfirst", "looped-bfs"},
    Alias{"interleavedzerobubble", "interleaved-zb"},
    Alias{"interleavedzb1p", "interleaved-zb"},
    Alias{"zbvzerobubble", "zb-v"},
    Alias{"vzb", "zb-v"},
    Alias{"zbhandcrafted1", "zb-h1"},
    Alias{"zbhandcrafted2", "zb-h2"},
    Alias{"zerobubbleh1", "zb-h1"},
    Alias{"zerobubbleh2", "zb-h2"},
    Alias{"zerobubblev", "zb-v"},
    Alias{"zbvhalf", "v-half"},
    Alias{"zbvmin", "v-min"},
    Alias{"sequence1f1b", "seq-1f1b"},
};

}  // namespace

std::string letters_and_digits(std::string_view typed) {
  std::string out;
  for (const char c : typed) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) out.push_back(static_cast<char>(std::tolower(byte)));
  }
  return out;
}

std::string_view schedule_spelled(std::string_view typed) {
  std::string word = letters_and_digits(typed);
  constexpr std::string_view kPyTorch = "schedule";
  if (word.starts_with(kPyTorch)) word.erase(0, kPyTorch.size());
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (letters_and_digits(kind.name) == word) return kind.name;
  }
  for (const Alias& alias : kAliases) {
    if (alias.typed == word) return alias.name;
  }
  return {};
}

}  // namespace penstock
