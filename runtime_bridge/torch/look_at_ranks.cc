// What a launcher asks the ranks that it started, from outside.
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "runtime_bridge/lasting_store.h"
#include "runtime_bridge/ranks_alive.h"
#include "runtime_bridge/survivors.h"
#include "runtime_bridge/torch/store_address.h"
#include "runtime_bridge/torch/train_rank.h"
#include "training/gloo/tcp_store.h"

namespace penstock {

bool survivors_are_saving(const Environment& environment_of_rank, const std::string& checkpoints) {
  const auto place = read_launch_environment(environment_of_rank);
  try {
    // Those that could not reach the store any more say it there.
    if (const auto folder = newest_survivors_folder(checkpoints)) {
      FolderStore store(*folder);
      if (is_saving(store)) return true;
    }
    return place && is_saving(*connect_store(address_of(*place), std::chrono::seconds(1)));
  } catch (const TransportFailure&) {
    return false;
  }
}

std::function<bool()> whether_ranks_work(const Environment& environment_of_rank) {
  const auto place = read_launch_environment(environment_of_rank);
  if (!place) return [] { return false; };
  try {
    const std::shared_ptr<KeyValueStore> store =
        connect_store(address_of(*place), std::chrono::seconds(5));
    return [store, ranks = std::make_shared<RanksAlive>(*store, place->ranks)] {
      return ranks->any();
    };
  } catch (const TransportFailure&) {
    return [] { return false; };
  }
}

}  // namespace penstock
