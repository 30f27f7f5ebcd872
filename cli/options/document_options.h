// Options of training on documents: samples that differ in length, and how their steps are planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.h"

namespace penstock {

// How the plan of every step is made.
struct DocumentPlanning {
  std::string profile, cluster;        // files; empty: those that the plan names
  std::optional<int> longest;          // of a document; nothing: what was measured
  std::vector<std::string> schedules;  // to choose among; empty: all that there are
  int pad_to = 8;                      // lengths are padded to multiples of it
  std::int64_t replays = 200;          // that each search for an order may take
  int threads = 1, ahead = 2;
};

class DocumentOptions {
 public:
  void declare(Options& options);

  // Error{kBadInput} for what makes no sense, and for options of documents where there are none.
  // `given`: names of all options that were.
  void check(const std::vector<std::string>& given) const;
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  [[nodiscard]] std::int64_t tokens_per_batch() const;
  [[nodiscard]] DocumentPlanning planning() const;
  [[nodiscard]] std::string statistics() const { return statistics_.value_or(""); }

 private:
  std::vector<std::string> files_;
  std::optional<std::string> tokens_, longest_, profile_, cluster_, schedules_, pad_to_, replays_,
      threads_, ahead_, statistics_;
};

}  // namespace penstock
