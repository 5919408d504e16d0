#include <zlib.h>

#include <memory>

#include "plan/snapshot.h"

namespace careen::plan {

namespace {

constexpr int kGzip = 16;  // added to the window bits: a gzip header instead of zlib's
constexpr size_t kMost = size_t{4} << 30;

bool is_packed(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x1f' && static_cast<unsigned char>(bytes[1]) == 0x8b;
}

std::string deflated(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return result == Z_STREAM_END ? out : std::string();
}

}  // namespace

std::string pack_for(const std::string& file_name, std::string text) {
  if (!file_name.ends_with(".gz")) return text;
  return deflated(text);
}

io::Result<std::string> unpack(std::string bytes) {
  if (!is_packed(bytes)) return bytes;
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + kGzip) != Z_OK) {
    return io::fail(io::ErrorKind::invalid, "cannot be unpacked: no memory");
  }
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::string block(size_t{1} << 20, '\0');
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(block.data(), block.size() - stream.avail_out);
    if (out.size() > kMost) return io::fail(io::ErrorKind::invalid, "cannot be unpacked: it holds more than 4 GiB");
  }
  if (result == Z_STREAM_END) return out;
  return io::fail(io::ErrorKind::invalid, "cannot be unpacked: the gzip data is damaged or cut short");
}

}  // namespace careen::plan
