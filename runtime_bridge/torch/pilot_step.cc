// On a thread of its own, since memory of a CPU is accounted for by thread, and what the thread
// held is gone when the run begins. Copies are as fast as memory is.
#include "runtime_bridge/torch/pilot_step.h"

#include <cmath>
#include <future>
#include <iomanip>
#include <memory>
#include <sstream>
#include <string>

#include <c10/util/Exception.h>

#include "core/values/error.h"
#include "runtime_bridge/execute_step.h"
#include "runtime_bridge/rank_program.h"
#include "runtime_bridge/spilled_budget.h"
#include "runtime_bridge/torch/rank_device.h"
#include "training/loopback.h"
#include "training/steady_time.h"
#include "training/torch/library.h"
#include "training/torch/spilled_state.h"
#include "training/torch/spilled_work.h"

namespace penstock {
namespace {

PilotStep try_step(const PlanFile& plan, const TrainOptions& options, const TokenSource& data,
                   int local_rank, Bytes room) {
  set_library_threads(options.threads_per_rank);
  ThrottledLinkOptions as_fast_as_memory;
  as_fast_as_memory.begin_thread = [threads = options.threads_per_rank] {
    set_library_threads(threads);
  };
  const auto link = make_slot_link(options.device, local_rank, as_fast_as_memory);
  const auto device = make_limited_device(options.device, local_rank, room);
  const RankProgram program = rank_program(plan, model_of(plan), options.training, 0);
  LoopbackHub hub(1, {});
  const auto transport = hub.transport(0);
  SpilledState state(program.setup.model, options.training, *device, *link);
  state.lay_out(program.setup);
  SpilledWork work(program.setup, state, data, slot_schedule(plan));
  StepExecutor executor(program, work, *transport, {});
  const SteadyTime begin = steady_now();
  executor.execute(0);
  return {device->peak_memory(), room, steady_now() - begin};
}

double gib_rounded_up(Bytes bytes) {
  return std::ceil(static_cast<double>(bytes.count) / static_cast<double>(1 << 30) * 1000) / 1000;
}

}  // namespace

PilotStep pilot_step(const PlanFile& plan, const TrainOptions& options, const TokenSource& data,
                     int local_rank, double margin) {
  const Bytes capacity = spilled_budget(plan).capacity;
  const Bytes room{static_cast<std::int64_t>(static_cast<double>(capacity.count) * (1 - margin))};
  const auto refuse = [&](const std::string& why) {
    const Bytes reserve = plan.prediction.ranks.front().memory.reserve + (capacity - room);
    std::ostringstream message;
    message << "the pilot step does not fit into " << to_text(room) << ", the device less "
            << margin * 100 << " %: " << why << "\nhelp: plan again with --reserve-gib "
            << std::fixed << std::setprecision(3) << gib_rounded_up(reserve)
            << ", which keeps as much free, and train that plan without --pilot; or give --pilot a "
               "smaller margin";
    throw Error(ErrorKind::kMissingResource, message.str());
  };
  PilotStep done;
  try {
    done = std::async(std::launch::async, [&] {
             return try_step(plan, options, data, local_rank, room);
           }).get();
  } catch (const c10::OutOfMemoryError& error) {  // of a GPU
    refuse(error.what_without_backtrace());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMissingResource) throw;
    const std::string why = error.what();
    refuse(why.substr(0, why.find('\n')));
  }
  if (done.peak > room) refuse("it took " + to_text(done.peak));
  return done;
}

}  // namespace penstock
