// What was measured of a model: penstock.profile/1. A model is a chain of sections; sections of one
// type share their measurements, since a transformer repeats one layer many times. Times are those
// of one rank of a tensor-parallel group; bytes are those held by that rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/collective_kind.h"
#include "core/values/ids.h"
#include "core/values/model_description.h"
#include "core/values/units.h"

namespace penstock {

// How far measurements lay from figures of one source, relative to them: nine of ten between
// 1 - below and 1 + above.
struct ErrorBand {
  double below = 0.0, above = 0.0;
  bool operator==(const ErrorBand&) const = default;
};

// Where a number comes from. Every measurement names an entry of ModelProfile::sources.
enum class Origin { kMeasured, kDatasheet, kDerived, kAssumed };

struct Source {
  std::string id;
  Origin origin = Origin::kMeasured;
  std::string text;                  // who measured it, where it was published, how it was derived
  std::string licence;               // empty when it is our own
  std::optional<ErrorBand> error{};  // of estimated times
  bool operator==(const Source&) const = default;
};

// How often a time was taken and how much it varied (standard deviation).
struct Timing {
  Duration median{};
  Duration spread{};
  bool operator==(const Timing&) const = default;
};

// Collectives of one kind and size over the T devices of a tensor-parallel group, of one execution
// of a section. They are not inside its times: they are priced from the links of the cluster.
struct TensorTraffic {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes;  // of the whole tensor, before it is scattered or after it is gathered
  // How many the section stands still for, inside each action; B stands still for those of I and W.
  int forward = 0, input_gradient = 0, weight_gradient = 0, recompute = 0;
  // How many run beside the products of I and of W; what takes longer than those adds to the
  // action.
  int beside_input_gradient = 0, beside_weight_gradient = 0;
  bool operator==(const TensorTraffic&) const = default;
};

// Keys and values that go round among the C ranks that divide a sequence (context parallelism, as a
// ring): in C - 1 steps each rank sends what it has on while it works on one part of its attention.
// They are not inside the section's times: what takes longer than that part is priced from the
// links of the cluster.
struct RingTraffic {
  Bytes bytes;  // keys and values of one rank's tokens; in a backward their gradients as well
  // Attention beside one step; a forward that is not computed again has none of it.
  Duration beside_forward{}, beside_backward{};
  std::optional<Duration> beside_recompute{};
  // Queries, keys, values and outputs of one rank's tokens: what goes to other ranks where they
  // divide heads during attention (Ulysses). 0: not known.
  Bytes exchanged{};
  bool operator==(const RingTraffic&) const = default;
};

// Tokens on their way to the ranks that hold their experts, and what those make of them on its way
// back: once each in a forward, and likewise their gradients in a backward. They are not inside the
// section's times: they are priced from the links of the cluster.
struct ExpertTraffic {
  Bytes dispatched, combined;  // one copy of all tokens of a rank, each way
  int experts = 1;             // of the layer
  int visited = 1;             // by one token
  // A token goes once to each node, and once to each rank there, that has one of its experts;
  // false: a copy for each expert.
  bool once = true;
  int most_nodes = 0;      // that a token's experts lie on, by the router's choice; 0: any number
  double imbalance = 1.0;  // what the busiest rank is sent, over the mean
  bool again = false;      // also where the forward is computed again
  bool operator==(const ExpertTraffic&) const = default;
};

// A part of a section's times, by its name: "attention".
struct TimeTerm {
  std::string name;
  Duration forward{}, backward{}, recompute{};
  bool operator==(const TimeTerm&) const = default;
};

// How backward is divided into input gradient and weight gradient.
struct Measurement {
  // the key
  std::string device;              // device type, as named in a cluster file
  int tensor_degree = 1;           // T
  int context_degree = 1;          // C, ranks that divide each sequence; it is told whole
  int micro_batch_size = 1;        // samples
  int sequence_length = 0;         // tokens per sample; 0 when the model has no such dimension
  int decoder_length = 0;          // tokens per target, of sections that know it; else 0
  std::string recompute = "none";  // recompute mode: "none" keeps all activations
  // times; either both gradients or fused_backward or all three are present
  Timing forward;
  std::optional<Timing> input_gradient;   // I
  std::optional<Timing> weight_gradient;  // W
  std::optional<Timing> fused_backward;   // B = I + W without the recompute
  Timing recompute_time;                  // R; zero for mode "none"
  // The part of fused_backward that W takes, 0..1, when I and W were not measured apart.
  std::optional<double> weight_gradient_share;
  // T > 1: the collectives that the times do not hold; empty: they hold all of them
  std::vector<TensorTraffic> tensor_traffic{};
  std::optional<RingTraffic> ring{};  // C > 1
  // EP and ETP (0: T), in sections with experts; those of other sections hold for all.
  int expert_degree = 1, expert_tensor_degree = 0;
  std::optional<ExpertTraffic> experts{};  // EP > 1
  // What forward, fused_backward and recompute_time add up from (to a nanosecond each); empty: not
  // known.
  std::vector<TimeTerm> terms{};
  std::int64_t count = 1;  // number of timed repetitions
  // bytes, for the whole micro-batch
  Bytes stash;         // held from F to I (or B)
  Bytes weight_stash;  // held from I to W: what only the weight gradient needs
  Bytes working_peak;  // taken and freed inside F, R, I, W or B, on top of every stash
  Bytes boundary;      // output activation handed to the next section (its gradient has the same)
  // provenance: indices into ModelProfile::sources
  int time_source = 0;
  int split_source = 0;   // of weight_gradient_share
  int memory_source = 0;  // of the four byte figures
  bool operator==(const Measurement&) const = default;
};

struct ParameterCount {
  int tensor_degree = 1;
  std::int64_t count = 0;  // parameters held by one rank of the tensor-parallel group
  bool operator==(const ParameterCount&) const = default;
};

// A key at which measuring ran out of memory. What has no row and is not listed so was not tried.
struct OutOfMemoryKey {
  std::string device;
  int tensor_degree = 1;
  int micro_batch_size = 1;
  int sequence_length = 0;
  int decoder_length = 0;
  std::string recompute = "none";
  bool operator==(const OutOfMemoryKey&) const = default;
};

// Sections of an encoder-decoder model know the lengths that their rows name: the encoder's alone,
// or (from where the decoder begins, since what the encoder made travels on with the boundary)
// both.
struct SectionType {
  std::string name;
  std::vector<ParameterCount> parameters;  // ascending tensor degree, never empty
  int parameter_source = 0;
  std::vector<Measurement> measurements;
  std::vector<OutOfMemoryKey> out_of_memory{};
  // What a section holds besides parameters that are trained: frozen ones, and buffers.
  Bytes fixed{};
  // Those of its parameters that are experts', of all ranks together: 1 / T of them is in
  // `parameters`, and EP ETP ranks divide them.
  std::int64_t expert_parameters = 0;
  bool operator==(const SectionType&) const = default;
};

struct Section {
  std::string name;
  int type = 0;  // index into ModelProfile::section_types
  bool operator==(const Section&) const = default;
};

// Parameters that several sections use (input and output embedding). Each of the sections counts
// them in its own parameters; a stage that holds two of them stores them once; stages that hold
// them apart reduce their gradients together.
struct TiedWeights {
  std::string name;
  std::vector<SectionId> sections;         // at least two, ascending
  std::vector<ParameterCount> parameters;  // of the shared tensor
  bool operator==(const TiedWeights&) const = default;
};

// What training keeps per parameter, and what the end of a step costs.
struct TrainingState {
  Bytes bytes_per_parameter{2};
  Bytes bytes_per_gradient{2};
  Bytes optimizer_bytes_per_parameter{12};  // master copy and moments; ZeRO-1 shards these
  // Time of the optimizer step per parameter held, in picoseconds; when absent it is priced as
  // memory-bound: all the bytes above read and written once at the device's memory bandwidth.
  std::optional<std::int64_t> optimizer_ps_per_parameter;
  // Time of a rank's part in the global gradient norm, in picoseconds per parameter that it counts.
  // 0: not measured apart, as in files whose time of the optimizer has it inside.
  std::int64_t norm_ps_per_parameter = 0;
  // Gradients are reduced in buckets of so many parameters while the last backward still runs, and
  // updated parameters (ZeRO-1) gathered likewise beside the next forward. 0: all of a stage at
  // once, behind its last backward.
  std::int64_t bucket_parameters = 0;
  int source = 0;
  bool operator==(const TrainingState&) const = default;
};

struct ModelProfile {
  std::string name;
  std::vector<Source> sources;
  TrainingState training;
  std::vector<SectionType> section_types;
  std::vector<Section> sections;  // along the model
  std::vector<TiedWeights> tied_weights;
  std::optional<ModelDescription> description{};  // absent: such a model cannot be trained
  bool operator==(const ModelProfile&) const = default;
};

}  // namespace penstock
