// Ranks are lost at every place of a step, one run per place. What the survivors keep is the state
// of one and the same finished step, that of a plain loop to the bit, and no finished step is lost.
//
// A rank that is lost leaves at a chosen moment without a word, and its transport with it. Moments:
// before each action of its list, and after each wait of a transfer, the step's barrier and the
// exchange behind it included. A second kind of accident decides who sees the norm: one rank's wait
// fails although the transfer has ended for all others.
#include "runtime_bridge/emergency_checkpoint.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime_bridge/rank_threads.h"
#include "tests/runtime_bridge/memory_store.h"
#include "tests/runtime_bridge/ring_plans.h"
#include "tests/runtime_bridge/ring_work.h"
#include "training/loopback.h"

namespace penstock {
namespace {

using namespace penstock::testing;

constexpr std::int64_t kHurtStep = 2, kEndStep = 4;
constexpr int kNever = -1;

// Not an Error: nobody handles it but the test.
struct Lost {};

struct Accident {
  int lost = 0;                // the rank that leaves
  int before_action = kNever;  // of kHurtStep
  int after_wait = kNever;     // counted from the barrier of kHurtStep on
  int deaf = kNever;           // a rank whose wait number deaf_wait fails
  int deaf_wait = kNever;
};

// Counts the waits of a rank from a step on, and lets one of them fail after it has succeeded.
class Waits {
 public:
  Waits(const Accident& accident, int rank) : accident_(accident), rank_(rank) {}
  void at(std::int64_t step) { is_counting_ = is_counting_ || step >= kHurtStep; }
  void has_ended() {
    if (!is_counting_) return;
    const int number = count_++;
    if (rank_ == accident_.lost && number == accident_.after_wait) throw Lost();
    if (rank_ == accident_.deaf && number == accident_.deaf_wait) {
      throw TransportFailure(std::nullopt, "deaf");
    }
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  const Accident& accident_;
  int rank_;
  bool is_counting_ = false;
  int count_ = 0;
};

class CountedTransfer : public Transfer {
 public:
  CountedTransfer(std::unique_ptr<Transfer> transfer, Waits& waits)
      : transfer_(std::move(transfer)), waits_(waits) {}
  bool done() override { return transfer_->done(); }
  void wait() override {
    transfer_->wait();
    waits_.has_ended();
  }
  [[nodiscard]] std::optional<SteadyTime> ended() const override { return transfer_->ended(); }

 private:
  std::unique_ptr<Transfer> transfer_;
  Waits& waits_;
};

class CountedTransport : public Transport {
 public:
  CountedTransport(std::unique_ptr<Transport> transport, Waits& waits)
      : transport_(std::move(transport)), waits_(waits) {}
  [[nodiscard]] int rank() const override { return transport_->rank(); }
  [[nodiscard]] int size() const override { return transport_->size(); }
  std::unique_ptr<Transfer> send(int to, MessageTag tag, const Buffer& buffer) override {
    return counted(transport_->send(to, tag, buffer));
  }
  std::unique_ptr<Transfer> receive(int from, MessageTag tag, const Buffer& buffer) override {
    return counted(transport_->receive(from, tag, buffer));
  }
  CommunicatorId form_group(const std::string& name, const std::vector<int>& members) override {
    return transport_->form_group(name, members);
  }
  std::unique_ptr<Transfer> all_reduce(CommunicatorId group, const Buffer& buffer) override {
    return counted(transport_->all_reduce(group, buffer));
  }
  std::unique_ptr<Transfer> reduce_scatter(CommunicatorId group, const Buffer& buffer) override {
    return counted(transport_->reduce_scatter(group, buffer));
  }
  std::unique_ptr<Transfer> all_gather(CommunicatorId group, const Buffer& buffer) override {
    return counted(transport_->all_gather(group, buffer));
  }
  void barrier() override {
    transport_->barrier();
    waits_.has_ended();
  }
  void abort(const std::string& reason) override { transport_->abort(reason); }

