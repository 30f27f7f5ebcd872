// The order of construction matters: threads are pinned before LibTorch makes any, the transport
// comes first because with Gloo rank 0 may have to serve the store, then the heartbeat, and only
// then the rank's state. A Rank runs on the calling thread, so `train` with one process per rank
// and the run on threads of one process differ in nothing but their transport.
#include "runtime_bridge/torch/train_rank.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "core/values/error.h"
#include "runtime_bridge/emergency_checkpoint.h"
#include "runtime_bridge/heartbeat.h"
#include "runtime_bridge/lasting_store.h"
#include "runtime_bridge/program_source.h"
#include "runtime_bridge/rank_program.h"
#include "runtime_bridge/rank_threads.h"
#include "runtime_bridge/ranks_alive.h"
#include "runtime_bridge/rendezvous_lists.h"
#include "runtime_bridge/spilled_budget.h"
#include "runtime_bridge/torch/pilot_step.h"
#include "runtime_bridge/torch/rank_checkpoints.h"
#include "runtime_bridge/torch/rank_device.h"
#include "runtime_bridge/torch/store_address.h"
#include "runtime_bridge/torch/timed_checkpoints.h"
#include "runtime_bridge/wait_for_ranks.h"
#include "training/gloo/gloo_transport.h"
#include "training/gloo/tcp_store.h"
#include "training/loopback.h"
#include "training/pin_to_processor.h"
#include "training/torch/library.h"
#include "training/torch/offloaded_work.h"
#include "training/torch/spilled_state.h"
#include "training/torch/spilled_work.h"
#include "training/torch/torch_state.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

std::string own_host() {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return host;
}

std::string own_process() { return "pid " + std::to_string(getpid()) + " on host " + own_host(); }

// Whether all ranks are on this machine, so that they share a clock.
bool is_local(const LaunchEnvironment& place) {
  return place.host == "127.0.0.1" || place.host == "localhost";
}

// A disk may be slow, but heartbeats come from a thread that does not write.
constexpr Duration kSilenceWhileWriting = std::chrono::seconds(5);

std::string in_words(std::size_t bytes) { return to_text(Bytes{static_cast<std::int64_t>(bytes)}); }

bool pins(const TrainOptions& options) {
  return options.device == "cpu" && options.pin_threads && options.threads_per_rank == 1;
}

// What a rank does when a peer is lost, before it ends.
using AtLoss =
    std::function<void(const TransportFailure&, RankAtLoss& rank, RankCheckpoints& checkpoints)>;

// What every rank of the plan may hold beyond its reserve.
Bytes least_room(const PlanFile& plan) {
  Bytes least = plan.prediction.ranks.front().capacity;
  for (const RankEvaluation& rank : plan.prediction.ranks) {
    least = std::min(least, rank.capacity - rank.memory.reserve);
  }
  return least;
}

// A rank keeps its device while plans change.
Bytes room_of_all(const PlanSequence& plans) {
  Bytes most;
  for (const PlanFromStep& next : plans) most = std::max(most, least_room(*next.plan));
  return most;
}

// One rank on the calling thread, over a transport that is there.
class Rank {
 public:
  // `processors`: those of the job, if they are claimed already.
  Rank(const TrainJob& job, int local_rank, const std::optional<std::vector<int>>& processors)
      : job_(job) {
    const PlanFile& plan = *job.plans.front().plan;
    spills_ = is_spilled(plan);
    const bool offloads = plan.plan.offload_optimizer;
    if (spills_ || offloads) link_ = link_of(plan, local_rank);  // its threads are not pinned
    if (job.options.device == "cpu") {
      set_library_threads(job.options.threads_per_rank);
      if (pins(job.options)) {
        pin_to_one_of(processors ? *processors : claim_processors(1, local_rank), local_rank);
      }
    }
    if (spills_ && job.options.pilot_margin) {
      pilot_ =
          pilot_step(plan, job.options, *job.data.tokens, local_rank, *job.options.pilot_margin);
    }
    device_ = spills_ || offloads ? make_limited_device(job.options.device, local_rank,
                                                        spills_ ? spilled_budget(plan).capacity
                                                                : room_of_all(job.plans))
                                  : make_rank_device(job.options.device, local_rank);
  }

