// Lengths of samples: what is accepted has lengths that training can use, and written as plain
// integers and read again it is the same value.
#include "core/files/read_sample_lengths.h"
#include "fuzz/fuzz.h"

namespace penstock {
namespace {

using fuzz::require;

std::string as_integers(const SampleLengths& lengths) {
  std::string text;
  for (const SampleLength& sample : lengths.samples) {
    text += std::to_string(sample.tokens);
    if (lengths.pairs) text += ',' + std::to_string(sample.decoder_tokens);
    text += '\n';
  }
  return text;
}

void check_lengths(const SampleLengths& lengths) {
  require(!lengths.samples.empty(), "there are no samples");
  for (const SampleLength& sample : lengths.samples) {
    require(sample.tokens >= 1 && sample.decoder_tokens >= 0, "a sample without tokens");
    require(lengths.pairs || sample.decoder_tokens == 0, "a pair among single lengths");
  }
  require(read_sample_lengths(as_integers(lengths), fuzz::kFile) == lengths,
          "written and read again it is another value");
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto lengths = fuzz::accepted(
      text, [](const std::string& file) { return read_sample_lengths(file, fuzz::kFile); });
  if (!lengths) return 0;
  fuzz::remember(text);
  check_lengths(*lengths);
  return 0;
}
