// Plans that a managed job's book does not have, found on a thread of their own while the job runs:
// for a number of GPUs that has no page, by a search; and for ranks that are slow, by the
// simulator. Their files lie beside those of the book's pages.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/values/plan_book.h"
#include "core/values/plan_file.h"
#include "manager/event_source.h"
#include "manager/job_file.h"

namespace penstock {

// A plan of the book as a file, of the book's own profile and `cluster`, all of the book's or a
// part of it, so that a rank needs no other. Error{kBadInput} when it cannot be priced again.
PlanFile plan_file_of(const PlanBook& book, const ClusterSpec& cluster, const Plan& plan,
                      const InputFile& of_book);
std::string text_of(const PlanFile& plan);

// Why ranks cannot carry it out; empty when they can: not every plan that can be priced is one that
// runs. Whether its model can be built is not asked here (model_of()).
std::string why_not_run(const PlanFile& plan);

// As a managed job counts it; the device types of its ranks where the book counts those.
PlanPage page_of_plan(const PlanBook& book, int page, const Plan& plan, Duration step);

class FoundPlans final : public EventSource {
 public:
  FoundPlans(const JobFile& job, PlanBook book, InputFile of_book, std::function<UtcTime()> clock,
             std::function<void(const std::string&)> complain);
  FoundPlans(const FoundPlans&) = delete;
  FoundPlans& operator=(const FoundPlans&) = delete;
  ~FoundPlans() override;

  void begin(const JobState& state) override;
  std::vector<Event> poll() override;
  void decided(const Event& event, const JobDecision& decision) override;

 private:
  // How many GPUs, where the book counts types of each of these.
  using Size = std::vector<int>;
  struct Found {
    std::optional<Event> event;
    std::string complaint;
  };
  // What should be looked for now, as work for the thread.
  std::optional<std::function<Found()>> next_work();
  [[nodiscard]] bool wants_advice() const;
  [[nodiscard]] std::optional<Size> wanted_size() const;
  [[nodiscard]] bool has_page_for(const Size& size) const;
  [[nodiscard]] Found advise(const JobState& state, int page) const;
  [[nodiscard]] Found search(const Size& size, int page) const;

  const JobFile job_;
  const PlanBook book_;
  const InputFile of_book_;
  const std::function<UtcTime()> clock_;
  const std::function<void(const std::string&)> complain_;
  JobState state_;
  int last_page_ = 0;     // that was found
  std::set<Size> sizes_;  // for which a search has been made
  std::atomic<bool> ends_{false};
  std::future<Found> work_;
};

}  // namespace penstock
