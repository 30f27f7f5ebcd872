// Several models on the same GPUs, for people, for launchers and for the page: what was tried, and
// when and where every model runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/units.h"
#include "report/screen.h"

namespace penstock {

struct MultiWay {  // of sharing the GPUs
  std::string name;
  Duration makespan{};
  double late_seconds = 0.0;  // behind deadlines, by weight
};

struct MultiJob {
  std::string name;
  Duration start{}, end{};
  std::vector<int> gpus;
  std::string words;  // what it runs there
  std::optional<Duration> deadline{};
};

struct MultiStretch {
  int gpu = 0, job = 0;
  Duration start{}, end{};
};

// What a new look at a schedule under way came to.
struct MultiChange {
  Duration goes_on{};  // without any change
  Duration restart{};  // charged for each job that runs and changes
  int restarts = 0;
  bool changes = false;
};

struct MultiReport {
  int gpus = 1;
  Duration bound{};            // 0: not given, since part of the work is done
  std::vector<MultiWay> ways;  // as they were tried
  std::size_t best = 0;
  std::vector<MultiJob> jobs;  // in the order of the file
  std::vector<MultiStretch> stretches;
  std::vector<std::string> notes;  // one line each: where times come from
  std::optional<MultiChange> change{};

  [[nodiscard]] Duration makespan() const { return ways[best].makespan; }
};

// At most 20 lines.
std::string multi_text(const MultiReport& report, Screen screen);
Json multi_json(const MultiReport& report);

}  // namespace penstock
