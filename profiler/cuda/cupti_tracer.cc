// CUPTI hands back buffers that it has filled from threads of its own; one thread reads them into
// the recording. A scope pushes an external correlation id, by which launches, and through them
// kernels, are attributed. Errors in callbacks are kept and thrown by stop(), since nothing may be
// thrown through CUPTI. Records that were dropped are counted and told.
#include "profiler/cuda/cupti_tracer.h"

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/values/error.h"
#include "profiler/activity_buffers.h"
#include "profiler/cuda/cupti_records.h"
#include "training/cuda/check_cuda.h"
#include "training/cuda/cuda_devices.h"
#include "training/cuda/cuda_stream.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

// Not KERNEL, which would make kernels run one after the other.
constexpr std::array<CUpti_ActivityKind, 7> kKinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                   CUPTI_ACTIVITY_KIND_MEMCPY,
                                                   CUPTI_ACTIVITY_KIND_MEMSET,
                                                   CUPTI_ACTIVITY_KIND_RUNTIME,
                                                   CUPTI_ACTIVITY_KIND_DRIVER,
                                                   CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                                   CUPTI_ACTIVITY_KIND_OVERHEAD};

Duration now() { return steady_now().time_since_epoch(); }

std::uint64_t CUPTIAPI timestamp() { return static_cast<std::uint64_t>(now().count()); }

std::string today() {
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc);
  return text.data();
}

class CuptiTracer;
// CUPTI hands its callbacks no user data, so they find the tracer here; there is one per process.
std::atomic<CuptiTracer*> the_tracer{nullptr};

class Claim {
 public:
  explicit Claim(CuptiTracer* tracer) {
    CuptiTracer* none = nullptr;
    if (the_tracer.compare_exchange_strong(none, tracer)) return;
    throw Error(ErrorKind::kInternal, "there already is a tracer of CUPTI in this process");
  }
  ~Claim() { the_tracer = nullptr; }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
};

// CUPTI serves one client at a time.
class Subscription {
 public:
  Subscription() {
    std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> other{};
    CUpti_SubscriberParams parameters{};
    parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    parameters.subscriberName = "penstock";
    parameters.oldSubscriberName = other.data();
    parameters.oldSubscriberSize = other.size();
    const CUptiResult code = cuptiSubscribe_v2(
        &handle_, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr,
        &parameters);
    if (code == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
      throw Error(ErrorKind::kMissingResource,
                  std::string("CUPTI is held by another tool (") +
                      (other[0] != 0 ? other.data() : "it gives no name") + "); run without it");
    }
    check_cupti(code, "be used for tracing");
  }
  ~Subscription() { (void)cuptiUnsubscribe(handle_); }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

 private:
  CUpti_SubscriberHandle handle_ = nullptr;
};

class CuptiTracer : public ActivityTracer {
 public:
  explicit CuptiTracer(int device)
      : device_(device),
        claim_(this),
        buffers_([this](std::byte* buffer, std::size_t valid) { read(buffer, valid); }) {
    register_callbacks();
  }

  ~CuptiTracer() override {
    if (tracing_) {
      disable_all();
      // Until then CUPTI writes into buffers that are about to go.
      (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    }
  }

  void start() override {
    recording_ = {};
    bad_code_ = CUPTI_SUCCESS;
    tracing_ = true;
    for (const CUpti_ActivityKind kind : kKinds) {
      check_cupti(cuptiActivityEnable(kind), "trace activity of kind " + std::to_string(kind));
    }
  }

  void open_scope(ActivityTag tag) override {
    ActivityScope scope;
    scope.tag = tag;
    scope.thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
    scope.begin = now();
    check_cupti(
        cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, tag.value),
        "open a scope");
    recording_.scopes.push_back(scope);
  }

