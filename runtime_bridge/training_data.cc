// The beginning of a file decides what it is: a .npy header, one of the known formats, or text
// where at most one byte in a hundred is a control character and none is zero. Patterns are
// expanded in the order of bytes, whatever the locale, so all ranks see the files in the same
// order.
#include "runtime_bridge/training_data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "runtime_bridge/checkpoint_checksum.h"
#include "runtime_bridge/expanded_names.h"
#include "runtime_bridge/image_files.h"
#include "runtime_bridge/npy_header.h"
#include "runtime_bridge/read_documents.h"
#include "training/byte_data.h"
#include "training/image_data.h"
#include "training/mapped_file.h"
#include "training/token_data.h"

namespace penstock {
namespace {

// So much of a file is looked at to tell what it is.
constexpr std::size_t kLook = std::size_t{1} << 16;
// Checksums and the first check of ids read no more than this.
constexpr std::size_t kMostRead = std::size_t{1} << 28;

// Control characters that texts do not have.
bool is_no_text(unsigned char c) {
  return c < 0x20 && c != '\t' && c != '\n' && c != '\v' && c != '\f' && c != '\r' && c != 0x1B;
}

// One byte 0 is enough; of others a few are allowed, since texts are not always clean.
std::optional<std::string> why_no_text(std::string_view begin) {
  const std::size_t zero = begin.find('\0');
  if (zero != std::string_view::npos) return "its byte " + std::to_string(zero) + " is 0";
  const auto strange = static_cast<std::size_t>(std::ranges::count_if(
      begin, [](char c) { return is_no_text(static_cast<unsigned char>(c)); }));
  if (strange * 100 <= begin.size()) return std::nullopt;
  return std::to_string(strange) + " of its first " + std::to_string(begin.size()) +
         " bytes are control characters";
}

// Files that people have data in, by their first bytes.
std::string known_format(std::string_view begin) {
  struct Format {
    std::string_view magic;
    const char* name;
  };
  static constexpr Format kFormats[] = {
      {"PK\x03\x04", "a zip archive, as torch.save and numpy.savez write"},
      {"\x1F\x8B\x08", "compressed with gzip"},
      {"\x28\xB5\x2F\xFD", "compressed with zstd"},
      {"PAR1", "a Parquet file"},
      {"ARROW1", "an Arrow file"},
      {"\x89HDF", "an HDF5 file"},
      {"MMIDIDX", "the index of a Megatron data set, beside the .bin that holds the tokens"}};
  for (const Format& format : kFormats) {
    if (begin.starts_with(format.magic)) return format.name;
  }
  return "";
}

// With --dtype, too: by chance token ids begin like one of these once in millions of files.
void refuse_known_format(const std::string& path, std::string_view begin) {
  const std::string format = known_format(begin);
  if (format.empty()) return;
  const std::string remedy =
      format.starts_with("compressed")
          ? "decompress it first: samples are read in any order"
          : "write the token ids with numpy.save, or as plain integers (numpy: "
            "ids.astype('uint16').tofile('tokens.bin'))";
  throw_bad_input(path + ": is " + format + ", and neither text nor token ids\nhelp: " + remedy);
}

[[noreturn]] void refuse_binary(const std::string& path, std::string_view begin,
                                const std::string& why) {
  refuse_known_format(path, begin);
  throw_bad_input(path + ": is not a text: " + why +
                  "; its bytes would be used as tokens\nhelp: give the type of its token ids: "
                  "--dtype uint16, int32 or int64; --dtype uint8 if you mean its bytes");
}

TokenType type_of_npy(const NpyHeader& header, const std::string& path) {
  if (const auto type = integers_of(header)) return *type;
  throw_bad_input(path + ": its elements are '" + header.descr +
                  "'; token ids are '|u1', '<u2', '<u4', '<i4' or '<i8'\nhelp: numpy.save(file, "
                  "ids.astype('uint16')), or 'int32' for vocabularies beyond 65,536");
}

TokenFile npy_file(const std::string& path, std::shared_ptr<const MappedFile> mapped,
                   std::optional<TokenType> said) {
  const NpyHeader header = read_npy_header(mapped->text().substr(0, kLook), path);
  TokenFile file;
  file.name = path;
  file.type = type_of_npy(header, path);
  if (said && *said != file.type) {
    throw_bad_input(path + ": holds " + std::string(name_of(file.type)) +
                    " by its header, and --dtype says " + std::string(name_of(*said)) +
                    "\nhelp: leave out --dtype; .npy files say it themselves");
  }
  if (header.shape.empty() || header.shape.size() > 2 ||
      (header.fortran_order && header.shape.size() == 2)) {
    throw_bad_input(path +
                    ": token ids are one row, or a table with a sample per row (in C order)"
                    "\nhelp: numpy.save(file, numpy.ascontiguousarray(ids.reshape(-1)))");
  }
  file.offset = header.data_offset;
  file.bytes = mapped->bytes().subspan(std::min(header.data_offset, mapped->bytes().size()));
  const std::int64_t elements = elements_of(header);
  const auto holds = static_cast<std::int64_t>(file.bytes.size() / size_of(file.type));
  if (elements != holds) {
    throw_bad_input(path + ": should hold " + std::to_string(elements) +
                    " token ids by its header, and holds " + std::to_string(holds) +
                    "\nhelp: was it copied whole?");
  }
  if (header.shape.size() == 2) file.row = header.shape[1];
  file.owner = std::move(mapped);
  return file;
}

TokenFile plain_file(const std::string& path, std::shared_ptr<const MappedFile> mapped,
                     TokenType type) {
  constexpr std::size_t kEnoughToTell = 256;
  const std::string_view begin = mapped->text().substr(0, kLook);
  refuse_known_format(path, begin);
  if (type != TokenType::kUint8 && begin.size() >= kEnoughToTell && !why_no_text(begin)) {
    throw_bad_input(path + ": is text, and --dtype says " + std::string(name_of(type)) +
                    "\nhelp: leave out --dtype to train on its bytes");
  }
  TokenFile file;
  file.name = path;
  file.type = type;
  file.bytes = mapped->bytes();
  file.owner = std::move(mapped);
  return file;
}

std::string joined_names(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

// All files of one kind: texts put together, or token ids.
struct Files {
  std::vector<std::string> names;
  std::string text;
  std::vector<TokenFile> tokens;
  [[nodiscard]] std::string joined() const { return joined_names(names); }
};

void add_file(const std::string& path, std::optional<TokenType> type, Files& files) {
  std::error_code ignored;
  const bool is_stream = path == "-" || (std::filesystem::exists(path, ignored) &&
                                         !std::filesystem::is_regular_file(path, ignored) &&
                                         !std::filesystem::is_directory(path, ignored));
  if (is_stream && !type) {
    files.text += read_file(path);
    return;
  }
  auto mapped = std::make_shared<const MappedFile>(path);
  const std::string_view begin = mapped->text().substr(0, kLook);
  if (is_npy(begin)) return files.tokens.push_back(npy_file(path, std::move(mapped), type));
  if (type) return files.tokens.push_back(plain_file(path, std::move(mapped), *type));
  if (const auto why = why_no_text(begin)) refuse_binary(path, begin, *why);
  files.text += mapped->text();
}

Files opened(const std::vector<std::string>& names, std::optional<TokenType> type) {
  Files files;
  files.names = expanded_names(names);
  for (const std::string& name : files.names) {
    add_file(name, type, files);
    if (files.tokens.empty() || files.text.empty()) continue;
    throw_bad_input(name + ": texts and files of token ids do not mix\nhelp: tokenise the texts");
  }
  return files;
}

// Of small files all bytes, of large ones blocks all over them.
std::string fingerprint(std::span<const std::byte> bytes) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  if (bytes.size() <= kMostRead) return checksum_of(bytes);
  const std::size_t blocks = kMostRead / kBlock / 4;
  std::string all = std::to_string(bytes.size());
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t at = (bytes.size() - kBlock) / (blocks - 1) * i;
    all += checksum_of(bytes.subspan(at, kBlock));
  }
  return checksum_of(all);
}

// Other samples are left for training where a share of them is for validation.
std::string checksum_of_share(const std::string& checksum, double validation_fraction) {
  if (validation_fraction <= 0.0) return checksum;
  return checksum_of(checksum + ' ' + to_text(Json(validation_fraction)));
}

CheckpointData description_of(const Files& files, double validation_fraction) {
  CheckpointData data;
  data.path = files.joined();
  if (files.tokens.empty()) {
    data.bytes = static_cast<std::int64_t>(files.text.size());
    data.checksum = checksum_of(files.text);
  } else {
    std::string all;
    for (const TokenFile& file : files.tokens) {
      data.bytes += static_cast<std::int64_t>(file.bytes.size());
      all += std::string(name_of(file.type)) + ' ' + fingerprint(file.bytes) + '\n';
    }
    data.checksum = checksum_of(all);
  }
  data.checksum = checksum_of_share(data.checksum, validation_fraction);
  return data;
}

CheckpointData description_of(const ImageFiles& files, double validation_fraction) {
  CheckpointData data;
  data.path = joined_names(files.names);
  std::string all;
  const auto add = [&](std::string_view type, std::span<const std::byte> bytes) {
    data.bytes += static_cast<std::int64_t>(bytes.size());
    all += std::string(type) + ' ' + fingerprint(bytes) + '\n';
  };
  for (const ImageFile& file : files.images) add(name_of(file.type), file.bytes);
  for (const TokenFile& file : files.labels) add(name_of(file.type), file.bytes);
  data.checksum = checksum_of_share(checksum_of(all), validation_fraction);
  return data;
}

std::int64_t vocabulary_of(const ModelDescription& model) { return model.vocabulary; }

// A text as tokens.
TokenFile bytes_of_text(std::string text, const std::string& name) {
  const auto kept = std::make_shared<const std::string>(std::move(text));
  TokenFile file;
  file.name = name;
  file.type = TokenType::kUint8;
  file.bytes = std::as_bytes(std::span(kept->data(), kept->size()));
  file.owner = kept;
  return file;
}

std::shared_ptr<const TokenData> token_data(Files files, const ModelDescription& model,
                                            int sequence_length) {
  if (files.tokens.empty()) {
    files.tokens.push_back(bytes_of_text(std::move(files.text), files.joined()));
  }
  return std::make_shared<const TokenData>(std::move(files.tokens), sequence_length,
                                           vocabulary_of(model));
}

// How many of n are left for validation: at least one.
std::int64_t share_of(std::int64_t n, double fraction) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(n) * fraction));
}

