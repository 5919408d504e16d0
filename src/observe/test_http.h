// Prometheus as tests see it.
#pragma once

#include <string>

#include "io/test_http.h"

namespace careen::observe {

using io::http_answer;

inline io::ScriptedAnswer vector_answer(const std::string& value, io::Duration delay = {}) {
  return http_answer(
      200,
      R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,")" + value + R"("]}]}})",
      delay);
}

// Says 1 unless the test says otherwise.
class ScriptedPrometheus : public io::ScriptedHttp {
 public:
  explicit ScriptedPrometheus(io::Loop& loop) : ScriptedHttp(loop) {
    otherwise = [](const io::HttpRequest&) { return vector_answer("1"); };
  }
};

}  // namespace careen::observe
