#include "manager/hosts/run_progress.h"

#include <fstream>
#include <limits>

#include "core/values/finite_or_null.h"
#include "core/values/json_reader.h"
#include "manager/event.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Other keys of the line are for those who read the whole log.
FinishedStep finished_step(const std::string& line, const std::string& place) {
  const Json json = parse_json(line, place);
  JsonReader reader(json, place);
  FinishedStep step;
  step.step = reader.at("step").integer(0, kMost);
  step.loss = number_or_null(reader.at("loss"), kNotFinite);
  step.step_time = reader.duration("step_time");
  step.tokens = reader.at("tokens").integer(0, kMost);
  return step;
}

}  // namespace

std::vector<FinishedStep> RunProgress::read_more() {
  std::ifstream file(log_, std::ios::binary);
  if (!file.seekg(static_cast<std::streamoff>(read_))) return {};
  std::vector<FinishedStep> steps;
  std::string line;
  // A last line without its end is still being written: it is read when it is whole.
  while (std::getline(file, line) && !file.eof()) {
    ++lines_;
    read_ += line.size() + 1;
    if (lines_ == 1) continue;  // says what runs
    const FinishedStep step = finished_step(line, log_ + ":" + std::to_string(lines_));
    // One without a time was done by the run before, which lost its rank 0 and could not log it.
    if (step.step_time > Duration{}) steps.push_back(step);
  }
  return steps;
}

}  // namespace penstock
