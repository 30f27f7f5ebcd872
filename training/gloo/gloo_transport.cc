// All ranks announce themselves in the store before anything is connected, because Gloo could not
// say who is missing. Work ends on c10d's threads, which set an outcome; the rank's own thread
// waits for it and does what is left. The first failure closes all groups, so that the others fail
// at once with it and not at their time limit.
#include "training/gloo/gloo_transport.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "training/gloo/c10d_store.h"
#include "training/gloo/gloo_group.h"
#include "training/gloo/own_address.h"
#include "training/gloo/transfer_outcome.h"
#include "training/gloo/waiters.h"

namespace penstock {
namespace {

// The groups of a rank, and the first thing that went wrong: from then on everything fails with it.
class Groups {
 public:
  CommunicatorId add(std::shared_ptr<GlooGroup> group) {
    const std::lock_guard lock(mutex_);
    groups_.push_back(std::move(group));
    return {static_cast<int>(groups_.size()) - 1};
  }
  [[nodiscard]] GlooGroup& at(CommunicatorId id) {
    const std::lock_guard lock(mutex_);
    return *groups_[static_cast<std::size_t>(id.value)];
  }
  // Closes the connections too, so that the other ranks need not wait for their time limit.
  void fail(std::optional<int> peer, const std::string& message) {
    std::vector<std::shared_ptr<GlooGroup>> groups;
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return;
      failure_.emplace(peer, message);
      groups = groups_;
    }
    for (const auto& group : groups) group->close();
  }
  void throw_if_failed() {
    const std::lock_guard lock(mutex_);
    if (failure_) throw TransportFailure(*failure_);
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<GlooGroup>> groups_;
  std::optional<TransportFailure> failure_;
};

class GlooTransfer : public Transfer {
 public:
  // `finish` runs once on the rank's own thread, after success.
  GlooTransfer(Groups& groups, std::string what, Duration patience, std::function<void()> finish)
      : groups_(groups),
        what_(std::move(what)),
        patience_(patience),
        finish_(std::move(finish)),
        outcome_(std::make_shared<TransferOutcome>()) {}

  [[nodiscard]] const std::shared_ptr<TransferOutcome>& outcome() const { return outcome_; }
  void keep(GlooWork work) { work_ = std::move(work); }

  [[nodiscard]] bool done() override {
    const std::optional<bool> succeeded = outcome_->succeeded();
    if (succeeded) end(*succeeded);
    return succeeded.has_value();
  }
  void wait() override {
    const std::optional<bool> succeeded = outcome_->wait(patience_);
    if (!succeeded) groups_.fail(std::nullopt, what_ + " did not end, nor did it fail");
    end(succeeded.value_or(false));
  }
  [[nodiscard]] std::optional<SteadyTime> ended() const override { return outcome_->time(); }

 private:
  void end(bool succeeded) {
    if (!succeeded) groups_.throw_if_failed();
    if (finish_) std::exchange(finish_, nullptr)();
  }

  Groups& groups_;
  std::string what_;
  Duration patience_;
  std::function<void()> finish_;
  std::shared_ptr<TransferOutcome> outcome_;
  GlooWork work_;
};

std::string arrival_key(int rank) { return "arrived/" + std::to_string(rank); }

std::string list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  return text;
}

// Ranks that came with another token. They end at once, and so does whoever waits for them, unless
// others take their places: they may be those of another job that was given this one's port.
class RefusedRanks {
 public:
  RefusedRanks(c10d::TCPStore& job, const GlooOptions& options) : job_(job), options_(options) {}

  void look(const std::vector<int>& missing) {
    const SteadyTime now = steady_now();
    for (const int rank : missing) {
      if (!was_refused(job_, options_.store, {rank, options_.ranks})) continue;
      const SteadyTime since = since_.try_emplace(rank, now).first->second;
      if (now - since <= options_.refusal_limit) continue;
      throw TransportFailure(
          rank, "rank " + std::to_string(rank) + " of " + std::to_string(options_.ranks) +
                    " came to " + to_string(options_.store) +
                    " with another PENSTOCK_JOB_TOKEN than this rank, or only one of the two has "
                    "any, and was refused: give all ranks of a job the same one");
    }
  }

