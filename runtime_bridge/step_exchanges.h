// What sections gather and reduce by themselves in the middle of a rank's forwards and backwards,
// over the holders of their stage. Private to runtime_bridge/.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime_bridge/execute_step.h"
#include "training/section_exchange.h"

namespace penstock {

class StepExchanges : public SectionExchange {
 public:
  // `communicator`: of an index into the program's.
  StepExchanges(const RankProgram& program, Transport& transport,
                std::function<CommunicatorId(int index)> communicator)
      : program_(program), transport_(transport), communicator_(std::move(communicator)) {}

  void begin_step(StepRecord& record);
  [[nodiscard]] int begin(ActionKind kind, int stage, int section,
                          std::vector<Buffer> buffers) override;
  void finish(int number) override;

 private:
  struct Pending {
    std::vector<std::unique_ptr<Transfer>> transfers;
    // Of sums over a group of shards, what is still to be summed over all groups, and by whom.
    std::vector<Buffer> parts;
    int copies = kNone;
  };

  const RankProgram& program_;
  Transport& transport_;
  std::function<CommunicatorId(int index)> communicator_;
  StepRecord* record_ = nullptr;
  std::vector<Pending> pending_;  // as record_->sections
};

}  // namespace penstock
