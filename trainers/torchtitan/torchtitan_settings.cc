// The file's name tells what carries the settings, and where it does not, its first line that is no
// comment. Of a script the settings of the file or function that it starts are read first and its
// own flags then win, as in torchtitan. Lines of files that were read as well are appended to the
// script's line numbers, so that every finding can name its file and line. What was not found is
// said and not judged.
#include "trainers/torchtitan/torchtitan_settings.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "trainers/lint/launch_script.h"
#include "trainers/lint/read_toml.h"
#include "trainers/lint/source_lines.h"

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

// What another file sets, then the script's own flags, which win. The file's lines follow those of
// the script.
void put_before(const std::vector<LaunchSetting>& settings, int first, TorchtitanFile& read) {
  LaunchSettings all(read.settings.file());
  for (LaunchSetting setting : settings) {
    setting.line += first - 1;
    all.add(std::move(setting));
  }
  for (const LaunchSetting& setting : read.settings.all()) all.add(setting);
  read.settings = std::move(all);
}

// 0.1 and 0.2: --job.config_file job.toml
void read_job_file(LaunchScript& script, std::string_view text, const std::string& file,
                   const FindBeside& beside, TorchtitanFile& read) {
  const LaunchSetting* flag = read.settings.find("job.config_file");
  if (flag == nullptr || flag->value.kind() != Json::Kind::kString) return;
  const std::string named = flag->value.text();
  const int line = flag->line;
  const std::string path = path_beside_script({named, line, flag->unresolved, {}});
  const auto toml = path.empty() || !beside ? std::nullopt : beside(path);
  if (!toml || toml->size() > kLargestScript) {
    read.settings.open(named);
    read.not_followed.push_back(fmt::format(
        "{} ({}) was not found beside the script; check it, too", named, script.lines.words(line)));
    return;
  }
  const std::string shown = file.substr(0, file.find_last_of('/') + 1) + path;
  const int first = script.lines.add(shown, line_count_of(*toml), line_count_of(text));
  put_before(read_toml(*toml, shown).all(), first, read);
  read.settings.set_lines(script.lines);
  read.not_followed.push_back(
      fmt::format("{} was read as well ({})", path, script.lines.words(line)));
}

// Where head finds the module: a file in PYTHONPATH, as beside the script, or its own package.
std::vector<std::string> files_of_module(std::string module) {
  std::replace(module.begin(), module.end(), '.', '/');
  return {module + ".py", fmt::format("torchtitan/models/{}/config_registry.py", module),
          fmt::format("torchtitan/experiments/{}/config_registry.py", module)};
}

// head: --module plan --config job
void read_started_recipe(LaunchScript& script, std::string_view text, const std::string& file,
                         const FindBeside& beside, TorchtitanFile& read) {
  if (!script.flags.has("--module") && !script.flags.has("--config")) return;
  read.starts_recipe = true;
  const auto module = script.flags.text("--module"), config = script.flags.text("--config");
  if (!module || !config) {
    read.why_no_recipe = fmt::format(
        "the script does not say {}, which names the Python function with the settings; check the "
        "file of that function",
        module ? "--config" : "--module");
    return;
  }
  for (const std::string& path : files_of_module(*module)) {
    const auto python = beside ? beside(path) : std::nullopt;
    if (!python || python->size() > kLargestScript) continue;
    const std::string shown = file.substr(0, file.find_last_of('/') + 1) + path;
    const int first = script.lines.add(shown, line_count_of(*python), line_count_of(text));
    const std::vector<TorchtitanRecipe> recipes = read_torchtitan_recipes(*python, shown);
    const auto recipe = std::find_if(recipes.begin(), recipes.end(),
                                     [&](const auto& one) { return one.name == *config; });
    if (recipe == recipes.end()) {
      read.why_no_recipe = fmt::format(
          "{} sets nothing in a function {} that can be read; check the file of the function that "
          "it calls",
          path, *config);
      return;
    }
    put_before(recipe->settings.all(), first, read);
    const LaunchSetting* flag = script.flags.find("--module");
    read.not_followed.push_back(
        fmt::format("{} was read as well ({})", path, script.lines.words(flag->line)));
    read.settings.set_lines(script.lines);
    return;
  }
  read.why_no_recipe = fmt::format(
      "the settings are those of the function {} of the module {}, whose file was not found beside "
      "the script; check that file ({}, in torchtitan's folder {})",
      *config, *module, files_of_module(*module)[0], files_of_module(*module)[1]);
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
  read_job_file(script, text, file, beside, read);
  read_started_recipe(script, text, file, beside, read);
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
