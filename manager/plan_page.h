// A plan that a managed job may run.
#pragma once

#include "core/values/units.h"

namespace penstock {

// From this number on pages are not the book's: they were found while the job ran, by a search or
// by the simulator's advice on slow ranks.
inline constexpr int kFirstFoundPage = 1'000'000;

struct PlanPage {
  int page = 1;  // of the book: its number of GPUs; names the plan's file (run_folder.h)
  int gpus = 1;  // that its plan uses
  Duration step{};
  bool operator==(const PlanPage&) const = default;
};

}  // namespace penstock
