#include "training/nccl/nccl_id.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <thread>

#include "core/values/error.h"
#include "training/nccl/check_nccl.h"
#include "training/nccl/nccl_id_text.h"
#include "training/steady_time.h"
#include "training/transport.h"

namespace penstock {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string text_of(const ncclUniqueId& id) {
  std::string text;
  text.reserve(2 * sizeof id.internal);
  for (const char c : id.internal) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

ncclUniqueId nccl_id_of(const std::string& text) {
  ncclUniqueId id{};
  if (text.size() != 2 * sizeof id.internal ||
      text.find_first_not_of(kDigits) != std::string::npos) {
    throw Error(ErrorKind::kInternal,
                "not the identity of an NCCL communicator: " + text.substr(0, 40));
  }
  for (std::size_t i = 0; i < sizeof id.internal; ++i) {
    id.internal[i] =
        static_cast<char>(kDigits.find(text[2 * i]) << 4U | kDigits.find(text[2 * i + 1]));
  }
  return id;
}

std::string new_nccl_id() {
  ncclUniqueId id{};
  check_nccl(ncclGetUniqueId(&id), "make the identity of a communicator");
  return text_of(id);
}

std::string wait_for_nccl_id(KeyValueStore& store, const std::string& key, int root,
                             Duration time_out, const std::function<void()>& go_on) {
  const SteadyTime begin = steady_now(), end = begin + time_out;
  for (;;) {
    if (const std::optional<std::string> text = store.get(key)) return *text;
    go_on();
    if (steady_now() >= end) {
      throw TransportFailure(root, "rank " + std::to_string(root) +
                                       " did not open its part of an NCCL communicator "
                                       "within " +
                                       std::to_string(time_out.count() / 1'000'000) + " ms (key " +
                                       key + ")");
    }
    // The root mostly is there already; a store should not be asked too often all the same.
    const bool is_new = steady_now() - begin < std::chrono::milliseconds(5);
    std::this_thread::sleep_for(is_new ? std::chrono::microseconds(200)
                                       : std::chrono::microseconds(5000));
  }
}

}  // namespace penstock
