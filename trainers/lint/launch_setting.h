// What a launch file sets, whatever it is written in: a flag of a script, a key of a TOML or JSON
// file. All readers of this folder end here, all rules begin here.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/json.h"
#include "trainers/lint/source_lines.h"

namespace penstock {

struct LaunchSetting {
  std::string name;  // "--micro-batch-size", "parallelism.pipeline_parallel_degree"
  Json value;        // of a flag: a string, a list of several, or true where nothing follows
  int line = 0;
  std::string text;        // as a person wrote it, "--micro-batch-size $B", for messages
  std::string unresolved;  // "$B", where the file does not say what that is
};

// A whole number and where it comes from.
struct LaunchNumber {
  std::int64_t value = 0;
  const LaunchSetting* from = nullptr;  // null: the trainer's default, or an option of ours
};

class LaunchSettings {
 public:
  explicit LaunchSettings(std::string file) : file_(std::move(file)) {}

  void add(LaunchSetting setting) { all_.push_back(std::move(setting)); }
  // Takes out all whose name begins so.
  void drop(std::string_view stem) {
    std::erase_if(all_,
                  [stem](const LaunchSetting& setting) { return setting.name.starts_with(stem); });
  }
  [[nodiscard]] const std::vector<LaunchSetting>& all() const { return all_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  // Where the lines of the settings are.
  void set_lines(SourceLines lines) { lines_ = std::move(lines); }
  [[nodiscard]] const SourceLines& lines() const { return lines_; }

  // The last one of this name, as trainers take it; null when there is none.
  [[nodiscard]] const LaunchSetting* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }

  // The number of that name, at least `least`; nothing when it is not set, or set to what the file
  // does not say. Error{kBadInput} for what is no such number.
  [[nodiscard]] std::optional<LaunchNumber> number(std::string_view name,
                                                   std::int64_t least = 1) const;
  // A text of that name; nothing as above.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  // Is a switch on? A key that is false is off.
  [[nodiscard]] bool on(std::string_view name) const;

  // A flag that is set, if at all, under a condition, and words whose flags the file does not say.
  void add_conditional(const std::string& name, int line) { conditional_.emplace(name, line); }
  void open(const std::string& more) {
    if (more_.empty()) more_ = more;
  }
  [[nodiscard]] const std::string& more() const { return more_; }
  // The line of a condition that may set this name; nothing where there is none.
  [[nodiscard]] std::optional<int> condition_of(std::string_view name) const {
    const auto found = conditional_.find(name);
    return found == conditional_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] bool is_closed(std::string_view name) const { return closed_.contains(name); }
  // What open() says does not hold for this name.
  void close(const std::string& name) { closed_.insert(name); }
  // Why this name may have another value than the one that find() has, or one at all; empty when
  // it has not.
  [[nodiscard]] std::string doubt_of(std::string_view name) const;

  // "FILE:LINE: NAME: WHAT\nhelp: HELP" as Error{kBadInput}.
  [[noreturn]] void refuse(const LaunchSetting& setting, const std::string& what,
                           const std::string& help) const;

 private:
  std::string file_;
  SourceLines lines_;
  std::vector<LaunchSetting> all_;
  std::map<std::string, int, std::less<>> conditional_;
  std::set<std::string, std::less<>> closed_;
  std::string more_;  // "$MODEL_ARGS (line 7)"
};

// No job has more of anything, and the product of two stays in 64 bits.
inline constexpr std::int64_t kLargestLaunchNumber = 1'000'000'000;

// Of positive numbers; kTooLarge when it would be more than that.
inline constexpr std::int64_t kTooLarge = 1'000'000'000'000'000'000;
std::int64_t product_of(std::initializer_list<std::int64_t> factors);

}  // namespace penstock
