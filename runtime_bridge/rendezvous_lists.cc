// A batch ends where something other than a transfer stands in the list, which is where the
// executor would have to wait; collectives are batches of one. Communicators are numbered by their
// names, so two ranks that mean the same group give it the same number. The order must be the one
// in which StepReductions issues collectives, or the check would judge another program than the one
// that runs.
#include "runtime_bridge/rendezvous_lists.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "core/values/action_rules.h"
#include "runtime_bridge/stage_groups.h"

namespace penstock {
namespace {

using Kind = RendezvousItem::Kind;

// The number of a communicator in the whole job, by its name.
using Numbers = std::map<std::string, int>;

class ListOfRank {
 public:
  ListOfRank(const RankProgram& program, Numbers& numbers)
      : program_(program), numbers_(numbers), tied_stages_(program.ties.size(), 0) {}

  std::vector<RendezvousBatch> read() {
    for (const RankAction& action : program_.actions) {
      if (is_send(action.kind) || is_receive(action.kind)) {
        add_transfer(action);
      } else {
        batch_is_open_ = false;
        add_collectives(action);
      }
    }
    return std::move(batches_);
  }

 private:
  void add_transfer(const RankAction& action) {
    if (!batch_is_open_) batches_.emplace_back();
    batch_is_open_ = true;
    const std::string name = std::to_string(action.stage) + std::string(name_of(action.kind)) +
                             std::to_string(action.micro_batch);
    batches_.back().push_back(
        {is_send(action.kind) ? Kind::kSend : Kind::kReceive, action.peer, action.tag, name});
  }

  // As StepReductions issues them.
  void add_collectives(const RankAction& action) {
    const CollectiveRule& rule = rule_of(action.kind).collective;
    if (rule.group == GroupOf::kJob) {
      for (const StageSetup& stage : program_.setup.stages) sum_over_groups(stage.stage);
    } else if (rule_of(action.kind).updates) {
      sum_over_groups(action.stage);
    }
    switch (rule.group) {
      case GroupOf::kTie:
        return add_tie(static_cast<std::size_t>(action.tie));
      case GroupOf::kJob:
        return add(program_.job, action);
      case GroupOf::kHolders:
        return add_of_holders(action, groups_of(program_, action.stage), rule.gathers);
      case GroupOf::kNobody:
        break;
    }
  }

  void add_of_holders(const RankAction& action, const StageGroups& groups, bool gathers) {
    const bool shards = program_.setup.zero1;
    if (gathers) {
      if (shards) add(groups.shards, action);
      return;
    }
    add(shards ? groups.shards : groups.holders, action);
    if (shards && groups.copies != kNone) sharded_.insert(action.stage);
    // Of tied weights, over the replicas.
    for (std::size_t i = 0; i < groups.ties.size(); ++i) add(groups.replicas, action);
  }

  // Of shards (HSDP), once somebody waits for the sum over the group.
  void sum_over_groups(int stage) {
    if (sharded_.erase(stage) == 0) return;
    add(groups_of(program_, stage).copies, std::string(name_of(ActionKind::kReduceGradient)));
  }

  // The rank takes part once, when all of its stages with these weights are there.
  void add_tie(std::size_t tie) {
    const TieGroups& groups = program_.ties[tie];
    if (++tied_stages_[tie] < groups.own_stages.size()) return;
    add(groups.communicator, "TIED_REDUCE");
  }

  void add(int communicator, const RankAction& action) {
    add(communicator, std::string(name_of(action.kind)));
  }
  void add(int communicator, const std::string& what) {
    if (communicator == kNone) return;
    const std::string& group = program_.communicators[static_cast<std::size_t>(communicator)].name;
    const int number = numbers_.emplace(group, static_cast<int>(numbers_.size())).first->second;
    batches_.push_back({{Kind::kCollective, number, 0, what + " of " + group}});
  }

  const RankProgram& program_;
  Numbers& numbers_;
  std::vector<std::size_t> tied_stages_;  // [tie]: how many have been there
  std::set<int> sharded_;                 // stages whose shards are still to be summed
  std::vector<RendezvousBatch> batches_;
  bool batch_is_open_ = false;
};

}  // namespace

RendezvousLists rendezvous_lists(const std::vector<RankProgram>& programs) {
  Numbers numbers;
  RendezvousLists lists;
  lists.reserve(programs.size());
  for (const RankProgram& program : programs) {
    lists.push_back(ListOfRank(program, numbers).read());
  }
  return lists;
}

std::vector<std::pair<int, int>> ways_of(const RankProgram& program) {
  const int rank = program.setup.rank;
  std::set<std::pair<int, int>> ways;
  for (const RankAction& action : program.actions) {
    if (is_send(action.kind)) ways.emplace(rank, action.peer);
    if (is_receive(action.kind)) ways.emplace(action.peer, rank);
  }
  return {ways.begin(), ways.end()};
}

}  // namespace penstock
