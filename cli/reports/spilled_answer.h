// `plan --spill`: a model on one device and its host. And what spilling would do where nothing
// fits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/io/answer.h"
#include "cli/options/table_format.h"
#include "report/screen.h"
#include "search/question.h"
#include "spilling/spilled_plan.h"

namespace penstock {

struct SpillOptions {
  bool spill = false, clips = false;
  std::optional<std::string> shards, host_gib, host_bandwidth;

  void declare(class Options& options);
  // Their names, which mean something with --spill alone.
  [[nodiscard]] static std::vector<std::string> names();
};

// Exit code 1 with the reason where it does not fit even so. `output`: where the plan file is
// written, "-" for stdout. Error{kBadInput} where nothing is known of the host.
Answer spilled_answer(const Question& question, const SpillOptions& options,
                      const std::optional<std::string>& output, TableFormat format, bool in_full,
                      Screen screen);

// Of a node with the question's device: the cluster's, else the datasheet's; nothing when neither
// says.
std::optional<HostOfNode> host_known(const Question& question);
// The question's model on one GPU with that host.
std::optional<SpilledPlan> spilled_on(const Question& question, const HostOfNode& host);

// One sentence, for a question without a plan; empty where spilling does not help either, or where
// nothing is known of the host.
std::string spill_remedy(const Question& question);

}  // namespace penstock
