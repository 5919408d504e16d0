// Asks a server one instant query through the real HTTP client and evaluates an expression over its value:
//   prometheus_ask URL QUERY EXPRESSION
// prints "true", "false", or "error: …", then each warning on a line of its own.
#include <cstdio>
#include <optional>
#include <string>

#include "io/http.h"
#include "io/real_loop.h"
#include "io/sync.h"
#include "observe/number_expression.h"
#include "observe/prometheus.h"

namespace {

using careen::observe::InstantAnswer;
using careen::observe::NumberExpression;

careen::io::Task<void> store(careen::io::Task<InstantAnswer> task, std::optional<InstantAnswer>* into) {
  into->emplace(co_await std::move(task));
}

InstantAnswer asked(careen::observe::PrometheusQuery source) {
  careen::io::RealLoop loop;
  const auto http = careen::io::make_http_client(loop, {});
  std::optional<InstantAnswer> answer;
  careen::io::Scope scope(loop);
  scope.spawn(store(ask_instant(loop, *http, std::move(source), loop.wall_now()), &answer));
  loop.run_until([&] { return answer.has_value(); });
  return *answer;
}

std::string described(const InstantAnswer& answer, const NumberExpression& expression) {
  if (!answer.error.empty()) return "error: " + answer.error;
  const auto truth = expression.evaluate(answer.value);
  if (!truth) return "error: " + truth.error();
  return *truth ? "true" : "false";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s URL QUERY EXPRESSION\n", argv[0]);
    return 2;
  }
  const auto expression = NumberExpression::compile(argv[3]);
  if (!expression) {
    std::fprintf(stderr, "%s\n", expression.error().message.c_str());
    return 2;
  }
  const InstantAnswer answer = asked({argv[1], argv[2]});
  std::printf("%s\n", described(answer, *expression).c_str());
  for (const std::string& warning : answer.warnings) std::printf("warning: %s\n", warning.c_str());
  return 0;
}
