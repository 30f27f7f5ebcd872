#include "training/rank_work.h"

#include "core/values/error.h"

namespace penstock {

void RankWork::begin_evaluation(std::int64_t /*batch*/) {
  throw Error(ErrorKind::kInternal, "this rank's work has no evaluation");
}

}  // namespace penstock
