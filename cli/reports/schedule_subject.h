// What `penstock schedule` replays: a schedule by its name and shape, or one from a file, and what
// its actions cost.
#pragma once

#include <optional>

#include "cli/options/costs.h"
#include "cli/options/schedule_options.h"
#include "simulator/schedules/schedules.h"
#include "trainers/pytorch/pipeline_csv.h"

namespace penstock {

// What is replayed: a schedule by name, or one from a file.
struct Subject {
  ScheduleShape shape;
  bool splits_backward = false;
  const ScheduleKind* kind = nullptr;  // of a schedule by name
  std::optional<PipelineCsv> file;

  // Whether its sends and receives stand where the file has them.
  [[nodiscard]] bool holds_transfers() const {
    return file && file->form == PipelineCsvForm::kComputeComms;
  }
  // Whether its lists hold R.
  [[nodiscard]] bool recomputes() const { return kind != nullptr && kind->recomputes; }
};

// P, V and M of one schedule, as given.
ScheduleShape shape_of(const ScheduleOptions& given);
Subject subject_of(const ScheduleOptions& given);
ScheduleCosts costs_of(const ScheduleOptions& given, const Subject& subject);

}  // namespace penstock
