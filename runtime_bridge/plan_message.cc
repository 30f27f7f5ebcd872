#include "runtime_bridge/plan_message.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <utility>

#include <zlib.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "runtime_bridge/checkpoint_checksum.h"

namespace penstock {
namespace {

constexpr std::string_view kMagic = "pnstkpln";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kChecksumAt = 48, kHeader = 56;
constexpr std::size_t kMostText = std::size_t{1} << 28;
constexpr int kRawDeflate = -15;  // of zlib: neither its header nor its checksum, there are ours
constexpr int kMemoryLevel = 9;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

template <class Number>
void append(std::string& bytes, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xFF));
  }
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return static_cast<Number>(number);
}

std::uint64_t checksum_of_message(std::string_view bytes) {
  std::string covered(bytes.substr(0, kChecksumAt));
  covered += bytes.substr(kHeader);
  return xxh64(covered);
}

// zlib wants what it only reads as not const, too.
Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

// deflate looks back 32 KiB and no farther.
std::string_view dictionary_of(std::string_view layout) {
  constexpr std::size_t kWindow = 32768;
  return layout.size() > kWindow ? layout.substr(layout.size() - kWindow) : layout;
}

void check_zlib(int code, const char* what) {
  if (code != Z_OK) {
    throw Error(ErrorKind::kInternal, std::string("zlib: ") + what + ": " + std::to_string(code));
  }
}

std::string deflated(std::string_view text, std::string_view layout) {
  z_stream stream{};
  check_zlib(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kRawDeflate, kMemoryLevel,
                          Z_DEFAULT_STRATEGY),
             "deflateInit2");
  const std::string_view dictionary = dictionary_of(layout);
  if (!dictionary.empty()) {
    deflateSetDictionary(&stream, bytes_of(dictionary), static_cast<uInt>(dictionary.size()));
  }
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = bytes_of(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = bytes_of(out);
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) check_zlib(code == Z_OK ? Z_BUF_ERROR : code, "deflate");
  return out;
}

// Error where it does not become exactly `size` bytes.
std::string inflated(std::string_view bytes, std::size_t size, std::string_view layout,
                     const std::string& source) {
  z_stream stream{};
  check_zlib(inflateInit2(&stream, kRawDeflate), "inflateInit2");
  const std::string_view dictionary = dictionary_of(layout);
  if (!dictionary.empty()) {
    inflateSetDictionary(&stream, bytes_of(dictionary), static_cast<uInt>(dictionary.size()));
  }
  std::string out(size, '\0');
  stream.next_in = bytes_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = bytes_of(out);
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = inflate(&stream, Z_FINISH);
  const bool whole = code == Z_STREAM_END && stream.total_out == size && stream.avail_in == 0;
  inflateEnd(&stream);
  if (!whole) throw_bad_input(source + ": is damaged: what it holds cannot be inflated");
  return out;
}

std::string hex(std::uint64_t number) {
  std::string text(16, '0');
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  std::copy(digits, end, text.end() - (end - digits));
  return text;
}

std::string text_of(const PlannedStep& planned) {
  const StepSamples& samples = *planned.samples;
  Json order = Json::array();
  for (const int sample : samples.order) order.push(sample);
  Json json = Json::object();
  json.set("plan", write_plan(*planned.plan))
      .set("order", std::move(order))
      .set("real_tokens", samples.real_tokens)
      .set("padded_tokens", samples.padded_tokens)
      .set("objective_ns", samples.objective_ns)
      .set("planning_ns", std::int64_t{samples.planning.count()})
      .set("fingerprint", hex(samples.fingerprint));
  return to_text(json, std::numeric_limits<int>::max());
}

// Each of 0 ... n - 1 once.
std::vector<int> read_order(const JsonReader& reader, int samples) {
  std::vector<int> order;
  for (const JsonReader& each : reader.elements()) {
    order.push_back(static_cast<int>(each.integer(0, samples - 1)));
  }
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (static_cast<int>(order.size()) != samples ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    reader.fail("is not an order of the " + std::to_string(samples) + " samples of its plan");
  }
  return order;
}

}  // namespace

