#include "cli/answers/files/typed_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/words/near_files.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"

namespace penstock {
namespace {

struct RoleRow {
  std::string_view mark;
  FileRole role;
};

FileRole role_of_format(const std::string& format) {
  if (is_plan_format(format)) return FileRole::kPlan;
  constexpr std::array kFormats{RoleRow{"penstock.profile/", FileRole::kProfile},
                                RoleRow{"penstock.cluster/", FileRole::kCluster},
                                RoleRow{"penstock.book/", FileRole::kBook},
                                RoleRow{"penstock.job/", FileRole::kJob}};
  for (const RoleRow& row : kFormats) {
    if (format.starts_with(row.mark)) return row.role;
  }
  return FileRole::kNone;
}

bool describes_model(const std::string& path) {
  std::error_code error;
  constexpr std::uintmax_t kLargest = 1U << 20U;
  if (!path.ends_with(".json") || std::filesystem::file_size(path, error) > kLargest) return false;
  // Further inside other files have such keys, too: DeepSpeed's, of which layers drop tokens.
  try {
    return is_model_config(load_json(path).value);
  } catch (const Error&) {
    const std::string text = read_file(path);
    return text.find("\"model_type\"") != std::string::npos ||
           text.find("\"hidden_size\"") != std::string::npos;
  }
}

// Of scripts, configurations and logs the ending says enough.
FileRole role_of_ending(const std::string& path) {
  const std::string_view words = kind_of_text(path, "").words;
  if (words == "a script" || words == "a configuration" || words == "YAML") {
    return FileRole::kScript;
  }
  return words == "a log" || path.ends_with(".jsonl") ? FileRole::kLog : FileRole::kNone;
}

// "ds_config.json", "plan_zb.json", "data/models/x.json", none of which is there.
FileRole role_of_json_name(const std::string& path) {
  constexpr std::array kNames{
      RoleRow{"ds_config", FileRole::kScript}, RoleRow{"deepspeed", FileRole::kScript},
      RoleRow{"plan", FileRole::kPlan},        RoleRow{"cluster", FileRole::kCluster},
      RoleRow{"profile", FileRole::kProfile},  RoleRow{"models/", FileRole::kModel},
      RoleRow{"config", FileRole::kModel},     RoleRow{"book", FileRole::kBook},
      RoleRow{"job", FileRole::kJob}};
  for (const RoleRow& row : kNames) {
    if (path.find(row.mark) != std::string::npos) return row.role;
  }
  return FileRole::kNone;
}

// "meta-llama/Llama-2-7b", "https://huggingface.co/..": nothing of a shell's, and no ending.
bool is_hub_name(const std::string& word) {
  if (word.find("://") != std::string::npos) return true;
  const auto is_part = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  const std::size_t slash = word.find('/');
  return slash != std::string::npos && slash > 1 && slash + 1 < word.size() &&
         word.find('/', slash + 1) == std::string::npos && word[0] != '.' &&
         word.find_first_of("-0123456789", slash) != std::string::npos &&
         std::all_of(word.begin(), word.begin() + std::ptrdiff_t(slash), is_part) &&
         std::all_of(word.begin() + std::ptrdiff_t(slash) + 1, word.end(), is_part);
}

}  // namespace

bool is_there(const std::string& word) {
  std::error_code error;
  return std::filesystem::exists(word, error);
}

FileRole role_of(const std::string& word) {
  std::error_code error;
  if (word.empty() || word[0] == '-') return FileRole::kNone;
  if (std::filesystem::is_directory(word, error)) {
    const bool is_model =
        std::filesystem::exists(std::filesystem::path(word) / "config.json", error);
    return is_model ? FileRole::kModel : FileRole::kNone;
  }
  if (std::filesystem::is_regular_file(word, error)) {
    const FileRole own = role_of_format(format_of_file(word));
    if (own != FileRole::kNone) return own;
    if (is_launch_file(word)) return FileRole::kScript;
    return describes_model(word) ? FileRole::kModel : role_of_ending(word);
  }
  if (const FileRole role = role_of_ending(word); role != FileRole::kNone) return role;
  const bool is_list = word.find(',') != std::string::npos;  // "plan.json,other.json"
  if (word.ends_with(".json")) return is_list ? FileRole::kNone : role_of_json_name(word);
  return is_hub_name(word) ? FileRole::kModel : FileRole::kNone;
}

bool is_model_file(const std::string& path) {
  std::error_code error;
  const FileRole role = role_of(path);
  return (role == FileRole::kModel || role == FileRole::kProfile) &&
         std::filesystem::is_regular_file(path, error);
}

std::string_view words_of_role(FileRole role) {
  switch (role) {
    case FileRole::kCluster:
      return "a cluster";
    case FileRole::kModel:
      return "a model's config.json";
    case FileRole::kProfile:
      return "a profile";
    case FileRole::kScript:
      return "a launch file";
    case FileRole::kBook:
      return "a book of plans";
    default:
      return "";
  }
}

TypedFiles typed_files(const Arguments& arguments) {
  TypedFiles files;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const bool is_option = argument.starts_with('-');
    if (is_option && equals == std::string::npos) continue;
    const std::string word = is_option ? argument.substr(equals + 1) : argument;
    switch (role_of(word)) {
      case FileRole::kPlan:
        files.plans.push_back(word);
        break;
      case FileRole::kModel:
      case FileRole::kProfile:
        files.models.push_back(word);
        break;
      case FileRole::kCluster:
        files.clusters.push_back(word);
        break;
      case FileRole::kJob:
        files.jobs.push_back(word);
        break;
      case FileRole::kScript:
        files.scripts.push_back(word);
        break;
      case FileRole::kLog:
        files.logs.push_back(word);
        break;
      case FileRole::kBook:
      case FileRole::kNone:
        break;
    }
  }
  return files;
}

Arguments plans_or_json(const Arguments& arguments) {
  Arguments plans;
  for (const std::string& word : arguments) {
    const FileRole role = role_of(word);
    const bool is_unknown = role == FileRole::kNone && word.ends_with(".json");
    if (role == FileRole::kPlan || is_unknown) plans.push_back(word);
  }
  return plans;
}

}  // namespace penstock
