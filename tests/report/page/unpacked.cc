#include "tests/report/page/unpacked.h"

#include <bit>
#include <string_view>

#include <doctest/doctest.h>
#include <zlib.h>

namespace penstock::testing {
namespace {

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}

  std::uint64_t number(std::size_t size) {
    REQUIRE(at_ + size <= bytes_.size());
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    }
    at_ += size;
    return value;
  }
  template <class Unsigned>
  std::vector<Unsigned> numbers(std::size_t count) {
    std::vector<Unsigned> values;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<Unsigned>(number(sizeof(Unsigned))));
    }
    return values;
  }
  std::vector<double> doubles(std::size_t count) {
    std::vector<double> values;
    for (const auto bits : numbers<std::uint64_t>(count)) {
      values.push_back(std::bit_cast<double>(bits));
    }
    return values;
  }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::string decoded_base64(const std::string& text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  REQUIRE(text.size() % 4 == 0);
  std::string bytes;
  std::uint32_t bits = 0, count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = kDigits.find(c);
    REQUIRE(digit != std::string_view::npos);
    bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(static_cast<unsigned char>(bits >> count));
  }
  return bytes;
}

std::string gunzipped(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK);
  std::string in = bytes, out;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  int code = Z_OK;
  while (code == Z_OK) {
    char part[4096];
    stream.next_out = reinterpret_cast<Bytef*>(part);
    stream.avail_out = sizeof part;
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(part, sizeof part - stream.avail_out);
  }
  inflateEnd(&stream);
  REQUIRE(code == Z_STREAM_END);
  REQUIRE(stream.avail_in == 0);
  return out;
}

UnpackedTimeline unpacked(const std::string& packed, std::size_t boxes, std::size_t points) {
  Reader reader(gunzipped(decoded_base64(packed)));
  UnpackedTimeline all;
  all.bytes = reader.doubles(boxes);
  all.stash = reader.doubles(points);
  for (auto* each : {&all.start, &all.duration, &all.micro_batch, &all.waited_for}) {
    *each = reader.numbers<std::uint32_t>(boxes);
  }
  all.point_time = reader.numbers<std::uint32_t>(points);
  for (auto* each : {&all.row, &all.stage}) *each = reader.numbers<std::uint16_t>(boxes);
  for (auto* each : {&all.kind, &all.flags}) *each = reader.numbers<std::uint8_t>(boxes);
  REQUIRE(reader.at_end());
  return all;
}

}  // namespace penstock::testing
