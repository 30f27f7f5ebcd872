#include "profiler/measure_beside.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace penstock {
namespace {

constexpr MessageTag kReady = 1, kDone = 2, kAnswer = 3;

Buffer word(std::int64_t& value) {
  Buffer buffer;
  buffer.data = reinterpret_cast<std::byte*>(&value);
  buffer.elements = 1;
  buffer.type = ElementType::kInt64;
  return buffer;
}

void tell_others(const RanksBeside& beside, MessageTag tag, std::int64_t value) {
  for (int peer = 1; peer < beside.ranks; ++peer) beside.job->send(peer, tag, word(value))->wait();
}

}  // namespace

ChainSamples measure_beside(const ChainToMeasure& chain, RankWork& work, Device& device,
                            const SamplingRule& rule, ProfilingProgress& progress,
                            const RanksBeside& beside) {
  std::int64_t value = 0;
  if (beside.rank() > 0) {
    const std::unique_ptr<Transfer> done = beside.job->receive(0, kDone, word(value));
    std::int64_t ready = 1;
    beside.job->send(0, kReady, word(ready))->wait();
    keep_running(chain, work, [&] { return done->done(); });
    done->wait();
    return {};
  }
  for (int peer = 1; peer < beside.ranks; ++peer) {
    beside.job->receive(peer, kReady, word(value))->wait();
  }
  ChainSamples samples = measure_chain(chain, work, device, rule, progress);
  tell_others(beside, kDone, 1);
  return samples;
}

bool same_answer(bool answer, const RanksBeside& beside) {
  std::int64_t value = answer ? 1 : 0;
  if (beside.rank() > 0) beside.job->receive(0, kAnswer, word(value))->wait();
  if (beside.rank() == 0) tell_others(beside, kAnswer, value);
  return value == 1;
}

}  // namespace penstock
