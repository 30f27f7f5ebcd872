// Documents: samples that differ in length, as token ids. Of an encoder-decoder model a document is
// a pair; else its two parts, where it has two, are one sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/values/model_description.h"
#include "core/values/sample_lengths.h"
#include "training/token_source.h"

namespace penstock {

class DocumentSet {
 public:
  // `pairs`: they are for an encoder-decoder model.
  explicit DocumentSet(bool pairs) : pairs_(pairs) {}

  // Behind those that are there; `target` is empty where the document has one part. What is beyond
  // `most` tokens, of each part or of both together where they are one sample, is cut off.
  void add(std::span<const std::int32_t> ids, std::span<const std::int32_t> target, int most);

  [[nodiscard]] bool pairs() const { return pairs_; }
  [[nodiscard]] std::int64_t documents() const {
    return static_cast<std::int64_t>(lengths_.size());
  }
  [[nodiscard]] const SampleLength& length(std::int64_t document) const {
    return lengths_[static_cast<std::size_t>(document)];
  }
  // How many were longer than they are now.
  [[nodiscard]] std::int64_t cut() const { return cut_; }

  // What a model has of it: the tokens that it is fed, of both sides, and those that its loss is
  // taken of. Where each token predicts the next, the last one is not fed.
  [[nodiscard]] std::int64_t fed_tokens(std::int64_t document) const;
  [[nodiscard]] std::int64_t loss_tokens(std::int64_t document) const;
  [[nodiscard]] TokenSample sample(std::int64_t document) const;

 private:
  bool pairs_;
  std::vector<std::int32_t> ids_;      // of all, one after the other
  std::vector<std::size_t> first_;     // by document, in ids_
  std::vector<SampleLength> lengths_;  // decoder tokens of pairs only
  std::int64_t cut_ = 0;
};

}  // namespace penstock
