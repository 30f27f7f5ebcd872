// The layout of a job by what people have of it: the script that starts it, or the log that it
// wrote.
#pragma once

#include <optional>
#include <string>

#include "cli/io/answer.h"

namespace penstock {

struct LayoutInFile {
  std::string layout;  // "TP=2 PP=4 DP=8 mbs=1 gbs=512 seq=8192 sharding=zero1"
  int gpus = 0, global_batch = 0, sequence_length = 0;
  std::string step_time;  // "8.95s", of a log; else empty
};

// Nothing where the file is not there, or does not say all degrees and the batch. The layers of
// every stage are not taken over: stages are predicted as they are cut where nobody says how.
std::optional<LayoutInFile> layout_in_script(const std::string& path);
std::optional<LayoutInFile> layout_in_log(const std::string& path);
// Of a log that says no layout the time of its steps and their batch, 0 where it is not said, with
// an example for the layout.
std::optional<LayoutInFile> step_in_log(const std::string& path);

// "penstock plan config.json --device h100-sxm --gpus 64 .. --measured '..: 8.95s'" of a log, with
// the model, the GPU and the other options that were typed.
std::string command_fitted_to(const LayoutInFile& ran, const std::string& model,
                              const Arguments& words);

}  // namespace penstock
