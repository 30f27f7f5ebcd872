#include "core/check/check.h"

#include "core/check/check_parts.h"

namespace penstock {

CheckReport check(const PlanFile& file) {
  Findings findings;
  CheckReport report;
  if (check_tables(file, findings)) {
    RankLists lists(static_cast<std::size_t>(file.program.ranks()));
    for (const Action& action : file.program.actions) {
      lists[static_cast<std::size_t>(file.program.rank_of(action).value)].push_back(action);
    }
    Findings in_lists;
    check_lists(file, lists, in_lists);
    check_slots(file, lists, in_lists);
    // Memory and time of lists that are not a step at all would mean nothing.
    if (in_lists.empty()) {
      if (file.program.rule != RunTimeRule::kNone) lists = executed_lists(file, lists, findings);
      report.memory = check_memory(file, lists, findings);
      report.replayed = check_replay(file, lists, findings);
      check_flops(file, report.replayed, findings);
    }
    report.findings = in_lists.take();
  }
  for (Finding& finding : findings.take()) report.findings.push_back(std::move(finding));
  return report;
}

}  // namespace penstock
