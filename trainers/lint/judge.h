// What the rules of all trainers share: values that may be unknown, findings, and the rules that
// are the same everywhere. Private to trainers/.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/lint/launch_setting.h"
#include "trainers/lint/lint.h"

namespace penstock {

// A number that a rule needs: known, or why it is not.
struct Known {
  std::optional<std::int64_t> value;
  const LaunchSetting* from = nullptr;  // null: a default, or an option of ours
  std::string why_not;                  // "$PP is not set in this file (line 7)"

  [[nodiscard]] bool is_known() const { return value.has_value(); }
  std::int64_t operator*() const { return *value; }
};

class Judge {
 public:
  Judge(const LaunchSettings& settings, const LintRequest& request, LintReport& report)
      : settings_(settings), request_(request), report_(report) {}

 protected:
  [[nodiscard]] const LaunchSettings& settings() const { return settings_; }
  [[nodiscard]] const LintRequest& request() const { return request_; }
  [[nodiscard]] LintReport& report() { return report_; }

  // A number of the file, or the trainer's default for it.
  [[nodiscard]] Known known(std::string_view name, std::optional<std::int64_t> otherwise,
                            std::int64_t least = 1) const;

  // False, and said so, when one of these may be set without the file saying so for certain.
  bool certain(std::string_view code, std::initializer_list<std::string_view> names);

  // The rule was judged; what is wrong is said by broken().
  void judged(std::string_view code);
  void not_judged(std::string_view code, const std::string& why);
  // False, and said so, when one of the values is not known.
  bool judgeable(std::string_view code, std::initializer_list<const Known*> values);

  // The place is the first setting that is not null.
  LintFinding& broken(std::string_view code, std::initializer_list<const LaunchSetting*> places,
                      std::string message, std::string why, std::string fix);

  // Of names that nobody knows the first twenty are told, so that a file of nothing else ends.
  bool tell_unknown_name();

  // E040: the same everywhere but for the words.
  void judge_checkpoint(const Known& data, bool reshards, const LaunchSetting* place,
                        const std::string& why, const std::string& fix);

 private:
  const LaunchSettings& settings_;
  const LintRequest& request_;
  LintReport& report_;
  int unknown_names_ = 0;
};

// "1 micro-batch is", "4 micro-batches are"
std::string micro_batches_are(std::int64_t count);

// The known name that is nearest to `word`; nothing when none is near.
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string_view>& known);

// Error{kBadInput} when nothing was found in the file: then it is another's, or empty.
void require_settings(const LaunchSettings& settings, const std::string& file,
                      std::string_view whose);

// Of a script whose settings stand in a file that was not read: why, for all of these rules.
LintReport nothing_read(const LintRequest& request, std::initializer_list<std::string_view> codes,
                        const std::string& why);

// The findings of a file that a script starts, as findings of the script: they name the file.
void place_in_file(LintReport& report, const std::string& file);

// A number that fits an int, for LaunchJob.
std::optional<int> as_int(const std::optional<std::int64_t>& value);

}  // namespace penstock
