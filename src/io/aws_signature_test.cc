// Signed requests as a service sees them: it canonicalises what has come and computes the signature by itself, as
// Amazon documents it (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
#include "io/aws_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>

#include "io/http.h"
#include "io/redact.h"
#include "io/test_support.h"

namespace careen::io {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string in_hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    out += text;
  }
  return out;
}

std::string hmac(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), digest, &length);
  return {reinterpret_cast<const char*>(digest), length};
}

std::string hex_digest(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_Digest(text.data(), text.size(), digest, &length, EVP_sha256(), nullptr);
  return in_hex({reinterpret_cast<const char*>(digest), length});
}

std::string percent_encoded(std::string_view text, std::string_view also_plain = "") {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos ||
                       also_plain.find(c) != std::string_view::npos;
    char escape[4];
    std::snprintf(escape, sizeof escape, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    out += plain ? std::string(1, c) : escape;
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// What lies between two words of a text; empty when one of them is not there.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t begin = text.find(before);
  if (begin == std::string::npos) return "";
  const size_t end = text.find(after, begin + before.size());
  return text.substr(begin + before.size(), end == std::string::npos ? end : end - begin - before.size());
}

struct Received {
  std::string method, path, query, body;
  std::map<std::string, std::string> headers;  // names in lower case
};

Received parse_request(const std::string& text) {
  Received request;
  const size_t end = text.find("\r\n\r\n");
  request.body = text.substr(end + 4);
  std::vector<std::string> lines = split_at(text.substr(0, end), '\n');
  const std::vector<std::string> first = split_at(lines[0], ' ');
  request.method = first[0];
  request.path = first[1].substr(0, first[1].find('?'));
  if (const size_t mark = first[1].find('?'); mark != std::string::npos) request.query = first[1].substr(mark + 1);
  for (size_t i = 1; i < lines.size(); ++i) {
    std::string name = lines[i].substr(0, lines[i].find(':'));
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
    std::string value = lines[i].substr(name.size() + 1);
    value.erase(0, value.find_first_not_of(' '));
    value.erase(value.find_last_not_of(" \r") + 1);
    request.headers[name] = value;
  }
  return request;
}

// Blanks in a row count as one.
std::string canonical_value(std::string value) {
  value.erase(std::unique(value.begin(), value.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
              value.end());
  return value;
}

// Empty when the request is signed with the secret; otherwise what is wrong.
std::string verify(const Received& request, const std::string& secret) {
  const auto found = request.headers.find("authorization");
  if (found == request.headers.end()) return "not signed";
  const std::string& authorization = found->second;
  const std::string algorithm = authorization.substr(0, authorization.find(' '));
  const std::string scope = between(authorization, "Credential=key/", ",");
  const std::vector<std::string> parts = split_at(scope, '/');
  if (algorithm != "AWS4-HMAC-SHA256" || parts.size() != 4) return "no scope in: " + authorization;
  const bool s3 = parts[2] == "s3";

  const std::string signed_headers = between(authorization, "SignedHeaders=", ",");
  std::vector<std::string> names = split_at(signed_headers, ';');
  if (!std::ranges::is_sorted(names)) return "names out of order: " + signed_headers;
  std::string canonical_headers;
  for (const std::string& name : names) {
    if (!request.headers.contains(name)) return "signed, but not sent: " + name;
    canonical_headers += name + ":" + canonical_value(request.headers.at(name)) + "\n";
  }
  for (const auto& [name, value] : request.headers) {
    const bool must = name == "host" || name == "content-type" || name.starts_with("x-amz-");
    if (must && std::ranges::find(names, name) == names.end()) return "not signed: " + name;
  }

  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& pair : split_at(request.query, '&')) {
    const size_t equals = std::min(pair.find('='), pair.size());
    pairs.emplace_back(percent_encoded(percent_decoded(pair.substr(0, equals))),
                       percent_encoded(percent_decoded(pair.substr(std::min(equals + 1, pair.size())))));
  }
  std::ranges::sort(pairs);
  std::string canonical_query;
  for (const auto& [name, value] : pairs) canonical_query += (canonical_query.empty() ? "" : "&") + name + "=" + value;

  const std::string digest = hex_digest(request.body);
  if (s3 &&
      (!request.headers.contains("x-amz-content-sha256") || request.headers.at("x-amz-content-sha256") != digest)) {
    return "the header X-Amz-Content-Sha256 does not fit the body";
  }
  const std::string path = percent_encoded(s3 ? percent_decoded(request.path) : request.path, "/");
  const std::string canonical = request.method + "\n" + path + "\n" + canonical_query + "\n" + canonical_headers +
                                "\n" + signed_headers + "\n" + digest;
  const std::string& date = request.headers.at("x-amz-date");
  const std::string to_sign = algorithm + "\n" + date + "\n" + scope + "\n" + hex_digest(canonical);
  std::string key = "AWS4" + secret;
  for (const std::string& part : parts) key = hmac(key, part);
  if (!date.starts_with(parts[0]) || parts[3] != "aws4_request") return "a strange scope: " + scope;
  if (in_hex(hmac(key, to_sign)) != between(authorization, "Signature=", ",")) {
    return "the signature does not fit:\n" + canonical;
  }
  return "";
}

constexpr const char* kSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

class AwsSignatureTest : public testing::Test {
 protected:
  HttpRequest request(const std::string& path, std::string body = {}) {
    HttpRequest out;
    out.url = service.url(path);
    if (!body.empty()) {
      out.method = "POST";
      out.headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
      out.body = std::move(body);
    }
    out.signature = AwsSignature{.region = "eu-central-1", .service = "ec2", .key_id = "key", .secret = kSecret};
    return out;
  }
  Result<HttpResponse> send(HttpRequest out) { return run_task(loop, client->send(std::move(out))); }
  // What the service says of the signature: nothing when it fits.
  std::string verdict(HttpRequest out) {
    const auto answer = send(std::move(out));
    if (!answer) return answer.error().message;
    return answer->status == 200 && answer->body == "fits" ? "" : answer->body;
  }
  std::string refusal(HttpRequest out) {
    const auto answer = send(std::move(out));
    if (answer || answer.error().kind != ErrorKind::invalid) return "it was sent";
    return answer.error().message;
  }
  Received received() {
    const std::lock_guard lock(mutex);
    return last;
  }

  std::mutex mutex;  // for the thread of the service
  Received last;
  RawPeer service{[this](int fd, int) {
    for (;;) {
      const std::string text = RawPeer::read_request(fd);
      if (text.empty()) return;
      const std::lock_guard lock(mutex);
      last = parse_request(text);
      const std::string wrong = verify(last, kSecret);
      const std::string body = wrong.empty() ? "fits" : wrong;
      RawPeer::write_all(fd, std::string("HTTP/1.1 ") + (wrong.empty() ? "200 OK" : "403 Forbidden") +
                                 "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }
  }};
  RealLoop loop;
  std::unique_ptr<HttpClient> client = make_http_client(loop, {});
};

TEST_F(AwsSignatureTest, WithoutABody) {
  EXPECT_EQ(verdict(request("/")), "");
  EXPECT_EQ(verdict(request("")), "");
  EXPECT_EQ(received().path, "/");
}

TEST_F(AwsSignatureTest, WithABody) {
  EXPECT_EQ(verdict(request("/", "Action=DescribeInstances&Version=2016-11-15")), "");
  EXPECT_EQ(verdict(request("/", std::string("with\0zero", 9))), "");
  HttpRequest empty = request("/", "x");
  empty.body.clear();
  EXPECT_EQ(verdict(empty), "");
}

// Longer than what libcurl asks leave for before it sends it.
TEST_F(AwsSignatureTest, WithALongBody) { EXPECT_EQ(verdict(request("/", std::string(3 << 20, 'x'))), ""); }

TEST_F(AwsSignatureTest, EveryMethod) {
  for (const char* method : {"GET", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    HttpRequest out = request("/clusters", "{}");
    out.method = method;
    EXPECT_EQ(verdict(out), "") << method;
  }
}

TEST_F(AwsSignatureTest, QueryParametersInAnyOrder) {
  EXPECT_EQ(verdict(request("/?Version=2016-11-15&Action=DescribeInstances&MaxResults=5")), "");
  EXPECT_EQ(received().query, "Action=DescribeInstances&MaxResults=5&Version=2016-11-15");
  EXPECT_EQ(verdict(request("/?b=2&b=10&a&c=")), "");
  EXPECT_EQ(received().query, "a=&b=10&b=2&c=");
  EXPECT_EQ(verdict(request("?b=1&a=2")), "");
}

TEST_F(AwsSignatureTest, QueryParametersByNameNotByPair) {
  EXPECT_EQ(verdict(request("/?q.parser=y&q-x=1&q=x")), "");
  EXPECT_EQ(received().query, "q=x&q-x=1&q.parser=y");
}

TEST_F(AwsSignatureTest, QueryParametersWithEverything) {
  EXPECT_EQ(verdict(request("/?name=a%20b+c&path=/x/:y,@z&tag:Name=w*&quote='%22&low=%c3%bc&plain=%41~&equals=a=b&&")),
            "");
  EXPECT_EQ(received().query,
            "equals=a%3Db&low=%C3%BC&name=a%20b%20c&path=%2Fx%2F%3Ay%2C%40z&plain=A~&quote=%27%22&tag%3AName=w%2A");
}

TEST_F(AwsSignatureTest, AFragmentIsNotSent) {
  EXPECT_EQ(verdict(request("/?a=1#b?c=2")), "");
  EXPECT_EQ(received().query, "a=1");
}

TEST_F(AwsSignatureTest, PathsOfPlainCharacters) {
  EXPECT_EQ(verdict(request("/clusters/my_cluster-1/node.groups~/")), "");
  EXPECT_EQ(received().path, "/clusters/my_cluster-1/node.groups~/");
}

// Signed, they would have to be encoded twice.
TEST_F(AwsSignatureTest, RefusesOtherPaths) {
  for (const char* path : {"/a%20b", "/arn:aws:iam", "/a/%2D", "/a=b", "/a//b", "//a", "/./a", "/a/.."}) {
    EXPECT_THAT(refusal(request(path)), HasSubstr("its path")) << path;
  }
}

TEST_F(AwsSignatureTest, S3HasPathsOfAllKindsAndTheDigestOfTheBodyInAHeader) {
  for (const char* path : {"/", "/bucket/a%20b", "/bucket/tag:x@y(1)", "/bucket/%c3%bc+?list-type=2&delimiter=/"}) {
    HttpRequest out = request(path);
    out.signature->service = "s3";
    EXPECT_EQ(verdict(out), "") << path;
    EXPECT_TRUE(received().headers.contains("x-amz-content-sha256"));
    out = request(path, "content");
    out.method = "PUT";
    out.signature->service = "s3";
    EXPECT_EQ(verdict(out), "") << path;
  }
  EXPECT_EQ(verdict(request("/")), "");
  EXPECT_FALSE(received().headers.contains("x-amz-content-sha256"));
}

TEST_F(AwsSignatureTest, ASessionTokenIsSentAndSigned) {
  HttpRequest out = request("/", "Action=DescribeInstances");
  out.signature->session_token = "IQoJb3JpZ2luX2VjEA//+token==";
  EXPECT_EQ(verdict(out), "");
  EXPECT_EQ(received().headers.at("x-amz-security-token"), "IQoJb3JpZ2luX2VjEA//+token==");
  EXPECT_THAT(received().headers.at("authorization"), HasSubstr("x-amz-security-token"));
}

TEST_F(AwsSignatureTest, OtherHeadersAreSignedToo) {
  HttpRequest out = request("/", "{}");
  out.headers = {
      {"X-Amz-Target", "Service.Action"}, {"Accept", "a   b"}, {"content-type", "application/x-amz-json-1.1"}};
  EXPECT_EQ(verdict(out), "");
  EXPECT_THAT(received().headers.at("authorization"),
              HasSubstr("SignedHeaders=accept;content-type;host;x-amz-date;x-amz-target,"));
}

TEST_F(AwsSignatureTest, AWrongSecretIsTold) {
  HttpRequest out = request("/", "Action=DescribeInstances");
  out.signature->secret = "another";
  const auto answer = send(out);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 403);
  EXPECT_THAT(answer->body, HasSubstr("the signature does not fit"));
  out.signature->secret = kSecret;
  EXPECT_EQ(verdict(out), "");
  EXPECT_EQ(service.connections(), 1);
}

// The handle that signed is used again.
TEST_F(AwsSignatureTest, WhatIsNotSignedGetsNoSignatureFromBefore) {
  EXPECT_EQ(verdict(request("/")), "");
  HttpRequest plain = request("/");
  plain.signature.reset();
  EXPECT_EQ(verdict(plain), "not signed");
  HttpRequest other = request("/");
  other.signature->key_id = "other";
  EXPECT_THAT(verdict(other), HasSubstr("Credential=other/"));
}

TEST_F(AwsSignatureTest, SecretsWithColonsAndBlanksAreTakenAsTheyAre) {
  HttpRequest out = request("/");
  out.signature->secret = "a:b c";
  out.signature->key_id = "key";
  ASSERT_TRUE(send(out));
  EXPECT_EQ(verify(received(), "a:b c"), "");
}

TEST_F(AwsSignatureTest, TheSecretItselfIsNeverSent) {
  HttpRequest out = request("/?a=1", "b");
  ASSERT_EQ(verdict(out), "");
  for (const auto& [name, value] : received().headers) EXPECT_THAT(value, Not(HasSubstr(kSecret))) << name;
}

TEST_F(AwsSignatureTest, RefusesHeadersThatLibcurlSignsWrongly) {
  const auto with = [this](Headers headers) {
    HttpRequest out = request("/");
    out.headers = std::move(headers);
    return refusal(std::move(out));
  };
  EXPECT_THAT(with({{"X-Empty", ""}}), HasSubstr("its header X-Empty has no value"));
  EXPECT_THAT(with({{"X-Empty", "  "}}), HasSubstr("its header X-Empty has no value"));
  EXPECT_THAT(with({{"Accept", "a"}, {"accept", "b"}}), HasSubstr("occurs twice"));
  EXPECT_THAT(with({{"X-Meta", "a"}, {"X-Meta-More", "b"}}), HasSubstr("begins with that of another"));
  EXPECT_THAT(with({{"Authorization", "Bearer t"}}), HasSubstr("a header Authorization of its own"));
  EXPECT_THAT(with({{"X-Amz-Date", "20260101T000000Z"}}), HasSubstr("a header X-Amz-Date of its own"));
  EXPECT_THAT(with({{"Date", "today"}}), HasSubstr("a header Date of its own"));
}

TEST_F(AwsSignatureTest, RefusesABodyWithoutAType) {
  HttpRequest out = request("/", "x");
  out.headers.clear();
  EXPECT_THAT(refusal(out), HasSubstr("cannot be signed without a Content-Type"));
}

TEST_F(AwsSignatureTest, RefusesWhatIsNoSignature) {
  const auto with = [this](void (*change)(AwsSignature&)) {
    HttpRequest out = request("/");
    change(*out.signature);
    return refusal(std::move(out));
  };
  EXPECT_THAT(with([](AwsSignature& s) { s.region = ""; }), HasSubstr("its region"));
  EXPECT_THAT(with([](AwsSignature& s) { s.region = "eu:ec2"; }), HasSubstr("its region"));
  EXPECT_THAT(with([](AwsSignature& s) { s.service = "ec2 "; }), HasSubstr("its service"));
  EXPECT_THAT(with([](AwsSignature& s) { s.service = std::string(65, 'x'); }), HasSubstr("its service"));
  EXPECT_THAT(with([](AwsSignature& s) { s.provider = "aws"; }), HasSubstr("its provider"));
  EXPECT_THAT(with([](AwsSignature& s) { s.key_id = ""; }), HasSubstr("there is no key"));
  EXPECT_THAT(with([](AwsSignature& s) { s.secret = ""; }), HasSubstr("no secret"));
  EXPECT_THAT(with([](AwsSignature& s) { s.session_token = "a\r\nb"; }), HasSubstr("cannot be sent"));
}

TEST_F(AwsSignatureTest, RefusesOtherCredentialsInTheUrl) {
  HttpRequest out = request("/");
  out.url.replace(0, 7, "http://me:hidden@");
  EXPECT_THAT(refusal(out), HasSubstr("other credentials"));
  EXPECT_THAT(refusal(out), Not(HasSubstr("hidden")));
}

TEST_F(AwsSignatureTest, ErrorsHoldNoSecret) {
  HttpRequest out = request("/", "x");
  out.signature->session_token = "token-of-a-session";
  out.url = "http://127.0.0.1:1/";
  const auto answer = send(out);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, Not(HasSubstr(kSecret)));
  EXPECT_THAT(answer.error().message, Not(HasSubstr("token-of-a-session")));
  // A service that quotes what it has got is redacted by whoever quotes it.
  EXPECT_EQ(redact(std::string("x-amz-security-token:token-of-a-session ") + kSecret, out.signature->secrets()),
            "x-amz-security-token:*** ***");
}

}  // namespace
}  // namespace careen::io
