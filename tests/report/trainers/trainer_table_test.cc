// The table of trainers, the exports, the checks of launch files and the readers of logs name the
// same trainers and versions.
#include "core/values/trainer_table.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "report/imports/trainer_log.h"
#include "report/trainers/export_plan.h"
#include "report/trainers/lint/lint.h"

namespace penstock {
namespace {

TEST_CASE("what the table says of a trainer is what there is for it") {
  std::size_t exported = 0, linted = 0;
  for (const TrainerRow& row : trainer_table()) {
    CAPTURE(row.name);
    const ExportTarget* target = find_export_target(row.name);
    CHECK(row.exported == (target != nullptr));
    if (target != nullptr) CHECK(target->versions == row.version_names());
    const auto lint = lint_trainer_named(row.name);
    CHECK(row.linted == lint.has_value());
    exported += row.exported ? 1 : 0;
    linted += row.linted ? 1 : 0;
  }
  CHECK(exported == export_targets().size());
  CHECK(linted == lint_trainer_names().size());
}

TEST_CASE("logs are told by the title of a trainer whose logs are read") {
  for (const LogTrainer trainer : {LogTrainer::kMegatron, LogTrainer::kTorchtitan}) {
    const auto& rows = trainer_table();
    CHECK(std::count_if(rows.begin(), rows.end(), [&](const TrainerRow& row) {
            return row.logs_read && row.title == name_of(trainer);
          }) == 1);
  }
}

}  // namespace
}  // namespace penstock
