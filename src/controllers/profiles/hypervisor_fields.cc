#include "controllers/profiles/hypervisor_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include "config/suggest.h"

namespace careen::profiles {

namespace {

using kube::Json;
using kube::JsonView;

constexpr std::array<HypervisorField, 8> kStatus{{
    {"evicted", FieldType::boolean, "Whether all instances have left the host"},
    {"hypervisorId", FieldType::text, "Its id in the compute service"},
    {"hypervisorVersion", FieldType::text, "Version of the hypervisor"},
    {"internalIp", FieldType::text, "Internal address of the host"},
    {"libVirtVersion", FieldType::text, "Version of libvirt"},
    {"numInstances", FieldType::integer, "How many instances run on the host"},
    {"serviceId", FieldType::text, "Id of its service in the compute service"},
    {"specHash", FieldType::text, "Hash of the spec that was applied last"},
}};

constexpr std::array<HypervisorField, 10> kSpec{{
    {"createCertManagerCertificate", FieldType::boolean, "Whether a certificate is requested for the host"},
    {"evacuateOnReboot", FieldType::boolean, "Whether a reboot evacuates the host first"},
    {"highAvailability", FieldType::boolean, "Whether instances are restarted elsewhere when the host fails"},
    {"installCertificate", FieldType::boolean, "Whether the certificate is installed on the host"},
    {"lifecycleEnabled", FieldType::boolean, "Whether the host is taken through its life cycle"},
    {"maintenance", FieldType::text, "Kind of maintenance: manual, auto, ha, termination, or empty for none"},
    {"maintenanceReason", FieldType::text, "Why it is in maintenance"},
    {"reboot", FieldType::boolean, "Whether the host shall reboot"},
    {"skipTests", FieldType::boolean, "Whether the tests of a new host are skipped"},
    {"version", FieldType::text, "Version of the operating system"},
}};

config::KeyType key_type(FieldType type) {
  switch (type) {
    case FieldType::text:
      return config::KeyType::text;
    case FieldType::boolean:
      return config::KeyType::boolean;
    case FieldType::integer:
      return config::KeyType::integer;
  }
  return config::KeyType::any;
}

std::string_view words_for(FieldType type) {
  switch (type) {
    case FieldType::text:
      return "a text";
    case FieldType::boolean:
      return "true or false";
    case FieldType::integer:
      return "an integer";
  }
  return {};
}

std::string_view kind_of(const config::ConfigReader::Scalar& value) {
  constexpr std::array<std::string_view, 4> kKinds{"a boolean", "an integer", "a fraction", "a text"};
  return kKinds[value.index()];
}

std::optional<Json> of_type(FieldType type, const config::ConfigReader::Scalar& value) {
  if (const bool* boolean = std::get_if<bool>(&value); boolean && type == FieldType::boolean) return Json(*boolean);
  if (const auto* integer = std::get_if<int64_t>(&value); integer && type == FieldType::integer) return Json(*integer);
  if (const auto* text = std::get_if<std::string>(&value); text && type == FieldType::text) return Json(*text);
  return std::nullopt;
}

void report_type(config::ConfigReader& config, const std::string& key, FieldType type,
                 const config::ConfigReader::Scalar& value) {
  // What a variable says is read as if it stood there without quotes; writing some does not help.
  const bool from_variable = config.shown(key) == "***";
  std::string_view hint;
  if (type == FieldType::text && !from_variable) hint = "; put it in quotes";
  if (type != FieldType::text && std::holds_alternative<std::string>(value) && !from_variable) {
    hint = "; write it without quotes";
  }
  config.error(key, fmt::format("must be {}, but is read as {}{}", words_for(type), kind_of(value), hint));
}

}  // namespace

std::span<const HypervisorField> hypervisor_status_fields() { return kStatus; }
std::span<const HypervisorField> hypervisor_spec_fields() { return kSpec; }

std::vector<config::KeyDoc> describe_fields(std::span<const HypervisorField> fields) {
  std::vector<config::KeyDoc> keys;
  for (const HypervisorField& field : fields) {
    keys.push_back({.name = field.name, .type = key_type(field.type), .text = field.text});
  }
  return keys;
}

std::vector<FieldValue> read_fields(config::ConfigReader& config, std::span<const HypervisorField> fields,
                                    std::string_view whose) {
  std::vector<FieldValue> values;
  for (const auto& [key, scalar] : config.entries()) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const HypervisorField& one) { return one.name == key; });
    if (field == fields.end()) {
      std::vector<std::string_view> names;
      for (const HypervisorField& one : fields) names.push_back(one.name);
      config.error(key, fmt::format("is not known as a field of the {}{}", whose, config::did_you_mean(key, names)));
    } else if (auto value = of_type(field->type, scalar)) {
      values.push_back({&*field, std::move(*value)});
    } else {
      report_type(config, key, field->type, scalar);
    }
  }
  return values;
}

Json value_of(const kube::Object& hypervisor, std::string_view section, const HypervisorField& field) {
  const JsonView value = hypervisor.document[section][field.name];
  switch (field.type) {
    case FieldType::text:
      return Json(value.text().value_or(""));
    case FieldType::boolean:
      return Json(value.boolean().value_or(false));
    case FieldType::integer:
      return Json(value.integer().value_or(0));
  }
  return {};
}

}  // namespace careen::profiles
