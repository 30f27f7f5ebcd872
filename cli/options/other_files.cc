// A file of another kind in the first place: what it is, and the command that was probably meant,
// with the options that were typed.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/io/near_files.h"
#include "cli/io/plan_json.h"
#include "cli/io/shell_word.h"
#include "cli/options/able_verbs.h"
#include "cli/options/field_words.h"
#include "cli/options/options_entry.h"
#include "core/files/format.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::string_view kClusterFormat = "penstock.cluster/",
                           kProfileFormat = "penstock.profile/";

// A config.json or a profile.
bool is_model(const std::string& path) {
  std::error_code error;
  if (!path.ends_with(".json") || !std::filesystem::is_regular_file(path, error)) return false;
  const std::string format = format_of_file(path);
  if (!format.empty()) return format.starts_with(kProfileFormat);
  constexpr std::uintmax_t kLargest = 1U << 20U;
  if (std::filesystem::file_size(path, error) > kLargest) return false;
  const std::string text = read_file(path);
  return text.find("\"model_type\"") != std::string::npos ||
         text.find("\"hidden_size\"") != std::string::npos;
}

// The model in this folder, where there is one of the usual name.
std::string model_here() {
  for (const char* name : {"config.json", "profile.json"}) {
    if (is_model(name)) return name;
  }
  return "";
}

// Where the value of an option stands among the arguments; their number where it does not.
std::size_t value_of(const Arguments& arguments, std::string_view option) {
  const auto at = std::find(arguments.begin(), arguments.end(), option);
  const auto value = static_cast<std::size_t>(at - arguments.begin()) + 1;
  return std::min(value, arguments.size());
}

// "plan cluster.json --cluster config.json", "plan cluster.json --gpus 8".
[[noreturn]] void refuse_cluster(const std::string& verb, Arguments arguments) {
  const std::string cluster = arguments.front();
  const std::size_t value = value_of(arguments, "--cluster");
  if (arguments.size() > 1 && is_model(arguments[1])) {
    arguments.front() = arguments[1];
    arguments.erase(arguments.begin() + 1);
    if (value == arguments.size() + 1) {
      arguments.insert(arguments.begin() + 1, {"--cluster", cluster});
    }
  } else if (value == arguments.size()) {
    arguments.front() = model_here().empty() ? "config.json" : model_here();
    arguments.insert(arguments.begin() + 1, {"--cluster", cluster});
  } else if (is_model(arguments[value])) {
    std::swap(arguments.front(), arguments[value]);
  } else {
    arguments.front() = model_here().empty() ? "config.json" : model_here();
  }
  throw_bad_input(
      fmt::format("{}: this is a cluster, and a model belongs here\nhelp: the model "
                  "comes first, the cluster after its option: {}",
                  cluster, command_of(verb, arguments)));
}

// The files that a plan was made from, in place of it.
std::string command_for_its_model(const std::string& verb, Arguments arguments) {
  const Json plan = load_json(arguments.front()).value;
  const Json* inputs = plan.find("inputs");
  const auto path_of = [inputs](const char* key) -> std::string {
    const Json* file = inputs == nullptr ? nullptr : inputs->find(key);
    const Json* path = file == nullptr ? nullptr : file->find("path");
    std::error_code error;
    const bool is_there = path != nullptr && path->kind() == Json::Kind::kString &&
                          std::filesystem::exists(path->text(), error);
    return is_there ? path->text() : "";
  };
  const std::string model = path_of("profile"), cluster = path_of("cluster");
  if (model.empty()) return "";
  arguments.front() = model;
  const bool has_machine = value_of(arguments, "--cluster") < arguments.size() ||
                           value_of(arguments, "--device") < arguments.size();
  const bool is_profile = format_of_file(model).starts_with(kProfileFormat);
  const bool has_cluster = value_of(arguments, "--cluster") < arguments.size();
  if (!cluster.empty() && (!has_machine || (is_profile && !has_cluster))) {
    arguments.insert(arguments.begin() + 1, {"--cluster", cluster});
  }
  return command_of(verb, arguments);
}

