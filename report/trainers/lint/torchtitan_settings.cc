#include "report/trainers/lint/torchtitan_settings.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "report/trainers/lint/launch_script.h"
#include "report/trainers/lint/read_toml.h"

namespace penstock {
namespace {

// The first thing that is neither blank nor comment.
std::string_view first_line(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin != std::string_view::npos && line[begin] != '#') return line.substr(begin);
    at = end + 1;
  }
  return {};
}

TorchtitanCarrier carrier_of(std::string_view text, const std::string& file) {
  if (file.ends_with(".toml")) return TorchtitanCarrier::kToml;
  if (file.ends_with(".py")) return TorchtitanCarrier::kPython;
  if (text.starts_with("#!")) return TorchtitanCarrier::kScript;
  const std::string_view line = first_line(text);
  if (line.starts_with("import ") || line.starts_with("from ")) return TorchtitanCarrier::kPython;
  // "[table]", but not bash's "[ -z ... ]" and "[[".
  const bool is_table = line.size() > 1 && line[0] == '[' && line[1] != ' ' && line[1] != '[';
  const bool is_pair = line.find(" = ") != std::string_view::npos && !line.starts_with("--");
  return is_table || is_pair ? TorchtitanCarrier::kToml : TorchtitanCarrier::kScript;
}

// Flags may be written with dashes, and carry lists as "a,b".
std::string key_of(const std::string& flag) {
  std::string key = flag.substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

TorchtitanFile read_script(std::string_view text, const std::string& file,
                           const FindBeside& beside) {
  LaunchScript script = read_launch_script(text, file, beside);
  TorchtitanFile read{
      TorchtitanCarrier::kScript, LaunchSettings(file), script.gpus, script.not_followed, {}};
  read.settings.set_lines(script.lines);
  for (LaunchSetting setting : script.flags.all()) {
    if (setting.name.find('.') == std::string::npos) continue;
    setting.name = key_of(setting.name);
    read.settings.add(std::move(setting));
  }
  if (read.settings.has("job.config_file")) {
    read.not_followed.push_back(
        fmt::format("{} has further settings; check it, too",
                    read.settings.text("job.config_file").value_or("the job's file")));
  }
  return read;
}

TorchtitanFile read_python(std::string_view text, const std::string& file) {
  TorchtitanFile read{TorchtitanCarrier::kPython, LaunchSettings(file), {}, {}, {}};
  read.recipes = read_torchtitan_recipes(text, file);
  read.not_followed.emplace_back(
      "of the recipe only ParallelismConfig(..), TrainingConfig(..), and assignments to "
      "config.<table>.<key> were read");
  return read;
}

}  // namespace

TorchtitanFile read_torchtitan(std::string_view text, const std::string& file,
                               const FindBeside& beside) {
  if (text.size() > kLargestScript) {
    throw_bad_input(fmt::format("{}:1: {} bytes are no configuration\nhelp: at most {} are read",
                                file, text.size(), kLargestScript));
  }
  switch (carrier_of(text, file)) {
    case TorchtitanCarrier::kScript:
      return read_script(text, file, beside);
    case TorchtitanCarrier::kPython:
      return read_python(text, file);
    case TorchtitanCarrier::kToml:
      break;
  }
  return {TorchtitanCarrier::kToml, read_toml(text, file), {}, {}, {}};
}

}  // namespace penstock
