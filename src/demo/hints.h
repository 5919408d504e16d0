// What the demonstration prints at its start: where things are, and commands to try, each as it can be pasted into
// another terminal.
#pragma once

#include <string>
#include <vector>

namespace careen::app {

class Screen;

struct DemoPlace {
  int nodes = 0;     // of each cluster
  int clusters = 1;  // more: behind a hub
  double speed = 1;
  std::string dashboard;   // http://127.0.0.1:8080
  std::string kubeconfig;  // paths
  std::string config;      //
  std::string folder;      // of this program, when it is not on the PATH
  bool kubectl = true;     // it is on the PATH
  std::string blocked;     // a node that carries a pod of the budget to play with
};

struct Hint {
  std::string title;
  std::vector<std::string> commands;
};

std::vector<Hint> demo_hints(const DemoPlace& place);
void print_demo_start(Screen& screen, const DemoPlace& place);

}  // namespace careen::app
