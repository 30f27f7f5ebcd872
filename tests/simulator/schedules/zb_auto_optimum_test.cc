// How far the automatic zero-bubble schedule is from the best possible, on tiny pipelines: against
// the MILP solver CBC, which is itself checked against counting all lists out. docs/schedules.md
// prints the table.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/schedules/zb_auto.h"
#include "tests/simulator/schedules/automatic.h"

namespace penstock {
namespace {

using testing::costs_of;
using testing::Lists;
using testing::Random;
using testing::Times;
using testing::times_if_it_runs;
using testing::within_limits;

// The mixed-integer programme of the shortest span, indexed by integer time. Micro-batches are
// alike, so in some best schedule those of each kind and stage ascend (sort the starts), and it is
// enough to say when an action of a kind starts: f, i, w_s_t = 1. CF, CI, CW_s_t count the starts
// up to t.
//
//   one at a time   of what runs on stage s at time t there is at most one
//   F               CF_s(t) <= CF_{s-1}(t - F_{s-1} - c)
//   I               CI_s(t) <= CI_{s+1}(t - I_{s+1} - c), on the last stage CF_s(t - F_s)
//   W               CW_s(t) <= CI_s(t - I_s)
//   memory          taken CF_s(t) - freed_I CI_s(t) - freed_W CW_s(t) <= limit: what started before
//                   something else on the same rank has ended by then
//   first F         at the time when it arrives; so a rank's span counts from there, and
//   span            all W have started by first + T - W, where T = least + z_1 + z_2 + ..
class Programme {
 public:
  // Of spans from `least` (no schedule is shorter) to `most` (some schedule takes it).
  Programme(const StageCosts& costs, int micro_batches, int least, int most)
      : costs_(costs), micro_batches_(micro_batches), least_(least), most_(most) {
    int first = 0;
    for (std::size_t s = 0; s < stages(); ++s) {
      first_.push_back(first);
      if (s + 1 < stages()) first += cost('f', s) + ticks(costs.activation[s]);
    }
    horizon_ = first_.back() + most;
  }

  [[nodiscard]] std::string text() {
    lines_ << "Minimize\n T: " << least_ << " one";
    for (int k = 1; k <= most_ - least_; ++k) lines_ << " + " << excess(k);
    lines_ << "\nSubject To\n one = 1\n";
    for (int k = 1; k < most_ - least_; ++k) {
      lines_ << ' ' << excess(k) << " - " << excess(k + 1) << " >= 0\n";
    }
    for (std::size_t s = 0; s < stages(); ++s) add_stage(s);
    lines_ << "Binaries\n";
    for (const std::string& name : binaries_) lines_ << ' ' << name << '\n';
    for (int k = 1; k <= most_ - least_; ++k) lines_ << ' ' << excess(k) << '\n';
    lines_ << "End\n";
    return lines_.str();
  }

 private:
  [[nodiscard]] std::size_t stages() const { return costs_.forward.size(); }
  static int ticks(Duration duration) { return static_cast<int>(duration.count()); }
  [[nodiscard]] int cost(char kind, std::size_t s) const {
    if (kind == 'f') return ticks(costs_.forward[s]);
    return ticks(kind == 'i' ? costs_.input_gradient[s] : costs_.weight_gradient[s]);
  }
  static std::string excess(int k) { return "z_" + std::to_string(k); }
  static std::string starts(char kind, std::size_t s, int t) {
    return std::string(1, kind) + '_' + std::to_string(s) + '_' + std::to_string(t);
  }
  static std::string count(char kind, std::size_t s, int t) { return 'C' + starts(kind, s, t); }

  void add_stage(std::size_t s) {
    const bool last = s + 1 == stages();
    for (int t = 0; t < horizon_; ++t) {
      add_counts(s, t);
      add_one_at_a_time(s, t);
      if (s > 0) no_sooner('f', s, t, 'f', s - 1, ticks(costs_.activation[s - 1]));
      if (last) no_sooner('i', s, t, 'f', s, 0);
      if (!last) no_sooner('i', s, t, 'i', s + 1, ticks(costs_.gradient[s]));
      no_sooner('w', s, t, 'i', s, 0);
      lines_ << ' ' << costs_.taken_by_forward[s] << ' ' << count('f', s, t) << " - "
             << costs_.freed_by_input_gradient[s] << ' ' << count('i', s, t) << " - "
             << costs_.freed_by_weight_gradient[s] << ' ' << count('w', s, t)
             << " <= " << costs_.limit[s] << '\n';
    }
    lines_ << ' ' << starts('f', s, first_[s]) << " = 1\n";
    for (int span = least_; span <= most_; ++span) {
      // All of them have started, unless T is larger.
      const int t = first_[s] + span - cost('w', s);
      lines_ << ' ' << count('w', s, t);
      if (span < most_) lines_ << " + " << micro_batches_ << ' ' << excess(span - least_ + 1);
      lines_ << " >= " << micro_batches_ << '\n';
    }
  }

