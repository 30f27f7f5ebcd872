// Training data: a text whose bytes are the tokens. The bytes of a sample begin at a place that is
// drawn by the seed, with replacement: a text has no epochs.
#pragma once

#include <cstddef>
#include <string>

#include "training/token_source.h"

namespace penstock {

class ByteData : public TokenSource {
 public:
  // Error{kBadInput} when `text` is shorter than one sample, with what is needed; `file` is its
  // name there.
  ByteData(std::string text, int sequence_length, const std::string& file);

  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] TokenSample sample(const ModelDescription& model,
                                   const SampleId& id) const override;

 private:
  std::string text_;
  std::size_t length_;
};

}  // namespace penstock
