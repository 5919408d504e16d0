// Holds every plugin and schedule to what it says about itself: which keys it reads, which it requires, what it takes
// when they are absent, and that its example works. A new plugin needs no addition here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "config/file.h"
#include "config/reader.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kSecret = "Ov3rb0ard!";

std::optional<std::string> secret_environment(std::string_view name) {
  if (name == "SECRET") return std::string(kSecret);
  return std::nullopt;
}

// Required only where another form of the configuration is not used.
const std::map<std::string_view, std::set<std::string>> kOneOfTwoForms{{"timeWindow", {"start", "end", "weekdays"}}};

struct Subject {
  std::string place;  // instances.check, or schedule
  const config::PluginDoc* doc;
  std::function<void(config::ConfigReader&)> read;
};

class PluginDocsTest : public testing::Test {
 protected:
  PluginDocsTest() {
    add("check", registry.checks);
    add("notify", registry.notifies);
    add("trigger", registry.triggers);
    for (ScheduleType type : {ScheduleType::periodic, ScheduleType::scheduled, ScheduleType::oneshot}) {
      subjects.push_back(
          {"schedule", &schedule_doc(type), [type](config::ConfigReader& reader) { read_schedule(type, reader); }});
    }
  }

  template <class Kind>
  void add(const std::string& place, const PluginTable<Kind>& plugins) {
    for (const auto& [type, plugin] : plugins) {
      EXPECT_EQ(type, plugin.doc.type);
      subjects.push_back({place, &plugin.doc, [make = plugin.make](config::ConfigReader& reader) { make(reader); }});
    }
  }

  struct Reading {
    std::map<std::string, config::KeyUse, std::less<>> uses;
    std::vector<std::string> remarks;  // errors and warnings
  };
  // The keys `yaml` read by the subject's factory.
  static Reading read(const Subject& subject, const std::string& yaml) {
    const auto document = config::Document::parse(yaml);
    EXPECT_TRUE(document) << yaml;
    const config::Environment variables = secret_environment;
    config::ConfigFile file("f.yaml", *document, variables);
    config::ConfigReader reader(file, &document->root(), {1, 1}, "x", &subject.doc->keys);
    subject.read(reader);
    reader.warn_unknown_keys();
    Reading reading{file.uses(), {}};
    for (const auto& remarks : {file.errors(), file.warnings()}) {
      for (const config::ConfigError& remark : remarks) reading.remarks.push_back(remark.to_text());
    }
    return reading;
  }

  PluginRegistry registry = all_plugins();
  std::vector<Subject> subjects;
};

// A value that the key accepts, or at least may have.
std::string sample(const config::KeyDoc& key);

std::string samples(const std::vector<config::KeyDoc>& keys,
                    const std::function<std::string(const config::KeyDoc&)>& value) {
  std::string yaml;
  for (const config::KeyDoc& key : keys)
    yaml += fmt::format("{}\"{}\": {}", yaml.empty() ? "" : ", ", key.name, value(key));
  return "{" + yaml + "}";
}

std::string sample(const config::KeyDoc& key) {
  switch (key.type) {
    case config::KeyType::integer:
      return "1";
    case config::KeyType::boolean:
      return "true";
    case config::KeyType::duration:
    case config::KeyType::duration_text:
      return "1h";
    case config::KeyType::count_or_percentage:
      return "10%";
    case config::KeyType::time_of_day:
      return "'9:30'";
    case config::KeyType::choice:
      return fmt::format("'{}'", key.choices.at(0));
    case config::KeyType::object:
      return samples(key.keys, sample);
    case config::KeyType::objects:
      return "[" + samples(key.keys, sample) + "]";
    default:
      return "sample";
  }
}

// Every value that can refer to a variable does.
std::string reference(const config::KeyDoc& key) {
  if (key.type == config::KeyType::object) return samples(key.keys, reference);
  if (key.type == config::KeyType::objects) return "[" + samples(key.keys, reference) + "]";
  if (key.type == config::KeyType::texts) return "['${SECRET}']";
  return "'${SECRET}'";
}

// Objects are there but empty, so that what is required in them is missed.
std::string empty_objects(const std::vector<config::KeyDoc>& keys) {
  std::string yaml;
  for (const config::KeyDoc& key : keys) {
    if (key.type != config::KeyType::object && key.type != config::KeyType::objects) continue;
    const std::string inner = empty_objects(key.keys);
    yaml += fmt::format("{}{}: {}", yaml.empty() ? "" : ", ", key.name,
                        key.type == config::KeyType::object ? inner : "[" + inner + "]");
  }
  return "{" + yaml + "}";
}

void for_each_key(const std::vector<config::KeyDoc>& keys, const std::string& path,
                  const std::function<void(const std::string&, const config::KeyDoc&)>& visit) {
  for (const config::KeyDoc& key : keys) {
    visit(path + std::string(key.name), key);
    for_each_key(key.keys, fmt::format("{}{}{}.", path, key.name, key.type == config::KeyType::objects ? "[]" : ""),
                 visit);
  }
}

TEST_F(PluginDocsTest, TheKeysDeclaredAreThoseRead) {
  for (const Subject& subject : subjects) {
    std::set<std::string> declared, used;
    for_each_key(subject.doc->keys, "", [&](const std::string& path, const config::KeyDoc&) { declared.insert(path); });
    for (const std::string& yaml :
         {std::string("{}"), empty_objects(subject.doc->keys), samples(subject.doc->keys, sample)}) {
      for (const auto& [path, use] : read(subject, yaml).uses) used.insert(path);
    }
    EXPECT_EQ(declared, used) << subject.doc->type;
  }
}

