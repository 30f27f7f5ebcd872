// A plan that a managed job may run.
#pragma once

#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

// From this number on pages are not the book's: they were found while the job ran, by a search or
// by the simulator's advice on slow ranks.
inline constexpr int kFirstFoundPage = 1'000'000;

// Ranks in a row whose GPUs are of one type.
struct RanksOfType {
  std::string device;
  int ranks = 0;
  bool operator==(const RanksOfType&) const = default;
};

struct PlanPage {
  int page = 1;  // of the book (page_number()); names the plan's file (run_folder.h)
  int gpus = 1;  // that its plan uses
  Duration step{};
  std::vector<RanksOfType> devices{};  // of all ranks in order, where the book counts types
  bool operator==(const PlanPage&) const = default;
};

// "3 GPUs", with their types where the page knows them: "3 GPUs (2 a100-40gb, 1 v100-16gb)".
std::string gpus_text(const PlanPage& page);

}  // namespace penstock