  void add_counts(std::size_t s, int t) {
    for (const char kind : {'f', 'i', 'w'}) {
      lines_ << ' ' << count(kind, s, t) << " - " << starts(kind, s, t);
      if (t > 0) lines_ << " - " << count(kind, s, t - 1);
      lines_ << " = 0\n " << count(kind, s, t) << " <= " << micro_batches_ << '\n';
      binaries_.push_back(starts(kind, s, t));
    }
  }

  void add_one_at_a_time(std::size_t s, int t) {
    for (const char kind : {'f', 'i', 'w'}) {
      for (int began = std::max(0, t - cost(kind, s) + 1); began <= t; ++began) {
        lines_ << " + " << starts(kind, s, began);
      }
    }
    lines_ << " <= 1\n";
  }

  void no_sooner(char kind, std::size_t s, int t, char needs, std::size_t of, int transfer) {
    lines_ << ' ' << count(kind, s, t);
    const int then = t - cost(needs, of) - transfer;
    if (then >= 0) lines_ << " - " << count(needs, of, then);
    lines_ << " <= 0\n";
  }

  const StageCosts& costs_;
  int micro_batches_, least_, most_, horizon_ = 0;
  std::vector<int> first_;  // start of the first forward
  std::vector<std::string> binaries_;
  std::ostringstream lines_;
};

// A folder of its own that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "penstock_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

int most_work(const StageCosts& costs, int micro_batches) {
  Duration most{0};
  for (std::size_t s = 0; s < costs.forward.size(); ++s) {
    most = std::max(most, costs.forward[s] + costs.input_gradient[s] + costs.weight_gradient[s]);
  }
  return static_cast<int>(most.count()) * micro_batches;
}

// The shortest span; every cost at least 1. `most`: what some schedule takes.
int optimum_by_cbc(const StageCosts& costs, int micro_batches, int most) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("zb.lp"))
      << Programme(costs, micro_batches, most_work(costs, micro_batches), most).text();
  const std::string command = "cbc " + folder.file("zb.lp") +
                              " sec 30 ratio 0 allow 0 solve solution " + folder.file("zb.sol") +
                              " > " + folder.file("zb.log") + " 2>&1";
  REQUIRE_MESSAGE(std::system(command.c_str()) == 0,
                  "the MILP solver cbc is missing or failed: apt-get install coinor-cbc");
  std::string status;
  REQUIRE(std::getline(std::ifstream(folder.file("zb.sol")), status));
  INFO(status);
  const std::string words = "Optimal - objective value ";
  REQUIRE(status.starts_with(words));
  return static_cast<int>(std::lround(std::stod(status.substr(words.size()))));
}

// Every order of M F, I and W in which the k-th I comes after the k-th F, the k-th W after the k-th
// I.
std::vector<std::vector<ActionKind>> all_orders(int micro_batches) {
  std::vector<std::vector<ActionKind>> orders;
  std::vector<ActionKind> order;
  const std::function<void(int, int, int)> extend = [&](int f, int i, int w) {
    if (w == micro_batches) orders.push_back(order);
    const auto then = [&](ActionKind kind, int f2, int i2, int w2) {
      order.push_back(kind);
      extend(f2, i2, w2);
      order.pop_back();
    };
    if (f < micro_batches) then(ActionKind::kForward, f + 1, i, w);
    if (i < f) then(ActionKind::kInputGradient, f, i + 1, w);
    if (w < i) then(ActionKind::kWeightGradient, f, i, w + 1);
  };
  extend(0, 0, 0);
  return orders;
}

std::vector<ComputeAction> list_of(const std::vector<ActionKind>& order, std::size_t stage) {
  std::uint32_t next[3] = {0, 0, 0};
  std::vector<ComputeAction> list;
  for (const ActionKind kind : order) {
    ComputeAction action;
    action.kind = kind;
    action.stage = StageId{static_cast<std::uint16_t>(stage)};
    action.micro_batch = MicroBatchId{next[static_cast<std::size_t>(kind)]++};
    list.push_back(action);
  }
  return list;
}

// By trying all lists of all ranks.
int optimum_by_counting_out(const StageCosts& costs, int micro_batches) {
  const auto orders = all_orders(micro_batches);
  Duration best = Duration::max();
  Lists lists;
  const std::function<void()> extend = [&] {
    if (lists.size() == costs.limit.size()) {
      if (!within_limits(lists, costs)) return;
      const std::optional<Times> times = times_if_it_runs(lists, costs);
      if (times) best = std::min(best, times->longest_span);
      return;
    }
    for (const auto& order : orders) {
      lists.push_back(list_of(order, lists.size()));
      extend();
      lists.pop_back();
    }
  };
  extend();
  return static_cast<int>(best.count());
}

