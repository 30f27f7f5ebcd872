// A switch over the kinds of records that the profiler asks for; any other record is none of ours.
// Only external correlation ids of our own kind count, since libraries push theirs as well. Codes
// that say that the machine or the driver cannot trace become an error of the environment, all
// others an internal one.
#include "profiler/cuda/cupti_records.h"

#include "core/values/error.h"

namespace penstock {
namespace {

Duration from_ns(std::uint64_t ns) { return Duration{static_cast<std::int64_t>(ns)}; }

template <class Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

template <class Record>
ActivityRecord timed(ActivityKind kind, const Record& record) {
  ActivityRecord activity;
  activity.kind = kind;
  activity.start = from_ns(record.start);
  activity.end = from_ns(record.end);
  activity.correlation = record.correlationId;
  return activity;
}

template <class Record>
ActivityRecord on_device(ActivityKind kind, const Record& record) {
  ActivityRecord activity = timed(kind, record);
  activity.device = record.deviceId;
  activity.stream = record.streamId;
  return activity;
}

ActivityRecord kernel(const CuptiKernel& record) {
  ActivityRecord activity = on_device(ActivityKind::kKernel, record);
  if (record.name != nullptr) activity.name = record.name;
  return activity;
}

ActivityRecord host_call(ActivityKind kind, const CUpti_ActivityAPI& record) {
  ActivityRecord activity = timed(kind, record);
  activity.thread = record.threadId;
  activity.name = std::to_string(record.cbid);
  return activity;
}

ActivityRecord external(const CUpti_ActivityExternalCorrelation& record) {
  ActivityRecord activity;
  activity.kind = ActivityKind::kExternalCorrelation;
  activity.correlation = record.correlationId;
  activity.external_id = record.externalId;
  return activity;
}

template <class Record>
ActivityRecord with_bytes(ActivityKind kind, const Record& record) {
  ActivityRecord activity = on_device(kind, record);
  activity.bytes = {static_cast<std::int64_t>(record.bytes)};
  return activity;
}

}  // namespace

std::optional<ActivityRecord> activity_of(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return kernel(as<CuptiKernel>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return with_bytes(ActivityKind::kMemcpy, as<CuptiMemcpy>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return with_bytes(ActivityKind::kMemset, as<CuptiMemset>(record));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return host_call(ActivityKind::kRuntime, as<CUpti_ActivityAPI>(record));
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return host_call(ActivityKind::kDriver, as<CUpti_ActivityAPI>(record));
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      if (as<CUpti_ActivityExternalCorrelation>(record).externalKind !=
          CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
        return std::nullopt;
      }
      return external(as<CUpti_ActivityExternalCorrelation>(record));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return timed(ActivityKind::kOverhead, as<CuptiOverhead>(record));
    default:
      return std::nullopt;
  }
}

void check_cupti(CUptiResult code, const std::string& what) {
  if (code == CUPTI_SUCCESS) return;
  const char* name = nullptr;
  if (cuptiGetResultString(code, &name) != CUPTI_SUCCESS || name == nullptr) name = "unknown code";
  const bool missing = code == CUPTI_ERROR_NOT_INITIALIZED || code == CUPTI_ERROR_UNKNOWN ||
                       code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
                       code == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ||
                       code == CUPTI_ERROR_OUT_OF_MEMORY || code == CUPTI_ERROR_NOT_SUPPORTED ||
                       code == CUPTI_ERROR_NOT_COMPATIBLE || code == CUPTI_ERROR_HARDWARE;
  throw Error(missing ? ErrorKind::kMissingResource : ErrorKind::kInternal,
              "CUPTI: cannot " + what + ": " + name + " (" + std::to_string(code) + ")");
}

}  // namespace penstock
