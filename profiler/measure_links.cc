// Sizes double, small ones first, so that what a budget cuts off are the largest. Rank 0 decides
// whether to go on and tells the others, so that all ranks always post the same messages. Messages
// come out of a pool in turn, aligned as memory of a GPU is allocated.
#include "profiler/measure_links.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>

#include "core/values/error.h"

namespace penstock {
namespace {

Buffer words(std::vector<std::int64_t>& values) {
  Buffer buffer;
  buffer.data = reinterpret_cast<std::byte*>(values.data());
  buffer.elements = values.size();
  buffer.type = ElementType::kInt64;
  return buffer;
}

// What ranks tell each other besides the messages that are measured, and the tags of all messages:
// those of the whole job are counted on every rank, those between ranks 0 and 1 only there.
class Ranks {
 public:
  explicit Ranks(Transport& transport) : transport_(transport) {}

  [[nodiscard]] int rank() const { return transport_.rank(); }

  // Rank 0's value, on every rank.
  std::int64_t agree(std::int64_t value) {
    std::vector<std::int64_t> values{value};
    if (rank() != 0) {
      transport_.receive(0, ++job_tag_, words(values))->wait();
      return values[0];
    }
    ++job_tag_;
    for (int peer = 1; peer < transport_.size(); ++peer) {
      transport_.send(peer, job_tag_, words(values))->wait();
    }
    return value;
  }

  // On rank 0: of every repetition the time of the slowest of the first `members` ranks.
  std::vector<Duration> slowest(const std::vector<Duration>& own, int members) {
    std::vector<std::int64_t> counts(own.size());
    std::transform(own.begin(), own.end(), counts.begin(),
                   [](Duration time) { return time.count(); });
    ++job_tag_;
    if (rank() != 0 && rank() < members) transport_.send(0, job_tag_, words(counts))->wait();
    std::vector<Duration> all = own;
    for (int peer = 1; rank() == 0 && peer < members; ++peer) {
      std::vector<std::int64_t> theirs(own.size());
      transport_.receive(peer, job_tag_, words(theirs))->wait();
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], Duration{theirs[i]});
    }
    return all;
  }

  // Rank 0 returns when rank 1 has come here, too. It is timed, so `word` is memory of the pool:
  // NCCL takes a way through the GPU with others.
  void hear_from_rank_1(const Buffer& word) {
    const MessageTag tag = new_tags(1);
    if (rank() == 1) transport_.send(0, tag, word)->wait();
    if (rank() == 0) transport_.receive(1, tag, word)->wait();
  }

  // The first of `count` tags, the same on both ranks of the pair.
  MessageTag new_tags(int count) {
    const MessageTag first = pair_tag_;
    pair_tag_ += static_cast<MessageTag>(count);
    return first;
  }

 private:
  Transport& transport_;
  MessageTag job_tag_ = 0, pair_tag_ = MessageTag{1} << 30;
};

// Messages out of a pool, one behind the other, and again from the start.
class RotatingBuffers {
 public:
  explicit RotatingBuffers(const Buffer& pool) : pool_(pool) {}
  Buffer next(std::size_t elements) {
    if (next_ + elements > pool_.elements) next_ = 0;
    const Buffer buffer = pool_.part(next_, next_ + elements);
    next_ += (elements + kAligned - 1) / kAligned * kAligned;
    return buffer;
  }
  // For a message while no other is under way.
  [[nodiscard]] Buffer word() const { return pool_.part(0, 1); }

 private:
  // 256 bytes, as memory of a GPU is allocated: copies of data that is aligned less are slower.
  static constexpr std::size_t kAligned = 64;
  Buffer pool_;
  std::size_t next_ = 0;
};

class LinkMeasuring {
 public:
  LinkMeasuring(Transport& transport, const Buffer& pool, const LinkPlan& plan,
                ProfilingProgress& progress, int rounds)
      : transport_(transport),
        ranks_(transport),
        plan_(plan),
        buffers_(pool),
        progress_(progress),
        rounds_(rounds) {
    for (int n = 2; n <= transport.size(); ++n) groups_.push_back(first_ranks(n));
    for (Bytes bytes = plan.smallest; bytes <= plan.largest; bytes = 2 * bytes) {
      sizes_.push_back(bytes);
    }
    const std::size_t collectives = plan.collectives.size() * groups_.size();
    parts_ = rounds * static_cast<int>(sizes_.size() * (kPatterns.size() + collectives));
  }

