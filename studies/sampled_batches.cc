#include "studies/sampled_batches.h"

#include <cstddef>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

// splitmix64: the same everywhere. That a remainder prefers small numbers is of no weight here: by
// less than one in 10^11 for as many samples as a file may have.
class Shuffled {
 public:
  Shuffled(std::size_t samples, std::uint64_t seed) : order_(samples), state_(seed) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    next_ = order_.size();
  }

  std::size_t next() {
    if (next_ == order_.size()) begin_epoch();
    return order_[next_++];
  }

 private:
  void begin_epoch() {
    for (std::size_t i = order_.size(); i > 1; --i) {
      std::swap(order_[i - 1], order_[static_cast<std::size_t>(number() % i)]);
    }
    next_ = 0;
  }

  std::uint64_t number() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }

  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
  std::uint64_t state_;
};

}  // namespace

std::vector<LengthBatch> sampled_batches(const LengthBatch& samples, const LengthRounding& rounding,
                                         const SampledBatches& asked) {
  std::vector<LengthBatch> batches;
  Shuffled shuffled(samples.size(), asked.seed);
  SampleLength sample = samples[shuffled.next()];
  for (int i = 0; i < asked.count; ++i) {
    LengthBatch& batch = batches.emplace_back();
    std::int64_t tokens = 0;
    do {
      batch.push_back(sample);
      tokens += real_tokens_of(sample, rounding);
      sample = samples[shuffled.next()];
    } while (tokens + real_tokens_of(sample, rounding) <= asked.tokens);
  }
  return batches;
}

}  // namespace penstock
