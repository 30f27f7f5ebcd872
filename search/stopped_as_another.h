// The progress of a search that another asks: it ends with that one, whose counts it does not
// touch.
#pragma once

#include "search/best_plans.h"

namespace penstock {

class StoppedAsAnother : public SearchProgress {
 public:
  explicit StoppedAsAnother(SearchProgress& other) : other_(other) {}
  bool stop() override { return other_.stop(); }

 private:
  SearchProgress& other_;
};

}  // namespace penstock
