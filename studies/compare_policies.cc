#include "studies/compare_policies.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/values/error.h"
#include "morphing/change_policy.h"
#include "morphing/goodput.h"
#include "report/plan_table.h"
#include "report/words.h"
#include "studies/book_rungs.h"

namespace penstock {
namespace {

// Where types are counted the number of GPUs does not say which plan it is.
std::string words_of(const PlanBook& book, const Rung& rung) {
  if (!book.counts_types()) return "";
  for (const BookPage& page : book.pages) {
    const bool is_it = page.plan && page.step_time == rung.step &&
                       gpus_of_types(*page.plan, book.types) == rung.of_types;
    if (is_it) return layout_line(*page.plan) + ", on " + device_words(*page.plan);
  }
  return "";
}

PolicyResult replayed(const PlanBook& book, std::string name, const Availability& recording,
                      const std::vector<Rung>& rungs, const ChangeCosts& costs,
                      std::unique_ptr<ChangePolicy> policy) {
  const Goodput goodput = replay_availability(recording, rungs, costs, *policy);
  std::vector<std::string> words;
  words.reserve(rungs.size());
  for (const Rung& rung : rungs) words.push_back(words_of(book, rung));
  std::vector<PolicyStart> starts;
  starts.reserve(goodput.starts.size());
  for (const RungStart& start : goodput.starts) {
    PolicyStart& its = starts.emplace_back();
    its.at = start.at;
    its.broken = start.broken;
    if (!start.rung) continue;
    its.gpus = rungs[*start.rung].gpus;
    its.plan = words[*start.rung];
  }
  return {std::move(name), goodput.steps, goodput.lost_steps, goodput.changes, goodput.restarting,
          goodput.waiting, true,          std::move(starts)};
}

// With which a job begins; none where it has devices of several types, whose D alone cannot change.
const Plan* first_plan(const PlanBook& book, const Availability& recording) {
  if (book.counts_types()) return nullptr;
  for (const AvailabilityChange& change : recording.changes) {
    const Plan* found = nullptr;
    for (const BookPage& page : book.pages) {
      if (page.gpus <= change.gpus && page.plan) found = &*page.plan;
    }
    if (found != nullptr) return found->is_mixed() || !found->has_even_batch() ? nullptr : found;
  }
  return nullptr;
}

// Whoever knows all losses also knows that D alone would have been the better choice, where a page
// of the book is slower than another page's plan with other replicas.
std::vector<Rung> both(std::vector<Rung> some, const std::vector<Rung>& others) {
  some.insert(some.end(), others.begin(), others.end());
  return useful_rungs(std::move(some));
}

std::vector<std::string> types_of_plans(const PlanBook& book) {
  std::vector<std::string> types;
  for (const BookPage& page : book.pages) {
    if (!page.plan) continue;
    for (const std::string& type : page.plan->device_types()) {
      if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    }
  }
  return types;
}

// A book that does not count types takes GPUs of one type as just GPUs, if they are those that its
// plans run on.
void require_only_type(const PlanBook& book, const Availability& recording,
                       const std::string& file) {
  const std::vector<std::string> types = types_of_plans(book);
  if (types.empty() || types == recording.types) return;
  throw_bad_input(file + ": all of its GPUs are of type " + recording.types.front() +
                  ", and the book is for " + joined(types, ", ") + "\nhelp: leave the type out (" +
                  (recording.machines.empty() ? "gpus in place of gpus:" + recording.types.front()
                                              : std::string("no column device")) +
                  "): then whichever GPUs are there count");
}

Availability without_types(Availability recording) {
  recording.types.clear();
  for (AvailabilityChange& change : recording.changes) change.of_types.clear();
  for (AvailableMachine& machine : recording.machines) machine.type = 0;
  return recording;
}

}  // namespace

int most_gpus(const PlanBook& book) { return book.pages.empty() ? 0 : book.pages.back().gpus; }

Availability in_types_of(const PlanBook& book, Availability recording, const std::string& file) {
  if (book.counts_types() && recording.types.empty()) {
    throw_bad_input(file + ": the book counts device types (" + joined(book.types, ", ") +
                    "), and this recording does not say of which type a GPU is\nhelp: a column "
                    "device beside node and event, or gpus:" +
                    joined(book.types, ", gpus:") + " in place of gpus");
  }
  if (!book.counts_types() && recording.types.size() == 1) {
    require_only_type(book, recording, file);
    return without_types(std::move(recording));
  }
  if (!book.counts_types() && !recording.types.empty()) {
    throw_bad_input(file + ": it counts device types (" + joined(recording.types, ", ") +
                    "), and the book does not\nhelp: write a book that does: penstock plan ... "
                    "--gpus " +
                    joined(recording.types, "=0..8,") + "=0..8 -o book.json");
  }
  std::vector<std::size_t> place;  // in the book, by type of the recording
  const std::string types = joined(book.types, ", ");
  for (const std::string& type : recording.types) {
    const auto found = std::find(book.types.begin(), book.types.end(), type);
    if (found == book.types.end()) {
      std::string none = file;
      none += ": the book has no devices of type '";
      none += type;
      none += "'; its types are ";
      none += types;
      throw_bad_input(none);
    }
    place.push_back(static_cast<std::size_t>(found - book.types.begin()));
  }
  if (recording.types.empty()) return recording;
  for (AvailabilityChange& change : recording.changes) {
    std::vector<int> counts(book.types.size(), 0);
    for (std::size_t t = 0; t < place.size(); ++t) {
      counts[place[t]] += change.of_types[t];
    }
    change.of_types = std::move(counts);
  }
  for (AvailableMachine& machine : recording.machines) {
    machine.type = static_cast<int>(place[static_cast<std::size_t>(machine.type)]);
  }
  recording.types = book.types;
  return recording;
}

std::vector<PolicyResult> compare_policies(const PlanBook& book, const Availability& recording,
                                           const ChangeCosts& costs) {
  std::vector<PolicyResult> results;
  const auto add = [&](std::string name, const std::vector<Rung>& of,
                       std::unique_ptr<ChangePolicy> policy) {
    results.push_back(replayed(book, std::move(name), recording, of, costs, std::move(policy)));
  };
  const std::vector<Rung> rungs = rungs_of(book);
  std::vector<Rung> all = rungs;
  add("penstock", rungs, expected_gain_policy(recording, rungs, costs));
  add("always the fastest", rungs, always_policy(rungs));
  add("never change", rungs, never_policy(rungs));
  if (const Plan* first = first_plan(book, recording)) {
    const std::vector<Rung> data_only = data_only_rungs(book, *first, most_gpus(book));
    all = both(std::move(all), data_only);
    add("DP only (Varuna)", data_only, always_policy(data_only));
  }
  add("restart all (torchrun)", rungs, restart_all_policy(rungs));
  const auto add_bound = [&](std::string name, double steps) {
    results.push_back({std::move(name), steps, 0.0, 0, {}, {}, false});
  };
  add_bound(kHindsight, most_steps(recording, all, costs));
  add_bound("free changes", steps_of_free_changes(recording, all));
  return results;
}

}  // namespace penstock
