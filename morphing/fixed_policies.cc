// Policies that look at nothing but the number of GPUs: what others do, and what ours must beat.
#include <utility>

#include "morphing/change_policy.h"

namespace penstock {
namespace {

class Always final : public ChangePolicy {
 public:
  explicit Always(std::vector<Rung> rungs, bool restarts)
      : rungs_(std::move(rungs)), restarts_(restarts) {}
  Decision decide(const Situation& situation) override {
    return {fastest_rung(rungs_, situation.gpus, situation.of_types), restarts_, std::nullopt};
  }

 private:
  std::vector<Rung> rungs_;
  bool restarts_;
};

class Never final : public ChangePolicy {
 public:
  explicit Never(std::vector<Rung> rungs) : rungs_(std::move(rungs)) {}
  Decision decide(const Situation& situation) override {
    if (!first_) first_ = fastest_rung(rungs_, situation.gpus, situation.of_types);
    if (!first_ || !fits(rungs_[*first_], situation.gpus, situation.of_types)) return {};
    return {first_, false, std::nullopt};
  }

 private:
  std::vector<Rung> rungs_;
  std::optional<std::size_t> first_;
};

}  // namespace

std::unique_ptr<ChangePolicy> always_policy(std::vector<Rung> rungs) {
  return std::make_unique<Always>(std::move(rungs), false);
}

std::unique_ptr<ChangePolicy> never_policy(std::vector<Rung> rungs) {
  return std::make_unique<Never>(std::move(rungs));
}

std::unique_ptr<ChangePolicy> restart_all_policy(std::vector<Rung> rungs) {
  return std::make_unique<Always>(std::move(rungs), true);
}

}  // namespace penstock
