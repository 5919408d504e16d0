// What an admission webhook is asked and what it answers, without the wire: the rules of a webhook are written against
// these two, whoever carries them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/error.h"
#include "kube/json.h"

namespace careen::kube {

struct AdmissionRequest {
  std::string uid;
  std::string operation;  // CREATE, UPDATE, DELETE, CONNECT
  std::string name;       // empty when the server is to generate it
  std::string ns;
  bool dry_run = false;
  std::string user;                 // who asked the API server
  std::vector<std::string> groups;  // that the user is in
  std::string field_manager;        // as the client calls itself; mostly empty
  Json object;                      // null for DELETE
  Json old_object;                  // null for CREATE
  std::string peer;                 // the address it came from, which anybody may have who reaches the port
  bool passed_on = false;           // by another replica, or by anybody who says so
};

struct AdmissionVerdict {
  bool allowed = false;
  int code = 200;
  std::string reason;
  std::string message;
  Json status;  // unless null: given back as it is, instead of the three above

  static AdmissionVerdict allow();
  // The request is not wanted: 403.
  static AdmissionVerdict deny(std::string message);
  // The request makes no sense, or we fail.
  static AdmissionVerdict error(int code, std::string message);
  // What the API server told us, told on; without an answer of it, a denial with the reason.
  static AdmissionVerdict pass_on(const ApiError& error);
};

}  // namespace careen::kube
