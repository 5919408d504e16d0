// What happens to a host, over the states in which its operator can be.
#include "controllers/machines/power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "budget/pause.h"
#include "controllers/machines/names.h"

namespace careen::machines {

namespace {

class DecidePowerTest : public testing::Test {
 protected:
  DecidePowerTest() {
    host.name = "h1";
    host.ns = atom("fleet");
    host.powered = true;
    host.provisioning = atom("provisioned");
    host.operational = atom("OK");
    host.consumer = atom("i1");
    host.consumer_ns = atom("fleet");
    machine = named("m1");
  }
  kube::Atom atom(std::string_view text) { return atoms.intern(text); }
  Machine named(const char* name) {
    Machine one;
    one.name = name;
    one.ns = atom("fleet");
    one.infrastructure = atom("i1");
    one.asked = Asked::granted;
    return one;
  }
  PowerDecision decide() {
    PowerWorld world{.host = &host, .machines = {}, .pause = pause};
    for (const Machine* one : machines) world.machines.push_back(one);
    return decide_power(world);
  }
  std::string trouble() {
    const PowerDecision decision = decide();
    return decision.trouble ? std::string(decision.trouble->reason) : "";
  }

  kube::AtomPool atoms;
  Host host;
  Machine machine;
  std::vector<const Machine*> machines{&machine};
  const budget::Pause* pause = nullptr;
};

TEST_F(DecidePowerTest, OffWhileApproved) {
  PowerDecision decision = decide();
  ASSERT_TRUE(decision.hold);
  EXPECT_TRUE(decision.hold->hold_off);
  EXPECT_EQ(decision.machine, "fleet/m1");
  EXPECT_EQ(decision.power, Power::going_off);
  host.held_off = true;
  host.powered = false;
  decision = decide();
  EXPECT_FALSE(decision.hold || decision.trouble || decision.reboot);
  EXPECT_EQ(decision.power, Power::off);
  for (const Asked over : {Asked::nothing, Asked::maintenance}) {
    machine.asked = over;
    decision = decide();
    ASSERT_TRUE(decision.hold);
    EXPECT_FALSE(decision.hold->hold_off);
    EXPECT_EQ(decision.power, Power::going_on);
  }
}

// Whatever the state of the host, a hold that nobody wants goes, and nothing else is written.
TEST_F(DecidePowerTest, NobodysHoldGoesInEveryState) {
  machines.clear();
  const budget::Pause everything;
  for (int bits = 0; bits < 128; ++bits) {
    host.paused = bits & 1;
    host.detached = bits & 2;
    host.keeps_power = bits & 4;
    host.powered = bits & 8;
    host.operational = atom(bits & 16 ? "servicing" : "OK");
    host.held_off = bits & 32;
    pause = bits & 64 ? &everything : nullptr;
    const PowerDecision decision = decide();
    EXPECT_EQ(decision.hold.has_value(), host.held_off) << bits;
    if (decision.hold) EXPECT_FALSE(decision.hold->hold_off) << bits;
    EXPECT_FALSE(decision.reboot) << bits;
    EXPECT_TRUE(decision.machine.empty()) << bits;
  }
}

TEST_F(DecidePowerTest, APausePowersNothingOff) {
  const budget::Pause everything;
  pause = &everything;
  EXPECT_FALSE(decide().hold);
  host.keeps_power = true;
  machine.reboot_host = atom(kRequested);
  EXPECT_FALSE(decide().reboot);
}

TEST_F(DecidePowerTest, WhatKeepsItFromGoingOffIsNamed) {
  EXPECT_EQ(trouble(), "");
  host.provisioning = atom("available");
  EXPECT_EQ(trouble(), "HostNotProvisioned");
  EXPECT_EQ(decide().power, Power::stuck);
  host.provisioning = atom("externally provisioned");
  EXPECT_EQ(trouble(), "");
  host.paused = true;
  EXPECT_EQ(trouble(), "HostPaused");
  host.paused = false;
  host.detached = true;
  EXPECT_EQ(trouble(), "HostDetached");
  host.detached = false;
  host.error = atom("servicing error");
  host.error_message = "no space left";
  EXPECT_EQ(trouble(), "HostServicingFailed");
  EXPECT_THAT(decide().trouble->message, testing::HasSubstr("no space left"));
}

// With the hold it would be rebooted again and again; one that is there from before goes.
TEST_F(DecidePowerTest, AHostThatKeepsItsPowerIsNotHeld) {
  host.keeps_power = true;
  EXPECT_FALSE(decide().hold);
  EXPECT_EQ(trouble(), "PowerOffDisabled");
  host.held_off = true;
  ASSERT_TRUE(decide().hold);
  EXPECT_FALSE(decide().hold->hold_off);
}

TEST_F(DecidePowerTest, ItIsRebootedOnRequestOnly) {
  host.keeps_power = true;
  EXPECT_FALSE(decide().reboot);
  for (const std::string_view value : {kDone, std::string_view("true"), std::string_view("")}) {
    machine.reboot_host = atom(value);
    EXPECT_FALSE(decide().reboot) << value;
  }
  machine.reboot_host = atom(kRequested);
  ASSERT_TRUE(decide().reboot);
  EXPECT_EQ(decide().reboot->machine, "fleet/m1");
  machine.asked = Asked::maintenance;
  EXPECT_FALSE(decide().reboot) << "it is not approved";
  machine.asked = Asked::granted;
  host.reboots = true;
  EXPECT_FALSE(decide().reboot) << "it is about to";
  host.reboots = false;
  host.keeps_power = false;
  EXPECT_FALSE(decide().reboot) << "it can be powered off";
}

TEST_F(DecidePowerTest, ServicingIsNotBeingThrough) {
  machine.asked = Asked::nothing;
  host.operational = atom("servicing");
  EXPECT_EQ(decide().power, Power::servicing);
  host.error = atom("servicing error");
  EXPECT_EQ(trouble(), "HostServicingFailed");
  host.operational = atom("OK");
  EXPECT_EQ(trouble(), "") << "nobody of careen's waits for it";
}

// One that its user switched off is as it should be.
TEST_F(DecidePowerTest, AHostThatIsMeantToBeOffIsNotComingBack) {
  machine.asked = Asked::nothing;
  host.powered = host.online = false;
  EXPECT_EQ(decide().power, Power::on);
}

// Whoever can write a Machine can name any host.
TEST_F(DecidePowerTest, OnlyItsConsumerHasItPowered) {
  EXPECT_TRUE(belongs(host, machine));
  machine.infrastructure = atom("i2");
  EXPECT_FALSE(belongs(host, machine));
  EXPECT_FALSE(decide().hold);
  EXPECT_EQ(trouble(), "HostOfAnother");
  machine.infrastructure = {};
  EXPECT_FALSE(belongs(host, machine)) << "it does not say";
  machine.infrastructure = atom("i1");
  machine.ns = atom("others");
  EXPECT_FALSE(belongs(host, machine));
  host.consumer_ns = atom("others");
  EXPECT_TRUE(belongs(host, machine));
  host.consumer_ns = {};
  EXPECT_FALSE(belongs(host, machine)) << "that of the host then";
  machine.ns = atom("fleet");
  EXPECT_TRUE(belongs(host, machine));
  host.consumer = {};
  EXPECT_FALSE(belongs(host, machine)) << "nobody has it";
}

// One of several Machines that have it is enough, as while one replaces another.
TEST_F(DecidePowerTest, OneApprovalOfSeveralCounts) {
  Machine other = named("m0");
  other.asked = Asked::nothing;
  Machine stranger = named("m2");
  stranger.infrastructure = atom("i2");
  machines = {&other, &machine, &stranger};
  ASSERT_TRUE(decide().hold);
  EXPECT_EQ(decide().machine, "fleet/m1");
  EXPECT_EQ(trouble(), "");
  machines = {&machine, &other};
  EXPECT_EQ(decide().machine, "fleet/m1");
}

}  // namespace

}  // namespace careen::machines
