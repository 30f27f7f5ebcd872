// Parts of penstock.plan/1 that other files hold as well: the decisions (measured runs) and the
// executor model (calibrated clusters). In read_plan.cc and write_plan.cc; private to core/.
#pragma once

#include "core/executor_model.h"
#include "core/json_reader.h"
#include "core/plan.h"

namespace penstock {

// A plan of a model of at most `sections` sections.
Plan read_decisions(JsonReader reader, int sections);

ExecutorModel read_executor(JsonReader reader);
Json write_executor(const ExecutorModel& executor);

}  // namespace penstock
