// Two ranks run steps of as many forwards, once with messages and once without, in turn. With them
// every forward sends one to the other rank, and from the third on needs the one that the other
// sent two forwards before; so both ranks keep step, and neither waits long. Forwards do a fixed
// amount of arithmetic on as much memory as a small section has. What messages take of a rank's
// processor is the difference of the two steps over the messages: its calls, the threads of the
// transport, caches that are emptied. It is that of one sent and one
// received. In a pipeline a rank sends as many as it receives, one each way for every boundary and
// micro-batch; so half of it is called the sender's.
//
// Time of the processor, not of the clock: the rank's threads share one processor, so what one of
// them takes the others lack, and other programs do not count, but for what they make of the caches
// and by interrupting ranks, which then wake each other more often. So the fastest step counts.
#include "runtime_bridge/measure_executor.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <time.h>

#include "runtime_bridge/execute_step.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

constexpr MessageTag kAgree = MessageTag{1} << 29;
// A forward: sweeps over this many numbers, about 100 us.
constexpr std::size_t kNumbers = std::size_t{1} << 17;
constexpr int kSweeps = 4;
constexpr int kAhead = 2;  // forwards between a message and the one that needs it

// Forwards that work on nothing in particular.
class FixedWork : public RankWork {
 public:
  FixedWork(Bytes message, int sweeps)
      : bytes_(static_cast<std::size_t>(message.count)),
        sweeps_(sweeps),
        numbers_(sweeps > 0 ? kNumbers : 0, 1.0F),
        sent_(bytes_) {}

  void begin_step(std::int64_t) override { next_ = 0; }
  void compute(ActionKind, int, int) override {
    for (int sweep = 0; sweep < sweeps_; ++sweep) {
      for (float& number : numbers_) number = number * 0.999F + 0.001F;
    }
  }
  // Memory of the step before, as what a run allocates is: its allocator keeps it.
  Buffer activation_to_receive(int, int) override {
    if (next_ == received_.size()) received_.push_back(std::make_unique<std::byte[]>(bytes_));
    return buffer(received_[next_++].get());
  }
  Buffer activation_to_send(int, int) override { return buffer(sent_.data()); }
  void sent_activation(int, int) override {}
  NormShare norm_share() override { return {}; }

  // Of no forward.
  Buffer gradient_to_receive(int, int) override { return {}; }
  Buffer gradient_to_send(int, int) override { return {}; }
  void sent_gradient(int, int) override {}
  void hand_on_activation(int, int) override {}
  void hand_on_gradient(int, int) override {}
  std::vector<Buffer> gradients(int) override { return {}; }
  Buffer tied_gradient(int, int) override { return {}; }
  void add_tied_gradient(int, int, int) override {}
  void copy_tied_gradient(int, int, int) override {}
  void set_global_norm(const NormShare&) override {}
  void optimize(int) override {}
  std::vector<Buffer> parameters_to_gather(int) override { return {}; }
  void gathered(int) override {}

 private:
  Buffer buffer(std::byte* data) const {
    Buffer buffer;
    buffer.data = data;
    buffer.elements = bytes_;
    return buffer;
  }

  std::size_t bytes_;
  int sweeps_;
  std::vector<float> numbers_;
  std::vector<std::byte> sent_;
  std::vector<std::unique_ptr<std::byte[]>> received_;
  std::size_t next_ = 0;  // of received_
};

// The message that belongs to forward `sent_by` of rank `from`.
RankAction message(ActionKind kind, int rank, int from, int sent_by) {
  RankAction action;
  action.kind = kind;
  action.stage = rank;
  action.micro_batch = sent_by;
  action.peer = 1 - rank;
  action.tag = 2 * static_cast<MessageTag>(sent_by) + static_cast<MessageTag>(from);
  return action;
}

// `messages` are sent and received, behind and in front of that many forwards and two.
RankProgram forwards(int rank, int messages, bool with_messages) {
  RankProgram program;
  program.setup.rank = rank;
  program.setup.ranks = 2;
  for (int m = 0; m < messages + kAhead; ++m) {
    RankAction forward;
    forward.stage = rank;
    forward.micro_batch = m;
    if (with_messages && m >= kAhead) {
      forward.needs = static_cast<int>(program.actions.size());
      program.actions.push_back(
          message(ActionKind::kReceiveActivation, rank, 1 - rank, m - kAhead));
    }
    program.actions.push_back(forward);
    if (with_messages && m < messages) {
      program.actions.push_back(message(ActionKind::kSendActivation, rank, rank, m));
    }
  }
  program.longest_list = program.actions.size();
  return program;
}

