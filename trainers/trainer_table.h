// The trainers that Penstock knows, one row each. Planning (--for), exports (--to), checks of
// launch files (--as) and readers of logs take names, versions and code from here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/trainer_row.h"

namespace penstock {

std::span<const TrainerRow> trainer_table();
const TrainerRow* find_trainer_row(std::string_view name);  // null when unknown
// trainers/<folder>/<name>.json; Error{kInternal} when there is none. Also files that are no
// version.
const Json& facts_of(std::string_view folder, std::string_view name);
// Null when the row has no such version.
const TrainerVersion* find_version(const TrainerRow& row, std::string_view version);

// What plans are made for: NAME, or NAME@VERSION; also of a version that the plain name stands for.
// Null when unknown.
const Trainer* find_trainer(std::string_view name);
// As they are typed, each trainer once.
std::vector<std::string> trainer_names();
// Names of the rows with an exporter, a linter.
std::vector<std::string> exported_trainer_names();
std::vector<std::string> linted_trainer_names();
// "megatron: 0.20; torchtitan: 0.2, 0.1, head": of these rows, for --help.
std::string versions_in_words(const std::vector<std::string>& rows);

// The row whose claim is the surest, of equal ones the first; null when nobody claims it.
template <class ClaimOf>
const TrainerRow* surest_claim(const ClaimOf& claim_of) {
  const TrainerRow* best = nullptr;
  Claim surest = Claim::kNone;
  for (const TrainerRow& row : trainer_table()) {
    const Claim claim = claim_of(row);
    if (claim <= surest) continue;
    surest = claim;
    best = &row;
  }
  return best;
}

}  // namespace penstock
