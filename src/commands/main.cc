#include "commands/commands.h"

int main(int argc, char** argv) { return careen::app::run_command_line({argv, argv + argc}); }
