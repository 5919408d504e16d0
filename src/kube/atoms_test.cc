#include "kube/atoms.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "io/random.h"

namespace careen::kube {
namespace {

TEST(AtomsTest, EqualTextIsOneEntry) {
  AtomPool pool;
  const Atom a = pool.intern("kubernetes.io/hostname");
  const Atom b = pool.intern(std::string("kubernetes.io/") + "hostname");
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.id(), b.id());
  EXPECT_EQ(a, "kubernetes.io/hostname");
  EXPECT_FALSE(a == pool.intern("other"));
  EXPECT_EQ(pool.size(), 1u);
}

TEST(AtomsTest, TheEmptyTextNeedsNoEntry) {
  AtomPool pool;
  EXPECT_TRUE(pool.intern("").empty());
  EXPECT_EQ(pool.intern(""), Atom{});
  EXPECT_EQ(Atom{}.view(), "");
  EXPECT_EQ(pool.size(), 0u);
}

TEST(AtomsTest, TheLastHolderFreesTheText) {
  AtomPool pool;
  {
    Atom a = pool.intern("x");
    const Atom copy = a;
    Atom moved = std::move(a);
    const Atom& itself = moved;
    moved = itself;  // must not free
    EXPECT_EQ(moved, "x");
    moved = pool.intern("y");
    EXPECT_EQ(pool.size(), 2u);
    EXPECT_EQ(copy, "x");
  }
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_TRUE(pool.find("x").empty());
}

TEST(AtomsTest, FindDoesNotIntern) {
  AtomPool pool;
  EXPECT_TRUE(pool.find("x").empty());
  EXPECT_EQ(pool.size(), 0u);
  const Atom a = pool.intern("x");
  EXPECT_EQ(pool.find("x"), a);
}

TEST(AtomsTest, KeepsAnyBytes) {
  AtomPool pool;
  const std::string text("a\0b\xff", 4);
  EXPECT_EQ(pool.intern(text).view(), text);
}

// Random interning and releasing against a plain map: what is held is found, what is not held is gone.
TEST(AtomsTest, AgreesWithAModelUnderChurn) {
  AtomPool pool;
  io::Random random(7);
  std::map<std::string, std::vector<Atom>> held;
  for (int i = 0; i < 200'000; ++i) {
    const std::string text = "text-" + std::to_string(random.next() % 3000);
    auto& atoms = held[text];
    if (random.next() % 2 == 0) {
      atoms.push_back(pool.intern(text));
      ASSERT_EQ(atoms.back().view(), text);
      ASSERT_EQ(atoms.back(), atoms.front());
    } else if (!atoms.empty()) {
      atoms.pop_back();
    }
    if (atoms.empty()) held.erase(text);
    ASSERT_EQ(pool.size(), held.size());
  }
  for (const auto& [text, atoms] : held) ASSERT_EQ(pool.find(text), atoms.front());
}

TEST(AtomsTest, MemoryComesBackWhenTheTextsAreGone) {
  AtomPool pool;
  const size_t before = pool.bytes();
  std::vector<Atom> atoms;
  for (int i = 0; i < 100'000; ++i) atoms.push_back(pool.intern("pod-template-hash-" + std::to_string(i)));
  EXPECT_GT(pool.bytes(), before + 100'000);
  atoms.clear();
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_LE(pool.bytes(), 4 * before);
}

TEST(AtomsDeathTest, AnAtomThatOutlivesItsPoolIsABug) {
  EXPECT_DEATH(
      {
        Atom atom;
        AtomPool pool;
        atom = pool.intern("x");
      },
      "outlive their pool");
}

}  // namespace
}  // namespace careen::kube