  // `of_copies`: moves host memory; nothing: no state is mirrored.
  RunEnd run(Transport& transport, Transport* of_copies, const std::string& attempt, bool one_clock,
             const TrainHooks& hooks, const std::function<void()>& ready,
             std::function<void(std::int64_t step, std::int64_t position)> reached,
             RanksWriting others, const AtLoss& at_loss) {
    checkpoints_ =
        std::make_unique<RankCheckpoints>(job_, transport, attempt, std::move(others), hooks.note);
    RunRankOptions options;
    options.first_step = job_.first_step;
    options.end_step = job_.options.steps;
    options.training = job_.options.training;
    options.timeline = job_.options.timeline;
    options.one_clock = one_clock;
    options.execute.exact_times = job_.options.timeline || job_.options.watch_ranks;
    if (job_.options.watch_ranks) options.host = own_host();
    options.execute.progress = std::move(reached);
    options.evaluation = job_.options.evaluation;
    PlansByStep by_step(job_.plans);
    ProgramSource& source = job_.source ? *job_.source : by_step;
    if (spills_ && hooks.note) {
      hooks.note(words_of(spilled_budget(*job_.plans.front().plan), job_.options.host_bandwidth));
      if (pilot_) tell_pilot(*pilot_, hooks);
    }
    const std::unique_ptr<RankState> state = make_state();
    RunRankHooks of_run{hooks.observer, hooks.control, checkpoints_.get()};
    of_run.ready = ready;
    std::optional<TimedCheckpoints> timed;
    if (hooks.interval && job_.options.between_failures && transport.rank() == 0) {
      timed.emplace(
          hooks.control, *checkpoints_,
          [&](const CheckpointWriter::Cost& cost) {
            return hooks.interval(cost.stall, cost.write, *job_.options.between_failures);
          },
          hooks.note);
      of_run.control = &*timed;
    }
    if (hooks.note) {
      of_run.step_done = [&](std::int64_t) { tell_what_is_not_split(hooks); };
      if (!job_.source) {
        of_run.plan_changed = [&](const PlanChange& change) { tell_change(change, hooks); };
      }
    }
    if (at_loss && !job_.options.checkpoint_folder.empty()) {
      of_run.peer_lost = [&](const TransportFailure& failure, RankAtLoss& rank) {
        at_loss(failure, rank, *checkpoints_);
      };
    }
    RankParts parts{state.get(), [&](const auto& /*plan*/, const RankProgram& program) {
                      return make_work(program, *state);
                    }};
    MirrorCosts costs;
    if (of_copies != nullptr) {
      parts.make_mirror = [&](RankState& of_rank, const std::vector<RankSetup>& holdings) {
        return std::make_unique<Mirror>(of_rank, holdings, *of_copies,
                                        make_rank_copy(job_.options.device), costs);
      };
    }
    const RunEnd end = run_rank(source, parts, transport, options, of_run);
    if (hooks.note && costs.steps > 0 && transport.rank() == 0) {
      hooks.note("a copy of rank 0's part of a checkpoint, " + in_words(costs.bytes) +
                 ", went to another rank after every step: " + to_text(costs.time / costs.steps) +
                 " in the mean");
    }
    if (const auto* held = dynamic_cast<const TorchState*>(state.get());
        held != nullptr && hooks.note && transport.rank() == 0) {
      tell_memory(*plan_at(job_.plans, job_.first_step).plan, *held, hooks);
    }
    if (link_ && hooks.note) tell_held(hooks);
    checkpoints_->finish();
    return end;
  }

 private:
  std::unique_ptr<SlotLink> link_of(const PlanFile& plan, int local_rank) const {
    ThrottledLinkOptions options;
    options.bandwidth = job_.options.host_bandwidth;
    options.duplex = plan.executor.host_link == HostLink::kDuplex;
    options.begin_thread = [threads = job_.options.threads_per_rank] {
      set_library_threads(threads);
    };
    return make_slot_link(job_.options.device, local_rank, options);
  }