TEST_F(PluginDocsTest, TheKeysDeclaredAsRequiredAreThoseMissed) {
  for (const Subject& subject : subjects) {
    std::set<std::string> declared, missed;
    for_each_key(subject.doc->keys, "", [&](const std::string& path, const config::KeyDoc& key) {
      if (key.required && key.type != config::KeyType::object) declared.insert(path);
    });
    for (const std::string& yaml : {std::string("{}"), empty_objects(subject.doc->keys)}) {
      for (const auto& [path, use] : read(subject, yaml).uses) {
        if (use.missed) missed.insert(path);
      }
    }
    const auto forms = kOneOfTwoForms.find(subject.doc->type);
    if (forms != kOneOfTwoForms.end()) {
      for (const std::string& path : forms->second) missed.erase(path);
    }
    EXPECT_EQ(declared, missed) << subject.doc->type;
  }
}

// The value as the reader's default is written.
std::string default_text(const config::KeyDoc& key) {
  const bool is_duration = key.type == config::KeyType::duration || key.type == config::KeyType::duration_text;
  if (is_duration) return io::format_duration(io::parse_duration(key.otherwise).value_or(io::Duration{0}));
  if (key.type == config::KeyType::boolean && key.otherwise.empty()) return "false";
  if (key.otherwise.empty()) return "0";
  return std::string(key.otherwise);
}

TEST_F(PluginDocsTest, TheDefaultsDeclaredAreThoseTaken) {
  for (const Subject& subject : subjects) {
    const Reading reading = read(subject, empty_objects(subject.doc->keys));
    for_each_key(subject.doc->keys, "", [&](const std::string& path, const config::KeyDoc& key) {
      EXPECT_FALSE(key.required && !key.otherwise.empty()) << subject.doc->type << ": " << path;
      const auto use = reading.uses.find(path);
      // Of texts and lists the reader has no default to compare.
      if (use == reading.uses.end() || use->second.otherwise.empty() || key.required) return;
      EXPECT_EQ(default_text(key), use->second.otherwise) << subject.doc->type << ": " << path;
    });
  }
}

TEST_F(PluginDocsTest, EverythingIsDescribed) {
  for (const Subject& subject : subjects) {
    const std::string_view summary = subject.doc->summary;
    EXPECT_FALSE(summary.empty() || summary.ends_with('.')) << subject.doc->type;
    for_each_key(subject.doc->keys, "", [&](const std::string& path, const config::KeyDoc& key) {
      EXPECT_FALSE(key.text.empty() || key.text.ends_with('.')) << subject.doc->type << ": " << path;
      EXPECT_EQ(key.type == config::KeyType::choice, !key.choices.empty()) << subject.doc->type << ": " << path;
      const bool nested = key.type == config::KeyType::object || key.type == config::KeyType::objects;
      EXPECT_EQ(nested, !key.keys.empty()) << subject.doc->type << ": " << path;
    });
  }
}

std::string indented(std::string_view text, std::string_view indentation) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += fmt::format("{}{}\n", indentation, text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return out;
}

TEST_F(PluginDocsTest, ExamplesLoadWithoutErrorOrWarning) {
  for (const Subject& subject : subjects) {
    if (subject.place == "schedule") {
      const auto document = config::Document::parse(std::string(subject.doc->example));
      ASSERT_TRUE(document);
      EXPECT_EQ(config::find_entry(&document->root(), "type")->text, subject.doc->type);
      const config::Environment variables = secret_environment;
      config::ConfigFile file("f.yaml", *document, variables);
      config::ConfigReader reader(file, config::find_entry(&document->root(), "config"), {1, 1}, "x",
                                  &subject.doc->keys);
      subject.read(reader);
      reader.warn_unknown_keys();
      EXPECT_EQ(file.errors().size() + file.warnings().size(), 0U) << subject.doc->example;
      continue;
    }
    const std::string yaml = fmt::format("intervals:\n  requeue: 1m\ninstances:\n  {}:\n{}", subject.place,
                                         indented(subject.doc->example, "  "));
    const auto any_variable = [](std::string_view) { return std::optional<std::string>("some-value"); };
    const ConfigReport report = examine_config(yaml, "example.yaml", registry, any_variable);
    for (const auto& remarks : {report.errors, report.warnings}) {
      for (const config::ConfigError& remark : remarks) ADD_FAILURE() << remark.to_text() << "\n" << yaml;
    }
    ASSERT_TRUE(report.config);
    EXPECT_EQ(report.config->checks.size() + report.config->notifies.size() + report.config->triggers.size(), 1U);
    EXPECT_THAT(yaml, HasSubstr(fmt::format("type: {}\n", subject.doc->type)));
  }
}

TEST_F(PluginDocsTest, NoMessageShowsWhatAVariableContains) {
  for (const Subject& subject : subjects) {
    const std::string all = samples(subject.doc->keys, reference);
    std::vector<std::string> remarks = read(subject, all).remarks;
    // One at a time too: the first error may keep others from being found.
    for (const config::KeyDoc& key : subject.doc->keys) {
      const auto value = [&](const config::KeyDoc& one) { return one.name == key.name ? reference(one) : sample(one); };
      for (std::string& remark : read(subject, samples(subject.doc->keys, value)).remarks) {
        remarks.push_back(std::move(remark));
      }
    }
    for (const std::string& remark : remarks) {
      EXPECT_THAT(remark, Not(HasSubstr(std::string(kSecret)))) << subject.doc->type;
    }
  }
}

}  // namespace
}  // namespace careen::profiles