void add_text(Files files, double fraction, const ModelDescription& model, int sequence_length,
              TrainingData& data) {
  if (fraction > 0.0) {
    const auto size = static_cast<std::int64_t>(files.text.size());
    const auto kept = static_cast<std::size_t>(size - share_of(size, fraction));
    if (kept <= static_cast<std::size_t>(sequence_length)) {
      throw_bad_input(files.joined() + ": holds " + std::to_string(size) +
                      " bytes, of which --validation-fraction leaves " + std::to_string(kept) +
                      " to train on; a sample needs sequence length + 1 = " +
                      std::to_string(sequence_length + 1) +
                      "\nhelp: give more data, or its own file with --validation-data");
    }
    Files rest;
    rest.names = files.names;
    rest.text = files.text.substr(kept);
    files.text.resize(kept);
    data.validation = token_data(std::move(rest), model, sequence_length);
    data.validation_samples = data.validation->samples();
  }
  data.tokens =
      std::make_shared<const ByteData>(std::move(files.text), sequence_length, files.joined());
}

void add_samples(std::shared_ptr<const SampleSet> samples, double fraction,
                 const std::string& names, TrainingData& data) {
  data.files = std::move(samples);
  data.samples = data.files->samples();
  if (fraction <= 0.0) return;
  data.validation = data.files;
  data.validation_samples = share_of(data.samples, fraction);
  data.samples -= data.validation_samples;
  data.validation_first = data.samples;
  if (data.samples > 0) return;
  throw_bad_input(names + ": holds " + std::to_string(data.validation_samples) +
                  " samples, and --validation-fraction leaves none to train on\nhelp: give more "
                  "data, or its own file with --validation-data");
}

