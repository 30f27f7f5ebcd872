// The one list of trainers. A row comes from the trainer's folder, its versions from the files of
// facts there: releases by number, the newest first and the default, then "head". A version without
// limits of its own says whose it runs as ("planned_as"), or that plans are only exported to it.
#include "trainers/trainer_table.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "trainers/trainer_facts.h"
#include "trainers/trainer_rows.h"

namespace penstock {
namespace {

constexpr std::string_view kHead = "head", kAny = "any";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Other files of facts hold for all versions.
bool is_version(std::string_view file) {
  return is_digit(file.front()) || file == kHead || file == kAny;
}

// "0.20" -> {0, 20}; "head" is no release.
std::vector<int> release_of(std::string_view version) {
  std::vector<int> numbers;
  if (!is_digit(version.front())) return numbers;
  numbers.push_back(0);
  for (const char c : version) {
    if (is_digit(c)) {
      numbers.back() = numbers.back() * 10 + (c - '0');
    } else {
      numbers.push_back(0);
    }
  }
  return numbers;
}

class Table {
 public:
  Table() {
    for (const auto& make : kTrainerRows) rows_.push_back(make());
    for (const ShippedFacts& shipped : shipped_facts()) {
      const std::string file = fmt::format("trainers/{}/{}.json", shipped.folder, shipped.name);
      facts_.emplace(Key{shipped.folder, shipped.name}, parse_json(shipped.text, file));
    }
    for (TrainerRow& row : rows_) read_versions(row);
    for (TrainerRow& row : rows_) {
      for (TrainerVersion& version : row.versions) plan_as_another(version);
    }
  }

  [[nodiscard]] std::span<const TrainerRow> rows() const { return rows_; }
  [[nodiscard]] const std::deque<Trainer>& trainers() const { return trainers_; }
  [[nodiscard]] const Json* facts(std::string_view folder, std::string_view name) const {
    const auto found = facts_.find({folder, name});
    return found == facts_.end() ? nullptr : &found->second;
  }

 private:
  using Key = std::pair<std::string_view, std::string_view>;  // folder, name

  void read_versions(TrainerRow& row) {
    for (const auto& [key, facts] : facts_) {
      if (key.first != row.folder || !is_version(key.second)) continue;
      row.versions.push_back({std::string(key.second == kAny ? "" : key.second), nullptr, &facts});
    }
    if (row.versions.empty()) {
      throw Error(ErrorKind::kInternal, fmt::format("no facts in trainers/{}", row.folder));
    }
    std::sort(row.versions.begin(), row.versions.end(), [](const auto& a, const auto& b) {
      if (a.name.empty() || b.name.empty()) return a.name < b.name;
      return release_of(a.name) > release_of(b.name);
    });
    for (TrainerVersion& version : row.versions) {
      if (version.facts->find("limits") == nullptr) continue;
      std::string name(row.name);
      if (&version != &row.versions.front()) name += '@' + version.name;
      const std::string file = fmt::format("trainers/{}/{}.json", row.folder, version.name);
      trainers_.push_back(
          trainer_of_facts(*version.facts, file, std::move(name), std::string(row.title)));
      version.planned = &trainers_.back();
    }
  }

  void plan_as_another(TrainerVersion& version) const {
    const Json* other = version.facts->find("planned_as");
    if (other == nullptr) return;
    for (const Trainer& trainer : trainers_) {
      if (trainer.name == other->text()) version.planned = &trainer;
    }
  }

  std::map<Key, Json> facts_;     // versions point into these
  std::deque<Trainer> trainers_;  // each once, in the order of the rows
  std::vector<TrainerRow> rows_;
};

const Table& table() {
  static const Table kTable;
  return kTable;
}

template <class Can>
std::vector<std::string> names_of_rows(const Can& can) {
  std::vector<std::string> names;
  for (const TrainerRow& row : trainer_table()) {
    if (can(row)) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace

std::vector<std::string_view> TrainerRow::version_names() const {
  std::vector<std::string_view> names;
  for (const TrainerVersion& version : versions) {
    if (!version.name.empty()) names.push_back(version.name);
  }
  return names;
}

std::span<const TrainerRow> trainer_table() { return table().rows(); }

const TrainerRow* find_trainer_row(std::string_view name) {
  for (const TrainerRow& row : trainer_table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const Json& facts_of(std::string_view folder, std::string_view name) {
  const Json* facts = table().facts(folder, name);
  if (facts == nullptr) {
    throw Error(ErrorKind::kInternal, fmt::format("no trainers/{}/{}.json", folder, name));
  }
  return *facts;
}

const TrainerVersion* find_version(const TrainerRow& row, std::string_view version) {
  for (const TrainerVersion& one : row.versions) {
    if (one.name == version) return &one;
  }
  return nullptr;
}

const Trainer* find_trainer(std::string_view name) {
  const std::size_t at = name.find('@');
  const TrainerRow* row = find_trainer_row(name.substr(0, at));
  if (row == nullptr) return nullptr;
  if (at == std::string_view::npos) return row->versions.front().planned;
  const std::string_view asked = name.substr(at + 1);
  const TrainerVersion* version = asked.empty() ? nullptr : find_version(*row, asked);
  return version == nullptr ? nullptr : version->planned;
}

std::vector<std::string> trainer_names() {
  std::vector<std::string> names;
  for (const Trainer& trainer : table().trainers()) names.push_back(trainer.name);
  return names;
}

std::vector<std::string> exported_trainer_names() {
  return names_of_rows([](const TrainerRow& row) { return row.exporter.has_value(); });
}

std::vector<std::string> linted_trainer_names() {
  return names_of_rows([](const TrainerRow& row) { return row.linter.has_value(); });
}

std::string versions_in_words(const std::vector<std::string>& rows) {
  std::string text;
  for (const std::string& name : rows) {
    const TrainerRow* row = find_trainer_row(name);
    if (row == nullptr) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name,
                        fmt::join(row->version_names(), ", "));
  }
  return text;
}

}  // namespace penstock