 private:
  std::unique_ptr<Transfer> counted(std::unique_ptr<Transfer> transfer) {
    return std::make_unique<CountedTransfer>(std::move(transfer), waits_);
  }
  std::unique_ptr<Transport> transport_;
  Waits& waits_;
};

class Losses : public StepObserver {
 public:
  void step_finished(const MeasuredStep& step) override { losses.emplace(step.step, step.loss); }
  std::map<std::int64_t, double> losses;
};

// What the survivors' parts say together, and what each rank decided.
struct Kept {
  std::map<int, EmergencyEnd> ends;                      // by rank
  std::map<std::pair<int, std::string>, Numbers> state;  // by section and name
  int pieces_twice = 0;                                  // written by two ranks
  std::int64_t most_finished = 0;                        // steps, of any rank
  Losses observed;
  std::vector<int> waits;  // [rank]: how many there were
};

class HurtRun {
 public:
  HurtRun(const RingModel& model, const PlanFile& plan, const Accident& accident)
      : model_(model), plan_(std::make_shared<const PlanFile>(plan)), accident_(accident) {}

  Kept run() {
    const int ranks = plan_->plan.devices();
    kept_.waits.resize(static_cast<std::size_t>(ranks));
    LoopbackHub hub(ranks, {});
    OnePlan source(plan_);
    on_rank_threads(ranks, [&](int rank) { run_one(hub, source, rank); });
    return std::move(kept_);
  }

 private:
  void run_one(LoopbackHub& hub, ProgramSource& source, int rank) {
    Waits waits(accident_, rank);
    CountedTransport transport(hub.transport(rank), waits);
    RingState state(model_);
    RingWork* work = nullptr;
    const RankParts parts{&state, [&](const auto& /*plan*/, const RankProgram& program) {
                            auto made = std::make_unique<RingWork>(model_, program.setup, state);
                            work = made.get();
                            return made;
                          }};
    RunRankOptions options;
    options.end_step = kEndStep;
    options.execute.progress = [&](std::int64_t step, std::int64_t position) {
      if (rank == accident_.lost && step == kHurtStep && position == accident_.before_action) {
        throw Lost();
      }
    };
    RunRankHooks hooks{&kept_.observed, nullptr, nullptr};
    // The barrier of the hurt step comes after this.
    hooks.step_done = [&](std::int64_t step) {
      waits.at(step + 1);
      const std::lock_guard lock(mutex_);
      kept_.most_finished = std::max(kept_.most_finished, step + 1);
    };
    hooks.peer_lost = [&](const TransportFailure&, RankAtLoss& at) {
      if (rank != accident_.lost) keep(rank, *work, at);
    };
    try {
      run_rank(source, parts, transport, options, hooks);
    } catch (const Lost&) {
      transport.abort("lost");
    } catch (const TransportFailure&) {  // as it should be
    }
    const std::lock_guard lock(mutex_);
    kept_.waits[static_cast<std::size_t>(rank)] = waits.count();
  }

  // RingWork keeps the weights while it lives, so they are given back before they are read.
  class GivesBack : public RankAtLoss {
   public:
    GivesBack(RankAtLoss& rank, RingWork& work) : rank_(rank), work_(work) {}
    [[nodiscard]] StepStanding standing() const override { return rank_.standing(); }
    void finish_step(const NormShare& all) override { rank_.finish_step(all); }
    [[nodiscard]] std::string missing_from(const std::vector<int>& ranks) const override {
      return rank_.missing_from(ranks);
    }
    [[nodiscard]] std::vector<SectionState> states_among(const std::vector<int>& ranks) override {
      work_.give_back();
      return rank_.states_among(ranks);
    }
    void report_step() override { rank_.report_step(); }

   private:
    RankAtLoss& rank_;
    RingWork& work_;
  };

  void keep(int rank, RingWork& work, RankAtLoss& at) {
    tests::MemoryStore store(memory_);
    EmergencyOptions options;
    options.survivors.rank = rank;
    options.survivors.ranks = plan_->plan.devices();
    options.survivors.lost = {accident_.lost};
    options.survivors.limit = std::chrono::seconds(20);
    options.survivors.look_again = std::chrono::microseconds(50);
    options.write = [&](const LastStep&, const std::vector<SectionState>& states) {
      write(states);
    };
    GivesBack gives_back(at, work);
    EmergencyEnd end = keep_last_step(store, options, gives_back);
    const std::lock_guard lock(mutex_);
    kept_.ends.emplace(rank, std::move(end));
  }

