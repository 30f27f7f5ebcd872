// What people call the choices of a plan in their trainers, and the keys that they have here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// "Tensor_Parallel-Size" -> "tensor-parallel-size": how words are compared.
std::string plain_word(std::string_view typed);

// The key of a degree, of the batch or of the sequence: T, P, D, V, b, M, global-batch or
// sequence-length, in any case ("TP", "pipeline-model-parallel-size", "mbs"; only a lone b or B
// depends on its case, b being the micro-batch size and B the global batch). Empty for any other
// word.
std::string key_called(std::string_view typed);
// The same; any other word stays what it is.
std::string key_or_word(std::string_view typed);
// The key of --cost: F, B, I, W, R, O or C ("fwd", "backward", "p2p"); any other word stays too.
std::string cost_called(std::string_view typed);

// All spellings of a key, in plain form.
std::vector<std::string> names_of_key(std::string_view key);

// The field's short word for such a key: TP, PP, DP, VP, mbs, gbs, M, seq.
std::string field_word(std::string_view key);
// Of a list of keys, those of one letter as field words: what a message lists.
std::vector<std::string> in_field_words(std::vector<std::string> keys);

// The mode of recompute that "off", "never" or "true" is; empty of other words.
std::string recompute_called(std::string_view typed);

}  // namespace penstock
