// Names of models are compared word by word, where a change from letters to digits ends a word, as
// "llama3-8b" and "llama-3-8b.json". The models lie beside the working folder, or where the program
// was built or installed.
#include "cli/words/near_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/words/device_facts.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFound = "did you mean '";

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

bool is_same_kind(const fs::path& typed, const fs::path& other) {
  if (typed.extension() == other.extension()) return true;
  const std::string_view words = kind_of_text(typed.string(), "").words;
  return !words.empty() && words == kind_of_text(other.string(), "").words;
}

// A file of ours of another format is not what was meant: "job.json" by "jobs.json".
bool may_be(const fs::path& file, std::string_view format) {
  if (format.empty()) return true;
  const std::string own = format_of_file(file.string());
  return own.empty() || own.substr(0, own.find('/')) == format.substr(0, format.find('/'));
}

// As many as a folder of somebody's files has; not those of a data set.
constexpr int kMostLooked = 10'000;

template <typename Keep>
std::vector<std::string> names_in(const fs::path& folder, const Keep& keep) {
  std::vector<std::string> names;
  std::error_code error;
  int looked = 0;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    if (++looked > kMostLooked) break;
    if (keep(each->path())) names.push_back(each->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "llama", "3", "8", "b" of "llama3-8b".
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  int before = 0;  // 1 after a letter, 2 after a digit
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const int kind = std::isalpha(byte) != 0 ? 1 : std::isdigit(byte) != 0 ? 2 : 0;
    if (kind != 0 && kind != before) words.emplace_back();
    if (kind != 0) words.back().push_back(static_cast<char>(std::tolower(byte)));
    before = kind;
  }
  return words;
}

// Tuned models have the sizes of what they were made from.
bool is_variant(const std::string& word) {
  constexpr std::array<std::string_view, 5> kVariants{"hf", "instruct", "chat", "base", "it"};
  return std::find(kVariants.begin(), kVariants.end(), word) != kVariants.end();
}

// "Meta-Llama-3-8B", "nvidia-..": who made it is no part of the name here.
bool is_vendor(const std::string& word) {
  constexpr std::array<std::string_view, 9> kVendors{"meta",    "facebook",  "nvidia",
                                                     "google",  "mistralai", "openai",
                                                     "alibaba", "hf",        "huggingface"};
  return std::find(kVendors.begin(), kVendors.end(), word) != kVendors.end();
}

// "mistral-7b-instruct-v0.1": neither tuning nor a version changes sizes.
std::vector<std::string> without_variant(std::vector<std::string> words) {
  while (words.size() > 1) {
    const auto number = std::find_if(words.rbegin(), words.rend(), [](const std::string& word) {
      return std::isdigit(static_cast<unsigned char>(word[0])) == 0;
    });
    const bool is_version = number != words.rend() && number != words.rbegin() && *number == "v";
    const bool has_size =
        is_version && std::any_of(words.begin(), number.base() - 1, [](const std::string& word) {
          return std::isdigit(static_cast<unsigned char>(word[0])) != 0;
        });  // "DeepSeek-V2" has none
    if (!has_size && !is_variant(words.back())) break;
    words.erase(has_size ? number.base() - 1 : words.end() - 1, words.end());
  }
  return words;
}

// "Llama-3-8B" of "Llama-3.1-8B", and "gpt-6.7b" as it is: a fraction before a letter is a size.
std::string without_minor_version(const std::string& name) {
  constexpr std::string_view kDigits = "0123456789";
  std::string out;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const std::size_t end = std::min(name.find_first_not_of(kDigits, at + 1), name.size());
    const bool is_minor = name[at] == '.' && at > 0 && end > at + 1 &&
                          kDigits.find(name[at - 1]) != std::string_view::npos &&
                          (end == name.size() || name[end] == '-' || name[end] == '_');
    if (is_minor) at = end - 1;
    if (!is_minor) out += name[at];
  }
  return out;
}

// "8b" of "llama-3-8b", "8x7b" of "mixtral-8x7b".
std::string size_at_end(std::string_view stem) {
  const std::string_view size = stem.substr(stem.rfind('-') + 1);
  std::string small;
  for (const char c : size) {
    small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const bool is_size = small.size() > 1 && small.ends_with('b') &&
                       std::isdigit(static_cast<unsigned char>(small[0])) != 0 &&
                       small.find_first_not_of("0123456789.xb") == std::string::npos;
  return is_size ? small : "";
}

bool are_in_order(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  auto at = all.begin();
  for (const std::string& word : some) {
    at = std::find(at, all.end(), word);
    if (at == all.end()) return false;
    ++at;
  }
  return true;
}

std::vector<fs::path> folders_of(const std::string& kind) {
  std::vector<fs::path> folders{fs::path("data") / kind};
  std::error_code error;
  fs::path above = fs::read_symlink("/proc/self/exe", error);
  constexpr int kLevels = 5;  // libexec/penstock/penstock-torch-0.1.0, build/full/cli/penstock
  for (int level = 0; !error && level < kLevels && above.has_relative_path(); ++level) {
    above = above.parent_path();
    folders.push_back(above / "share/penstock" / kind);
    folders.push_back(above / "data" / kind);
  }
  return folders;
}

}  // namespace

