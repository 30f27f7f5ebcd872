#include "search/refuse_request.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::model_of_sections;
using testing::search;

// A thread that was joined may be listed for a while after; its flags (proc(5), stat, field 9) say
// that it is on its way out, before join() returns.
bool is_ending(const std::filesystem::path& thread) {
  constexpr unsigned long kExiting = 0x4;
  std::ifstream file(thread / "stat");
  std::string text;
  if (!std::getline(file, text)) return true;  // gone since it was listed
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 9; ++field) fields >> skipped;
  unsigned long flags = 0;
  fields >> flags;
  return (flags & kExiting) != 0;
}

// Of this process, the test's own included.
int threads_now() {
  int threads = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (!is_ending(thread.path())) ++threads;
  }
  return threads;
}

struct ThreadCounter : SearchProgress {
  int most = 0;
  bool stop() override {
    most = std::max(most, threads_now());
    return false;
  }
};

TEST_CASE("a search runs on as many threads as it is given, and no more") {
  const ModelProfile model = model_of_sections(std::vector<testing::Costs>(12));
  const ClusterSpec cluster = cluster_of({4, 4});
  const PlanInputs inputs{&model, &cluster, {}, std::nullopt};
  const int before = threads_now();
  SearchRequest request;
  request.gpus = 16;
  request.global_batch = 16;
  for (const int threads : {1, 3}) {
    ThreadCounter counter;
    request.threads = threads;
    CHECK_FALSE(best_plans(inputs, request, counter).best.empty());
    CHECK(counter.most >= before);
    CHECK(counter.most <= before + threads - 1);
  }
}

TEST_CASE("requests that make no sense are refused by name") {
  const ModelProfile model = model_of_sections({{}, {}});
  const ClusterSpec cluster = cluster_of({2, 4});
  const auto refusal = [&](auto change) -> std::string {
    SearchRequest request;
    request.gpus = 8;
    request.global_batch = 16;
    change(request);
    try {
      search(model, cluster, request);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadInput);
      return error.what();
    }
    return "accepted";
  };
  CHECK(refusal([](SearchRequest&) {}) == "accepted");
  CHECK(refusal([](auto& r) { r.gpus = 0; }) == "--gpus 0: at least one is needed");
  CHECK(refusal([](auto& r) { r.gpus = 9; }) == "--gpus 9: cluster 'toys' has only 8 devices");
  CHECK(refusal([](auto& r) { r.global_batch = 0; }) ==
        "--global-batch 0: at least one sample per step is needed");
  CHECK(refusal([](auto& r) { r.threads = 0; }) == "--threads 0: must be 1 to 1024");
  CHECK(refusal([](auto& r) { r.threads = 30'000; }) == "--threads 30000: must be 1 to 1024");
  const std::string unknown = refusal([](auto& r) { r.pins.schedules = {"1f1b", "2f2b"}; });
  CHECK(unknown.starts_with("unknown schedule '2f2b'; known: gpipe, 1f1b, interleaved, "));
  CHECK(refusal([](auto& r) { r.pins.device = "tpu"; }) ==
        "cluster 'toys' has no device 'tpu'; it has: gpu");
  CHECK(refusal([](auto& r) { r.top = 0; }) == "--top 0: at least one plan is to be shown");
  CHECK(refusal([](auto& r) { r.pins.pipeline = 0; }) == "--pin P=0: must be at least 1");
  CHECK(refusal([](auto& r) { r.pins.chunks = -1; }) == "--pin V=-1: must be at least 1");
  CHECK(refusal([](auto& r) { r.pins.data = 0; }) == "--pin D=0: must be at least 1");
  CHECK(refusal([](auto& r) { r.pins.tensor = 0; }) == "--pin T=0: must be at least 1");
  CHECK(refusal([](auto& r) { r.pins.micro_batch_size = 0; }) == "--pin b=0: must be at least 1");
  CHECK(refusal([](auto& r) {
          r.pins.offload = true;
          r.pins.sharding = Sharding::kFsdp;
        }).starts_with("--pin offload=optimizer: FSDP keeps its master weights"));
  CHECK(refusal([](auto& r) { r.pins.expert = 1; }) == "accepted");
  CHECK(refusal([](auto& r) { r.pins.expert = 2; }) ==
        "--pin EP=2: model 'toy' has no experts\nhelp: leave EP out, or give a model with experts");
}

}  // namespace
}  // namespace penstock
