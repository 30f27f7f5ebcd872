#include "training/document_set.h"

#include <algorithm>

namespace penstock {

void DocumentSet::add(std::span<const std::int32_t> ids, std::span<const std::int32_t> target,
                      int most) {
  const auto limit = static_cast<std::size_t>(most);
  const std::size_t first = std::min(ids.size(), limit);
  const std::size_t second = std::min(target.size(), pairs_ ? limit : limit - first);
  if (first < ids.size() || second < target.size()) ++cut_;
  first_.push_back(ids_.size());
  ids_.insert(ids_.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(first));
  ids_.insert(ids_.end(), target.begin(), target.begin() + static_cast<std::ptrdiff_t>(second));
  if (pairs_) {
    lengths_.push_back({static_cast<int>(first), static_cast<int>(second)});
  } else {
    lengths_.push_back({static_cast<int>(first + second), 0});
  }
}

std::int64_t DocumentSet::fed_tokens(std::int64_t document) const {
  const SampleLength& one = length(document);
  return pairs_ ? std::int64_t{one.tokens} + one.decoder_tokens : one.tokens - 1;
}

std::int64_t DocumentSet::loss_tokens(std::int64_t document) const {
  const SampleLength& one = length(document);
  return pairs_ ? one.decoder_tokens : one.tokens - 1;
}

TokenSample DocumentSet::sample(std::int64_t document) const {
  const SampleLength& one = length(document);
  const auto begin =
      ids_.begin() + static_cast<std::ptrdiff_t>(first_[static_cast<std::size_t>(document)]);
  const auto end = begin + one.tokens;
  TokenSample sample;
  if (pairs_) {
    sample.inputs.assign(begin, end);
    sample.targets.assign(end, end + one.decoder_tokens);
  } else {
    sample.inputs.assign(begin, end - 1);
    sample.targets.assign(begin + 1, end);
  }
  return sample;
}

}  // namespace penstock
