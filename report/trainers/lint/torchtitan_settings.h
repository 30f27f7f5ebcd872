// torchtitan's settings from whatever carries them: a TOML file, flags of a launch script, a Python
// recipe that assigns to config.<table>.<key>.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/trainers/lint/launch_setting.h"

namespace penstock {

enum class TorchtitanCarrier { kToml, kScript, kPython };

struct TorchtitanFile {
  TorchtitanCarrier carrier = TorchtitanCarrier::kToml;
  LaunchSettings settings;  // "parallelism.pipeline_parallel_degree"
  std::optional<int> gpus;  // NGPU= or torchrun's
  std::vector<std::string> not_followed;
};

// Error{kBadInput} as of the readers.
TorchtitanFile read_torchtitan(std::string_view text, const std::string& file);

}  // namespace penstock
