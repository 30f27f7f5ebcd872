#include "cli/answers/options/objective_words.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "cli/words/field_words.h"

namespace penstock {
namespace {

enum class Aim { kUnknown, kPrice, kMemory, kSpeed, kGpus };

struct WordsOfAim {
  Aim aim;
  std::array<std::string_view, 16> words;
};
constexpr std::array kAims{
    WordsOfAim{Aim::kPrice,
               {"cost", "costs", "price", "cheap", "cheapest", "usd", "dollar", "dollars", "money",
                "budget", "economy", "mtok", "tco", "spend", "bill", "prices"}},
    WordsOfAim{Aim::kMemory,
               {"memory", "mem", "vram", "peak", "hbm", "gib", "gb", "footprint", "headroom"}},
    WordsOfAim{Aim::kGpus, {"gpus", "gpu", "devices", "nodes", "ranks"}},
    WordsOfAim{
        Aim::kSpeed,
        {"time", "step", "latency", "throughput", "tokens", "tps", "speed", "fast", "fastest",
         "mfu", "tflops", "flops", "bubble", "idle", "efficiency", "utilization"}},
};

// Names of options that an aim stands behind.
bool names_aim(const std::string& word) {
  constexpr std::array<std::string_view, 24> kNames{
      "objective", "goal",         "metric",    "sort",
      "sort-by",   "order",        "order-by",  "rank-by",
      "optimize",  "optimize-for", "minimize",  "maximize",
      "minimise",  "maximise",     "optimise",  "optimise-for",
      "prefer",    "priority",     "criterion", "objective-function",
      "score",     "rank",         "aim",       "optimization-target"};
  return std::find(kNames.begin(), kNames.end(), word) != kNames.end();
}

std::vector<std::string> parts_of_name(const std::string& word) {
  std::vector<std::string> parts{""};
  for (const char c : word) {
    if (c == '-' || c == ' ' || c == '/' || c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Aim aim_in(const std::string& text) {
  const std::vector<std::string> parts = parts_of_name(plain_word(text));
  for (const WordsOfAim& row : kAims) {
    const bool is_it = std::any_of(parts.begin(), parts.end(), [&row](const std::string& part) {
      return !part.empty() &&
             std::find(row.words.begin(), row.words.end(), part) != row.words.end();
    });
    if (is_it) return row.aim;
  }
  return Aim::kUnknown;
}

// "--cheapest", "--minimize-cost", "--lowest-memory": the name is the aim.
bool is_aim(const std::string& word) {
  if (word == "cheapest" || word == "fastest" || word == "cheap") return true;
  const std::string first = parts_of_name(word).front();
  constexpr std::array<std::string_view, 10> kBest{"fewest",   "minimize", "maximize", "minimise",
                                                   "maximise", "lowest",   "least",    "best",
                                                   "optimize", "highest"};
  return std::find(kBest.begin(), kBest.end(), first) != kBest.end() && word != first &&
         aim_in(word) != Aim::kUnknown;
}

}  // namespace

std::string help_for_objective(const std::string& word, const std::string& value,
                               const Asked& asked) {
  const bool is_plan = asked.has("--top") && asked.has("--pin");
  const bool is_compare = asked.has("--vary") && asked.has("--global-batch");
  if (!is_plan && !is_compare) return "";
  const bool is_named = names_aim(word);
  if (!is_named && !is_aim(word)) return "";
  if (is_compare && word.find("sort") != std::string::npos) return "";  // rows keep their order
  switch (aim_in(is_named ? value : word)) {
    case Aim::kPrice:
      return "plans are ranked by step time, which for one number of GPUs ranks their prices, too: "
             "--usd-per-gpu-hour X prints the $/Mtok of each; penstock compare ... "
             "--usd-per-gpu-hour X --vary gpus=16,32,64 shows which number of GPUs is cheapest";
    case Aim::kMemory:
      return "plans are ranked by step time among those that fit, with the memory of the fullest "
             "rank beside it: -v marks those that no other plan beats in both, --reserve-gib X "
             "leaves X GiB of every GPU free";
    case Aim::kGpus:
      return "--gpus 8..64 plans for each number of GPUs, and says the fewest that do; for one "
             "number plans are ranked by step time";
    case Aim::kSpeed:
      return "leave it out: plans are ranked by step time, and for one number of GPUs and one "
             "batch "
             "the shortest step has the most tokens/s and the highest MFU";
    case Aim::kUnknown:
      break;
  }
  return "plans are ranked by step time, with memory and price beside it; -v marks those that no "
         "other plan beats in all three (*), --usd-per-gpu-hour X prints prices, --reserve-gib X "
         "leaves memory free, and --pin and --sharding fix parts of the answer";
}

}  // namespace penstock
