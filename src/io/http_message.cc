#include "io/http_message.h"

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

namespace careen::io {

namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;

constexpr uint32_t kMaxHeader = 32 << 10;
// What cannot be parsed until more has come: a head, or the line before a chunk.
constexpr size_t kMaxUnparsed = kMaxHeader + (64 << 10);

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::optional<std::string> percent_decode(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return std::nullopt;
    out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  return out;
}

// What another program could take for something else than a name between two slashes.
bool is_ambiguous(std::string_view segment) {
  return segment == "." || segment == ".." || segment.find_first_of("/\\") != std::string_view::npos ||
         std::any_of(segment.begin(), segment.end(), is_control);
}

// The path, decoded segment by segment; nothing when it is not one, or could be mistaken for another.
std::optional<std::string> decode_path(std::string_view path) {
  if (!path.starts_with('/') || path.starts_with("//")) return std::nullopt;
  std::string out;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view raw = path.substr(0, path.find('/'));
    path.remove_prefix(raw.size());
    const auto segment = percent_decode(raw);
    if (!segment || is_ambiguous(*segment)) return std::nullopt;
    out += '/';
    out += *segment;
  }
  return out;
}

// A target that is sent as it should be has nothing else.
bool is_printable(std::string_view target) {
  return std::all_of(target.begin(), target.end(),
                     [](char c) { return c > 0x20 && c < 0x7F && c != '\\' && c != '#'; });
}

std::string without_controls(std::string_view text) {
  std::string out(text);
  std::erase_if(out, is_control);
  return out;
}

tl::unexpected<Refusal> refuse(int status, std::string reason) {
  return tl::make_unexpected(Refusal{status, std::move(reason)});
}

tl::unexpected<Refusal> refuse(const ErrorCode& error) {
  if (error == http::error::body_limit) return refuse(413, "the body is too large");
  if (error == http::error::header_limit) return refuse(431, "the headers are too large");
  return refuse(400, "the request is no HTTP: " + error.message());
}

using Head = http::response<http::empty_body>;

Head begin_head(const ServerResponse& response, bool http_1_0) {
  Head head;
  head.version(http_1_0 ? 10 : 11);
  head.result(static_cast<unsigned>(response.status));
  for (const auto& [name, value] : response.headers) head.insert(name, without_controls(value));
  return head;
}

std::string text_of(const Head& head) {
  std::string text = head.version() == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  text += std::to_string(head.result_int());
  text += ' ';
  text += std::string_view(head.reason());
  text += "\r\n";
  for (const auto& field : head) {
    text += std::string_view(field.name_string());
    text += ": ";
    text += std::string_view(field.value());
    text += "\r\n";
  }
  text += "\r\n";
  return text;
}

}  // namespace

struct RequestParser::Core {
  explicit Core(size_t max) : max_body(max) { begin(); }

  void begin() {
    parser.emplace();
    parser->header_limit(kMaxHeader);
    parser->body_limit(max_body);
  }

  // Parses until `reached`; false when it needs more bytes for that.
  template <class Reached>
  tl::expected<bool, Refusal> parse_until(Reached reached) {
    while (!reached()) {
      if (unparsed.empty() || cuts_last_chunk()) return false;
      ErrorCode error;
      const size_t length = parser->put(boost::asio::const_buffer(unparsed.data(), unparsed.size()), error);
      unparsed.erase(0, length);
      if (error == http::error::need_more) {
        if (unparsed.size() >= kMaxUnparsed) return refuse(http::error::header_limit);
        return false;
      }
      if (error) return refuse(error);
    }
    return true;
  }

  // Beast aborts when it is shown the last chunk twice with fewer bytes than that has. So many always follow before the
  // end of a body in chunks, so nobody waits for what does not come.
  bool cuts_last_chunk() const {
    constexpr std::string_view kShortestEnd = "0\r\n\r\n";
    return parser->is_header_done() && parser->chunked() && unparsed.size() < kShortestEnd.size();
  }

  size_t max_body;
  std::string unparsed;
  std::optional<http::request_parser<http::string_body>> parser;
};

RequestParser::RequestParser(size_t max_body) : core_(std::make_unique<Core>(max_body)) {}
RequestParser::~RequestParser() = default;

void RequestParser::begin() { core_->begin(); }
void RequestParser::add(std::string_view bytes) { core_->unparsed += bytes; }
bool RequestParser::has_bytes() const { return !core_->unparsed.empty(); }

tl::expected<bool, Refusal> RequestParser::has_head() {
  return core_->parse_until([this] { return core_->parser->is_header_done(); });
}

tl::expected<bool, Refusal> RequestParser::has_all() {
  core_->parser->eager(true);
  return core_->parse_until([this] { return core_->parser->is_done(); });
}

bool RequestParser::is_http_1_0() const { return core_->parser->get().version() == 10; }
bool RequestParser::keeps_alive() const { return core_->parser->get().keep_alive(); }
bool RequestParser::expects_continue() const {
  const auto& parser = *core_->parser;
  return boost::beast::iequals(parser.get()[http::field::expect], "100-continue") && !parser.is_done();
}

tl::expected<ServerRequest, Refusal> RequestParser::take() {
  auto& message = core_->parser->get();
  std::string_view target(message.target().data(), message.target().size());
  const size_t question = std::min(target.find('?'), target.size());
  auto path = decode_path(target.substr(0, question));
  if (!path || !is_printable(target)) {
    return refuse(400, "the target is no path such as /metrics, properly encoded and without detours");
  }

  if (message.count(http::field::host) > 1) return refuse(400, "the request names more than one host");

  ServerRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(target);
  request.path = std::move(*path);
  request.query = std::string(target.substr(std::min(question + 1, target.size())));
  for (const auto& field : message) {
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  request.body = std::move(message.body());
  return request;
}

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

std::string head_of(const ServerResponse& response, bool http_1_0, bool keep_alive) {
  Head head = begin_head(response, http_1_0);
  if (may_have_body(response.status)) {
    head.set(http::field::content_type, without_controls(response.content_type));
    head.content_length(response.body.size());
  }
  head.keep_alive(keep_alive);
  return text_of(head);
}

std::string head_of_pieces(const ServerResponse& response, bool http_1_0) {
  Head head = begin_head(response, http_1_0);
  head.set(http::field::content_type, without_controls(response.content_type));
  // A client of HTTP/1.0 takes what comes until the connection ends.
  head.chunked(!http_1_0);
  head.keep_alive(false);
  return text_of(head);
}

}  // namespace careen::io
