// Plans for the steps of a run on documents. One of document_plans_search.cc and, in a program
// without the planner, verbs/planning_none.cc is linked.
#pragma once

#include <memory>
#include <vector>

#include "cli/options/document_options.h"
#include "core/values/loaded.h"
#include "core/values/sample_lengths.h"
#include "runtime_bridge/plans_ahead.h"

namespace penstock {

class DocumentPlans {
 public:
  virtual ~DocumentPlans() = default;
  // The longest document that has a price, of either part.
  [[nodiscard]] virtual int longest() const = 0;
  // The files that plans are priced by, as they were read.
  [[nodiscard]] virtual InputFile profile() const = 0;
  [[nodiscard]] virtual InputFile cluster() const = 0;
  // For the documents of a step. A pure function of them; several threads may ask.
  // Error{kBadInput} where nothing fits, with the reason.
  [[nodiscard]] virtual PlannedStep plan(const std::vector<SampleLength>& documents) const = 0;
};

// Of the layout that `layout` has: its degrees, cuts and placement.
std::unique_ptr<DocumentPlans> document_plans(const Loaded<PlanFile>& layout,
                                              const DocumentPlanning& how);

}  // namespace penstock
