// torchtitan's settings from whatever carries them: a TOML file, flags of a launch script, a Python
// recipe, of which a file may hold several.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/lint/launch_setting.h"
#include "trainers/lint/shell_script.h"
#include "trainers/torchtitan/torchtitan_python.h"

namespace penstock {

enum class TorchtitanCarrier { kToml, kScript, kPython };

struct TorchtitanFile {
  TorchtitanCarrier carrier = TorchtitanCarrier::kToml;
  LaunchSettings settings;  // "parallelism.pipeline_parallel_degree"
  std::optional<int> gpus;  // NGPU= or torchrun's
  std::vector<std::string> not_followed;
  std::vector<TorchtitanRecipe> recipes;  // of a Python file, whose `settings` are empty
  // A script starts a function of a Python file (--module, --config), which is head's way; its
  // settings are among `settings` where the file was read.
  bool starts_recipe = false;
  std::string why_no_recipe = {};
};

// Error{kBadInput} as of the readers.
TorchtitanFile read_torchtitan(std::string_view text, const std::string& file,
                               const FindBeside& beside = {});

}  // namespace penstock
