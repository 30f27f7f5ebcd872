// What policies keep of a job's work when GPUs come and go, for people and for scripts.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/units.h"
#include "report/screen.h"

namespace penstock {

// What a policy started, or that it waited.
struct PolicyStart {
  Duration at{};        // since the start of the recording
  int gpus = 0;         // that the plan uses; 0: nothing runs
  bool broken = false;  // what ran before lost a GPU
  std::string plan{};   // in words; empty: the book's plan for so many GPUs
};

struct PolicyResult {
  std::string name;
  double steps = 0.0, lost_steps = 0.0;
  int changes = 0;
  Duration restarting{}, waiting{};
  bool is_possible = true;  // false: a bound, which no policy reaches that does not know the future
  std::vector<PolicyStart> starts{};  // of what is possible
};

struct GpusFrom {
  Duration at{};  // since the start of the recording
  int gpus = 0;
};
struct GoodputPlan {
  int gpus = 1;  // that it uses
  std::string words;
};

struct GoodputReport {
  std::string recording;  // one line: file, hours, GPUs, changes
  std::string costs;      // one line or several: what a change costs, and from where
  int global_batch = 1;
  int tokens_per_sample = 0;  // 0: samples have no length
  double hours = 0.0;
  double gpu_hours = 0.0;
  double usd = 0.0;                    // for all GPUs that were there; 0: unknown
  std::vector<PolicyResult> policies;  // ours first, the best of hindsight among them
  std::string hindsight;               // the name of that one
  Duration without_plan{};             // GPUs were there, but no plan of the book fits them
  bool counts_types = false;           // the book does
  // For the page.
  std::vector<GpusFrom> availability;
  Duration end{};
  std::vector<GoodputPlan> book;
};

std::string goodput_text(const GoodputReport& report, Screen screen);
Json goodput_json(const GoodputReport& report);

}  // namespace penstock
