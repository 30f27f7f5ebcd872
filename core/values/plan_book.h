// penstock.book/1: the fastest plan for every number of GPUs that a job may find, with all that is
// needed to price it again: a job that grows and shrinks carries it along.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/executor_model.h"
#include "core/values/json.h"
#include "core/values/plan.h"
#include "core/values/profile.h"

namespace penstock {

struct BookPage {
  int gpus = 1;               // that there are; the plan may use fewer
  std::optional<Plan> plan;   // none: nothing fits
  Duration step_time{};       // of the plan, as the next two
  double usd_per_step = 0.0;  // 0: unknown
  Bytes peak_memory{};
  std::string why_not;  // when there is no plan
  // Of a book for several device types: how many there are of each, and on how many of each the
  // plan was found, where it is that of a page with fewer. In the order of PlanBook::types.
  std::vector<int> of_types{}, found_on{};

  // The GPUs for which the plan is priced.
  [[nodiscard]] const std::vector<int>& planned_on() const {
    return found_on.empty() ? of_types : found_on;
  }
  bool operator==(const BookPage&) const = default;
};

struct PlanBook {
  std::string tool_version;
  ModelProfile profile;
  ClusterSpec cluster;
  ExecutorModel executor;
  std::optional<Bytes> reserve;  // of every device, instead of the cluster's
  int global_batch = 1;
  // Device types that pages count each for itself; empty: pages count GPUs of whatever type.
  std::vector<std::string> types{};
  // Ascending by GPUs, of equally many by those of the last type, then the one before it, and so
  // on. A step is never slower than on fewer GPUs, of several types on fewer of some and more of
  // none.
  std::vector<BookPage> pages;

  [[nodiscard]] bool counts_types() const { return !types.empty(); }
  bool operator==(const PlanBook&) const = default;
};

// What names a page where one is started: its number of GPUs, or, where pages count types, its
// place in the book, from 1 on.
int page_number(const PlanBook& book, std::size_t page);
// Whether of no type there are more in `some` than in `all`.
bool are_among(const std::vector<int>& some, const std::vector<int>& all);
// How many of each type a plan uses.
std::vector<int> gpus_of_types(const Plan& plan, const std::vector<std::string>& types);
// The order of pages that count types.
bool comes_before(const BookPage& one, const BookPage& other);

Json write_plan_book(const PlanBook& book);
// Error{kBadInput} for anything malformed, a plan on more GPUs than its page has, and steps that
// become slower.
PlanBook read_plan_book(const Json& json, const std::string& file);

}  // namespace penstock
