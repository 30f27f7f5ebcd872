#include "training/document_batches.h"

#include <cstddef>
#include <utility>

#include "training/mixed_bits.h"
#include "training/shuffled_order.h"

namespace penstock {

DocumentBatches::DocumentBatches(std::shared_ptr<const DocumentSet> documents, const Start& start)
    : documents_(std::move(documents)), start_(start), taken_{start.taken} {}

// The documents that the run takes as its number `taken`.
std::int64_t DocumentBatches::document(std::int64_t taken) const {
  const auto n = static_cast<std::uint64_t>(documents_->documents());
  const std::uint64_t epoch = static_cast<std::uint64_t>(taken) / n;
  const ShuffledOrder order(n, mixed_bits({start_.seed, epoch}));
  return static_cast<std::int64_t>(order(static_cast<std::uint64_t>(taken) % n));
}

std::int64_t DocumentBatches::taken_before(std::int64_t step) const {
  const std::scoped_lock lock(mutex_);
  const auto wanted = static_cast<std::size_t>(step - start_.step);
  while (taken_.size() <= wanted) {
    std::int64_t next = taken_.back(), tokens = 0;
    do {
      tokens += documents_->fed_tokens(document(next));
      ++next;
    } while (tokens + documents_->fed_tokens(document(next)) <= start_.tokens);
    taken_.push_back(next);
  }
  return taken_[wanted];
}

std::vector<std::int64_t> DocumentBatches::of_step(std::int64_t step) const {
  const std::int64_t first = taken_before(step), end = taken_before(step + 1);
  std::vector<std::int64_t> documents;
  documents.reserve(static_cast<std::size_t>(end - first));
  for (std::int64_t taken = first; taken < end; ++taken) documents.push_back(document(taken));
  return documents;
}

std::vector<SampleLength> DocumentBatches::lengths_of_step(std::int64_t step) const {
  std::vector<SampleLength> lengths;
  for (const std::int64_t document : of_step(step)) lengths.push_back(documents_->length(document));
  return lengths;
}

TokenSample DocumentBatches::sample(const ModelDescription& /*model*/, const SampleId& id) const {
  return documents_->sample(document(taken_before(id.step) + id.sample));
}

std::int64_t DocumentBatches::targets_of_step(const ModelDescription& /*model*/,
                                              std::uint64_t /*seed*/, std::int64_t step,
                                              int /*global_batch*/, int /*sequence_length*/) const {
  std::int64_t targets = 0;
  for (const std::int64_t document : of_step(step)) targets += documents_->loss_tokens(document);
  return targets;
}

}  // namespace penstock
