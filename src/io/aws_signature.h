// AWS Signature Version 4, with which Amazon's services, and others in their manner, know who sends a request. libcurl
// signs; what is here brings a request into the one form that libcurl signs rightly, and says where it has none.
#pragma once

#include <string>
#include <vector>

#include "io/result.h"

namespace careen::io {

struct HttpRequest;

struct AwsSignature {
  std::string provider = "aws:amz";  // prefixes of the algorithm and of headers, as libcurl takes them
  std::string region;
  std::string service;  // ec2, autoscaling, s3 …
  std::string key_id;
  std::string secret;
  // Of temporary credentials; goes along in X-Amz-Security-Token, signed too.
  std::string session_token = {};

  // For redact(): a service that refuses a signature may quote all it has got.
  std::vector<std::string> secrets() const { return {secret, session_token}; }
};

// For a request with a signature: afterwards its URL is canonical, and the headers that belong to the signature are
// there. An error if libcurl would sign it in a way that no service accepts.
Result<void> make_signable(HttpRequest& request);

}  // namespace careen::io
