#include "controllers/profiles/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "controllers/profiles/plugins/plugins.h"
#include "source_dir.h"

namespace careen::profiles {
namespace {

TEST(SchemaTest, TheShippedFileIsWhatThePluginsSay) {
  std::ifstream file(test::source_path("deploy/maintenance.schema.json"));
  std::stringstream shipped;
  shipped << file.rdbuf();
  // Not EXPECT_EQ: the difference of two long texts tells nobody anything.
  EXPECT_TRUE(shipped.str() == config_schema_text(all_plugins()))
      << "run: careen schema > deploy/maintenance.schema.json";
}

TEST(SchemaTest, TheTextIsTheSchema) {
  const auto parsed = kube::Json::parse(config_schema_text(all_plugins()));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, config_schema(all_plugins()));
}

TEST(SchemaTest, PluginsAppearWithTheirKeys) {
  const kube::Json schema = config_schema(all_plugins());
  const auto keys = schema["definitions"]["check.maxMaintenance"];
  EXPECT_EQ(keys["required"].dump(), R"(["max"])");
  EXPECT_EQ(keys["additionalProperties"].boolean(), false);
  EXPECT_TRUE(keys["properties"]["groupBy"].exists());
  EXPECT_FALSE(keys["properties"]["max"]["description"].text().value_or("").empty());
  EXPECT_EQ(schema["definitions"]["schedule.periodic"]["properties"]["interval"]["default"].text(), "1h");
  EXPECT_EQ(schema["definitions"]["trigger.alterLabel"]["properties"]["remove"]["default"].boolean(), false);
}

}  // namespace
}  // namespace careen::profiles
