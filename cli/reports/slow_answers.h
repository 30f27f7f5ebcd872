// What `penstock explain PLAN --book BOOK --slow ...` answers: what to do about slow ranks.
#pragma once

#include <optional>
#include <string>

#include "cli/io/answer.h"
#include "core/values/plan_file.h"
#include "report/screen.h"
#include "simulator/scenario.h"

namespace penstock {

struct SlowQuestion {
  std::string book;                     // a file
  Scenario scenario;                    // slow in every replica
  std::optional<std::string> machines;  // JSON that --slow-machines wrote
  bool json = false;
};

// Exit code 1 where keeping the plan as it is is the best.
Answer answer_on_slow_ranks(const PlanFile& plan, const SlowQuestion& question, Screen screen);

}  // namespace penstock