std::string layout_text(const PlanFile& layout) {
  return to_text(write_plan(layout), std::numeric_limits<int>::max());
}

std::uint64_t fingerprint_of_documents(const std::vector<std::int64_t>& documents,
                                       const std::vector<SampleLength>& lengths) {
  std::string bytes;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    append(bytes, documents[i]);
    append(bytes, lengths[i].tokens);
    append(bytes, lengths[i].decoder_tokens);
  }
  return xxh64(bytes);
}

std::string write_plan_message(const PlanMessageHeader& header, const PlannedStep& planned,
                               std::string_view layout) {
  const std::string text = text_of(planned), body = deflated(text, layout);
  std::string bytes(kMagic);
  append(bytes, kVersion);
  append(bytes, std::uint32_t{0});
  append(bytes, header.job);
  append(bytes, header.step);
  append(bytes, header.documents);
  append(bytes, static_cast<std::uint32_t>(text.size()));
  append(bytes, static_cast<std::uint32_t>(body.size()));
  append(bytes, std::uint64_t{0});
  bytes += body;
  std::string checksum;
  append(checksum, checksum_of_message(bytes));
  return bytes.replace(kChecksumAt, checksum.size(), checksum);
}

PlanMessageHeader read_plan_message_header(std::string_view bytes, const std::string& source) {
  if (bytes.size() < kHeader || !bytes.starts_with(kMagic)) {
    throw_bad_input(source + ": is no plan of a step, " + std::to_string(bytes.size()) +
                    " bytes that something else has written\nhelp: give this job a name of its "
                    "own (--job)");
  }
  const auto version = number_at<std::uint32_t>(bytes, 8);
  if (version != kVersion) {
    throw_bad_input(source + ": is a plan of version " + std::to_string(version) +
                    ", and this penstock reads version " + std::to_string(kVersion) +
                    "\nhelp: run the same penstock as planner and as ranks");
  }
  const auto body = number_at<std::uint32_t>(bytes, 44);
  if (bytes.size() != kHeader + body) {
    throw_bad_input(source + ": is cut off: " + std::to_string(bytes.size()) + " of " +
                    std::to_string(kHeader + body) + " bytes");
  }
  if (number_at<std::uint64_t>(bytes, kChecksumAt) != checksum_of_message(bytes)) {
    throw_bad_input(source + ": is damaged: its checksum is another one");
  }
  return {number_at<std::uint64_t>(bytes, 16), number_at<std::int64_t>(bytes, 24),
          number_at<std::uint64_t>(bytes, 32)};
}

PlannedStep read_plan_message(std::string_view bytes, std::string_view layout,
                              const std::string& source, std::uint64_t most_actions) {
  static_cast<void>(read_plan_message_header(bytes, source));
  const std::size_t size = number_at<std::uint32_t>(bytes, 40);
  if (size > kMostText) throw_bad_input(source + ": is a plan of more than 256 MiB");
  const Json json = parse_json(inflated(bytes.substr(kHeader), size, layout, source), source);
  JsonReader reader(json, source);
  PlanFile plan = read_plan(reader.at("plan").value(), source, most_actions);
  auto samples = std::make_shared<StepSamples>();
  samples->order = read_order(reader.at("order"), plan.plan.global_batch);
  samples->real_tokens = reader.at("real_tokens").integer(0, kMost);
  samples->padded_tokens = reader.at("padded_tokens").integer(0, kMost);
  samples->objective_ns = reader.at("objective_ns").number(0.0, 1e18);
  samples->planning = Duration(reader.at("planning_ns").integer(0, kMost));
  samples->fingerprint = fingerprint_of(plan, samples->order);
  if (reader.at("fingerprint").string() != hex(samples->fingerprint)) {
    reader.at("fingerprint").fail("is not that of the plan beside it");
  }
  reader.finish();
  return {std::make_shared<const PlanFile>(std::move(plan)), std::move(samples)};
}

}  // namespace penstock