  void close_scope() override {
    std::uint64_t last = 0;
    check_cupti(
        cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last),
        "close a scope");
    recording_.scopes.back().end = now();
  }

  ActivityRecording stop() override {
    use_cuda_device(device_);
    check_cuda(cudaDeviceSynchronize(), "wait for what is being traced");
    check_cupti(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "collect the records");
    disable_all();
    // What was recorded between the two.
    check_cupti(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED),
                "collect the last records");
    buffers_.wait_until_read();
    check_cupti(bad_code_, "read the records");
    const CudaDevice device = cuda_device_at(device_);
    recording_.device = device.name;
    recording_.driver = "CUDA " + cuda_driver_version() + ", CUPTI " + cupti_version();
    recording_.date = today();
    drop_calls_without_activity(recording_);
    return std::move(recording_);
  }

  static void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size,
                               std::size_t* most_records) {
    CuptiTracer* const tracer = the_tracer.load();
    // Never null, which older versions do not survive; without a tracer complete() frees it.
    *buffer = tracer != nullptr ? reinterpret_cast<std::uint8_t*>(tracer->buffers_.take())
                                : new std::uint8_t[ActivityBuffers::kBytes];
    *size = ActivityBuffers::kBytes;
    *most_records = 0;  // as many as fit
  }

  static void CUPTIAPI complete(CUcontext /*context*/, std::uint32_t /*stream*/,
                                std::uint8_t* buffer, std::size_t /*size*/, std::size_t valid) {
    CuptiTracer* const tracer = the_tracer.load();
    if (tracer != nullptr) {
      tracer->buffers_.give(reinterpret_cast<std::byte*>(buffer), valid);
    } else {
      delete[] buffer;
    }
  }

 private:
  static void register_callbacks() {
    // Exactly once per process and before any kind is enabled: to register it again shifts the
    // times of kernels (pytorch/pytorch#192021).
    static std::once_flag once;
    std::call_once(once, [] {
      check_cupti(cuptiActivityRegisterTimestampCallback(timestamp), "set the clock of records");
    });
    check_cupti(cuptiActivityRegisterCallbacks(request, complete), "hand over buffers");
    check_cupti(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM),
                "name threads by number");
  }

  void disable_all() noexcept {
    for (const CUpti_ActivityKind kind : kKinds) (void)cuptiActivityDisable(kind);
    tracing_ = false;
  }

  // In the thread of the buffers.
  void read(std::byte* buffer, std::size_t valid) {
    CUpti_Activity* record = nullptr;
    CUptiResult code = CUPTI_SUCCESS;
    const auto bytes = reinterpret_cast<std::uint8_t*>(buffer);
    while ((code = cuptiActivityGetNextRecord(bytes, valid, &record)) == CUPTI_SUCCESS) {
      if (auto activity = activity_of(*record)) recording_.records.push_back(std::move(*activity));
    }
    if (code != CUPTI_ERROR_MAX_LIMIT_REACHED && bad_code_ == CUPTI_SUCCESS) bad_code_ = code;
    std::size_t dropped = 0;
    code = cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
    if (code != CUPTI_SUCCESS && bad_code_ == CUPTI_SUCCESS) bad_code_ = code;
    recording_.dropped += static_cast<std::int64_t>(dropped);
  }

  int device_;
  Claim claim_;
  bool tracing_ = false;
  // Its records are written by the thread of the buffers, its scopes by ours; read after both.
  ActivityRecording recording_;
  CUptiResult bad_code_ = CUPTI_SUCCESS;
  ActivityBuffers buffers_;
  Subscription subscription_;  // ends before the buffers
};

}  // namespace

std::unique_ptr<ActivityTracer> make_cupti_tracer(int device) {
  // Of the driver only: asking the runtime for devices would be the first use of the GPU.
  if (cuda_driver_version().empty()) throw Error(ErrorKind::kMissingResource, why_no_cuda());
  return std::make_unique<CuptiTracer>(device);
}

std::string cupti_version() {
  std::uint32_t version = 0;
  check_cupti(cuptiGetVersion(&version), "ask for its version");
  // 130001: major * 10000 + minor * 100 + update.
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100) + " (" + std::to_string(version) + ")";
}

std::string cupti_warning() {
  std::uint32_t version = 0;
  check_cupti(cuptiGetVersion(&version), "ask for its version");
  if (version >= 130001) return "";
  return "CUPTI " + cupti_version() +
         " may hang when tracing ends; install CUDA 13.0 Update 1 or later";
}

}  // namespace penstock
