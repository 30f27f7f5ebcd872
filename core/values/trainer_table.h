// One row per trainer: its versions, and what can be done for it. Planning (--for), export (--to),
// checks of launch files and readers of logs take names and versions from here.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/values/trainers.h"

namespace penstock {

// `planned`: whose limits plans keep that are made for this version; nothing where plans can be
// exported only.
struct TrainerVersion {
  std::string_view name;
  std::optional<Trainer> planned;
};

struct TrainerRow {
  std::string_view name;   // as it is typed
  std::string_view title;  // as its authors write it
  // The first is the default. One without a name: no version is told apart.
  std::vector<TrainerVersion> versions;
  bool exported = false;   // penstock export --to
  bool linted = false;     // penstock check, of its launch files
  bool logs_read = false;  // penstock import, of its logs

  [[nodiscard]] std::vector<std::string_view> version_names() const;
};

std::span<const TrainerRow> trainer_table();
const TrainerRow* find_trainer_row(std::string_view name);  // null when unknown

}  // namespace penstock
