// Every call takes the lock; buffers are handed over without it, from a thread of their own, since
// CUPTI's callbacks may call the tracer at any time. A buffer holds the records of a few calls.
#include "tests/gpu/emulator/fake_cupti.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

#include "tests/gpu/emulator/emulated_gpus.h"

namespace penstock::testing {
namespace {

constexpr std::size_t kRecordsOfABuffer = 5;

std::uint64_t own_thread() { return static_cast<std::uint64_t>(::syscall(SYS_gettid)); }

// Names live as long as the process, as CUPTI's do.
const char* kept(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string> names;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return sizeof(CUpti_ActivityAPI);
    default:
      return sizeof(CUpti_ActivityExternalCorrelation);
  }
}

}  // namespace

FakeCupti& FakeCupti::instance() {
  static FakeCupti cupti;
  return cupti;
}

void FakeCupti::begin() {
  const std::lock_guard lock(mutex_);
  broken_.clear();
  holder.clear();
  loses = 0;
  tags_.clear();
  kernels_.clear();
  records_.clear();
}

std::vector<std::string> FakeCupti::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}
int FakeCupti::buffers_out() const {
  const std::lock_guard lock(mutex_);
  return buffers_out_;
}

void FakeCupti::break_rule(const std::string& rule) { broken_.push_back(rule); }