 private:
  c10d::TCPStore& job_;
  const GlooOptions& options_;
  std::map<int, SteadyTime> since_;  // seen to be refused
};

// Before anything is connected, because Gloo could not say who is missing. Each says from where it
// reaches the store; returned is at which address this rank is reached.
std::string wait_for_all(c10d::TCPStore& job, c10d::Store& store, const GlooOptions& options) {
  const std::string own = address_towards(options.store.host, options.store.port);
  store.set(arrival_key(options.rank), std::vector<std::uint8_t>(own.begin(), own.end()));
  const SteadyTime deadline = steady_now() + options.rendezvous_limit;
  RefusedRanks refused(job, options);
  std::vector<int> missing;
  for (int rank = 0; rank < options.ranks; ++rank) missing.push_back(rank);
  for (;;) {
    std::erase_if(missing, [&](int rank) { return store.check({arrival_key(rank)}); });
    if (missing.empty()) break;
    refused.look(missing);
    if (steady_now() > deadline) {
      const auto seconds =
          std::chrono::duration_cast<std::chrono::seconds>(options.rendezvous_limit).count();
      throw TransportFailure(missing.front(),
                             list(missing) + " of " + std::to_string(options.ranks) +
                                 " did not arrive at " + to_string(options.store) + " within " +
                                 std::to_string(seconds) +
                                 " s: see what they printed, and that all were started with the "
                                 "same address, number of ranks and PENSTOCK_JOB_TOKEN");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::vector<std::string> all;
  for (int rank = 0; rank < options.ranks && is_loopback(own); ++rank) {
    const std::vector<std::uint8_t> address = store.get(arrival_key(rank));
    all.emplace_back(address.begin(), address.end());
  }
  return address_among(own, all);
}

class GlooTransport : public Transport {
 public:
  explicit GlooTransport(const GlooOptions& options) : options_(options) {
    const StoreRole role = options.serves_store ? StoreRole::kServer : StoreRole::kClient;
    const auto job = open_store(options.store, role, options.rendezvous_limit,
                                Awaited{options.rank, options.ranks});
    store_ = c10::make_intrusive<c10d::PrefixStore>(options.store.prefix, job);
    std::string address;
    within_reach("joining the job", [&] { address = wait_for_all(*job, *store_, options_); });
    within_reach("opening the network", [&] { device_ = open_device(options_, address); });
    std::vector<int> all;
    for (int rank = 0; rank < options.ranks; ++rank) all.push_back(rank);
    job_ = form_group("job", all);
  }

  ~GlooTransport() override {
    // Ends what was left under way, so that no other thread needs any of this.
    if (under_way() > 0) groups_.fail(std::nullopt, me() + "the transport was closed");
    while (under_way() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  [[nodiscard]] int rank() const override { return options_.rank; }
  [[nodiscard]] int size() const override { return options_.ranks; }

  std::unique_ptr<Transfer> send(int to, MessageTag tag, const Buffer& buffer) override {
    return message("sending to", to, tag, buffer,
                   [&](int short_tag) { return groups_.at(job_).send(to, short_tag, buffer); });
  }
  std::unique_ptr<Transfer> receive(int from, MessageTag tag, const Buffer& buffer) override {
    return message("receiving from", from, tag, buffer, [&](int short_tag) {
      return groups_.at(job_).receive(from, short_tag, buffer);
    });
  }

  CommunicatorId form_group(const std::string& name, const std::vector<int>& members) override {
    groups_.throw_if_failed();
    const auto own = std::ranges::find(members, options_.rank);
    if (own == members.end()) {
      throw Error(ErrorKind::kInternal, me() + "not a member of group " + name);
    }
    // A group may be formed again: whoever connects to what an earlier one left would fail.
    std::string key = "group/" + name;
    for (const int member : members) key += "." + std::to_string(member);
    key += "/" + std::to_string(times_formed_[key]++);
    std::shared_ptr<GlooGroup> group;
    within_reach("forming group " + name, [&] {
      group =
          std::make_shared<GlooGroup>(c10::make_intrusive<c10d::PrefixStore>(key, store_),
                                      static_cast<int>(own - members.begin()),
                                      static_cast<int>(members.size()), device_, options_.limit);
    });
    group_names_.push_back(name);
    return groups_.add(std::move(group));
  }

  std::unique_ptr<Transfer> all_reduce(CommunicatorId id, const Buffer& buffer) override {
    check_place(buffer);
    GlooGroup& group = groups_.at(id);
    // Gloo 1.13 knows no bfloat16, and sums of float16 would be rounded at every step.
    const bool is_half =
        buffer.type == ElementType::kBFloat16 || buffer.type == ElementType::kFloat16;
    const at::Tensor result = tensor_of(buffer);
    const at::Tensor sum = is_half ? result.to(at::kFloat) : result;
    std::function<void()> finish;
    if (is_half) finish = [result, sum] { result.copy_(sum); };
    return collective("all-reduce", id, buffer, std::move(finish),
                      [&] { return group.all_reduce(sum); });
  }
  std::unique_ptr<Transfer> reduce_scatter(CommunicatorId id, const Buffer& buffer) override {
    check_division(id, buffer);
    return all_reduce(id, buffer);  // Gloo 1.13 has nothing better
  }
  std::unique_ptr<Transfer> all_gather(CommunicatorId id, const Buffer& buffer) override {
    check_division(id, buffer);
    return collective("all-gather", id, buffer, nullptr,
                      [&] { return groups_.at(id).all_gather(buffer); });
  }
  void barrier() override {
    Buffer token;
    token.elements = 1;
    collective("barrier", job_, token, nullptr, [&] { return groups_.at(job_).barrier(); })->wait();
  }

  void abort(const std::string& reason) override { groups_.fail(std::nullopt, me() + reason); }

 private:
  [[nodiscard]] std::string me() const { return "rank " + std::to_string(options_.rank) + ": "; }

  static void check_place(const Buffer& buffer) {
    if (buffer.on_device) {
      throw Error(ErrorKind::kInternal, "Gloo moves host memory only, got memory on a GPU");
    }
  }
  void check_division(CommunicatorId id, const Buffer& buffer) {
    if (buffer.elements % static_cast<std::size_t>(groups_.at(id).size()) != 0) {
      throw Error(ErrorKind::kInternal, me() + std::to_string(buffer.elements) +
                                            " elements do not divide evenly over group " +
                                            group_name(id));
    }
  }
  [[nodiscard]] const std::string& group_name(CommunicatorId id) const {
    return group_names_[static_cast<std::size_t>(id.value)];
  }

  // Exceptions of c10d and of Gloo as ours.
  template <class Call>
  void within_reach(const std::string& what, const Call& call) {
    try {
      call();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      groups_.fail(std::nullopt, me() + what + " failed: " + words_of(error));
    }
    groups_.throw_if_failed();
  }

  template <class Start>
  std::unique_ptr<Transfer> message(const std::string& verb, int peer, MessageTag tag,
                                    const Buffer& buffer, const Start& start) {
    check_place(buffer);
    groups_.throw_if_failed();
    if (peer < 0 || peer >= options_.ranks || peer == options_.rank) {
      throw Error(ErrorKind::kInternal, me() + verb + " rank " + std::to_string(peer) + " of " +
                                            std::to_string(options_.ranks));
    }
    if (tag >= static_cast<MessageTag>(std::numeric_limits<int>::max())) {
      throw Error(ErrorKind::kInternal, "tag " + std::to_string(tag) + " does not fit into an int");
    }
    const std::string what = me() + verb + " rank " + std::to_string(peer);
    auto transfer =
        std::make_unique<GlooTransfer>(groups_, what, 2 * options_.limit, std::function<void()>());
    GlooWork work;
    fail_on_exception(peer, what, [&] { work = start(static_cast<int>(tag)); });
    groups_.throw_if_failed();
    transfer->keep(work);
    begin();
    waiters_.run([this, work, what, peer, outcome = transfer->outcome()] {
      bool succeeded = false;
      fail_on_exception(peer, what,
                        [&] { succeeded = work->wait(in_milliseconds(options_.limit)); });
      end(*outcome, succeeded);
    });
    return transfer;
  }

  template <class Start>
  std::unique_ptr<Transfer> collective(const std::string& name, CommunicatorId id,
                                       const Buffer& buffer, std::function<void()> finish,
                                       const Start& start) {
    check_place(buffer);
    groups_.throw_if_failed();
    const std::string what = me() + name + " of group " + group_name(id);
    auto transfer =
        std::make_unique<GlooTransfer>(groups_, what, 2 * options_.limit, std::move(finish));
    if (buffer.elements == 0 || groups_.at(id).size() == 1) {
      transfer->outcome()->set(true);
      return transfer;
    }
    GlooWork work;
    fail_on_exception(std::nullopt, what, [&] { work = start(); });
    groups_.throw_if_failed();
    transfer->keep(work);
    begin();
    work->getFuture()->addCallback([this, what, outcome = transfer->outcome()](auto& future) {
      if (future.hasError()) {
        groups_.fail(std::nullopt,
                     what + " failed: " + first_line(future.tryRetrieveErrorMessage()));
      }
      end(*outcome, !future.hasError());
    });
    return transfer;
  }

  template <class Call>
  void fail_on_exception(std::optional<int> peer, const std::string& what, const Call& call) {
    try {
      call();
    } catch (const std::exception& error) {
      groups_.fail(peer, what + " failed: " + words_of(error));
    }
  }
  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  void begin() {
    const std::lock_guard lock(count_mutex_);
    ++under_way_;
  }
  void end(TransferOutcome& outcome, bool succeeded) {
    outcome.set(succeeded);
    const std::lock_guard lock(count_mutex_);
    --under_way_;
  }
  [[nodiscard]] int under_way() {
    const std::lock_guard lock(count_mutex_);
    return under_way_;
  }

  GlooOptions options_;
  c10::intrusive_ptr<c10d::Store> store_;
  GlooDevice device_;
  std::vector<std::string> group_names_;
  std::map<std::string, int> times_formed_;
  CommunicatorId job_;
  std::mutex count_mutex_;
  int under_way_ = 0;
  Groups groups_;
  Waiters waiters_;  // last: its threads use all of the above
};

}  // namespace

std::unique_ptr<Transport> make_gloo_transport(const GlooOptions& options) {
  return std::make_unique<GlooTransport>(options);
}

}  // namespace penstock
