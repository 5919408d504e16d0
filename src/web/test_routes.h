// What registered routes answer, without a server.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/sync.h"
#include "io/virtual_time.h"
#include "web/routes.h"

namespace careen::web {

inline io::Task<void> keep_answer(const Routes& routes, io::ServerRequest request,
                                  std::optional<io::ServerResponse>& out) {
  out = co_await routes.answer(std::move(request));
}

// For handlers that wait for nothing.
inline io::ServerResponse answer_of(const Routes& routes, io::ServerRequest request) {
  io::VirtualTime time;
  const std::unique_ptr<io::Loop> loop = time.make_loop();
  std::optional<io::ServerResponse> out;
  io::Scope scope(*loop);
  scope.spawn(keep_answer(routes, std::move(request), out));
  EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, io::seconds{1}));
  return std::move(out).value_or(io::ServerResponse());
}

inline std::vector<Route> one_route(Route route) {
  std::vector<Route> out;
  out.push_back(std::move(route));
  return out;
}

}  // namespace careen::web