CUptiResult FakeCupti::subscribe(CUpti_SubscriberParams& parameters) {
  const std::lock_guard lock(mutex_);
  if (!holder.empty() || subscribed_) {
    const std::string name = subscribed_ ? "a second subscriber" : holder;
    std::strncpy(parameters.oldSubscriberName, name.c_str(), parameters.oldSubscriberSize - 1);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  if (!EmulatedGpus::instance().own_calls().contexts.empty()) {
    break_rule("CUPTI is asked for after the first use of the GPU");
  }
  subscribed_ = true;
  return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::unsubscribe() {
  const std::lock_guard lock(mutex_);
  if (!enabled_.empty()) break_rule("kinds are enabled when the subscriber goes");
  if (!records_.empty() || !kernels_.empty()) break_rule("records are left when it goes");
  subscribed_ = false;
  return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::register_clock(CUpti_TimestampCallbackFunc clock) {
  const std::lock_guard lock(mutex_);
  if (clock_is_set_) break_rule("the clock is set a second time in this process");
  if (!enabled_.empty()) break_rule("the clock is set while kinds are enabled");
  clock_is_set_ = true;
  clock_ = clock;
  return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::register_buffers(CUpti_BuffersCallbackRequestFunc request,
                                        CUpti_BuffersCallbackCompleteFunc complete) {
  const std::lock_guard lock(mutex_);
  request_ = request;
  complete_ = complete;
  return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::enable(CUpti_ActivityKind kind, bool enabled) {
  const std::lock_guard lock(mutex_);
  if (!enabled) {
    enabled_.erase(kind);
    return CUPTI_SUCCESS;
  }
  if (!subscribed_) break_rule("a kind is enabled without a subscriber");
  if (request_ == nullptr) break_rule("a kind is enabled before buffers are registered");
  if (!clock_is_set_) break_rule("a kind is enabled before the clock is set");
  if (kind == CUPTI_ACTIVITY_KIND_KERNEL) break_rule("this kind runs kernels one by one");
  enabled_.insert(kind);
  return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::push(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  tags_[own_thread()].push_back(id);
  return CUPTI_SUCCESS;
}
CUptiResult FakeCupti::pop(std::uint64_t& last) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t>& tags = tags_[own_thread()];
  if (tags.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  last = tags.back();
  tags.pop_back();
  return CUPTI_SUCCESS;
}

std::size_t FakeCupti::take_dropped() {
  const std::lock_guard lock(mutex_);
  return std::exchange(dropped_, 0);
}

template <class Record>
void FakeCupti::keep(const Record& record) {
  std::vector<std::uint8_t>& bytes = records_.emplace_back(sizeof(Record));
  std::memcpy(bytes.data(), &record, sizeof(Record));
}

// The call on the host, and what tells it from the calls of others.
void FakeCupti::note_launch(const std::string& kernel, std::uint32_t correlation) {
  const std::uint64_t now = clock_ != nullptr ? clock_() : 0;
  if (enabled_.count(CUPTI_ACTIVITY_KIND_RUNTIME) > 0) {
    CUpti_ActivityAPI call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.start = now;
    call.end = now + 1;
    call.correlationId = correlation;
    call.threadId = static_cast<std::uint32_t>(own_thread());
    keep(call);
  }
  const std::vector<std::uint64_t>& tags = tags_[own_thread()];
  if (!tags.empty() && enabled_.count(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) > 0) {
    CUpti_ActivityExternalCorrelation id{};
    id.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    id.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    id.externalId = tags.back();
    id.correlationId = correlation;
    keep(id);
  }
  if (enabled_.count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) > 0) {
    kernels_.push_back({kernel, correlation, 0, 0});
  }
}

void FakeCupti::launch(void* stream, const std::string& kernel) {
  std::uint32_t correlation = 0;
  bool is_full = false;
  {
    const std::lock_guard lock(mutex_);
    correlation = next_correlation_++;
    note_launch(kernel, correlation);
    is_full = records_.size() >= kRecordsOfABuffer;
  }
  EmulatedWork work;
  work.words = kernel;
  work.ctas = 1;
  work.body = [this, correlation] {
    const std::lock_guard lock(mutex_);
    const auto own = std::find_if(kernels_.begin(), kernels_.end(), [&](const Kernel& each) {
      return each.correlation == correlation;
    });
    if (own == kernels_.end()) return;
    own->start = clock_();
    own->end = own->start + 1000;
  };
  EmulatedGpus::instance().add(static_cast<int>(reinterpret_cast<std::intptr_t>(stream)),
                               std::move(work));
  if (is_full) hand_over();
}

CUptiResult FakeCupti::flush(bool forced) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<Kernel> left;
    for (const Kernel& kernel : kernels_) {
      if (kernel.end == 0 && !forced) {
        left.push_back(kernel);
        continue;
      }
      if (loses > 0) {
        --loses;
        ++dropped_;
        continue;
      }
      CUpti_ActivityKernel10 record{};
      record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      record.start = kernel.start;
      record.end = kernel.end;
      record.correlationId = kernel.correlation;
      record.name = kept(kernel.name);
      keep(record);
    }
    kernels_ = std::move(left);
  }
  hand_over();
  return CUPTI_SUCCESS;
}

void FakeCupti::hand_over() {
  std::thread of_cupti([this] {
    for (;;) {
      std::vector<std::vector<std::uint8_t>> records;
      CUpti_BuffersCallbackRequestFunc request = nullptr;
      CUpti_BuffersCallbackCompleteFunc complete = nullptr;
      {
        const std::lock_guard lock(mutex_);
        const std::size_t count = std::min(records_.size(), kRecordsOfABuffer);
        const auto end = records_.begin() + static_cast<std::ptrdiff_t>(count);
        records.assign(records_.begin(), end);
        records_.erase(records_.begin(), end);
        request = request_;
        complete = complete_;
        ++buffers_out_;
      }
      std::uint8_t* buffer = nullptr;
      std::size_t size = 0, most = 0, valid = 0;
      request(&buffer, &size, &most);
      for (const std::vector<std::uint8_t>& record : records) {
        std::memcpy(buffer + valid, record.data(), record.size());
        valid += record.size();
      }
      complete(nullptr, 0, buffer, size, valid);
      const std::lock_guard lock(mutex_);
      --buffers_out_;
      if (records_.empty()) return;
    }
  });
  of_cupti.join();
}

}  // namespace penstock::testing

namespace {
penstock::testing::FakeCupti& cupti() { return penstock::testing::FakeCupti::instance(); }
}  // namespace

extern "C" {

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult /*code*/, const char** words) {
  *words = "emulated";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* /*handle*/, CUpti_CallbackFunc /*callback*/,
                              void* /*user*/, CUpti_SubscriberParams* parameters) {
  return cupti().subscribe(*parameters);
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle /*handle*/) { return cupti().unsubscribe(); }
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  return type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM ? CUPTI_SUCCESS
                                                      : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  return cupti().register_clock(clock);
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  return cupti().register_buffers(request, complete);
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) { return cupti().enable(kind, true); }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) { return cupti().enable(kind, false); }
CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  return cupti().flush(flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind /*kind*/,
                                                   std::uint64_t id) {
  return cupti().push(id);
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind /*kind*/,
                                                  std::uint64_t* last) {
  return cupti().pop(*last);
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                       CUpti_Activity** record) {
  const auto* const last = reinterpret_cast<std::uint8_t*>(*record);
  std::uint8_t* const next =
      last == nullptr ? buffer
                      : buffer + (last - buffer) + penstock::testing::size_of((*record)->kind);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext /*context*/, std::uint32_t /*stream*/,
                                              std::size_t* dropped) {
  *dropped = cupti().take_dropped();
  return CUPTI_SUCCESS;
}

}  // extern "C"