  std::unique_ptr<RankState> make_state() {
    const ModelDescription& model = model_of(*job_.plans.front().plan);
    if (spills_) {
      return std::make_unique<SpilledState>(model, job_.options.training, *device_, *link_);
    }
    if (link_) return make_offloaded_state(model, job_.options.training, *device_, *link_);
    return std::make_unique<TorchState>(model, job_.options.training, *device_);
  }

  std::unique_ptr<RankWork> make_work(const RankProgram& program, RankState& state) {
    if (!std::exchange(is_served_, true)) checkpoints_->serve(state);
    if (spills_) {
      return std::make_unique<SpilledWork>(program.setup, dynamic_cast<SpilledState&>(state),
                                           *job_.data.tokens,
                                           slot_schedule(*job_.plans.front().plan));
    }
    auto& kept = dynamic_cast<TorchState&>(state);
    std::unique_ptr<TorchWork> work =
        link_ ? std::make_unique<OffloadedWork>(program.setup, kept, *job_.data.tokens, *link_)
              : std::make_unique<TorchWork>(program.setup, kept, *job_.data.tokens);
    if (job_.data.evaluation) work->evaluate_on(*job_.data.evaluation);
    work_ = work.get();
    rank_ = program.setup.rank;
    pipeline_rank_ = program.setup.pipeline_rank;
    replica_ = program.setup.replica;
    return work;
  }

  void tell_held(const TrainHooks& hooks) const {
    const PlanFile& plan = *plan_at(job_.plans, job_.options.steps - 1).plan;
    const auto place = static_cast<std::size_t>(pipeline_rank_);
    if (place >= plan.prediction.ranks.size()) return;  // the run ended before its last plan began
    const MemoryUse& memory = plan.prediction.ranks[place].memory;
    const Bytes predicted = spills_ ? spilled_budget(plan).peak : memory.total() - memory.reserve;
    hooks.note((spills_ ? std::string("the device")
                        : "rank " + std::to_string(rank_) + ", whose optimizer runs on the host,") +
               " held " + to_text(device_->peak_memory()) + " at most, of " + to_text(predicted) +
               " predicted");
  }

  // A GPU is not made smaller (rank_device.h): pilot_step() looks at what the step held.
  void tell_pilot(const PilotStep& pilot, const TrainHooks& hooks) const {
    hooks.note("pilot: a step held " + to_text(pilot.peak) + " at most, of the " +
               to_text(pilot.room) +
               (device_->is_gpu() ? " that it may hold" : " that it was given") + ", and took " +
               to_text(pilot.time) + " without a limit to its copies");
  }

  // Where more than the optimizer's state is sharded, memory is why.
  void tell_memory(const PlanFile& plan, const TorchState& state, const TrainHooks& hooks) const {
    if (plan.plan.shards() < 2 || plan.plan.sharding == Sharding::kState) return;
    const RankSetup setup = rank_holdings(plan).front();
    hooks.note("rank 0 held at most " + in_words(state.peak_bytes()) +
               " of weights, gradients and optimizer state at once; the plan says " +
               to_text(predicted_state(plan, setup)));
  }

  // The plan has prices for I and W of these sections, and the run will not keep them. The sections
  // of all replicas are the same.
  void tell_what_is_not_split(const TrainHooks& hooks) {
    if (replica_ > 0 || work_ == nullptr) return;
    for (const std::string& section : work_->not_split()) {
      if (!told_.insert(section).second) continue;
      hooks.note("rank " + std::to_string(rank_) + " cannot split the backward of section " +
                 section + "; its I computes what W would");
    }
  }

  void tell_change(const PlanChange& change, const TrainHooks& hooks) const {
    if (rank_ > 0) return;
    hooks.note("after " + std::to_string(change.step) + (change.step == 1 ? " step" : " steps") +
               " the plan is " + plan_at(job_.plans, change.step).path + "; rank 0 received " +
               in_words(change.moved.received) + " of weights and optimizer state and sent " +
               in_words(change.moved.sent) + ", in " + to_text(change.moved.took));
  }

