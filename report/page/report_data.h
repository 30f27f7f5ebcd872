// Everything that the HTML report says, as values and as the JSON that its page reads
// (docs/report.md, "The data"). Units stand in the key names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/json.h"
#include "core/values/plan_file.h"
#include "report/model_flops.h"
#include "report/validation.h"
#include "report/what_if.h"

namespace penstock {

struct ReportInput {
  std::string role;  // "plan", "profile", "cluster", "run"
  InputFile file;
};

struct ReportedPlan {
  std::string title;  // "1", the name of a file, or what differs from the first plan
  std::string role;   // "best", "ranked", "baseline", "equal split", "pareto"
  Plan plan;
  Evaluation evaluation;
  std::string reason;   // why it is where it is; of one that cannot run why not
  std::string command;  // gives this plan again; may be empty
  bool tied = false, on_pareto_front = false;
  std::string placed;  // where its stages sit; may be empty
};

// The best plan that uses at most so many GPUs.
struct StaircaseStep {
  int gpus = 1;
  std::optional<Plan> plan;
  Evaluation evaluation;        // of the plan
  bool same_as_before = false;  // the plan of the step before, so that the new GPUs idle
  std::string why_not;          // when there is no plan
};

struct ReportData {
  std::string tool;     // "penstock 0.1.0"
  std::string command;  // that made the report
  std::string model;
  std::vector<ReportInput> inputs;
  std::string question;            // in words; may be empty
  int gpus = 0;                    // that there are
  std::vector<std::string> notes;  // what an estimate rests on
  std::string apply_command;       // what to do with the plan; may be empty
  // The first is the one that the report is about; empty: nothing fits.
  std::vector<ReportedPlan> plans;
  int look_alikes = 0;                     // plans that are too similar to one of these
  std::optional<ModelFlops> flops;         // what an MFU is measured by
  std::vector<std::string> not_modelled;   // what matters most for this model first
  std::vector<ReportedPlan> pareto_plans;  // on the front, not among `plans`
  std::vector<ReportedPlan> infeasible;    // near the first one, over memory
  std::optional<SearchResult> search;      // what it counted and left out
  std::vector<WhatIf> changes;             // of the first plan
  std::vector<std::string> not_searched;
  std::vector<StaircaseStep> staircase;
  std::optional<Validation> validation;
  Json timelines = Json::array();
};

Json to_json(const ReportData& data);

// What every page begins with, whatever it shows.
Json page_json(const char* kind, const std::string& tool, const std::string& command,
               const std::string& model, const std::vector<ReportInput>& inputs);

}  // namespace penstock
