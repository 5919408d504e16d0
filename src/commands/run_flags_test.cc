// The flags of `careen run` as manifests of the originals have them, in every form that Go's flag package takes.
#include "commands/run_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "controllers/profiles/hosted.h"
#include "controllers/slot/kind.h"

namespace careen::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Parsed {
  RunOptions options;
  ZapFlags zap;
  std::string error;
};

Parsed parse(std::vector<std::string> words) {
  Parsed out;
  CLI::App app;
  add_run_flags(app, out.options, out.zap);
  words = go_syntax(std::move(words));
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    out.error = error.what();
  }
  return out;
}

TEST(RunFlags, BooleansInEveryFormOfGo) {
  for (const std::string flag : {"--leader-elect", "-leader-elect", "--leader-elect=true", "-leader-elect=true",
                                 "--leader-elect=1", "--leader-elect=t", "--leader-elect=T", "--leader-elect=TRUE"}) {
    const Parsed parsed = parse({flag});
    EXPECT_EQ(parsed.error, "") << flag;
    EXPECT_TRUE(parsed.options.leader_election) << flag;
  }
  for (const std::string value : {"false", "0", "f", "F", "FALSE", "False"}) {
    const Parsed parsed = parse({"-zap-devel=" + value, "--leader-elect=" + value, "--enable-http2=" + value});
    EXPECT_EQ(parsed.error, "") << value;
    EXPECT_FALSE(parsed.zap.devel) << value;
    EXPECT_FALSE(parsed.options.leader_election) << value;
    EXPECT_FALSE(parsed.options.enable_http2) << value;
  }
  EXPECT_NE(parse({"--leader-elect=maybe"}).error, "");
}

TEST(RunFlags, OfAFlagThatIsGivenTwiceTheLastOneHolds) {
  const Parsed parsed = parse({"--leader-elect",
                               "--leader-elect=false",
                               "--zap-devel=false",
                               "-zap-devel",
                               "--metrics-bind-address=:1",
                               "--metrics-addr",
                               ":2",
                               "-metrics-bind-address=:8443",
                               "--zap-log-level=info",
                               "--zap-log-level=debug",
                               "--metrics-timeout=5s",
                               "--metrics-timeout=7s",
                               "--enable-http2",
                               "--enable-http2=false",
                               "--kubeconfig=/a",
                               "--kubeconfig=/b",
                               "--zap-encoder=json",
                               "--zap-encoder=console",
                               "--zap-stacktrace-level=info",
                               "--zap-stacktrace-level=panic",
                               "--config=x",
                               "--config=y",
                               "--lease-namespace=a",
                               "--lease-namespace=b"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_FALSE(parsed.options.leader_election);
  EXPECT_TRUE(parsed.zap.devel);
  EXPECT_EQ(parsed.options.metrics_address, ":8443");
  EXPECT_EQ(parsed.zap.level, "debug");
  EXPECT_EQ(parsed.options.metrics_timeout, io::seconds{7});
  EXPECT_FALSE(parsed.options.enable_http2);
  EXPECT_EQ(parsed.options.kubeconfig, "/b");
  EXPECT_EQ(parsed.zap.encoder, "console");
  EXPECT_EQ(parsed.zap.stacktrace, "panic");
  EXPECT_EQ(profiles::options_in(parsed.options.controllers)->config, "y");
}

TEST(RunFlags, ListsStillTakeSeveral) {
  const Parsed parsed = parse({"--webhook-host=a", "--webhook-host=b", "--controllers=profiles,nodemaintenance"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_THAT(parsed.options.webhook.hosts, ElementsAre("a", "b"));
  EXPECT_TRUE(profiles::options_in(parsed.options.controllers));
  ASSERT_EQ(parsed.options.controllers.size(), 2u);
  EXPECT_EQ(parsed.options.controllers.back()->kind().name, "nodemaintenance");
}

TEST(RunFlags, TaintsThatCountAreNamedWithTheirActors) {
  const Parsed parsed = parse({"--limit-count-taint=example.com/a=bot", "--limit-count-taint", "b=other"});
  EXPECT_EQ(parsed.error, "");
  ASSERT_EQ(parsed.options.counted_taints.size(), 2u);
  EXPECT_EQ(parsed.options.counted_taints.front().key, "example.com/a");
  EXPECT_EQ(parsed.options.counted_taints.back().actor, "other");
  EXPECT_NE(parse({"--limit-count-taint=example.com/a"}).error, "");
}

TEST(RunFlags, NothingAfterTheEqualsSignIsAnEmptyValue) {
  const Parsed parsed = parse({"--kubeconfig=", "--leader-elect", "-health-probe-bind-address="});
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.options.kubeconfig, "");
  EXPECT_TRUE(parsed.options.leader_election);
  EXPECT_EQ(parsed.options.health_address, "");
}

TEST(RunFlags, WhatChangesNothingIsTakenAndTold) {
  Parsed parsed = parse({"--enable-http2=true", "--zap-stacktrace-level=Error"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_THAT(without_effect(parsed.zap, parsed.options),
              ElementsAre(HasSubstr("--enable-http2 changes nothing"), HasSubstr("no stack traces")));
  parsed = parse({"--enable-http2=false"});
  EXPECT_THAT(without_effect(parsed.zap, parsed.options), IsEmpty()) << "that is what careen does";
  EXPECT_NE(parse({"--zap-stacktrace-level=loud"}).error, "");
}

TEST(RunFlags, WordsOfTheLogAreTakenInAnyCase) {
  io::LogOptions log;
  EXPECT_EQ(apply({.encoder = "JSON", .level = "ERROR", .time = "RFC3339"}, log), "");
  EXPECT_EQ(log.encoder, io::LogEncoder::json);
  EXPECT_EQ(log.level, io::LogLevel::error);
  EXPECT_EQ(log.time, io::LogTime::rfc3339);
}

TEST(RunFlags, IntegrationsThatAreNotThereAreRefusedInEveryForm) {
  for (const std::string flag : {"--enable-esx-maintenance", "-enable-kubernikus-maintenance"}) {
    for (const char* const on : {"", "=true", "=1", "=t"}) {
      EXPECT_THAT(parse({flag + on}).error, HasSubstr("is not available in this version")) << flag << on;
    }
    for (const char* const off : {"=false", "=0", "=f"}) EXPECT_EQ(parse({flag + off}).error, "") << flag << off;
  }
}

}  // namespace
}  // namespace careen::app
