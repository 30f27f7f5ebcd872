// Names of schedules: PyTorch's classes, Megatron's and the papers' words are compared in lower
// case and without hyphens with one table; a family (zero-bubble) that has several members is
// refused with their names.
#include "cli/options/schedule_called.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "cli/io/near_files.h"
#include "cli/options/parse.h"
#include "core/files/plan_format.h"
#include "report/words.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

// Letters and digits alone, in lower case.
std::string bare(std::string_view typed) {
  std::string out;
  for (const char c : typed) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) out.push_back(static_cast<char>(std::tolower(byte)));
  }
  return out;
}

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

std::string_view schedule_spelled(std::string_view typed) {
  std::string word = bare(typed);
  constexpr std::string_view kPyTorch = "schedule";
  if (word.starts_with(kPyTorch)) word.erase(0, kPyTorch.size());
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (bare(kind.name) == word) return kind.name;
  }
  for (const Alias& alias : kAliases) {
    if (alias.typed == word) return alias.name;
  }
  return {};
}

namespace {

std::vector<std::string> words_of(std::string_view typed) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < typed.size();) {
    const std::size_t begin = std::min(typed.find_first_not_of(' ', at), typed.size());
    at = std::min(typed.find(' ', begin), typed.size());
    if (at > begin) words.emplace_back(typed.substr(begin, at - begin));
  }
  return words;
}

// What somebody may mean who names a whole family.
std::vector<std::string> schedules_of_family(std::string_view typed) {
  const std::string word = bare(typed);
  if (word == "zb" || word == "zerobubble" || word == "zbpp" || word == "zbh") {
    return {"zb-h1", "zb-h2", "zb-v", "interleaved-zb", "zb-auto"};
  }
  if (word == "v" || word == "vshape" || word == "vschedule") return {"zb-v", "v-half", "v-min"};
  if (word == "bidirectional") return {"chimera", "dualpipe"};
  return {};
}

}  // namespace

std::string schedule_called(std::string_view option, std::string_view typed) {
  if (const std::string_view name = schedule_spelled(typed); !name.empty())
    return std::string(name);
  const std::string what = fmt::format("unknown schedule '{}'", typed.substr(0, 60));
  if (typed.find(' ') != std::string_view::npos &&
      !schedule_spelled(typed.substr(0, typed.find(' '))).empty()) {
    bad_option(option, what,
               fmt::format("several are a list with commas: {}", joined(words_of(typed), ",")));
  }
  if (const auto family = schedules_of_family(typed); !family.empty()) {
    bad_option(option, what, fmt::format("there are several: {}", joined(family, ", ")));
  }
  if (bare(typed) == "pipedream" || bare(typed) == "pipedream2bw") {
    bad_option(option, what,
               "its steps overlap and weights are stale; with a flush after every step it is 1f1b");
  }
  if (const std::string word = bare(typed); word == "all" || word == "any" || word == "auto") {
    bad_option(
        option, what,
        option == "--schedule" ? "leave it out: without it all schedules are tried"
        : option.starts_with("--vary ")
            ? "name them, for example schedule=1f1b,interleaved,zb-h1"
            : "name one or several, with commas; penstock schedule --help lists them, penstock "
              "plan tries all");
  }
  if (typed.ends_with(".json")) {
    bad_option(option, what,
               fmt::format("a schedule is a name (1f1b) or a CSV of actions; {}",
                           is_plan_format(format_of_file(std::string(typed)))
                               ? fmt::format("penstock simulate {} replays a plan", typed)
                               : fmt::format("penstock plan {} --device h100-sxm --gpus 64 "
                                             "--global-batch 512 plans a model's config.json",
                                             typed)));
  }
  bad_option(option, what, did_you_mean(typed, schedule_names()));
}

}  // namespace penstock
