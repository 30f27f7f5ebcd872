#include "report/page/packed_text.h"

#include <cstddef>
#include <cstdint>
#include <limits>

#include <zlib.h>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr int kGzip = 16;  // added to the window bits: gzip's header and trailer instead of zlib's
constexpr unsigned char kUnknownSystem = 255;

[[noreturn]] void fail(int code) {
  throw Error(ErrorKind::kInternal, "zlib cannot compress: code " + std::to_string(code));
}

// Ends the stream whatever happens.
struct Deflater {
  z_stream stream{};
  gz_header header{};
  Deflater() {
    const int code = deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, 8,
                                  Z_DEFAULT_STRATEGY);
    if (code != Z_OK) fail(code);
    header.os = kUnknownSystem;
    deflateSetHeader(&stream, &header);
  }
  ~Deflater() { deflateEnd(&stream); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
};

}  // namespace

std::string gzip(std::string_view bytes) {
  if (bytes.size() > std::numeric_limits<uInt>::max() / 2) {
    throw Error(ErrorKind::kInternal, "more than 2 GiB are to be compressed at once");
  }
  Deflater deflater;
  z_stream& stream = deflater.stream;
  std::string packed(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  // zlib does not write there; its type lacks the const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (const int code = deflate(&stream, Z_FINISH); code != Z_STREAM_END) fail(code);
  packed.resize(stream.total_out);
  return packed;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group <<= 8U;
      if (k < count) group |= static_cast<unsigned char>(bytes[i + k]);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[(group >> (18U - 6U * k)) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace penstock
