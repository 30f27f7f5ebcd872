// Values that cannot be read are told all at once: whoever types one as another tool has it types
// several. Only here, beside main(), are Errors caught.
#pragma once

#include <string>
#include <vector>

#include "cli/options/search_options.h"
#include "cli/options/training_cost_options.h"
#include "core/values/error.h"

namespace penstock {

class WrongValues {
 public:
  // Keeps what `read` throws.
  template <class Read>
  void check(const Read& read) {
    try {
      read();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInternal) throw;
      letters_.push_back(error);
    }
  }
  void check(const SearchOptions& given);
  void check(const TrainingCostOptions& training);
  // If a value was wrong, what else the question needs.
  void check_missing(const SearchOptions& given);
  // Error of the kind of the first, with all of them; nothing where all could be read.
  void refuse() const;

 private:
  std::vector<Error> letters_;
};

}  // namespace penstock