std::string beginning_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";  // reading a pipe waits
  constexpr std::size_t kBeginning = 1 << 16;
  std::ifstream file(path, std::ios::binary);
  std::string text(kBeginning, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string format_of_file(const std::string& path) { return own_format_in(beginning_of(path)); }

std::string near_file(const std::string& path, bool is_json, bool takes_folder,
                      std::string_view format) {
  const fs::path typed(path);
  const auto is_read = [&](const fs::path& other) {
    // "run.jsonl" is no misspelt "cut.json": endings do not make two names alike.
    if (!did_you_mean(typed.stem().string(), {other.stem().string()}).starts_with(kFound)) {
      return false;
    }
    // "train.log" is no "train_is_text.json": of another kind it has the same name at least.
    const bool is_of_kind = !kind_of_text(typed.string(), "").words.empty();
    if (is_json && is_of_kind && typed.stem() != other.stem()) return false;
    std::error_code error;
    if (fs::is_directory(other, error)) {
      return takes_folder && fs::exists(other / "config.json", error);
    }
    if (!fs::is_regular_file(other, error)) return false;  // reading a pipe waits
    return is_json ? other.extension() == ".json" && may_be(other, format)
                   : kind_of_text(typed.string(), "").words.empty() || is_same_kind(typed, other);
  };
  const std::vector<std::string> names = names_in(folder_of(typed), is_read);
  if (names.empty()) return "";
  const auto same = std::find_if(names.begin(), names.end(), [&typed](const std::string& name) {
    return words_of(name) == words_of(typed.filename().string());
  });
  std::string near = same != names.end() ? fmt::format("{}{}'?", kFound, *same)
                                         : did_you_mean(typed.filename().string(), names);
  if (!near.starts_with(kFound)) {
    if (names.size() > 1) return "";
    near = fmt::format("{}{}'?", kFound, names[0]);  // "config.yaml" of "config.json"
  }
  const std::string folder =
      typed.has_parent_path() ? (typed.parent_path() / "").string() : std::string();
  std::string out;
  bool is_open = false;  // of several each is quoted
  for (const char c : near) {
    out += c;
    if (c == '\'' && (is_open = !is_open)) out += folder;
  }
  return out;
}

std::string files_of_kind(const std::string& path) {
  const fs::path typed(path);
  if (kind_of_text(path, "").words.empty()) return "";  // JSON may be anything
  const std::vector<std::string> names = names_in(folder_of(typed), [&](const fs::path& other) {
    std::error_code error;
    return is_same_kind(typed, other) && fs::is_regular_file(other, error);
  });
  constexpr std::size_t kMostNamed = 4;
  if (names.empty() || names.size() > kMostNamed) return "";
  return "in this folder: " + joined(names, ", ");
}

std::string shipped_cluster(const std::string& typed) {
  const fs::path name = fs::path(typed).filename().replace_extension("").string() + ".json";
  for (const fs::path& folder : folders_of("clusters")) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) return (folder / name).string();
  }
  return "";
}

namespace {

// Of a cluster that has these devices and no others; nothing of any other file.
std::optional<int> devices_in(const fs::path& file, const std::vector<std::string>& devices) {
  if (!format_of_file(file.string()).starts_with("penstock.cluster/")) return {};
  const ClusterSpec cluster = load_cluster(file.string()).value;
  const bool fits = std::all_of(
      cluster.device_types.begin(), cluster.device_types.end(),
      [&](const DeviceType& type) { return !device_among(devices, type.name).empty(); });
  return fits ? std::optional(device_count(cluster)) : std::nullopt;
}

}  // namespace

std::string cluster_with(const std::vector<std::string>& devices) {
  if (devices_in("cluster.json", devices)) return "cluster.json";
  for (const fs::path& folder : folders_of("clusters")) {
    std::string smallest;
    int fewest = 0;
    for (const std::string& name :
         names_in(folder, [](const fs::path& file) { return file.extension() == ".json"; })) {
      const auto count = devices_in(folder / name, devices);
      if (!count || (!smallest.empty() && *count >= fewest)) continue;
      fewest = *count;
      smallest = (folder / name).string();
    }
    if (!smallest.empty()) return smallest;
  }
  return "";
}

std::string model_at_hand() {
  constexpr const char *kUsual = "config.json", *kShipped = "data/models/llama-3-8b.json";
  std::error_code error;
  return !fs::is_regular_file(kUsual, error) && fs::is_regular_file(kShipped, error) ? kShipped
                                                                                     : kUsual;
}

ShippedModels shipped_models(const std::string& typed) {
  fs::path path(typed);
  if (path.filename().empty() || path.stem() == "config") path = path.parent_path();
  const std::string name = (path.extension() == ".json" ? path.stem() : path.filename()).string();
  std::vector<std::string> words = without_variant(words_of(name));
  while (words.size() > 1 && is_vendor(words.front())) words.erase(words.begin());
  const bool has_name = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.size() > 2 && std::isalpha(static_cast<unsigned char>(word[0])) != 0;
  });
  const std::string size = size_at_end(name);
  const bool is_size = size.size() == name.size() && !size.empty();
  if (!has_name && !is_size) return {};
  for (const fs::path& folder : folders_of("models")) {
    std::vector<std::string> found;
    const auto is_called = [&](const fs::path& other) {
      const std::string stem = other.stem().string();
      if (other.extension() != ".json") return false;
      return is_size ? size_at_end(stem) == size : are_in_order(words, words_of(stem));
    };
    for (const std::string& file : names_in(folder, is_called)) {
      const std::string model = (folder / file).string();
      if (words_of(fs::path(file).stem().string()) == words) return {model, true};
      found.push_back(model);
    }
    if (!found.empty()) return {joined(found, " or "), false};
  }
  const std::string older = without_minor_version(name);
  return older == name ? ShippedModels() : ShippedModels{shipped_models(older).paths, false};
}

}  // namespace penstock
