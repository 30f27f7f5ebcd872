#include "profiler/measure_beside.h"

#include <atomic>

#include <doctest/doctest.h>

#include "tests/profiler/fake_work.h"
#include "tests/profiler/local_transport.h"

namespace penstock {
namespace {

using tests::FakeDevice;
using tests::FakeWork;
using tests::four_stages;

ChainToMeasure chain_of_four() {
  ChainToMeasure chain;
  chain.sections = {0, 1, 2, 3};
  chain.types = {"embedding", "block", "block", "head"};
  return chain;
}

TEST_CASE("rank 0 measures while the others run the same steps, and ends them") {
  tests::LocalJob job(3);
  std::atomic<int> empty = 0, measured = 0;
  job.run([&](Transport& transport) {
    FakeDevice device;
    FakeWork work(device, four_stages(), false);
    ProfilingProgress progress;
    const RanksBeside beside{.job = &transport, .ranks = 3};
    const ChainSamples samples =
        measure_beside(chain_of_four(), work, device, {}, progress, beside);
    CHECK(same_answer(transport.rank() == 0, beside));
    if (samples.sections.empty()) ++empty;
    if (samples.sections.size() == 3) ++measured;
  });
  CHECK(measured == 1);
  CHECK(empty == 2);
}

TEST_CASE("a rank that is alone just measures") {
  FakeDevice device;
  FakeWork work(device, four_stages(), false);
  ProfilingProgress progress;
  CHECK(measure_beside(chain_of_four(), work, device, {}, progress, {}).sections.size() == 3);
}

}  // namespace
}  // namespace penstock
