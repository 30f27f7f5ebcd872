#include "cli/answers/verbs/plan_made.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "core/values/json.h"

namespace penstock {
namespace {

class PlanText {
 public:
  explicit PlanText(const std::string& path) : json_(load_json(path).value) {}

  // A path that is there.
  [[nodiscard]] std::string path_of(const char* key) const {
    const Json* file = find("inputs", key);
    const bool is_object = file != nullptr && file->kind() == Json::Kind::kObject;
    const Json* text = is_object ? file->find("path") : nullptr;
    std::error_code error;
    const bool is_there = text != nullptr && text->kind() == Json::Kind::kString &&
                          std::filesystem::exists(text->text(), error);
    return is_there ? text->text() : "";
  }

  [[nodiscard]] std::string device() const {
    const Json* device = find("cluster", "device");
    const bool is_one = device != nullptr && device->kind() == Json::Kind::kString &&
                        device->text().find_first_of(" ,+") == std::string::npos;
    return is_one ? device->text() : "";
  }

  [[nodiscard]] bool is_on(const char* key) const {
    const Json* value = find("plan", key);
    return value != nullptr && value->kind() == Json::Kind::kBool && value->boolean();
  }

  [[nodiscard]] std::string word_of(const char* key) const {
    const Json* word = find("plan", key);
    return word != nullptr && word->kind() == Json::Kind::kString ? word->text() : "";
  }

  // "megatron" of "sender-blocks (as megatron)".
  [[nodiscard]] std::string trainer() const {
    constexpr std::string_view kAs = " (as ";
    const Json* name = find("executor", "name");
    if (name == nullptr || name->kind() != Json::Kind::kString) return "";
    const std::size_t at = name->text().find(kAs);
    if (at == std::string::npos || !name->text().ends_with(')')) return "";
    const std::size_t begin = at + kAs.size();
    return name->text().substr(begin, name->text().size() - 1 - begin);
  }

  // 0 where it is no number of such a thing; a context that is not said is 1.
  [[nodiscard]] int count_of(std::string_view key) const {
    const Json* number = find("plan", std::string(key).c_str());
    constexpr int kMost = 1 << 20;
    int count = 0;
    if (number == nullptr) return key == "context" ? 1 : 0;
    const std::string& text = number->text();
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count > kMost ? 0 : count;
  }

 private:
  [[nodiscard]] const Json* find(const char* part, const char* key) const {
    const Json* object = json_.find(part);
    return object == nullptr || object->kind() != Json::Kind::kObject ? nullptr : object->find(key);
  }

  Json json_;
};

// " sharding=zero1"; empty where each replica has all of the optimizer's state.
std::string sharding_of(const PlanText& plan) {
  if (!plan.is_on("zero1")) return "";
  const std::string written = plan.word_of("sharding");
  return " sharding=" + (written.empty() ? "zero1" : written);
}

// Degrees, batch and what a default does not say; empty where the plan lacks one of them.
std::string layout_of(const PlanText& plan) {
  struct Row {
    std::string_view key, word;
    bool is_needed;
  };
  constexpr std::array kRows{
      Row{"tensor", "TP", true},        Row{"pipeline", "PP", true},
      Row{"data", "DP", true},          Row{"context", "CP", false},
      Row{"chunks", "VP", false},       Row{"micro_batch_size", "mbs", true},
      Row{"global_batch", "gbs", true}, Row{"sequence_length", "seq", false}};
  std::string layout;
  for (const Row& row : kRows) {
    const int count = plan.count_of(row.key);
    if (row.is_needed && count == 0) return "";
    const bool is_default = !row.is_needed && count <= 1;
    if (!is_default) layout += fmt::format("{}{}={}", layout.empty() ? "" : " ", row.word, count);
  }
  const std::string schedule = plan.word_of("schedule"), recompute = plan.word_of("recompute");
  if (!schedule.empty() && schedule != "1f1b") layout += " schedule=" + schedule;
  if (!recompute.empty() && recompute != "none") layout += " recompute=" + recompute;
  return layout + sharding_of(plan);
}

}  // namespace

PlanMade plan_made(const std::string& path) {
  const PlanText plan(path);
  PlanMade made{plan.path_of("profile"),
                plan.path_of("cluster"),
                plan.device(),
                "",
                "",
                layout_of(plan),
                plan.trainer(),
                ""};
  std::int64_t gpus = 1;
  for (const std::string_view degree : {"pipeline", "data", "tensor", "context"}) {
    gpus = gpus > std::numeric_limits<int>::max() ? 0 : gpus * plan.count_of(degree);
  }
  if (gpus > 0) made.gpus = fmt::format("{}", gpus);
  if (const int length = plan.count_of("sequence_length"); length > 0) {
    made.sequence_length = fmt::format("{}", length);
  }
  if (const int batch = plan.count_of("global_batch"); batch > 0) {
    made.batch = fmt::format("{}", batch);
  }
  return made;
}

std::string value_in_layout(const std::string& layout, const std::string& key) {
  std::istringstream pairs(layout);
  for (std::string pair; pairs >> pair;) {
    if (pair.starts_with(key + '=')) return pair.substr(key.size() + 1);
  }
  return "";
}

std::string layout_with(const std::string& layout, const std::vector<std::string>& pairs) {
  const auto key_of = [](const std::string& pair) { return pair.substr(0, pair.find('=') + 1); };
  std::vector<std::string> all;
  std::istringstream words(layout);
  for (std::string pair; words >> pair;) all.push_back(pair);
  for (const std::string& pair : pairs) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const std::string& other) {
      return key_of(other) == key_of(pair);
    });
    if (pair == key_of(pair)) {
      if (same != all.end()) all.erase(same);
    } else if (same != all.end()) {
      *same = pair;
    } else {
      all.push_back(pair);
    }
  }
  return fmt::format("{}", fmt::join(all, " "));
}

}  // namespace penstock
