// `penstock train` on real ranks in a program that was built without LibTorch.
#include "core/values/error.h"
#include "runtime_bridge/torch/train_rank.h"

namespace penstock {
namespace {

[[noreturn]] void not_built() {
  throw Error(
      ErrorKind::kMissingResource,
      "this penstock was built without LibTorch, so that it cannot train\nhelp: reconfigure "
      "with -DPENSTOCK_TORCH=ON, or use ranks that sleep as long as the plan predicts (--virtual)");
}

}  // namespace

void check_training(const TrainJob& /*job*/) { not_built(); }
RunEnd train_rank(const TrainJob& /*job*/, const LaunchEnvironment& /*place*/,
                  const TrainHooks& /*hooks*/) {
  not_built();
}
RunEnd train_threads(const TrainJob& /*job*/, const TrainHooks& /*hooks*/) { not_built(); }
SurplusEnd stay_beside_ranks(const LaunchEnvironment& /*place*/, Duration /*time_out*/,
                             const SurplusRank& /*options*/) {
  not_built();
}
HostedStore serve_job_store() { not_built(); }
bool survivors_are_saving(const Environment& /*environment_of_rank*/,
                          const std::string& /*checkpoints*/) {
  not_built();
}
std::function<bool()> whether_ranks_work(const Environment& /*environment_of_rank*/) {
  not_built();
}
std::string words_of_device(const std::string& /*device*/) { not_built(); }
std::string library_words() { not_built(); }

}  // namespace penstock