void add_tokens(Files files, double fraction, const ModelDescription& model, int sequence_length,
                TrainingData& data) {
  const std::string names = files.joined();
  add_samples(token_data(std::move(files), model, sequence_length), fraction, names, data);
}

std::shared_ptr<const SampleSet> image_data(ImageFiles files, const ModelDescription& model) {
  return std::make_shared<const ImageData>(std::move(files.images), std::move(files.labels),
                                           model.image);
}

TrainingData read_images(const DataOptions& options, const ModelDescription& model) {
  if (options.type) {
    throw_bad_input(
        "--dtype: the model takes images, whose files say their type\nhelp: leave it "
        "out");
  }
  ImageFiles files = open_image_files(options.files, options.labels);
  TrainingData data;
  data.file = description_of(files, options.validation_fraction);
  const std::string names = joined_names(files.names);
  add_samples(image_data(std::move(files), model), options.validation_fraction, names, data);
  if (options.validation_files.empty()) return data;
  data.validation =
      image_data(open_image_files(options.validation_files, options.validation_labels), model);
  data.validation_samples = data.validation->samples();
  return data;
}

TrainingData read_document_data(const DataOptions& options, const ModelDescription& model) {
  DocumentFiles files = read_documents(options.documents, model, options.longest);
  TrainingData data;
  data.file.path = joined_names(files.names);
  data.file.bytes = static_cast<std::int64_t>(files.bytes.size());
  data.file.checksum = checksum_of(files.bytes);
  data.document_set = std::make_shared<const DocumentSet>(std::move(files.documents));
  data.tokens_per_batch = options.tokens_per_batch;
  return data;
}

}  // namespace