  // As take_snapshot() divides the pieces over the holders.
  void write(const std::vector<SectionState>& states) {
    const std::lock_guard lock(mutex_);
    for (const SectionState& section : states) {
      int shared = 0;
      for (const StatePiece& piece : section.parameters) {
        if (shared++ % section.holders != section.holder) continue;
        const auto* numbers = reinterpret_cast<const std::int64_t*>(piece.buffer.data);
        const bool is_new = kept_.state
                                .try_emplace({section.section, piece.name}, numbers,
                                             numbers + piece.buffer.elements)
                                .second;
        if (!is_new) ++kept_.pieces_twice;
      }
    }
  }

  const RingModel& model_;
  std::shared_ptr<const PlanFile> plan_;
  const Accident accident_;
  std::shared_ptr<tests::SharedMemory> memory_ = std::make_shared<tests::SharedMemory>();
  std::mutex mutex_;
  Kept kept_;
};

struct Example {
  RingModel model;
  PlanFile plan;
  std::vector<RingWeights> after;  // [finished steps]
  std::vector<double> losses;      // [step]
};

Example example(const std::string& schedule, const RingShape& shape, bool tied) {
  Example example;
  example.model = ring_model(4, tied);
  example.plan = ring_plan(example.model, plan_of(schedule, shape));
  example.after.push_back(first_weights(example.model));
  for (const RingStep& step : plain_steps(example.model, example.plan, kEndStep)) {
    example.after.push_back(step.weights);
    example.losses.push_back(step.all.loss);
  }
  return example;
}

// The state of `next_step` finished steps, all of it, once.
void check_state(const Example& example, const Kept& kept, std::int64_t next_step) {
  const RingWeights& expected = example.after[static_cast<std::size_t>(next_step)];
  CHECK(kept.pieces_twice == 0);
  std::size_t pieces = expected.sections.size();
  for (std::size_t s = 0; s < expected.sections.size(); ++s) {
    const auto found = kept.state.find({static_cast<int>(s), "w"});
    REQUIRE(found != kept.state.end());
    CHECK(found->second == expected.sections[s]);
  }
  for (std::size_t t = 0; t < example.model.ties.size(); ++t) {
    for (const int section : example.model.ties[t].sections) {
      const auto found = kept.state.find({section, example.model.ties[t].name});
      REQUIRE(found != kept.state.end());
      CHECK(found->second == Numbers{expected.ties[t]});
      ++pieces;
    }
  }
  CHECK(kept.state.size() == pieces);
}

// Every survivor says the same, and no step that any rank has finished is lost.
std::int64_t check_kept(const Example& example, const Accident& accident, const Kept& kept) {
  const int ranks = example.plan.plan.devices();
  REQUIRE(static_cast<int>(kept.ends.size()) == ranks - 1);
  const std::int64_t next_step = kept.ends.begin()->second.last.next_step;
  for (const auto& [rank, end] : kept.ends) {
    CHECK(end.last.why_not == "");
    CHECK(end.last.next_step == next_step);
    CHECK(static_cast<int>(end.last.ranks.size()) == ranks - 1);
  }
  CHECK(next_step >= kept.most_finished);
  CHECK(next_step >= kHurtStep);
  CHECK(next_step <= kept.most_finished + 1);
  check_state(example, kept, next_step);
  // Where rank 0 lives, the log has every step that is kept, once.
  if (accident.lost != 0) {
    CHECK(static_cast<std::int64_t>(kept.observed.losses.size()) == next_step);
  }
  for (const auto& [step, loss] : kept.observed.losses) {
    CHECK(loss == example.losses[static_cast<std::size_t>(step)]);
  }
  return next_step;
}

struct Named {
  const char* schedule;
  RingShape shape;
  bool tied;
};
const std::vector<Named> kExamples{{"gpipe", {1, 1, 2, 2}, false},
                                   {"1f1b", {2, 1, 2, 2}, true},
                                   {"zb-h1", {2, 1, 2, 2}, false},
                                   {"interleaved", {2, 2, 2, 2}, true}};

TEST_CASE("a rank that is lost before any action of a step costs no finished step") {
  for (const Named& named : kExamples) {
    CAPTURE(named.schedule);
    const Example ring = example(named.schedule, named.shape, named.tied);
    std::set<std::int64_t> kept_steps;
    for (int lost = 0; lost < ring.plan.plan.devices(); ++lost) {
      CAPTURE(lost);
      const auto actions =
          static_cast<int>(rank_program(ring.plan, ModelDescription{}, {}, lost).actions.size());
      for (int action = 0; action < actions; ++action) {
        CAPTURE(action);
        Accident accident;
        accident.lost = lost;
        accident.before_action = action;
        const Kept kept = HurtRun(ring.model, ring.plan, accident).run();
        kept_steps.insert(check_kept(ring, accident, kept));
      }
    }
    // Lost before its norm, the step is done again; before its update, it is finished without it.
    CHECK(kept_steps == std::set<std::int64_t>{kHurtStep, kHurtStep + 1});
  }
}

// Every wait takes a run, so that these two look at the first two examples only.
constexpr std::size_t kExamplesByWait = 2;

TEST_CASE("a rank that is lost after any transfer of a step costs no finished step") {
  for (std::size_t i = 0; i < kExamplesByWait; ++i) {
    const Named& named = kExamples[i];
    CAPTURE(named.schedule);
    const Example ring = example(named.schedule, named.shape, named.tied);
    for (int lost = 0; lost < ring.plan.plan.devices(); ++lost) {
      CAPTURE(lost);
      for (int wait = 0;; ++wait) {
        CAPTURE(wait);
        Accident accident;
        accident.lost = lost;
        accident.after_wait = wait;
        const Kept kept = HurtRun(ring.model, ring.plan, accident).run();
        if (kept.most_finished == kEndStep) break;  // all waits were gone through
        check_kept(ring, accident, kept);
      }
    }
  }
}

// The norm has ended for some and not for others, as when a rank dies in the middle of it.
TEST_CASE("what one rank has not heard of, it is told by another") {
  for (std::size_t i = 0; i < kExamplesByWait; ++i) {
    const Named& named = kExamples[i];
    CAPTURE(named.schedule);
    const Example ring = example(named.schedule, named.shape, named.tied);
    const int ranks = ring.plan.plan.devices();
    for (int deaf = 0; deaf < ranks; ++deaf) {
      const int lost = (deaf + 1) % ranks;
      CAPTURE(deaf);
      for (int wait = 0;; ++wait) {
        CAPTURE(wait);
        Accident accident;
        accident.lost = lost;
        accident.deaf = deaf;
        accident.deaf_wait = wait;
        const Kept kept = HurtRun(ring.model, ring.plan, accident).run();
        if (kept.most_finished == kEndStep) break;
        check_kept(ring, accident, kept);
      }
    }
  }
}

TEST_CASE(
    "a stage without a survivor leaves no checkpoint, and the rank that alone held it is named") {
  const Example ring = example("1f1b", {2, 1, 1, 2}, false);
  Accident accident;
  accident.lost = 1;
  accident.before_action = 3;
  const Kept kept = HurtRun(ring.model, ring.plan, accident).run();
  REQUIRE(kept.ends.size() == 1);
  CHECK(kept.ends.at(0).note ==
        "no emergency checkpoint: the survivors do not hold the whole model: rank 1 alone held 'w' "
        "of section 2");
  CHECK(kept.state.empty());
}

TEST_CASE("updates that do not wait for the norm: the survivors keep one step or none") {
  ExecutorModel executor;
  executor.optimizer = OptimizerGate::kPostValidation;
  RingModel model = ring_model(4, false);
  Example ring;
  ring.model = model;
  ring.plan = ring_plan(model, plan_of("1f1b", {2, 1, 2, 2}), {}, executor);
  ring.after.push_back(first_weights(model));
  for (const RingStep& step : plain_steps(model, ring.plan, kEndStep)) {
    ring.after.push_back(step.weights);
  }
  int none = 0, some = 0;
  for (int lost = 0; lost < 4; ++lost) {
    const auto actions =
        static_cast<int>(rank_program(ring.plan, ModelDescription{}, {}, lost).actions.size());
    for (int action = 0; action < actions; ++action) {
      Accident accident;
      accident.lost = lost;
      accident.before_action = action;
      const Kept kept = HurtRun(model, ring.plan, accident).run();
      REQUIRE(kept.ends.size() == 3);
      const LastStep& last = kept.ends.begin()->second.last;
      for (const auto& [rank, end] : kept.ends) {
        CHECK(end.last.why_not == last.why_not);
        CHECK(end.last.next_step == last.next_step);
      }
      if (last.why_not.empty()) {
        ++some;
        check_state(ring, kept, last.next_step);
      } else {
        ++none;
        CHECK(kept.state.empty());
      }
    }
  }
  CHECK(some > 0);
  CHECK(none > 0);
}

}  // namespace
}  // namespace penstock
