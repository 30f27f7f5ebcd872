// Names of schedules, the field's among them; a family (zero-bubble) that has several members is
// refused with their names.
#include "cli/words/schedule_called.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/words/near_files.h"
#include "cli/words/parse.h"
#include "cli/words/schedule_spelled.h"
#include "core/files/plan_format.h"
#include "report/words.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
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

// What other fields have schedules of, and the words for them.
struct OtherField {
  std::string_view what;
  std::array<std::string_view, 20> words;  // or what they begin with
};
constexpr std::array kOtherFields{
    OtherField{
        "that is a schedule of a learning rate, which changes neither the time of a step nor "
        "its memory",
        {"cosine",      "linear",      "constant",     "warmup",    "polynomial",
         "exponential", "step",        "onecycle",     "wsd",       "sgdr",
         "plateau",     "inversesqrt", "decay",        "annealing", "noam",
         "multistep",   "rsqrt",       "learningrate", "lr",        "cyclic"}},
    OtherField{"that orders jobs, and none is queued here",
               {"fifo", "lifo", "sjf", "backfill", "cron", "daily", "hourly", "nightly", "queue",
                "weekly", "tonight", "priority", "fairshare", "gang"}}};

const OtherField* other_field(std::string_view typed) {
  const std::string word = letters_and_digits(typed);
  for (const OtherField& field : kOtherFields) {
    for (const std::string_view each : field.words) {
      if (!each.empty() && word.starts_with(each)) return &field;
    }
  }
  return nullptr;
}

void refuse_other_field(std::string_view option, std::string_view typed, const std::string& what) {
  const OtherField* field = other_field(typed);
  if (field == nullptr) return;
  bad_option(option, what,
             fmt::format("{}; schedules here are orders of a pipeline's work: {}", field->what,
                         option.starts_with("--vary ") ? "--vary schedule=1f1b,zb-h1"
                         : option.starts_with("--")    ? "--schedule 1f1b"
                                                       : "penstock schedule 1f1b -P 4 -M 16 --cost "
                                                         "F=10ms,B=20ms --print"));
}

// "1f1b,zb-h1" of "1f1b,zero-bubble": the name in the place of what was typed.
std::string in_list(const std::string& name, std::string_view typed, std::string_view list) {
  const std::size_t at = list.find(typed);
  return at == std::string_view::npos ? name : std::string(list).replace(at, typed.size(), name);
}

}  // namespace

std::vector<std::string> schedules_of_family(std::string_view typed) {
  const std::string word = letters_and_digits(typed);
  if (word == "zb" || word == "zerobubble" || word == "zbpp" || word == "zbh") {
    return {"zb-h1", "zb-h2", "zb-v", "interleaved-zb", "zb-auto"};
  }
  if (word == "v" || word == "vshape" || word == "vschedule") return {"zb-v", "v-half", "v-min"};
  if (word == "bidirectional") return {"chimera", "dualpipe"};
  return {};
}

bool is_schedule_of_other_field(std::string_view typed) {
  const bool is_file = typed.find_first_of("./") != std::string_view::npos;
  return !is_file && schedule_spelled(typed).empty() && other_field(typed) != nullptr;
}

std::string schedule_called(std::string_view option, std::string_view typed,
                            std::string_view list) {
  if (const std::string_view name = schedule_spelled(typed); !name.empty())
    return std::string(name);
  const std::string what = fmt::format("unknown schedule '{}'", typed.substr(0, 60));
  if (typed.find(' ') != std::string_view::npos &&
      !schedule_spelled(typed.substr(0, typed.find(' '))).empty()) {
    bad_option(option, what,
               fmt::format("several are a list with commas: {}", joined(words_of(typed), ",")));
  }
  if (const auto family = schedules_of_family(typed); !family.empty()) {
    bad_option(option, what,
               fmt::format("there are several: {}{}", joined(family, ", "),
                           option == "NAME" ? "; for example penstock schedule " +
                                                  in_list(family.front(), typed, list) + " ..."
                                            : ""));
  }
  if (letters_and_digits(typed) == "pipedream" || letters_and_digits(typed) == "pipedream2bw") {
    bad_option(option, what,
               "its steps overlap and weights are stale; with a flush after every step it is 1f1b");
  }
  if (const std::string word = letters_and_digits(typed);
      word == "all" || word == "any" || word == "auto") {
    bad_option(
        option, what,
        option == "--schedule" ? "leave it out: without it all schedules are tried"
        : option.starts_with("--vary ")
            ? "name them, for example schedule=1f1b,interleaved,zb-h1"
            : "name several, with commas: 1f1b,interleaved,zb-h1; penstock schedule --help lists "
              "them, and penstock plan tries all of a model");
  }
  refuse_other_field(option, typed, what);
  std::error_code error;
  const bool is_file = typed.find_first_of("./") != std::string_view::npos;
  if (is_file && !std::filesystem::exists(std::string(typed), error)) {
    bad_option(option, what,
               "there is no such file; a schedule is a name (1f1b; penstock schedule --help lists "
               "them) or FILE.csv, PyTorch's list of actions, as penstock schedule 1f1b -P 4 -M 8 "
               "--cost F=10ms,B=20ms --csv FILE.csv writes one");
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
  if (is_file) {
    bad_option(option, what,
               "a schedule is a name (1f1b; penstock schedule --help lists them) or FILE.csv, "
               "PyTorch's list of actions");
  }
  bad_option(option, what, did_you_mean(typed, schedule_names()));
}

}  // namespace penstock
