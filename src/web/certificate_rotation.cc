#include "web/certificate_rotation.h"

#include <algorithm>
#include <utility>

namespace careen::web {

namespace {

// From a little before now, because clocks differ.
io::Validity lasting(io::Wall now, io::Duration lifetime) {
  const io::Duration backdated = std::min<io::Duration>(io::hours{1}, lifetime / 10);
  return {now - backdated, io::add(now, lifetime)};
}

bool usable(const io::KeyPair& authority, io::Wall now) {
  if (!io::check_pair(authority)) return false;
  const auto facts = io::read_certificate(authority.certificate);
  return facts && now < facts->validity.until;
}

// At two thirds of its life.
io::Wall renewal_of(const std::string& certificate) {
  const auto facts = io::read_certificate(certificate);
  if (!facts) return io::Wall::min();
  return facts->validity.from + (facts->validity.until - facts->validity.from) / 3 * 2;
}

bool serves(const KeptCertificates& kept, const RotationOptions& options) {
  const auto facts = io::read_certificate(kept.serving.certificate);
  return facts && facts->names == options.names && io::check_pair(kept.serving) &&
         io::signed_by(kept.serving.certificate, kept.authority.certificate);
}

io::Result<io::KeyPair> new_authority(io::Wall now, const RotationOptions& options) {
  return io::make_authority(options.authority_name, lasting(now, options.authority_lifetime));
}

io::Result<io::KeyPair> new_serving(const io::KeyPair& authority, io::Wall now, const RotationOptions& options) {
  auto pair = io::issue_certificate(authority, options.names, lasting(now, options.serving_lifetime));
  if (!pair) return pair;
  // It would be made again and again.
  const auto facts = io::read_certificate(pair->certificate);
  if (!facts || facts->names != options.names) {
    return io::fail(io::ErrorKind::invalid, "a name of the server is not written as certificates write it");
  }
  return pair;
}

RotationStep doing(KeptCertificates keep, std::string what) { return {std::move(keep), std::move(what), {}}; }

// There is no authority that could sign. One that was lost stays trusted: replicas may still serve what it signed.
io::Result<RotationStep> begin(const KeptCertificates& kept, io::Wall now, const RotationOptions& options) {
  KeptCertificates keep;
  auto authority = new_authority(now, options);
  if (!authority) return tl::make_unexpected(authority.error());
  auto serving = new_serving(*authority, now, options);
  if (!serving) return tl::make_unexpected(serving.error());
  keep.authority = std::move(*authority);
  keep.serving = std::move(*serving);
  const auto before = io::read_certificate(kept.authority.certificate);
  if (before && now < before->validity.until) {
    keep.old_authority = kept.authority.certificate;
    keep.stepped = now;
  }
  return doing(std::move(keep), "a new authority and a certificate were made");
}

io::Result<RotationStep> renew_serving(KeptCertificates keep, io::Wall now, const RotationOptions& options) {
  auto serving = new_serving(keep.authority, now, options);
  if (!serving) return tl::make_unexpected(serving.error());
  keep.serving = std::move(*serving);
  return doing(std::move(keep), "the certificate was renewed");
}

io::Result<RotationStep> announce(KeptCertificates keep, io::Wall now, const RotationOptions& options) {
  auto next = new_authority(now, options);
  if (!next) return tl::make_unexpected(next.error());
  keep.next_authority = std::move(*next);
  keep.stepped = now;
  return doing(std::move(keep), "the next authority is trusted beside the current one");
}

io::Result<RotationStep> switch_over(KeptCertificates keep, io::Wall now, const RotationOptions& options) {
  auto serving = new_serving(keep.next_authority, now, options);
  if (!serving) return tl::make_unexpected(serving.error());
  keep.old_authority = std::move(keep.authority.certificate);
  keep.authority = std::exchange(keep.next_authority, {});
  keep.serving = std::move(*serving);
  keep.stepped = now;
  return doing(std::move(keep), "the next authority signs from now on");
}

RotationStep drop_old(KeptCertificates keep) {
  keep.old_authority.clear();
  keep.stepped.reset();
  return doing(std::move(keep), "the old authority is no longer trusted");
}

}  // namespace

std::string KeptCertificates::bundle() const {
  return authority.certificate + next_authority.certificate + old_authority;
}

io::Result<RotationStep> next_step(const KeptCertificates& kept, io::Wall now, bool published,
                                   const RotationOptions& options) {
  if (!usable(kept.authority, now)) return begin(kept, now, options);
  const io::Wall serving_renewal = renewal_of(kept.serving.certificate);
  if (!serves(kept, options) || now >= serving_renewal) return renew_serving(kept, now, options);

  const bool announced = !kept.next_authority.certificate.empty();
  const bool switched = !kept.old_authority.empty();
  if (!announced && !switched) {
    const io::Wall rotation = renewal_of(kept.authority.certificate);
    if (now >= rotation) return announce(kept, now, options);
    return RotationStep{std::nullopt, {}, std::min(serving_renewal, rotation)};
  }
  KeptCertificates keep = kept;
  if (!kept.stepped) {
    keep.stepped = now;
    return doing(std::move(keep), "the time of the last step was lost; it counts from now");
  }
  const io::Wall due = *kept.stepped + options.step;
  if (now < due) return RotationStep{std::nullopt, {}, std::min(serving_renewal, due)};
  if (switched && !announced) return drop_old(std::move(keep));
  if (!usable(kept.next_authority, now)) return announce(std::move(keep), now, options);
  if (!published) {
    keep.stepped = now;
    return doing(std::move(keep), "the next authority is not trusted everywhere yet; it waits for another step");
  }
  return switch_over(std::move(keep), now, options);
}

}  // namespace careen::web
