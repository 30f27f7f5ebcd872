// --tokens, --usd-per-gpu-hour, --mtbf-hours, --checkpoint-minutes, --restart-minutes: what the
// whole training takes.
#pragma once

#include <optional>
#include <string>

#include "cli/options/options.h"
#include "core/values/cluster.h"
#include "core/values/plan_file.h"
#include "core/values/profile.h"
#include "report/training_cost.h"

namespace penstock {

struct TrainingCostOptions {
  std::optional<std::string> tokens, price, mtbf, checkpoint, restart;

  void declare(Options& options);
  // What is asked, if anything. Error{kBadInput} for numbers out of range, and for failures without
  // tokens to train on.
  [[nodiscard]] std::optional<TrainingQuestion> question() const;

  // Error{kBadInput} where the price is none.
  void read_price() const;
  // With --usd-per-gpu-hour every device costs that.
  void set_price(ClusterSpec& cluster) const;
  void set_price(PlanFile& file) const;
};

// Error{kBadInput} where --tokens is asked of what has samples without tokens.
void require_tokens(const std::optional<TrainingQuestion>& question, const ModelProfile& profile);
void require_tokens(const std::optional<TrainingQuestion>& question, const Plan& plan);

// "2T" -> 2,000,000,000,000, "1.5B", "300000": exact, K M B T. Error{kBadInput} for anything else,
// and for what is no whole number from 1 to 10^18.
std::int64_t parse_tokens(const std::string& option, const std::string& text);

}  // namespace penstock
