// What the tests of texts for a terminal share: a document from JSON, and a screen whose output is lost.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "cli/screen.h"
#include "kube/json.h"

namespace careen::app {

inline kube::Json parsed(std::string_view text) {
  auto document = kube::Json::parse(text);
  EXPECT_TRUE(document) << (document ? "" : document.error().message);
  return document ? std::move(*document) : kube::Json();
}

inline Screen screen(size_t width, size_t height = 24, bool unicode = true, bool colours = false) {
  ScreenOptions options;
  options.out = options.err = [](std::string_view) {};
  options.size = [=] { return ScreenSize{width, height}; };
  options.unicode = unicode;
  options.colours = colours;
  return Screen(std::move(options));
}

}  // namespace careen::app
