// The batch is read as it stands and then checked as a whole: shapes of one kind of replica follow
// those of the kind before, each shape is used, and sums stay within what ids and 32-bit counts can
// hold, so that no later sum has to look at overflow.
#include "core/files/batch_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/files/read_values.h"
#include "core/values/ids.h"

namespace penstock {
namespace {

constexpr int kMostMicroBatches = std::min<std::int64_t>(kNoMicroBatch.value - 1, kMostInt);

MicroBatchShape read_shape(JsonReader reader) {
  MicroBatchShape shape;
  shape.samples = read_int(reader.at("samples"), 1);
  shape.tokens = read_int(reader.at("tokens"), 0);
  if (const auto decoder = reader.get("decoder_tokens")) {
    shape.decoder_tokens = read_int(*decoder, 0);
  }
  reader.finish();
  return shape;
}

ReplicaBatch read_replicas(JsonReader reader, int shapes) {
  ReplicaBatch replicas;
  replicas.replicas = read_int(reader.at("replicas"), 1);
  const JsonReader list = reader.at("micro_batches");
  std::int64_t micro_batches = 0;
  for (JsonReader run : list.elements()) {
    replicas.runs.push_back({read_int(run.at("count"), 1, kMostMicroBatches),
                             read_int(run.at("shape"), 0, shapes - 1)});
    run.finish();
    micro_batches += replicas.runs.back().count;
    if (micro_batches > kMostMicroBatches) list.fail("more micro-batches than a plan can have");
  }
  if (replicas.runs.empty()) list.expected("at least one run of micro-batches");
  reader.finish();
  return replicas;
}

// Each kind has shapes of its own, one kind's after the other's, and no shape is idle.
void require_in_order(const JsonReader& list, const Batch& batch) {
  int begin = 0;
  for (std::size_t k = 0; k < batch.replicas.size(); ++k) {
    std::vector<int> taken;
    for (const ShapeRun& run : batch.replicas[k].runs) taken.push_back(run.shape);
    std::sort(taken.begin(), taken.end());
    taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
    for (const int shape : taken) {
      if (shape != begin) {
        list.fail("entry " + std::to_string(k) + " takes shape " + std::to_string(shape) +
                  " where shape " + std::to_string(begin) +
                  " is next; number the shapes entry by entry, each entry with its own, all used");
      }
      ++begin;
    }
  }
  const int shapes = static_cast<int>(batch.shapes.size());
  if (begin < shapes) list.fail("no replica takes shape " + std::to_string(begin));
}

void require_countable(const JsonReader& list, const Batch& batch) {
  std::int64_t samples = 0, replicas = 0;
  for (const ReplicaBatch& each : batch.replicas) {
    std::int64_t of_one = 0;
    for (const ShapeRun& run : each.runs) {
      const auto shape = static_cast<std::size_t>(run.shape);
      of_one += std::int64_t{run.count} * batch.shapes[shape].samples;
      if (of_one > kMostInt) break;
    }
    samples += of_one * std::min<std::int64_t>(each.replicas, kMostInt);
    replicas += each.replicas;
    if (samples > kMostInt || replicas > kMostInt) list.fail("more samples than a step can have");
  }
}

}  // namespace

Json write_batch(const Batch& batch) {
  Json shapes = Json::array();
  for (const MicroBatchShape& shape : batch.shapes) {
    Json json = Json::object().set("samples", shape.samples).set("tokens", shape.tokens);
    if (shape.decoder_tokens > 0) json.set("decoder_tokens", shape.decoder_tokens);
    shapes.push(std::move(json));
  }
  Json replicas = Json::array();
  for (const ReplicaBatch& each : batch.replicas) {
    Json runs = Json::array();
    for (const ShapeRun& run : each.runs) {
      runs.push(Json::object().set("count", run.count).set("shape", run.shape));
    }
    replicas.push(
        Json::object().set("replicas", each.replicas).set("micro_batches", std::move(runs)));
  }
  return Json::object().set("shapes", std::move(shapes)).set("replicas", std::move(replicas));
}

Batch read_batch_file(const Json& json, const std::string& file) {
  JsonReader reader(json, file);
  const JsonReader format = reader.at("format");
  if (format.string() != "penstock.batch/1") format.expected("\"penstock.batch/1\"");
  return read_batch(std::move(reader));
}

Batch read_batch(JsonReader reader) {
  Batch batch;
  const JsonReader shapes = reader.at("shapes");
  for (const JsonReader& shape : shapes.elements()) batch.shapes.push_back(read_shape(shape));
  if (batch.shapes.empty()) shapes.expected("at least one shape");
  const JsonReader replicas = reader.at("replicas");
  for (const JsonReader& each : replicas.elements()) {
    batch.replicas.push_back(read_replicas(each, static_cast<int>(batch.shapes.size())));
  }
  if (batch.replicas.empty()) replicas.expected("at least one entry");
  require_in_order(replicas, batch);
  require_countable(replicas, batch);
  reader.finish();
  return batch;
}

}  // namespace penstock
