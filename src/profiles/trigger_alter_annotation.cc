#include "profiles/trigger_alter_key.h"

namespace careen::profiles {

std::unique_ptr<Trigger> make_alter_annotation(ConfigReader& config) {
  return std::make_unique<AlterKey<&NodeDraft::set_annotation, &NodeDraft::remove_annotation>>("alterAnnotation",
                                                                                               config);
}

}  // namespace careen::profiles
