// The messages of one rank and step: posted in time, each waited for once. Private to
// runtime_bridge/.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime_bridge/execute_step.h"

namespace penstock {

// When a transfer ended: as the transport knows it, else now.
[[nodiscard]] SteadyTime end_of(const Transfer& transfer, const Transport& transport);
// Waits for all and drops them: when the last ended, or `since` if there are none that ended later.
SteadyTime wait_for_all(std::vector<std::unique_ptr<Transfer>>& transfers,
                        const Transport& transport, SteadyTime since);

class StepTransfers {
 public:
  StepTransfers(const RankProgram& program, RankWork& work, Transport& transport,
                int transfers_ahead)
      : actions_(program.actions),
        work_(work),
        transport_(transport),
        transfers_ahead_(static_cast<std::size_t>(transfers_ahead)),
        most_open_(transport.most_open_receives()) {}

  void begin(StepRecord& record);
  // At every action, before it is carried out: posts the receives among the transfers that come
  // next, and looks which sends have ended. `order` lists actions, and `at` is the place in it.
  void look_ahead(const std::vector<int>& order, std::size_t at);
  // The transfers from `at` up to the next action of another kind, and before `end`, together.
  void issue(const std::vector<int>& order, std::size_t at, std::size_t end);
  // Until what a receive brings is there. Returns how long that took.
  Duration wait_for(int receive);
  [[nodiscard]] bool has_arrived(int receive);
  void wait_for_send(int send);  // that was issued
  void wait_for_sends();

 private:
  struct Send {
    int action;
    std::unique_ptr<Transfer> transfer;
  };

  [[nodiscard]] const RankAction& action(int index) const {
    return actions_[static_cast<std::size_t>(index)];
  }
  void post(int index);
  void post_with_earlier(int receive);
  void post_together(const std::vector<int>& transfers);
  // Whether the transport takes one more receive from that rank; `open`, by rank, counts it then.
  bool has_room(int receive, std::map<int, int>& open) const;
  [[nodiscard]] std::map<int, int> open_receives() const;
  std::vector<int> late_with_room(std::map<int, int>& open);
  void end_send(const Send& send);

  const std::vector<RankAction>& actions_;
  RankWork& work_;
  Transport& transport_;
  std::size_t transfers_ahead_;
  std::optional<int> most_open_;  // receives from one rank
  StepRecord* record_ = nullptr;
  std::vector<bool> posted_;                          // [action]
  std::vector<std::unique_ptr<Transfer>> receiving_;  // [action]
  std::vector<Send> sending_;
  std::vector<int> late_;  // receives whose place has passed, not posted for want of room
};

}  // namespace penstock
