#include "controllers/profiles/failing_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/config.h"
#include "controllers/profiles/node_meters.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/queue.h"

namespace careen::profiles {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class FailingNodesTest : public testing::Test {
 protected:
  static kube::ApiError refusal(int code) {
    kube::ApiError error;
    error.code = code;
    error.message = "no";
    return error;
  }
  bool due(const std::string& node) const { return queue.busy(node); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Metrics metrics;
  io::Problems problems{io::Log{}};
  kube::WorkQueue queue{*loop};
  NodeMeters meters{metrics};
  std::shared_ptr<const Config> config = std::make_shared<Config>();
  FailingNodes failing{*loop, queue, problems, meters, config};
};

TEST_F(FailingNodesTest, WhatConcernsAllNodesIsOneProblem) {
  failing.write_failed("a", refusal(403));
  failing.write_failed("b", refusal(403));
  EXPECT_THAT(problems.open(), SizeIs(1));
  EXPECT_EQ(failing.unwritable(), 2U);
  failing.rests("a");
  EXPECT_THAT(problems.open(), SizeIs(1));
  failing.rests("b");
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(FailingNodesTest, WhatConcernsOneNodeIsAProblemOfItsOwn) {
  failing.write_failed("a", refusal(422));
  failing.write_failed("b", refusal(422));
  EXPECT_THAT(problems.open(), SizeIs(2));
  failing.written("a");
  EXPECT_THAT(problems.open(), SizeIs(1));
}

TEST_F(FailingNodesTest, ItComesBackByItselfUntilItRecovers) {
  auto requeue = std::make_shared<Config>();
  requeue->requeue = io::seconds{30};
  config = requeue;
  failing.wait("a");
  EXPECT_TRUE(failing.contains("a"));
  time.run_for(io::seconds{29});
  EXPECT_FALSE(due("a"));
  time.run_for(io::seconds{1});
  EXPECT_TRUE(due("a"));
  failing.recovered("a");
  EXPECT_FALSE(failing.contains("a"));
}

TEST_F(FailingNodesTest, AWriteWhoseFateIsUnknownIsAProblemUntilItIsSettled) {
  failing.write_unsettled("a", refusal(500));
  EXPECT_THAT(problems.open(), SizeIs(1));
  EXPECT_FALSE(failing.contains("a")) << "nothing is known to have failed";
  failing.write_settled("a");
  EXPECT_THAT(problems.open(), IsEmpty());
}

}  // namespace
}  // namespace careen::profiles
