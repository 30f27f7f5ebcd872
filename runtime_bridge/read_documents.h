// Documents from files: samples that differ in length, one a line.
#pragma once

#include <string>
#include <vector>

#include "core/values/model_description.h"
#include "training/document_set.h"

namespace penstock {

struct DocumentFiles {
  DocumentSet documents{false};
  std::vector<std::string> names;
  std::string bytes;  // of all files, one after the other, for a checksum
};

// A text has a document per line, whose bytes are the tokens; of a pair a tab stands between the
// two parts. JSON Lines have token ids (tokens, or input_ids; the second part: labels) or texts
// (text; or inputs and targets); other members are skipped. Which it is, the first line says: a
// brace begins JSON. Blank lines are no documents. What is longer than `most` tokens is cut off.
//
// Error{kBadInput} with file, line, value and remedy: a document that has nothing to predict, ids
// outside the model's vocabulary, one part where the model takes two, a model that is not trained
// on documents. Names may be patterns.
DocumentFiles read_documents(const std::vector<std::string>& names, const ModelDescription& model,
                             int most);

}  // namespace penstock
