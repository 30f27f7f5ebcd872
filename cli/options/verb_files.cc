// A file that another verb reads, or that stands in another's place, where it is plain which: what
// imports, traces, exports and validations are given by mistake.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/io/near_files.h"
#include "cli/io/plan_json.h"
#include "cli/options/options_entry.h"
#include "cli/options/trainer_called.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

bool has_any(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&text](std::string_view part) {
    return text.find(part) != std::string::npos;
  });
}

// "import all_reduce.log": the tool comes first, and the name of its file tells which one.
void refuse_as_tool(const std::string& path) {
  constexpr const char* kTools = "nccl-tests, nvbandwidth, skypilot";
  const std::string what = fmt::format("TOOL: '{}' is none of {}\nhelp: ", path, kTools);
  std::error_code error;
  const bool is_model = std::filesystem::exists(std::filesystem::path(path) / "config.json", error);
  if (is_model || path.ends_with("config.json")) {
    throw_bad_input(what +
                    (is_launch_file(path)
                         ? use_of_launch_file(path, "")
                         : fmt::format("a model is read as it is: penstock plan {} --device "
                                       "h100-sxm --gpus 64 --global-batch 512",
                                       path)) +
                    "; measurements and prices are imported");
  }
  const std::string tool =
      path.ends_with(".csv")                        ? "skypilot"
      : has_any(path, {"nvbandwidth", "bandwidth"}) ? "nvbandwidth"
      : has_any(path, {"reduce", "gather", "sendrecv", "alltoall", "broadcast", "scatter", "nccl"})
          ? "nccl-tests"
          : "";
  if (!tool.empty()) {
    throw_bad_input(fmt::format("{}the tool that wrote it comes first: penstock import {} {}", what,
                                tool, path));
  }
  if (const FileKind kind = kind_of_text(path, ""); !kind.words.empty()) {
    throw_bad_input(what + std::string(kind.use));
  }
}

// "export profile.json --to torchtitan": planned for that trainer first.
void refuse_export_of_model(const std::string& path, const std::string& format,
                            const Arguments& arguments) {
  const bool is_profile = format.starts_with("penstock.profile/");
  if (!is_profile && !path.ends_with("config.json")) return;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const bool is_one_word = arguments[i].starts_with("--to=");
    if (!is_one_word && (arguments[i] != "--to" || i + 1 == arguments.size())) continue;
    const std::string typed = is_one_word ? arguments[i].substr(5) : arguments[i + 1];
    const std::string trainer = trainer_called(typed);
    if (find_trainer(trainer) == nullptr) return;
    throw_bad_input(fmt::format(
        "{0}: this is {1}, and a plan belongs here\nhelp: make a plan for that trainer first: "
        "penstock plan {0} {2} --gpus 64 --global-batch 512 --for {3} -o plan.json",
        path, is_profile ? "a profile" : "a model's config.json",
        is_profile ? "--cluster CLUSTER" : "--device h100-sxm", trainer));
  }
}

// A recording of GPUs where a list of actions belongs.
void refuse_recording(const std::string& path) {
  std::ifstream file(path);
  std::string first;
  if (!path.ends_with(".csv") || !std::getline(file, first) || !first.starts_with("time_s")) return;
  throw_bad_input(
      fmt::format("{0}: this is a recording of GPUs that come and go\nhelp: penstock morph --book "
                  "book.json --trace {0} replays it",
                  path));
}

}  // namespace

void refuse_file_as_tool(const std::string& usage, const Arguments& arguments) {
  if (!usage.starts_with("import ") || arguments.empty()) return;
  const std::string& path = arguments[0];
  if (!path.starts_with('-') && path.find_first_of("./") != std::string::npos) {
    refuse_as_tool(path);
  }
}

void refuse_file_of_other_verb(const std::string& verb, const Arguments& arguments) {
  const std::string& path = arguments[0];
  const std::string format = format_of_file(path);
  if (verb == "trace" || verb == "schedule") refuse_recording(path);
  const auto plan = std::find_if(arguments.begin() + 1, arguments.end(), [](const auto& word) {
    return is_plan_format(format_of_file(word));
  });
  if (verb == "export" && plan == arguments.end()) {
    refuse_export_of_model(path, format, arguments);
  }
  const bool is_log = kind_of_text(path, "").words == "a log" || path.ends_with(".jsonl");
  if ((verb == "trace" || verb == "report") && is_log) {
    throw_bad_input(fmt::format(
        "{0}: a plan belongs here, and the log of a run follows its option\nhelp: penstock {1} {2} "
        "--run {0} -o {3}",
        path, verb, plan != arguments.end() ? *plan : "plan.json",
        verb == "trace" ? "both.tar" : "report.html"));
  }
  if (verb == "validate" && !is_plan_format(format) && plan == arguments.begin() + 1 &&
      arguments.size() > 1) {
    throw_bad_input(
        fmt::format("{}: a plan belongs here, and its run follows\nhelp: penstock validate {} {}",
                    path, *plan, path));
  }
}

}  // namespace penstock
