// Every rank works out the same list of moves from what all ranks held and will hold (state_moves,
// a pure function), so no rank has to ask another one what it sends. Messages between two ranks are
// numbered in the order of that list on both sides, and all of them are posted before any is waited
// for: no order of ranks can deadlock. What was held stays allocated until the moves are done.
#include "runtime_bridge/rebind.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/values/error.h"
#include "runtime_bridge/state_moves.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

// Elements of a tensor as the rank holds them.
Buffer buffer_of(const std::vector<SectionState>& states, const StateMove& move) {
  for (const SectionState& state : states) {
    if (state.section != move.section) continue;
    for (const StatePiece& piece :
         move.kind == StateKind::kParameters ? state.parameters : state.optimizer) {
      if (piece.name != move.name || piece.begin > move.begin || piece.end < move.end) continue;
      return piece.buffer.part(move.begin - piece.begin, move.end - piece.begin);
    }
  }
  throw Error(ErrorKind::kInternal, "'" + move.name + "' of section " +
                                        std::to_string(move.section) +
                                        " is not where the plan has it");
}

class Rebinding {
 public:
  Rebinding(RankState& state, Transport& transport) : state_(state), transport_(transport) {}

  void find(const std::vector<StateMove>& moves, const std::vector<SectionState>& held,
            const std::vector<SectionState>& wanted) {
    const int rank = transport_.rank();
    for (const StateMove& move : moves) {
      if (move.from == move.to) {
        locals_.emplace_back(buffer_of(held, move), buffer_of(wanted, move));
        continue;
      }
      const bool sends = move.from == rank;
      const int peer = sends ? move.to : move.from;
      messages_.push_back(
          {sends, peer, tags_[{sends, peer}]++, buffer_of(sends ? held : wanted, move)});
    }
  }

  // What stays on the rank first: on a GPU nothing else should run beside receives that are open.
  // Then all messages at once: the order, by sender and receiver, is the same on both sides, and no
  // rank waits for one message before it has posted the others.
  Rebound carry_out() {
    Rebound result;
    for (const auto& [from, to] : locals_) {
      if (from.data == to.data) continue;
      state_.copy(from, to);
      result.copied += to.bytes();
    }
    std::vector<std::unique_ptr<Transfer>> transfers;
    transfers.reserve(messages_.size());
    transport_.begin_batch();
    for (const Message& message : messages_) {
      transfers.push_back(message.sends
                              ? transport_.send(message.peer, message.tag, message.buffer)
                              : transport_.receive(message.peer, message.tag, message.buffer));
      (message.sends ? result.sent : result.received) += message.buffer.bytes();
    }
    transport_.end_batch();
    for (const auto& transfer : transfers) transfer->wait();
    return result;
  }

 private:
  struct Message {
    bool sends;
    int peer;
    MessageTag tag;
    Buffer buffer;
  };

  RankState& state_;
  Transport& transport_;
  std::vector<std::pair<Buffer, Buffer>> locals_;
  std::vector<Message> messages_;
  std::map<std::pair<bool, int>, MessageTag> tags_;
};

}  // namespace

Rebound rebind(RankState& state, const RankSetup& setup, const std::vector<RankSetup>& before,
               const std::vector<RankSetup>& after, Transport& transport) {
  const SteadyTime began = steady_now();
  const std::vector<SectionState> held = state.section_states();
  state.lay_out(setup);
  Rebound result;
  if (!before.empty() && before != after) {
    Rebinding rebinding(state, transport);
    rebinding.find(state_moves(state, before, after, transport.rank()), held,
                   state.section_states());
    result = rebinding.carry_out();
  }
  state.let_go();
  result.took = steady_now() - began;
  return result;
}

}  // namespace penstock