  // All sizes, small ones first, so that what a budget cuts off are the largest but one.
  void measure(bool under_load) {
    end_ = steady_now() + plan_.budget / rounds_;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (measure(under_load, sizes_[i])) continue;
      if (sizes_[i] < needed_size()) measure(under_load, needed_size());
      return;
    }
  }

  [[nodiscard]] const LinkSamples& result() const { return samples_; }

 private:
  // The first that is not smaller than what has to be measured, or the largest.
  [[nodiscard]] Bytes needed_size() const {
    if (plan_.at_least.count == 0 || sizes_.empty()) return {};
    const auto found = std::lower_bound(sizes_.begin(), sizes_.end(), plan_.at_least);
    return found == sizes_.end() ? sizes_.back() : *found;
  }

  // False: the time was over before all of it was measured.
  bool measure(bool under_load, Bytes bytes) {
    for (const LinkPattern pattern : kPatterns) {
      if (!goes_on(to_text(bytes) + " between two ranks", bytes == needed_size())) return false;
      add(under_load, bytes, pattern);
    }
    for (const CollectiveKind kind : plan_.collectives) {
      for (int n = 2; n <= transport_.size(); ++n) {
        if (!goes_on(to_text(bytes) + " among " + std::to_string(n) + " ranks",
                     bytes == needed_size()))
          return false;
        add(under_load, bytes, kind, n);
      }
    }
    return true;
  }

  static constexpr std::array kPatterns{LinkPattern::kAlone, LinkPattern::kOneWay,
                                        LinkPattern::kBothWays};

  // Nothing on a rank that is not among them.
  CommunicatorId first_ranks(int n) {
    std::vector<int> members(static_cast<std::size_t>(n));
    std::iota(members.begin(), members.end(), 0);
    if (transport_.rank() >= n) return {};
    return transport_.form_group("links." + std::to_string(n), members);
  }

  bool goes_on(const std::string& what, bool is_needed) {
    bool go = true;
    if (ranks_.rank() == 0) {
      progress_.update(what, part_++, parts_);
      const bool late = !is_needed && plan_.budget > Duration{} && steady_now() >= end_;
      go = !late && !progress_.stop();
    }
    if (ranks_.agree(go ? 1 : 0) == 1) return true;
    samples_.complete = false;
    return false;
  }

  // Of float32, divisible by the number of participants.
  static std::size_t elements_of(Bytes bytes, int participants) {
    const auto parts = static_cast<std::size_t>(participants);
    const auto elements = static_cast<std::size_t>(bytes.count) / bytes_of(ElementType::kFloat32);
    return std::max(elements / parts, std::size_t{1}) * parts;
  }

  // Times of `once` on this rank, repeated as often as rank 0 can afford; empty on ranks that do
  // not take part.
  template <class Once>
  std::vector<Duration> repeat(int members, const Once& once) {
    const bool takes_part = ranks_.rank() < members;
    Duration pilot{};
    for (int i = 0; i < std::max(plan_.warm_up, 1) && takes_part; ++i) pilot = once();
    const std::int64_t affordable =
        plan_.per_size.count() / std::max<std::int64_t>(pilot.count(), 1);
    const std::int64_t repeats =
        ranks_.agree(std::clamp<std::int64_t>(affordable, plan_.least, plan_.most));
    std::vector<Duration> times;
    if (!takes_part) return times;
    times.reserve(static_cast<std::size_t>(repeats));
    for (std::int64_t i = 0; i < repeats; ++i) times.push_back(once());
    return times;
  }

  // By the clock of rank 0, which hears from rank 1 when the last message has arrived.
  void add(bool under_load, Bytes bytes, LinkPattern pattern) {
    const std::size_t elements = elements_of(bytes, 1);
    const std::vector<Duration> times = repeat(2, [&] {
      return pattern == LinkPattern::kAlone
                 ? half_round_trip(elements)
                 : in_flight(elements, pattern == LinkPattern::kBothWays);
    });
    if (ranks_.rank() != 0) return;
    samples_.links.push_back(
        {.pattern = pattern, .under_load = under_load, .bytes = bytes, .time = summarize(times)});
  }

  Duration half_round_trip(std::size_t elements) {
    const MessageTag there = ranks_.new_tags(2), back = there + 1;
    const Buffer buffer = buffers_.next(elements);
    const SteadyTime begin = steady_now();
    if (transport_.rank() == 0) {
      transport_.send(1, there, buffer)->wait();
      transport_.receive(1, back, buffer)->wait();
    } else {
      transport_.receive(0, there, buffer)->wait();
      transport_.send(0, back, buffer)->wait();
    }
    return (steady_now() - begin) / 2;
  }

  Duration in_flight(std::size_t elements, bool both_ways) {
    const bool first = transport_.rank() == 0;
    const int peer = first ? 1 : 0;
    const MessageTag there = ranks_.new_tags(plan_.in_flight);
    const MessageTag back = ranks_.new_tags(plan_.in_flight);
    const bool sends = first || both_ways, receives = !first || both_ways;
    std::vector<std::unique_ptr<Transfer>> transfers;
    transfers.reserve(2 * static_cast<std::size_t>(plan_.in_flight));
    const SteadyTime begin = steady_now();
    // Receives first, so that no message arrives unexpected.
    for (int i = 0; i < plan_.in_flight && receives; ++i) {
      const MessageTag tag = (first ? back : there) + static_cast<MessageTag>(i);
      transfers.push_back(transport_.receive(peer, tag, buffers_.next(elements)));
    }
    for (int i = 0; i < plan_.in_flight && sends; ++i) {
      const MessageTag tag = (first ? there : back) + static_cast<MessageTag>(i);
      transfers.push_back(transport_.send(peer, tag, buffers_.next(elements)));
    }
    for (const auto& transfer : transfers) transfer->wait();
    ranks_.hear_from_rank_1(buffers_.word());
    return (steady_now() - begin) / plan_.in_flight;
  }

  void add(bool under_load, Bytes bytes, CollectiveKind kind, int participants) {
    const std::size_t elements = elements_of(bytes, participants);
    const CommunicatorId group = groups_[static_cast<std::size_t>(participants - 2)];
    const std::vector<Duration> own = repeat(participants, [&] {
      const Buffer buffer = buffers_.next(elements);
      const SteadyTime begin = steady_now();
      collective(kind, group, buffer)->wait();
      return steady_now() - begin;
    });
    const std::vector<Duration> times = ranks_.slowest(own, participants);
    if (ranks_.rank() != 0) return;
    samples_.collectives.push_back({.kind = kind,
                                    .participants = participants,
                                    .under_load = under_load,
                                    .bytes = bytes,
                                    .time = summarize(times)});
  }

  std::unique_ptr<Transfer> collective(CollectiveKind kind, CommunicatorId group,
                                       const Buffer& buffer) {
    switch (kind) {
      case CollectiveKind::kReduceScatter:
        return transport_.reduce_scatter(group, buffer);
      case CollectiveKind::kAllGather:
        return transport_.all_gather(group, buffer);
      case CollectiveKind::kAllReduce:
        break;
    }
    return transport_.all_reduce(group, buffer);
  }

  Transport& transport_;
  Ranks ranks_;
  const LinkPlan& plan_;
  RotatingBuffers buffers_;
  ProfilingProgress& progress_;
  std::vector<CommunicatorId> groups_;  // of the first 2, 3, ... ranks
  std::vector<Bytes> sizes_;
  LinkSamples samples_;
  int rounds_, part_ = 0, parts_ = 0;
  SteadyTime end_;
};

void check_plan(const Transport& transport, const Buffer& pool, const LinkPlan& plan) {
  if (transport.size() < 2) {
    throw Error(ErrorKind::kInternal, "links are measured between at least two ranks");
  }
  if (plan.smallest.count < 4 || plan.in_flight < 1 ||
      static_cast<std::int64_t>(pool.bytes()) < plan.largest.count + 4 * transport.size()) {
    throw Error(ErrorKind::kInternal, "the pool is smaller than the largest message");
  }
}

}  // namespace

LinkSamples measure_links(Transport& transport, const Buffer& pool, const LinkPlan& plan,
                          const LinkLoad& load, ProfilingProgress& progress) {
  check_plan(transport, pool, plan);
  const bool loaded = load.start && load.stop;
  LinkMeasuring measuring(transport, pool, plan, progress, loaded ? 2 : 1);
  measuring.measure(false);
  if (loaded) {
    load.start();
    measuring.measure(true);
    load.stop();
  }
  return measuring.result();
}

}  // namespace penstock
