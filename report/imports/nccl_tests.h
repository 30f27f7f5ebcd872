// What NVIDIA's nccl-tests write with -J, or print, one collective per file, read into curves for a
// cluster. The JSON also holds the whole environment of the run, secrets included: that is cut out
// of the text before anything reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/cluster.h"

namespace penstock {

struct NcclTest {
  std::string file;
  std::string collective;             // "all_reduce", "sendrecv"; from the program's name
  std::string started, nccl_version;  // as in the file; may be empty
  int ranks = 1;
  int hosts = 0;                   // 0: the file does not say
  std::vector<std::string> gpus;   // "NVIDIA H100 80GB HBM3", each once; as far as it says
  std::vector<CurvePoint> curve;   // bytes of the full buffer, ascending; times as measured
  std::vector<std::string> notes;  // what was left out, and why
};

// Times are those out of place, in place where there are none; without a mean, the median of -I.
// Of several types, operations or roots the first counts; of a size that was measured several times
// the median. Wrong results do not count. Error{kBadInput} when nothing is left.
NcclTest read_nccl_test(std::string_view text, const std::string& file);

// Bus bandwidth over algorithm bandwidth among `ranks`, 2 (n - 1) / n of an all-reduce.
double bus_factor(const std::string& collective, int ranks);

// `text` with the value of every key "env" replaced by null, lines kept. Error{kBadInput}, which
// shows nothing of it, where that is not a whole list of texts.
std::string without_environment(std::string_view text, const std::string& file);

}  // namespace penstock
