// The flags that a launch script hands to a trainer, and those that it hands to torchrun. A file
// of nothing but flags, or of arrays of flags, is read in the same way.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/lint/launch_setting.h"
#include "trainers/lint/shell_script.h"

namespace penstock {

struct LaunchScript {
  explicit LaunchScript(const std::string& file)
      : flags(file), overrides(file), choices(file), launcher(file) {}

  LaunchSettings flags;      // behind the program, pretrain_gpt.py
  LaunchSettings overrides;  // there, too: model.seq_length=4096, as Hydra and OmegaConf take it
  LaunchSettings choices;    // and engine=megatron, -cn FILE, as Hydra takes them
  LaunchSettings launcher;   // before it; dashes for underscores: "--nproc-per-node"
  std::optional<int> line;   // of the program; nothing when there is none
  std::optional<int> gpus;   // by the launcher or NGPU=; nothing when the script does not say
  std::string why_no_gpus;   // "$NNODES is not set in this script"
  SourceLines lines;         // of the script and of the files that it reads
  std::optional<ShellWord> program;  // "$here/recipe.py", of what was judged
  std::vector<std::string> not_followed;
};

// Error{kBadInput} as of read_shell_script().
LaunchScript read_launch_script(std::string_view text, const std::string& file,
                                const FindBeside& beside = {});

}  // namespace penstock
