// Candidates that cannot run, counted by reason; per reason the one that missed by least.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/plan.h"

namespace penstock {

class Rejections {
 public:
  // `count` candidates like `plan`.
  void add(const Rejection& why, std::int64_t count, const Plan& plan);
  void add(const std::string& reason, std::int64_t count, const Plan& plan);
  void merge(const Rejections& other);

  struct Entry {
    Rejection rejection;
    Plan closest;  // the plan that was over by least
  };
  // Most frequent first, ties by text.
  [[nodiscard]] std::vector<Entry> sorted() const;

 private:
  std::map<std::string, Entry> by_reason_;
};

}  // namespace penstock
