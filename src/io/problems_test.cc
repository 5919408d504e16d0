#include "io/problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace careen::io {
namespace {

using testing::ElementsAre;
using testing::Pair;

class LinesOfProblems final : public LogSink {
 public:
  bool enabled(LogLevel) const override { return true; }
  void write(LogLevel, std::string_view, std::string_view message, const LogFields& fields) override {
    lines.push_back(fields.front().second + " | " + std::string(message));
  }
  std::vector<std::string> lines;
};

TEST(ProblemsTest, ThoseOfASubjectAreAmongAllUnderItsNameAndGoWithIt) {
  const auto log = std::make_shared<LinesOfProblems>();
  Problems problems{Log(log, "problems")};
  problems.raise("config", "cannot be read");
  {
    Problems own(problems, "cluster a");
    own.raise("config", "cannot be read either");
    own.raise("watch nodes", "no answer");
    own.raise("watch nodes", "no answer");
    EXPECT_THAT(own.open(), ElementsAre(Pair("config", "cannot be read either"), Pair("watch nodes", "no answer")));
    EXPECT_THAT(problems.open(),
                ElementsAre(Pair("cluster a: config", "cluster a: cannot be read either"),
                            Pair("cluster a: watch nodes", "cluster a: no answer"), Pair("config", "cannot be read")));
    own.clear("config");
    own.clear("config");
  }
  EXPECT_THAT(problems.open(), ElementsAre(Pair("config", "cannot be read")));
  EXPECT_THAT(log->lines,
              ElementsAre("config | cannot be read", "cluster a: config | cluster a: cannot be read either",
                          "cluster a: watch nodes | cluster a: no answer", "cluster a: config | the problem is gone"));
}

}  // namespace
}  // namespace careen::io
