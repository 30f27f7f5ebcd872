// What a plan file lists and follows from no rule: that an action waits for the end of one on
// another rank. A message of one byte says so. Private to runtime_bridge/.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "runtime_bridge/execute_step.h"

namespace penstock {

class StepSignals {
 public:
  StepSignals(const RankProgram& program, Transport& transport)
      : program_(program), transport_(transport), bytes_(program.signals.size()) {}

  // Posts the receives of the step.
  void begin();
  // Until the other ranks have said what the action waits for.
  void wait_for(int action);
  // Tells those that wait for it.
  void has_ended(int action);
  void wait_for_sends();

 private:
  [[nodiscard]] Buffer byte_of(std::size_t signal) {
    return {&bytes_[signal], 1, ElementType::kByte};
  }

  const RankProgram& program_;
  Transport& transport_;
  std::vector<std::byte> bytes_;                           // [signal]
  std::multimap<int, std::unique_ptr<Transfer>> awaited_;  // by action
  std::vector<std::unique_ptr<Transfer>> sending_;
};

}  // namespace penstock
