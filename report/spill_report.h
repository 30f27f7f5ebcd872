// A plan that keeps a model on the host, for people and for scripts.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/plan_file.h"
#include "report/screen.h"

namespace penstock {

struct SpillReportShard {
  std::string first_section, last_section;
  int sections = 1;
  Bytes state;                                  // in its slot
  Duration forward{}, back{}, load{}, store{};  // of one pass
};

struct SpillReportUnit {
  const char* kind = "F";  // "F", "FB", "B"
  int pass = 0, shard = 0;
  Bytes in, out;
  Duration compute{};
};

struct SpillReport {
  std::string question;  // one line
  const PlanFile* file = nullptr;
  std::vector<SpillReportShard> shards;
  std::vector<SpillReportUnit> units;  // of a step
  std::string partition;               // "the greedy partition", ...
  int passes = 1;
  bool updates_on_host = true;
  Duration compute{}, closed_form{}, loading{};
  // A step that loads before every unit but the first, and one that has a single slot.
  Duration with_reloads{}, with_one_slot{};
  double hidden = 0.0;             // of `loading`
  Bytes host, host_memory;         // taken, and there
  Bytes loaded, stored;            // in a step
  std::vector<std::string> notes;  // what it rests on
};

// At most 18 lines, so that two are left for where the plan is; `in_full`: every shard, the closed
// form, and what the answer rests on, however many lines that takes.
std::string spill_text(const SpillReport& report, Screen screen, bool in_full);
Json spill_json(const SpillReport& report);
// "fits with spilling: 3.467 s a step, 61 % of load time hidden"
std::string spill_remedy_text(const SpillReport& report);

}  // namespace penstock
