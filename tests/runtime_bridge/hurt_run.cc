#include "tests/runtime_bridge/hurt_run.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include <doctest/doctest.h>

#include "runtime_bridge/rank_threads.h"
#include "tests/runtime_bridge/memory_store.h"
#include "training/loopback.h"

namespace penstock::testing {
namespace {

// Not an Error: nobody handles it but the test.
struct Lost {};

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

// Writes nothing; at the end all ranks wait for each other, as for the last checkpoint.
class EndsTogether : public StepCheckpoints {
 public:
  EndsTogether(const Accident& accident, Transport& transport)
      : accident_(accident), transport_(transport) {}
  bool is_due(std::int64_t /*next_step*/, bool /*last*/) override { return false; }
  void write(std::int64_t /*next_step*/) override {}
  void finish_last() override {
    if (!accident_.at_end) return;
    if (transport_.rank() == accident_.lost) throw Lost();
    transport_.barrier();
  }

 private:
  const Accident& accident_;
  Transport& transport_;
};

class HurtRun {
 public:
  HurtRun(const RingModel& model, const PlanFile& plan, const Accident& accident, bool mirror)
      : model_(model),
        plan_(std::make_shared<const PlanFile>(plan)),
        accident_(accident),
        mirrors_(mirror) {}

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
    RankParts parts{&state, [&](const auto& /*plan*/, const RankProgram& program) {
                      auto made = std::make_unique<RingWork>(model_, program.setup, state);
                      work = made.get();
                      return made;
                    }};
    GivesBackState gives_back(state, work);
    MirrorCosts costs;
    if (mirrors_) {
      parts.make_mirror = [&](RankState&, const std::vector<RankSetup>& holdings) {
        return std::make_unique<Mirror>(gives_back, holdings, transport, copy_in_host_memory(),
                                        costs);
      };
    }
    RunRankOptions options;
    options.end_step = kEndStep;
    options.execute.progress = [&](std::int64_t step, std::int64_t position) {
      if (rank == accident_.lost && step == kHurtStep && position == accident_.before_action) {
        throw Lost();
      }
    };
    EndsTogether ends(accident_, transport);
    RunRankHooks hooks{&kept_.observed, nullptr, &ends};
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
  class GivesBackState : public RankState {
   public:
    GivesBackState(RingState& state, RingWork*& work) : state_(state), work_(work) {}
    [[nodiscard]] std::vector<SectionState> pieces_of(const RankSetup& setup) const override {
      return state_.pieces_of(setup);
    }
    void lay_out(const RankSetup& setup) override { state_.lay_out(setup); }
    void copy(const Buffer& from, const Buffer& to) override { state_.copy(from, to); }
    void let_go() override { state_.let_go(); }
    std::vector<SectionState> section_states() override {
      work_->give_back();
      return state_.section_states();
    }
    std::vector<std::pair<std::string, double>> shared_numbers() override {
      return state_.shared_numbers();
    }
    void state_was_loaded(const std::vector<std::pair<std::string, double>>& shared) override {
      state_.state_was_loaded(shared);
    }

   private:
    RingState& state_;
    RingWork*& work_;
  };

  // Likewise.
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
    [[nodiscard]] MirroredParts mirrored(const LastStep& last) const override {
      return rank_.mirrored(last);
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
    options.write_mirrored = [&](const LastStep&, const MirroredParts& parts) { write(parts); };
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
        note(section.section, piece.name, {numbers, numbers + piece.buffer.elements});
      }
    }
  }

  void write(const MirroredParts& parts) {
    const std::lock_guard lock(mutex_);
    for (const SnapshotFile& file : parts.files) {
      for (const SnapshotTensor& tensor : file.tensors) {
        Numbers numbers(tensor.data.size() / sizeof(std::int64_t));
        std::memcpy(numbers.data(), tensor.data.data(), tensor.data.size());
        note(file.section, tensor.name, std::move(numbers));
      }
    }
  }

  void note(int section, const std::string& name, Numbers numbers) {
    if (!kept_.state.try_emplace({section, name}, std::move(numbers)).second) ++kept_.pieces_twice;
  }

  const RingModel& model_;
  std::shared_ptr<const PlanFile> plan_;
  const Accident accident_;
  const bool mirrors_;
  std::shared_ptr<tests::SharedMemory> memory_ = std::make_shared<tests::SharedMemory>();
  std::mutex mutex_;
  Kept kept_;
};

}  // namespace

Kept hurt_run(const RingModel& model, const PlanFile& plan, const Accident& accident, bool mirror) {
  return HurtRun(model, plan, accident, mirror).run();
}

Example example_of(const RingModel& model, const PlanFile& plan) {
  Example example{model, plan, {first_weights(model)}, {}};
  for (const RingStep& step : plain_steps(model, plan, kEndStep)) {
    example.after.push_back(step.weights);
    example.losses.push_back(step.all.loss);
  }
  return example;
}

Example example_of(const Named& named) {
  const RingModel model = ring_model(4, named.tied);
  Plan plan = plan_of(named.schedule, named.shape);
  plan.zero1 = named.zero1;
  return example_of(model, ring_plan(model, plan));
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

std::set<std::int64_t> lost_before_any_action(const Example& example, bool mirror) {
  std::set<std::int64_t> kept_steps;
  for (int lost = 0; lost < example.plan.plan.devices(); ++lost) {
    CAPTURE(lost);
    const auto actions =
        static_cast<int>(rank_program(example.plan, ModelDescription{}, {}, lost).actions.size());
    for (int action = 0; action < actions; ++action) {
      CAPTURE(action);
      Accident accident;
      accident.lost = lost;
      accident.before_action = action;
      const Kept kept = hurt_run(example.model, example.plan, accident, mirror);
      kept_steps.insert(check_kept(example, accident, kept));
    }
  }
  return kept_steps;
}

void lost_after_any_wait(const Example& example, bool mirror) {
  for (int lost = 0; lost < example.plan.plan.devices(); ++lost) {
    CAPTURE(lost);
    for (int wait = 0;; ++wait) {
      CAPTURE(wait);
      Accident accident;
      accident.lost = lost;
      accident.after_wait = wait;
      const Kept kept = hurt_run(example.model, example.plan, accident, mirror);
      if (kept.most_finished == kEndStep) break;  // all waits were gone through
      check_kept(example, accident, kept);
    }
  }
}

void lost_at_the_end(const Example& example, bool mirror) {
  for (int lost = 0; lost < example.plan.plan.devices(); ++lost) {
    CAPTURE(lost);
    Accident accident;
    accident.lost = lost;
    accident.at_end = true;
    const Kept kept = hurt_run(example.model, example.plan, accident, mirror);
    CHECK(check_kept(example, accident, kept) == kEndStep);
  }
}

}  // namespace penstock::testing
