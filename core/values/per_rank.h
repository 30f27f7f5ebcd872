// A value of every pipeline rank, mostly the same for all: then it is kept once.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace penstock {

template <class Value>
class PerRank {
 public:
  PerRank(Value of_all) : of_all_(std::move(of_all)) {}
  static PerRank of_each(std::vector<Value> values) {
    PerRank result{Value{}};
    result.of_each_ = std::move(values);
    return result;
  }

  [[nodiscard]] const Value& operator[](int rank) const {
    return of_each_.empty() ? of_all_ : of_each_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bool is_one_for_all() const { return of_each_.empty(); }

 private:
  Value of_all_;
  std::vector<Value> of_each_;
};

}  // namespace penstock