// Of all threads of this process, in the system's calls too.
Duration time_of_process() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration{time.tv_nsec};
}

// Steps of one list: what they took of this rank's processor.
class TimedSteps {
 public:
  TimedSteps(Transport& transport, RankProgram program, Bytes message, int sweeps,
             const std::function<Duration()>& processor_time)
      : transport_(transport),
        processor_time_(processor_time),
        program_(std::move(program)),
        work_(message, sweeps),
        executor_(program_, work_, transport, {}) {}

  // Between barriers, so that nothing is left to be done for a message.
  void run() {
    transport_.barrier();
    const Duration begin = processor_time_();
    (void)executor_.execute(step_++);
    transport_.barrier();
    times_.push_back(processor_time_() - begin);
  }
  [[nodiscard]] Duration time() const { return *std::ranges::min_element(times_); }

 private:
  Transport& transport_;
  const std::function<Duration()>& processor_time_;
  RankProgram program_;
  FixedWork work_;
  StepExecutor executor_;
  std::vector<Duration> times_;
  std::int64_t step_ = 0;
};

class ExecutorMeasuring {
 public:
  ExecutorMeasuring(Transport& transport, const ExecutorToMeasure& question)
      : transport_(transport),
        question_(question),
        processor_time_(question.processor_time ? question.processor_time : time_of_process) {}

  MeasuredExecutor measure() {
    MeasuredExecutor result;
    measure_dispatch(result);
    for (const Bytes bytes : question_.sizes) result.messages.push_back(measure_message(bytes));
    for (std::size_t i = result.messages.size(); i-- > 1;) {
      MessageCost& smaller = result.messages[i - 1];
      smaller.send = std::min(smaller.send, result.messages[i].send);
      smaller.receive = std::min(smaller.receive, result.messages[i].receive);
    }
    return transport_.rank() == 0 ? result : MeasuredExecutor{};
  }

 private:
  // Actions that do nothing: many of them, and few.
  void measure_dispatch(MeasuredExecutor& result) {
    constexpr int kMore = 64;
    TimedSteps many(transport_, list(kMore, false), {}, 0, processor_time_);
    TimedSteps few(transport_, list(0, false), {}, 0, processor_time_);
    in_turn(many, few);
    result.per_action = std::max((many.time() - few.time()) / kMore, Duration{});
  }

  // Forwards last longer than messages.
  MessageCost measure_message(Bytes bytes) {
    constexpr std::int64_t kPerForward = 256 << 10;
    const auto sweeps =
        static_cast<int>(kSweeps * std::max<std::int64_t>(bytes.count / kPerForward, 1));
    TimedSteps with(transport_, list(question_.messages, true), bytes, sweeps, processor_time_);
    TimedSteps without(transport_, list(question_.messages, false), {}, sweeps, processor_time_);
    in_turn(with, without);
    std::int64_t own =
        std::max((with.time() - without.time()) / (2 * question_.messages), Duration{}).count();
    std::int64_t other = own;
    if (transport_.rank() == 1) transport_.send(0, kAgree, word(own))->wait();
    if (transport_.rank() == 0) transport_.receive(1, kAgree, word(other))->wait();
    const Duration mean{(own + other) / 2};
    return {bytes, mean, mean};
  }

  // As often as rank 0 has time for; the first pair does not count.
  void in_turn(TimedSteps& one, TimedSteps& other) {
    const SteadyTime end = steady_now() + question_.per_size;
    for (int pair = 0;; ++pair) {
      std::int64_t more = pair < question_.least || (pair < question_.most && steady_now() < end);
      if (transport_.rank() == 0) {
        for (int peer = 1; peer < transport_.size(); ++peer) {
          transport_.send(peer, kAgree, word(more))->wait();
        }
      } else {
        transport_.receive(0, kAgree, word(more))->wait();
      }
      if (more == 0) return;
      one.run();
      other.run();
    }
  }

  [[nodiscard]] bool takes_part() const { return transport_.rank() < 2; }
  [[nodiscard]] RankProgram list(int messages, bool with_messages) const {
    return forwards(transport_.rank(), messages, with_messages && takes_part());
  }
  static Buffer word(std::int64_t& value) {
    Buffer buffer;
    buffer.data = reinterpret_cast<std::byte*>(&value);
    buffer.elements = 1;
    buffer.type = ElementType::kInt64;
    return buffer;
  }

  Transport& transport_;
  const ExecutorToMeasure& question_;
  std::function<Duration()> processor_time_;
};

}  // namespace

MeasuredExecutor measure_executor(Transport& transport, const ExecutorToMeasure& question) {
  return ExecutorMeasuring(transport, question).measure();
}

}  // namespace penstock