[[noreturn]] void refuse_plan(const std::string& verb, const Arguments& arguments) {
  const std::string& path = arguments.front();
  std::string help =
      verb == "compare"
          ? fmt::format(
                "penstock plan config.json ... --baseline {0} compares it with the best "
                "plan of that model; penstock explain {0} says what would make it faster",
                path)
          : fmt::format(
                "penstock explain {0} says what limits it, penstock simulate {0} replays it", path);
  const std::string command =
      verb_takes(verb, arguments) ? command_for_its_model(verb, arguments) : "";
  if (!command.empty()) help += "; what it was made from: " + command;
  throw_bad_input(
      fmt::format("{}: this is a plan, and a model belongs here\nhelp: {}", path, help));
}

// "explain config.json --gpus 128": the plan that is asked about has to be made first.
void refuse_model(const std::string& verb, const Arguments& arguments) {
  if (arguments.size() < 2 || !is_model(arguments.front()) || !verb_takes("plan", arguments))
    return;
  Arguments words = arguments;
  const bool is_profile = format_of_file(arguments.front()).starts_with(kProfileFormat);
  const auto add = [&words](const char* option, const char* value) {
    const bool is_gpu =
        std::string_view(option) == "--device" && value_of(words, "--gpu") < words.size();
    const bool is_there = value_of(words, option) < words.size() || is_gpu;
    if (!is_there) words.insert(words.end(), {option, value});
  };
  if (is_profile) {
    add("--cluster", "cluster.json");
  } else if (value_of(words, "--cluster") == words.size()) {
    add("--device", "h100-sxm");
    add("--gpus", "64");
  }
  const bool has_batch = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with("--global-batch") ||
           (word.starts_with("--") && key_called(word.substr(2)) == "global-batch");
  });
  if (!has_batch) add("--global-batch", "512");
  add("-o", "plan.json");
  throw_bad_input(
      fmt::format("{}: this is {}, and a plan belongs here\nhelp: make a plan from it: "
                  "{}; then penstock {} plan.json",
                  arguments.front(), is_profile ? "a profile" : "a model's config.json",
                  command_of("plan", words), verb));
}

}  // namespace

void refuse_other_file(const std::string& usage, const Arguments& arguments) {
  refuse_file_as_tool(usage, arguments);
  if (arguments.empty() || arguments[0].starts_with('-')) return;
  const std::string& path = arguments[0];
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  const std::string verb = usage.substr(0, usage.find(' ')), takes = first_argument(usage),
                    format = format_of_file(path);
  refuse_file_of_other_verb(verb, arguments);
  // "validate train.log --plan plan.json": the right one is there as well.
  const bool has_plan = std::any_of(arguments.begin() + 1, arguments.end(), [](const auto& word) {
    return is_plan_format(format_of_file(word));
  });
  if (has_plan && takes == "PLAN") return;
  // A report of a model is one of its search.
  if (takes == "PLAN" && verb != "report" && verb != "trace") refuse_model(verb, arguments);
  const bool is_planned = verb == "plan" || verb == "predict" || verb == "compare";
  if (is_planned && format.starts_with(kClusterFormat)) refuse_cluster(verb, arguments);
  if (is_planned && is_plan_format(format)) refuse_plan(verb, arguments);
  if (is_planned && format.starts_with("penstock.") && !format.starts_with(kProfileFormat)) {
    expect_profile(load_json(path).value, path);  // a book, a job file: before what is missing
  }
  const bool is_other_file = format.empty() && !path.ends_with(".json") &&
                             !kind_of_text(path, "").words.empty() && verb != "profile";
  if (takes == "PLAN" && verb != "report" && verb != "trace" && !is_plan_format(format)) {
    static_cast<void>(load_plan_json(path));
  } else if (takes == "MODEL" && is_other_file) {
    static_cast<void>(load_json(path));
  }
}

}  // namespace penstock
