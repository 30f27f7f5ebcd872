// --measured "TP=4 PP=4 mbs=1 gb=128: 14.66s, 61.2GiB": runs that are told in words, for
// calibrating a question on the spot.
#pragma once

#include <string>
#include <vector>

#include "core/values/calibration_result.h"
#include "core/values/runs.h"
#include "search/evaluate.h"

namespace penstock {

// Where the device or the sequence length is not said, they are these; and where a run is only its
// time, it is one of the layout that is asked about, where there is one.
struct MeasuredDefaults {
  std::string device;
  int sequence_length = 0;
  std::string layout;
};

// "TP=4 mbs=1 gbs=128" of "TP=4 mbs=1 gbs=128: 14.66s"; empty of a time alone.
std::string layout_of_run(const std::string& text);

// Error{kBadInput} for what is no run of this model.
MeasuredRuns parse_measured(const std::vector<std::string>& texts, const PlanInputs& inputs,
                            const MeasuredDefaults& defaults);

// The most GPUs that one of the runs took.
int most_gpus_of(const std::vector<std::string>& texts, const ModelProfile& profile,
                 const MeasuredDefaults& defaults);

// "calibrated by 1 measured run: compute x 1.231 (+- 0.055)"; and what is suspicious, in lines.
std::vector<std::string> words_of(const CalibrationResult& result);

// Why an answer that was fitted to these runs should not be believed before they are looked at: a
// sentence, or nothing. A run that is still predicted wrongly contradicts another one, or the
// model.
std::string doubts_of(const CalibrationResult& result);

}  // namespace penstock
