// Whether the Program's micro-batches are those of the plan's batch: their shapes, their tokens,
// how many samples every replica takes, and that all of them together are the batch. What the
// shapes of an even batch are is worked out here once more, since even_batch() made the Program.
#include <algorithm>
#include <functional>
#include <map>

#include "core/check/check_parts.h"

namespace penstock {
namespace {

using Shapes = std::vector<MicroBatchShape>;

// Of replicas that take so many samples each: b, and what is left over.
void add_sizes(const Plan& plan, int samples, std::vector<int>& sizes) {
  const int b = plan.micro_batch_size;
  if (samples >= b) sizes.push_back(b);
  if (samples % b > 0) sizes.push_back(samples % b);
}

void add_shapes(const Plan& plan, const std::vector<int>& sizes, Shapes& shapes) {
  for (const int size : sizes) shapes.push_back({size, plan.sequence_length, 0});
}

// By pipeline, the end of its kind's shapes; of replicas that are alike there is one for all.
struct PlannedShapes {
  Shapes shapes;
  std::vector<std::size_t> end_of_kind;
};

PlannedShapes planned_shapes(const Plan& plan) {
  PlannedShapes planned;
  if (!plan.has_even_batch()) {
    planned.shapes = plan.batch.shapes;
    std::size_t end = 0;
    for (const ReplicaBatch& replicas : plan.batch.replicas) {
      for (const ShapeRun& run : replicas.runs) {
        end = std::max(end, static_cast<std::size_t>(run.shape) + 1);
      }
      planned.end_of_kind.push_back(end);
    }
    return planned;
  }
  std::vector<int> sizes;
  for (const ReplicaKind& kind : plan.replica_kinds) {
    sizes.clear();
    add_sizes(plan, kind.samples, sizes);
    add_shapes(plan, sizes, planned.shapes);
    planned.end_of_kind.push_back(planned.shapes.size());
  }
  if (plan.has_unequal_replicas()) return planned;
  add_sizes(plan, plan.global_batch / plan.data, sizes);
  if (plan.global_batch % plan.data > 0) add_sizes(plan, plan.global_batch / plan.data + 1, sizes);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  add_shapes(plan, sizes, planned.shapes);
  planned.end_of_kind.push_back(planned.shapes.size());
  return planned;
}

std::string pipeline_place(std::size_t p) { return "/program/pipelines/" + std::to_string(p); }

class BatchCheck {
 public:
  BatchCheck(const PlanFile& file, Findings& findings)
      : plan_(file.plan),
        program_(file.program),
        findings_(findings),
        planned_(planned_shapes(file.plan)) {}

  void run() {
    if (!plan_.has_even_batch()) sums_of_batch();
    samples();
    for (std::size_t p = 0; p < program_.pipelines.size(); ++p) {
      micro_batches(p);
      if (!plan_.has_even_batch()) order(p);
    }
  }

 private:
  void require(std::int64_t wanted, std::int64_t found, const std::string& place,
               const std::string& what) {
    if (wanted == found) return;
    findings_.add(
        place, what + ": expected " + std::to_string(wanted) + ", found " + std::to_string(found));
  }

  // The three numbers of the plan that its batch says as well.
  void sums_of_batch() {
    std::int64_t replicas = 0, samples = 0;
    int largest = 0, longest = 0;
    for (const MicroBatchShape& shape : plan_.batch.shapes) {
      largest = std::max(largest, shape.samples);
      longest = std::max(longest, shape.tokens);
    }
    for (const ReplicaBatch& each : plan_.batch.replicas) {
      replicas += each.replicas;
      samples = sum_of(samples, product_of(each.replicas, samples_of(each)));
    }
    require(plan_.data, replicas, "/plan/batch", "replicas of all entries");
    require(plan_.global_batch, samples, "/plan/batch", "samples of all replicas");
    require(plan_.micro_batch_size, largest, "/plan/batch", "samples of the largest shape");
    require(plan_.sequence_length, longest, "/plan/batch", "tokens of the longest sample");
  }
  [[nodiscard]] std::int64_t samples_of(const ReplicaBatch& replicas) const {
    std::int64_t samples = 0;
    for (const ShapeRun& run : replicas.runs) {
      const MicroBatchShape& shape = plan_.batch.shapes[static_cast<std::size_t>(run.shape)];
      samples = sum_of(samples, product_of(run.count, shape.samples));
    }
    return samples;
  }

  // How many replicas take how many samples.
  [[nodiscard]] std::map<std::int64_t, std::int64_t> planned_samples() const {
    std::map<std::int64_t, std::int64_t> wanted;
    if (!plan_.has_even_batch()) {
      for (const ReplicaBatch& each : plan_.batch.replicas) {
        wanted[samples_of(each)] += each.replicas;
      }
    } else if (plan_.has_unequal_replicas()) {
      for (const ReplicaKind& kind : plan_.replica_kinds) wanted[kind.samples] += kind.replicas;
    } else {
      const int share = plan_.global_batch / plan_.data, rest = plan_.global_batch % plan_.data;
      if (rest > 0) wanted[share + 1] = rest;
      wanted[share] = plan_.data - rest;
    }
    return wanted;
  }