void TrainingData::begin(const EpochData::Start& start, std::uint64_t seed) {
  if (document_set) {
    const DocumentBatches::Start first{start.step, start.taken, tokens_per_batch, seed};
    documents = std::make_shared<const DocumentBatches>(document_set, first);
    tokens = documents;
  }
  if (files) tokens = std::make_shared<const EpochData>(files, 0, samples, start);
  if (!validation) return;
  evaluation =
      std::make_shared<const EvaluationData>(validation, validation_first, start.global_batch);
}

TrainingData read_training_data(const DataOptions& options, const ModelDescription& model,
                                int sequence_length) {
  if (!options.documents.empty()) return read_document_data(options, model);
  if (model.family == ModelFamily::kT5) {
    throw_bad_input(
        "--data: the model has an encoder and a decoder, and a text does not say which part goes "
        "where\nhelp: give pairs with --documents FILE --tokens-per-batch N");
  }
  if (!model.image.empty()) return read_images(options, model);
  if (!options.labels.empty() || !options.validation_labels.empty()) {
    throw_bad_input(
        "--labels: the model was profiled with token ids, which need no labels\nhelp: leave it "
        "out; or profile a model of images with --image 3x224x224");
  }
  Files files = opened(options.files, options.type);
  TrainingData data;
  data.file = description_of(files, options.validation_fraction);
  const bool is_text = files.tokens.empty();
  (is_text ? add_text : add_tokens)(std::move(files), options.validation_fraction, model,
                                    sequence_length, data);
  if (options.validation_files.empty()) return data;
  Files validation = opened(options.validation_files, options.type);
  if (validation.tokens.empty() != is_text) {
    throw_bad_input(validation.joined() + ": --validation-data is " +
                    (is_text ? "token ids and --data is text" : "text and --data is token ids") +
                    "\nhelp: give both in one form");
  }
  data.validation = token_data(std::move(validation), model, sequence_length);
  data.validation_samples = data.validation->samples();
  return data;
}

void check_token_ids(const TrainingData& data) {
  if (data.files) data.files->check(kMostRead);
  if (data.validation && data.validation != data.files) data.validation->check(kMostRead);
}

}  // namespace penstock
