// AWS Signature Version 4, by which Amazon's services, and others like them, know who sends a request. libcurl signs;
// this brings a request into the one form that libcurl signs correctly, and says when it has none.
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
  // Of temporary credentials; sent in X-Amz-Security-Token, which is signed too.
  std::string session_token = {};

  // For redact(): a service that refuses a signature may quote all that it received.
  std::vector<std::string> secrets() const { return {secret, session_token}; }
};

// For a request with a signature: afterwards its URL is canonical, and the headers that belong to the signature are
// there. An error if libcurl would sign it in a way that no service accepts.
Result<void> make_signable(HttpRequest& request);

}  // namespace careen::io