// Different everywhere, 1 to `most`.
StageCosts uneven_costs(Random& random, int ranks, int most) {
  StageCosts costs = costs_of({ranks, 1, 1, 1, 1, 0, 1, 1, 0});
  for (std::size_t s = 0; s < costs.limit.size(); ++s) {
    for (auto* times : {&costs.forward, &costs.input_gradient, &costs.weight_gradient}) {
      (*times)[s] = Duration{random.between(1, most)};
    }
    if (s + 1 < costs.limit.size()) {
      costs.activation[s] = Duration{random.between(0, 1)};
      costs.gradient[s] = Duration{random.between(0, 1)};
    }
    costs.freed_by_input_gradient[s] = random.between(1, 3);
    costs.freed_by_weight_gradient[s] = random.between(1, 3);
    costs.taken_by_forward[s] =
        costs.freed_by_input_gradient[s] + costs.freed_by_weight_gradient[s];
    costs.limit[s] =
        costs.taken_by_forward[s] * random.between(1, ranks + 1) + random.between(0, 2);
  }
  return costs;
}

int ours(const StageCosts& costs, int micro_batches) {
  return static_cast<int>(zb_auto(costs, micro_batches).span.count());
}

TEST_CASE("CBC finds what counting all lists out finds") {
  Random random(5);
  struct Size {
    int ranks, micro_batches;
  };
  for (const Size& size : {Size{2, 3}, {2, 3}, {2, 3}, {3, 2}, {4, 2}}) {
    CAPTURE(size.ranks);
    const StageCosts costs = uneven_costs(random, size.ranks, 4);
    const int most = ours(costs, size.micro_batches);
    CHECK(optimum_by_cbc(costs, size.micro_batches, most) ==
          optimum_by_counting_out(costs, size.micro_batches));
  }
}

struct Case {
  int ranks, micro_batches;
  int forward, input_gradient, weight_gradient, transfer;
  int limit;  // activations
  int optimum, ours;
};

// Equal stages, of whose activations I and W give back half each.
TEST_CASE("the gap to the optimum is as docs/schedules.md says: equal stages") {
  const std::vector<Case> cases = {
      {2, 4, 1, 1, 1, 0, 2, 13, 13}, {3, 5, 1, 1, 1, 0, 2, 21, 22}, {3, 5, 1, 1, 1, 0, 3, 17, 17},
      {3, 5, 2, 2, 1, 1, 3, 39, 39}, {4, 6, 1, 1, 1, 0, 2, 31, 31}, {4, 6, 1, 1, 1, 0, 3, 24, 25},
      {4, 6, 1, 1, 1, 0, 4, 21, 21}, {4, 6, 1, 1, 1, 0, 6, 19, 19}, {4, 6, 2, 2, 1, 0, 4, 39, 39},
      {4, 6, 2, 2, 1, 0, 6, 37, 37}, {4, 5, 3, 4, 2, 1, 4, 72, 72}, {4, 6, 2, 3, 1, 1, 3, 67, 67},
  };
  for (const Case& c : cases) {
    CAPTURE(c.ranks);
    CAPTURE(c.forward);
    CAPTURE(c.limit);
    const StageCosts costs = costs_of(
        {c.ranks, 1, c.forward, c.input_gradient, c.weight_gradient, c.transfer, 1, 1, c.limit});
    CHECK(ours(costs, c.micro_batches) == c.ours);
    CHECK(optimum_by_cbc(costs, c.micro_batches, c.ours) == c.optimum);
  }
}

struct UnevenCase {
  int ranks, micro_batches, optimum, ours;
};

// Every stage, transfer and limit different; limits of 1 to P + 1 activations.
TEST_CASE("the gap to the optimum is as docs/schedules.md says: uneven stages and limits") {
  const std::vector<UnevenCase> cases = {
      {2, 3, 25, 27}, {3, 4, 36, 36}, {4, 5, 41, 41}, {2, 6, 36, 36},
      {3, 3, 42, 42}, {4, 4, 57, 57}, {2, 5, 33, 33}, {3, 6, 74, 74},
  };
  Random random(7);
  for (const UnevenCase& c : cases) {
    CAPTURE(c.ranks);
    CAPTURE(c.micro_batches);
    const StageCosts costs = uneven_costs(random, c.ranks, 3);
    CHECK(ours(costs, c.micro_batches) == c.ours);
    CHECK(optimum_by_cbc(costs, c.micro_batches, c.ours) == c.optimum);
  }
}

}  // namespace
}  // namespace penstock