  const TrainJob& job_;
  const TorchWork* work_ = nullptr;  // of the run that is under way; none of a spilled model
  int rank_ = 0, replica_ = 0, pipeline_rank_ = 0;
  bool is_served_ = false;      // checkpoints_ know the state
  std::set<std::string> told_;  // that they cannot be split
  bool spills_ = false;
  std::unique_ptr<SlotLink> link_;  // of a spilled model, or to a host that updates
  std::optional<PilotStep> pilot_;  // where one was asked for
  std::unique_ptr<Device> device_;
  std::unique_ptr<RankCheckpoints> checkpoints_;
};

// In which a rank has messages under any of the plans.
std::vector<std::pair<int, int>> ways_of_all(const TrainJob& job, int rank) {
  std::set<std::pair<int, int>> ways;
  for (const PlanFromStep& planned : job.plans) {
    const RankProgram program =
        rank_program(*planned.plan, model_of(*planned.plan), job.options.training, rank);
    for (const auto& way : ways_of(program)) ways.insert(way);
  }
  return {ways.begin(), ways.end()};
}

// Through a connection of its own, which is there before anything is lost.
AtLoss keep_last_step_by(KeyValueStore& store, Heartbeat& heartbeat, const TrainJob& job,
                         const LaunchEnvironment& place, const TrainHooks& hooks) {
  return [&](const TransportFailure& failure, RankAtLoss& rank, RankCheckpoints& checkpoints) {
    EmergencyOptions options;
    options.survivors.rank = place.rank;
    options.survivors.ranks = place.ranks;
    options.survivors.limit = job.options.time_out;
    options.first_step = job.first_step;
    options.write = [&](const LastStep& last, const std::vector<SectionState>& states) {
      checkpoints.write_last(last, states);
    };
    options.write_mirrored = [&](const LastStep& last, const MirroredParts& parts) {
      checkpoints.write_mirrored(last, parts);
    };
    options.look = [&] { return heartbeat.look(failure); };
    const EmergencyEnd end = keep_last_step(store, options, rank);
    if (hooks.note && !end.note.empty()) hooks.note(end.note);
  };
}

// Other ranks are looked at while this one waits for a checkpoint. `store` is of its main thread.
RanksWriting others_of(KeyValueStore& store, const LaunchEnvironment& place,
                       const std::string& attempt) {
  const std::string key = "last_checkpoint/" + attempt;
  RanksWriting others;
  others.while_they_live = [&store, &place](const std::string& what,
                                            const std::function<bool()>& done) {
    WaitForRanks options;
    options.rank = place.rank;
    options.ranks = place.ranks;
    options.silence = kSilenceWhileWriting;
    wait_while_ranks_live(store, options, what, done);
  };
  others.say_complete = [&store, key] { store.set(key, "complete"); };
  others.is_complete = [&store, key] { return store.get(key).has_value(); };
  others.watch_survivors = [&store, &place] {
    const auto ranks = std::make_shared<RanksAlive>(store, place.ranks, kSilenceWhileWriting);
    return [ranks](int rank) { return ranks->is_alive(rank); };
  };
  return others;
}

std::unique_ptr<Transport> make_gloo(const LaunchEnvironment& place, const TrainOptions& options) {
  GlooOptions gloo;
  gloo.rank = place.rank;
  gloo.ranks = place.ranks;
  gloo.store = address_of(place);
  gloo.serves_store = place.serves_store;
  gloo.limit = options.time_out;
  gloo.network_interface = place.network_interface;
  return staged(make_gloo_transport(gloo), options.device, place.local_rank);
}

}  // namespace

