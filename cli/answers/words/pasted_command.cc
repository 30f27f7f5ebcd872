// A script or a DeepSpeed configuration among the words is what can be judged; a command that has
// none is put into a file first.
#include "cli/answers/words/pasted_command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/verbs/able_verbs.h"
#include "core/values/error.h"

namespace penstock {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_launcher(std::string_view word) {
  constexpr std::array<std::string_view, 20> kLaunchers{
      "torchrun", "deepspeed", "accelerate", "srun", "sbatch", "salloc",  "mpirun",
      "mpiexec",  "python",    "python3",    "bash", "sh",     "ray",     "sky",
      "kubectl",  "nohup",     "horovodrun", "sudo", "docker", "composer"};
  return std::find(kLaunchers.begin(), kLaunchers.end(), file_name(word)) != kLaunchers.end();
}

bool is_script(std::string_view word) {
  constexpr std::array<std::string_view, 4> kEndings{".sh", ".sbatch", ".slurm", ".bash"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [word](std::string_view end) { return word.ends_with(end); });
}

bool is_deepspeed_configuration(std::string_view word) {
  const std::string_view name = file_name(word);
  return name.ends_with(".json") &&
         (name.starts_with("ds_") || name.find("deepspeed") != std::string_view::npos);
}

// "--num_gpus 8" and "--num_gpus=8" as "--gpus 8", which a configuration does not say.
std::string gpus_in(const Arguments& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (name != "--num_gpus" && name != "--num-gpus" && name != "--gpus") continue;
    const bool is_one_word = name.size() < words[i].size();
    if (is_one_word) return " --gpus " + words[i].substr(name.size() + 1);
    if (i + 1 < words.size()) return " --gpus " + words[i + 1];
  }
  return "";
}

// "CUDA_VISIBLE_DEVICES=0,1" before a command.
bool is_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && !word.starts_with('-') &&
         word.find('/') > equals;
}

// A folder "ray", a file "bash"; a program, as /usr/bin/python3, is none.
bool is_launch_file_called_so(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const bool is_program =
      status.type() == std::filesystem::file_type::regular &&
      (status.permissions() & std::filesystem::perms::owner_exec) != std::filesystem::perms::none;
  return std::filesystem::exists(status) && !is_program;
}

// Behind settings of the environment, and behind options with their values: "check --gpus 64 srun
// ..". A launcher's name right behind an option is its value, "--trainer deepspeed".
Arguments::const_iterator first_bare(const Arguments& words) {
  for (auto at = words.begin(); at != words.end(); ++at) {
    if (is_variable(*at)) continue;
    if (!at->starts_with('-')) return at;
    const bool has_next = at->find('=') == std::string::npos && words.end() - at > 1;
    if (has_next && !(at + 1)->starts_with('-')) ++at;
  }
  return words.end();
}

// A quoted command is one argument.
Arguments words_of(const Arguments& arguments) {
  Arguments words;
  for (const std::string& argument : arguments) {
    for (std::size_t at = 0; at < argument.size();) {
      const std::size_t end = std::min(argument.find(' ', at), argument.size());
      if (end > at) words.push_back(argument.substr(at, end - at));
      at = end + 1;
    }
  }
  return words;
}

}  // namespace

void refuse_pasted_command(const std::string& usage, const Arguments& arguments) {
  const std::string takes = first_argument(usage);
  const bool takes_file = takes.starts_with("FILE") || takes == "MODEL" || takes == "PLAN";
  const Arguments words = takes_file ? words_of(arguments) : Arguments();
  const auto launcher = first_bare(words);
  if (launcher == words.end() || !is_launcher(*launcher)) return;
  if (is_launch_file_called_so(arguments[0]) || is_launch_file_called_so(*launcher)) return;
  std::string file, gpus = gpus_in(arguments);  // "check 'torchrun train.py' --gpus 64"
  for (const std::string& word : words) {
    const std::string name = word.substr(word.find('=') + 1);  // "--deepspeed=ds_config.json"
    if (file.empty() && is_script(name)) file = name;
    if (is_deepspeed_configuration(name)) {
      file = name;
      gpus = gpus_in(words);
    }
  }
  const std::string what = fmt::format("'{}' starts a job, and is no file\nhelp: ", *launcher);
  if (!file.empty()) {
    throw_bad_input(fmt::format("{}penstock check {}{} judges what is started", what, file, gpus));
  }
  throw_bad_input(what + "put the whole command into a file: penstock check run.sh" + gpus +
                  " judges it");
}

}  // namespace penstock
