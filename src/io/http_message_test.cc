#include "io/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::io {
namespace {

using testing::HasSubstr;

// Feeds the text in pieces of this size; the requests' methods, paths and bodies, and the refusal, if any.
std::string parsed(std::string_view text, size_t piece, size_t max_body = 1000) {
  RequestParser parser(max_body);
  std::string out;
  for (;;) {
    const auto there = parser.has_all();
    if (!there) return out + std::to_string(there.error().status) + " " + there.error().reason;
    if (*there) {
      const auto request = parser.take();
      if (!request) return out + std::to_string(request.error().status) + " " + request.error().reason;
      out += request->method + " " + request->path + " " + request->query + " " + request->body + "\n";
      parser.begin();
      continue;
    }
    if (text.empty()) return out;
    const size_t length = std::min(piece, text.size());
    parser.add(text.substr(0, length));
    text.remove_prefix(length);
  }
}

TEST(RequestParserTest, PiecesOfAnySizeAreTheSame) {
  const std::string text =
      "GET /a%20b?c=%20 HTTP/1.1\r\nHost: x\r\n\r\n"
      "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
      "POST /chunks HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n"
      "POST /none HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
      "POST /one HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
      "GET /old HTTP/1.0\r\n\r\n"
      "nonsense\r\n\r\n";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_EQ(parsed(text, piece),
              "GET /a b c=%20 \nPOST /  body\nPOST /chunks  abcde\nPOST /none  \nPOST /one  a\nGET /old  \n"
              "400 the request is no HTTP: bad method")
        << piece;
  }
}

// What somebody further on could take for another host, another path or a second request.
TEST(RequestParserTest, ATargetIsAPathAndNothingElse) {
  for (const std::string target : {"%2Fcareen%2Fv1%2F@127.0.0.1:1/x",
                                   "careen/v1/fleet",
                                   "@host/x",
                                   "http://host/absolute",
                                   "host:443",
                                   "*",
                                   "//host/x",
                                   "/..",
                                   "/a/../b",
                                   "/a/%2e%2E/b",
                                   "/./a",
                                   "/a/.",
                                   "/a%2Fb",
                                   "/a%2f..%2fb",
                                   "/a%5cb",
                                   "/a\\b",
                                   "/%5C%5Chost/x",
                                   "/a%0d%0aX:%20y",
                                   "/a%00",
                                   "/a%7f",
                                   "/%zz",
                                   "/a%2",
                                   "/a#b",
                                   "/a?b#c",
                                   "/a?b\\c",
                                   "/\xc3\xa4"}) {
    EXPECT_THAT(parsed("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n", 8192), HasSubstr("400 ")) << target;
  }
  EXPECT_EQ(parsed("GET /a@b:1/c..d/.e/%C3%A4//f?x=/..//%2F&http://h HTTP/1.1\r\n\r\n", 8192),
            "GET /a@b:1/c..d/.e/\xc3\xa4//f x=/..//%2F&http://h \n");
}

TEST(RequestParserTest, AHostIsNamedOnce) {
  EXPECT_THAT(parsed("GET / HTTP/1.1\r\nHost: localhost\r\nhost: evil\r\n\r\n", 8192), HasSubstr("400 "));
}

TEST(RequestParserTest, RefusesWhatIsTooLarge) {
  for (const size_t piece : {100u, 8192u, 1'000'000u}) {
    EXPECT_THAT(parsed("POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", piece), HasSubstr("413 "));
    EXPECT_THAT(parsed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3E9\r\n" + std::string(1001, 'x'), piece),
                HasSubstr("413 "));
    EXPECT_THAT(parsed("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x'), piece), HasSubstr("431 "));
    EXPECT_THAT(parsed("GET /" + std::string(100'000, 'x'), piece), HasSubstr("431 "));
    // Neither is a line before a chunk gathered without end.
    EXPECT_NE(parsed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=" + std::string(1 << 20, 'x'), piece),
              "");
    EXPECT_NE(
        parsed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + std::string(1 << 20, 'x'), piece), "");
  }
}

TEST(RequestParserTest, TheHeadComesBeforeTheBody) {
  RequestParser parser(1000);
  EXPECT_FALSE(parser.has_bytes());
  EXPECT_FALSE(parser.is_http_1_0());
  parser.add("POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n");
  EXPECT_FALSE(*parser.has_head());
  parser.add("\r\nx");
  EXPECT_TRUE(*parser.has_head());
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_TRUE(parser.keeps_alive());
  EXPECT_TRUE(parser.has_bytes());
  EXPECT_TRUE(*parser.has_all());
  EXPECT_FALSE(parser.expects_continue());
  parser.begin();
  parser.add("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(*parser.has_head());
  EXPECT_TRUE(parser.is_http_1_0());
  EXPECT_FALSE(parser.keeps_alive());
}

ServerResponse ok_response() {
  ServerResponse response;
  response.headers = {{"X-Two", "1"}, {"X-Other", "a\r\nb"}, {"x-two", "2"}, {"content-type", "never/sent"}};
  response.body = "body";
  return response;
}

TEST(AnswerHeadTest, HasTheLengthAndWhetherTheConnectionStays) {
  const std::string fields =
      "X-Two: 1\r\nx-two: 2\r\nX-Other: ab\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 4\r\n";
  EXPECT_EQ(head_of(ok_response(), false, true), "HTTP/1.1 200 OK\r\n" + fields + "\r\n");
  EXPECT_EQ(head_of(ok_response(), false, false), "HTTP/1.1 200 OK\r\n" + fields + "Connection: close\r\n\r\n");
  EXPECT_EQ(head_of(ok_response(), true, true), "HTTP/1.0 200 OK\r\n" + fields + "Connection: keep-alive\r\n\r\n");
  EXPECT_EQ(head_of(ok_response(), true, false), "HTTP/1.0 200 OK\r\n" + fields + "\r\n");
}

TEST(AnswerHeadTest, SaysNothingOfABodyThatThereMayNotBe) {
  ServerResponse response;
  response.body = "body";
  for (const int status : {204, 304}) {
    response.status = status;
    EXPECT_FALSE(may_have_body(status));
    EXPECT_THAT(head_of(response, false, true), testing::Not(HasSubstr("Content-")));
  }
}

TEST(AnswerHeadTest, ABodyInPiecesEndsWithTheConnection) {
  EXPECT_EQ(head_of_pieces(ServerResponse{}, false),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n"
            "Connection: close\r\n\r\n");
  EXPECT_EQ(head_of_pieces(ServerResponse{}, true),
            "HTTP/1.0 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n");
}

}  // namespace
}  // namespace careen::io
