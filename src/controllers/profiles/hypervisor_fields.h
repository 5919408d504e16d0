// The fields of a Hypervisor (kvm.cloud.sap/v1) that checks may compare and triggers may set, with their types. A
// configuration names them by their JSON names, and each value has to be of the field's type exactly.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/plugin_doc.h"
#include "config/reader.h"
#include "kube/json.h"
#include "kube/objects.h"

namespace careen::profiles {

enum class FieldType { text, boolean, integer };

struct HypervisorField {
  std::string_view name;
  FieldType type = FieldType::text;
  std::string_view text;  // what it says, for the documentation
};

std::span<const HypervisorField> hypervisor_status_fields();
std::span<const HypervisorField> hypervisor_spec_fields();

std::vector<config::KeyDoc> describe_fields(std::span<const HypervisorField> fields);

struct FieldValue {
  const HypervisorField* field = nullptr;
  kube::Json value;
};
// Every key of the configuration. `whose` completes messages: status of a hypervisor.
std::vector<FieldValue> read_fields(config::ConfigReader& config, std::span<const HypervisorField> fields,
                                    std::string_view whose);

// What the object says of the field. Absent is the same as false, 0 or the empty text, which the API leaves out.
kube::Json value_of(const kube::Object& hypervisor, std::string_view section, const HypervisorField& field);

}  // namespace careen::profiles
