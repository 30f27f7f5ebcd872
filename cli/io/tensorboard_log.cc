#include "cli/io/tensorboard_log.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/values/error.h"
#include "report/traces/tensorboard_events.h"

namespace penstock {
namespace {

[[noreturn]] void cannot_write(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::kMissingResource, path + ": cannot be written: " + why +
                                               "\nhelp: name another folder with --tensorboard");
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kDigits = 10;

// The second in the name of an event file, also of another program's; none for other files.
std::optional<std::int64_t> second_in(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = std::string_view(name).substr(kPrefix.size(), kDigits);
  std::int64_t second = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), second);
  if (error != std::errc() || end != digits.data() + kDigits) return std::nullopt;
  return second;
}

// TensorBoard looks for "tfevents" in names, and reads files of a folder in the order of theirs. A
// run that goes on within a second, or on a machine whose clock is behind, still writes the last.
std::string file_name(const std::filesystem::path& folder) {
  auto second = static_cast<std::int64_t>(seconds_since_1970());
  std::error_code unreadable;  // then the clock decides alone
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
    const auto earlier = second_in(entry.path().filename().string());
    if (earlier) second = std::max(second, *earlier + 1);
  }
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fmt::format("{}{:0{}}.{}.{}.0", kPrefix, second, kDigits, host, getpid());
}

}  // namespace

TensorboardLog::TensorboardLog(const std::string& folder, std::int64_t first_step) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) cannot_write(folder, error.message());
  path_ = (std::filesystem::path(folder) / file_name(folder)).string();
  file_.reset(std::fopen(path_.c_str(), "wb"));
  if (!file_) cannot_write(path_, std::strerror(errno));
  write(event_file_version(seconds_since_1970()));
  if (first_step > 0) write(event_of_restart(seconds_since_1970(), first_step));
}

void TensorboardLog::add(const MeasuredStep& step) {
  const double seconds = static_cast<double>(step.step_time.count()) * 1e-9;
  std::vector<ScalarValue> values{{"train/loss", static_cast<float>(step.loss)},
                                  {"train/gradient_norm", static_cast<float>(step.gradient_norm)}};
  if (step.learning_rate) {
    values.push_back({"train/learning_rate", static_cast<float>(*step.learning_rate)});
  }
  values.push_back({"speed/step_seconds", static_cast<float>(seconds)});
  if (seconds > 0.0) {
    values.push_back({"speed/tokens_per_second",
                      static_cast<float>(static_cast<double>(step.tokens) / seconds)});
  }
  if (step.evaluation) {
    values.push_back({"validation/loss", static_cast<float>(step.evaluation->loss)});
  }
  write(event_of_scalars(seconds_since_1970(), step.step, values));
}

void TensorboardLog::write(const std::string& bytes) {
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size();
  if (!written || std::fflush(file_.get()) != 0) cannot_write(path_, std::strerror(errno));
}

}  // namespace penstock
