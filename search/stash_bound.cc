// Bytes times time is the currency: each micro-batch needs at least so many byte-nanoseconds on the
// ranks, a step offers P times C times T of them. Without recompute the quotient is the bound. With
// it the sections that free most per time are taken first, which makes a convex curve whose pieces
// all bound the step, as derived below. Invariant: the bound holds for every cut, schedule and
// order of work, and it is rounded down.
#include "search/stash_bound.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace penstock {
namespace {

Duration rounded_down(double ns) {
  constexpr double kRounding = 1.0 - 1e-9, kForever = 1e18;
  return Duration{static_cast<std::int64_t>(std::min(kRounding * ns, kForever))};
}

// How long a micro-batch lies on a section at least, ns: through all sections behind it and back.
// With `again`, its recomputes, if they have to be waited for.
std::vector<double> times_held(const SectionSums& sums, BackwardKind backward, bool again) {
  const auto times_to = [&](std::size_t section) {
    return sums.forward[section] + sums.gradient_of(backward)[section] +
           (again ? sums.recompute[section] : 0);
  };
  const std::size_t end = sums.forward.size() - 1;
  std::vector<double> held;
  held.reserve(end);
  for (std::size_t s = 0; s < end; ++s) {
    held.push_back(static_cast<double>(times_to(end) - times_to(s)));
  }
  return held;
}

double of_section(const std::vector<std::int64_t>& prefix, std::size_t section) {
  return static_cast<double>(prefix[section + 1] - prefix[section]);
}

// What recomputing a section saves (bytes times ns) and takes (ns).
struct Saving {
  double saved = 0.0, taken = 0.0;
};

// The most that is saved per time first.
std::vector<Saving> savings(const SectionSums& kept, const SectionSums& recomputed,
                            BackwardKind backward, const std::vector<double>& held) {
  std::vector<Saving> savings;
  for (std::size_t s = 0; s < held.size(); ++s) {
    const double less = of_section(kept.stash, s) - of_section(recomputed.stash, s);
    const double more =
        of_section(recomputed.work_of(backward), s) - of_section(kept.work_of(backward), s);
    if (less > 0.0 && held[s] > 0.0) savings.push_back({less * held[s], std::max(more, 0.0)});
  }
  std::stable_sort(savings.begin(), savings.end(), [](const Saving& a, const Saving& b) {
    return a.saved * b.taken > b.saved * a.taken;
  });
  return savings;
}

double stash_time(const SectionSums& sums, const std::vector<double>& held) {
  double sum = 0.0;
  for (std::size_t s = 0; s < held.size(); ++s) sum += of_section(sums.stash, s) * held[s];
  return sum;
}

// All ranks together have room for so many bytes at a time; `all`: bytes times ns of a micro-batch.
Duration bound_of(double all, const StashRoom& room) {
  const double space = static_cast<double>(room.each.count) * room.ranks;
  return rounded_down(static_cast<double>(room.micro_batches) * all / space);
}

}  // namespace

Duration stash_bound(const SectionSums& sums, BackwardKind backward, const StashRoom& room) {
  return bound_of(stash_time(sums, times_held(sums, backward, true)), room);
}

Duration stash_bound_of_either(const SectionSums& a, const SectionSums& b, BackwardKind backward,
                               const StashRoom& room) {
  const auto time_of = [backward](const SectionSums& sums, std::size_t s) {
    return of_section(sums.forward, s) + of_section(sums.gradient_of(backward), s);
  };
  double held = 0.0;
  double all = 0.0;
  for (std::size_t s = a.forward.size() - 1; s-- > 0;) {
    held += std::min(time_of(a, s), time_of(b, s));
    all += held * std::min(of_section(a.stash, s), of_section(b.stash, s));
  }
  return bound_of(all, room);
}

// With x_s the part of section s that recomputes, M micro-batches, P ranks and room C on each:
// M (A - sum x_s saved_s) <= C P T, and M (W + sum x_s taken_s) <= P T. The least work for so much
// saved is convex, with the slopes taken_s / saved_s in ascending order, so each of its pieces,
// prolonged, bounds it: with k sections recomputed whole and the next one as far as need be,
// P T >= M (W + taken_k + (A - saved_k - C P T / M) taken_s / saved_s).
StashCurve::StashCurve(const SectionSums& kept, const SectionSums& recomputed,
                       BackwardKind backward)
    : work_(static_cast<double>(kept.work_of(backward).back())) {
  const std::vector<double> held = times_held(kept, backward, false);
  left_ = stash_time(kept, held);
  double work = work_;
  for (const Saving& next : savings(kept, recomputed, backward, held)) {
    const double slope = next.taken / next.saved;
    pieces_.push_back({work + left_ * slope, slope});
    left_ -= next.saved;
    work += next.taken;
  }
  left_ = std::max(left_, 0.0);
}

Duration StashCurve::least(const StashRoom& room) const {
  const auto micro_batches = static_cast<double>(room.micro_batches);
  const auto each = static_cast<double>(room.each.count);
  double longest = micro_batches * work_ / room.ranks;
  for (const Piece& piece : pieces_) {
    longest =
        std::max(longest, micro_batches * piece.taken / (room.ranks * (1.0 + each * piece.slope)));
  }
  longest = std::max(longest, micro_batches * left_ / (each * room.ranks));
  return rounded_down(longest);
}

}  // namespace penstock
