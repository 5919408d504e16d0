#include "web/json_answer.h"

#include <utility>

#include "kube/json_text.h"

namespace careen::web {

io::ServerResponse json_answer(std::string document) {
  io::ServerResponse response;
  response.content_type = "application/json";
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Cache-Control", "no-store");
  response.body = std::move(document);
  return response;
}

io::ServerResponse json_error(int status, std::string_view text) {
  std::string body = "{\"error\":";
  kube::append_json_text(body, text);
  io::ServerResponse response = json_answer(body + "}");
  response.status = status;
  return response;
}

}  // namespace careen::web
