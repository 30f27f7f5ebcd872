// A script or a DeepSpeed configuration among the words is what can be judged; a command that has
// none is put into a file first.
#include "cli/options/pasted_command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/options/able_verbs.h"
#include "core/values/error.h"

namespace penstock {
namespace {

bool is_launcher(std::string_view word) {
  constexpr std::array<std::string_view, 20> kLaunchers{
      "torchrun", "deepspeed", "accelerate", "srun", "sbatch", "salloc",  "mpirun",
      "mpiexec",  "python",    "python3",    "bash", "sh",     "ray",     "sky",
      "kubectl",  "nohup",     "horovodrun", "sudo", "docker", "composer"};
  return std::find(kLaunchers.begin(), kLaunchers.end(), word) != kLaunchers.end();
}

bool is_script(std::string_view word) {
  constexpr std::array<std::string_view, 4> kEndings{".sh", ".sbatch", ".slurm", ".bash"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [word](std::string_view end) { return word.ends_with(end); });
}

bool is_deepspeed_configuration(std::string_view word) {
  return word.ends_with(".json") && (word.find("ds_") != std::string_view::npos ||
                                     word.find("deepspeed") != std::string_view::npos);
}

// "--num_gpus 8" and "--num_gpus=8" as "--gpus 8", which a configuration does not say.
std::string gpus_in(const Arguments& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (name != "--num_gpus" && name != "--num-gpus") continue;
    const bool is_one_word = name.size() < words[i].size();
    if (is_one_word) return " --gpus " + words[i].substr(name.size() + 1);
    if (i + 1 < words.size()) return " --gpus " + words[i + 1];
  }
  return "";
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
  std::error_code error;
  if (words.empty() || !is_launcher(words[0]) || std::filesystem::exists(arguments[0], error)) {
    return;
  }
  std::string file, gpus;
  for (const std::string& word : words) {
    const std::string name = word.substr(word.find('=') + 1);  // "--deepspeed=ds_config.json"
    if (file.empty() && is_script(name)) file = name;
    if (is_deepspeed_configuration(name)) {
      file = name;
      gpus = gpus_in(words);
    }
  }
  const std::string what = fmt::format("'{}' starts a job, and is no file\nhelp: ", words[0]);
  if (!file.empty()) {
    throw_bad_input(fmt::format("{}penstock check {}{} judges what is started", what, file, gpus));
  }
  throw_bad_input(what + "put the whole command into a file: penstock check run.sh judges it");
}

}  // namespace penstock