RunEnd train_rank(const TrainJob& job, const LaunchEnvironment& place, const TrainHooks& hooks) {
  const int ranks = job.plans.front().plan->plan.devices();
  if (place.ranks != ranks) {
    throw_bad_input("the job has " + std::to_string(place.ranks) + " ranks (by " + place.believed +
                    "), but the plan needs " + std::to_string(ranks) +
                    "\nhelp: start as many ranks as the plan has, or plan for --gpus " +
                    std::to_string(place.ranks));
  }
  Rank rank(job, place.local_rank, place.processors);
  // The transport first: with Gloo rank 0 may have to serve the store.
  std::unique_ptr<StoreServer> server;
  std::unique_ptr<Transport> transport;
  if (job.options.transport == TransportKind::kNccl) {
    if (place.serves_store) server = serve_store(place.port);
    transport = make_nccl(ways_of_all(job, place.rank), place, job.options,
                          connect_store(address_of(place), job.options.time_out));
  } else {
    transport = make_gloo(place, job.options);
  }
  // Copies are in host memory, which NCCL does not move.
  std::unique_ptr<Transport> of_copies;
  if (job.options.mirror && job.options.transport == TransportKind::kNccl) {
    LaunchEnvironment beside = place;
    beside.serves_store = false;
    beside.key_prefix += "copies/";
    of_copies = make_gloo(beside, job.options);
  }
  HeartbeatOptions options;
  options.rank = place.rank;
  options.ranks = place.ranks;
  options.process = own_process();
  options.store_rank = place.store_rank;
  std::unique_ptr<KeyValueStore> store = connect_store(address_of(place), job.options.time_out);
  const std::string attempt = agree_on_attempt(*store, place.rank, job.options.time_out);
  const std::string& checkpoints = job.options.checkpoint_folder;
  LastingStore lasting(checkpoints.empty() ? "" : survivors_folder(checkpoints, attempt));
  if (place.rank == 0 && !checkpoints.empty()) {
    remove_other_survivors_folders(checkpoints, attempt);
  }
  options.store_is_lost = [&lasting] { return lasting.has_moved(); };
  Heartbeat heartbeat(options, lasting.client(std::move(store)));
  const std::unique_ptr<KeyValueStore> of_survivors =
      lasting.client(connect_store(address_of(place), job.options.time_out));
  RunEnd end;
  run_watched(heartbeat, [&] {
    const auto ready = [&] {
      const std::unique_ptr<KeyValueStore> own =
          connect_store(address_of(place), job.options.time_out);
      wait_for_ranks(*own, {.rank = place.rank, .ranks = place.ranks, .attempt = attempt});
    };
    Transport* mirrors = of_copies ? of_copies.get() : transport.get();
    end = rank.run(
        *transport, job.options.mirror ? mirrors : nullptr, attempt, is_local(place), hooks, ready,
        [&](std::int64_t step, std::int64_t position) { heartbeat.at(step, position); },
        others_of(*of_survivors, place, attempt),
        keep_last_step_by(*of_survivors, heartbeat, job, place, hooks));
  });
  return end;
}

SurplusEnd stay_beside_ranks(const LaunchEnvironment& place, Duration time_out,
                             const SurplusRank& options) {
  // Where the launcher serves none, its rank 0 does, whatever the plan makes of that rank.
  std::unique_ptr<StoreServer> server;
  if (place.serves_store) server = serve_store(place.port);
  const std::unique_ptr<KeyValueStore> store = connect_store(address_of(place), time_out);
  const SurplusEnd end = wait_beside(*store, options);
  // The others may be writing a checkpoint together.
  for (RanksAlive ranks(*store, options.ranks); server && ranks.any();) {
    std::this_thread::sleep_for(options.look_again);
  }
  return end;
}

RunEnd train_threads(const TrainJob& job, const TrainHooks& hooks) {
  const int ranks = job.plans.front().plan->plan.devices();
  const std::unique_ptr<CopyEngine> copies = make_rank_copies(job.options.device);
  LoopbackOptions options;
  options.time_out = job.options.time_out;
  options.engine = copies.get();
  LoopbackHub hub(ranks, options);
  const std::vector<int> processors =
      pins(job.options) ? claim_processors(ranks, 0) : std::vector<int>();
  const std::string attempt = "process-" + std::to_string(getpid());
  RunEnd end;
  on_rank_threads(ranks, [&](int r) {
    const std::unique_ptr<Transport> transport = hub.transport(r);
    try {
      Rank rank(job, job.options.device == "cpu" ? r : 0, processors);
      const RunEnd own = rank.run(*transport, nullptr, attempt, true, hooks, {}, {}, {}, {});
      if (r == 0) end = own;
    } catch (const std::exception& error) {
      transport->abort(error.what());
      throw;
    }
  });
  return end;
}

std::string library_words() { return library_name(); }

HostedStore serve_job_store() {
  std::shared_ptr<StoreServer> server = serve_store(0);
  const int port = server->port();
  return {std::move(server), port};
}

}  // namespace penstock
