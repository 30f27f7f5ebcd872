#include "core/values/trainers.h"

#include <algorithm>

#include "core/values/trainer_table.h"

namespace penstock {
namespace {

// Of a row's default version the plain name, of another TRAINER@VERSION; each trainer by the first
// name that stands for it.
struct Named {
  Trainer trainer;
  std::string name;
};

const std::vector<Named>& named() {
  static const std::vector<Named> kNamed = [] {
    std::vector<Named> all;
    for (const TrainerRow& row : trainer_table()) {
      for (const TrainerVersion& version : row.versions) {
        const auto is_it = [&](const Named& one) { return one.trainer == version.planned; };
        if (!version.planned || std::any_of(all.begin(), all.end(), is_it)) continue;
        std::string name(row.name);
        if (&version != &row.versions.front()) name += '@' + std::string(version.name);
        all.push_back({*version.planned, std::move(name)});
      }
    }
    return all;
  }();
  return kNamed;
}

}  // namespace

std::string_view name_of(Trainer trainer) {
  for (const Named& one : named()) {
    if (one.trainer == trainer) return one.name;
  }
  return {};
}

std::optional<Trainer> trainer_named(std::string_view name) {
  const std::size_t at = name.find('@');
  const TrainerRow* row = find_trainer_row(name.substr(0, at));
  if (row == nullptr) return std::nullopt;
  if (at == std::string_view::npos) return row->versions.front().planned;
  for (const TrainerVersion& version : row->versions) {
    if (!version.name.empty() && version.name == name.substr(at + 1)) return version.planned;
  }
  return std::nullopt;
}

std::vector<std::string> trainer_names() {
  std::vector<std::string> names;
  names.reserve(named().size());
  for (const Named& one : named()) names.push_back(one.name);
  return names;
}

bool is_torchtitan(Trainer trainer) {
  return trainer == Trainer::kTorchtitan || trainer == Trainer::kTorchtitan01 ||
         trainer == Trainer::kTorchtitanHead;
}

}  // namespace penstock
