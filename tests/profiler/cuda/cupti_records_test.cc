#include "profiler/cuda/cupti_records.h"

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

template <class Record>
std::optional<ActivityRecord> read(const Record& record) {
  return activity_of(reinterpret_cast<const CUpti_Activity&>(record));
}

TEST_CASE("a kernel's record becomes one of ours") {
  CuptiKernel record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = 1000;
  record.end = 1500;
  record.correlationId = 7;
  record.deviceId = 1;
  record.streamId = 13;
  record.name = "gemm";
  ActivityRecord expected;
  expected.kind = ActivityKind::kKernel;
  expected.start = Duration{1000};
  expected.end = Duration{1500};
  expected.correlation = 7;
  expected.device = 1;
  expected.stream = 13;
  expected.name = "gemm";
  CHECK(read(record) == expected);
}

TEST_CASE("copies and memsets keep their bytes") {
  CuptiMemcpy copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.bytes = 4096;
  copy.correlationId = 3;
  CHECK(read(copy)->kind == ActivityKind::kMemcpy);
  CHECK(read(copy)->bytes == Bytes{4096});
  CHECK(read(copy)->correlation == 3);
  CuptiMemset set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = 64;
  CHECK(read(set)->bytes == Bytes{64});
}

TEST_CASE("host calls keep their thread, runtime and driver apart") {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.threadId = 99;
  call.cbid = 211;
  CHECK(read(call)->kind == ActivityKind::kRuntime);
  CHECK(read(call)->thread == 99);
  CHECK(read(call)->name == "211");
  call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  CHECK(read(call)->kind == ActivityKind::kDriver);
}

TEST_CASE("external ids are ours only in our kind") {
  CUpti_ActivityExternalCorrelation record{};
  record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  record.externalId = 769;
  record.correlationId = 5;
  CHECK(read(record)->external_id == 769);
  CHECK(read(record)->correlation == 5);
  record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1;
  CHECK_FALSE(read(record));
}

TEST_CASE("kinds that nobody asked for are passed over") {
  CUpti_Activity record{};
  record.kind = CUPTI_ACTIVITY_KIND_NAME;
  CHECK_FALSE(read(record));
}

TEST_CASE("codes of CUPTI become errors with their names") {
  CHECK_NOTHROW(check_cupti(CUPTI_SUCCESS, "trace"));
  CHECK_THROWS_WITH_AS(check_cupti(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "trace"),
                       "CUPTI: cannot trace: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)", Error);
}

}  // namespace
}  // namespace penstock