  // Every replica of the plan takes its share of the batch.
  void samples() {
    const std::map<std::int64_t, std::int64_t> wanted = planned_samples();
    std::map<std::int64_t, std::int64_t> found;  // samples: replicas
    std::int64_t total = 0;
    for (const Pipeline& pipeline : program_.pipelines) {
      std::int64_t samples = 0;
      for (std::uint32_t m = 0; m < pipeline.micro_batches; ++m) {
        samples += program_.micro_batches[pipeline.first_micro_batch + m].samples;
      }
      found[samples] += pipeline.replicas;
      of_kind(pipeline, samples);
      total = sum_of(total, product_of(samples, pipeline.replicas));
    }
    require(plan_.global_batch, total, "/program/pipelines", "samples of all replicas");
    if (wanted == found) return;
    std::string text = "samples per replica: expected";
    for (const auto& [samples, replicas] : wanted) text += times(replicas, samples);
    text += ", found";
    for (const auto& [samples, replicas] : found) text += times(replicas, samples);
    findings_.add("/program/pipelines", text);
  }
  void of_kind(const Pipeline& pipeline, std::int64_t samples) {
    const auto p = static_cast<std::size_t>(&pipeline - program_.pipelines.data());
    if (p >= plan_.replica_kinds.size()) return;
    const std::string place = pipeline_place(p);
    require(plan_.replica_kinds[p].replicas, pipeline.replicas, place, "replicas of the kind");
    require(plan_.replica_kinds[p].samples, samples, place, "samples of a replica of the kind");
  }
  static std::string times(std::int64_t replicas, std::int64_t samples) {
    return " " + std::to_string(replicas) + " x " + std::to_string(samples);
  }

  // Each kind of replicas has shapes of its own, first all of kind 0.
  [[nodiscard]] bool is_of_kind(std::size_t shape, std::size_t p) const {
    if (!plan_.has_unequal_replicas()) return true;
    const std::size_t first = p == 0 ? 0 : planned_.end_of_kind[p - 1];
    return shape >= first && shape < planned_.end_of_kind[p];
  }

  void micro_batches(std::size_t p) {
    const Pipeline& pipeline = program_.pipelines[p];
    for (std::uint32_t i = 0; i < pipeline.micro_batches; ++i) {
      const std::uint32_t m = pipeline.first_micro_batch + i;
      const MicroBatch& micro_batch = program_.micro_batches[m];
      const std::string place = "micro-batch " + std::to_string(m);
      const std::string name = "shape " + std::to_string(micro_batch.shape);
      if (micro_batch.shape < 0 ||
          static_cast<std::size_t>(micro_batch.shape) >= planned_.shapes.size()) {
        findings_.add(place, "there is no " + name);
        continue;
      }
      const auto shape = static_cast<std::size_t>(micro_batch.shape);
      require(planned_.shapes[shape].samples, micro_batch.samples, place, "samples of " + name);
      if (!is_of_kind(shape, p)) {
        findings_.add(place, name + " is not one of its kind of replicas");
      }
      require(planned_.shapes[shape].tokens, micro_batch.sequence_length, place, "sequence length");
    }
  }

  // The runs of the batch, one micro-batch after the other.
  void order(std::size_t p) {
    const Pipeline& pipeline = program_.pipelines[p];
    if (p >= plan_.batch.replicas.size()) return;
    std::uint32_t at = 0;
    for (const ShapeRun& run : plan_.batch.replicas[p].runs) {
      for (int i = 0; i < run.count && at < pipeline.micro_batches; ++i, ++at) {
        const std::uint32_t m = pipeline.first_micro_batch + at;
        require(run.shape, program_.micro_batches[m].shape, "micro-batch " + std::to_string(m),
                "shape by the plan's batch");
      }
    }
    std::int64_t wanted = 0;
    for (const ShapeRun& run : plan_.batch.replicas[p].runs) wanted += run.count;
    require(wanted, pipeline.micro_batches, pipeline_place(p), "micro-batches of the plan's batch");
  }

  const Plan& plan_;
  const Program& program_;
  Findings& findings_;
  PlannedShapes planned_;
};

}  // namespace

bool check_batch_sizes(const PlanFile& file, Findings& findings) {
  const std::size_t before = findings.count();
  const Plan& plan = file.plan;
  const std::string place = "/plan/batch";
  const auto shapes = static_cast<std::int64_t>(plan.batch.shapes.size());
  for (const MicroBatchShape& shape : plan.batch.shapes) {
    if (shape.samples < 1 || shape.tokens < 0 || shape.decoder_tokens < 0) {
      findings.add(place, "a shape needs at least one sample, and tokens of 0 or more");
    }
  }
  for (const ReplicaBatch& replicas : plan.batch.replicas) {
    if (replicas.replicas < 1) findings.add(place, "an entry needs at least one replica");
    for (const ShapeRun& run : replicas.runs) {
      if (run.count >= 1 && run.shape >= 0 && run.shape < shapes) continue;
      findings.add(place, "a run of " + std::to_string(run.count) + " micro-batches of shape " +
                              std::to_string(run.shape) + ", of " + std::to_string(shapes) +
                              " shapes");
    }
  }
  const std::size_t entries = plan.batch.replicas.size();
  const bool as_kinds = entries == 1 ? plan.replica_kinds.empty()  //
                                     : entries == plan.replica_kinds.size();
  if (!plan.has_even_batch() && !as_kinds) {
    findings.add(place, "its " + std::to_string(entries) + " entries are not the " +
                            std::to_string(plan.kinds()) + " kinds of replicas");
  }
  for (const ReplicaKind& kind : plan.replica_kinds) {
    if (kind.replicas >= 1 && kind.samples >= 1) continue;
    findings.add("/plan/replica_kinds", "a kind needs at least one replica and one sample");
  }
  if (findings.count() > before) return false;
  const auto planned = static_cast<std::int64_t>(planned_shapes(plan).shapes.size());
  if (planned != file.prices.shapes) {
    findings.add("/prices", "micro-batch shapes: expected " + std::to_string(planned) + ", found " +
                                std::to_string(file.prices.shapes));
  }
  return findings.count() == before;
}

void check_batch(const PlanFile& file, Findings& findings) { BatchCheck(file, findings).run(); }

}  // namespace penstock
