#include "templates/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json.h"

namespace careen::templates {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

kube::Json node() {
  return *kube::Json::parse(R"({"kind":"Node","metadata":{"name":"n1","labels":{"zone":"a","b":"c"},
    "creationTimestamp":"2026-03-01T10:00:00Z"},"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]},
    "status":{"capacity":{"cpu":"4","memory":"8Gi"},"addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}})");
}

io::Result<std::string> rendered(std::string_view text) {
  const auto parsed = Template::parse(text);
  if (!parsed) return io::fail(io::ErrorKind::invalid, "parse: " + parsed.error().message);
  const kube::Json json = node();
  TemplateData data;
  data.state = "operational";
  data.profile = "flatcar";
  data.last = "kernel";
  data.last_transition = *io::parse_rfc3339("2026-03-01T10:20:30.5Z");
  data.node = json.view();
  return parsed->render(data);
}

std::string text_of(std::string_view text) {
  const auto result = rendered(text);
  return result ? *result : "failed: " + result.error().message;
}

Template parsed(std::string_view text) { return *Template::parse(text); }

TEST(Template, RendersWhatMessagesUsuallyHold) {
  EXPECT_EQ(text_of("{{ .Node.Name }} is {{ .State }} ({{ .Profile }})"), "n1 is operational (flatcar)");
  EXPECT_EQ(text_of("{{ .Node.Labels }} {{ .Node.Labels.none }} {{ index .Node.Labels \"none\" }}|"),
            "map[b:c zone:a] <no value> |");
  EXPECT_EQ(text_of("{{ .LastTransition }}"), "2026-03-01 10:20:30.5 +0000 UTC");
  EXPECT_EQ(text_of("{{ .Node.CreationTimestamp.Format \"02 Jan 2006\" }}"), "01 Mar 2026");
}

TEST(Template, ProfileIsANameWithTwoFields) {
  EXPECT_EQ(text_of("{{ .Profile.Current }} {{ .Profile.Last }} {{ .Current }} {{ .Last }}"),
            "flatcar kernel flatcar kernel");
  EXPECT_EQ(text_of("{{ printf \"%q\" .Profile }} {{ len .Profile }}"), "\"flatcar\" 7");
}

TEST(Template, QuantitiesAreTexts) {
  EXPECT_EQ(text_of("{{ .Node.Status.Capacity }} {{ .Node.Status.Capacity.cpu }}"), "map[cpu:4 memory:8Gi] 4");
  EXPECT_EQ(text_of("{{ .Node.Status.Capacity.Memory }} {{ .Node.Status.Capacity.Pods }}"), "8Gi 0");
  EXPECT_EQ(text_of("{{ index .Node.Status.Capacity \"cpu\" }}"), "4");
}

// People have these in their messages; what each gives is compared with Go's own types in test/templates.
TEST(Template, MethodsOfTheGoTypesWork) {
  EXPECT_EQ(text_of("{{ .Node.GetName }} {{ .Node.GetLabels.zone }} {{ .Node.GetCreationTimestamp.Year }}"),
            "n1 a 2026");
  EXPECT_EQ(text_of("{{ (.LastTransition.Add 3600000000000).Format \"15:04\" }}"), "11:20");
  EXPECT_EQ(text_of("{{ (.LastTransition.Sub .Node.CreationTimestamp.Time).Round 1000000000 }}"), "20m31s");
  EXPECT_EQ(text_of("{{ .LastTransition.After .Node.CreationTimestamp.Time }} {{ .LastTransition.Weekday }}"),
            "true Sunday");
  EXPECT_EQ(text_of("{{ .Node.Status.Capacity.Memory.Value }} {{ .Node.Status.Capacity.Cpu.MilliValue }}"),
            "8589934592 4000");
  EXPECT_EQ(text_of("{{ (index .Node.Status.Capacity \"cpu\").Value }} {{ .Node.Status.Capacity.cpu.IsZero }}"),
            "4 false");
  EXPECT_EQ(text_of("{{ .LastTransition.AddDate 99999999999 0 0 }}"),
            "failed: 1:4: error calling AddDate: the date is out of range");
}

TEST(Template, MethodsTakeNothingButTheirTypes) {
  EXPECT_THAT(text_of("{{ .LastTransition.Add \"1h\" }}"), HasSubstr("expected time.Duration; found \"1h\""));
  EXPECT_THAT(text_of("{{ .LastTransition.Sub .Node.CreationTimestamp }}"),
              HasSubstr("expected time.Time; got v1.Time"));
  EXPECT_THAT(text_of("{{ .Node.DeletionTimestamp.Add 1 }}"), HasSubstr("nil pointer"));
  EXPECT_EQ(text_of("{{ .Node.DeletionTimestamp.Before .Node.CreationTimestamp }}"), "false");
}

TEST(Template, GettersReadNoMoreThanTheirField) {
  EXPECT_THAT(parsed("{{ .Node.GetName }}{{ .Node.GetLabels.zone }}").fields().sections,
              ElementsAre("/metadata/labels", "/metadata/name"));
  EXPECT_THAT(parsed("{{ .Node.Status.Capacity.Cpu.Value }}").fields().sections, ElementsAre("/status/capacity"));
  EXPECT_THAT(parsed("{{ .Node.GetNmae }}").problems(), testing::SizeIs(1));
}

TEST(Template, TaintsKnowTheirShortForm) {
  EXPECT_EQ(text_of("{{ range .Node.Spec.Taints }}{{ .ToString }}{{ end }}"), "k=v:NoSchedule");
}

TEST(Template, WholeNodeIsJson) { EXPECT_EQ(text_of("{{ .Node }}"), node().dump()); }

TEST(Template, ErrorsOfParsingHaveTheirPlace) {
  const auto refused = Template::parse("first\n  {{ nope .State }}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().line, 2);
  EXPECT_EQ(refused.error().column, 6);
  EXPECT_EQ(refused.error().message, "function \"nope\" not defined");
  EXPECT_EQ(refused.error().name, "nope");
  EXPECT_THAT(refused.error().candidates, testing::Contains("printf"));
}

TEST(Template, ErrorsOfRenderingHaveTheirPlace) {
  EXPECT_EQ(text_of("x\n{{ index .Node.Spec.Taints 3 }}"), "failed: 2:4: error calling index: index out of range: 3");
}

TEST(Template, IsBoundedInStepsOutputAndDepth) {
  EXPECT_THAT(text_of("{{ range 1000000000 }}{{ end }}"), HasSubstr("steps"));
  EXPECT_THAT(text_of("{{ range 100000 }}{{ printf \"%1000d\" 1 }}{{ end }}"), HasSubstr("longer than"));
  EXPECT_THAT(text_of("{{ $x := \"aaaaaaaa\" }}{{ range 64 }}{{ $x = print $x $x }}{{ end }}"),
              HasSubstr("longer than"));
  EXPECT_THAT(text_of("{{ define \"r\" }}{{ template \"r\" . }}{{ end }}{{ template \"r\" . }}"),
              HasSubstr("inside each other"));
  EXPECT_FALSE(Template::parse("{{ " + std::string(100000, '(') + "1" + std::string(100000, ')') + " }}"));
}

// The caller's variables were lost from view while a called template failed inside a loop.
TEST(Template, FailureInsideACalledTemplateUnwindsTheLoopAround) {
  EXPECT_THAT(text_of("{{ range $i := 3 }}{{ block \"b\" 1 }}{{ .Nope }}{{ end }}{{ end }}"), HasSubstr("Nope"));
}

TEST(Template, NamesTheSectionsItReads) {
  const Template several =
      parsed("{{ .Node.Name }} {{ .Node.Status.NodeInfo.OSImage }} {{ index .Node.Labels \"a\" }}");
  EXPECT_FALSE(several.fields().whole);
  EXPECT_THAT(several.fields().sections, ElementsAre("/metadata/labels", "/metadata/name", "/status/nodeInfo"));
  EXPECT_THAT(parsed("{{ .State }}").fields().sections, IsEmpty());
}

TEST(Template, FollowsTheNodeThroughWithVariablesAndCalls) {
  EXPECT_THAT(parsed("{{ with .Node }}{{ .Name }}{{ end }}").fields().sections, ElementsAre("/metadata/name"));
  EXPECT_THAT(parsed("{{ $n := .Node }}{{ $n.Spec.ProviderID }}").fields().sections, ElementsAre("/spec/providerID"));
  EXPECT_THAT(parsed("{{ define \"d\" }}{{ .Kind }}{{ end }}{{ template \"d\" .Node }}").fields().sections,
              ElementsAre("/kind"));
  EXPECT_THAT(parsed("{{ range .Node.Status.Addresses }}{{ .Address }}{{ end }}").fields().sections,
              ElementsAre("/status/addresses"));
}

TEST(Template, NeedsTheWholeNodeWhereTheUseCannotBeTold) {
  EXPECT_TRUE(parsed("{{ .Node }}").fields().whole);
  EXPECT_TRUE(parsed("{{ . }}").fields().whole);
  EXPECT_TRUE(parsed("{{ with $ }}{{ printf \"%v\" . }}{{ end }}").fields().whole);
  EXPECT_TRUE(parsed("{{ .Node.Spec }}").fields().whole);
  EXPECT_TRUE(parsed("{{ $x := 1 }}{{ $x = .Node }}{{ $x.Name }}").fields().whole);
  EXPECT_TRUE(parsed("{{ print .Node.Status }}").fields().whole);
}

TEST(Template, FindsUnknownFieldsBeforehand) {
  const Template wrong = parsed("{{ if .LogDetails }}{{ .Node.Nmae }}{{ end }}{{ .Profile.Foo }}");
  ASSERT_EQ(wrong.problems().size(), 2U);
  EXPECT_EQ(wrong.problems()[0].message, "can't evaluate field Nmae in type *v1.Node");
  EXPECT_EQ(wrong.problems()[0].name, "Nmae");
  EXPECT_THAT(wrong.problems()[0].candidates, testing::Contains("Name"));
  EXPECT_EQ(wrong.problems()[0].column, 24);
  EXPECT_THAT(parsed("{{ range .Node.Spec.Taints }}{{ .Effekt }}{{ end }}").problems(), testing::SizeIs(1));
  EXPECT_THAT(parsed("{{ template \"none\" }}").problems(), testing::SizeIs(1));
}

bool fails_always(std::string_view text) {
  const Template one = parsed(text);
  EXPECT_THAT(one.problems(), testing::SizeIs(1)) << text;
  return !one.problems().empty() && !one.problems()[0].conditional;
}

TEST(Template, TellsWhatFailsAlwaysFromWhatMayNeverBeMet) {
  EXPECT_TRUE(fails_always("{{ .Node.Nmae }}"));
  EXPECT_TRUE(fails_always("{{ if .Nope }}{{ end }}"));
  EXPECT_TRUE(fails_always("{{ define \"d\" }}{{ .Nope }}{{ end }}{{ template \"d\" . }}"));
  EXPECT_TRUE(fails_always("{{ and .Nope .State }}"));
  EXPECT_TRUE(fails_always(
      "{{ define \"d\" }}{{ .Nope }}{{ end }}{{ if .State }}{{ template \"d\" . }}{{ end }}{{ template \"d\" . }}"));
  EXPECT_FALSE(fails_always("{{ if .LogDetails }}{{ .Nope }}{{ end }}"));
  EXPECT_FALSE(fails_always("{{ if .LogDetails }}x{{ else if .Nope }}y{{ end }}"));
  EXPECT_FALSE(fails_always("{{ with .State }}x{{ else }}{{ .Nope }}{{ end }}"));
  EXPECT_FALSE(fails_always("{{ range .Node.Spec.Taints }}{{ .Nope }}{{ end }}"));
  EXPECT_FALSE(fails_always("{{ if and .LogDetails .Nope }}x{{ end }}"));
  EXPECT_FALSE(fails_always("{{ .Node.Labels.none.Add .Nope }}"));
  EXPECT_FALSE(
      fails_always("{{ define \"d\" }}{{ .Nope }}{{ end }}{{ if .LogDetails }}{{ template \"d\" . }}{{ end }}"));
}

TEST(Template, SaysNothingWhereItIsNotCertain) {
  EXPECT_THAT(parsed("{{ .Node.Labels.a.b }}").problems(), IsEmpty());
  EXPECT_THAT(parsed("{{ $x := 1 }}{{ $x = .Node }}{{ $x.Name }}").problems(), IsEmpty());
  EXPECT_THAT(parsed("{{ (or .State .Node).Name }}").problems(), IsEmpty());
}

}  // namespace
}  // namespace careen::templates
