// Lengths of samples, one sample a line, told apart by how the first line begins:
//
//   82                                   one integer, the tokens of the sample
//   69,45                                two: encoder and decoder, or prompt and target
//   task,input_tokens,target_tokens      a CSV with named columns; others are skipped
//   {"tokens": 82}                       JSON Lines; a list of token ids counts as its size
//
// Names of one length: tokens, length, input_ids. Of pairs: encoder and decoder, input_tokens and
// target_tokens, context_tokens and generated_tokens. docs/file_formats.md.
#pragma once

#include <string>
#include <string_view>

#include "core/values/sample_lengths.h"

namespace penstock {

// `file` is its name in messages. Error{kBadInput} with line, value and remedy: no length in a
// line, a length of 0 or beyond 16,777,216, lines with one length among lines with two.
SampleLengths read_sample_lengths(std::string_view text, const std::string& file);

}  // namespace penstock
