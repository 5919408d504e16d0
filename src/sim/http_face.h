// The model cluster's API server on a port, so that kubectl and other programs can talk to it: HTTP becomes requests
// of the Network and back, and watches stream. There is no authentication, and encryption only on request: for loopback
// only.
#pragma once

#include <memory>
#include <string>

#include "io/http_server.h"
#include "io/real_loop.h"
#include "sim/network.h"

namespace careen::sim {

// Serves until destroyed. The name of a client, as treatments and changes have it, is the first word of its User-Agent.
// `speed` is that of the cluster's clock against the real one, by which clients count how long their watches last.
io::Result<std::unique_ptr<io::HttpServer>> serve_model(io::RealLoop& loop, Network& network, std::string address,
                                                        double speed = 1);
// The same, with TLS if the options say so. How many connections there may be is the model's business.
io::Result<std::unique_ptr<io::HttpServer>> serve_model(io::RealLoop& loop, Network& network, io::ServerOptions options,
                                                        double speed = 1);

}  // namespace careen::sim
